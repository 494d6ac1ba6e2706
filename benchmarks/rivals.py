"""What others make of the same files and questions: rank-bm25, the plain pipeline (`plain.py`), and knowledge-rag
where an environment that has it is named (`knowledge_rag.py`).

Their rankings are kept beside the indexes, and so are the plain pipeline's vectors: what it embeds for one product it
need not embed again for all of them, and an interrupted run goes on where it stopped.

    python benchmarks/rivals.py --work FOLDER --model FOLDER --set NAME DOCS INCLUDE QUERIES QRELS … \\
        [--knowledge-rag RIVAL/bin/python]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import build_model

import judged_sets
import knowledge_rag
from judged_sets import JudgedSet
from plain import Model, PlainPipeline

MODES = {"rank-bm25": "keyword", "plain semantic": "semantic", "plain hybrid": "hybrid"}
PORTION = 400  #: passages embedded between two writes

Rankings = dict[str, dict[str, list[str]]]  #: rival → question → file paths, best first


class KeptModel(Model):
    """The plain pipeline's model, with the vectors of what it embedded before in a file."""

    def __init__(self, folder: Path, kept: Path) -> None:
        super().__init__(folder)
        self.kept = sqlite3.connect(kept)
        self.kept.execute("create table if not exists vectors (text blob primary key, vector blob)")

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row of unit length per text, float32."""
        missing = sorted({text for text in texts if self._row(text) is None}, key=len)
        for start in range(0, len(missing), PORTION):
            portion = missing[start : start + PORTION]
            rows = [
                (_digest(text), row.astype(np.float32).tobytes())
                for text, row in zip(portion, super().embed(portion), strict=True)
            ]
            with self.kept:
                self.kept.executemany("insert into vectors values (?, ?)", rows)
        found = [self._row(text) for text in texts]
        return np.stack([np.frombuffer(row, dtype=np.float32) for row in found if row is not None])

    def _row(self, text: str) -> bytes | None:
        found = self.kept.execute("select vector from vectors where text = ?", (_digest(text),)).fetchone()
        return found[0] if found else None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


@cache
def pipeline_of(docs: Path, product: str, model: Path, work: Path) -> PlainPipeline:
    return PlainPipeline(docs, KeptModel(model, work / "rivals-vectors.sqlite"), product)


def rankings(one: JudgedSet, work: Path, model: Path | None = None) -> Rankings:
    """Each rival's fifty best files for each question.

    Without `model` only of those rivals that were asked all of the set's questions before; else made where missing.
    """
    kept = work / f"rivals-{one.name}.json"
    found: Rankings = json.loads(kept.read_text("utf-8")) if kept.is_file() else {}
    texts = [question.text for question in one.questions()]
    for rival, mode in MODES.items() if model else ():
        known = found.setdefault(rival, {})
        for text in texts:
            if text not in known:
                pipeline = pipeline_of(one.docs, _product(one), Path(str(model)), work)
                known[text] = pipeline.search(text, mode)[:50]
        kept.write_text(json.dumps(found), "utf-8")
    return {rival: known for rival, known in found.items() if known.keys() >= set(texts)}


def with_knowledge_rag(one: JudgedSet, work: Path, python: Path, found: Rankings) -> Rankings:
    """The rankings with knowledge-rag's, made where missing."""
    if "knowledge-rag" in found:
        return found
    whole = work / "model"
    if not (whole / "model.onnx").exists():
        whole.mkdir(exist_ok=True)
        build_model.published_files(whole)
        build_model.build_files(whole)
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
