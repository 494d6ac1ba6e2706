"""What callers hand to a store, checked and put in order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..models import WINDOWS_PER_CHUNK, HalfVectors, Ids, Selection, Vector, Vectors


def checked_batch(ids: Ids, vectors: Vectors, dimension: int) -> tuple[Ids, Vectors]:
    """The batch by ascending id, the last of equal ids winning, rows scaled to unit length (zero rows stay zero).

    Raises `ValueError` where shapes don't fit or a vector holds a NaN: such rows would be found by every question.
    """
    ids = np.asarray(ids, dtype=np.int64)
    vectors = np.asarray(vectors, dtype=np.float32)
    if vectors.size == 0 and ids.size == 0:
        return ids.reshape(0), vectors.reshape(0, dimension)
    if ids.ndim != 1 or vectors.shape != (ids.size, dimension):
        raise ValueError(f"{ids.size} ids need vectors of shape ({ids.size}, {dimension}), not {vectors.shape}.")
    if not np.isfinite(vectors).all():
        raise ValueError("A vector holds a NaN or an infinity; nothing of the batch was stored.")
    unique, from_end = np.unique(ids[::-1], return_index=True)
    return unique, unit(vectors[ids.size - 1 - from_end])


def checked_question(vector: Vector, dimension: int) -> Vector:
    """A question's vector as unit-length float32. Raises `ValueError` on another shape or a NaN."""
    question = np.asarray(vector, dtype=np.float32)
    length = np.sqrt(np.einsum("i,i->", question, question)) if question.shape == (dimension,) else np.nan
    if not np.isfinite(length):
        raise ValueError(f"The question's vector must hold {dimension} finite numbers; its shape is {question.shape}.")
    return np.asarray(question / length if length > 0 else question.copy(), dtype=np.float32)


def unit(rows: Vectors) -> Vectors:
    """Rows scaled to length 1; a zero row stays zero."""
    norms = lengths(rows)
    return np.asarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)


def lengths(rows: Vectors) -> Vectors:
    """Of each row, shape (rows, 1); without a copy of all rows, as `np.linalg.norm` makes one."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis], dtype=np.float32)


def widen(rows: HalfVectors, into: Vectors) -> None:
    """Write finite float16 rows as float32, each number as it is.

    A float16's bits, moved to where a float32 has its exponent and mantissa, are the number times 2⁻¹¹². numpy's own
    conversion takes one number at a time and five times as long.
    """
    bits = rows.view(np.int16).astype(np.int32)  # three copies of the sign in front of the exponent, masked below
    bits <<= 13
    bits &= np.int32(-0x7000_2000)
    np.multiply(bits.view(np.float32), np.float32(2.0**112), out=into)


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


def best_first(ids: Ids, cosines: Vector, limit: int) -> tuple[Ids, Vector]:
    """The `limit` best, ties by ascending id."""
    order = np.lexsort((ids, -cosines))[: max(limit, 0)]
    return ids[order], np.asarray(cosines[order], dtype=np.float32)
