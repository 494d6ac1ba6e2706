"""Candidates in order. Of the hundreds that a question has a page shows ten: the others' reasons are never written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import overload

import numpy as np

from ..models import Candidate, Ids, ScorePart
from .candidates import Candidates, Floats, Mask
from .fusion import score

#: A candidate's reasons, by its row in the pool.
Reasons = Callable[[int], Iterable[ScorePart]]


class LazyRanking(Sequence[Candidate]):
    """Rows of a pool, best first by their sums, ties by chunk id. A candidate is made when it is looked at.

    `rows` are those that take part and `sums` theirs; `why` must give reasons that add up to the row's sum, but for
    rounding.
    """

    def __init__(self, pool: Candidates, rows: Ids, sums: Floats, why: Reasons) -> None:
        chunk_ids = pool.passages.chunk_ids[rows]
        order = np.lexsort((chunk_ids, -sums))
        self._rows: list[int] = rows[order].tolist()
        self._pool, self._why = pool, why
        self._keyword_scores = pool.keyword_scores()
        self.chunk_ids: list[int] = chunk_ids[order].tolist()  #: best first
        self.sums: list[float] = sums[order].tolist()  #: theirs

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Candidate: ...

    @overload
    def __getitem__(self, place: slice) -> list[Candidate]: ...

    def __getitem__(self, place: int | slice) -> Candidate | list[Candidate]:
        if isinstance(place, slice):
            return [self._candidate(row) for row in self._rows[place]]
        return self._candidate(self._rows[place])

    def _candidate(self, row: int) -> Candidate:
        passages = self._pool.passages
        return Candidate(
            int(passages.chunk_ids[row]),
            int(passages.doc_ids[row]),
            tuple(self._why(row)),
            keyword_score=_known(self._keyword_scores[row]),
            semantic_score=_known(passages.semantic[row]),
            identifier=bool(passages.holds_identifier[row]) and self._pool.asks_identifier,
        )


def ids_of(candidates: Sequence[Candidate]) -> list[int]:
    """Chunk ids in order, without making candidates for them where they come from an `LazyRanking`."""
    if isinstance(candidates, LazyRanking):
        return candidates.chunk_ids
    return [candidate.chunk_id for candidate in candidates]


def sums_of(candidates: Sequence[Candidate]) -> list[float]:
    """The candidates' sums in order, likewise."""
    if isinstance(candidates, LazyRanking):
        return candidates.sums
    return [score(candidate.why) for candidate in candidates]


def lift(sums: Floats, holders: Mask, step: float) -> Floats:
    """What holding the question's identifier must bring, so that every holder stands above all others; shape of `sums`.

    With `m` the best sum without the identifier and `d` a holder's distance to it, the holder's new sum is
    `m + (d + √(d² + 4·step²)) / 2`: always above `m`, in the same order as before, and nearly unchanged for those that
    were well above already. 0 for those that don't hold it, and for all where everyone does.
    """
    brought = np.zeros(len(sums))
    if holders.all() or not holders.any():
        return brought
    ceiling = float(sums[~holders].max())
    for row in np.flatnonzero(holders).tolist():
        d = float(sums[row]) - ceiling
        root = math.sqrt(d * d + 4 * step * step)
        above = (d + root) / 2 if d >= 0 else 2 * step * step / (root - d)
        brought[row] = above - d
    return brought


def _known(score: float) -> float | None:
    return None if math.isnan(score) else float(score)
