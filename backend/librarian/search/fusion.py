"""Joining opinions by rank: every leg is a ranking, and this makes one order of several.

Per id it returns the contributions whose `math.fsum` is the id's score, so that an explanation can't disagree with the
order. The ids may be passages or documents. Sums of scores are in `modes`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ..models import Ranking, ScorePart

Fused = dict[int, tuple[ScorePart, ...]]


def rrf(rankings: Sequence[Ranking], k: int = 10) -> Fused:
    """Reciprocal rank fusion: an id's points in a ranking are `1 / (k + rank)`.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
    SIGIR 2009; their k is 60, a smaller k trusts first places more.

    >>> keyword = Ranking("keyword", ids=(7, 8), raw=(3.0, 1.0), scores=(0.6, 0.2))
    >>> semantic = Ranking("semantic", ids=(8, 9), raw=(0.5, 0.4), scores=(0.5, 0.4))
    >>> fused = rrf([keyword, semantic], k=10)
    >>> {key: round(score(why), 4) for key, why in fused.items()}  # 8: 1/12 + 1/11
    {7: 0.0909, 8: 0.1742, 9: 0.0833}
    """
    gathered: dict[int, list[ScorePart]] = {}
    for ranking in rankings:
        for rank, (key, raw) in enumerate(zip(ranking.ids, ranking.raw, strict=True), start=1):
            gathered.setdefault(key, []).append(ScorePart(ranking.source, rank, raw, 1 / (k + rank)))
    return {key: tuple(reasons) for key, reasons in gathered.items()}


def score(why: Iterable[ScorePart]) -> float:
    """The sum of the reasons; `fsum`, so that their order can't matter."""
    return math.fsum(reason.points for reason in why)


def ranking_of(
    source: str, scored: Mapping[int, float], scores: Mapping[int, float] | None = None, *, ms: float = 0.0
) -> Ranking:
    """A ranking from id → raw score, best first, ties by id; `scores` are their 0–1 form where it differs.

    >>> ranking_of("x", {3: 0.5, 1: 0.5, 2: 0.9}).ids
    (2, 1, 3)
    """
    ids = tuple(sorted(scored, key=lambda key: (-scored[key], key)))
    raw = tuple(scored[key] for key in ids)
    own = raw if scores is None else tuple(scores[key] for key in ids)
    return Ranking(source, ids, raw, own, ms=ms)
