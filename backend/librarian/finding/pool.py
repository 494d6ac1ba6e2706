"""Everything known about the candidates of one question, before any mode weighs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from librarian.vocabulary.protocols import Columns, LexicalIndex
from librarian.vocabulary.types import AnalyzedQuery, Contribution, Ranking, Vector

from .meaning import Likeness, Meaning

EMPTY = Ranking("none", (), (), (), "off")

#: Field scores of the keyword index that a ranker may read.
FIELDS = ("body", "title", "headings", "path")


#: Names that are told from their like by a small number: `v2`, `nginx1`. Questions hold them as examples.
_NUMBERED = re.compile(r"v?\d+|[a-z]+\d{1,2}")


def decisive_identifiers(query: AnalyzedQuery) -> tuple[str, ...]:
    """The question's identifiers that a hit must hold to come first.

    Words with a small number count as words only: on the Kubernetes tasks (`label app=v1`, `pod 'nginx2'`) putting
    their holders first costs 0.06 of nDCG@10. In capitals they are codes (`E42`) and count.

    >>> decisive_identifiers(AnalyzedQuery("nginx2 to v1 by max_age, E42", (), ("nginx2", "v1", "max_age", "e42")))
    ('max_age', 'e42')
    """
    return tuple(name for name in query.identifiers if not (_NUMBERED.fullmatch(name) and name in query.text))


@dataclass(frozen=True, slots=True)
class Passage:
    """A candidate with its scores. `bm25`, `semantic` and `cosine` are None where that source doesn't speak."""

    chunk_id: int
    doc_id: int
    bm25: float | None = None  #: BM25 over the most that this question could reach
    semantic: float | None = None  #: max(0, cosine), on the scale that the passages of all vector spaces share
    cosine: float | None = None  #: max(0, cosine) by its own space's model
    holds_identifier: bool = False
    fields: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of one question, with the legs that brought them."""

    keyword: Ranking
    semantic: Ranking
    hyde: Ranking
    passages: Mapping[int, Passage]
    asks_identifier: bool  #: the question names an identifier
    places: Mapping[int, int] = field(default_factory=dict)  #: of the keyword leg's passages in it, from 1

    @property
    def doc_of(self) -> dict[int, int]:
        return {passage.chunk_id: passage.doc_id for passage in self.passages.values()}

    def keyword_score(self, passage: Passage) -> float | None:
        """BM25 over the most this question could reach.

        Holding an identifier that the question names is half of what can be reached, so that a passage with it never
        comes after one without.
        """
        if not self.asks_identifier:
            return passage.bm25
        if passage.bm25 is None and not passage.holds_identifier:
            return None
        return ((passage.bm25 or 0.0) + (1.0 if passage.holds_identifier else 0.0)) / 2

    def keyword_why(self, passage: Passage, weight: float = 1.0) -> list[Contribution]:
        """The keyword score's parts, times a weight."""
        share = 0.5 if self.asks_identifier else 1.0
        why = []
        if passage.bm25 is not None:
            rank = self.places.get(passage.chunk_id)
            why.append(Contribution("keyword", rank, passage.bm25, weight * share * passage.bm25))
        if passage.holds_identifier and self.asks_identifier:
            why.append(Contribution("identifier", None, 1.0, weight * 0.5))
        return why


def gather(
    query: AnalyzedQuery,
    columns: Columns,
    lexical: LexicalIndex,
    *,
    keyword: Ranking = EMPTY,
    semantic: Ranking = EMPTY,
    hyde: Ranking = EMPTY,
    meaning: Meaning | None = None,
) -> Pool:
    """Join the legs' passages and fill in what one leg knows about the other's. Unknown passages are dropped.

    `meaning` is the question's; without it the semantic score of keyword candidates stays unknown.
    """
    union = np.array(sorted({*keyword.ids, *semantic.ids, *hyde.ids}), dtype=np.int64)
    docs = columns.doc_of(union) if len(union) else union
    union, docs = union[docs != 0], docs[docs != 0]
    bm25 = dict(zip(keyword.ids, keyword.scores, strict=True))
    near = {
        chunk: Likeness(own, raw) for chunk, raw, own in zip(semantic.ids, semantic.raw, semantic.scores, strict=True)
    }
    if meaning is not None and semantic.status == "ok":
        missing = np.array([chunk for chunk in union.tolist() if chunk not in near], dtype=np.int64)
        near.update(meaning.cosines(missing, columns))
    fields: dict[str, Vector] = {}
    by_words = keyword.status == "ok" and len(union) > 0
    if by_words and "ok" in (semantic.status, hyde.status):  # alone, the leg knows all that its own order needs
        fields = lexical.features(query, union)
        for chunk, value in zip(union.tolist(), fields["bm25"].tolist(), strict=True):
            if value > 0:
                bm25.setdefault(chunk, value)
    holds = np.zeros(len(union), dtype=np.float32)
    if (names := decisive_identifiers(query)) and by_words:
        alone = replace(query, terms=(), phrases=(), identifiers=names)
        known = fields and names == query.identifiers
        holds = (fields if known else lexical.features(alone, union))["identifiers"]
    passages = {
        chunk: Passage(
            chunk,
            doc,
            bm25.get(chunk),
            _share(near[chunk].score) if chunk in near else None,
            _share(near[chunk].cosine) if chunk in near else None,
            bool(holds[place] > 0),
            {name: float(fields[name][place]) for name in FIELDS if name in fields},
        )
        for place, (chunk, doc) in enumerate(zip(union.tolist(), docs.tolist(), strict=True))
    }
    places = {chunk: rank for rank, chunk in enumerate(keyword.ids, start=1)}
    return Pool(keyword, semantic, hyde, passages, bool(names), places)


def _share(cosine: float) -> float:
    return min(1.0, max(0.0, cosine))
