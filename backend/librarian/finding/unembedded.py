"""Documents whose vectors aren't made yet, weighed fairly beside those that have theirs.

While a library is being embedded the semantic leg knows a part of it. A document that it can't know would lose to
every one that it knows, whatever its words say, and hybrid would fall far below the keyword mode
(`benchmarks/half_embedded.py`). So such a document gets the semantic features that documents with its keyword features
have in the same answer: ridge regression over the candidates that have both (regression imputation; Little and Rubin,
*Statistical Analysis with Missing Data*, chapter 4).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .features import Documents
from .pool import Floats, Mask, Pool

_BY_WORDS = ("keyword", "keyword_place", "body")
_BY_MEANING = ("semantic", "semantic_further", "semantic_place")
#: Added to the diagonal of the normal equations. Features lie in 0–1: with some fifty candidates the fit is hardly held
#: back, with a handful it stays near their mean.
_RIDGE = 0.05
#: Candidates with both kinds of features that a slope may be drawn from; with fewer their mean is taken.
_ENOUGH = 3


def expected(found: Documents, pool: Pool) -> Documents:
    """`found` with expected semantic features, named in `assumed`, for the documents that have no vector yet.

    Unchanged where every candidate has its vectors, where the semantic leg didn't answer, or where none has any.
    """
    passages = pool.passages
    known_passages = ~np.isnan(passages.semantic)
    if pool.semantic.status != "ok" or known_passages.all():
        return found
    embedded = np.isin(found.ids, passages.doc_ids[known_passages])
    if embedded.all() or not embedded.any():
        return found
    matched = embedded & (found.values["keyword"] > 0)
    known = matched if np.count_nonzero(matched) >= _ENOUGH else embedded
    words, meaning = _rows(found, known, _BY_WORDS), _rows(found, known, _BY_MEANING)
    middle, level = words.mean(axis=0), meaning.mean(axis=0)
    centred = words - middle
    slopes = np.linalg.solve(centred.T @ centred + _RIDGE * np.eye(len(_BY_WORDS)), centred.T @ (meaning - level))
    guesses = np.clip((_rows(found, ~embedded, _BY_WORDS) - middle) @ slopes + level, 0.0, meaning.max(axis=0))
    values = dict(found.values)
    for name, guess in zip(_BY_MEANING, guesses.T, strict=True):
        values[name] = values[name].copy()
        values[name][~embedded] = guess
    return replace(found, values=values, assumed=frozenset(_BY_MEANING), lacking=~embedded)


def _rows(found: Documents, chosen: Mask, names: tuple[str, ...]) -> Floats:
    return np.stack([found.values[name][chosen] for name in names], axis=1)
