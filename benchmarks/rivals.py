"""What others make of the same files and questions: rank-bm25, and the plain pipeline (`plain.py`).

Their rankings are kept beside the indexes, since the plain pipeline embeds everything in one go.

    python benchmarks/rivals.py --work FOLDER --model FOLDER --set NAME DOCS INCLUDE QUERIES QRELS …
"""

from __future__ import annotations

import argparse
import json
from fnmatch import fnmatch
from pathlib import Path

import judged_sets
from judged_sets import JudgedSet
from plain import Model, PlainPipeline

MODES = {"rank-bm25": "keyword", "plain semantic": "semantic", "plain hybrid": "hybrid"}

Rankings = dict[str, dict[str, list[str]]]  #: rival → question → file paths, best first


def rankings(one: JudgedSet, work: Path, model: Path | None = None) -> Rankings:
    """Each rival's fifty best files for each question. Without `model` only what is kept; else made where missing."""
    kept = work / f"rivals-{one.name}.json"
    if kept.is_file():
        return dict(json.loads(kept.read_text()))
    if model is None:
        return {}
    product = next((part for part in one.include if fnmatch(part, "*/[*][*]")), "").split("/")[0]
    pipeline = PlainPipeline(one.docs, Model(model), product)
    found = {
        rival: {question.text: pipeline.search(question.text, mode)[:50] for question in one.questions()}
        for rival, mode in MODES.items()
    }
    kept.write_text(json.dumps(found))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    judged_sets.add_arguments(parser)
    parser.add_argument("--model", type=Path, required=True, help="folder with tokenizer.json and an int8 .onnx file")
    given = parser.parse_args()
    for row in given.set:
        one = JudgedSet.of(row)
        print(one.name, {rival: len(found) for rival, found in rankings(one, given.work, given.model).items()})


if __name__ == "__main__":
    main()
