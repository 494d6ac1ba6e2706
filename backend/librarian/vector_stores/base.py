"""Interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from ..models import HalfVectors, Ids, Selection, Vector, Vectors


class VectorStore(Protocol):
    """Windows' vectors of one model, by window id (chunk id × 64 + ordinal). A projection: it can be rebuilt."""

    name: str

    def upsert(self, ids: Ids, vectors: Vectors, payloads: Sequence[Mapping[str, object]] | None = None) -> None:
        """Store or replace; shapes (n,) and (n, dimension), scaled to unit length, the last of equal ids winning.

        `payloads`, one for each, are what a store that filters by itself filters on. Raises `ValueError` where shapes
        don't fit or a vector holds a NaN; then nothing of the batch is stored."""

    def delete(self, ids: Ids) -> None:
        """Drop these windows; unknown ids are left aside."""

    def search(self, vector: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        """Window ids and cosines, best first, of chunks that pass; ties by id. Fewer where fewer pass.

        `vector` has shape (dimension,); both arrays have shape (at most `limit`,). Raises `ValueError` for another
        shape or a NaN."""

    def count(self) -> int:
        """How many windows are stored."""

    def ids(self) -> Ids:
        """Every stored id, ascending, for reconciling."""

    def clear(self) -> None:
        """Drop everything, at once."""

    def close(self) -> None:
        """Let go of files and connections; what was stored stays."""


@runtime_checkable
class BulkStore(VectorStore, Protocol):
    """A store that can be filled at once while it is empty, much faster than by `upsert`."""

    def load(self, batches: Iterable[tuple[Ids, Vectors | HalfVectors, Sequence[Mapping[str, object]]]]) -> int:
        """(ids, vectors, payloads), no id twice; returns the rows. Raises `ValueError` where the store isn't empty."""
