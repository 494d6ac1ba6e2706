"""Rated questions: `queries.jsonl` holds `{"_id", "text"}` per line, `qrels.tsv` `query<TAB>file_path<TAB>grade`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import CallerError
from ..schemas import MAX_QUERY_LENGTH

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
    left_out = (
        (queries, f"without a relevant file in {qrels.name}", texts.keys() - set(answered)),
        (
            queries,
            f"empty or longer than {MAX_QUERY_LENGTH:,} characters",
            set(answered) - {question.query_id for question in rated},
        ),
        (qrels, f"not in {queries.name}", grades.keys() - texts.keys()),
    )
    notes = [
        f"left out of {file.name}: {len(ids)} {why}, for example {min(ids)!r}" for file, why, ids in left_out if ids
    ]
    return Judgments(rated, notes)


def _texts(queries: Path) -> dict[str, str]:
    """Each question's text by its id."""
    texts: dict[str, str] = {}
    for number, line in _lines(queries):
        try:
            row = json.loads(line)
            query_id, text = row["_id"], row["text"]
            if not isinstance(text, str) or not isinstance(query_id, str | int):
                raise TypeError("the text isn't text" if isinstance(query_id, str | int) else "the _id isn't text")
        except (ValueError, KeyError, TypeError) as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else error
            raise CallerError(
                f"{queries.name}, line {number}: not a question ({reason}).",
                hint='Each line is like {"_id": "q1", "text": "how do I …"}.',
            ) from error
        query_id = str(query_id).strip()
        if query_id in texts:
            raise CallerError(
                f"{queries.name}, line {number}: the _id {query_id!r} is an earlier question's.",
                hint="Give every question an _id of its own.",
            )
        texts[query_id] = text
    return texts


def _grades(qrels: Path, asked: Collection[str]) -> dict[str, dict[str, int]]:
    """Grades by question and file path. A first line without a grade is a header, unless it begins with a question's
    id."""
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(qrels):
        parts = [part.strip() for part in line.split("\t")]
        if number == 1 and len(parts) == 3 and parts[0] not in asked and not _NUMBER.match(parts[2]):
            continue
        try:
            query_id, file_path, grade = parts
            found = int(_WHOLE.sub("", grade))
        except ValueError as error:
            raise CallerError(
                f"{qrels.name}, line {number}: {line!r} is not a judgment.",
                hint="Each line is query<TAB>file_path<TAB>grade, the grade a whole number.",
            ) from error
        if grades.setdefault(query_id, {}).setdefault(file_path, found) != found:
            raise CallerError(
                f"{qrels.name}, line {number}: {file_path!r} has another grade for {query_id!r} in an earlier line.",
                hint="Keep one of the two.",
            )
    return grades


def _lines(path: Path) -> list[tuple[int, str]]:
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise CallerError(f"Can't read {path}: {error.strerror}.", hint="Check the path.") from error
    except UnicodeDecodeError as error:
        raise CallerError(f"Can't read {path}: {error}.", hint="Write it as UTF-8 text.") from error
    return [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
