"""Documents whose vectors aren't made yet, weighed fairly beside those that have theirs.

While a library is being embedded the semantic leg knows a part of it. A document that it can't know would lose to
every one that it knows, whatever its words say, and hybrid would fall far below the keyword mode
(`benchmarks/half_embedded.py`). So such a document gets the semantic features that documents with its keyword features
have in the same answer: ridge regression over the candidates that have both (regression imputation; Little and Rubin,
*Statistical Analysis with Missing Data*, chapter 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .features import DocumentEvidence
from .pool import Pool

_BY_WORDS = ("keyword", "keyword_place", "body")
_BY_MEANING = ("semantic", "semantic_further", "semantic_place")
#: Added to the diagonal of the normal equations. Features lie in 0–1: with some fifty candidates the fit is hardly held
#: back, with a handful it stays near their mean.
_RIDGE = 0.05
#: Candidates with both kinds of features that a slope may be drawn from; with fewer their mean is taken.
_ENOUGH = 3


def expected(found: Mapping[int, DocumentEvidence], pool: Pool) -> dict[int, DocumentEvidence]:
    """`found` with expected semantic features, named in `assumed`, for the documents that have no vector yet.

    Unchanged where every candidate has its vectors, where the semantic leg didn't answer, or where none has any.
    """
    embedded = {passage.doc_id for passage in pool.passages.values() if passage.semantic is not None}
    lacking = [doc for doc in found if doc not in embedded]
    if pool.semantic.status != "ok" or not lacking or not embedded:
        return dict(found)
    matched = [doc for doc in found if doc in embedded and found[doc].values["keyword"] > 0]
    known = matched if len(matched) >= _ENOUGH else [doc for doc in found if doc in embedded]
    words, meaning = _rows(found, known, _BY_WORDS), _rows(found, known, _BY_MEANING)
    middle, level = words.mean(axis=0), meaning.mean(axis=0)
    centred = words - middle
    slopes = np.linalg.solve(centred.T @ centred + _RIDGE * np.eye(len(_BY_WORDS)), centred.T @ (meaning - level))
    guesses = np.clip((_rows(found, lacking, _BY_WORDS) - middle) @ slopes + level, 0.0, meaning.max(axis=0))
    filled = dict(found)
    for doc, guess in zip(lacking, guesses.tolist(), strict=True):
        values = {**found[doc].values, **dict(zip(_BY_MEANING, guess, strict=True))}
        filled[doc] = replace(found[doc], values=values, assumed=frozenset(_BY_MEANING))
    return filled


def _rows(found: Mapping[int, DocumentEvidence], docs: list[int], names: tuple[str, ...]) -> np.ndarray:
    return np.array([[found[doc].values[name] for name in names] for doc in docs], dtype=np.float64)
