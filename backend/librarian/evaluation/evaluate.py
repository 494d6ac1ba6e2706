"""Ask all rated questions in every mode, and say how good the answers are and how sure that is."""

from __future__ import annotations

import datetime as dt
import json
import logging
import math
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ..errors import CallerError
from ..schemas import MAX_QUERY_LENGTH, GapItem, GapsResponse

_NUMBER = re.compile(r"[+-]?[\d.]")
_WHOLE = re.compile(r"\.0*$")  #: grades may be written as 1.0


@dataclass(frozen=True, slots=True)
class RatedQuery:
    """A question and the grades of the files that were rated for it."""

    query_id: str
    text: str
    grades: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Judgments:
    """The questions that can be asked, and a sentence for each kind of line that counts for nothing."""

    questions: Sequence[RatedQuery]
    notes: Sequence[str]


def load(queries: Path, qrels: Path) -> list[RatedQuery]:
    """All questions that have a relevant file, in the order of the file. Raises `CallerError` naming file and line."""
    return list(read(queries, qrels).questions)


def read(queries: Path, qrels: Path) -> Judgments:
    """The same with notes; empty questions, and those of more than `MAX_QUERY_LENGTH` characters, can't be asked.

    Raises `CallerError` with the line for a file that isn't as it should be, and where no question is left.
    """
    texts = _texts(queries)
    grades = _grades(qrels, texts)
    answered = [one for one in texts if any(grade > 0 for grade in grades.get(one, {}).values())]
    rated = [
        RatedQuery(one, texts[one], grades[one]) for one in answered if 0 < len(texts[one].strip()) <= MAX_QUERY_LENGTH
    ]
    if not rated:
        raise CallerError(
            f"No question of {queries.name} has a relevant file in {qrels.name}.",
            hint="The first column of the one must be the _id of the other.",
        )
    unfit = set(answered) - {question.query_id for question in rated}
    left_out = (
        (queries, f"without a relevant file in {qrels.name}", texts.keys() - set(answered)),
        (queries, f"empty or longer than {MAX_QUERY_LENGTH:,} characters", unfit),
        (qrels, f"not in {queries.name}", grades.keys() - texts.keys()),
    )
    notes = [
        f"left out of {file.name}: {len(ids)} {why}, for example {min(ids)!r}" for file, why, ids in left_out if ids
    ]
    return Judgments(rated, notes)


def _texts(queries: Path) -> dict[str, str]:
    """Each question's text by its id."""
    texts: dict[str, str] = {}
    for number, line in numbered_lines(queries):
        try:
            row = json.loads(line)
            query_id, text = row["_id"], row["text"]
            if not isinstance(text, str) or not isinstance(query_id, str | int):
                raise TypeError("the text isn't text" if isinstance(query_id, str | int) else "the _id isn't text")
        except (ValueError, KeyError, TypeError) as error:
            reason = f"not a question ({f'it has no {error}' if isinstance(error, KeyError) else error})"
            raise _wrong(queries, number, reason, 'Each line is like {"_id": "q1", "text": "how do I …"}.') from error
        query_id = str(query_id).strip()
        if query_id in texts:
            reason = f"the _id {query_id!r} is an earlier question's"
            raise _wrong(queries, number, reason, "Give every question an _id of its own.")
        texts[query_id] = text
    return texts


def _grades(qrels: Path, asked: Collection[str]) -> dict[str, dict[str, int]]:
    """Grades by question and file path. A first line without a grade is a header, unless it begins with a question's
    id."""
    grades: dict[str, dict[str, int]] = {}
    for number, line in numbered_lines(qrels):
        parts = [part.strip() for part in line.split("\t")]
        if number == 1 and len(parts) == 3 and parts[0] not in asked and not _NUMBER.match(parts[2]):
            continue
        try:
            query_id, file_path, grade = parts
            found = int(_WHOLE.sub("", grade))
        except ValueError as error:
            hint = "Each line is query<TAB>file_path<TAB>grade, the grade a whole number."
            raise _wrong(qrels, number, f"{line!r} is not a judgment", hint) from error
        if grades.setdefault(query_id, {}).setdefault(file_path, found) != found:
            reason = f"{file_path!r} has another grade for {query_id!r} in an earlier line"
            raise _wrong(qrels, number, reason, "Keep one of the two.")
    return grades


def _wrong(file: Path, number: int, reason: str, hint: str) -> CallerError:
    return CallerError(f"{file.name}, line {number}: {reason}.", hint=hint)


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a file that aren't blank. Raises `CallerError` if it can't be read."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CallerError(f"Can't read {path}: {reason}.", hint="Give a text file in UTF-8.") from error
    return [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]


logger = logging.getLogger(__name__)

MOST_BYTES = 5 * 1024 * 1024  #: the file is begun anew then; the one before is kept


class QueryLog:
    """A file of JSON lines: time, query, number of results, whether they seem to answer, product.

    If it isn't enabled nothing is written, and `gaps` shows what was kept earlier.
    """

    def __init__(self, path: Path, *, enabled: bool = False) -> None:
        self._path = path
        self._older = path.with_name(f"{path.name}.1")
        self.enabled = enabled  #: whether queries are kept
        self._lock = threading.Lock()

    def note(self, query: str, results: int, answerable: str, product: str | None) -> None:
        """Keep one question. A full disk loses the note, not the answer."""
        if not self.enabled:
            return
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        line = {"at": now, "query": query, "results": results, "answerable": answerable, "product": product or ""}
        try:
            with self._lock:
                if self._path.is_file() and self._path.stat().st_size > MOST_BYTES:
                    self._path.replace(self._older)
                descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
                    file.write("\n" * self._cut() + json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            logger.warning("A question can't be kept in %s: %s", self._path, error)

    def gaps(self, limit: int) -> GapsResponse:
        """Questions (any case) whose last answer was empty or unlikely to help, most often asked first."""
        last: dict[str, dict[str, object]] = {}
        times: Counter[str] = Counter()
        for line in self._lines():
            key = " ".join(str(line.get("query", "")).lower().split())
            times[key] += 1
            last[key] = line
        gaps = [
            GapItem(
                query=str(line["query"]),
                times=times[key],
                results=int(str(line.get("results", 0))),
                last_asked=str(line.get("at", "")).replace("+00:00", "Z"),
            )
            for key, line in last.items()
            if not line.get("results") or line.get("answerable") == "unlikely"
        ]
        gaps.sort(key=lambda gap: (-gap.times, gap.results, gap.query))
        return GapsResponse(enabled=self.enabled, questions=times.total(), gaps=gaps[:limit])

    def _cut(self) -> bool:
        """Whether the last line has no end, as a kill leaves it: what is added would be lost with it."""
        with self._path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - 1))
            return end > 0 and file.read(1) != b"\n"

    def _lines(self) -> Iterator[dict[str, object]]:
        for path in (self._older, self._path):
            try:
                text = path.read_text("utf-8", "replace")
            except OSError:
                continue
            for line in text.split("\n"):
                try:
                    found = json.loads(line)
                except ValueError:
                    continue  # a line that a kill cut short
                if isinstance(found, dict) and "query" in found:
                    yield found


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
        per_query = {name: tuple(own) for name, own in values.items()}
        reports.append(
            ModeReport(mode, len(questions), measures, percentile(took, 0.5), percentile(took, 0.95), per_query)
        )
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
