"""A map of questions toward what answers them.

* its gradient is that of its loss, by finite differences
* what is learned from some questions brings others, which were turned alike, back to their passages
* nothing to learn from, or nothing that a map could mend, changes nothing
* the same examples give the same map; candidates that aren't there count for nothing
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from librarian.models import Vectors
from librarian.tuning import query_adapter
from librarian.tuning.query_adapter import TEMPERATURE, Examples
from librarian.tuning.query_adapter import train_adapter as learned

DIMENSION = 24


def unit(rows: npt.NDArray[np.float64]) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def turned(rows: Vectors, share: float) -> Vectors:
    """Rows with a share of another direction, which depends on the row alone."""
    mixing = np.linalg.qr(np.random.default_rng(5).standard_normal((DIMENSION, DIMENSION)))[0]
    return unit(rows + share * rows @ mixing)


def examples(count: int, *, share: float = 1.0, seed: int = 0, others: int = 12) -> tuple[Examples, Vectors]:
    """Each question is its passage, turned; and all passages."""
    chance = np.random.default_rng(seed)
    rows = unit(chance.standard_normal((count, DIMENSION)))
    among = np.array([[row, *chance.choice(count, others, replace=False)] for row in range(count)], dtype=np.int64)
    among[:, 1:][among[:, 1:] == among[:, :1]] = -1
    answers = np.zeros(among.shape, dtype=np.bool_)
    answers[:, 0] = True
    return Examples(turned(rows, share), rows.astype(np.float16), among, answers), rows


def reciprocal_rank(questions: Vectors, rows: Vectors) -> float:
    cosines = questions @ rows.T
    return float(np.mean(1 / (1 + (cosines > np.diag(cosines)[:, None]).sum(axis=1))))


def loss(given: Examples, matrix: Vectors) -> float:
    """As the module's page has it, in plain steps."""
    total = 0.0
    for question, among, answers in zip(given.questions, given.among, given.answers, strict=True):
        asked = question.astype(np.float64) + matrix.astype(np.float64) @ question
        asked /= np.linalg.norm(asked)
        here = among >= 0
        weights = np.exp(given.rows[among[here]].astype(np.float64) @ asked / TEMPERATURE)
        total -= float(np.log(weights[answers[here]].sum() / weights.sum()))
    return total / len(given)


def test_the_gradient_is_that_of_the_loss() -> None:
    given, _ = examples(30)
    given.answers[:, 1] = given.among[:, 1] >= 0  # some have two answers
    matrix = np.random.default_rng(1).standard_normal((DIMENSION, DIMENSION)).astype(np.float32) / 20
    slope = query_adapter._slope(given, np.arange(len(given)), matrix)
    for row, column in ((0, 0), (3, 17), (20, 5)):
        step = np.zeros_like(matrix)
        step[row, column] = 1e-3
        expected = (loss(given, matrix + step) - loss(given, matrix - step)) / 2e-3
        assert abs(slope[row, column] - expected) < 0.02 * max(1.0, abs(expected))


def test_questions_that_nothing_was_learned_from_are_brought_to_their_passages() -> None:
    given, _ = examples(600, share=1.5)
    rows = unit(np.random.default_rng(9).standard_normal((400, DIMENSION)))
    asked = turned(rows, 1.5)
    matrix = learned(given)
    mapped = unit((asked + asked @ matrix.T).astype(np.float64))
    assert reciprocal_rank(mapped, rows) > reciprocal_rank(asked, rows) + 0.05


def test_nothing_to_learn_changes_nothing() -> None:
    none = Examples(
        np.empty((0, DIMENSION), np.float32),
        np.empty((1, DIMENSION), np.float16),
        np.empty((0, 3), np.int64),
        np.empty((0, 3), np.bool_),
    )
    assert not learned(none).any()
    given, _ = examples(300, share=0.0)  # each question is its passage's own vector
    assert np.abs(learned(given)).max() < 0.02


def test_the_same_examples_give_the_same_map_and_empty_places_count_for_nothing() -> None:
    given, _ = examples(200)
    wider = Examples(
        given.questions,
        given.rows,
        np.concatenate([given.among, np.full((len(given), 3), -1)], axis=1),
        np.concatenate([given.answers, np.zeros((len(given), 3), np.bool_)], axis=1),
    )
    assert (learned(given) == learned(given)).all()
    assert np.allclose(learned(given), learned(wider), atol=2e-4)
