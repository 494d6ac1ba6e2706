"""A question's `-word` and `"quoted words"`, held against passages that only their meaning brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from librarian.vocabulary.protocols import Analyzer, CatalogReader
from librarian.vocabulary.types import AnalyzedQuery

from .pool import Pool


def without_excluded(pool: Pool, query: AnalyzedQuery, analyzer: Analyzer, reader: CatalogReader) -> Pool:
    """The pool without passages that hold an excluded word or lack a quoted one (the keyword leg minds its own)."""
    excluded = set(query.excluded)
    if not (excluded or query.phrases):
        return pool
    passages = pool.passages
    kept = pool.places(pool.keyword) > 0
    suspects = np.flatnonzero(~kept).tolist()
    texts = reader.texts(passages.chunk_ids[suspects].tolist())
    places = analyzer.sieve(excluded.union(*query.phrases))
    for row, chunk_id in zip(suspects, passages.chunk_ids[suspects].tolist(), strict=True):
        text = texts.get(chunk_id, "")
        pieces = [text[start:end] for start, end in places(text, 0, len(text))]
        said = set(analyzer.tokens(" ".join(pieces)))
        kept[row] = excluded.isdisjoint(said) and all(
            said.issuperset(phrase) and _contains(analyzer.tokens(text), phrase) for phrase in query.phrases
        )
    return replace(pool, passages=passages.only(kept))


def _contains(tokens: Sequence[str], phrase: Sequence[str]) -> bool:
    width = len(phrase)
    return any(tuple(tokens[i : i + width]) == tuple(phrase) for i in range(len(tokens) - width + 1))
