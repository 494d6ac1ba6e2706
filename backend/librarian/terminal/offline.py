"""Proof that indexing and searching need no other machine: it is done, and every connection is written down.

A small library is indexed and searched in a process of its own, under the settings at hand. In it and in all Python
processes that it starts, an audit hook (PEP 578) writes down each name that is looked up and each address that is
connected or sent to, but for this machine's. Native code could evade the hook; what Librarian loads of it (tantivy,
onnxruntime, sqlite, Chroma) opens no connection of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from librarian.settings import Settings

TIMEOUT_S = 120.0
_WRITTEN = "LIBRARIAN_CONNECTIONS"

#: Loaded by every Python that starts with its folder first on the path.
_HOOK = f"""\
import os, sys

def _watch(event, given, file=os.open(os.environ["{_WRITTEN}"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)):
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

_FILES = {
    "harbour/guide/tides.md": "# Tides\n\nTwice a day.\n\n## Springs\n\nSpring tides follow a full moon.\n",
    "harbour/guide/lights.txt": "Lights\n\nThe northern light flashes red every four seconds.\n",
    "harbour/mail/one.eml": "From: Ann <ann@example.org>\nTo: ben@example.org\nSubject: Moorings\n"
    "Date: Sun, 01 Feb 2026 09:00:00 +0000\nMessage-ID: <m1@example.org>\nContent-Type: text/plain\n\n"
    "The moorings are checked in March.\n",
}


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of it: the hosts that were asked for, and what was done; `problem` says why it wasn't."""

    hosts: tuple[str, ...]
    documents: int = 0
    embedded: int = 0
    searches: int = 0
    problem: str = ""


def prove(settings: Settings) -> Proof:
    """Index and search under `settings`, but for the places of documents and index. Takes some seconds."""
    with tempfile.TemporaryDirectory(prefix="librarian-offline-") as name:
        folder = Path(name)
        for path, text in _FILES.items():
            (folder / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "docs" / path).write_text(text, "utf-8")
        environment, written = watched(folder)
        command = [sys.executable, "-P", "-m", "librarian.terminal.offline", str(folder)]
        command += [str(settings.config_file)] if settings.config_file else []
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Proof(_hosts(written), problem=f"it wasn't done within {TIMEOUT_S:g} s")
        if not written.is_file():
            return Proof((), problem="the audit hook wasn't loaded")
        if done.returncode:
            words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            return Proof(_hosts(written), problem=words[-1])
        documents, embedded, searches = json.loads(done.stdout.splitlines()[-1])
        return Proof(_hosts(written), documents, embedded, searches)


def watched(folder: Path) -> tuple[dict[str, str], Path]:
    """The environment of a Python that is watched, and the file that names the hosts that it asks for."""
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(_HOOK, "utf-8")
    written = folder / "connections"
    source = str(Path(__file__).resolve().parents[2])
    paths = [str(folder / "hook"), source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), _WRITTEN: str(written)}, written


def _hosts(written: Path) -> tuple[str, ...]:
    lines = written.read_text("utf-8", "replace").splitlines() if written.is_file() else []
    return tuple(dict.fromkeys(lines))


def main(arguments: Sequence[str]) -> None:
    """The process that is watched: folder, and the configuration file where there is one."""
    from librarian.assembly import Librarian
    from librarian.vocabulary.errors import LibrarianError

    folder, config = Path(arguments[0]), arguments[1] if len(arguments) > 1 else None
    own: dict[str, Any] = {"vector_db.path": str(folder / "chroma"), "docs.watch_for_changes": False}
    try:
        with Librarian.open(config, root=folder / "docs", index=folder / "index", **own) as library:
            searches = 0
            for mode in ("keyword", "hybrid", "auto"):
                library.search("when is a spring tide", mode=mode)
                searches += 1
            library.search_emails("moorings")
            status = library.status()
            sys.stdout.write(json.dumps([status.documents, status.embedded_chunks, searches + 1]) + "\n")
    except LibrarianError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
