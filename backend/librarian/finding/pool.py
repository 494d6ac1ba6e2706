"""Everything known about the candidates of one question, before any mode weighs it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from librarian.vocabulary.protocols import Columns, LexicalIndex
from librarian.vocabulary.types import AnalyzedQuery, Contribution, Ids, Ranking, Vector

from .meaning import Meaning

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

EMPTY = Ranking("none", (), (), (), "off")

#: Field scores of the keyword index that a ranker may read.
FIELDS = ("body",)


@dataclass(frozen=True, slots=True)
class Passages:
    """Candidates with their scores, a row each by rising chunk id; every array has shape (rows,).

    A score is NaN where its source doesn't speak.
    """

    chunk_ids: Ids
    doc_ids: Ids
    bm25: Floats  #: BM25 over the most that this question could reach
    semantic: Floats  #: max(0, cosine), on the scale that the passages of all vector spaces share
    cosine: Floats  #: max(0, cosine) by its own space's model
    holds_identifier: Mask
    fields: Mapping[str, Floats] = field(default_factory=dict)  #: `FIELDS`, where the ranker may read them

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def only(self, kept: Mask) -> Passages:
        """Those of some rows."""
        return Passages(
            self.chunk_ids[kept],
            self.doc_ids[kept],
            self.bm25[kept],
            self.semantic[kept],
            self.cosine[kept],
            self.holds_identifier[kept],
            {name: scores[kept] for name, scores in self.fields.items()},
        )

    def rows_of(self, ranking: Ranking) -> tuple[Ids, Ids]:
        """Rows of a ranking's passages, best first, and their ranks from 1; those that aren't here are left out."""
        ids = np.array(ranking.ids, dtype=np.int64)
        if not len(self) or not len(ids):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        rows = np.minimum(np.searchsorted(self.chunk_ids, ids), len(self) - 1)
        here = self.chunk_ids[rows] == ids
        return rows[here], np.flatnonzero(here) + 1


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of one question, with the legs that brought them."""

    keyword: Ranking
    semantic: Ranking
    hyde: Ranking
    passages: Passages
    asks_identifier: bool  #: the question names an identifier

    def places(self, ranking: Ranking) -> Ids:
        """Each candidate's rank in a leg, 0 where it isn't in it; shape (rows,)."""
        places = np.zeros(len(self.passages), dtype=np.int64)
        rows, ranks = self.passages.rows_of(ranking)
        places[rows] = ranks
        return places

    def keyword_scores(self) -> Floats:
        """BM25 over the most this question could reach, shape (rows,); NaN where neither words nor identifiers speak.

        Holding an identifier that the question names is half of what can be reached, so that a passage with it never
        comes after one without.
        """
        bm25, holds = self.passages.bm25, self.passages.holds_identifier
        if not self.asks_identifier:
            return bm25
        scores = (np.nan_to_num(bm25) + holds) / 2
        return np.asarray(np.where(np.isnan(bm25) & ~holds, np.nan, scores))

    def keyword_why(self, row: int, place: int, weight: float = 1.0) -> list[Contribution]:
        """The parts of a candidate's keyword score, times a weight; `place` is its rank in the leg, 0 for none."""
        share = 0.5 if self.asks_identifier else 1.0
        why = []
        bm25 = float(self.passages.bm25[row])
        if not np.isnan(bm25):
            why.append(Contribution("keyword", place or None, bm25, weight * share * bm25))
        if self.asks_identifier and self.passages.holds_identifier[row]:
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
    names: tuple[str, ...] = (),
    threads: Executor,
) -> Pool:
    """Join the legs' passages and fill in what one leg knows about the other's. Unknown passages are dropped.

    `meaning` is the question's; without it the semantic score of keyword candidates stays unknown. `names` are the
    identifiers that decide the order (`names.decisive`). `threads` ask the legs side by side.
    """
    union = np.unique(np.array([*keyword.ids, *semantic.ids, *hyde.ids], dtype=np.int64))
    docs = columns.doc_of(union) if len(union) else union
    union, docs = union[docs != 0], docs[docs != 0]
    unknown = np.full(len(union), np.nan)
    passages = Passages(union, docs, unknown, unknown.copy(), unknown.copy(), np.zeros(len(union), dtype=np.bool_))
    _place(passages, keyword, passages.bm25)
    _place(passages, semantic, passages.semantic, passages.cosine)
    far, unsaid = np.isnan(passages.semantic), np.isnan(passages.bm25)
    by_words = keyword.status == "ok" and len(union) > 0
    both = by_words and "ok" in (semantic.status, hyde.status)  # a leg alone knows all that its own order needs
    near: Future[tuple[Floats, Floats]] | None = None
    said: Future[dict[str, Vector]] | None = None
    if meaning is not None and semantic.status == "ok":
        near = threads.submit(meaning.cosines, union[far], columns)
    if both:
        said = threads.submit(lexical.features, query, union[unsaid], ("bm25",))
    if by_words:
        passages = _described(passages, query, lexical, FIELDS if both else (), names)
    if near is not None:
        passages.semantic[far], passages.cosine[far] = near.result()
    if said is not None:
        found = said.result()["bm25"].astype(np.float64)
        passages.bm25[unsaid] = np.where(found > 0, found, np.nan)
    for scores in (passages.semantic, passages.cosine):
        np.clip(scores, 0.0, 1.0, out=scores)
    return Pool(keyword, semantic, hyde, passages, bool(names))


def _place(passages: Passages, ranking: Ranking, scores: Floats, raw: Floats | None = None) -> None:
    """Write a leg's scores, and its raw ones, to the rows of its passages."""
    rows, ranks = passages.rows_of(ranking)
    scores[rows] = np.array(ranking.scores, dtype=np.float64)[ranks - 1]
    if raw is not None:
        raw[rows] = np.array(ranking.raw, dtype=np.float64)[ranks - 1]


def _described(
    passages: Passages, query: AnalyzedQuery, lexical: LexicalIndex, fields: tuple[str, ...], names: tuple[str, ...]
) -> Passages:
    """With the scores of single fields, and with who holds one of the identifiers `names`."""
    named = ("identifiers",) if names and names == query.identifiers and fields else ()
    found = lexical.features(query, passages.chunk_ids, (*fields, *named)) if fields else {}
    holds = passages.holds_identifier
    if names:
        if not named:
            only_names = replace(query, terms=(), phrases=(), identifiers=names)
            found |= lexical.features(only_names, passages.chunk_ids, ("identifiers",))
        holds = found["identifiers"] > 0
    return replace(passages, holds_identifier=holds, fields={name: found[name].astype(np.float64) for name in fields})
