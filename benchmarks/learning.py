"""Weights of a linear ranker from judged questions: pairwise logistic regression.

For every question each relevant document is to be above each irrelevant candidate (Herbrich, Graepel and Obermayer
1999, with the logistic loss of RankNet, Burges and others 2005). Sets weigh as said, questions within a set the same.
Weights aren't negative, so that no evidence counts against a document.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "backend"))

from librarian.evaluation.evaluate import RatedQuery, ndcg

Floats = npt.NDArray[np.float64]

STEPS = 2000


@dataclass(frozen=True, slots=True)
class VectorRequest:
    """A question with its candidates: file paths, features of shape (n, number of features), grades of shape (n,).

    Candidates of one path are editions of one page.
    """

    question: RatedQuery
    paths: Sequence[str]
    values: Floats
    grades: npt.NDArray[np.int64]


def trained(
    sets: Sequence[Sequence[VectorRequest]],
    *,
    weights: Sequence[float] | None = None,
    prior: Floats | None = None,
    ridge: float = 0.01,
) -> Floats:
    """The weights of least loss plus `ridge` × squared distance to the prior, in units of each feature's deviation.

    `weights` are those of the sets, 1 by default; `prior` is zero by default, and the answer where nothing can be
    learned. By projected accelerated gradient descent (Nesterov 1983).
    """
    pairs, shares = [], []
    for questions, weight in zip(sets, weights or [1.0] * len(sets), strict=True):
        usable = [one for one in questions if one.grades.max(initial=0) > 0 and one.grades.min(initial=1) == 0]
        for one in usable:
            better, worse = one.values[one.grades > 0], one.values[one.grades == 0]
            pairs.append((better[:, None] - worse[None]).reshape(-1, one.values.shape[1]))
            shares.append(np.full(len(pairs[-1]), weight / len(pairs[-1]) / len(usable)))
    if not pairs:
        if prior is None:
            raise ValueError("No question has both a relevant and an irrelevant candidate.")
        return prior
    differences, share = np.concatenate(pairs), np.concatenate(shares)
    scale = differences.std(axis=0) + 1e-9
    differences = differences / scale
    centre = np.zeros(len(scale)) if prior is None else prior * scale
    curvature = np.linalg.eigvalsh((differences * share[:, None]).T @ differences)[-1]
    step = 1 / (0.25 * float(curvature) + 2 * ridge)
    following = momentum = current = centre.copy()
    for number in range(STEPS):
        margin = np.clip(differences @ momentum, -50, 50)
        slope = -((share / (1 + np.exp(margin))) @ differences) + 2 * ridge * (momentum - centre)
        following = np.maximum(0.0, momentum - step * slope)
        if np.abs(following - current).max() < 1e-7:
            break
        momentum = following + number / (number + 3) * (following - current)
        current = following
    return np.asarray(following / scale)


def quality(questions: Sequence[VectorRequest], weights: Floats) -> list[float]:
    """nDCG@10 of each question's candidates in the order of the weights."""
    values = []
    for one in questions:
        order = np.argsort(-(one.values @ weights), kind="stable")
        pages = list(dict.fromkeys(one.paths[place] for place in order))
        values.append(ndcg(pages[:10], one.question.grades))
    return values
