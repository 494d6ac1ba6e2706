"""What others make of the same files and questions: rank-bm25, the plain pipeline (`plain.py`), and knowledge-rag
where an environment that has it is named (`knowledge_rag.py`).

Their rankings are kept beside the indexes, since they embed everything in one go.

    python benchmarks/rivals.py --work FOLDER --model FOLDER --set NAME DOCS INCLUDE QUERIES QRELS … \\
        [--knowledge-rag RIVAL/bin/python]
"""

from __future__ import annotations

import argparse
import json
from fnmatch import fnmatch
from pathlib import Path

import judged_sets
import knowledge_rag
from judged_sets import JudgedSet
from librarian.models.store import ModelStore
from librarian.models.table import DEFAULT
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
    pipeline = PlainPipeline(one.docs, Model(model), _product(one))
    found = {
        rival: {question.text: pipeline.search(question.text, mode)[:50] for question in one.questions()}
        for rival, mode in MODES.items()
    }
    kept.write_text(json.dumps(found))
    return found


def with_knowledge_rag(one: JudgedSet, work: Path, python: Path, found: Rankings) -> Rankings:
    """The rankings with knowledge-rag's, made where missing."""
    if "knowledge-rag" in found:
        return found
    whole = ModelStore(work / "models", keep_fp32=True).ensure(DEFAULT)
    product = _product(one)
    texts = [question.text for question in one.questions()]
    answers = knowledge_rag.asked(python, work / f"knowledge-rag-{one.name}", one.docs / product, whole, texts)
    found["knowledge-rag"] = {
        text: [f"{product}/{path}" if product else path for path in paths[:50]] for text, paths in answers.items()
    }
    (work / f"rivals-{one.name}.json").write_text(json.dumps(found))
    return found


def _product(one: JudgedSet) -> str:
    return next((part for part in one.include if fnmatch(part, "*/[*][*]")), "").split("/")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    judged_sets.add_arguments(parser)
    parser.add_argument("--model", type=Path, required=True, help="folder with tokenizer.json and an int8 .onnx file")
    parser.add_argument("--knowledge-rag", type=Path, help="the Python of an environment with knowledge-rag")
    given = parser.parse_args()
    for row in given.set:
        one = JudgedSet.of(row)
        made = rankings(one, given.work, given.model)
        if given.knowledge_rag:
            made = with_knowledge_rag(one, given.work, given.knowledge_rag, made)
        print(one.name, {rival: len(found) for rival, found in made.items()})


if __name__ == "__main__":
    main()
