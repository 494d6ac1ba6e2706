"""Every window compared with the question: an int8 scan in memory, then float rescoring of the best.

Rows lie in blocks. A full block holds its rows twice: as int8 inside an onnxruntime session, which scans them, and as
float16, from which the best are scored again: in memory, or in an unnamed file that is mapped, which leaves 1 byte a
number in memory (19 MB for 50,000 × 384). New rows go to a tail in float32 until it fills a block. A replaced or
deleted row stays where it is and is masked; when a quarter of all rows is dead, the living are packed anew.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..models import WINDOWS_PER_CHUNK, HalfVectors, Ids, Selection, Vector, Vectors
from .base import Payload, VectorStore, checked_question, passes

ZERO_POINT: Final = 64  #: added to the question's int parts, so that they are unsigned

_FLOAT: Final = 1
_UINT8: Final = 2
_INT8: Final = 3


def scan_graph(count: int, dimension: int) -> bytes:
    """A serialized model: `question` (2, dimension) uint8 and `worth` (1, 2) float32 → `scores` (1, count) float32.

    A row's score is its scale times the sum of its products with both parts of the question, each times its worth.
    The constants `rows`, int8 of shape (dimension, count), and `scales`, float32 of shape (1, count), are to be given
    as external initializers. The numbers are those of ONNX's protocol buffers.
    """
    cast_to = ((1, "to"), (3, _FLOAT), (20, 2))
    graph = _message(
        (1, _node("MatMulInteger", ("question", "rows", "zero"), "products")),
        (1, _node("Cast", ("products",), "parts", (5, _message(*cast_to)))),
        (1, _node("MatMul", ("worth", "parts"), "sums")),
        (1, _node("Mul", ("sums", "scales"), "scores")),
        (2, "scan"),
        (5, _external("rows", _INT8, (dimension, count), dimension * count)),
        (5, _external("scales", _FLOAT, (1, count), 4 * count)),
        (5, _message((2, _UINT8), (8, "zero"), (9, bytes([ZERO_POINT])))),
        (11, _value("question", _UINT8, (2, dimension))),
        (11, _value("worth", _FLOAT, (1, 2))),
        (12, _value("scores", _FLOAT, (1, count))),
    )
    return _message((1, 8), (7, graph), (8, _message((2, 13))))


def _node(kind: str, inputs: tuple[str, ...], output: str, *attribute: tuple[int, bytes]) -> bytes:
    return _message(*((1, name) for name in inputs), (2, output), (4, kind), *attribute)


def _external(name: str, kind: int, shape: tuple[int, int], length: int) -> bytes:
    """A tensor whose data is handed over in memory."""
    place = {"location": "memory", "offset": "0", "length": str(length)}
    entries = ((13, _message((1, key), (2, value))) for key, value in place.items())
    return _message(*((1, size) for size in shape), (2, kind), (8, name), *entries, (14, 1))


def _value(name: str, kind: int, shape: tuple[int, int]) -> bytes:
    dimensions = _message(*((1, _message((1, size))) for size in shape))
    return _message((1, name), (2, _message((1, _message((1, kind), (2, dimensions))))))


def _message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """A protocol buffer of these fields, each a number and its value."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += _varint(number << 3) + _varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += _varint(number << 3 | 2) + _varint(len(data)) + data
    return out


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


Mask = npt.NDArray[np.bool_]

BLOCK_ROWS: Final = 8192  #: 9 ms to build a session, 0.06 ms to scan it
_SHARED: Final = 6  #: blocks from which on two threads scan: half a millisecond for one
RESCORED: Final = 200  #: candidates scored again, at least
#: Of the scan's errors, on either side: beyond that a row isn't scored again though it may be among the best. One in
#: 500 million errors of this size, if rounding errors are spread evenly, as they are.
_SIGMAS: Final = 6.0
#: Up to so many passages a filter's windows are looked up one by one; beyond, all rows are held against it.
_FEW: Final = 2000
DEAD_SHARE: Final = 0.25  #: of all rows, before they are packed anew
_QUESTION_LEVELS: Final = 63  #: 7 bits: u8 × s8 pairs then fit 16 bits on CPUs that add them so (AVX2 without VNNI)
_ROW_LEVELS: Final = 127


class _Block:
    """`BLOCK_ROWS` rows that never change."""

    def __init__(self, rows: HalfVectors, folder: Path | None) -> None:
        import onnxruntime

        self._rows = rows
        self._map: mmap.mmap | None = None
        if folder is not None:
            # A file that has no name, and goes with the process. Where there is no space, they stay in memory.
            with suppress(OSError), TemporaryFile(dir=folder) as file:
                file.write(rows.tobytes())
                file.flush()
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self._rows = np.frombuffer(self._map, np.float16).reshape(rows.shape)
        full = rows.astype(np.float32)
        largest = np.maximum(full.max(axis=1), -full.min(axis=1))
        scales = np.where(largest > 0, largest / np.float32(_ROW_LEVELS), np.float32(1))
        full /= scales[:, np.newaxis]
        small = np.ascontiguousarray(np.rint(full, out=full).astype(np.int8).T)
        self.level = float(scales.max())  #: what 1 of the int8 form is worth at most
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        constants = {"rows": small, "scales": scales[np.newaxis]}
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(constant) for constant in constants.values()]
        options.add_external_initializers(list(constants), values)
        self._session = onnxruntime.InferenceSession(
            scan_graph(*rows.shape), options, providers=["CPUExecutionProvider"]
        )

    def take(self, places: Ids) -> HalfVectors:
        """The rows at `places`. Gives the file's pages back, which stay in the system's cache."""
        rows = self._rows[places]
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)
        return rows

    def scan(self, asked: dict[str, npt.NDArray[Any]]) -> Vector:
        """Cosines as far as int8 tells them, shape (rows,)."""
        return np.asarray(self._session.run(None, asked)[0][0])


def _asked(vector: Vector) -> dict[str, npt.NDArray[Any]]:
    """What a scan is given: the question as two 7-bit parts, `ZERO_POINT` added, and what one level of each is worth.

    The second part is what the first lost: one part would add four times the error of the rows' own rounding."""
    parts, worth, rest = [], [], vector
    for _ in range(2):
        largest = np.abs(rest).max()
        scale = np.float32(largest / _QUESTION_LEVELS if largest > 0 else 1)
        levels = np.rint(rest / scale)
        rest = rest - levels * scale
        parts.append(levels + ZERO_POINT)
        worth.append(scale)
    return {"question": np.array(parts, dtype=np.uint8), "worth": np.array([worth], dtype=np.float32)}


@dataclass(frozen=True, slots=True)
class _State:
    """What one search sees. Writers make a new one and leave the arrays of the old one as they are."""

    blocks: tuple[_Block, ...]
    tail: Vectors  #: rows that don't fill a block yet
    row_ids: Ids  #: by row, dead ones included
    alive: Mask  #: by row
    ids: Ids  #: living ones, ascending
    places: Ids  #: the row of each of `ids`


class ExactStore(VectorStore):
    """A `VectorStore` in memory that misses nothing. Searches may run while another thread writes: each sees the rows
    as they were when it began. Vectors are kept to float16 (cosines off by less than 0.001), in files that nobody else
    sees where a folder for them is given; payloads aren't kept.
    """

    name = "exact"

    def __init__(self, dimension: int, folder: Path | None = None) -> None:
        self.dimension = dimension
        self._folder = folder
        self._writing = Lock()
        self._state = self._empty()
        self._second_thread = ThreadPoolExecutor(1, thread_name_prefix="scan")  # starts its thread when first needed

    # -- the protocol ----------------------------------------------------------------------------------------------

    def _put(self, ids: Ids, vectors: Vectors, payloads: Sequence[Payload]) -> None:
        with self._writing:
            self._state = self._tidied(self._appended(_without(self._state, ids), ids, vectors.astype(np.float16)))

    def _drop(self, ids: Ids) -> None:
        with self._writing:
            self._state = self._tidied(_without(self._state, ids))

    def _near(self, question: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        state = self._state
        return self._compared(state, question, self._candidates(state, question, max(RESCORED, limit), selection))

    def cosines(self, vector: Vector, chunk_ids: Ids) -> tuple[Ids, Vector]:
        """Window ids and cosines of these chunks' windows, in no order."""
        state = self._state
        return self._compared(state, checked_question(vector, self.dimension), _rows_of(state, chunk_ids))

    def count(self) -> int:
        return int(self._state.ids.size)

    def ids(self) -> Ids:
        return self._state.ids.copy()

    def clear(self) -> None:
        with self._writing:
            self._state = self._empty()

    def close(self) -> None:
        """Give the memory back, and end the second thread."""
        self.clear()
        self._second_thread.shutdown()

    # -- searching -------------------------------------------------------------------------------------------------

    def _candidates(self, state: _State, question: Vector, wanted: int, selection: Selection) -> Ids:
        """Rows that pass, ascending: all of them where they are few, else those that the scan can't rule out."""
        if selection.mask is not None and selection.count <= _FEW:
            return _rows_of(state, np.flatnonzero(selection.mask))
        allowed = state.alive
        if selection.mask is not None:
            allowed = allowed & passes(selection, state.row_ids)
        passing = int(np.count_nonzero(allowed))
        if passing <= wanted:
            return np.flatnonzero(allowed)
        scores = self._scan(state, question)
        if passing < allowed.size:
            scores[~allowed] = -np.inf
        # An error of the scan is a sum of many roundings, each spread evenly over one level: its standard deviation is
        # at most level / √12 for a question of length 1. Equal vectors get equal scores, so that ids decide among them.
        level = max((block.level for block in state.blocks), default=0.0)
        slack = 2 * _SIGMAS * level / math.sqrt(12)
        return np.flatnonzero(scores >= _largest(scores, wanted) - slack)

    def _scan(self, state: _State, vector: Vector) -> Vector:
        """Cosines of all rows, off by 0.0002 on average at 384 dimensions. Of many blocks another thread scans what it
        gets to: none, where it is busy elsewhere."""
        asked = _asked(vector)
        # Not by BLAS, which may share so little work among threads and wait for them longer than it takes. The tail,
        # which takes longest, is first.
        scans = [partial(np.einsum, "ij,j->i", state.tail, vector)]
        scans += [partial(block.scan, asked) for block in state.blocks]
        scores: list[Vector] = [vector] * len(scans)
        numbers = iter(range(len(scans)))  # shared by both: under the interpreter's lock each is given out once

        def scan() -> None:
            for number in numbers:
                scores[number] = scans[number]()

        others = self._second_thread.submit(scan) if len(scans) > _SHARED else None
        scan()
        if others is not None and not others.cancel():
            others.result()
        return np.concatenate([*scores[1:], scores[0]])

    def _compared(self, state: _State, question: Vector, places: Ids) -> tuple[Ids, Vector]:
        # summed row by row: equal vectors get equal cosines wherever they lie, which a matrix product doesn't promise
        return state.row_ids[places], np.einsum("ij,j->i", self._rows(state, places), question)

    def _rows(self, state: _State, places: Ids) -> Vectors:
        """Rows as float32, shape (len(places), dimension), for ascending places."""
        out = np.empty((places.size, self.dimension), np.float32)
        bounds = np.searchsorted(places, np.arange(len(state.blocks) + 1) * BLOCK_ROWS).tolist()
        within = places % BLOCK_ROWS
        for block, (start, end) in zip(state.blocks, pairwise(bounds), strict=True):
            if end > start:
                out[start:end] = block.take(within[start:end])
        out[bounds[-1] :] = state.tail[within[bounds[-1] :]]
        return out

    # -- writing ---------------------------------------------------------------------------------------------------

    def _empty(self) -> _State:
        nothing = np.empty(0, np.int64)
        return _State((), np.empty((0, self.dimension), np.float32), nothing, nothing > 0, nothing, nothing)

    def _appended(self, state: _State, ids: Ids, rows: HalfVectors) -> _State:
        """The state with rows of new ids behind the others."""
        blocks, tail, first = list(state.blocks), [state.tail], state.row_ids.size
        filled = state.tail.shape[0]
        while filled + rows.shape[0] >= BLOCK_ROWS:
            taken, rows = rows[: BLOCK_ROWS - filled], rows[BLOCK_ROWS - filled :]
            blocks.append(_Block(np.concatenate([*(part.astype(np.float16) for part in tail), taken]), self._folder))
            tail, filled = [], 0
        order = np.argsort(ids)
        at = np.searchsorted(state.ids, ids[order])
        return _State(
            tuple(blocks),
            np.concatenate([*tail, rows.astype(np.float32)]),
            np.concatenate([state.row_ids, ids]),
            np.concatenate([state.alive, np.ones(ids.size, np.bool_)]),
            np.insert(state.ids, at, ids[order]),
            np.insert(state.places, at, first + order),
        )

    def _tidied(self, state: _State) -> _State:
        """The same rows without the dead, once these are too many."""
        if state.row_ids.size - state.ids.size <= max(BLOCK_ROWS // 8, DEAD_SHARE * state.row_ids.size):
            return state
        places = np.sort(state.places)
        packed = self._empty()
        for start in range(0, places.size, BLOCK_ROWS):
            span = places[start : start + BLOCK_ROWS]
            packed = self._appended(packed, state.row_ids[span], self._rows(state, span).astype(np.float16))
        return packed


def _largest(scores: Vector, place: int) -> float:
    """The `place`-th largest. The `place`-th largest of several times as many groups' maxima is a lower bound so near
    it that few rows are left to be partitioned."""
    groups = 8 * place
    if deep := scores.size // groups:
        best = scores[: deep * groups].reshape(deep, groups).max(axis=0)
        scores = scores[scores >= np.partition(best, -place)[-place]]
    return float(np.partition(scores, -place)[-place])


def _rows_of(state: _State, chunks: Ids) -> Ids:
    """Living rows of these passages' windows, ascending."""
    first = np.searchsorted(state.ids, chunks * WINDOWS_PER_CHUNK)
    behind = np.searchsorted(state.ids, (chunks + 1) * WINDOWS_PER_CHUNK)
    counts = behind - first
    # 0, 1, 2, … within each passage, counted on from its first window
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(state.places[np.repeat(first, counts) + within])


def _without(state: _State, ids: Ids) -> _State:
    """The state with these (unique, ascending) ids dead."""
    where, behind = np.searchsorted(state.ids, ids, "left"), np.searchsorted(state.ids, ids, "right")
    where = where[behind > where]
    if not where.size:
        return state
    alive = state.alive.copy()
    alive[state.places[where]] = False
    return replace(state, alive=alive, ids=np.delete(state.ids, where), places=np.delete(state.places, where))
