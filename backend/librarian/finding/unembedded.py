"""What has no vectors yet, weighed fairly beside what has.

While a library is being embedded the semantic leg knows a part of it. What it can't know would lose to all that it
knows, whatever the words say, and hybrid would fall far below the keyword mode (`benchmarks/half_embedded.py`). So a
document without vectors gets the semantic features that documents with its keyword features have in the same answer,
and a passage without them in a document that has some the cosine that passages with its words have: ridge regression
over the candidates that have both (regression imputation; Little and Rubin, *Statistical Analysis with Missing Data*,
chapter 4).

Of few vectors the nearest may be far from the question, and stretched over them the best of what doesn't answer would
count like an answer. So the fewer of the passages that the words lead to have vectors, the more the words say instead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .features import Documents
from .pool import Floats, Mask, Pool, spoken

_BY_WORDS = ("keyword", "keyword_place", "body")
_BY_MEANING = ("semantic", "semantic_further", "semantic_place", "both")
#: Stretched features, which rest on the best and the worst that is known, and those by words that stand in for them.
_STRETCHED = ("semantic_scaled", "hyde_scaled", "both_scaled")
_INSTEAD = ("keyword_scaled", "body_scaled")
#: Added to the diagonal of the normal equations. Features lie in 0–1: with some fifty candidates the fit is hardly held
#: back, with a handful it stays near their mean.
_RIDGE = 0.05
#: Candidates with both kinds of features that a slope may be drawn from; with fewer their mean is taken.
_ENOUGH = 3
#: Of the passages that the words lead to: where so many have vectors, what these say counts in full.
TRUSTED = 0.4


def with_siblings(pool: Pool) -> Pool:
    """The pool with expected semantic scores for passages without vectors in documents of which others have theirs.

    Unchanged where there is no such passage. Cosines, which are shown, stay as they are.
    """
    passages = pool.passages
    known = ~np.isnan(passages.semantic)
    if known.all() or not known.any():
        return pool
    lacking = ~known & np.isin(passages.doc_ids, passages.doc_ids[known])
    if not lacking.any():
        return pool
    bm25 = spoken(passages.bm25)
    words = np.stack([bm25, passages.fields.get("body", bm25)], axis=1)
    semantic = passages.semantic.copy()
    guesses = _fitted(words, semantic[:, None], _telling(known, bm25), lacking)
    semantic[lacking] = guesses[:, 0]
    return replace(pool, passages=replace(passages, semantic=semantic))


def expected(found: Documents, pool: Pool) -> Documents:
    """`found` with expected semantic features, named in `assumed`, for the documents that have no vector yet.

    `found` may hold what `with_siblings` made of the pool, `pool` is what is known. Unchanged where every candidate has
    its vectors, where the semantic leg didn't answer, or where none has any.
    """
    passages = pool.passages
    known_passages = ~np.isnan(passages.semantic)
    if pool.semantic.status != "ok" or known_passages.all() or not known_passages.any():
        return found
    embedded = np.isin(found.ids, passages.doc_ids[known_passages])
    by_meaning = (*_BY_MEANING, "hyde") if pool.hyde.ids else _BY_MEANING
    values = dict(found.values)
    if not embedded.all():
        words, meaning = (np.stack([values[name] for name in names], axis=1) for names in (_BY_WORDS, by_meaning))
        guesses = _fitted(words, meaning, _telling(embedded, values["keyword"]), ~embedded)
        for name, guess in zip(by_meaning, guesses.T, strict=True):
            values[name] = values[name].copy()
            values[name][~embedded] = guess
    best = np.zeros(len(found))
    owner = np.searchsorted(found.ids, passages.doc_ids[known_passages])
    np.maximum.at(best, owner, passages.semantic[known_passages])
    lacking = values["semantic"] > best
    return replace(found, values=values, assumed=frozenset(by_meaning), lacking=lacking | ~embedded)


def held_back(found: Documents, pool: Pool) -> Documents:
    """`found`, scaled, with what vectors say mixed with what words say while too few vectors are there (`TRUSTED`)."""
    by_words, _ = pool.passages.rows_of(pool.keyword)
    if pool.semantic.status != "ok" or not len(by_words):
        return found
    trust = float(np.mean(~np.isnan(pool.passages.semantic[by_words]))) / TRUSTED
    if trust >= 1:
        return found
    instead = np.mean([found.values[name] for name in _INSTEAD], axis=0)
    mixed = {name: trust * found.values[name] + (1 - trust) * instead for name in _STRETCHED}
    everywhere = np.ones(len(found), dtype=np.bool_)
    return replace(found, values={**found.values, **mixed}, assumed=found.assumed.union(_STRETCHED), lacking=everywhere)


def _telling(known: Mask, by_words: Floats) -> Mask:
    """Of the rows that are known those that the words speak of, where they are enough."""
    matched = known & (by_words > 0)
    return matched if np.count_nonzero(matched) >= _ENOUGH else known


def _fitted(words: Floats, meaning: Floats, known: Mask, lacking: Mask) -> Floats:
    """What the lacking rows of `meaning` are expected to hold, by a fit over the known ones; within what these hold.

    `words` and `meaning` have a row per candidate, the result one per lacking candidate.
    """
    told, middle, level = meaning[known], words[known].mean(axis=0), meaning[known].mean(axis=0)
    centred = words[known] - middle
    slopes = np.linalg.solve(centred.T @ centred + _RIDGE * np.eye(words.shape[1]), centred.T @ told)
    return np.asarray(np.clip((words[lacking] - middle) @ slopes + level, 0.0, told.max(axis=0)))
