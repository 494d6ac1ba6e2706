"""Ask all rated questions in every mode, and say how good the answers are and how sure that is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from .judgments import RatedQuery


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


#: Question and mode in, file paths out, best first. A path may come again; its first place counts.
Search = Callable[[str, str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over all questions with its 95% interval, and the p of its difference to the first mode."""

    mean: float
    low: float
    high: float
    difference: float = 0.0
    p: float | None = None  #: None for the first mode


@dataclass(frozen=True, slots=True)
class ModeReport:
    """One mode's figures. `per_query` holds each measure's values in the order of the questions."""

    mode: str
    questions: int
    measures: Mapping[str, Measured]
    p50_ms: float
    p95_ms: float
    per_query: Mapping[str, tuple[float, ...]]


def evaluate(questions: Sequence[RatedQuery], search: Search, modes: Sequence[str]) -> list[ModeReport]:
    """A report per mode, in the order given; differences and p are against the first."""
    reports: list[ModeReport] = []
    for mode in modes:
        values: dict[str, list[float]] = {name: [] for name in MEASURES}
        took: list[float] = []
        for question in questions:
            started = time.perf_counter()
            found = search(question.text, mode)
            took.append((time.perf_counter() - started) * 1000)
            ranked = list(dict.fromkeys(found))
            for name, measure in MEASURES.items():
                values[name].append(measure(ranked, question.grades))
        first = reports[0].per_query if reports else None
        measures = {name: _measured(own, first[name] if first else None) for name, own in values.items()}
        times = percentile(took, 0.5), percentile(took, 0.95)
        per_query = {name: tuple(own) for name, own in values.items()}
        reports.append(ModeReport(mode, len(questions), measures, *times, per_query))
    return reports


def _measured(own: Sequence[float], first: Sequence[float] | None) -> Measured:
    mean = sum(own) / len(own) if own else 0.0
    low, high = interval(own)
    if first is None:
        return Measured(mean, low, high)
    return Measured(mean, low, high, mean - sum(first) / len(first), randomisation(own, first))


def as_dict(reports: Sequence[ModeReport]) -> dict[str, object]:
    """The reports without the figures of single questions, for JSON."""
    return {
        "questions": reports[0].questions if reports else 0,
        "modes": {
            report.mode: {name: asdict(measured) for name, measured in report.measures.items()}
            | {"p50_ms": report.p50_ms, "p95_ms": report.p95_ms}
            for report in reports
        },
    }
