"""Ask all rated questions in every mode, and say how good the answers are and how sure that is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from .judgments import RatedQuery
from .metrics import MEASURES, interval, percentile, randomisation

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
