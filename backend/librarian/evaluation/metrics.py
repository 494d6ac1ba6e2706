"""The textbook's measures of a ranking, cut at k. Grades are whole numbers, 0 is irrelevant; files unjudged count as 0.

nDCG is Järvelin and Kekäläinen's, "Cumulated gain-based evaluation of IR techniques", TOIS 2002, in the form that
trec_eval computes: gain = grade, discount = log₂(rank + 1), divided by the same sum over the ideal ranking.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


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
