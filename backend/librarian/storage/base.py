"""The types of storage that other packages use."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..models import AnalyzedQuery, Document, Ids, KeywordEntry, Ranking, Selection, Vector
from .catalog import Catalog
from .columns import Columns
from .embedding_cache import EmbeddingCache
from .queries import CatalogReader

Scores = npt.NDArray[np.float64]

__all__ = ["Catalog", "CatalogReader", "Columns", "EmbeddingCache", "KeywordIndex"]


class KeywordIndex(Protocol):
    """Postings: which chunks hold which terms."""

    #: Why its files can't be read, where that was met since it was opened; opening it anew empties it.
    damage: str = ""

    def put(self, items: Iterable[tuple[int, int, Document, KeywordEntry]]) -> None:
        """(chunk id, document id, its document, its entry); visible after `commit`. Adds: what an id held before must
        be deleted first (in the same commit is fine)."""

    def delete(self, doc_ids: Iterable[int]) -> None:
        """Drop every entry of these documents; visible after `commit`."""

    def delete_chunks(self, chunk_ids: Iterable[int]) -> None:
        """Drop single entries of documents that stay; visible after `commit`."""

    def commit(self, generation: int) -> None:
        """Show what was put and deleted to the next search, under this generation of the catalog."""

    @property
    def generation(self) -> int:
        """Of the last commit; 0 where there was none."""

    def search(self, query: AnalyzedQuery, selection: Selection, limit: int) -> Ranking:
        """Best chunks by BM25 over weighted fields; `scores` are BM25 over the most this query could reach."""

    def body_scores(self, query: AnalyzedQuery, selection: Selection, limit: int) -> tuple[Ids, Scores]:
        """The best chunks by the text alone, by rising id, with their scores on the same scale; none where the index
        doesn't score fields by themselves."""
        return np.empty(0, dtype=np.int64), np.empty(0)

    def scores(self, query: AnalyzedQuery, chunk_ids: Ids) -> Vector:
        """What `search` gives as `scores`, of these chunks in their order, whatever the query demands of them; 0 where
        nothing matches."""

    def admitted(self, query: AnalyzedQuery, chunk_ids: Ids) -> Ids:
        """Those of these chunks that hold all quoted phrases of the query and nothing that it excludes, by id."""

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Those of these terms that some chunk's body, title, headings or path holds, each with about how many do: for
        telling which are frequent. Deleted ones may count a while; counts may end at some hundreds."""

    def terms(self, prefix: str, limit: int, *, identifiers: bool = False) -> list[str]:
        """Indexed terms of bodies, or identifiers, that start so, most frequent first."""

    def count(self) -> int:
        """How many chunks have an entry."""

    def entry_counts(self) -> dict[int, int]:
        """Document id → how many entries it has, for reconciling."""

    def clear(self) -> None:
        """Drop everything, at once."""

    def rollback(self) -> None:
        """Forget what was put and deleted since the last commit."""

    def close(self) -> None:
        """Let go of the files; what wasn't committed is lost."""
