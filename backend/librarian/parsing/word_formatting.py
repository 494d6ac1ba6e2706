"""Styles and numbering in a Word file: what is a heading or code, and what stands in front of an item."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .office_xml import attribute, child, children, is_on, whole

if TYPE_CHECKING:
    from lxml.etree import _Element

_HEADING = re.compile(r"heading\s*(\d)", re.I)
_CODE = re.compile(r"\bcode\b|preformatted|source ?code|listing|terminal|console|macro text", re.I)
#: Styles that Word, and LibreOffice behind its back, give to the lines of tables of contents and of indexes.
_CONTENTS = re.compile(r"(?:toc|contents|index) ?(?:\d|heading)|table of (?:figures|authorities)|toa heading", re.I)
_ROMAN = {
    1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix", 5: "v", 4: "iv",
    1: "i",
}  # fmt: skip
_LEVELS = 9
_DEFAULT = 11.0  #: points, where a file doesn't say


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """A style with what it inherits. `level` is 0 for what isn't a heading, else 1–6."""

    level: int = 0
    is_code: bool = False
    page_break: bool = False
    number_id: str = ""
    number_level: int = 0
    size: float = 0.0  #: points; 0 where no style says
    bold: bool = False
    is_contents: bool = False  #: a line of a table of contents or an index


class Styles:
    """The paragraph styles of a file by id."""

    def __init__(self, root: _Element | None) -> None:
        self._elements = {attribute(style, "styleId"): style for style in children(root, "style")}
        self._known: dict[str, ParagraphStyle] = {}
        defaults = child(root, "docDefaults", "rPrDefault", "rPr")
        self._size = _points(child(defaults, "sz"))
        standard = (key for key, style in self._elements.items() if attribute(style, "default") in ("1", "true", "on"))
        self._default = next((key for key in standard if attribute(self._elements[key], "type") == "paragraph"), "")

    def get(self, style_id: str) -> ParagraphStyle:
        style_id = style_id or self._default
        if style_id not in self._known:
            self._known[style_id] = self._resolved(style_id)
        return self._known[style_id]

    def _resolved(self, style_id: str) -> ParagraphStyle:
        chain: list[_Element] = []  # the style, then those that it is based on
        names = [] if style_id in self._elements else [style_id]  # files without a styles part have the built-in ids
        while (style := self._elements.get(style_id)) is not None and style not in chain:
            chain.append(style)
            names.append(attribute(child(style, "name")) or style_id)
            style_id = attribute(child(style, "basedOn"))

        def first(*path: str) -> _Element | None:
            return next((found for style in chain if (found := child(style, *path)) is not None), None)

        level = 0
        for name, style in zip(names, chain or [None], strict=True):
            heading = _HEADING.fullmatch(name.strip())
            named = int(heading[1]) if heading else int(name.lower() == "title")
            level = level or min(6, named) or _level_of_outline(attribute(child(style, "pPr", "outlineLvl")))
        return ParagraphStyle(
            level=level,
            is_code=not level and any(map(_CODE.search, names)),
            page_break=is_on(first("pPr", "pageBreakBefore")),
            number_id=attribute(first("pPr", "numPr", "numId")),
            number_level=whole(attribute(first("pPr", "numPr", "ilvl"))),
            size=_points(first("rPr", "sz")) or self._size,
            bold=is_on(first("rPr", "b")),
            is_contents=any(map(_CONTENTS.fullmatch, names)),
        )


def _points(element: _Element | None) -> float:
    """A size in half points as points, 0 where there is none."""
    return whole(attribute(element)) / 2


def _level_of_outline(value: str) -> int:
    level = whole(value, _LEVELS)
    return min(6, level + 1) if level < _LEVELS else 0


def level_of(properties: _Element | None, style: ParagraphStyle) -> int:
    """A paragraph's heading level: its own outline level, else its style's."""
    own = attribute(child(properties, "outlineLvl"))
    return _level_of_outline(own) if own else style.level


class Numbering:
    """Counts items as Word does. Stateful: `label` is asked once per numbered paragraph, in order."""

    def __init__(self, root: _Element | None) -> None:
        self._abstract = {attribute(item, "abstractNumId"): item for item in children(root, "abstractNum")}
        self._numbers = {attribute(number, "numId"): number for number in children(root, "num")}
        self._counts: dict[str, dict[int, int]] = {}  # the last number by level

    def label(self, number_id: str, depth: int) -> str | None:
        """`-`, `3.`, `2.1` or `b)`; None where the paragraph has no number."""
        number = self._numbers.get(number_id)
        if number is None or depth >= _LEVELS:
            return None
        level = self._level(number, depth)
        form = _form(level)
        if form == "bullet":
            return "-"
        # Lists of one abstract numbering count on, unless they restart by an override.
        is_own = child(number, "lvlOverride") is not None
        key = number_id if is_own else f"abstract {attribute(child(number, 'abstractNumId'))}"
        counts = {place: count for place, count in self._counts.get(key, {}).items() if place <= depth}
        counts[depth] = counts[depth] + 1 if depth in counts else self._start(number, depth)
        self._counts[key] = counts
        is_legal = is_on(child(level, "isLgl"))  # letters and Roman numbers of the levels above as decimals

        def shown(match: re.Match[str]) -> str:
            place = int(match.group(1)) - 1
            if not 0 <= place <= depth:
                return ""
            form = _form(self._level(number, place))
            count = counts[place] if place in counts else self._start(number, place)
            return _written(count, "decimal" if is_legal and form != "decimalZero" else form)

        text = f"%{depth + 1}." if level is None else attribute(child(level, "lvlText"))
        return None if form == "none" else re.sub(r"%(\d)", shown, text).strip() or None

    def _level(self, number: _Element, depth: int) -> _Element | None:
        """What a number says of a level, else what its abstract numbering does."""
        sources = (*children(number, "lvlOverride"), self._abstract.get(attribute(child(number, "abstractNumId"))))
        levels = (level for source in sources for level in children(source, "lvl"))
        return next((level for level in levels if whole(attribute(level, "ilvl")) == depth), None)

    def _start(self, number: _Element, depth: int) -> int:
        overrides = (one for one in children(number, "lvlOverride") if whole(attribute(one, "ilvl")) == depth)
        start = child(next(overrides, None), "startOverride")
        return whole(attribute(child(self._level(number, depth), "start") if start is None else start), 1)


def _form(level: _Element | None) -> str:
    return attribute(child(level, "numFmt")) or "decimal"


def _written(number: int, form: str) -> str:
    """A number in one of Word's forms, such as lowerRoman; decimal where the form is another."""
    written = f"{number:02d}" if form == "decimalZero" else str(number)
    if form in ("lowerLetter", "upperLetter") and number > 0:
        written = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif form in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        written = ""
        for value, letters in _ROMAN.items():
            written += letters * (number // value)
            number %= value
    return written.upper() if form.startswith("upper") else written


def type_of(paragraph: _Element, style: ParagraphStyle) -> tuple[float, bool, int]:
    """The size of most of a paragraph's characters in points, whether they are bold, and how many they are."""
    sizes: Counter[float] = Counter()
    bold = True
    for run in paragraph.iter("{*}r"):
        if words := "".join(text.text or "" for text in children(run, "t")).strip():
            properties = child(run, "rPr")
            sizes[_points(child(properties, "sz")) or style.size or _DEFAULT] += len(words)
            own = child(properties, "b")
            bold = bold and (is_on(own) if own is not None else style.bold)
    if not sizes:
        return style.size or _DEFAULT, False, 0
    return sizes.most_common(1)[0][0], bold, sizes.total()
