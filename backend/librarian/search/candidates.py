"""Everything known about the candidates of one question, before any mode weighs it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ..models import AnalyzedQuery, Ids, Ranking, ScorePart
from ..storage.base import Columns, KeywordIndex
from ..text.changelogs import asks_what_changed
from .retrievers import VectorQuery
from .senders import named

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

#: Content words of a question in a sentence: fewer are often a title's own, more make a paragraph.
SENTENCE = range(4, 11)
NONE = np.empty(0, dtype=np.int64)
EMPTY = Ranking("none", (), (), (), "off")

#: Documents on a page of results.
PAGE = 10
NEAREST = 10  #: passages by meaning of which one tells how near a question is to the library

#: Field scores of the keyword index that a ranker may read.
FIELDS = ("body",)


def spoken(scores: Floats) -> Floats:
    """Scores with 0 for NaN, where their source doesn't speak."""
    return np.where(np.isnan(scores), 0.0, scores)


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """Candidates with their scores, a row each by rising chunk id; every array has shape (rows,).

    A score is NaN where its source doesn't speak.
    """

    chunk_ids: Ids
    doc_ids: Ids
    bm25: Floats  #: BM25 over the most that this question could reach
    semantic: Floats  #: max(0, cosine)
    holds_identifier: Mask
    fields: Mapping[str, Floats] = field(default_factory=dict)  #: `FIELDS`, where the ranker may read them
    #: How many candidate documents with words of the question link to its own; empty where no ranker reads it.
    in_links: Ids = field(default_factory=NONE.copy)

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def only(self, kept: Mask) -> ChunkTable:
        """Those of some rows."""
        return ChunkTable(
            self.chunk_ids[kept],
            self.doc_ids[kept],
            self.bm25[kept],
            self.semantic[kept],
            self.holds_identifier[kept],
            {name: scores[kept] for name, scores in self.fields.items()},
            self.in_links[kept] if len(self.in_links) else self.in_links,
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
class Candidates:
    """The candidates of one question, with the legs that brought them."""

    keyword: Ranking
    semantic: Ranking
    hyde: Ranking
    passages: ChunkTable
    asks_identifier: bool  #: the question names an identifier
    foreign: bool = False  #: the question is in a language that the model wasn't trained on
    #: Candidates' documents that are changelogs; none where the question asks for changes.
    changelogs: Ids = field(default_factory=NONE.copy)
    of_named: Ids = field(default_factory=NONE.copy)  #: candidates' mails whose sender the question names
    nearness: float | None = None  #: of the best passages, by the question before it was adapted; None where it wasn't
    sentence: float = 0.0  #: the share of candidate documents with several passages, where the question is a sentence
    outrun: bool = False  #: the words led to passages that the catalog's state doesn't have, being older or newer

    @property
    def more(self) -> bool:
        """Whether a leg may lead to further passages than it was asked for."""
        return self.keyword.more or self.semantic.more or self.hyde.more

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
        scores = (spoken(bm25) + holds) / 2
        return np.asarray(np.where(np.isnan(bm25) & ~holds, np.nan, scores))

    def asking_about(self) -> Candidates:
        """The pool of a question that asks about its identifiers rather than looks them up (`names.Names.looks_up`).

        Where more documents hold them than a page shows, they are its topic and decide nothing: else no other would be
        on the page, whatever it says. Hybrid's nDCG@10 on Ray is 0.630 where they decide and 0.641 where they don't,
        on git 0.619 and 0.639, Ansible 0.756 and 0.761, Traefik 0.735 and 0.739, Argo CD 0.653 and 0.652; fourteen
        others have no such question, or the same answers.
        """
        holds = self.passages.holds_identifier
        if not self.asks_identifier or len(np.unique(self.passages.doc_ids[holds])) <= PAGE:
            return self
        return replace(
            self, asks_identifier=False, passages=replace(self.passages, holds_identifier=np.zeros_like(holds))
        )

    def keyword_why(self, row: int, place: int, weight: float = 1.0) -> list[ScorePart]:
        """The parts of a candidate's keyword score, times a weight; `place` is its rank in the leg, 0 for none."""
        share = 0.5 if self.asks_identifier else 1.0
        why = []
        bm25 = float(self.passages.bm25[row])
        if not np.isnan(bm25):
            why.append(ScorePart("keyword", place or None, bm25, weight * share * bm25))
        if self.asks_identifier and self.passages.holds_identifier[row]:
            why.append(ScorePart("identifier", None, 1.0, weight * 0.5))
        return why


@dataclass(frozen=True, slots=True)
class KeywordFeatures:
    """What the keyword index tells of some passages, by rising id; every array has shape (ids,)."""

    ids: Ids
    scores: Mapping[str, Floats]  #: by field, over the most that the question could reach; 0 where it says nothing
    holds: Mask  #: an identifier that decides the order


def told(
    query: AnalyzedQuery, lexical: KeywordIndex, ids: Ids, names: tuple[str, ...], fields: Collection[str] = FIELDS
) -> KeywordFeatures:
    """Scores of single fields, and who holds one of the identifiers `names` (`names.Names`); no id twice."""
    ids = np.sort(np.asarray(ids, dtype=np.int64))
    all_named = names == query.identifiers
    wanted = (*fields, *(("identifiers",) if names and all_named else ()))
    found = lexical.features(query, ids, wanted) if wanted else {}
    if names and not all_named:
        only_names = replace(query, terms=(), phrases=(), identifiers=names)
        found = {**found, **lexical.features(only_names, ids, ("identifiers",))}
    holds = found["identifiers"] > 0 if names else np.zeros(len(ids), dtype=np.bool_)
    return KeywordFeatures(ids, {name: found[name].astype(np.float64) for name in fields}, holds)


def gather(
    query: AnalyzedQuery,
    columns: Columns,
    lexical: KeywordIndex,
    *,
    keyword: Ranking = EMPTY,
    semantic: Ranking = EMPTY,
    hyde: Ranking = EMPTY,
    meaning: VectorQuery | None = None,
    names: tuple[str, ...] = (),
    known: KeywordFeatures | None = None,
    threads: Executor,
) -> Candidates:
    """Join the legs' passages and fill in what one leg knows about the other's. Unknown passages are dropped.

    `meaning` is the question's; without it the semantic score of keyword candidates stays unknown. `names` are the
    identifiers that decide the order (`names.Names`), `known` is what was told of the keyword candidates while the
    other leg was still at work. `threads` ask the legs side by side.
    """
    union = np.unique(np.array([*keyword.ids, *semantic.ids, *hyde.ids], dtype=np.int64))
    docs = columns.doc_of(union) if len(union) else union
    outrun = not set(union[docs == 0].tolist()).isdisjoint(keyword.ids)
    union, docs = union[docs != 0], docs[docs != 0]
    unknown = np.full(len(union), np.nan)
    passages = ChunkTable(union, docs, unknown, unknown.copy(), np.zeros(len(union), dtype=np.bool_))
    _place(passages, keyword, passages.bm25)
    _place(passages, semantic, passages.semantic)
    far, unsaid = np.isnan(passages.semantic), np.isnan(passages.bm25)
    near: Future[Floats] | None = None
    nearness: float | None = None
    if meaning is not None and semantic.status == "ok":
        near = threads.submit(meaning.cosines, union[far], columns)
        nearness = meaning.nearness(np.sort(np.array(semantic.ids[:NEAREST], dtype=np.int64)), columns)
    both = "ok" in (semantic.status, hyde.status)  # a leg alone knows all that its own order needs
    if keyword.status == "ok" and len(union) and (both or names):
        fields = FIELDS if both else ()
        parts = [known or told(query, lexical, union[~unsaid], names, fields)]
        if both and unsaid.any():
            parts.append(told(query, lexical, union[unsaid], names, ("bm25",)))
            bm25 = parts[1].scores["bm25"]
            passages.bm25[unsaid] = np.where(bm25 > 0, bm25, np.nan)
        passages = _described(passages, parts, fields)
        if both and unsaid.any():
            _guess(passages.fields, passages.bm25, unsaid)
    if near is not None:
        passages.semantic[far] = near.result()
    np.clip(passages.semantic, 0.0, 1.0, out=passages.semantic)
    pool = Candidates(keyword, semantic, hyde, passages, bool(names), outrun=outrun, nearness=nearness)
    return _surveyed(pool, query, columns, meaning) if both else pool


def _surveyed(pool: Candidates, query: AnalyzedQuery, columns: Columns, meaning: VectorQuery | None) -> Candidates:
    """With what only a ranker reads, which weighs one leg against the other."""
    docs = pool.passages.doc_ids
    senders = columns.senders(docs)
    writing = named(query.text, filter(None, senders))
    several = columns.passages_of(np.unique(docs)) > 1 if len(query.terms) in SENTENCE and len(docs) else NONE
    return replace(
        pool,
        passages=replace(pool.passages, in_links=columns.in_links(docs, docs[spoken(pool.passages.bm25) > 0])),
        foreign=meaning is not None and not meaning.knows(query.language or "en"),
        changelogs=NONE if asks_what_changed(query.text) else columns.changelogs(docs),
        of_named=docs[[sender in writing for sender in senders]] if writing else NONE,
        sentence=float(np.mean(several)) if len(several) else 0.0,
    )


def _place(passages: ChunkTable, ranking: Ranking, scores: Floats) -> None:
    """Write a ranking's scores to the rows of its passages."""
    rows, ranks = passages.rows_of(ranking)
    scores[rows] = np.array(ranking.scores, dtype=np.float64)[ranks - 1]


def _described(passages: ChunkTable, parts: Sequence[KeywordFeatures], fields: Collection[str]) -> ChunkTable:
    """With what was told of them."""
    scores = {name: np.zeros(len(passages)) for name in fields}
    holds = passages.holds_identifier
    for part in parts:
        rows = np.minimum(np.searchsorted(passages.chunk_ids, part.ids), len(passages) - 1)
        here = passages.chunk_ids[rows] == part.ids
        holds[rows[here]] = part.holds[here]
        for name in fields:
            if name in part.scores:
                scores[name][rows[here]] = part.scores[name][here]
    return replace(passages, fields=scores)


def _guess(fields: Mapping[str, Floats], bm25: Floats, unsaid: Mask) -> None:
    """Write what single fields likely score of passages that only the meaning found: their BM25, times the share of it
    that the field has in the words' own candidates, in the median.

    Looking it up takes a search for each field; nDCG@10 with that and without is the same on Ray, the Kubernetes tasks,
    CACM and MEDLINE (0.633, 0.726, 0.546, 0.791): these passages' words are the weaker ones in any case.
    """
    for scores in fields.values():
        shares = scores[~unsaid] / np.maximum(bm25[~unsaid], 1e-9)
        scores[unsaid] = spoken(bm25[unsaid]) * (_median(shares) if len(shares) else 1.0)


def _median(values: Floats) -> float:
    """As `np.median` of at least one value, without what that does for axes and missing values."""
    ordered, middle = np.sort(values), len(values) // 2
    return float(ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)
