"""How often `answerable` is right on questions that a library's calibration wasn't fitted on; a Markdown table.

    python benchmarks/answerable.py --work FOLDER --foreign other-fields.txt --foreign neighbours.txt --set NAME DOCS …

Each `--foreign` file holds a question per line that none of the libraries answers. `unanswerable/*.jsonl` has questions
for each of four products about something that its pages don't mention, though they hold the question's other words:
`missing` is what they don't mention. Those that are `aside` were written after the rules were set. The column "named"
is the share of questions for which words are named that no document mentions; of the unanswerable ones, the right word.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import answers
import judged_sets
from judged_sets import JudgedSet, engine_of, opened
from librarian.models import Deadline, Query, SearchOutcome

FOLDER = Path(__file__).parent / "unanswerable"
PATIENCE_S = 300.0  #: for the fit, which runs in the background once the library is complete


def unanswerable(product: str) -> list[dict[str, Any]]:
    """A product's questions about what its pages don't mention."""
    path = FOLDER / f"{product}.jsonl"
    return [*map(json.loads, path.read_text("utf-8").splitlines())] if path.is_file() else []


def asked(one: JudgedSet) -> dict[str, list[str]]:
    """The questions of a set by where they come from."""
    missing = unanswerable(one.product)
    found = {
        "judged": [question.text for question in one.questions()],
        "answers": [question.text for question in answers.questions(one.product)],
        "unanswerable, tuned": [row["text"] for row in missing if not row.get("aside")],
        "unanswerable, aside": [row["text"] for row in missing if row.get("aside")],
    }
    return {name: texts for name, texts in found.items() if texts}


def is_named(outcome: SearchOutcome, missing: Mapping[str, str]) -> bool:
    """Whether words are named that no document mentions, the right one where that is known."""
    word = missing.get(outcome.query.text, "").lower()
    return any(word in named.lower() for named in outcome.not_mentioned)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    judged_sets.add_arguments(parser)
    parser.add_argument("--foreign", type=Path, action="append", default=[], help="questions that have no answer")
    given = parser.parse_args()
    foreign = {path.stem: [line for line in path.read_text("utf-8").splitlines() if line] for path in given.foreign}
    print("| library | questions | yes | unknown | unlikely | named | ms |\n|---|---|---|---|---|---|---|")
    for one in (JudgedSet.of(row) for row in given.set):
        missing = {row["text"]: row["missing"] for row in unanswerable(one.product)}
        with opened(one, given.work) as parts:
            deadline = time.monotonic() + PATIENCE_S
            while not any(note.startswith("answerable") for note in parts.notes()) and time.monotonic() < deadline:
                time.sleep(0.5)
            for name, texts in {**asked(one), **foreign}.items():
                engine = engine_of(parts)
                outcomes = [engine.search(Query(text, mode="auto", max_results=1), Deadline()) for text in texts]
                seen = Counter(outcome.answerable for outcome in outcomes)
                shares = [seen[word] / len(texts) for word in ("yes", "unknown", "unlikely")]
                shares.append(sum(is_named(outcome, missing) for outcome in outcomes) / len(texts))
                cells = " | ".join(f"{share:.0%}" for share in shares)
                spent = statistics.median(outcome.took_ms for outcome in outcomes)
                print(f"| {one.name} | {name}, {len(texts)} | {cells} | {spent:.1f} |", flush=True)


if __name__ == "__main__":
    main()
