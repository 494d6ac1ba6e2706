"""Equations of Word files as one line of text: `(a+b)/(c)`, `x^2`, `√(x)`, `∑_(i=1)^n a_i`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .word_styles import attribute, child, children, local

if TYPE_CHECKING:
    from lxml.etree import _Element

_MAX_DEPTH = 40


def math_text(element: _Element, depth: int = 0) -> str:
    """The text of an `oMath` element or of a part of one."""
    if depth > _MAX_DEPTH:
        return ""

    def part(name: str) -> str:
        found = child(element, name)
        return "" if found is None else math_text(found, depth + 1)

    name = local(element)
    if name == "t":
        return element.text or ""
    if name in ("rPr", "ctrlPr", "del", "moveFrom") or name.endswith("Pr"):
        return ""
    if name == "f":
        return f"({part('num')})/({part('den')})"
    if name in ("sSup", "sSub", "sSubSup", "sPre"):
        return f"{part('e')}{script('_', part('sub'))}{script('^', part('sup'))}"
    if name == "rad":
        return f"{part('deg')}√({part('e')})"
    if name == "nary":
        sign = attribute(child(element, "naryPr", "chr")) or "∫"
        return f"{sign}{script('_', part('sub'))}{script('^', part('sup'))} {part('e')}"
    if name == "d":
        properties = child(element, "dPr")
        begin, end = child(properties, "begChr"), child(properties, "endChr")
        inner = ", ".join(math_text(inner, depth + 1) for inner in children(element, "e"))
        return f"{'(' if begin is None else attribute(begin)}{inner}{')' if end is None else attribute(end)}"
    if name in ("limLow", "limUpp"):
        return f"{part('e')}{script('_' if name == 'limLow' else '^', part('lim'))} "
    if name == "func":
        return f"{part('fName')} {part('e')}"
    if name == "m":
        rows = (", ".join(math_text(cell, depth + 1) for cell in children(row, "e")) for row in children(element, "mr"))
        return f"[{'; '.join(rows)}]"
    if name == "eqArr":
        return "; ".join(math_text(line, depth + 1) for line in children(element, "e"))
    return "".join(math_text(inner, depth + 1) for inner in element)


def script(sign: str, words: str) -> str:
    """What stands below (`_`) or above (`^`) the line, in brackets where it is no single word; empty for nothing."""
    if not words:
        return ""
    return f"{sign}{words}" if len(words) == 1 or words.isalnum() else f"{sign}({words})"
