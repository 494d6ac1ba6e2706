"""Judged questions: `queries.jsonl` holds `{"_id", "text"}` per line, `qrels.tsv` `query<TAB>file_path<TAB>grade`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from librarian.vocabulary.errors import CallerError


@dataclass(frozen=True, slots=True)
class Judged:
    """A question and the grades of the files that were judged for it."""

    query_id: str
    text: str
    grades: Mapping[str, int]


def load(queries: Path, qrels: Path) -> list[Judged]:
    """All questions that have a relevant file, in the order of the file. Raises `CallerError` naming file and line."""
    grades = _grades(qrels)
    judged = []
    for number, line in _lines(queries):
        try:
            row = json.loads(line)
            query_id, text = str(row["_id"]), str(row["text"])
        except (ValueError, KeyError, TypeError) as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else error
            raise CallerError(
                f"{queries.name}, line {number}: not a question ({reason}).",
                hint='Each line is like {"_id": "q1", "text": "how do I …"}.',
            ) from error
        if any(grade > 0 for grade in grades.get(query_id, {}).values()):
            judged.append(Judged(query_id, text, grades[query_id]))
    if not judged:
        raise CallerError(
            f"No question of {queries.name} has a relevant file in {qrels.name}.",
            hint="The first column of the one must be the _id of the other.",
        )
    return judged


def _grades(qrels: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(qrels):
        parts = line.split("\t")
        try:
            query_id, file_path, grade = parts
            grades.setdefault(query_id, {})[file_path] = int(grade)
        except ValueError as error:
            if number == 1 and len(parts) == 3:  # a header
                continue
            raise CallerError(
                f"{qrels.name}, line {number}: {line!r} is not a judgment.",
                hint="Each line is query<TAB>file_path<TAB>grade, the grade a whole number.",
            ) from error
    return grades


def _lines(path: Path) -> list[tuple[int, str]]:
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise CallerError(f"Can't read {path}: {error.strerror}.", hint="Check the path.") from error
    except UnicodeDecodeError as error:
        raise CallerError(f"Can't read {path}: {error}.", hint="Write it as UTF-8 text.") from error
    return [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
