"""How often `answerable` is right on questions that a library's calibration wasn't fitted on; a Markdown table.

    python benchmarks/answerable.py --work FOLDER --foreign other-fields.txt --foreign neighbours.txt --set NAME DOCS …

Each `--foreign` file holds a question per line that none of the libraries answers.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import judged_sets
from judged_sets import JudgedSet, engine_of, opened
from librarian.vocabulary.protocols import Budget
from librarian.vocabulary.types import Query

PATIENCE_S = 300.0  #: for the fit, which runs in the background once the library is complete


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    judged_sets.add_arguments(parser)
    parser.add_argument("--foreign", type=Path, action="append", default=[], help="questions that have no answer")
    given = parser.parse_args()
    foreign = {path.stem: [line for line in path.read_text("utf-8").splitlines() if line] for path in given.foreign}
    print("| library | questions | yes | unknown | unlikely |\n|---|---|---|---|---|")
    for one in (JudgedSet.of(row) for row in given.set):
        with opened(one, given.work) as parts:
            deadline = time.monotonic() + PATIENCE_S
            while not any(note.startswith("answerable") for note in parts.notes()) and time.monotonic() < deadline:
                time.sleep(0.5)
            for name, texts in {"judged": [question.text for question in one.questions()], **foreign}.items():
                outcomes = (
                    engine_of(parts).search(Query(text, mode="auto", max_results=1), Budget()) for text in texts
                )
                seen = Counter(outcome.answerable for outcome in outcomes)
                cells = " | ".join(f"{seen[word] / len(texts):.0%}" for word in ("yes", "unknown", "unlikely"))
                print(f"| {one.name} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
