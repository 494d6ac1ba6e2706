"""How each mode ranks the candidates: columns in, a ranking with the parts of every score out.

`keyword` and `semantic` use one retriever. `hybrid` joins them by `learned`, `rrf` or `weighted` fusion, the first two
document by document: a document's place comes from all its chunks, a chunk's from its document and from how far it lies
behind the document's best one. With a weight given the plain formula holds instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..models import Answerable, Candidate, Ids, Query, ScorePart
from ..storage.base import CatalogReader
from .candidates import Candidates, Floats, Mask, nan_to_zero
from .ranker import FLOOR, LinearRanker, aggregated, chunk_scores, document_features, ranks_of

#: How far a chunk with the identifier is put above the best one without, in points of the scale.
MARGIN = {"learned": 0.2, "rrf": 0.002, "weighted": 0.01, "rerank": 0.01, "cross-encoder": 0.01}

#: The parts of a row's score.
Parts = Callable[[int], Iterable[ScorePart]]


def score(why: Iterable[ScorePart]) -> float:
    """The sum of the parts; `fsum`, so that their order can't matter."""
    return math.fsum(part.points for part in why)


class Ranked:
    """Rows of the candidates, best first by their sums, ties by chunk id. A candidate is made when it is looked at.

    `rows` are those that take part and `sums` theirs; `parts` add up to the row's sum, but for rounding. `scale` names
    the calibration curve of the sums; it is empty where relevance is the plain sum. `rerank` holds scores of rows.
    """

    def __init__(
        self,
        candidates: Candidates,
        rows: Ids,
        sums: Floats,
        parts: Parts,
        scale: str = "",
        *,
        keyword: Floats | None = None,
        semantic: Floats | None = None,
        rerank: Floats | None = None,
    ) -> None:
        order = np.lexsort((candidates.chunks.chunk_ids[rows], -sums))
        self.candidates, self.scale = candidates, scale
        self.rows: Ids = rows[order]
        self.chunk_ids: list[int] = candidates.chunks.chunk_ids[self.rows].tolist()
        self.sums: list[float] = sums[order].tolist()
        self.parts = parts
        self._scores = (keyword, semantic, rerank)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Candidate]:
        return map(self.candidate, range(len(self)))

    def candidate(self, place: int, *, explain: bool = True) -> Candidate:
        """The candidate at a place, counted from 0; its reasons with `explain`."""
        row = int(self.rows[place])
        chunks = self.candidates.chunks
        keyword, semantic, rerank = (
            None if column is None or np.isnan(column[row]) else float(column[row]) for column in self._scores
        )
        return Candidate(
            int(chunks.chunk_ids[row]),
            int(chunks.doc_ids[row]),
            tuple(self.parts(row)) if explain else (),
            keyword,
            semantic,
            rerank,
            identifier=self.candidates.asks_identifier and bool(chunks.holds_identifier[row]),
        )


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


def ranked(
    candidates: Candidates,
    sums: Floats,
    parts: Parts,
    scale: str,
    rows: Ids | None = None,
    rerank: Floats | None = None,
) -> Ranked:
    """Rows (all, unless given) by their sums, those with the required identifier first."""
    rows = np.arange(len(sums)) if rows is None else rows
    with_identifier = parts
    if candidates.asks_identifier:
        points = np.zeros(len(candidates.chunks))
        points[rows] = boost(sums, candidates.chunks.holds_identifier[rows], MARGIN[scale])
        sums = sums + points[rows]

        def with_identifier(row: int) -> Iterable[ScorePart]:
            yield from parts(row)
            if candidates.chunks.holds_identifier[row]:
                yield ScorePart("identifier", None, 1.0, float(points[row]))

    keyword, semantic = candidates.keyword_scores(), candidates.chunks.semantic
    return Ranked(candidates, rows, sums, with_identifier, scale, keyword=keyword, semantic=semantic, rerank=rerank)


def by_keyword(candidates: Candidates) -> Ranked:
    """By keyword score alone."""
    places, scores = candidates.places(candidates.keyword), candidates.keyword_scores()
    rows = np.flatnonzero(~np.isnan(scores))
    parts: Parts = lambda row: candidates.keyword_parts(row, int(places[row]))  # noqa: E731
    return Ranked(candidates, rows, scores[rows], parts, "keyword", keyword=scores)


def by_cosine(candidates: Candidates) -> Ranked:
    """By cosine alone."""
    places, scores, raw = candidates.places(candidates.semantic), candidates.chunks.semantic, candidates.semantic.raw
    rows = np.flatnonzero(places)

    def parts(row: int) -> list[ScorePart]:
        rank = int(places[row])
        return [ScorePart("semantic", rank, raw[rank - 1], float(scores[row]))]

    return Ranked(candidates, rows, scores[rows], parts, "semantic", semantic=scores)


def by_weight(candidates: Candidates, weight: float) -> Ranked:
    """`(1 − weight) × keyword score + weight × semantic score`, nothing else; candidates without points fall out.

    At 0 the order is the keyword mode's, at 1 the semantic mode's.
    """
    places = candidates.places(candidates.keyword), candidates.places(candidates.semantic)
    keyword, semantic = candidates.keyword_scores(), candidates.chunks.semantic

    def parts(row: int) -> list[ScorePart]:
        found = candidates.keyword_parts(row, int(places[0][row]), 1 - weight) if weight < 1 else []
        if weight > 0 and not np.isnan(semantic[row]):
            cosine = float(semantic[row])
            found.append(ScorePart("semantic", int(places[1][row]) or None, cosine, weight * cosine))
        return found

    sums = (1 - weight) * nan_to_zero(keyword) + weight * nan_to_zero(semantic)
    rows = np.flatnonzero(sums > 0)
    return Ranked(candidates, rows, sums[rows], parts, keyword=keyword, semantic=semantic)


def learned(candidates: Candidates, ranker: LinearRanker) -> Ranked:
    """Documents by the learned sum of their features, chunks by their distance to the document's best."""
    documents, own = document_features(candidates), chunk_scores(candidates)
    sums = np.array(list(map(math.fsum, ranker.points(documents).tolist())))
    owner = np.searchsorted(documents.ids, candidates.chunks.doc_ids)
    return _by_document(candidates, owner, sums, lambda row: ranker.parts(documents, row), own, "learned")


def by_rrf(candidates: Candidates, k: int) -> Ranked:
    """Documents by reciprocal rank fusion, `Σ 1 / (k + rank)`, chunks by their distance to the document's best.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
    SIGIR 2009; their k is 60, a smaller k trusts first places more. Ranks say nothing about how good a first place is:
    `evidence`, the same for all candidates, adds the best keyword score and cosine, so that sums of queries compare.
    """
    chunks = candidates.chunks
    ids, owner = np.unique(chunks.doc_ids, return_inverse=True)
    retrievers = [ranking for ranking in (candidates.keyword, candidates.semantic, candidates.hyde) if ranking.ids]
    sums, own, columns = np.zeros(len(ids)), np.zeros(len(chunks)), []
    for ranking in retrievers:
        best, further = aggregated(nan_to_zero(chunks.column(ranking)), owner, len(ids), FLOOR[ranking.source])
        raw = best + further
        ranks, (rows, places) = ranks_of(raw), chunks.rows_of(ranking)
        points = np.where(ranks > 0, 1 / (k + ranks), 0.0)
        sums += points
        own[rows] += 1 / (k + places)
        columns.append((ranking.source, ranks, raw, points))
    best_scores = math.fsum(max(one.scores) for one in retrievers) / len(retrievers) if retrievers else 0.0

    def parts(document: int) -> Iterable[ScorePart]:
        for source, ranks, raw, points in columns:
            if ranks[document]:
                yield ScorePart(source, int(ranks[document]), float(raw[document]), float(points[document]))
        yield ScorePart("evidence", None, best_scores, best_scores)

    return _by_document(candidates, owner, sums + best_scores, parts, own, "rrf")


def by_scores(candidates: Candidates, keyword_weight: float, semantic_weight: float) -> Ranked:
    """Chunks by the weighted sum of their absolute scores."""
    chunks = candidates.chunks
    retrieved = [("semantic", candidates.semantic, chunks.semantic)]
    if candidates.hyde.ids:
        retrieved.append(("hyde", candidates.hyde, chunks.column(candidates.hyde)))
    columns = [("keyword", candidates.places(candidates.keyword), chunks.bm25, keyword_weight)]
    columns += [(name, candidates.places(one), own, semantic_weight / len(retrieved)) for name, one, own in retrieved]

    def parts(row: int) -> list[ScorePart]:
        return [
            ScorePart(name, int(places[row]) or None, float(own[row]), weight * float(own[row]))
            for name, places, own, weight in columns
            if not np.isnan(own[row])
        ]

    sums = np.sum([weight * nan_to_zero(own) for _, _, own, weight in columns], axis=0)
    return ranked(candidates, sums, parts, "weighted")


def _by_document(
    candidates: Candidates, owner: Ids, documents: Floats, document_parts: Parts, own: Floats, scale: str
) -> Ranked:
    """A chunk has its document's parts, and loses what it lies behind the document's best chunk.

    `owner` is each chunk's document, a row of `documents` with its sum; `own` is what each chunk counts.
    """
    best = np.full(len(documents), -math.inf)
    np.maximum.at(best, owner, own)
    behind = own - best[owner]

    def parts(row: int) -> Iterable[ScorePart]:
        yield from document_parts(int(owner[row]))
        if behind[row]:
            yield ScorePart("passage", None, float(own[row]), float(behind[row]))

    return ranked(candidates, documents[owner] + behind, parts, scale)


#: Share of the chunks: while more of them have no vectors yet, that nothing is near says little.
WITHOUT_VECTORS = 0.01


@dataclass(frozen=True, slots=True)
class Curve:
    """A rising logistic curve: `1 / (1 + exp(−slope × (sum − middle)))`."""

    middle: float  #: the sum at which a hit is as likely relevant as not
    slope: float

    def __call__(self, total: float) -> float:
        """The relevance of a hit with this sum, strictly rising within what floats can tell apart.

        >>> Curve(middle=0.5, slope=10.0)(0.5)
        0.5
        """
        x = self.slope * (total - self.middle)
        return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(max(x, -700.0)) / (1 + math.exp(max(x, -700.0)))

    def total(self, relevance: float) -> float:
        """The sum that has this relevance."""
        return self.middle + math.log(relevance / (1 - relevance)) / self.slope


def _shipped() -> dict[str, Curve]:
    """Set by hand between the best sums of questions that the Ray and Kubernetes manuals answer and of others."""
    return {
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

    curves: Mapping[str, Curve] = field(default_factory=_shipped)
    unlikely_below: float = 0.2
    yes_from: float = 0.7
    #: Chunks from which on a library gets a calibration of its own, for which this one only stands in; 0: never.
    provisional_from: int = 0

    def is_provisional(self, chunks: int) -> bool:
        """Whether relevance isn't calibrated yet in a library of this many chunks.

        >>> Calibration().is_provisional(1000), Calibration(provisional_from=200).is_provisional(1000)
        (False, True)
        """
        return 0 < self.provisional_from <= chunks

    def is_shipped(self, scale: str) -> bool:
        """Whether the curve of a scale is the shipped one, not fitted to the library."""
        return self.curves.get(scale) == _shipped().get(scale)

    def relevance(self, scale: str, total: float) -> float:
        """A sum on a mode's own scale as relevance in 0–1; the plain sum where it has no scale."""
        return self.curves[scale](total) if scale else min(1.0, max(0.0, total))

    def answerable(self, best: float | None) -> Answerable:
        """Whether the library answers the question, judged by its best hit's relevance; None where nothing was found.

        >>> Calibration().answerable(None)
        'unlikely'
        """
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
    incomplete = missing > WITHOUT_VECTORS * count.chunks or np.isnan(candidates.chunks.semantic).any()
    return "unknown" if incomplete else answerable
