"""How good the answers are to questions with misspelt words, beside the plain pipeline; a Markdown table.

    python benchmarks/misspelt.py --work FOLDER --model FOLDER --set ray DOCS 'ray/**' QUERIES.jsonl QRELS.tsv --set …

Of each question none, one or two words of five and more letters get a slip: a letter left out, added or changed, or two
swapped, behind the first. Hybrid runs with weights that were learned without the set, as it is and without correcting.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import judged_sets
from judged_sets import JudgedSet, engine_of, opened, ranked, weights_without
from librarian.evaluation.evaluate import evaluate
from librarian.search.ranker import LinearRanker
from rivals import rankings

MEASURE = "nDCG@10"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORD = re.compile(r"(?<!\S)[A-Za-z]{5,}(?=[,;:?!.)]*(?:\s|$))")
COLUMNS = ("keyword", "hybrid", "hybrid, uncorrected", "rank-bm25", "plain semantic", "plain hybrid")


def slipped(word: str, chance: random.Random) -> str:
    """The word with one slip behind its first letter."""
    at = chance.randrange(1, len(word) - 1)
    letter = chance.choice(LETTERS)
    return chance.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ]
    )


def misspelt(text: str, count: int, chance: random.Random) -> str:
    """The text with slips in so many of its words, or in all that are long enough."""
    words = list(WORD.finditer(text))
    for found in sorted(chance.sample(words, min(count, len(words))), key=re.Match.start, reverse=True):
        text = text[: found.start()] + slipped(found.group(), chance) + text[found.end() :]
    return text


def spoilt(one: JudgedSet, count: int, work: Path) -> JudgedSet:
    """The set with misspelt questions, in a file of their own."""
    path, chance = work / f"misspelt-{one.name}-{count}.jsonl", random.Random(count)
    with one.queries.open(encoding="utf-8") as lines, path.open("w", encoding="utf-8") as out:
        for line in filter(str.strip, lines):
            question = json.loads(line)
            out.write(json.dumps({**question, "text": misspelt(question["text"], count, chance)}) + "\n")
    return replace(one, queries=path)


def row(one: JudgedSet, work: Path, model: Path) -> list[float]:
    """`MEASURE` of `COLUMNS`."""
    others = rankings(one, work, model)
    with opened(one, work) as parts:
        engine = engine_of(parts)
        engine.use(ranker=LinearRanker(weights_without(one.name, work)))

        def search(text: str, column: str) -> list[str]:
            if column in others:
                return others[column][text]
            if column in COLUMNS[:2]:
                return ranked(parts, text, column)
            with patch.object(engine._normalizer, "corrected", lambda query, *rest: (query.text, ())):
                return ranked(parts, text, "hybrid")

        found = {report.mode: report for report in evaluate(one.questions(), search, COLUMNS)}
    return [found[column].measures[MEASURE].mean for column in COLUMNS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    judged_sets.add_arguments(parser)
    parser.add_argument("--model", type=Path, required=True, help="the rivals' model folder")
    given = parser.parse_args()
    print(f"| {MEASURE} | misspelt words | {' | '.join(COLUMNS)} |\n|---|---|{'---|' * len(COLUMNS)}")
    for one in map(JudgedSet.of, given.set):
        for count in (0, 1, 2):
            figures = row(spoilt(one, count, given.work), given.work, given.model)
            print(f"| {one.name} | {count} | {' | '.join(f'{value:.3f}' for value in figures)} |", flush=True)


if __name__ == "__main__":
    main()
