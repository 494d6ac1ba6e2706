"""How vectors are kept, whichever archive keeps them: rows of float16, little-endian, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from librarian.vocabulary.types import HalfVectors, Vector

from .batch import unit


def halves(model: str, vectors: Mapping[str, Vector]) -> HalfVectors:
    """Vectors of one model as they are kept, shape (vectors, dimension), in their order; there is at least one.

    Raises `ValueError` on a NaN or another shape.
    """
    rows = np.stack([np.asarray(vector, dtype=np.float32) for vector in vectors.values()])
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"A vector of model {model!r} holds a NaN or isn't one-dimensional; it wasn't kept.")
    return rows.astype("<f2")


def kept_rows(blobs: Sequence[bytes]) -> HalfVectors:
    """Stored rows as they are kept, shape (rows, dimension); of unit length but for their rounding."""
    return np.frombuffer(b"".join(blobs), dtype="<f2").reshape(len(blobs), -1)


def by_hash(found: Mapping[str, bytes], wanted: Iterable[str]) -> dict[str, Vector]:
    """Stored rows as unit-length float32, those of the `wanted` hashes that were found, in the order of these."""
    if not found:
        return {}
    vectors = dict(zip(found, unit(kept_rows(list(found.values())).astype(np.float32)), strict=True))
    return {digest: vectors[digest] for digest in wanted if digest in vectors}
