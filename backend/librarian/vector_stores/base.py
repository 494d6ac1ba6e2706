"""What a vector store is, and what all of them do with batches, questions and filters."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import Unavailable
from ..files import owned_folder
from ..models import WINDOWS_PER_CHUNK, Ids, Selection, Vector, Vectors
from ..storage.columns import CODED

FILTERED = (*CODED, "tags", "modified")  #: what filters name of a payload


Payload: TypeAlias = Mapping[str, object]


class Hnsw(NamedTuple):
    """How a graph over vectors is built and searched, by HNSW's own names."""

    M: int = 16  #: neighbours per node
    construction_ef: int = 200
    search_ef: int = 100


class VectorStore(Protocol):
    """Windows' vectors of one model, by window id (chunk id × 64 + ordinal). A projection: it can be rebuilt.

    Stores say how they keep checked batches (`_put`, `_drop`) and what lies near a question (`_near`).
    """

    name: str
    dimension: int

    def upsert(self, ids: Ids, vectors: Vectors, payloads: Sequence[Payload] | None = None) -> None:
        """Store or replace; shapes (n,) and (n, dimension), scaled to unit length (zero rows stay zero), the last of
        equal ids winning.

        `payloads`, one for each, are what a store that filters by itself filters on. Raises `ValueError` where shapes
        don't fit or a vector holds a NaN; then nothing of the batch is stored."""
        ids, vectors = np.asarray(ids, dtype=np.int64), np.asarray(vectors, dtype=np.float32)
        if not (ids.size or vectors.size):
            return
        if ids.ndim != 1 or vectors.shape != (ids.size, self.dimension):
            raise ValueError(
                f"{ids.size} ids need vectors of shape ({ids.size}, {self.dimension}), not {vectors.shape}."
            )
        if not np.isfinite(vectors).all():  # such rows would be found by every question
            raise ValueError("A vector holds a NaN or an infinity; nothing of the batch was stored.")
        given = dict(zip(ids.tolist(), payloads or repeat({}), strict=bool(payloads)))
        unique, from_end = np.unique(ids[::-1], return_index=True)
        self._put(unique, unit(vectors[ids.size - 1 - from_end]), [given[number] for number in unique.tolist()])

    def delete(self, ids: Ids) -> None:
        """Drop these windows; unknown ids are left aside."""
        self._drop(np.unique(np.asarray(ids, dtype=np.int64)))

    def search(self, vector: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        """Window ids and cosines, best first, of chunks that pass; ties by id. Fewer where fewer pass.

        `vector` has shape (dimension,); both arrays have shape (at most `limit`,). Raises `ValueError` for another
        shape or a NaN."""
        question = checked_question(vector, self.dimension)
        if limit < 1 or (selection.mask is not None and not selection.mask.any()):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        ids, cosines = self._near(question, limit, selection)
        keep = passes(selection, ids)
        ids, cosines = ids[keep], cosines[keep]
        order = np.lexsort((ids, -cosines))[:limit]
        return ids[order], np.asarray(cosines[order], dtype=np.float32)

    def _put(self, ids: Ids, vectors: Vectors, payloads: Sequence[Payload]) -> None:
        """Store rows, replacing those of equal ids; ids are ascending, rows of unit length."""

    def _drop(self, ids: Ids) -> None:
        """Delete rows; ids are ascending, and may be unknown."""

    def _near(self, question: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        """Ids and cosines, in any order, of at least the `limit` best that pass, and of others."""

    def count(self) -> int:
        """How many windows are stored."""

    def ids(self) -> Ids:
        """Every stored id, ascending, for reconciling."""

    def clear(self) -> None:
        """Drop everything, at once."""

    def close(self) -> None:
        """Let go of files and connections; what was stored stays."""


def claim(folder: Path, kind: owned_folder.Kind) -> None:
    """Make a store's folder, or take the one that is there. Raises `Unavailable` where that isn't possible, and
    `SetupError` where it is somebody else's."""
    try:
        owned_folder.claim(folder, kind)
    except OSError as error:
        raise Unavailable(f"The {kind.name} folder {folder} can't be made: {error}.", hint=kind.hint) from error


def checked_question(vector: Vector, dimension: int) -> Vector:
    """A question's vector as unit-length float32. Raises `ValueError` on another shape or a NaN."""
    question = np.asarray(vector, dtype=np.float32)
    length = np.sqrt(np.einsum("i,i->", question, question)) if question.shape == (dimension,) else np.nan
    if not np.isfinite(length):
        raise ValueError(f"The question's vector must hold {dimension} finite numbers; its shape is {question.shape}.")
    return np.asarray(question / length if length > 0 else question.copy(), dtype=np.float32)


def unit(rows: Vectors) -> Vectors:
    """Rows scaled to length 1; a zero row stays zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]  # without a copy of all, unlike np.linalg.norm
    return np.asarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)


def passes(selection: Selection, ids: Ids) -> npt.NDArray[np.bool_]:
    """Which windows belong to a chunk that the selection lets through; chunks beyond its mask are not."""
    mask = selection.mask
    if mask is None:
        return np.ones(ids.size, dtype=np.bool_)
    chunks = ids // WINDOWS_PER_CHUNK
    inside = (chunks >= 0) & (chunks < mask.size)
    out = np.zeros(ids.size, dtype=np.bool_)
    out[inside] = mask[chunks[inside]]
    return out


class StoreSet:
    """Stores by a model's fingerprint, made when first asked for.

    `make` gives a model's stores, the preferred one first; beyond `exact_up_to` windows the second answers, where there
    is one.
    """

    def __init__(self, make: Callable[[str], Iterable[VectorStore]], *, exact_up_to: int) -> None:
        self._make = make
        self._exact_up_to = exact_up_to
        self._made: dict[str, tuple[VectorStore, ...]] = {}
        self._lock = threading.Lock()

    def __call__(self, fingerprint: str) -> Sequence[VectorStore]:
        """All stores that are kept in step for a model."""
        with self._lock:
            if fingerprint not in self._made:
                self._made[fingerprint] = tuple(self._make(fingerprint))
            return self._made[fingerprint]

    def answering(self, fingerprint: str) -> VectorStore | None:
        """The store that answers questions; None before any model has been at work."""
        if not fingerprint:
            return None
        stores = self(fingerprint)
        return stores[1] if len(stores) > 1 and stores[0].count() > self._exact_up_to else stores[0]

    def close(self) -> None:
        """Close every store."""
        for stores in self._made.values():
            for store in stores:
                store.close()
