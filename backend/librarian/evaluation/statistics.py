"""How sure a difference is: bootstrap intervals of a mean, and the paired randomisation test.

Both draw with a fixed seed, so that the same figures give the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SEED = 20260101
ROUNDS = 10_000
CONFIDENCE = 0.95  #: of an interval


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron 1979). No values give (0, 0)."""
    if not values:
        return 0.0, 0.0
    sample = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(SEED).integers(0, len(sample), size=(ROUNDS, len(sample)))
    low, high = np.quantile(sample[drawn].mean(axis=1), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def randomisation(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p of the paired randomisation test: how often swapping systems at random gives as large a difference.

    Fisher 1935; recommended for retrieval by Smucker, Allan and Carterette, CIKM 2007. The observed arrangement counts
    as one of the rounds, so p is never 0.

    >>> randomisation([0.5, 0.5], [0.5, 0.5])
    1.0
    """
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not len(differences):
        return 1.0
    signs = np.random.default_rng(SEED).choice((-1.0, 1.0), size=(ROUNDS, len(differences)))
    extreme = np.abs((signs * differences).sum(axis=1)) >= abs(differences.sum()) - 1e-12
    return float((1 + extreme.sum()) / (1 + ROUNDS))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of values lies, interpolated; 0 without values.

    >>> percentile([1.0, 2.0, 3.0], 0.5)
    2.0
    """
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if values else 0.0
