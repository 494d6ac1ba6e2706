"""The second look: candidates of the first stage, judged once more.

Without a cross-encoder the design's two-stage formula judges: 70% semantic and 30% keyword score over the best by
meaning, where candidates below a keyword threshold fall out. With one, question and passage are read together; its
scores come back as one more ranking and the first stage's opinion stays as a smaller part of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from librarian.vocabulary.types import Candidate, Contribution

from .modes import STEP, identifiers_first
from .options import SearchOptions
from .pool import Pool

#: The cross-encoder's part of the sum; the rest is the first stage's relevance.
MODEL_SHARE = 0.7


def keyword_stage(pool: Pool, candidates: Sequence[Candidate], count: int, options: SearchOptions) -> list[Candidate]:
    """The model-free stage over the `count` best by meaning; empty where none reaches the keyword threshold."""
    by_id = {candidate.chunk_id: candidate for candidate in candidates}
    share = options.rerank_semantic_share
    judged = []
    for rank, chunk in enumerate(pool.semantic.ids[:count], start=1):
        candidate = by_id.get(chunk)
        if candidate is None or (candidate.keyword_score or 0.0) < options.rerank_keyword_threshold:
            continue
        meaning, words = candidate.semantic_score or 0.0, candidate.keyword_score or 0.0
        why = (
            Contribution("semantic", rank, meaning, share * meaning),
            Contribution("keyword", None, words, (1 - share) * words),
        )
        judged.append(replace(candidate, why=why, rerank_score=share * meaning + (1 - share) * words))
    return identifiers_first(judged, STEP["rerank"])


def model_stage(
    candidates: Sequence[Candidate], logits: Mapping[int, float], relevance: Mapping[int, float]
) -> list[Candidate]:
    """Candidates by a cross-encoder's logits; `relevance` is the first stage's. Unread ones keep only that part."""
    places = {chunk: rank for rank, chunk in enumerate(sorted(logits, key=lambda c: (-logits[c], c)), start=1)}
    judged = []
    for candidate in candidates:
        chunk = candidate.chunk_id
        why = [Contribution("first stage", None, relevance[chunk], (1 - MODEL_SHARE) * relevance[chunk])]
        own = None
        if chunk in logits:
            own = sigmoid(logits[chunk])
            why.append(Contribution("rerank", places[chunk], logits[chunk], MODEL_SHARE * own))
        judged.append(replace(candidate, why=tuple(why), rerank_score=own))
    return identifiers_first(judged, STEP["cross-encoder"])


def sigmoid(logit: float) -> float:
    """A logit as a probability, without overflow."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))
