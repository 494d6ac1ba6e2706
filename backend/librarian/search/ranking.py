"""How each mode ranks the candidates: columns in, a ranking with the parts of every score out.

`keyword` and `semantic` use one retriever. `hybrid` joins them by `learned`, `rrf` or `weighted` fusion, the first two
document by document: a document's place comes from all its chunks, a chunk's from its document and from how far it lies
behind the document's best one. With a weight given the plain formula holds instead. `rerank` judges the best again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..models import Answerable, Candidate, Ids, Query, ScorePart
from ..storage.base import CatalogReader
from .candidates import Candidates, Floats, Mask, Part, nan_to_zero
from .ranker import FLOOR, LinearRanker, aggregated, chunk_scores, document_features, ranks_of

#: How far a chunk with the identifier is put above the best one without, in points of the scale.
MARGIN = {"learned": 0.2, "rrf": 0.002, "weighted": 0.01, "rerank": 0.01, "cross-encoder": 0.01}

#: The cross-encoder's part of the sum; the rest is the first stage's relevance.
MODEL_SHARE = 0.7
#: The semantic score's part in the stage without a model; the rest is the keyword score's.
SEMANTIC_SHARE = 0.7


def score(why: Iterable[ScorePart]) -> float:
    """The sum of the parts; `fsum`, so that their order can't matter."""
    return math.fsum(part.points for part in why)


class Ranked:
    """Rows of the candidates (all, unless given), best first by the sums of their parts, ties by chunk id.

    `scale` names the calibration curve of the sums; it is empty where relevance is the plain sum. Where it has a
    margin, rows that hold a required identifier come first. `rerank` holds scores of rows.
    """

    def __init__(
        self,
        candidates: Candidates,
        parts: Sequence[Part],
        scale: str = "",
        rows: Ids | None = None,
        rerank: Floats | None = None,
    ) -> None:
        rows = np.arange(len(candidates.chunk_ids)) if rows is None else rows
        points = np.array([nan_to_zero(part.points[rows]) for part in parts])
        sums = points[0] if len(parts) == 1 else np.array(list(map(math.fsum, points.T.tolist())))
        if candidates.asks_identifier and scale in MARGIN:
            holds, own = candidates.holds_identifier, np.full(len(candidates.chunk_ids), np.nan)
            own[rows] = boost(sums, holds[rows], MARGIN[scale])
            sums = sums + own[rows]
            parts = [*parts, Part("identifier", None, np.ones(len(own)), np.where(holds, own, np.nan))]
        order = np.lexsort((candidates.chunk_ids[rows], -sums))
        self.candidates, self.scale, self.parts = candidates, scale, parts
        self.rows: Ids = rows[order]
        self.chunk_ids: list[int] = candidates.chunk_ids[self.rows].tolist()
        self.doc_ids: list[int] = candidates.doc_ids[self.rows].tolist()
        self.sums: list[float] = sums[order].tolist()
        self._scores = (candidates.keyword_scores(), candidates.cosine, rerank)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Candidate]:
        return map(self.candidate, range(len(self)))

    def candidate(self, place: int, *, explain: bool = True) -> Candidate:
        """The candidate at a place, counted from 0; its reasons with `explain`."""
        row, why = int(self.rows[place]), []
        for source, ranks, raw, points in self.parts if explain else ():
            if not np.isnan(points[row]):
                rank = int(ranks[row]) if ranks is not None else 0
                why.append(ScorePart(source, rank or None, float(raw[row]), float(points[row])))
        keyword, semantic, rerank = (
            None if column is None or np.isnan(column[row]) else float(column[row]) for column in self._scores
        )
        identifier = self.candidates.asks_identifier and bool(self.candidates.holds_identifier[row])
        chunk_id, doc_id = self.chunk_ids[place], self.doc_ids[place]
        return Candidate(chunk_id, doc_id, tuple(why), keyword, semantic, rerank, identifier=identifier)


def boost(sums: Floats, holders: Mask, margin: float) -> Floats:
    """The points that holding the identifier must bring so that every holder stands above all others; shape of `sums`.

    With `m` the best sum without the identifier and `d` a holder's distance to it, the holder's new sum is
    `m + (d + √(d² + 4·margin²)) / 2`: always above `m`, in the same order as before, and nearly unchanged for those
    that were well above already. 0 for those that don't hold it, and for all where every row does.
    """
    points = np.zeros(len(sums))
    if holders.any() and not holders.all():
        distance = sums[holders] - sums[~holders].max()
        root = np.hypot(distance, 2 * margin)
        # the second form is exact where the first would cancel
        above = np.where(distance >= 0, (distance + root) / 2, 2 * margin**2 / np.maximum(root - distance, margin))
        points[holders] = above - distance
    return points


def by_keyword(candidates: Candidates) -> Ranked:
    """By keyword score alone."""
    rows = np.flatnonzero(~np.isnan(candidates.keyword_scores()))
    return Ranked(candidates, candidates.keyword_parts(), "keyword", rows)


def by_cosine(candidates: Candidates) -> Ranked:
    """By cosine alone."""
    rows = np.flatnonzero(candidates.places(candidates.semantic))
    return Ranked(candidates, [candidates.semantic_part()], "semantic", rows)


def by_weight(candidates: Candidates, weight: float) -> Ranked:
    """`(1 − weight) × keyword score + weight × semantic score`, nothing else; candidates without points fall out.

    At 0 the order is the keyword mode's, at 1 the semantic mode's.
    """
    parts = candidates.keyword_parts(1 - weight) if weight < 1 else []
    parts += [candidates.semantic_part(weight)] if weight > 0 else []
    rows = np.flatnonzero(np.any([nan_to_zero(part.points) > 0 for part in parts], axis=0))
    return Ranked(candidates, parts, rows=rows)


def by_scores(candidates: Candidates, keyword_weight: float, semantic_weight: float) -> Ranked:
    """Chunks by the weighted sum of their absolute scores."""
    words = Part("keyword", candidates.places(candidates.keyword), candidates.bm25, keyword_weight * candidates.bm25)
    if not candidates.hyde.ids:
        return Ranked(candidates, [words, candidates.semantic_part(semantic_weight)], "weighted")
    hyde, half = candidates.column(candidates.hyde), semantic_weight / 2
    answer = Part("hyde", candidates.places(candidates.hyde), hyde, half * hyde)
    return Ranked(candidates, [words, candidates.semantic_part(half), answer], "weighted")


def learned(candidates: Candidates, ranker: LinearRanker) -> Ranked:
    """Documents by the learned sum of their features, chunks by their distance to the document's best."""
    documents = document_features(candidates)
    owner = np.searchsorted(documents.ids, candidates.doc_ids)
    parts = _of_documents(ranker.parts(documents), owner, chunk_scores(candidates))
    return Ranked(candidates, parts, "learned")


def by_rrf(candidates: Candidates, k: int) -> Ranked:
    """Documents by reciprocal rank fusion, `Σ 1 / (k + rank)`, chunks by their distance to the document's best.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
    SIGIR 2009; their k is 60, a smaller k trusts first places more. Ranks say nothing about how good a first place is:
    `evidence`, the same for all candidates, adds the best keyword score and cosine, so that sums of queries compare.
    """
    ids, owner = np.unique(candidates.doc_ids, return_inverse=True)
    retrievers = [ranking for ranking in (candidates.keyword, candidates.semantic, candidates.hyde) if ranking.ids]
    own, parts = np.zeros(len(owner)), []
    for ranking in retrievers:
        scores, places = nan_to_zero(candidates.column(ranking)), candidates.places(ranking)
        best, further = aggregated(scores, owner, len(ids), FLOOR[ranking.source])
        raw, ranks = best + further, ranks_of(best + further)
        parts.append(Part(ranking.source, ranks, raw, np.where(ranks > 0, 1 / (k + ranks), np.nan)))
        own += np.where(places > 0, 1 / (k + places), 0.0)
    constant = np.full(len(ids), math.fsum(max(one.scores) for one in retrievers) / max(len(retrievers), 1))
    return Ranked(candidates, _of_documents([*parts, Part("evidence", None, constant, constant)], owner, own), "rrf")


def _of_documents(parts: Iterable[Part], owner: Ids, own: Floats) -> list[Part]:
    """A chunk has its document's parts, and loses what it lies behind the document's best chunk.

    `owner` is each chunk's document, a row of `parts`; `own` is what each chunk counts.
    """
    best = np.full(owner.max(initial=-1) + 1, -math.inf)
    np.maximum.at(best, owner, own)
    behind = own - best[owner]
    spread = [
        Part(source, None if ranks is None else ranks[owner], raw[owner], points[owner])
        for source, ranks, raw, points in parts
    ]
    return [*spread, Part("passage", None, own, np.where(behind < 0, behind, np.nan))]


def by_model(first: Ranked, logits: Floats, relevance: Callable[[float], float]) -> Ranked:
    """By a cross-encoder's logits, one a row, NaN where it didn't read; there, the first stage's relevance is all."""
    own = 1 / (1 + np.exp(-np.clip(logits, -700, 700)))
    opinion = np.zeros(len(logits))
    opinion[first.rows] = [relevance(total) for total in first.sums]
    ranks = np.empty(len(logits), dtype=np.int64)
    ranks[np.lexsort((first.candidates.chunk_ids, -logits))] = np.arange(1, len(logits) + 1)  # NaN comes last
    parts = [
        Part("first stage", None, opinion, (1 - MODEL_SHARE) * opinion),
        Part("rerank", ranks, logits, MODEL_SHARE * own),
    ]
    return Ranked(first.candidates, parts, "cross-encoder", first.rows, own)


def keyword_stage(first: Ranked, count: int, threshold: float) -> Ranked | None:
    """70% meaning and 30% words over the `count` best by meaning with a keyword score of at least the threshold, and
    all that hold the query's identifier; None where that leaves nothing."""
    candidates = first.candidates
    places, words = candidates.places(candidates.semantic), candidates.keyword_scores()
    near = (places > 0) & (places <= count) & (nan_to_zero(words) >= threshold)
    rows = first.rows[(near | (candidates.holds_identifier & candidates.asks_identifier))[first.rows]]
    parts = [candidates.semantic_part(SEMANTIC_SHARE), Part("keyword", None, words, (1 - SEMANTIC_SHARE) * words)]
    sums = nan_to_zero(parts[0].points) + nan_to_zero(parts[1].points)
    return Ranked(candidates, parts, "rerank", rows, sums) if len(rows) else None


#: Share of the chunks: while more of them have no vectors yet, that nothing is near says little.
WITHOUT_VECTORS = 0.01


@dataclass(frozen=True, slots=True)
class Curve:
    """A rising logistic curve: `1 / (1 + exp(−slope × (sum − middle)))`."""

    middle: float  #: the sum at which a hit is as likely relevant as not
    slope: float

    def __call__(self, total: float) -> float:
        """The relevance of a hit with this sum, strictly rising within what floats can tell apart."""
        return 1 / (1 + math.exp(-max(self.slope * (total - self.middle), -700.0)))

    def total(self, relevance: float) -> float:
        """The sum that has this relevance."""
        return self.middle + math.log(relevance / (1 - relevance)) / self.slope


#: Set by hand between the best sums of questions that the Ray and Kubernetes manuals answer and of others.
SHIPPED = {
    "keyword": Curve(0.20, 15.0),
    "semantic": Curve(0.45, 14.0),
    "rrf": Curve(0.50, 14.0),
    "weighted": Curve(0.34, 18.0),
    "learned": Curve(14.45, 1.2),
    "rerank": Curve(0.40, 16.0),
    "cross-encoder": Curve(0.5, 8.0),
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """One curve per scale, and the relevances between which an answer is in doubt."""

    curves: Mapping[str, Curve] = field(default_factory=SHIPPED.copy)
    unlikely_below: float = 0.2
    yes_from: float = 0.7
    #: Chunks from which on a library gets a calibration of its own, for which this one only stands in.
    provisional_from: float = math.inf

    def relevance(self, scale: str, total: float) -> float:
        """A sum on a mode's own scale as relevance in 0–1; the plain sum where it has no scale."""
        return self.curves[scale](total) if scale else min(1.0, max(0.0, total))

    def answerable(self, best: float | None) -> Answerable:
        """Whether the library answers a question by its best hit's relevance; None where nothing was found."""
        if best is None or best < self.unlikely_below:
            return "unlikely"
        return "yes" if best >= self.yes_from else "unknown"


def answerability(
    calibration: Calibration, best: float | None, query: Query, candidates: Candidates, reader: CatalogReader
) -> Answerable:
    """Whether the library answers a query whose best hit has that relevance (0–1; None where nothing was found).

    `unknown` where weights were given, since their sums aren't calibrated; where an answer by meaning seems unlikely
    while the chunk that has it may lack its vectors; and where the words alone say the opposite of a model that wasn't
    trained on the query's language.
    """
    if query.semantic_weight is not None:
        return "unknown"
    answerable = calibration.answerable(best)
    if candidates.unsupported_language and candidates.semantic.status == candidates.keyword.status == "ok":
        words = float(nan_to_zero(candidates.keyword_scores()).max(initial=0.0))
        unlikely = calibration.answerable(calibration.relevance("keyword", words)) == "unlikely"
        answerable = "unknown" if unlikely == (answerable == "yes") else answerable
    if answerable != "unlikely" or candidates.semantic.status != "ok":
        return answerable
    count = reader.count()
    missing = count.chunks - count.embedded_chunks
    incomplete = missing > WITHOUT_VECTORS * count.chunks or np.isnan(candidates.cosine).any()
    return "unknown" if incomplete else answerable
