"""The layout of a page: words to lines, lines to columns, columns to reading order. Knows boxes, no PDF.

A page is cut where white space runs through it, first between columns, then between what stands above each other
(the XY-cut of Nagy and Seth, 1984). A gutter only counts between two stacks of full lines: the gaps of a table run
from top to bottom too, but its cells are short, and rows are read across.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

_MAX_DEPTH = 40
_MIN_COLUMN_LINES = 3
#: Of a column's width, that its lines fill at least at the median; lines of prose do, cells of tables don't.
_FILLED = 0.6
_MIN_COLUMN_WORDS = 3  #: per line at the median
_GUTTER = 0.8  #: of the type size, that a gutter is wide at least
_MAX_GAPS = 40  #: places at which a region is tried to be cut across
_MAX_TESTS = 250  #: of a page for columns; most need fewer than ten
_NUMBER = re.compile(r"\d[^.)]*$")  #: no item's
_CELL_GAP = 1.6  #: of the type size: wider gaps part cells rather than words


@dataclass(slots=True)
class Word:
    """A word and its box, in points from the page's top left; `size` is the height of its type."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    bold: bool = False
    mono: bool = False
    against: bool = False  #: read against the direction of its page: Latin words among Arabic ones, or the reverse
    is_neutral: bool = False  #: no letter says in which direction it is read; told on pages with both directions


@dataclass(slots=True)
class Line:
    """Words on one base line, in the order in which they are read, in one column.

    A page that is read from right to left is mirrored, so that its lines begin at the left too.
    """

    words: list[Word]
    is_mixed: bool = False  #: whether some of them are read against the page's direction

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def left(self) -> float:
        return min(word.left for word in self.words) if self.is_mixed else self.words[0].left

    @property
    def right(self) -> float:
        return max(word.right for word in self.words)

    @property
    def top(self) -> float:
        return min(word.top for word in self.words)

    @property
    def bottom(self) -> float:
        return max(word.bottom for word in self.words)

    @property
    def size(self) -> float:
        """The size of most of its characters."""
        sizes: dict[float, int] = {}
        for word in self.words:
            sizes[word.size] = sizes.get(word.size, 0) + len(word.text)
        return max(sizes, key=lambda size: sizes[size])

    @property
    def bold(self) -> bool:
        return all(word.bold for word in self.words)

    @property
    def mono(self) -> bool:
        return all(word.mono for word in self.words)

    def cells(self) -> list[list[Word]]:
        """The words parted where the gaps are wide."""
        words = self.by_place
        cells = [[words[0]]]
        for before, word in pairwise(words):
            if word.left - before.right > _CELL_GAP * max(before.size, word.size):
                cells.append([])
            cells[-1].append(word)
        return [_as_read(cell) for cell in cells] if self.is_mixed else cells

    @property
    def by_place(self) -> list[Word]:
        """The words from left to right."""
        return sorted(self.words, key=lambda word: word.left) if self.is_mixed else self.words


def in_reading_order(words: Sequence[Word]) -> list[list[Line]]:
    """The lines of a page by column, columns and lines in the order in which they are read."""
    regions: list[list[Line]] = []
    whole = _lines(words)
    if sum(map(_has_gutter, whole)) < _MIN_COLUMN_LINES:
        return [whole] if whole else []
    for region in _Cutter().cut(list(words), 0):
        lines = _lines(region)
        if lines:
            regions.append(lines)
    return regions


def _has_gutter(line: Line) -> bool:
    """Whether a line has two stretches of running words beside each other, as columns give and few tables do."""
    size = median(word.size for word in line.words)
    stretches, words, length = 0, 0, 0
    by_place = line.by_place
    reached = by_place[0].left
    for word in by_place:
        if word.left - reached > _GUTTER * size:
            stretches += _is_running(words, length)
            words = length = 0
        words, length, reached = words + 1, length + len(word.text), max(reached, word.right)
    return stretches + _is_running(words, length) > 1


def _is_running(words: int, length: int) -> bool:
    return max(words, length / 8) >= _MIN_COLUMN_WORDS


class _Cutter:
    """Cuts one page; where it is too intricate, what is left stays as it is."""

    def __init__(self) -> None:
        self._tests_left = _MAX_TESTS

    def cut(self, words: list[Word], depth: int) -> Iterator[list[Word]]:
        if len(words) < 2 * _MIN_COLUMN_LINES or depth > _MAX_DEPTH:
            yield words
        elif sides := self._columns(words):
            for side in sides:
                yield from self.cut(side, depth + 1)
        elif parts := self._rows(words):
            for part in parts:
                yield from self.cut(part, depth + 1)
        else:
            yield words

    def _columns(self, words: list[Word]) -> list[list[Word]]:
        self._tests_left -= 1
        return _columns(words) if words and self._tests_left > 0 else []

    def _rows(self, words: list[Word]) -> list[list[Word]]:
        """Above and below the white space at which columns may begin or end; empty where cutting changes nothing."""
        size = median(word.size for word in words)
        widest = sorted(_gaps([(word.top, word.bottom) for word in words], 0.05 * size), reverse=True)
        gaps = [place for _, place in widest[:_MAX_GAPS]]
        for place in gaps:
            above = [word for word in words if word.bottom <= place]
            below = [word for word in words if word.top >= place]
            if above and below and (self._columns(above) or self._columns(below)):
                return [above, below]
        # Something across above columns, and something below them: cut off the top to see the rest.
        for place in sorted(gaps):
            below = [word for word in words if word.top >= place]
            for end in sorted(gaps, reverse=True)[:8]:
                if end > place and self._columns([word for word in below if word.bottom <= end]):
                    return [[word for word in words if word.bottom <= place], below]
        return []


def _columns(words: list[Word]) -> list[list[Word]]:
    """Left and right of the widest gutter that parts two stacks of full lines; empty where there is none."""
    size = median(word.size for word in words)
    gaps = _gaps([(word.left, word.right) for word in words], 0.75 * _GUTTER * size)
    for _, place in sorted(gaps, reverse=True)[:6]:
        left = [word for word in words if word.right <= place]
        right = [word for word in words if word.left >= place]
        if _is_column(left) and _is_column(right):
            return [left, right]
    return []


def _is_column(words: list[Word]) -> bool:
    lines = _lines(words)
    if len(lines) < _MIN_COLUMN_LINES:
        return False
    width = max(line.right for line in lines) - min(line.left for line in lines)
    return (
        median(line.right - line.left for line in lines) >= _FILLED * width
        and median(_words_in(line) for line in lines) >= _MIN_COLUMN_WORDS
    )


def _words_in(line: Line) -> float:
    """Words of a line; where none are parted by spaces (Chinese, Japanese), by their usual length."""
    return max(len(line.words), sum(len(word.text) for word in line.words) / 8)


def _gaps(spans: list[tuple[float, float]], least: float) -> list[tuple[float, float]]:
    """(width, middle) of each stretch that no span covers."""
    found: list[tuple[float, float]] = []
    reached: float | None = None
    for start, end in sorted(spans):
        if reached is not None and start - reached >= least:
            found.append((start - reached, (start + reached) / 2))
        reached = end if reached is None else max(reached, end)
    return found


def _lines(words: Sequence[Word]) -> list[Line]:
    """Words grouped by base line, from the top; raised and lowered marks go with their line."""
    lines: list[Line] = []
    for word in sorted(words, key=lambda word: (word.bottom, word.left)):
        for line in reversed(lines[-3:]):
            last = line.words[-1]
            overlap = min(word.bottom, last.bottom) - max(word.top, last.top)
            if overlap > 0.5 * min(word.bottom - word.top, last.bottom - last.top):
                line.words.append(word)
                break
        else:
            lines.append(Line([word]))
    is_mixed = any(word.against for word in words)
    for line in lines:
        line.words.sort(key=lambda word: word.left)
        if is_mixed and any(word.against for word in line.words):
            line.words, line.is_mixed = _as_read(line.words), True
    lines.sort(key=lambda line: (line.words[0].bottom, line.left))
    return lines


def _as_read(words: list[Word]) -> list[Word]:
    """Words from left to right in the order in which they are read.

    What is read against the rest is turned round with what stands among it, and with numbers before it: of a line in
    Arabic, `ASVS 4.0` is seen with its number first. Most of the words say how the line itself is read.
    """
    is_turned = sum(word.against for word in words) > sum(not (word.against or word.is_neutral) for word in words)
    line = words[::-1] if is_turned else words
    found: list[Word] = []
    place = 0
    while place < len(line):
        first = place
        while first < len(line) and line[first].is_neutral and _NUMBER.search(line[first].text):
            first += 1
        end = first
        for number in range(first, len(line)):
            if line[number].against != is_turned and not line[number].is_neutral:
                end = number + 1
            elif not line[number].is_neutral or number == first:
                break
        end = end if end > first else place + 1
        found += line[place:end][::-1]
        place = end
    return found
