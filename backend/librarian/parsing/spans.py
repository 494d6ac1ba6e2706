"""Where code stands in Markdown: what looks like markup in it is shown as it is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from ..models import Block

SourceSpan = tuple[int, int]  #: start, end


class Intervals:
    """Whether an offset lies in one of some spans, which come sorted and don't overlap.

    >>> 5 in Intervals([(0, 3), (5, 7)]), 7 in Intervals([(0, 3), (5, 7)])
    (True, False)
    """

    def __init__(self, spans: Iterable[SourceSpan]) -> None:
        known = list(spans)
        self._starts = [start for start, _ in known]
        self._ends = [end for _, end in known]

    def __contains__(self, offset: int) -> bool:
        place = bisect_right(self._starts, offset) - 1
        return place >= 0 and offset < self._ends[place]


_TICKS = re.compile(r"`+|\\+")
#: Where a paragraph, an item or a row ends: no code span reaches beyond it.
_PART = re.compile(r"\n(?=[ \t>]*(?:\n|[-*+][ \t]|\d{1,9}[.)][ \t]|\|))")
INDENTED = re.compile(r" {0,3}\t| {4}")  #: how a line of code begins, unless it is a note's or an item's


class InsideCodeSpan:
    """Whether an offset lies in a code span; a block is looked at when first asked about."""

    def __init__(self, text: str, blocks: Sequence[Block]) -> None:
        self._text = text
        self._blocks = blocks
        self._starts = [block.start for block in blocks]
        self._known: dict[int, Intervals] = {}

    def __contains__(self, offset: int) -> bool:
        place = bisect_right(self._starts, offset) - 1
        if place < 0:
            return False
        if place not in self._known:
            self._known[place] = Intervals(code_spans(self._text, self._blocks[place]))
        return offset in self._known[place]


def code_blocks(text: str, blocks: Sequence[Block]) -> Iterator[SourceSpan]:
    """Fences and indented code, as offsets."""
    for block in blocks:
        if block.kind == "fence" or (block.kind == "other" and INDENTED.match(text, block.start)):
            yield block.start, block.end


def code_spans(text: str, block: Block) -> Iterator[SourceSpan]:
    """Code between backticks in a block, from the first to the last of them."""
    if block.kind in ("fence", "html") or text.find("`", block.start, block.end) < 0:
        return
    start = block.start
    for part in _PART.finditer(text, block.start, block.end):
        yield from _spans_of(text, start, part.start())
        start = part.end()
    yield from _spans_of(text, start, block.end)


def _spans_of(text: str, start: int, end: int) -> Iterator[SourceSpan]:
    """A run of backticks opens code where a run as long follows; a backslash before it takes its first away."""
    runs: list[tuple[int, int, bool]] = []
    odd = -1  # where backslashes that escape what follows end
    for match in _TICKS.finditer(text, start, end):
        first, last = match.span()
        if text[first] == "`":
            runs.append((first, last, first == odd))
        else:
            odd = last if (last - first) % 2 else -1
    by_length: dict[int, list[int]] = {}
    for place in range(len(runs) - 1, 0, -1):
        by_length.setdefault(runs[place][1] - runs[place][0], []).append(place)
    reached = 0
    for place, (first, last, escaped) in enumerate(runs):
        closing = by_length.get(last - first - escaped, [])
        while closing and closing[-1] <= place:
            closing.pop()
        if closing and place >= reached:
            reached = closing[-1] + 1
            yield first + escaped, runs[closing[-1]][1]
