"""What mail programs write around quotes and signatures, in some thirty languages. `phrases.toml` holds the words.

Collected from the resource strings and answers of common programs (Gmail, Outlook, Apple Mail, Thunderbird, Yahoo,
K-9, mobile ones).
"""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any

_DATA: dict[str, Any] = tomllib.loads(files(__package__).joinpath("phrases.toml").read_text("utf-8"))

#: What a copied header means (`from`, `date`, …) → the names that it has.
HEADER_NAMES: dict[str, list[str]] = _DATA["header_names"]


def words(*names: str) -> list[str]:
    """The phrases of some tables, the longest first."""
    return sorted((word for name in names for word in _DATA[name]), key=len, reverse=True)


def any_of(*names: str) -> str:
    """A regular expression for any phrase of some tables of plain text."""
    return "|".join(map(re.escape, words(*names)))


def any_pattern(name: str) -> str:
    """A regular expression for any phrase of a table of regular expressions."""
    return f"(?:{'|'.join(_DATA[name])})"
