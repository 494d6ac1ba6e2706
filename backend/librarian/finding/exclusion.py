"""A question's `-word` and `"quoted words"`, held against passages that only their meaning brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from librarian.vocabulary.protocols import Analyzer, CatalogReader
from librarian.vocabulary.types import AnalyzedQuery

from .pool import Pool


def without_excluded(pool: Pool, query: AnalyzedQuery, analyzer: Analyzer, reader: CatalogReader) -> Pool:
    """The pool without passages that hold an excluded word or lack a quoted one (the keyword leg minds its own)."""
    excluded = set(query.excluded)
    if not (excluded or query.phrases):
        return pool
    by_words = set(pool.keyword.ids)
    suspects = [chunk for chunk in pool.passages if chunk not in by_words]
    stored = reader.chunks(suspects)
    passages = dict(pool.passages)
    for chunk in suspects:
        tokens = analyzer.tokens(stored[chunk].chunk.text if chunk in stored else "")
        if excluded.intersection(tokens) or not all(_contains(tokens, phrase) for phrase in query.phrases):
            del passages[chunk]
    return replace(pool, passages=passages)


def _contains(tokens: Sequence[str], phrase: Sequence[str]) -> bool:
    width = len(phrase)
    return any(tuple(tokens[i : i + width]) == tuple(phrase) for i in range(len(tokens) - width + 1))
