"""JSON with `//` and `/* */` comments and trailing commas, as people write configuration.

Comments become blanks of the same length, so that the position in an error message is the position in the file.

>>> parse('{"port": 3001, // the usual one\\n}')
{'port': 3001}
"""

from __future__ import annotations

import json
import re
from typing import Any

_STRING_OR_COMMENT = re.compile(
    r"""
    "(?:\\.|[^"\\\n])*"      # a string: kept, whatever looks like a comment inside
    | //[^\n]*               # to the end of the line
    | /\*.*?\*/              # may span lines
    """,
    re.VERBOSE | re.DOTALL,
)
_STRING_OR_TRAILING_COMMA = re.compile(r'"(?:\\.|[^"\\\n])*"|,(?=\s*[}\]])', re.DOTALL)


def parse(text: str) -> Any:
    """The value that `text` says. Raises `json.JSONDecodeError`, whose line and column are those of `text`, and
    `ValueError` where an object says the same key twice."""
    plain = _STRING_OR_COMMENT.sub(_blank_comment, text.removeprefix("\ufeff"))
    plain = _STRING_OR_TRAILING_COMMA.sub(lambda m: m[0] if m[0].startswith('"') else " ", plain)
    return json.loads(plain, object_pairs_hook=_unique)


def _blank_comment(match: re.Match[str]) -> str:
    found = match[0]
    return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in the same object")
    return result
