"""A question's `-word`, `-"words"` and `"quoted words"`, held against passages that only their meaning brought."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from librarian.vocabulary.protocols import LexicalIndex
from librarian.vocabulary.types import AnalyzedQuery

from .pool import Pool


def without_excluded(pool: Pool, query: AnalyzedQuery, lexical: LexicalIndex, degraded: list[str]) -> Pool:
    """The pool without passages that hold an excluded word or lack a quoted one (the keyword leg minds its own).

    The keyword index judges them, so that each is read by its own language's stems, with its title and headings.
    Where that leg failed nothing can be judged, and `degraded` is told.
    """
    if not (query.excluded or query.excluded_phrases or query.phrases):
        return pool
    if pool.keyword.status == "failed":
        degraded.append("keyword: neither quoted nor excluded words could be minded.")
        return pool
    passages = pool.passages
    kept = pool.places(pool.keyword) > 0
    kept[~kept] = np.isin(passages.chunk_ids[~kept], lexical.admitted(query, passages.chunk_ids[~kept]))
    return replace(pool, passages=passages.only(kept))
