"""The layout of a page: words to lines, lines to columns, columns to reading order. Knows boxes, no PDF.

A page is cut where white space runs through it, first between columns, then between what stands above each other
(the XY-cut of Nagy and Seth, 1984). A gutter only counts between two stacks of full lines: the gaps of a table run
from top to bottom too, but its cells are short, and rows are read across.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median

_MAX_DEPTH = 40
_MIN_COLUMN_LINES = 3
#: Of a column's width, that its lines fill at least at the median; lines of prose do, cells of tables don't.
_FILLED = 0.6
_MIN_COLUMN_WORDS = 3  #: per line at the median
_GUTTER = 0.8  #: of the type size, that a gutter is wide at least
_MAX_GAPS = 40  #: places at which a region is tried to be cut across
_MAX_TESTS = 250  #: of a page for columns; most need fewer than ten
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


class Line:
    """Words on one base line from left to right, in one column, or some of them.

    A page that is read from right to left is mirrored, so that its lines begin at the left too.
    """

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = sorted(words, key=lambda word: word.left)
        self.left = self.words[0].left
        self.right = max(word.right for word in words)
        self.top = min(word.top for word in words)
        self.bottom = max(word.bottom for word in words)

    @property
    def text(self) -> str:
        """The words in reading order: those that are read against the direction of the page are turned round."""
        runs = (list(run) for _, run in groupby(self.words, key=lambda word: word.against))
        return " ".join(word.text for run in runs for word in (run[::-1] if run[0].against else run))

    @property
    def size(self) -> float:
        """The size of most of its characters."""
        sizes: Counter[float] = Counter()
        for word in self.words:
            sizes[word.size] += len(word.text)
        return max(sizes, key=lambda size: sizes[size])

    @property
    def bold(self) -> bool:
        return all(word.bold for word in self.words)

    @property
    def mono(self) -> bool:
        return all(word.mono for word in self.words)

    @property
    def length(self) -> float:
        """Its words; where none are parted by spaces (Chinese, Japanese), by their usual length."""
        return max(len(self.words), sum(len(word.text) for word in self.words) / 8)

    def parted(self, gap: float = _CELL_GAP) -> list[Line]:
        """The words parted where they are further from each other than `gap` times their size: the line's cells."""
        parts = [[self.words[0]]]
        for before, word in pairwise(self.words):
            if word.left - before.right > gap * max(before.size, word.size):
                parts.append([])
            parts[-1].append(word)
        return [Line(part) for part in parts]


def in_reading_order(words: Sequence[Word]) -> list[list[Line]]:
    """The lines of a page by column, columns and lines in the order in which they are read."""
    whole = _lines(words)
    # Lines that have two stretches of running words beside each other, as columns give and few tables do.
    parted = (sum(part.length >= _MIN_COLUMN_WORDS for part in line.parted(_GUTTER)) > 1 for line in whole)
    if sum(parted) < _MIN_COLUMN_LINES:
        return [whole] if whole else []
    return [_lines(region) for region in _Cutter().cut(list(words), 0)]


class _Cutter:
    """Cuts one page; where it is too intricate, what is left stays as it is."""

    def __init__(self) -> None:
        self._tests_left = _MAX_TESTS

    def cut(self, words: list[Word], depth: int) -> Iterator[list[Word]]:
        is_small = len(words) < 2 * _MIN_COLUMN_LINES or depth > _MAX_DEPTH
        parts = [] if is_small else self._columns(words) or self._rows(words)
        for part in parts:
            yield from self.cut(part, depth + 1)
        if not parts:
            yield words

    def _columns(self, words: list[Word]) -> list[list[Word]]:
        """Left and right of the widest gutter that parts two stacks of full lines; empty where there is none."""
        self._tests_left -= 1
        if not words or self._tests_left <= 0:
            return []
        size = median(word.size for word in words)
        for _, place in _gaps([(word.left, word.right) for word in words], 0.75 * _GUTTER * size)[:6]:
            left = [word for word in words if word.right <= place]
            right = [word for word in words if word.left >= place]
            if _is_column(left) and _is_column(right):
                return [left, right]
        return []

    def _rows(self, words: list[Word]) -> list[list[Word]]:
        """Above and below the white space at which columns may begin or end; empty where cutting changes nothing."""
        size = median(word.size for word in words)
        gaps = [place for _, place in _gaps([(word.top, word.bottom) for word in words], 0.05 * size)[:_MAX_GAPS]]
        for place in gaps:
            above = [word for word in words if word.bottom <= place]
            below = [word for word in words if word.top >= place]
            if self._columns(above) or self._columns(below):
                return [above, below]
        # Something across above columns, and something below them: cut off the top to see the rest.
        for place in sorted(gaps):
            below = [word for word in words if word.top >= place]
            for end in sorted(gaps, reverse=True)[:8]:
                if end > place and self._columns([word for word in below if word.bottom <= end]):
                    return [[word for word in words if word.bottom <= place], below]
        return []


def _is_column(words: list[Word]) -> bool:
    lines = _lines(words)
    if len(lines) < _MIN_COLUMN_LINES:
        return False
    width = max(line.right for line in lines) - min(line.left for line in lines)
    return (
        median(line.right - line.left for line in lines) >= _FILLED * width
        and median(line.length for line in lines) >= _MIN_COLUMN_WORDS
    )


def _gaps(spans: list[tuple[float, float]], least: float) -> list[tuple[float, float]]:
    """(width, middle) of each stretch that no span covers, the widest first."""
    found: list[tuple[float, float]] = []
    (_, reached), *others = sorted(spans)
    for start, end in others:
        if start - reached >= least:
            found.append((start - reached, (start + reached) / 2))
        reached = max(reached, end)
    return sorted(found, reverse=True)


def _lines(words: Sequence[Word]) -> list[Line]:
    """Words grouped by base line, from the top; raised and lowered marks go with their line."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (word.bottom, word.left)):
        for row in reversed(rows[-3:]):
            overlap = min(word.bottom, row[-1].bottom) - max(word.top, row[-1].top)
            if overlap > 0.5 * min(word.bottom - word.top, row[-1].bottom - row[-1].top):
                row.append(word)
                break
        else:
            rows.append([word])
    return sorted(map(Line, rows), key=lambda line: (line.words[0].bottom, line.left))
