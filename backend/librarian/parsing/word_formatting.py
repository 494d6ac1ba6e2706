"""Styles, numbering and looks in a Word file: what is a heading or code, and what stands in front of an item."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
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
#: Headings recognised by their looks.
_LARGER = 1.12  #: times the size of the text
_LONGEST = 120  #: characters
_MAX_SIZES = 3
_NUMBERED = re.compile(r"(?:(\d{1,2}(?:\.\d{1,2}){0,4})\.?|[IVX]{1,5}\.|[A-Z]\.|§ ?\d+)\s+(?=[^\W\d_])")
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
        self._default = next((key for key, style in self._elements.items() if _is_default(style)), "")

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

        outlines = [attribute(child(style, "pPr", "outlineLvl")) for style in chain] or [""]
        pairs = zip(names, outlines, strict=True)
        level = next(filter(None, (_level_of_name(name) or _level_of_outline(outline) for name, outline in pairs)), 0)
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


def _is_default(style: _Element) -> bool:
    return attribute(style, "type") == "paragraph" and attribute(style, "default") in ("1", "true", "on")


def _level_of_name(name: str) -> int:
    match = _HEADING.fullmatch(name.strip())
    return min(6, int(match.group(1))) if match else int(name.lower() == "title")


def _level_of_outline(value: str) -> int:
    level = whole(value, _LEVELS)
    return min(6, level + 1) if level < _LEVELS else 0


def level_of(properties: _Element | None, style: ParagraphStyle) -> int:
    """A paragraph's heading level: its own outline level, else its style's."""
    own = attribute(child(properties, "outlineLvl"))
    return _level_of_outline(own) if own else style.level


@dataclass(frozen=True, slots=True)
class _Level:
    format: str
    text: str
    start: int = 1
    legal: bool = False  #: whether Roman numbers and letters of the levels above are shown as decimals


class Numbering:
    """Counts items as Word does. Stateful: `label` is asked once per numbered paragraph, in order."""

    def __init__(self, root: _Element | None) -> None:
        self._levels: dict[str, list[_Level]] = {}
        self._counter_of: dict[str, str] = {}
        self._counts: dict[str, list[int | None]] = {}
        abstract = {attribute(item, "abstractNumId"): item for item in children(root, "abstractNum")}
        for number in children(root, "num"):
            number_id, base = attribute(number, "numId"), attribute(child(number, "abstractNumId"))
            levels = self._levels[number_id] = [_Level("decimal", f"%{place + 1}.") for place in range(_LEVELS)]
            for source in (abstract.get(base), *children(number, "lvlOverride")):
                _read_levels(source, levels)
            # Lists of one abstract numbering count on, unless they restart by an override.
            self._counter_of[number_id] = number_id if child(number, "lvlOverride") is not None else f"abstract {base}"

    def label(self, number_id: str, level: int) -> str | None:
        """`-`, `3.`, `2.1` or `b)`; None where the paragraph has no number."""
        levels = self._levels.get(number_id)
        if levels is None or not 0 <= level < _LEVELS:
            return None
        definition = levels[level]
        if definition.format == "bullet":
            return "-"
        counts = self._counts.setdefault(self._counter_of[number_id], [None] * _LEVELS)
        current = counts[level]
        counts[level] = definition.start if current is None else current + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if definition.format == "none":
            return None

        def shown(match: re.Match[str]) -> str:
            place = int(match.group(1)) - 1
            if not 0 <= place <= level:
                return ""
            count = counts[place]
            form = levels[place].format
            form = "decimal" if definition.legal and form != "decimalZero" else form
            return written_number(levels[place].start if count is None else count, form)

        return re.sub(r"%(\d)", shown, definition.text).strip() or None


def _read_levels(source: _Element | None, levels: list[_Level]) -> None:
    place, start = whole(attribute(source, "ilvl")), attribute(child(source, "startOverride"))
    if start.isdecimal() and place < _LEVELS:
        levels[place] = replace(levels[place], start=whole(start))
    for item in children(source, "lvl"):
        if (place := whole(attribute(item, "ilvl"))) < _LEVELS:
            levels[place] = _Level(
                attribute(child(item, "numFmt")) or "decimal",
                attribute(child(item, "lvlText")),
                whole(attribute(child(item, "start")), 1),
                is_on(child(item, "isLgl")),
            )


def written_number(number: int, form: str) -> str:
    """A number in one of Word's forms, such as lowerRoman; decimal where the form is another."""
    if form in ("lowerLetter", "upperLetter") and number > 0:
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.upper() if form == "upperLetter" else letter
    if form in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        roman = ""
        for value, letters in _ROMAN.items():
            roman += letters * (number // value)
            number %= value
        return roman.upper() if form == "upperRoman" else roman
    return f"{number:02d}" if form == "decimalZero" else str(number)


@dataclass(frozen=True, slots=True)
class Look:
    """What a paragraph looks like; `size` in points, that of most of its characters."""

    size: float
    bold: bool
    length: int


def look_of(paragraph: _Element, style: ParagraphStyle) -> Look:
    """How the runs of a paragraph look, as far as they stand directly in it."""
    sizes: Counter[float] = Counter()
    bold = True
    for run in paragraph.iter("{*}r"):
        words = "".join(text.text or "" for text in children(run, "t")).strip()
        if not words:
            continue
        properties = child(run, "rPr")
        sizes[_points(child(properties, "sz")) or style.size or _DEFAULT] += len(words)
        own = child(properties, "b")
        bold = bold and (is_on(own) if own is not None else style.bold)
    if not sizes:
        return Look(style.size or _DEFAULT, False, 0)
    return Look(sizes.most_common(1)[0][0], bold, sizes.total())


class Looks:
    """Counts how paragraphs look, then says which of them are headings."""

    def __init__(self) -> None:
        self._sizes: Counter[float] = Counter()
        self._bold = 0

    def count(self, look: Look) -> None:
        self._sizes[look.size] += look.length
        self._bold += look.length if look.bold else 0

    @property
    def stand_out(self) -> bool:
        """Whether some text stands out at all: everything bold, or all of one size and weight, says nothing."""
        return bool(self._sizes) and (len(self._sizes) > 1 or 0 < self._bold < 0.5 * self._sizes.total())

    def level(self, look: Look, words: str, label: str | None) -> int:
        """A heading's level, 0 for what isn't one."""
        words = words.strip()
        if not 2 < len(words) <= _LONGEST or "\n" in words or not any(map(str.isalpha, words)) or label == "-":
            return 0
        body = max(self._sizes, key=lambda size: self._sizes[size])
        larger = sorted((size for size in self._sizes if size >= _LARGER * body), reverse=True)
        if look.size in larger:
            return min(_MAX_SIZES, larger.index(look.size) + 1)
        if not look.bold or words.endswith((".", ",", ";", ":")) or 2 * self._bold > self._sizes.total():
            return 0
        deepest = min(_MAX_SIZES, len(larger))
        numbered = _NUMBERED.match(f"{label or ''} {words}".strip())
        if numbered and numbered.group(1):
            return min(6, max(deepest, 1) + numbered.group(1).count("."))
        return deepest + 1
