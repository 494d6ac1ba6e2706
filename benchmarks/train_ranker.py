"""Trains the weights of the learned fusion on judged questions and link anchors.

Each set is a library (a folder of documents, indexed here) with judged questions; the texts of its links are further
questions, each answered by the page that the link leads to. Sets weigh the same. The table shows every set under
weights learned without anything of that library, with and without the anchors; what is written is learned from all.

    python benchmarks/train_ranker.py --work FOLDER --set ray DOCS 'ray/**' QUERIES.jsonl QRELS.tsv --set … --out FILE
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import judged_sets
from judged_sets import JudgedSet
from librarian.evaluation.learning import Asked, quality, trained
from librarian.finding.ranker import READ, shipped

#: Between 0.001 and 0.05 the left-out means lie within 0.009 of each other.
RIDGE = 0.01
ANCHORS_WEIGH = 0.5  #: of a library's anchors, where its judged questions weigh 1

Gathered = dict[str, tuple[list[Asked], list[Asked]]]  #: set → (judged questions, anchors)


def gather(sets: Sequence[JudgedSet], work: Path, names: Sequence[str] = READ) -> Gathered:
    """Candidates of every judged question and of every anchor, by set."""
    found: Gathered = {}
    for one in sets:
        with judged_sets.opened(one, work) as parts:
            judged = judged_sets.asked(parts, one.questions(), names)
            found[one.name] = judged, judged_sets.asked(parts, judged_sets.anchors(parts), names)
    return found


def learned(
    gathered: Gathered, without: str | None = None, *, anchors: float = ANCHORS_WEIGH
) -> npt.NDArray[np.float64]:
    """Weights from every set but one."""
    sets, weights = [], []
    for name, (judged, links) in gathered.items():
        if name != without:
            sets += [judged, links] if links and anchors else [judged]
            weights += [1.0, anchors] if links and anchors else [1.0]
    return trained(sets, weights=weights, ridge=RIDGE)


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
    print("| set | questions | anchors | left out, judged only | left out, with anchors | trained on all | shipped |")
    print("|---|---|---|---|---|---|---|")
    for name, (judged, links) in gathered.items():
        columns = [learned(gathered, name, anchors=0.0), learned(gathered, name), everything, now]
        cells = [f"{np.mean(quality(judged, weights)):.3f}" for weights in columns]
        print(f"| {name} | {len(judged)} | {len(links)} | {' | '.join(cells)} |")
    print(json.dumps(rounded(everything)))
    if given.out:
        data = {
            "trained_on": list(gathered),
            "anchors": ANCHORS_WEIGH,
            "ridge": RIDGE,
            "weights": rounded(everything),
        }
        given.out.write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
