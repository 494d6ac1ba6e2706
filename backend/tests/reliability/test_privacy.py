"""What one user keeps no other user of the machine reads:

* index and log of a daemon that a command has started, and prepared models, though its user makes files for everybody;
* folders that an earlier version left open are closed at the start;
* the daemon's socket answers its own user alone.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from librarian.daemon import address, client
from librarian.embeddings.model_files import ModelStore
from librarian.files.owned_folder import claim, claim_index
from librarian.storage.keyword_schema import FOLDER
from tests.embeddings import tiny_bert
from tests.embeddings.hub import point_at, serving

BACKEND = Path(__file__).resolve().parents[2]
NOBODY = 65534
READING = """
import json, os, socket, sys
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
read = []
for path in sys.argv[3:]:
    try:
        open(path, "rb").close()
        read.append(path)
    except PermissionError:
        pass
if sys.argv[2]:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(sys.argv[2])
        read.append(sys.argv[2])
    except PermissionError:
        pass
print(json.dumps(read))
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that everybody may enter, with a document that everybody may read."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    before = os.umask(0o022)
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            (folder / "docs" / "p" / "c").mkdir(parents=True)
            (folder / "docs" / "p" / "c" / "a.md").write_text("# One\n\nA wombat.\n")
            yield folder
    finally:
        os.umask(before)


def read_by_nobody(socket: str, paths: Sequence[Path]) -> list[str]:
    """Which of these files, or the socket, another user could open."""
    command = [sys.executable, "-I", "-S", "-c", READING, str(NOBODY), socket, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return list(json.loads(done.stdout))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_no_other_user_reads_the_models_that_were_fetched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_bert.write_model(home / "published")
    models = ModelStore(home / "cache" / "librarian" / "models")
    with serving(home / "published") as url:
        point_at(url, home / "cache", monkeypatch)
        model = models.ensure("owner/tiny")
    files = [path for path in model.rglob("*") if path.is_file()]
    assert files
    assert read_by_nobody("", files) == []


def test_no_other_user_reads_index_or_log_of_a_keeper_or_asks_it(home: Path) -> None:
    claim_index(home / "index")
    claim(home / "index" / "keyword", FOLDER)
    for folder in (home / "index", home / "index" / "keyword"):
        folder.chmod(0o755)  # as an earlier version left them
    settings = {
        "docs": {"root_path": "docs"},
        "index": {"path": "index", "workers": 1},
        "embeddings": {"enabled": False},
        "logging": {"file": "log/librarian.log", "level": "debug"},
    }
    (home / "config.json").write_text(json.dumps(settings))
    environ = {**os.environ, "PYTHONPATH": str(BACKEND), "HOME": str(home)}
    command = [sys.executable, "-m", "librarian.cli.main", "index", "--json", "--config", str(home / "config.json")]
    try:
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        found = address.read(home / "index")
        assert found is not None
        folders = [home / name for name in ("index", "log")]
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        names = {path.name for path in files}
        assert {"catalog.sqlite", "meta.json", "librarian.log", "daemon.json"} <= names
        control = home / "docs" / "p" / "c" / "a.md"
        assert read_by_nobody(found.path, [*files, control]) == [str(control)]
        assert [mode(folder) for folder in (*folders, home / "index" / "keyword")] == [0o700] * 3
        assert {mode(path) & 0o077 for path in (home / "index").glob("*.sqlite*")} == {0}
    finally:
        client.shut_down_daemon(home / "index")
