"""How long the path of a SQLite file may be; SQLite itself only says "unable to open database file"."""

from __future__ import annotations

import os
from pathlib import Path

LONGEST = 504  #: bytes: SQLite takes 512, of which the ending of a journal's name needs 8


def too_long(path: Path) -> str:
    """How many bytes the path has too many, in words; empty where it is short enough."""
    length = len(os.fsencode(os.path.realpath(path)))
    return f"its path has {length} bytes, and SQLite takes {LONGEST}" if length > LONGEST else ""
