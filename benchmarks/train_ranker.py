"""Trains the weights of the learned fusion: pairwise logistic regression over the features of judged documents.

Each set is a library (a folder of documents, indexed here) with judged questions. For every question each relevant
document is to be above each irrelevant candidate; sets weigh the same, questions within a set too, weights are not
negative, so that no evidence counts against a document. The table shows every set under weights that left it out; what
is written at the end is trained on all.

    python benchmarks/train_ranker.py --set ray DOCS QUERIES.jsonl QRELS.tsv --set … --work FOLDER --out weights.json
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "backend"))

from librarian.assembly import build
from librarian.config.settings import Settings
from librarian.evaluation.judgments import Judged, load
from librarian.evaluation.metrics import ndcg
from librarian.finding import features
from librarian.finding.explain import Analyst
from librarian.finding.ranker import shipped
from librarian.vocabulary.types import Query

Floats = npt.NDArray[np.float64]

#: What the shipped ranker reads. Without title, headings, path, agreement and further keyword evidence it isn't worse
#: (mean nDCG@10 over the three development sets, each left out of training: 0.624 with them, 0.628 without).
NAMES = ("keyword", "semantic", "semantic_further", "keyword_place", "semantic_place", "body")
#: Ridge on standardised weights; between 0.001 and 0.05 the left-out means lie within 0.009 of each other.
RIDGE = 0.01
STEPS = 3000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its candidates: file paths, features of shape (n, len(NAMES)), grades of shape (n,)."""

    question: Judged
    paths: list[str]
    values: Floats
    grades: npt.NDArray[np.int64]


def asked(name: str, docs: str, queries: str, qrels: str, work: Path) -> list[Asked]:
    """Index the documents (again only what changed) and collect every question's candidates."""
    settings = Settings.load(None, overrides={"docs.root_path": docs, "index.path": str(work / name)})
    parts = build(settings)
    try:
        parts.start()
        parts.indexing.wait_until_idle()
        assert isinstance(parts.analyst, Analyst)
        found = []
        with parts.catalog.read() as reader:
            paths = {stored.doc_id: stored.document.file_path for stored in reader.iter_documents()}
            for question in load(Path(queries), Path(qrels)):
                pool = parts.analyst.engine.judge(Query(question.text, mode="hybrid"), reader).pool
                documents = features.of(pool)
                names = [paths[doc] for doc in documents]
                rows = [[seen.values.get(name, 0.0) for name in NAMES] for seen in documents.values()]
                grades = np.array([question.grades.get(path, 0) for path in names], dtype=np.int64)
                found.append(Asked(question, names, np.array(rows).reshape(len(names), len(NAMES)), grades))
        return found
    finally:
        parts.close()


def trained(sets: list[list[Asked]]) -> Floats:
    """Weights by projected accelerated gradient descent on the pairwise logistic loss."""
    pairs, shares = [], []
    for questions in sets:
        usable = [one for one in questions if one.grades.max(initial=0) > 0 and one.grades.min(initial=1) == 0]
        for one in usable:
            better, worse = one.values[one.grades > 0], one.values[one.grades == 0]
            pairs.append((better[:, None] - worse[None]).reshape(-1, len(NAMES)))
            shares.append(np.full(len(pairs[-1]), 1 / len(pairs[-1]) / len(usable)))
    differences, share = np.concatenate(pairs), np.concatenate(shares)
    scale = differences.std(axis=0) + 1e-9
    differences = differences / scale
    step = 1 / (0.25 * float(np.linalg.eigvalsh((differences * share[:, None]).T @ differences)[-1]) + 2 * RIDGE)
    weights = momentum = np.zeros(len(NAMES))
    for number in range(STEPS):
        margin = np.clip(differences @ momentum, -50, 50)
        slope = -((share / (1 + np.exp(margin))) @ differences) + 2 * RIDGE * momentum
        following = np.maximum(0.0, momentum - step * slope)
        momentum = following + number / (number + 3) * (following - weights)
        weights = following
    return np.asarray(weights / scale)


def quality(questions: list[Asked], weights: Floats) -> float:
    """Mean nDCG@10 of the candidates ordered by the weights."""
    values = []
    for one in questions:
        order = np.argsort(-(one.values @ weights), kind="stable")
        values.append(ndcg([one.paths[place] for place in order[:10]], one.question.grades))
    return float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", nargs=4, action="append", required=True, metavar=("NAME", "DOCS", "QUERIES", "QRELS"))
    parser.add_argument("--work", type=Path, required=True, help="where the indexes are kept")
    parser.add_argument("--out", type=Path, help="where the weights go; the shipped ones are compared in any case")
    given = parser.parse_args()
    sets = {name: asked(name, docs, queries, qrels, given.work) for name, docs, queries, qrels in given.set}
    now = np.array([shipped().weights.get(name, 0.0) for name in NAMES])
    print("| set | questions | left out | trained on all | shipped |\n|---|---|---|---|---|")
    everything = trained(list(sets.values()))
    for name, questions in sets.items():
        others = [other for key, other in sets.items() if key != name]
        left_out = f"{quality(questions, trained(others)):.3f}" if others else "—"
        print(
            f"| {name} | {len(questions)} | {left_out} | {quality(questions, everything):.3f} "
            f"| {quality(questions, now):.3f} |"
        )
    weights = {name: round(float(weight), 2) for name, weight in zip(NAMES, everything, strict=True)}
    print(json.dumps(weights))
    if given.out:
        given.out.write_text(
            json.dumps({"trained_on": list(sets), "ridge": RIDGE, "weights": weights}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
