"""The textbook's measures of a ranking, cut at k. Grades are whole numbers, 0 is irrelevant; files unjudged count as 0.

nDCG is Järvelin and Kekäläinen's, "Cumulated gain-based evaluation of IR techniques", TOIS 2002, in the form that
trec_eval computes: gain = grade, discount = log₂(rank + 1), divided by the same sum over the ideal ranking.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], k: int = 10) -> float:
    """Normalised discounted cumulative gain; 0 where nothing is relevant.

    >>> round(ndcg(["a", "b"], {"b": 1}), 4)  # 1 / log₂ 3
    0.6309
    """
    ideal = _dcg(sorted(grades.values(), reverse=True), k)
    return _dcg([grades.get(file_path, 0) for file_path in ranked], k) / ideal if ideal else 0.0


def precision(ranked: Sequence[str], grades: Mapping[str, int], k: int = 10) -> float:
    """Relevant files among the first k, over k.

    >>> precision(["a", "b"], {"b": 1})
    0.1
    """
    return _relevant(ranked, grades, k) / k


def recall(ranked: Sequence[str], grades: Mapping[str, int], k: int = 10) -> float:
    """Relevant files among the first k, over all relevant ones; 0 where nothing is relevant.

    >>> recall(["a", "b"], {"b": 1, "c": 2})
    0.5
    """
    relevant = sum(1 for grade in grades.values() if grade > 0)
    return _relevant(ranked, grades, k) / relevant if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, int], k: int = 10) -> float:
    """One over the rank of the first relevant file among the first k, else 0.

    >>> reciprocal_rank(["a", "b"], {"b": 1})
    0.5
    """
    return next((1 / rank for rank, path in enumerate(ranked[:k], start=1) if grades.get(path, 0) > 0), 0.0)


#: The measures that are reported, by the names they are reported under.
MEASURES = {"nDCG@10": ndcg, "P@10": precision, "recall@10": recall, "MRR@10": reciprocal_rank}


def _dcg(gains: Sequence[int], k: int) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:k], start=1) if gain > 0)


def _relevant(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> int:
    return sum(1 for file_path in ranked[:k] if grades.get(file_path, 0) > 0)


SEED = 20260101
ROUNDS = 10_000
CONFIDENCE = 0.95  #: of an interval


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron 1979). No values give (0, 0)."""
    if not values:
        return 0.0, 0.0
    sample = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(SEED).integers(0, len(sample), size=(ROUNDS, len(sample)))
    low, high = np.quantile(sample[drawn].mean(axis=1), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def randomisation(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p of the paired randomisation test: how often swapping systems at random gives as large a difference.

    Fisher 1935; recommended for retrieval by Smucker, Allan and Carterette, CIKM 2007. The observed arrangement counts
    as one of the rounds, so p is never 0.

    >>> randomisation([0.5, 0.5], [0.5, 0.5])
    1.0
    """
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not len(differences):
        return 1.0
    signs = np.random.default_rng(SEED).choice((-1.0, 1.0), size=(ROUNDS, len(differences)))
    extreme = np.abs((signs * differences).sum(axis=1)) >= abs(differences.sum()) - 1e-12
    return float((1 + extreme.sum()) / (1 + ROUNDS))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of values lies, interpolated; 0 without values.

    >>> percentile([1.0, 2.0, 3.0], 0.5)
    2.0
    """
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if values else 0.0
