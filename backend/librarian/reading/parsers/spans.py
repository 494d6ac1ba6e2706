"""Whether a place in a text lies in one of some spans of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

Span = tuple[int, int]  #: start, end


class Inside:
    """Whether an offset lies in one of some spans, which come sorted and don't overlap.

    >>> 5 in Inside([(0, 3), (5, 7)]), 7 in Inside([(0, 3), (5, 7)])
    (True, False)
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        known = list(spans)
        self._starts = [start for start, _ in known]
        self._ends = [end for _, end in known]

    def __contains__(self, offset: int) -> bool:
        place = bisect_right(self._starts, offset) - 1
        return place >= 0 and offset < self._ends[place]
