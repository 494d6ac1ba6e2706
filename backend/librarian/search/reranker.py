"""The second look: candidates of the first stage, judged once more.

A cross-encoder reads question and passage together; its scores come back as one more ranking, and the first stage's
opinion stays as a smaller part of the sum. `keyword-stage` is the two-stage formula without a model: 70% semantic and
30% keyword score over the best by meaning and all that hold the question's identifier, where other candidates below a
keyword threshold fall out. It orders worse than hybrid on every development set, so nothing chooses it by itself:
without a cross-encoder hybrid's order stays.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..embeddings.base import LazyModel, Reranker
from ..errors import LibrarianError
from ..models import Candidate, Deadline, RetrieverStatus, ScorePart
from .candidates import Candidates
from .modes import STEP, identifiers_first
from .options import SearchOptions

#: The cross-encoder's part of the sum; the rest is the first stage's relevance.
MODEL_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class RerankResult:
    """What the second look gave: the leg's report, and where it is `ok` the candidates on the scale that is named."""

    retriever: RetrieverStatus
    candidates: Sequence[Candidate] = ()
    scale: str = "rerank"
    degraded: tuple[str, ...] = ()


class RerankStage:
    """Judges by what `options.reranker` names; where that can't be, says so and leaves the order."""

    def __init__(self, model: LazyModel[Reranker] | None, options: SearchOptions) -> None:
        self._model = model
        self._options = options

    def rerank(
        self,
        question: str,
        pool: Candidates,
        candidates: Sequence[Candidate],
        count: int,
        least: int,
        texts: Callable[[Sequence[int]], Mapping[int, str]],
        relevance: Callable[[Candidate], float],
        budget: Deadline,
    ) -> RerankResult:
        """Judge the `count` best again, or as many of them as there is time for; fewer than `least` count for nothing.

        `texts` fetches passages, `relevance` is the first stage's opinion.
        """
        started = time.perf_counter()
        if self._options.reranker == "keyword-stage":
            judged = keyword_stage(pool, candidates, count, self._options)
            if not judged:
                reason = "no candidate reaches the keyword threshold"
                return RerankResult(RetrieverStatus("skipped", reason, _since(started)))
            return RerankResult(RetrieverStatus("ok", _counted(len(judged)), _since(started)), judged)
        if self._model is None or self._options.reranker == "none":
            return RerankResult(RetrieverStatus("off", "no reranker is set: search.reranker", _since(started)))
        try:
            model = self._model.get()
        except LibrarianError as error:
            if self._options.reranker == "auto":
                return RerankResult(RetrieverStatus("off", str(error), _since(started)))
            return RerankResult(RetrieverStatus("failed", str(error), _since(started)), degraded=(f"rerank: {error}",))
        known = texts([candidate.chunk_id for candidate in candidates[:count]])
        read = [candidate for candidate in candidates[:count] if candidate.chunk_id in known]
        allowed_ms = min(self._options.rerank_timeout_ms, budget.remaining_ms())
        timed = Deadline(deadline=time.monotonic() + allowed_ms / 1000, cancelled=budget.cancelled)
        try:
            scores = model.score(question, [known[candidate.chunk_id] for candidate in read], timed)
        except LibrarianError as error:
            budget.check()
            return RerankResult(RetrieverStatus("failed", str(error), _since(started)), degraded=(f"rerank: {error}",))
        logits = {c.chunk_id: logit for c, logit in zip(read, scores, strict=True) if logit is not None}
        reason = _counted(len(logits))
        if len(logits) < len(read):
            reason = f"{len(logits)} of {len(read)} candidates were scored within {allowed_ms:.0f} ms"
            if len(logits) < least:
                return RerankResult(
                    RetrieverStatus("skipped", reason, _since(started)), degraded=(f"rerank: {reason}",)
                )
        opinions = {candidate.chunk_id: relevance(candidate) for candidate in candidates}
        judged = model_stage(candidates, logits, opinions)
        return RerankResult(RetrieverStatus("ok", reason, _since(started)), judged, "cross-encoder")


def keyword_stage(
    pool: Candidates, candidates: Sequence[Candidate], count: int, options: SearchOptions
) -> list[Candidate]:
    """The model-free stage over the `count` best by meaning and all that hold the question's identifier, which no
    threshold drops; empty where nothing of it is left."""
    by_id = {candidate.chunk_id: candidate for candidate in candidates}
    ranks = {chunk: rank for rank, chunk in enumerate(pool.semantic.ids, start=1)}
    share = options.rerank_semantic_share
    holders = (candidate.chunk_id for candidate in candidates if candidate.identifier)
    judged = []
    for chunk in dict.fromkeys((*pool.semantic.ids[:count], *holders)):
        candidate = by_id.get(chunk)
        if candidate is None:
            continue
        if not candidate.identifier and (candidate.keyword_score or 0.0) < options.rerank_keyword_threshold:
            continue
        meaning, words = candidate.semantic_score or 0.0, candidate.keyword_score or 0.0
        why = (
            ScorePart("semantic", ranks.get(chunk), meaning, share * meaning),
            ScorePart("keyword", None, words, (1 - share) * words),
        )
        judged.append(replace(candidate, why=why, rerank_score=share * meaning + (1 - share) * words))
    return identifiers_first(judged, STEP["rerank"])


def model_stage(
    candidates: Sequence[Candidate], logits: Mapping[int, float], relevance: Mapping[int, float]
) -> list[Candidate]:
    """Candidates by a cross-encoder's logits; `relevance` is the first stage's, all that those without a logit keep."""
    places = {chunk: rank for rank, chunk in enumerate(sorted(logits, key=lambda c: (-logits[c], c)), start=1)}
    judged = []
    for candidate in candidates:
        chunk = candidate.chunk_id
        why = [ScorePart("first stage", None, relevance[chunk], (1 - MODEL_SHARE) * relevance[chunk])]
        own = None
        if chunk in logits:
            own = sigmoid(logits[chunk])
            why.append(ScorePart("rerank", places[chunk], logits[chunk], MODEL_SHARE * own))
        judged.append(replace(candidate, why=tuple(why), rerank_score=own))
    return identifiers_first(judged, STEP["cross-encoder"])


def sigmoid(logit: float) -> float:
    """A logit as a probability, without overflow."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def _counted(candidates: int) -> str:
    return f"{candidates} candidates were scored" if candidates != 1 else "1 candidate was scored"


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
