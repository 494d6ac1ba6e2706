"""What every hit shows, over all judged questions: how many snippets keep each promise.

A snippet holds a word of the question where its passage does, else the sentence nearest to it; it has at most 600
characters, its fences are closed, a table's rows stand under their header, and what is highlighted is a word of the
question. `backend/tests/search/shown.py` judges from the text that is shown. Exits with 1 where one promise is broken.

    python benchmarks/snippets.py --work FOLDER --set ray DOCS 'ray/**' QUERIES.jsonl QRELS.tsv --set …
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

import judged_sets
from judged_sets import JudgedSet, engine_of, opened
from librarian.models import Deadline, Mode, Query
from librarian.text.analyzer import StandardAnalyzer
from tests.search.shown import as_searched, faults, holds_a_word

MODES = ("keyword", "semantic", "hybrid", "auto")


@dataclass(slots=True)
class Seen:
    hits: int = 0
    with_word: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


def look(one: JudgedSet, given: argparse.Namespace) -> dict[str, Seen]:
    """Every question in every mode."""
    analyzer = StandardAnalyzer()
    seen = {mode: Seen() for mode in MODES}
    with opened(one, given.work) as parts, parts.catalog.read() as reader:
        languages = parts.catalog.columns().languages()
        for question in one.questions():
            for mode, counted in seen.items():
                query = Query(question.text, mode=cast(Mode, mode), max_results=given.results)
                outcome = engine_of(parts).search(query, Deadline())
                analyzed = analyzer.query(as_searched(outcome), languages)
                for hit in outcome.hits:
                    counted.hits += 1
                    counted.with_word += holds_a_word(hit, analyzed, analyzer)
                    for fault in faults(hit, reader, analyzed, analyzer):
                        kind = "".join(" " if letter.isdigit() else letter for letter in fault)[:40]
                        counted.broken[kind] += 1
                        counted.examples.append(
                            f"{mode}: {question.text[:80]!r}: {hit.document.document.file_path}: {fault}\n"
                            f"{hit.snippet.text}\n"
                        )
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    judged_sets.add_arguments(parser)
    parser.add_argument("--results", type=int, default=10)
    parser.add_argument("--show", type=int, default=3, help="examples of what is broken")
    given = parser.parse_args()
    broken = 0
    print("| set | mode | snippets | of passages with a word of the question | broken |\n|---|---|---|---|---|")
    for row in given.set:
        for mode, seen in look(JudgedSet.of(row), given).items():
            what = ", ".join(f"{kind}: {count}" for kind, count in seen.broken.items())
            print(f"| {row[0]} | {mode} | {seen.hits:,} | {seen.with_word:,} | {what or 0} |", flush=True)
            print("\n".join(seen.examples[: given.show]), file=sys.stderr)
            broken += seen.broken.total()
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
