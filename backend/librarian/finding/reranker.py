"""The second look: candidates of the first stage, judged once more.

Without a cross-encoder the design's two-stage formula judges: 70% semantic and 30% keyword score over the best by
meaning, where candidates below a keyword threshold fall out. With one, question and passage are read together; its
scores come back as one more ranking and the first stage's opinion stays as a smaller part of the sum.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from librarian.vocabulary.errors import LibrarianError
from librarian.vocabulary.protocols import Budget, Loadable, Reranker
from librarian.vocabulary.types import Candidate, Contribution, LegReport

from .modes import STEP, identifiers_first
from .options import SearchOptions
from .pool import Pool

#: The cross-encoder's part of the sum; the rest is the first stage's relevance.
MODEL_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Second:
    """What the second look gave: the leg's report, and where it is `ok` the candidates on the scale that is named."""

    leg: LegReport
    candidates: Sequence[Candidate] = ()
    scale: str = "rerank"
    degraded: tuple[str, ...] = ()


class SecondLook:
    """Judges by the cross-encoder where there is one, by the model-free stage otherwise."""

    def __init__(self, model: Loadable[Reranker] | None, options: SearchOptions) -> None:
        self._model = model
        self._options = options

    def at(
        self,
        question: str,
        pool: Pool,
        candidates: Sequence[Candidate],
        count: int,
        texts: Callable[[Sequence[int]], Mapping[int, str]],
        relevance: Callable[[Candidate], float],
        budget: Budget,
    ) -> Second:
        """Judge the `count` best again. `texts` fetches passages, `relevance` is the first stage's opinion."""
        started = time.perf_counter()
        if self._model is None:
            judged = keyword_stage(pool, candidates, count, self._options)
            if not judged:
                reason = "no candidate reaches the keyword threshold"
                return Second(LegReport("skipped", reason, _since(started)))
            return Second(LegReport("ok", "", _since(started)), judged)
        try:
            model = self._model.get()
            known = texts([candidate.chunk_id for candidate in candidates[:count]])
            read = [candidate for candidate in candidates[:count] if candidate.chunk_id in known]
            scores = model.score(question, [known[candidate.chunk_id] for candidate in read], budget)
        except LibrarianError as error:
            return Second(LegReport("failed", str(error), _since(started)), degraded=(f"rerank: {error}",))
        logits = {c.chunk_id: logit for c, logit in zip(read, scores, strict=True) if logit is not None}
        judged = model_stage(read, logits, {candidate.chunk_id: relevance(candidate) for candidate in read})
        short = (f"rerank: read {len(logits)} of {len(read)} candidates in time",) if len(logits) < len(read) else ()
        return Second(LegReport("ok", "", _since(started)), judged, "cross-encoder", short)


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


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
