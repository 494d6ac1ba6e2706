"""Where code stands in Markdown: what looks like markup in it is shown as it is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from ..models import Block

SourceSpan = tuple[int, int]  #: start, end
S = TypeVar("S", SourceSpan, tuple[int, int, str])


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


def in_order(spans: Iterable[S]) -> list[S]:
    """Spans by their start, without those that begin inside another."""
    found: list[S] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not found or span[0] >= found[-1][1]:
            found.append(span)
    return found


#: Where a paragraph, an item or a row ends: no code span reaches beyond it.
_PART = re.compile(r"\n(?=[ \t>]*(?:\n|[-*+][ \t]|\d{1,9}[.)][ \t]|\|))")
#: A run of backticks, and the code up to a run as long; a backslash before it takes its first away.
_CODE_SPAN = re.compile(r"\\.|(`++)(?:.{0,2000}?[^`]\1(?!`))?", re.S)
INDENTED = re.compile(r" {0,3}\t| {4}")  #: how a line of code begins, unless it is a note's or an item's


def code_in(text: str, blocks: Sequence[Block]) -> tuple[Intervals, Intervals]:
    """Where code stands: fences and indented code, and what stands between backticks."""
    others = (block for block in blocks if block.kind == "other" and INDENTED.match(text, block.start))
    code = [*(block for block in blocks if block.kind == "fence"), *others]
    spans = (span for block in blocks for span in code_spans(text, block))
    return Intervals(sorted((block.start, block.end) for block in code)), Intervals(spans)


def code_spans(text: str, block: Block) -> Iterator[SourceSpan]:
    """Code between backticks in a block, from the first to the last of them."""
    if block.kind in ("fence", "html") or text.find("`", block.start, block.end) < 0:
        return
    start = block.start
    for end in (*(part.start() for part in _PART.finditer(text, block.start, block.end)), block.end):
        for match in _CODE_SPAN.finditer(text, start, end):
            if match[1] and match[1] != match[0]:
                yield match.span()
        start = end
