"""How each mode weighs the candidates. A mode is a composition: pool in, candidates with their reasons out.

`keyword` and `semantic` are the bare legs. `hybrid` joins them by `learned`, `rrf` or `weighted` fusion, documents
first: a document's place comes from all its passages, a passage's from its document and from how far it lies behind
the document's best one. With a weight given the plain formula holds instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..models import Candidate, Ids, Ranking, ScorePart
from . import features
from .candidates import Candidates, Floats
from .chunk_scores import strength
from .fusion import Fused, rrf, score
from .lazy_ranking import LazyRanking, Reasons, lift
from .options import SearchOptions
from .ranker import LinearRanker

#: How far a passage with the identifier is lifted above the best one without, in points of the mode's scale.
STEP = {"learned": 0.2, "rrf": 0.002, "weighted": 0.01, "rerank": 0.01, "cross-encoder": 0.01}


def keyword(pool: Candidates) -> LazyRanking:
    """By keyword score alone."""
    places = pool.places(pool.keyword)
    rows = np.flatnonzero(places)
    alone = replace(pool, passages=replace(pool.passages, semantic=np.full(len(pool.passages), np.nan)))
    return LazyRanking(alone, rows, pool.keyword_scores()[rows], lambda row: pool.keyword_why(row, int(places[row])))


def semantic(pool: Candidates) -> LazyRanking:
    """By cosine alone."""
    passages = pool.passages
    rows, ranks = passages.rows_of(pool.semantic)
    rank_of = dict(zip(rows.tolist(), ranks.tolist(), strict=True))

    def why(row: int) -> list[ScorePart]:
        rank = rank_of[row]
        return [ScorePart("semantic", rank, pool.semantic.raw[rank - 1], pool.semantic.scores[rank - 1])]

    nothing = np.full(len(passages), np.nan)
    alone = replace(passages, bm25=nothing, holds_identifier=np.zeros(len(passages), dtype=np.bool_))
    return LazyRanking(replace(pool, passages=alone), rows, np.array(pool.semantic.scores)[ranks - 1], why)


def by_weight(pool: Candidates, weight: float) -> LazyRanking:
    """`(1 − weight) × keyword score + weight × semantic score`, nothing else; candidates without points fall out.

    At 0 the order is the keyword mode's, at 1 the semantic mode's.
    """
    by_words, by_meaning = pool.places(pool.keyword), pool.places(pool.semantic)
    own = pool.passages.semantic

    def why(row: int) -> list[ScorePart]:
        found = pool.keyword_why(row, int(by_words[row]), 1 - weight) if weight < 1 else []
        if weight > 0 and not np.isnan(own[row]):
            found.append(ScorePart("semantic", int(by_meaning[row]) or None, float(own[row]), weight * own[row]))
        return found

    rows = [row for row in range(len(pool.passages)) if score(why(row)) > 0]
    return LazyRanking(pool, np.array(rows, dtype=np.int64), np.array([score(why(row)) for row in rows]), why)


def weighed(pool: Candidates) -> features.Documents:
    """All that a ranker reads of a question's candidate documents."""
    return features.scaled(features.of(pool, strength(pool)), pool.nearness)


def learned(pool: Candidates, ranker: LinearRanker) -> LazyRanking:
    """Documents by the learned sum of their features, passages by their distance to the document's best.

    A passage without a vector has no semantic features: they are 0.
    """
    own = strength(pool)
    documents = features.scaled(features.of(pool, own), pool.nearness)
    return _passages(
        pool,
        np.searchsorted(documents.ids, pool.passages.doc_ids),
        np.array(list(map(math.fsum, ranker.points(documents).tolist()))),
        lambda document: ranker.why(documents, document),
        own,
        STEP["learned"],
    )


def by_rrf(pool: Candidates, k: int) -> LazyRanking:
    """Documents by reciprocal ranks in each leg, passages by their distance to the document's best.

    Ranks say nothing about how good a first place is: `evidence`, the same for every candidate of a question, brings
    the best keyword score and cosine into the sum, so that sums of different questions compare.
    """
    passages = pool.passages
    doc_of = dict(zip(passages.chunk_ids.tolist(), passages.doc_ids.tolist(), strict=True))
    retrievers = [ranking for ranking in (pool.keyword, pool.semantic, pool.hyde) if ranking.ids]
    found: Fused = rrf(
        [features.of_documents(retriever, doc_of, floor=features.FLOOR[retriever.source]) for retriever in retrievers],
        k,
    )
    own = {chunk: score(why) for chunk, why in rrf(retrievers, k).items()}
    strength = _strength(retrievers)
    ids, owner = np.unique(passages.doc_ids, return_inverse=True)
    why = [(*found.get(doc, ()), ScorePart("evidence", None, strength, strength)) for doc in ids.tolist()]
    return _passages(
        pool,
        owner,
        np.array([score(reasons) for reasons in why]),
        lambda document: why[document],
        np.array([own.get(chunk, 0.0) for chunk in passages.chunk_ids.tolist()]),
        STEP["rrf"],
    )


def by_scores(pool: Candidates, options: SearchOptions) -> LazyRanking:
    """Passages by the weighted sum of their absolute scores."""
    passages = pool.passages
    hyde = np.full(len(passages), np.nan)
    rows, ranks = passages.rows_of(pool.hyde)
    hyde[rows] = np.array(pool.hyde.scores, dtype=np.float64)[ranks - 1]
    meaning = {"semantic": passages.semantic, **({"hyde": hyde} if pool.hyde.ids else {})}
    parts = [("keyword", passages.bm25, options.keyword_weight, pool.places(pool.keyword))]
    for name, own in meaning.items():
        places = pool.places(pool.semantic if name == "semantic" else pool.hyde)
        parts.append((name, own, options.semantic_weight / len(meaning), places))

    def why(row: int) -> list[ScorePart]:
        return [
            ScorePart(name, int(places[row]) or None, float(own[row]), weight * float(own[row]))
            for name, own, weight, places in parts
            if not np.isnan(own[row])
        ]

    return _lifted(pool, np.array([score(why(row)) for row in range(len(passages))]), why, STEP["weighted"])


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first by the sum of the reasons, ties by id."""
    return sorted(candidates, key=lambda candidate: (-score(candidate.why), candidate.chunk_id))


def identifiers_first(candidates: Sequence[Candidate], step: float) -> list[Candidate]:
    """Lift every candidate that holds the question's identifier above all that don't: `order.lift`."""
    sums = np.array([score(candidate.why) for candidate in candidates])
    holders = np.array([candidate.identifier for candidate in candidates], dtype=np.bool_)
    brought = lift(sums, holders, step).tolist()
    return in_order(
        replace(candidate, why=(*candidate.why, _identifier(points))) if candidate.identifier else candidate
        for candidate, points in zip(candidates, brought, strict=True)
    )


def _passages(
    pool: Candidates, owner: Ids, documents: Floats, document_why: Reasons, own: Floats, step: float
) -> LazyRanking:
    """A passage has its document's reasons, and loses what it lies behind the document's best passage.

    `owner` is each passage's document, a row of `documents` with its sum; `own` is what each passage counts.
    """
    best = np.full(len(documents), -math.inf)
    np.maximum.at(best, owner, own)
    behind = own - best[owner]

    def why(row: int) -> Iterable[ScorePart]:
        yield from document_why(int(owner[row]))
        if behind[row]:
            yield ScorePart("passage", None, float(own[row]), float(behind[row]))

    return _lifted(pool, documents[owner] + behind, why, step)


def _lifted(pool: Candidates, sums: Floats, why: Reasons, step: float) -> LazyRanking:
    """All rows by their sums, those with the question's identifier first."""
    rows = np.arange(len(sums))
    if not pool.asks_identifier:
        return LazyRanking(pool, rows, sums, why)
    holds = pool.passages.holds_identifier
    brought = lift(sums, holds, step)

    def with_identifier(row: int) -> Iterable[ScorePart]:
        yield from why(row)
        if holds[row]:
            yield _identifier(float(brought[row]))

    return LazyRanking(pool, rows, sums + brought, with_identifier)


def _identifier(points: float) -> ScorePart:
    return ScorePart("identifier", None, 1.0, points)


def _strength(retrievers: Sequence[Ranking]) -> float:
    """How good the legs' best scores are, in 0–1."""
    best = {retriever.source: max(retriever.scores, default=0.0) for retriever in retrievers}
    return math.fsum(best.values()) / len(best) if best else 0.0
