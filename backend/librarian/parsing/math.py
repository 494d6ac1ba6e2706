"""Formulas of MathML as one line of text: `(a+b)/(c)`, `x^2`, `√(x)`, `∑_(i=1)^n a_i`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .office_xml import local

if TYPE_CHECKING:
    from lxml.etree import _Element

_MAX_DEPTH = 100
_WORDS = re.compile(r"[^\W\d_]{2}\0[^\W\d_]|[^\W\d_]\0[^\W\d_]{2}")
_SILENT = frozenset({"annotation", "annotation-xml", "maligngroup", "malignmark", "mphantom"})
#: What stands below, and what above, the first part of an element, by the part's place; -1 where there is none.
_SCRIPTS = {
    "msub": (1, -1), "munder": (1, -1), "msup": (-1, 1), "mover": (-1, 1), "msubsup": (1, 2), "munderover": (1, 2),
}  # fmt: skip


def mathml_text(element: _Element, depth: int = 0) -> str:
    """The text of a `math` element or of a part of one; annotations, which say the same again, are left out."""
    name = local(element)
    if depth > _MAX_DEPTH or not name or name in _SILENT:
        return ""
    parts = [mathml_text(inner, depth + 1) for inner in element if local(inner)]
    if name == "mfrac" and len(parts) == 2:
        return f"({parts[0]})/({parts[1]})"
    if name in _SCRIPTS and len(parts) > max(_SCRIPTS[name]):
        below, above = (parts[place] if place > 0 else "" for place in _SCRIPTS[name])
        return f"{parts[0]}{script('_', below)}{script('^', above)}"
    if name == "msqrt":
        return f"√({_joined(parts)})"
    if name == "mroot" and len(parts) == 2:
        return f"{parts[1]}√({parts[0]})"
    if name == "mtable":
        return f"[{'; '.join(parts)}]"
    if name == "mtr":
        return ", ".join(parts)
    if name == "mspace":
        return " "
    return " ".join((element.text or "").split()) + _joined(parts)


def _joined(parts: list[str]) -> str:
    """Parts one after the other; names of several letters are words, which a space parts."""
    line = ""
    for part in parts:
        line += " " if _WORDS.search(f"{line[-2:]}\0{part[:2]}") else ""
        line += part
    return line


def script(sign: str, words: str) -> str:
    if not words:
        return ""
    return f"{sign}{words}" if len(words) == 1 or words.isalnum() else f"{sign}({words})"
