"""How each mode weighs the candidates. A mode is a composition: pool in, candidates with their reasons out.

`keyword` and `semantic` are the bare legs. `hybrid` joins them by `learned`, `rrf` or `weighted` fusion, documents
first: a document's place comes from all its passages, a passage's from its document and from how far it lies behind
the document's best one. With a weight given the plain formula holds instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from librarian.vocabulary.types import Candidate, Contribution, Ranking

from . import evidence, features
from .fusion import Fused, rrf, score
from .options import SearchOptions
from .pool import Passage, Pool
from .ranker import LinearRanker
from .unembedded import expected

#: How far a passage with the identifier is lifted above the best one without, in points of the mode's scale.
STEP = {"learned": 0.2, "rrf": 0.002, "weighted": 0.01, "rerank": 0.01, "cross-encoder": 0.01}


#: `learned`: what a passage's BM25 share and its cosine count within its document.
OWN = (3.0, 10.0)


def keyword(pool: Pool) -> list[Candidate]:
    """By keyword score alone."""
    found = [p if p.cosine is None else replace(p, cosine=None) for p in pool.passages.values()]
    return in_order(_candidate(pool, p, pool.keyword_why(p)) for p in found if p.chunk_id in pool.places)


def semantic(pool: Pool) -> list[Candidate]:
    """By cosine alone."""
    rows = zip(pool.semantic.ids, pool.semantic.raw, pool.semantic.scores, strict=True)
    return in_order(
        replace(
            _candidate(pool, pool.passages[chunk], [Contribution("semantic", rank, raw, own)]),
            keyword_score=None,
            identifier=False,
        )
        for rank, (chunk, raw, own) in enumerate(rows, start=1)
        if chunk in pool.passages
    )


def by_weight(pool: Pool, weight: float) -> list[Candidate]:
    """`(1 − weight) × keyword score + weight × semantic score`, nothing else; candidates without points fall out.

    At 0 the order is the keyword mode's, at 1 the semantic mode's.
    """
    places = {chunk: rank for rank, chunk in enumerate(pool.semantic.ids, start=1)}
    found = []
    for passage in pool.passages.values():
        why = pool.keyword_why(passage, 1 - weight) if weight < 1 else []
        if passage.semantic is not None and weight > 0:
            own = passage.semantic
            why.append(Contribution("semantic", places.get(passage.chunk_id), own, weight * own))
        if score(why) > 0:
            found.append(_candidate(pool, passage, why))
    return in_order(found)


def weighed(pool: Pool) -> dict[int, features.DocumentEvidence]:
    """All that a ranker reads of a question's candidate documents."""
    return features.scaled(expected(features.of(pool), pool))


def learned(pool: Pool, ranker: LinearRanker) -> list[Candidate]:
    """Documents by the learned sum of their features, passages by their distance to the document's best."""
    documents = {doc: ranker.why(found) for doc, found in weighed(pool).items()}
    own = {p.chunk_id: OWN[0] * (p.bm25 or 0.0) + OWN[1] * (p.semantic or 0.0) for p in pool.passages.values()}
    return _identifiers_first(pool, _passages(pool, documents, own), STEP["learned"])


def by_rrf(pool: Pool, k: int) -> list[Candidate]:
    """Documents by reciprocal ranks in each leg, passages by their distance to the document's best.

    Ranks say nothing about how good a first place is: `evidence`, the same for every candidate of a question, brings
    the best keyword score and cosine into the sum, so that sums of different questions compare.
    """
    doc_of = pool.doc_of
    legs = [ranking for ranking in (pool.keyword, pool.semantic, pool.hyde) if ranking.ids]
    floors = {"keyword": 0.0, "semantic": 0.25, "hyde": 0.25}
    documents = rrf([evidence.of_documents(leg, doc_of, floor=floors[leg.source]) for leg in legs], k)
    own = {chunk: score(why) for chunk, why in rrf(legs, k).items()}
    strength = _strength(legs)
    documents = {doc: (*why, Contribution("evidence", None, strength, strength)) for doc, why in documents.items()}
    return _identifiers_first(pool, _passages(pool, documents, own), STEP["rrf"])


def by_scores(pool: Pool, options: SearchOptions) -> list[Candidate]:
    """Passages by the weighted sum of their absolute scores."""
    found = []
    places = {leg.source: {c: rank for rank, c in enumerate(leg.ids, start=1)} for leg in (pool.keyword, pool.semantic)}
    hyde = dict(zip(pool.hyde.ids, pool.hyde.scores, strict=True))
    for passage in pool.passages.values():
        meaning = (
            {"semantic": passage.semantic, "hyde": hyde.get(passage.chunk_id)}
            if hyde
            else {"semantic": passage.semantic}
        )
        parts = [("keyword", passage.bm25, options.keyword_weight)]
        parts += [(name, own, options.semantic_weight / len(meaning)) for name, own in meaning.items()]
        why = [
            Contribution(name, places.get(name, {}).get(passage.chunk_id), own, weight * own)
            for name, own, weight in parts
            if own is not None
        ]
        found.append(_candidate(pool, passage, why))
    return _identifiers_first(pool, found, STEP["weighted"])


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first by the sum of the reasons, ties by id."""
    return sorted(candidates, key=lambda candidate: (-score(candidate.why), candidate.chunk_id))


def _candidate(pool: Pool, passage: Passage, why: Sequence[Contribution]) -> Candidate:
    return Candidate(
        passage.chunk_id,
        passage.doc_id,
        tuple(why),
        keyword_score=pool.keyword_score(passage),
        semantic_score=passage.cosine,
        identifier=passage.holds_identifier and pool.asks_identifier,
    )


def _passages(pool: Pool, documents: Fused, own: Mapping[int, float]) -> list[Candidate]:
    """A passage has its document's reasons, and loses what it lies behind the document's best passage."""
    best: dict[int, float] = {}
    for chunk, passage in pool.passages.items():
        best[passage.doc_id] = max(best.get(passage.doc_id, -math.inf), own.get(chunk, 0.0))
    found = []
    for chunk, passage in pool.passages.items():
        behind = own.get(chunk, 0.0) - best[passage.doc_id]
        why = documents.get(passage.doc_id, ())
        if behind:
            why = (*why, Contribution("passage", None, own.get(chunk, 0.0), behind))
        found.append(_candidate(pool, passage, why))
    return found


def _identifiers_first(pool: Pool, candidates: list[Candidate], step: float) -> list[Candidate]:
    return identifiers_first(candidates, step) if pool.asks_identifier else in_order(candidates)


def identifiers_first(candidates: Sequence[Candidate], step: float) -> list[Candidate]:
    """Lift every candidate that holds the question's identifier above all that don't, as little as that takes.

    With `m` the best sum without the identifier and `d` a holder's distance to it, the holder's new sum is
    `m + (d + √(d² + 4·step²)) / 2`: always above `m`, in the same order as before, and nearly unchanged for those that
    were well above already.
    """
    holders = [candidate for candidate in candidates if candidate.identifier]
    others = [candidate for candidate in candidates if not candidate.identifier]
    if not others:
        held = Contribution("identifier", None, 1.0, 0.0)
        return in_order(replace(candidate, why=(*candidate.why, held)) for candidate in holders)
    ceiling = max(score(candidate.why) for candidate in others)
    lifted = []
    for candidate in holders:
        d = score(candidate.why) - ceiling
        root = math.sqrt(d * d + 4 * step * step)
        above = (d + root) / 2 if d >= 0 else 2 * step * step / (root - d)
        lifted.append(replace(candidate, why=(*candidate.why, Contribution("identifier", None, 1.0, above - d))))
    return in_order([*lifted, *others])


def _strength(legs: Sequence[Ranking]) -> float:
    """How good the legs' best scores are, in 0–1."""
    best = {leg.source: max(leg.scores, default=0.0) for leg in legs}
    return math.fsum(best.values()) / len(best) if best else 0.0
