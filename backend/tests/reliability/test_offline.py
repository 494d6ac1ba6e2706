"""Indexing and searching open no connection to another machine.

An audit hook (PEP 578) in each Python process notes every name that is looked up and every address that is connected
or sent to, except those of this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BACKEND = Path(__file__).parents[2]

#: `sitecustomize`: loaded by every Python that starts with its folder first on the path.
HOOK = """\
import os, sys

def _watch(event, given, file=os.open(os.environ["LIBRARIAN_TEST_HOSTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        place = given[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        place = given
    else:
        return
    host = place[0] if isinstance(place, tuple) else None
    if isinstance(host, bytes):
        host = host.decode("utf-8", "replace")
    if isinstance(host, str) and host not in ("", "localhost", "::1") and not host.startswith("127."):
        os.write(file, (host + "\\n").encode("utf-8", "replace"))

sys.addaudithook(_watch)
"""

ASKING = """
import multiprocessing, socket

def ask(name):
    for host in (name, "localhost"):
        try:
            socket.getaddrinfo(host, 80)
        except OSError:
            pass

if __name__ == "__main__":
    ask("parent.invalid")
    child = multiprocessing.get_context("spawn").Process(target=ask, args=("child.invalid",))
    child.start()
    child.join()
"""

SEARCHING = """
import json, sys
from pathlib import Path
from librarian import Librarian

if __name__ == "__main__":
    folder, own = Path(sys.argv[1]), json.loads(sys.argv[2])
    with Librarian.open(root=folder / "docs", index=folder / "index", **own) as library:
        for mode in ("keyword", "hybrid", "auto"):
            library.search("when is a spring tide", mode=mode)
        library.search_emails("moorings")
        assert library.status().documents == 1
"""


def hosts(folder: Path, script: str, *arguments: str) -> set[str]:
    """The hosts other than this machine that a script and its child processes asked for."""
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(HOOK)
    (folder / "script.py").write_text(script)
    written = folder / "hosts"
    paths = os.pathsep.join([str(folder / "hook"), str(BACKEND)])
    environment = {**os.environ, "PYTHONPATH": paths, "LIBRARIAN_TEST_HOSTS": str(written)}
    command = [sys.executable, str(folder / "script.py"), *arguments]
    subprocess.run(command, env=environment, cwd=folder, check=True, timeout=300)
    return set(written.read_text().split())


def test_the_hook_sees_every_process(tmp_path: Path) -> None:
    assert hosts(tmp_path, ASKING) == {"parent.invalid", "child.invalid"}


@pytest.mark.parametrize("store", ["auto", "sqlite-vec", "qdrant"])
def test_indexing_and_searching_ask_for_no_other_host(tmp_path: Path, store: str) -> None:
    (tmp_path / "docs" / "harbour" / "guide").mkdir(parents=True)
    (tmp_path / "docs" / "harbour" / "guide" / "tides.md").write_text("# Tides\n\nSpring tides follow a full moon.\n")
    settings = {"embeddings.enabled": False, "docs.watch_for_changes": False, "vector_db.store": store}
    assert hosts(tmp_path, SEARCHING, str(tmp_path), json.dumps(settings)) == set()
