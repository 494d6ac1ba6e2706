"""The rerank stage: the first stage's candidates judged once more.

A cross-encoder reads query and chunk together; its score makes most of the sum, the first stage's relevance the rest.
`keyword-stage` is the two-stage formula without a model: 70% semantic and 30% keyword score over the best by meaning
and all that hold the query's identifier, where other candidates below a keyword threshold fall out. It orders worse
than hybrid on every development set, so nothing chooses it by itself: without a cross-encoder hybrid's order stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..embeddings.base import LazyModel, Reranker
from ..errors import LibrarianError
from ..models import Deadline, RetrieverStatus, ScorePart
from .candidates import Floats, nan_to_zero
from .ranking import Ranked, ranked

#: The cross-encoder's part of the sum; the rest is the first stage's relevance.
MODEL_SHARE = 0.7
#: Of the model-free stage: the semantic score's part, and the keyword score below which a candidate is dropped.
SEMANTIC_SHARE, KEYWORD_THRESHOLD = 0.7, 0.1


@dataclass(frozen=True, slots=True)
class RerankResult:
    """The stage's report, and where that is `ok` the new order."""

    status: RetrieverStatus
    ranked: Ranked | None = None


def rerank(
    model: LazyModel[Reranker] | None,
    question: str,
    first: Ranked,
    count: int,
    least: int,
    texts: Callable[[Sequence[int]], Mapping[int, str]],
    relevance: Callable[[float], float],
    deadline: Deadline,
    *,
    timeout_ms: float,
    optional: bool,
) -> RerankResult:
    """The `count` best judged by a cross-encoder, or as many of them as there is time for; fewer than `least` are too
    few. `texts` fetches passages, `relevance` makes the first stage's opinion of a sum. An `optional` model may be
    missing without being missed.
    """
    started = time.perf_counter()

    def report(status: str, reason: str, result: Ranked | None = None) -> RerankResult:
        took_ms = round((time.perf_counter() - started) * 1000, 3)
        return RerankResult(RetrieverStatus(status, reason, took_ms), result)  # type: ignore[arg-type]

    if model is None:
        return report("off", "no reranker is set: search.reranker")
    try:
        encoder = model.get()
    except LibrarianError as error:
        return report("off" if optional else "failed", str(error))
    known = texts(first.chunk_ids[:count])
    read = [(row, known[chunk]) for row, chunk in zip(first.rows[:count].tolist(), first.chunk_ids, strict=False)
            if chunk in known]  # fmt: skip
    allowed_ms = min(timeout_ms, deadline.remaining_ms())
    timed = Deadline(deadline=time.monotonic() + allowed_ms / 1000, cancelled=deadline.cancelled)
    try:
        logits = encoder.score(question, [text for _, text in read], timed)
    except LibrarianError as error:
        deadline.check()
        return report("failed", str(error))
    raw = np.full(len(first.candidates.chunks), np.nan)
    for (row, _), logit in zip(read, logits, strict=True):
        raw[row] = np.nan if logit is None else logit
    scored = int(np.count_nonzero(~np.isnan(raw)))
    if scored < len(read):
        reason = f"{scored} of {len(read)} candidates were scored within {allowed_ms:.0f} ms"
        if scored < least:
            return report("skipped", reason)
    else:
        reason = _counted(scored)
    return report("ok", reason, _by_model(first, raw, relevance))


def _by_model(first: Ranked, logits: Floats, relevance: Callable[[float], float]) -> Ranked:
    """By a cross-encoder's logits, one a row, NaN where it didn't read; there, the first stage's relevance is all."""
    own = 1 / (1 + np.exp(-np.clip(logits, -700, 700)))
    opinion = np.zeros(len(logits))
    opinion[first.rows] = [relevance(total) for total in first.sums]
    order = np.lexsort((first.candidates.chunks.chunk_ids, -nan_to_zero(np.where(np.isnan(logits), -np.inf, logits))))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(1, len(order) + 1)

    def parts(row: int) -> list[ScorePart]:
        found = [ScorePart("first stage", None, float(opinion[row]), (1 - MODEL_SHARE) * float(opinion[row]))]
        if not np.isnan(logits[row]):
            found.append(ScorePart("rerank", int(place[row]), float(logits[row]), MODEL_SHARE * float(own[row])))
        return found

    sums = (1 - MODEL_SHARE) * opinion + MODEL_SHARE * nan_to_zero(own)
    return ranked(first.candidates, sums[first.rows], parts, "cross-encoder", first.rows, own)


def keyword_stage(first: Ranked, count: int, threshold: float = KEYWORD_THRESHOLD) -> RerankResult:
    """The model-free stage over the `count` best by meaning and all that hold the query's identifier, which no
    threshold drops."""
    started = time.perf_counter()
    candidates = first.candidates
    places = candidates.places(candidates.semantic)
    keyword, semantic = nan_to_zero(candidates.keyword_scores()), nan_to_zero(candidates.chunks.semantic)
    holds = candidates.chunks.holds_identifier & candidates.asks_identifier
    near = (places > 0) & (places <= count) & (keyword >= threshold)
    rows = first.rows[(near | holds)[first.rows]]
    took_ms = round((time.perf_counter() - started) * 1000, 3)
    if not len(rows):
        return RerankResult(RetrieverStatus("skipped", "no candidate reaches the keyword threshold", took_ms))

    def parts(row: int) -> tuple[ScorePart, ...]:
        semantic_score, words = float(semantic[row]), float(keyword[row])
        return (
            ScorePart("semantic", int(places[row]) or None, semantic_score, SEMANTIC_SHARE * semantic_score),
            ScorePart("keyword", None, words, (1 - SEMANTIC_SHARE) * words),
        )

    sums = SEMANTIC_SHARE * semantic + (1 - SEMANTIC_SHARE) * keyword
    result = ranked(candidates, sums[rows], parts, "rerank", rows, sums)
    return RerankResult(RetrieverStatus("ok", _counted(len(rows)), took_ms), result)


def _counted(candidates: int) -> str:
    return f"{candidates} candidates were scored" if candidates != 1 else "1 candidate was scored"
