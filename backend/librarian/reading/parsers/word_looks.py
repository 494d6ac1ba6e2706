"""Headings of Word files that use no heading styles, told by size, weight and numbering."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .word_styles import ParagraphStyle, Styles, attribute, child, font_of, is_mono, is_on, local

if TYPE_CHECKING:
    from lxml.etree import _Element

_LARGER = 1.12  #: times the size of the text
_LONGEST = 120  #: characters
_MAX_SIZES = 3
_NUMBERED = re.compile(r"(?:(\d{1,2}(?:\.\d{1,2}){0,4})\.?|[IVX]{1,5}\.|[A-Z]\.|§ ?\d+)\s+(?=[^\W\d_])")
_DEFAULT = 11.0  #: points, where a file doesn't say


@dataclass(frozen=True, slots=True)
class Look:
    """What a paragraph looks like; `size` in points, that of most of its characters."""

    size: float
    bold: bool
    length: int
    mono: bool = False


def look_of(paragraph: _Element, style: ParagraphStyle, styles: Styles) -> Look:
    """How the runs of a paragraph look, as far as they stand directly in it."""
    sizes: Counter[float] = Counter()
    bold = mono = True
    for run in paragraph.iter():
        if local(run) != "r":
            continue
        words = "".join(text.text or "" for text in run if local(text) == "t").strip()
        if not words:
            continue
        properties = child(run, "rPr")
        given = attribute(child(properties, "sz"))
        size = int(given) / 2 if given.isdecimal() and len(given) < 5 else style.size or _DEFAULT
        sizes[size] += len(words)
        own = child(properties, "b")
        bold = bold and (is_on(own) if own is not None else style.bold)
        if mono:
            font, named = font_of(child(properties, "rFonts")), attribute(child(properties, "rStyle"))
            mono = is_mono(font) if font else style.mono or (bool(named) and styles.get(named).mono)
    if not sizes:
        return Look(style.size or _DEFAULT, False, 0)
    return Look(sizes.most_common(1)[0][0], bold, sizes.total(), mono)


class Looks:
    """Counts how paragraphs look, then says which of them are headings."""

    def __init__(self) -> None:
        self._sizes: Counter[float] = Counter()
        self._bold = 0
        self._mono = 0

    def count(self, look: Look) -> None:
        self._sizes[look.size] += look.length
        self._bold += look.length if look.bold else 0
        self._mono += look.length if look.mono else 0

    @property
    def tell(self) -> bool:
        """Whether some text stands out at all: everything bold, or all of one size and weight, says nothing."""
        return bool(self._sizes) and (len(self._sizes) > 1 or 0 < self._bold < 0.5 * self._sizes.total())

    @property
    def typed(self) -> bool:
        """Whether most of the text is of one width, as from a typewriter: then that doesn't mark code."""
        return 2 * self._mono > self._sizes.total()

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
