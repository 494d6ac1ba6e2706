"""From a mode's own sums to a number that means the same in every question, and to whether there is an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..models import Answerable, Query
from ..storage.base import CatalogReader
from .candidates import Candidates, nan_to_zero

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

    def relevance(self, scale: str, total: float) -> float:
        """A sum on a mode's own scale as relevance in 0–1."""
        return self.curves[scale](total)

    def share(self, *, unlikely: bool, doubtful: bool) -> float:
        """What relevances are multiplied by, which keeps their order, so that none is taken for an answer where that is
        `unlikely`, and none for a sure one where it is `doubtful`."""
        return self.unlikely_below if unlikely else self.yes_from if doubtful else 1.0

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
