"""What a ranker may know about a document that answers a question: a few cheap numbers, each meaningful by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from librarian.vocabulary.types import Ranking

from . import evidence
from .fusion import ranking_of
from .pool import Passage, Pool

#: In the order of the shipped weights. All lie in 0–1 or little above.
NAMES = (
    "keyword",  # best passage's BM25 share
    "keyword_further",  # what further passages add to it
    "semantic",  # best passage's cosine
    "semantic_further",
    "hyde",  # best passage's cosine to the hypothetical answer
    "keyword_place",  # 10 / (10 + the document's rank in the leg)
    "semantic_place",
    "body",  # best field scores over the document's candidates
    "title",
    "headings",
    "path",
    "agreement",  # 1 where both legs chose the same passage of the document
)


@dataclass(frozen=True, slots=True)
class DocumentEvidence:
    """A document's features, with its places in the legs."""

    doc_id: int
    values: Mapping[str, float]
    places: Mapping[str, int | None]
    assumed: frozenset[str] = frozenset()  #: features that aren't known, with what is to be expected in their place


def of(pool: Pool) -> dict[int, DocumentEvidence]:
    """Features of every document that has a candidate."""
    doc_of = pool.doc_of
    rankings = {
        "keyword": _by_score("keyword", {p.chunk_id: p.bm25 for p in pool.passages.values() if p.bm25}),
        "semantic": _by_score("semantic", {p.chunk_id: p.semantic for p in pool.passages.values() if p.semantic}),
        "hyde": pool.hyde,
    }
    best = {name: evidence.of_documents(ranking, doc_of, further=0) for name, ranking in rankings.items()}
    whole = {
        "keyword": evidence.of_documents(rankings["keyword"], doc_of),
        # Every passage of a document on the topic has some cosine: only those above this say something (facts).
        "semantic": evidence.of_documents(rankings["semantic"], doc_of, floor=0.25),
    }
    score = {name: dict(zip(ranking.ids, ranking.scores, strict=True)) for name, ranking in best.items()}
    total = {name: dict(zip(ranking.ids, ranking.scores, strict=True)) for name, ranking in whole.items()}
    place = {name: {doc: rank for rank, doc in enumerate(whole[name].ids, start=1)} for name in whole}
    place["hyde"] = {doc: rank for rank, doc in enumerate(best["hyde"].ids, start=1)}
    first = {name: _first_passage(rankings[name], doc_of) for name in ("keyword", "semantic")}
    members: dict[int, list[Passage]] = {}
    for passage in pool.passages.values():
        members.setdefault(passage.doc_id, []).append(passage)

    found = {}
    for doc_id, passages in members.items():
        values = {
            "keyword": score["keyword"].get(doc_id, 0.0),
            "semantic": score["semantic"].get(doc_id, 0.0),
            "hyde": score["hyde"].get(doc_id, 0.0),
        }
        for name in ("keyword", "semantic"):
            values[f"{name}_further"] = total[name].get(doc_id, 0.0) - values[name]
            values[f"{name}_place"] = 10 / (10 + place[name][doc_id]) if doc_id in place[name] else 0.0
        for name in ("body", "title", "headings", "path"):
            values[name] = max(passage.fields.get(name, 0.0) for passage in passages)
        same = first["keyword"].get(doc_id)
        values["agreement"] = float(same is not None and same == first["semantic"].get(doc_id))
        found[doc_id] = DocumentEvidence(doc_id, values, {name: ranks.get(doc_id) for name, ranks in place.items()})
    return found


def _by_score(source: str, scored: Mapping[int, float | None]) -> Ranking:
    return ranking_of(source, {chunk: own for chunk, own in scored.items() if own is not None})


def _first_passage(ranking: Ranking, doc_of: Mapping[int, int]) -> dict[int, int]:
    first: dict[int, int] = {}
    for chunk in ranking.ids:
        if chunk in doc_of:
            first.setdefault(doc_of[chunk], chunk)
    return first
