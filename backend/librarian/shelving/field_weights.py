"""How much words count by where they stand, in either keyword index."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """How much a term counts in each field of the keyword index.

    Measured as nDCG@10 of pages ranked by their best chunk, on 167 questions over the Ray documentation, 50 over the
    Kubernetes one and 52 over CACM abstracts, by `benchmarks/ablations.py`: body alone 0.430, 0.690, 0.512; these
    weights 0.529, 0.737, 0.512. Title 1 brings 0.038, 0.047 and 0.018 less than these, identifiers 2 brings 0.017,
    0.051 and 0.008 less. Scoring pairs of adjacent terms as phrases too moved the three by +0.02, −0.02 and +0.01 and
    doubled the time, so none are scored.
    """

    body: float = 1.0
    title: float = 0.3
    headings: float = 0.5
    path: float = 0.2
    identifiers: float = 0.5
