"""A linear map of questions' vectors that brings them nearer to the passages that answer them.

The loss is that of contrastive learning (InfoNCE: van den Oord, Li and Vinyals 2018): of a question's candidates, by a
softmax over their cosines, those that answer are to have all the probability; the best of several will do. The map is
the identity plus a matrix, whose squared length costs, so that a library that teaches nothing changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from librarian.vocabulary.types import HalfVectors, Ids, Vectors

from .statistics import SEED

#: Of the softmax: cosines that differ by so much differ by e in probability. Between 0.03 and 0.1 the semantic order of
#: seven sets gains as much, within 0.01.
TEMPERATURE = 0.05
#: What the matrix's squared length costs, halved; from `MANY` examples on, and more where they are fewer. Semantic
#: nDCG@10 of six sets of questions on Ray, Kubernetes, FastAPI and Prometheus, of which nothing was learned, goes up by
#: this in the mean at 0.05, 0.1, 0.2 and 0.4: of 600 examples by 0.033, 0.031, 0.025 and 0.019, of 300 by 0.017, 0.024,
#: 0.018 and 0.013, of 160 by 0.011, 0.017, 0.018 and 0.013. Without a cost it falls.
RIDGE, MANY = 0.05, 600
#: Of the matrix that is learned so much is kept. With all of it meaning alone finds most; beside the words less of it
#: serves all sets. Hybrid's nDCG@10 on Ray and the Kubernetes tasks is 0.668 and 0.724 without, 0.663 and 0.734 at 0.4,
#: 0.660 and 0.776 at 0.6, 0.656 and 0.787 at 0.85, 0.653 and 0.787 in full; MRR@10 of the passages that answer on
#: Kubernetes, Ray and FastAPI 0.629, 0.643, 0.646, 0.656 and 0.655 in the mean.
KEPT = 0.6
#: Adam's (Kingma and Ba 2015), with its second rate lower, since steps are few.
STEP, FIRST_RATE, SECOND_RATE = 0.002, 0.9, 0.99
EPOCHS, BATCH = 8, 128


@dataclass(frozen=True, slots=True)
class Examples:
    """Questions with passages that do and don't answer them."""

    questions: Vectors  #: shape (n, dimension)
    rows: HalfVectors  #: vectors of passages, shape (m, dimension)
    among: Ids  #: each question's candidates as rows, shape (n, k); −1 where it has fewer
    answers: npt.NDArray[np.bool_]  #: which of these answer, shape (n, k)

    def __len__(self) -> int:
        return len(self.questions)


def learned(examples: Examples) -> Vectors:
    """The matrix M, shape (dimension, dimension): a question q becomes q + M q.

    `KEPT` of one of little loss: of the mean over the second half of all steps, which wavers less than any of them
    (Polyak and Juditsky 1992). The same examples give the same matrix.
    """
    dimension = examples.questions.shape[1]
    matrix = np.zeros((dimension, dimension), dtype=np.float32)
    first, second = np.zeros_like(matrix), np.zeros_like(matrix)
    mean, steps = np.zeros_like(matrix), EPOCHS * -(-len(examples) // BATCH)
    chance, step = np.random.default_rng(SEED), 0
    ridge = RIDGE * max(1.0, MANY / max(1, len(examples)))
    for _ in range(EPOCHS):
        order = chance.permutation(len(examples))
        for start in range(0, len(order), BATCH):
            slope = _slope(examples, order[start : start + BATCH], matrix) + ridge * matrix
            step += 1
            first += (1 - FIRST_RATE) * (slope - first)
            second += (1 - SECOND_RATE) * (slope * slope - second)
            scale = np.sqrt(second / (1 - SECOND_RATE**step)) + 1e-8
            matrix -= STEP * (first / (1 - FIRST_RATE**step)) / scale
            if step > steps // 2:
                mean += (matrix - mean) / (step - steps // 2)
    return KEPT * mean


def _slope(examples: Examples, chosen: Ids, matrix: Vectors) -> Vectors:
    """The loss's mean gradient over some of the questions, shape of the matrix."""
    asked, among = examples.questions[chosen], examples.among[chosen]
    candidates = examples.rows[among].astype(np.float32)
    turned = asked + asked @ matrix.T
    length = np.linalg.norm(turned, axis=1, keepdims=True)
    unit = turned / length
    logits = np.where(among < 0, -np.inf, np.matmul(candidates, unit[:, :, None])[:, :, 0] / TEMPERATURE)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    right = weights * examples.answers[chosen]
    share = right.sum(axis=1, keepdims=True)
    wanted = np.divide(right, share, out=np.zeros_like(right), where=share > 0)
    missed = (weights / weights.sum(axis=1, keepdims=True) - wanted) / TEMPERATURE
    pull = np.matmul(missed[:, None, :].astype(np.float32), candidates)[:, 0]
    pull = (pull - (pull * unit).sum(axis=1, keepdims=True) * unit) / length
    return np.asarray(pull.T @ asked / len(chosen), dtype=np.float32)
