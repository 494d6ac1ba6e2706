"""A plain script, without a guard around its main part, can open a library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
from librarian import Librarian

with Librarian.open(root="docs", index="index", **{"embeddings.enabled": False, "index.workers": 1}) as library:
    print(library.search("zorkmid", mode="keyword").results[0].file_path)
"""


def test_a_script_without_a_main_guard_opens_a_library_once(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "p" / "c" / "a.md"
    page.parent.mkdir(parents=True)
    page.write_text("# A\n\nThe zorkmid is here.\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    backend = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(backend)},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.stdout.splitlines() == ["p/c/a.md"], done.stderr
