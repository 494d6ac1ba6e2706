"""Headings without a heading style, recognized by the size and weight of their type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

NUMBERED = re.compile(r"\A(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s+(?=[^\W\d_])")
_LARGER = 1.12  #: times the size of the text: a heading
_SAME_SIZE = 0.93  #: of the next larger size: a heading of the same level
_MAX_SIZES = 4  #: levels distinguished by size
_LONGEST = 200  #: characters
_LONGEST_BOLD = 100


class VisualHeadings:
    """Levels by the type of a document, given as (size, bold, characters) of its parts."""

    def __init__(self, parts: Iterable[tuple[float, bool, int]]) -> None:
        sizes: Counter[float] = Counter()
        bold = 0
        for size, is_bold, characters in parts:
            sizes[size] += characters
            bold += characters * is_bold
        self.text_size = max(sizes, key=lambda size: sizes[size], default=10.0)
        self.larger = _LARGER * self.text_size
        self._is_bold_rare = 2 * bold <= sizes.total()
        self._levels: dict[float, int] = {}
        self._deepest, before = 0, float("inf")
        for size in sorted((size for size in sizes if size >= self.larger), reverse=True):
            if size < before * _SAME_SIZE:
                self._deepest, before = min(self._deepest + 1, _MAX_SIZES), size
            self._levels[size] = self._deepest

    def level(self, words: str, size: float, *, is_bold: bool, is_apart: bool = True) -> int:
        """A heading's level, 0 for what isn't one. Bold words count that have a number, or stand apart from others."""
        if len(words) > _LONGEST or not any(map(str.isalpha, words)):
            return 0
        if size in self._levels:
            return self._levels[size]
        if not is_bold or not self._is_bold_rare or len(words) > _LONGEST_BOLD:
            return 0
        if numbered := NUMBERED.match(words):
            return max(self._deepest, 1) + numbered[1].count(".")
        is_title = is_apart and size >= self.text_size and not words.endswith((".", ",", ";", ":"))
        return self._deepest + 1 if is_title else 0
