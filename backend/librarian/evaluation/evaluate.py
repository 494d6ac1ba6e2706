"""Ask all judged questions in every mode, and say how good the answers are and how sure that is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from .judgments import JudgedQuery
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


def evaluate(questions: Sequence[JudgedQuery], search: Search, modes: Sequence[str]) -> list[ModeReport]:
    """A report per mode, in the order given; differences and p are against the first."""
    reports: list[ModeReport] = []
    for mode in modes:
        rankings: list[list[str]] = []
        took: list[float] = []
        for question in questions:
            started = time.perf_counter()
            found = search(question.text, mode)
            took.append((time.perf_counter() - started) * 1000)
            rankings.append(list(dict.fromkeys(found)))
        values = {
            name: tuple(measure(ranked, one.grades) for ranked, one in zip(rankings, questions, strict=True))
            for name, measure in MEASURES.items()
        }
        first = reports[0].per_query if reports else {}
        measures = {name: _measured(own, first.get(name)) for name, own in values.items()}
        p50, p95 = (percentile(took, share) for share in (0.5, 0.95))
        reports.append(ModeReport(mode, len(questions), measures, p50, p95, values))
    return reports


def _measured(own: Sequence[float], first: Sequence[float] | None) -> Measured:
    mean = sum(own) / len(own) if own else 0.0
    low, high = interval(own)
    if first is None:
        return Measured(mean, low, high)
    return Measured(mean, low, high, mean - sum(first) / len(first), randomisation(own, first))


def table(reports: Sequence[ModeReport]) -> str:
    """The reports as a Markdown table, a row per mode."""
    names = list(MEASURES)
    rows = [
        f"| mode | {' | '.join(names)} | p50 ms | p95 ms | p against {reports[0].mode} (nDCG@10) |",
        f"|---|{'---|' * (len(names) + 3)}",
    ]
    for report in reports:
        cells = [f"{m.mean:.3f} [{m.low:.3f}–{m.high:.3f}]" for m in (report.measures[name] for name in names)]
        p = report.measures[names[0]].p
        cells += [f"{report.p50_ms:.1f}", f"{report.p95_ms:.1f}", "—" if p is None else f"{p:.4f}"]
        rows.append(f"| {report.mode} | {' | '.join(cells)} |")
    return "\n".join(rows)


def as_dict(reports: Sequence[ModeReport]) -> dict[str, object]:
    """The reports without the figures of single questions, for JSON."""
    return {
        "questions": reports[0].questions if reports else 0,
        "modes": {
            report.mode: {
                **{name: asdict(measured) for name, measured in report.measures.items()},
                "p50_ms": report.p50_ms,
                "p95_ms": report.p95_ms,
            }
            for report in reports
        },
    }
