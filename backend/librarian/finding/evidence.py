"""From passages to documents: how strongly a whole document answers, by its best passage and by its further ones."""

from __future__ import annotations

import math
from collections.abc import Mapping

from librarian.vocabulary.types import Ranking

from .fusion import ranking_of

#: Further passages that count, and how much less each counts than the one before. Measured on the Kubernetes tasks:
#: keyword nDCG@10 0.693 → 0.748, hybrid 0.632 → 0.681, where nothing is lost on the Ray questions.
FURTHER = 4
DECAY = 0.4

#: Further passages that there must be. One alone says that a text is long enough for two, not that more of it answers:
#: counting it puts the longer abstracts of a collection before the shorter ones.
FEWEST = 2


def of_documents(
    ranking: Ranking,
    doc_of: Mapping[int, int],
    *,
    decay: float = DECAY,
    floor: float = 0.0,
) -> Ranking:
    """The ranking's opinion of documents: best passage's score + Σ decayⁱ × the i-th further one's.

    `floor` is the score from which a further passage counts; with fewer than `FEWEST` that do, none does. Passages
    without a known document are left out.

    >>> passages = Ranking("keyword", ids=(1, 2, 3, 4), raw=(5.0, 4.0, 3.0, 2.0), scores=(0.5, 0.4, 0.3, 0.2))
    >>> documents = of_documents(passages, {1: 10, 2: 20, 3: 20, 4: 20}, decay=0.5)
    >>> documents.ids, [round(s, 2) for s in documents.scores]  # 20: 0.4 + 0.5 × 0.3 + 0.25 × 0.2
    ((20, 10), [0.6, 0.5])
    """
    gathered: dict[int, list[float]] = {}
    for chunk_id, own in zip(ranking.ids, ranking.scores, strict=True):
        if doc_id := doc_of.get(chunk_id, 0):
            gathered.setdefault(doc_id, []).append(own)
    evidence = {}
    for doc_id, scores in gathered.items():
        scores.sort(reverse=True)
        counted = [own for own in scores[1 : FURTHER + 1] if own > 0 and own >= floor]
        if len(counted) < FEWEST:
            counted = []
        evidence[doc_id] = math.fsum([scores[0], *(own * decay**i for i, own in enumerate(counted, start=1))])
    return ranking_of(ranking.source, evidence, ms=ranking.ms)
