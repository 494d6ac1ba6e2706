"""Folders on a file system that can't be written to, as mounts of containers are: what is proved here.

* Documents that are mounted read-only are indexed, searched and looked through again like all others.
* An index folder that is mounted read-only is refused in words that name it and the way out; what it holds stays.
* A Chroma folder on a full disk isn't taken for a damaged one: it stays, answers, and takes more once there is room.

Each program runs in a mount namespace of its own, so that no mount outlives its test.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import librarian

MOUNT = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
ASKING = """
import json, sys
from librarian.bootstrap import Librarian
with Librarian.open(root=sys.argv[1], index=sys.argv[2], **{"embeddings.enabled": False}) as library:
    library.wait_until_ready(30)
    found = [result.file_path for result in library.search("rotate a token").results]
    report, status = library.refresh(), library.status()
    print(json.dumps([found, report.documents, list(report.failed), status.status, status.reasons]))
"""

SMALL_DISK = 'mount -t tmpfs -o size=20m tmpfs "$1" && shift && exec "$@"'
FILLING = """
import os, sys
from contextlib import suppress
from pathlib import Path
import numpy as np
from librarian.vector_stores.chroma import ChromaStore
from librarian.errors import Unavailable
from librarian.models import Filters, Selection
disk = Path(sys.argv[1])
rows = np.eye(64, dtype=np.float32)
store = ChromaStore(disk / "chroma", "documents", 64)
store.upsert(np.arange(64, 128), rows)
ballast = os.open(disk / "ballast", os.O_CREAT | os.O_WRONLY)
with suppress(OSError):
    while True:
        os.write(ballast, bytes(4096))
os.close(ballast)
try:
    store.upsert(np.arange(128, 192), rows)
except Unavailable as error:
    print(error)
print(store.search(rows[5], 1, Selection(Filters(), None, 64))[0].tolist(), store.recreated, sorted(os.listdir(disk)))
os.remove(disk / "ballast")
store.upsert(np.arange(128, 192), rows)
store.close()
store = ChromaStore(disk / "chroma", "documents", 64)
print(store.count(), store.recreated)
"""


def mounted(read_only: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """The program's end, run where that folder can't be written to."""
    words = ["unshare", "--mount", "sh", "-c", MOUNT, "sh", str(read_only), *command]
    return ended(*words)


def ended(*command: str) -> subprocess.CompletedProcess[str]:
    """A program's end, with this checkout's Librarian at hand."""
    given = {**os.environ, "PYTHONPATH": str(Path(librarian.__file__).parents[1])}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=given)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("needs Linux's unshare")
    (tmp_path / "docs/ray/core").mkdir(parents=True)
    tried = mounted(tmp_path / "docs", "sh", "-c", '! touch "$1/x" 2>/dev/null', "sh", str(tmp_path / "docs"))
    if tried.returncode != 0:
        pytest.skip(f"mounting isn't permitted here: {tried.stderr.strip()}")
    (tmp_path / "docs/ray/core/tokens.md").write_text("# Tokens\n\nRotate a token with `ray token rotate`.\n")
    return tmp_path / "docs"


def test_documents_on_a_read_only_mount_are_searched_like_others(docs: Path, tmp_path: Path) -> None:
    for _ in range(2):  # a new index, and one that is there
        done = mounted(docs, sys.executable, "-c", ASKING, str(docs), str(tmp_path / "index"))
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [["ray/core/tokens.md"], 1, [], "ready", []]


def test_an_index_on_a_read_only_mount_is_refused_in_words_and_stays(docs: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    made = ended(sys.executable, "-c", ASKING, str(docs), str(index))
    assert made.returncode == 0, made.stderr
    before = {path: path.stat().st_size for path in index.rglob("*") if path.is_file()}
    command = [
        sys.executable,
        "-m",
        "librarian.cli.main",
        "search",
        "rotate",
        "--root",
        str(docs),
        "--index",
        str(index),
    ]
    asked = mounted(index, *command)
    assert asked.returncode == 78
    assert f"The index folder {index} can't be written: Read-only file system." in asked.stderr
    assert "choose another with --index" in asked.stderr
    assert "Traceback" not in asked.stderr
    assert {path: path.stat().st_size for path in index.rglob("*") if path.is_file()} == before
    opened = mounted(index, sys.executable, "-c", ASKING, str(docs), str(index))
    assert opened.returncode == 1
    assert "SetupError" in opened.stderr
    assert f"The index folder {index} can't be written: Read-only file system." in opened.stderr
    assert os.access(index, os.W_OK), "the mount was the program's own"


def test_a_chroma_folder_on_a_full_disk_stays_and_answers(docs: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    program = (sys.executable, "-c", FILLING, str(disk))
    done = ended("unshare", "--mount", "sh", "-c", SMALL_DISK, "sh", str(disk), *program)
    assert done.returncode == 0, done.stderr
    said, full, roomy = done.stdout.splitlines()
    assert f"The Chroma folder {disk / 'chroma'} can't be written: " in said
    assert "Make room there" in said
    assert full == "[69] False ['ballast', 'chroma']"
    assert roomy == "128 False"
