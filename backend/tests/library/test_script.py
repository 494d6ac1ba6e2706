"""A plain script, without a guard around its main part and without closing anything, can open or index a library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
from librarian import Librarian

with Librarian.open(root="docs", index="index", **{"embeddings.enabled": False, "index.workers": 1}) as library:
    print(library.search("zorkmid", mode="keyword").results[0].file_path)
"""

LEFT_OPEN = """
import atexit

from librarian.errors import LibrarianError

def asked_at_last():
    try:
        library.search("zorkmid", mode="keyword")
    except LibrarianError:
        print("closed")

atexit.register(asked_at_last)  # handlers run in the opposite order

from librarian import Librarian

library = Librarian.open(root="docs", index="index", **{"embeddings.enabled": False, "index.workers": 1})
print(library.search("zorkmid", mode="keyword").results[0].file_path)
"""


INDEXED_ALONE = """
from librarian import FileIndexer, Librarian

for _ in range(2):
    report = FileIndexer("docs").index_all_documents()
    print(report.added, report.unchanged, report.documents, report.chunks - report.embedded)
with Librarian.open(root="docs", start=False) as library:
    print(library.search("zorkmid", mode="semantic").results[0].file_path)
"""


def test_a_script_without_a_main_guard_opens_a_library_once(tmp_path: Path) -> None:
    done = run(SCRIPT, tmp_path)
    assert done.stdout.splitlines() == ["p/c/a.md"], done.stderr


def test_a_library_that_nobody_closes_is_closed_when_the_interpreter_ends(tmp_path: Path) -> None:
    done = run(LEFT_OPEN, tmp_path)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, ["p/c/a.md", "closed"], "")


def test_a_folder_alone_is_enough_to_build_its_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDEX_PATH", str(tmp_path / "index"))
    done = run(INDEXED_ALONE, tmp_path)
    assert done.stdout.splitlines() == ["1 0 1 0", "0 1 1 0", "p/c/a.md"], done.stderr


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    page = folder / "docs" / "p" / "c" / "a.md"
    page.parent.mkdir(parents=True)
    page.write_text("# A\n\nThe zorkmid is here.\n")
    (folder / "script.py").write_text(script)
    backend = Path(__file__).resolve().parents[2]
    return subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(backend)},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
