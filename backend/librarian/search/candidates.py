"""The candidates of one query as columns, before any mode ranks them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import numpy.typing as npt

from ..models import AnalyzedQuery, Ids, Ranking, ScorePart
from ..storage.base import Columns
from ..text.analyzer import StandardAnalyzer
from .mail_query import named_senders

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

#: Content words of a question in a sentence: fewer are often a title's own, more make a paragraph.
SENTENCE = range(4, 11)
NO_IDS, NO_SCORES = np.empty(0, dtype=np.int64), np.empty(0)
OFF = Ranking("", (), (), (), "off", "not part of this mode")

#: Content words beside the identifiers from which on a query is a sentence about them rather than a look-up.
LOOK_UP = 3
_CODE = re.compile(r"`[^`\n]+`")


def required_identifiers(query: AnalyzedQuery, analyzer: StandardAnalyzer) -> tuple[str, ...]:
    """The query's identifiers: all where it hardly says anything else, otherwise those in backquotes. Hits that hold
    one come first.
    """
    every = "|".join(map(re.escape, sorted(query.identifiers, key=len, reverse=True)))
    rest = re.sub(every, " ", query.wanted or query.text, flags=re.IGNORECASE) if every else ""
    if len(set(analyzer.tokens(rest, query.language))) < LOOK_UP:
        return query.identifiers
    code = " ".join(_CODE.findall(query.text)).casefold()
    return tuple(name for name in query.identifiers if name.casefold() in code)


def nan_to_zero(scores: Floats) -> Floats:
    """Scores with 0 for NaN, where their source has none."""
    return np.where(np.isnan(scores), 0.0, scores)


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """Candidate chunks by rising id; every array has shape (rows,). A score is NaN where its source has none."""

    chunk_ids: Ids
    doc_ids: Ids
    bm25: Floats  #: over the most that this query could reach
    semantic: Floats  #: max(0, cosine)
    holds_identifier: Mask  #: one of the required ones
    body: Floats  #: BM25 of the text alone, on the scale of `bm25`

    @classmethod
    def of(cls, chunk_ids: Ids, doc_ids: Ids) -> ChunkTable:
        """Without any score."""
        bm25, semantic, body = (np.full(len(chunk_ids), np.nan) for _ in range(3))
        return cls(chunk_ids, doc_ids, bm25, semantic, np.zeros(len(chunk_ids), dtype=np.bool_), body)

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def only(self, rows: Mask) -> ChunkTable:
        """Some of the rows."""
        return ChunkTable(*[getattr(self, column.name)[rows] for column in fields(self)])

    def rows_of(self, ranking: Ranking) -> tuple[Ids, Ids]:
        """Rows of a ranking's chunks, best first, and their ranks from 1; chunks that aren't here are left out."""
        ids = np.array(ranking.ids, dtype=np.int64)
        if not len(self) or not len(ids):
            return NO_IDS, NO_IDS
        rows = np.minimum(np.searchsorted(self.chunk_ids, ids), len(self) - 1)
        here = self.chunk_ids[rows] == ids
        return rows[here], np.flatnonzero(here) + 1

    def looked_up(self, ids: Ids, scores: Floats) -> Floats:
        """Of each row its chunk's score; 0 where it isn't among the ids, which rise."""
        if not len(ids):
            return np.zeros(len(self))
        at = np.minimum(np.searchsorted(ids, self.chunk_ids), len(ids) - 1)
        return np.where(ids[at] == self.chunk_ids, scores[at], 0.0)

    def column(self, ranking: Ranking) -> Floats:
        """The ranking's scores by row, NaN elsewhere."""
        column = np.full(len(self), np.nan)
        rows, ranks = self.rows_of(ranking)
        column[rows] = np.array(ranking.scores, dtype=np.float64)[ranks - 1]
        return column


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of one query, with the rankings that brought them."""

    keyword: Ranking
    semantic: Ranking
    hyde: Ranking
    chunks: ChunkTable
    asks_identifier: bool = False  #: some identifier is required
    unsupported_language: bool = False  #: the embedding model wasn't trained on the query's language
    by_named_sender: Ids = field(default_factory=NO_IDS.copy)  #: candidate mails whose sender the query names
    #: How many candidate documents with words of the query link to each row's document; empty where nothing reads it.
    in_links: Ids = field(default_factory=NO_IDS.copy)
    best_cosine: float | None = None  #: of the best chunks before the query was adapted; None where it wasn't
    sentence: float = 0.0  #: the share of candidate documents with several chunks, where the query is a sentence
    outdated: bool = False  #: the keyword index led to chunks that this state of the catalog doesn't have

    def places(self, ranking: Ranking) -> Ids:
        """Each row's rank in a ranking, 0 where it isn't in it."""
        places = np.zeros(len(self.chunks), dtype=np.int64)
        rows, ranks = self.chunks.rows_of(ranking)
        places[rows] = ranks
        return places

    def keyword_scores(self) -> Floats:
        """BM25 over the most this query could reach, NaN where no word matches.

        A required identifier is half of what can be reached, so that no chunk without it scores higher than one with.
        """
        bm25, holds = self.chunks.bm25, self.chunks.holds_identifier
        if not self.asks_identifier:
            return bm25
        scores = (nan_to_zero(bm25) + holds) / 2
        return np.asarray(np.where(np.isnan(bm25) & ~holds, np.nan, scores))

    def keyword_parts(self, row: int, place: int, weight: float = 1.0) -> list[ScorePart]:
        """The parts of a row's keyword score, times a weight; `place` is its rank in the ranking, 0 for none."""
        share = 0.5 if self.asks_identifier else 1.0
        bm25 = float(self.chunks.bm25[row])
        parts = [] if np.isnan(bm25) else [ScorePart("keyword", place or None, bm25, weight * share * bm25)]
        if self.asks_identifier and self.chunks.holds_identifier[row]:
            parts.append(ScorePart("identifier", None, 1.0, weight * 0.5))
        return parts


def joined(
    columns: Columns, keyword: Ranking, semantic: Ranking, hyde: Ranking = OFF, named: Ids = NO_IDS
) -> Candidates:
    """The chunks of all rankings with the scores that these give, and the `named` ones. Chunks unknown to the catalog
    are dropped."""
    union = np.unique(np.array([*keyword.ids, *semantic.ids, *hyde.ids, *named], dtype=np.int64))
    docs = columns.doc_of(union) if len(union) else union
    unknown = set(union[docs == 0].tolist())
    outdated = bool(unknown) and not unknown.isdisjoint(keyword.ids)
    table = ChunkTable.of(union[docs != 0], docs[docs != 0])
    table = replace(table, bm25=table.column(keyword), semantic=np.clip(table.column(semantic), 0.0, 1.0))
    return Candidates(keyword, semantic, hyde, table, outdated=outdated)


def surveyed(candidates: Candidates, query: AnalyzedQuery, columns: Columns, *, supported: bool) -> Candidates:
    """With what the learned ranking reads of documents. `supported`: the model knows the query's language."""
    chunks = candidates.chunks
    docs = chunks.doc_ids
    senders = columns.senders(docs)
    named = named_senders(query.text, filter(None, senders)) if any(senders) else frozenset()
    several: Sequence[bool] | Mask = ()
    if len(query.terms) in SENTENCE and len(docs):
        several = columns.chunk_counts(np.unique(docs)) > 1
    return replace(
        candidates,
        in_links=columns.in_links(docs, docs[nan_to_zero(chunks.bm25) > 0]),
        unsupported_language=not supported,
        by_named_sender=docs[[sender in named for sender in senders]] if named else NO_IDS,
        sentence=float(np.mean(several)) if len(several) else 0.0,
    )
