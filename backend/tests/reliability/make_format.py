"""Keeps an index as this version writes it: run once for each new format of the catalog, never to change an old one.

    PYTHONPATH=backend python backend/tests/reliability/make_format.py

writes `backend/tests/golden/formats/<format>.tar.gz`: a library of four documents and its index (catalog, keyword
index, archive), embedded with the tests' own embedder.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tarfile
import tempfile
from pathlib import Path

from librarian.storage.schema import MIGRATIONS

FORMATS = Path(__file__).resolve().parents[1] / "golden" / "formats"
PAGES = {
    "ray/core/tasks.md": "# Tasks\n\nA task is a function that runs elsewhere, like a wombat.\n",
    "ray/serve/models.md": "# Models\n\nThe ocelot answers.\n\n## Limit\n\nAt most ten.\n",
    "moon/core/start.md": "---\ntags: [first]\n---\n# Start\n\nBegin here: the capybara shows the way.\n",
    "mail/inbox/one.eml": "From: a@example.org\nTo: b@example.org\nSubject: Axolotl\n"
    "Date: Mon, 02 Mar 2026 10:00:00 +0100\nMessage-ID: <1@example.org>\n\nThe axolotl is late.\n",
}
WRITTEN = 1_770_000_000  #: seconds since the epoch: when all files were last changed


def main() -> int:
    """Writes the archive of the current format. Returns 1 where there is one already."""
    from tests.storage.library import Library

    target = FORMATS / f"{len(MIGRATIONS)}.tar.gz"
    if target.exists():
        print(f"{target.name} is there; the index of a format that was published never changes.")
        return 1
    FORMATS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = Library(folder)
        for path, text in PAGES.items():
            os.utime(library.write(path, text), (WRITTEN, WRITTEN))
        library.complete()
        library.close()
        for database in (folder / "index").glob("*.sqlite"):
            connection = sqlite3.connect(database)
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("VACUUM")
            connection.close()
        with tarfile.open(target, "w:gz") as archive:
            for part in ("library", "index"):
                archive.add(folder / part, part, filter=_nobodys)
    return 0


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if member.name.endswith((".lock", "-wal", "-shm")):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = WRITTEN
    return member


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.exit(main())
