"""The candidates of one query as columns, before any mode ranks them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..models import AnalyzedQuery, Ids, Ranking
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


class Part(NamedTuple):
    """One reason for the scores of rows, as columns; NaN points where it says nothing."""

    source: str
    ranks: Ids | None  #: 0 where a row has none
    raw: Floats
    points: Floats


@dataclass(slots=True)
class Candidates:
    """Candidate chunks by rising id, and the rankings that brought them. Every column has shape (rows,); a score is NaN
    where its source has none."""

    keyword: Ranking
    semantic: Ranking
    hyde: Ranking
    chunk_ids: Ids
    doc_ids: Ids
    bm25: Floats  #: over the most that this query could reach
    cosine: Floats  #: max(0, cosine)
    body: Floats  #: BM25 of the text alone, on the scale of `bm25`
    holds_identifier: Mask  #: one of the required ones
    asks_identifier: bool = False  #: some identifier is required
    unsupported_language: bool = False  #: the embedding model wasn't trained on the query's language
    by_named_sender: Ids = field(default_factory=NO_IDS.copy)  #: documents that are mails whose sender the query names
    #: How many candidate documents with words of the query link to each row's document; empty where nothing reads it.
    in_links: Ids = field(default_factory=NO_IDS.copy)
    best_cosine: float | None = None  #: of the best chunks before the query was adapted; None where it wasn't
    sentence: float = 0.0  #: the share of candidate documents with several chunks, where the query is a sentence
    outdated: bool = False  #: the keyword index led to chunks that this state of the catalog doesn't have

    @classmethod
    def of(cls, keyword: Ranking, semantic: Ranking, hyde: Ranking, chunk_ids: Ids, doc_ids: Ids) -> Candidates:
        """Chunks, by rising id, with the scores that the rankings give."""
        nothing = np.full(len(chunk_ids), np.nan)
        found = cls(keyword, semantic, hyde, chunk_ids, doc_ids, nothing, nothing, nothing, nothing > 0)
        found.bm25, found.cosine = found.column(keyword), np.clip(found.column(semantic), 0.0, 1.0)
        return found

    def places(self, ranking: Ranking) -> Ids:
        """Each row's rank in a ranking, from 1; 0 where it isn't in it."""
        ids, places = np.array(ranking.ids, dtype=np.int64), np.zeros(len(self.chunk_ids), dtype=np.int64)
        if len(ids) and len(places):  # several times as quick as `np.isin`
            rows = np.minimum(np.searchsorted(self.chunk_ids, ids), len(places) - 1)
            here = self.chunk_ids[rows] == ids
            places[rows[here]] = np.flatnonzero(here) + 1
        return places

    def column(self, ranking: Ranking) -> Floats:
        """The ranking's scores by row, NaN elsewhere."""
        return np.array([*ranking.scores, np.nan])[self.places(ranking) - 1]

    def keyword_scores(self) -> Floats:
        """BM25 over the most this query could reach, NaN where no word matches.

        A required identifier is half of what can be reached, so that no chunk without it scores higher than one with.
        """
        if not self.asks_identifier:
            return self.bm25
        scores = (nan_to_zero(self.bm25) + self.holds_identifier) / 2
        return np.where(np.isnan(self.bm25) & ~self.holds_identifier, np.nan, scores)

    def keyword_parts(self, weight: float = 1.0) -> list[Part]:
        """The parts of the keyword scores, times a weight."""
        places = self.places(self.keyword)
        if not self.asks_identifier:
            return [Part("keyword", places, self.bm25, weight * self.bm25)]
        words, names = weight * 0.5 * self.bm25, np.where(self.holds_identifier, weight * 0.5, np.nan)
        return [Part("keyword", places, self.bm25, words), Part("identifier", None, np.ones(len(names)), names)]

    def semantic_part(self, weight: float = 1.0) -> Part:
        """The cosines, times a weight."""
        return Part("semantic", self.places(self.semantic), self.cosine, weight * self.cosine)

    def survey(self, query: AnalyzedQuery, columns: Columns) -> None:
        """Read what the learned ranking wants to know of documents."""
        docs, senders = self.doc_ids, columns.senders(self.doc_ids)
        self.in_links = columns.in_links(docs, docs[nan_to_zero(self.bm25) > 0])
        if any(senders) and (named := named_senders(query.text, filter(None, senders))):
            self.by_named_sender = docs[[sender in named for sender in senders]]
        if len(query.terms) in SENTENCE and len(docs):
            self.sentence = float(np.mean(columns.chunk_counts(np.unique(docs)) > 1))

    def keep(self, rows: Mask) -> None:
        """Drop all other rows."""
        for column in ("chunk_ids", "doc_ids", "bm25", "cosine", "body", "holds_identifier"):
            setattr(self, column, getattr(self, column)[rows])
        self.in_links = self.in_links[rows] if len(self.in_links) else self.in_links


def nan_to_zero(scores: Floats) -> Floats:
    """Scores with 0 for NaN, where their source has none."""
    return np.where(np.isnan(scores), 0.0, scores)
