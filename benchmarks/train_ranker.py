"""Trains the weights of the learned fusion on judged questions, link texts, and further sets made by script.

Each set is a library (a folder of documents, indexed here) with judged questions; the texts of its links are further
questions, each answered by the page that the link leads to. Of products that `answers/` has questions with lines for
(`answers.py`) these are learned from too: a page whose best passage answers is to be first. A set named like
`abstracts@cacm` was made from documents of another (`short_documents.py`) and weighs less. The table shows every set
under weights learned without anything of that library, and under those learned from all, which are what is written.
The former are kept in the work folder for `quality.py`. Questions aren't adapted to the libraries here: a small library
has nothing to adapt them by, and weights learned from adapted ones are no better for those that have.

    python benchmarks/train_ranker.py --work FOLDER --set ray DOCS 'ray/**' QUERIES.jsonl QRELS.tsv --set … --out FILE
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import answers
import judged_sets
from judged_sets import LEFT_OUT, JudgedSet
from learning import VectorRequest, quality, trained
from librarian.evaluation.evaluate import SEED
from librarian.search.ranker import READ, SCALED, shipped

#: Between 0.001 and 0.1 the left-out means lie within 0.01 of each other; more costs short documents.
RIDGE = 0.03
#: Points of a document whose best passage is the question's best by words, by meaning and by its text alone. What reads
#: sums rests on their scale: relevance in small libraries, and what lying behind a document's best passage costs.
POINTS = 10.0
#: Of what `both_scaled` learns so much is kept: in full it costs questions whose answer is a page as a whole. At 1, 0.8
#: and 0.6 hybrid's nDCG@10 is 0.658, 0.656 and 0.651 on Ray, 0.712, 0.714 and 0.720 on the Kubernetes tasks, 0.560,
#: 0.564 and 0.567 on CACM, and MRR@10 of the passages that answer (`answers.py`) 0.626, 0.619 and 0.617.
BOTH_KEPT = 0.8
ANCHORS_WEIGH = 0.5  #: of a library's anchors, where its judged questions weigh 1
ANSWERS_WEIGH = 1.0  #: of a product's questions with lines
FURTHER_WEIGH = 0.25  #: of a further set's questions
FURTHER_AT_MOST = 200

#: Of a set its judged questions, its anchors, and its product's questions with lines.
Gathered = dict[JudgedSet, tuple[list[VectorRequest], list[VectorRequest], list[VectorRequest]]]


def gather(sets: Sequence[JudgedSet], work: Path, names: Sequence[str] = READ) -> Gathered:
    """Candidates of all questions, by set."""
    found: Gathered = {}
    for one in sets:
        with judged_sets.opened(one, work, **judged_sets.UNADAPTED) as parts:
            questions = one.questions()
            if one.further:
                questions = random.Random(SEED).sample(questions, min(len(questions), FURTHER_AT_MOST))
            judged = judged_sets.asked(parts, questions, names)
            anchors = judged_sets.asked(parts, judged_sets.anchors(parts), names)
            found[one] = judged, anchors, list(answers.asked(parts, one.product, names))
    return found


def learned(gathered: Gathered, without: str | None = None) -> npt.NDArray[np.float64]:
    """Weights from every set but one and what was made from it, those of scaled features adding up to `POINTS`."""
    sets, weights = [], []
    for one, questions in gathered.items():
        if one.origin != without:
            weigh = (FURTHER_WEIGH if one.further else 1.0, ANCHORS_WEIGH, ANSWERS_WEIGH)
            sets += [some for some in questions if some]
            weights += [weight for some, weight in zip(questions, weigh, strict=True) if some]
    found = trained(sets, weights=weights, ridge=RIDGE)
    found[READ.index("both_scaled")] *= BOTH_KEPT
    return found * POINTS / sum(weight for name, weight in zip(READ, found, strict=True) if name in SCALED)


def rounded(weights: npt.NDArray[np.float64], names: Sequence[str] = READ) -> dict[str, float]:
    return {name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    judged_sets.add_arguments(parser)
    parser.add_argument("--out", type=Path, help="where the weights go; the shipped ones are compared in any case")
    given = parser.parse_args()
    gathered = gather([JudgedSet.of(row) for row in given.set], given.work)
    now = np.array([shipped().weights.get(name, 0.0) for name in READ])
    everything = learned(gathered)
    asked = [one for one, (judged, _, with_lines) in gathered.items() if not one.further and (judged or with_lines)]
    left_out = {one.origin: learned(gathered, one.origin) for one in asked}
    keep = {name: rounded(left_out[one.origin]) for one in asked for name in (one.name, one.product) if name}
    (given.work / LEFT_OUT).write_text(json.dumps(keep, indent=2) + "\n")
    print("| set | questions | anchors | with lines | left out | trained on all | shipped before |")
    print("|---|---|---|---|---|---|---|")
    for one, (judged, links, with_lines) in gathered.items():
        if judged:
            columns = [left_out.get(one.origin), everything, now]
            cells = ["—" if weights is None else f"{np.mean(quality(judged, weights)):.3f}" for weights in columns]
            counts = f"{len(judged)} | {len(links)} | {len(with_lines)}"
            print(f"| {one.name} | {counts} | {' | '.join(cells)} |", flush=True)
    print(json.dumps(rounded(everything)))
    if given.out:
        data = {
            "trained_on": [one.name for one in gathered],
            "anchors": ANCHORS_WEIGH,
            "answers": ANSWERS_WEIGH,
            "further": FURTHER_WEIGH,
            "ridge": RIDGE,
            "weights": rounded(everything),
        }
        given.out.write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
