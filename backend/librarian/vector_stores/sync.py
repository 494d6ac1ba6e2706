"""The vector stores of the models in use, kept equal to what the catalog says is embedded.

Stores are projections: what they miss comes from the archive, what they hold too much is deleted. Nothing is embedded
here.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ..models import WINDOWS_PER_CHUNK, Chunk, Document, HalfVectors, Ids, Vector, Vectors, passage_id
from ..storage.base import Catalog, EmbeddingCache
from ..storage.columns import CODED
from ..storage.rows import micros_or_no_date
from .base import BulkStore, VectorStore

logger = logging.getLogger(__name__)

_BULK = 5_000  # vectors from which on an empty store is filled at once
_BATCH = 2_000  # vectors moved at once: 3 MB at 384 dimensions
# A reading of all 121,786 vectors took 0.13 s of the processor, looking each up by hash 0.45 s: a quarter as many
# are looked up in the time that reading all takes.
_SCAN_GAIN = 4
Payload: TypeAlias = Mapping[str, object]
_Batch: TypeAlias = "tuple[Ids, Vectors | HalfVectors, list[Payload]]"
IN_MEMORY = "exact"  #: name of the store that is filled anew at each start


class VectorSync:
    """Writes to all stores of the models in use; the first model is the one that is being filled."""

    def __init__(
        self,
        catalog: Catalog,
        archive: EmbeddingCache,
        stores_for: Callable[[str], Sequence[VectorStore]],
        fault: Callable[[str], None],
    ) -> None:
        # Held from storing a batch until it is marked, and while stores are compared or deleted from.
        self._lock = threading.RLock()
        self._catalog = catalog
        self._archive = archive
        self._stores_for = stores_for
        self._fault = fault
        self._window_count: dict[str, dict[int, int]] = {}  # model → chunk id → windows, where not one
        #: (vectors that are there, vectors that will be, where) while the store that answers is filled
        self.loading: tuple[int, int, str] | None = None

    @property
    def models(self) -> list[str]:
        """Fingerprints in use."""
        return list(self._window_count)

    def use(self, models: Iterable[str]) -> None:
        """Name the models whose stores are written to; `repair` finds out which windows each of them has."""
        self._window_count = {model: {} for model in models if model}

    def stores(self, model: str) -> Sequence[VectorStore]:
        """The stores of a model."""
        return self._stores_for(model)

    def put(self, model: str, windows: Mapping[int, Sequence[str]], vectors: Mapping[str, Vector]) -> None:
        """Store the vectors of chunks' windows and mark them embedded. Chunks that went away meanwhile are left out."""
        with self._lock:
            payloads = self._payloads(windows)
            alive = {chunk_id: windows[chunk_id] for chunk_id in windows if chunk_id in payloads}
            flat = [
                (window_id(chunk_id, ordinal), digest)
                for chunk_id, hashes in alive.items()
                for ordinal, digest in enumerate(hashes)
            ]
            self._upsert(model, flat, vectors, payloads)
            self._fault("store upsert")
            self._catalog.mark_embedded(model, alive)
            counts = self._window_count.setdefault(model, {})
            counts.update({chunk_id: len(hashes) for chunk_id, hashes in alive.items() if len(hashes) != 1})
            self._fault("mark")

    def delete(self, chunk_ids: Iterable[int]) -> None:
        """Drop the vectors of chunks that are gone."""
        chunks = list(chunk_ids)
        if not chunks:
            return
        with self._lock:
            for model in self._window_count:
                self._delete(model, chunks)
        self._fault("stores delete")

    def _delete(self, model: str, chunks: Sequence[int]) -> None:
        counts = self._window_count.setdefault(model, {})
        numbers = sorted(window_id(chunk, n) for chunk in chunks for n in range(counts.pop(chunk, 1)))
        for store in self._stores_for(model):
            store.delete(np.array(numbers, dtype=np.int64))

    def relabel(self, chunk_ids: Sequence[int]) -> None:
        """Store chunks whose document moved again: what stores say of them has changed."""
        with self._lock:
            payloads = self._payloads(chunk_ids)
            for model in self.models:
                rows = self._catalog.windows(model, chunk_ids)
                for start in range(0, len(rows), _BATCH):
                    batch = rows[start : start + _BATCH]
                    vectors = self._archive.get(model, [digest for _, digest in batch])
                    known = [row for row in batch if row[1] in vectors and _chunk(row[0]) in payloads]
                    self._upsert(model, known, vectors, payloads)

    def examine(self, model: str) -> list[str]:
        """What stores lack or hold too much, in sentences; empty where all is well. Changes nothing."""
        with self._lock:
            return self._examine(model)

    def _examine(self, model: str) -> list[str]:
        expected = self._expected(model)
        found = []
        for store in self._stores_for(model):
            missing, orphans = _differences(expected, store.ids())
            if missing.size:
                found.append(f"The vector store {store.name} lacks {missing.size:,} vectors.")
            if orphans.size:
                found.append(f"The vector store {store.name} holds {orphans.size:,} vectors of deleted passages.")
        return found

    def examine_archive(self, model: str, *, repair: bool = False) -> list[str]:
        """Whether the file of vectors, which stores are filled from, has all that are in use; in sentences.

        With `repair`, what it lacks is embedded again. Reads the whole file, so it isn't done at every start: a store
        that begins empty finds out by itself.
        """
        hashes = sorted(self.hashes(model))
        pending_chunks = 0
        for start in range(0, len(hashes), _BATCH):
            batch = hashes[start : start + _BATCH]
            pending_chunks += len(batch) - len(self._archive.get(model, batch))
        if pending_chunks and repair:
            with self._lock:
                self._catalog.forget(model)  # what the archive has is found there again
                self._window_count[model] = {}
        return [f"The file of vectors lacks {pending_chunks:,} that are in use."] if pending_chunks else []

    def repair(self, model: str) -> list[str]:
        """Make the stores of a model equal to the catalog; returns what was done, in sentences."""
        with self._lock:
            return self._repair(model)

    def _repair(self, model: str) -> list[str]:
        expected = self._expected(model)
        # a chunk's windows come in order: the last one counts
        self._window_count[model] = {
            _chunk(number): number % WINDOWS_PER_CHUNK + 1 for number in expected if number % WINDOWS_PER_CHUNK
        }
        done: list[str] = []
        lost = False
        for place, store in enumerate(self._stores_for(model)):
            missing, orphans = _differences(expected, store.ids())
            if orphans.size:
                store.delete(orphans)
                done.append(f"Deleted {orphans.size:,} vectors of deleted passages from the vector store {store.name}.")
            refilled = self._refill(model, store, expected, missing, answers=place == 0)
            lost = lost or refilled < missing.size
            # A store in memory begins empty: filling it is no repair, and nobody's to worry about.
            begins = store.name == IN_MEMORY and missing.size == len(expected)
            if refilled and not begins:
                done.append(f"Refilled {refilled:,} vectors of the vector store {store.name} from the archive.")
        if lost:
            # The catalog can only forget a model as a whole; what the archive has is found there again.
            self._catalog.forget(model)
            self._window_count[model] = {}
            done.append("Some vectors are lost; their passages are embedded again.")
        return done

    def _refill(
        self, model: str, store: VectorStore, expected: Mapping[int, str], missing: Ids, *, answers: bool
    ) -> int:
        """Give a store what the archive has of `missing`; returns how many vectors that were. Where it is the one that
        `answers`, `loading` says meanwhile how far it is."""
        # The store in memory filters by chunk alone, and is waited for at every start: it needs no payloads.
        in_memory = store.name == IN_MEMORY
        batches = self._in_use(model, expected, missing, described=not in_memory)
        if answers and missing.size >= (_BULK if in_memory else 1):  # fewer are in memory within a tenth of a second
            batches = self._counted(store, batches, store.count() + int(missing.size))
        try:
            if missing.size >= _BULK and isinstance(store, BulkStore) and not store.ids().size:
                return store.load(batches)
            refilled = 0
            for ids, vectors, payloads in batches:
                store.upsert(ids, vectors.astype(np.float32, copy=False), payloads or None)
                refilled += ids.size
            return refilled
        finally:
            self.loading = None

    def _counted(self, store: VectorStore, batches: Iterator[_Batch], total: int) -> Iterator[_Batch]:
        """The same, saying in `loading` how far the store is that takes them."""
        where = "memory" if store.name == IN_MEMORY else f"the vector store {store.name}"
        for batch in batches:
            self.loading = (store.count(), total, where)
            yield batch

    def _in_use(self, model: str, expected: Mapping[int, str], ids: Ids, *, described: bool = True) -> Iterator[_Batch]:
        """What the archive has of these windows, batch by batch; if `described`, with what stores filter by."""
        read = self._scanned if ids.size * _SCAN_GAIN >= self._archive.count(model) else self._looked_up
        wanted = expected if ids.size == len(expected) else {number: expected[number] for number in ids.tolist()}
        for numbers, matrix in read(model, wanted):
            chunk_ids = (numbers // WINDOWS_PER_CHUNK).tolist()
            payloads = self._payloads(set(chunk_ids)) if described else {}
            yield numbers, matrix, [payloads[chunk_id] for chunk_id in chunk_ids] if described else []

    def _looked_up(self, model: str, wanted: Mapping[int, str]) -> Iterator[tuple[Ids, Vectors]]:
        rows = list(wanted.items())
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            vectors = self._archive.get(model, [digest for _, digest in batch])
            if stored_ids := [row for row in batch if row[1] in vectors]:
                numbers = np.array([number for number, _ in stored_ids], dtype=np.int64)
                yield numbers, np.stack([vectors[digest] for _, digest in stored_ids])

    def _scanned(self, model: str, wanted: Mapping[int, str]) -> Iterator[tuple[Ids, HalfVectors]]:
        """The same by reading the whole archive, which is faster where much of it is wanted."""
        number_of: dict[str, int] = {}
        alike: dict[str, list[int]] = {}  # equal texts are kept once
        for number, digest in wanted.items():
            if number_of.setdefault(digest, number) != number:
                alike.setdefault(digest, []).append(number)
        for hashes, rows in self._archive.scan(model, number_of.keys()):
            yield np.array([number_of[digest] for digest in hashes], dtype=np.int64), rows
            again = [(number, place) for place, digest in enumerate(hashes) for number in alike.get(digest, ())]
            if again:
                numbers, places = np.array(again, dtype=np.int64).T
                yield numbers, rows[places]

    def clear(self, model: str) -> None:
        """Empty the stores of a model and forget what was embedded with it."""
        with self._lock:
            for store in self._stores_for(model):
                store.clear()
            self._catalog.forget(model)
        self._window_count.pop(model, None)

    def hashes(self, model: str) -> set[str]:
        """Hashes of all windows embedded with a model."""
        return {digest for _, digest in self._catalog.windows(model)}

    def _expected(self, model: str) -> dict[int, str]:
        return dict(self._catalog.windows(model))

    def _payloads(self, chunk_ids: Iterable[int]) -> dict[int, Payload]:
        """What stores say of these chunks, of those that are there."""
        with self._catalog.read() as reader:
            chunks = reader.chunks(list(chunk_ids))
            documents = reader.documents(sorted({chunk.doc_id for chunk in chunks.values()}))
        return {number: payload(documents[one.doc_id].document, one.chunk) for number, one in chunks.items()}

    def _upsert(
        self,
        model: str,
        rows: Sequence[tuple[int, str]],
        vectors: Mapping[str, Vector],
        payloads: Mapping[int, Payload],
    ) -> None:
        if not rows:
            return
        ids = np.array([number for number, _ in rows], dtype=np.int64)
        matrix = np.stack([np.asarray(vectors[digest], dtype=np.float32) for _, digest in rows])
        for store in self._stores_for(model):
            store.upsert(ids, matrix, [payloads[_chunk(number)] for number, _ in rows])


def window_id(chunk_id: int, ordinal: int) -> int:
    """The id under which stores keep a chunk's window."""
    return chunk_id * WINDOWS_PER_CHUNK + ordinal


def payload(document: Document, chunk: Chunk) -> Payload:
    """What stores may keep with a vector: what filters name (`FILTERED`), and what tells other programs what it is."""
    return {
        **{name: getattr(document, name) for name in CODED},
        "tags": list(document.tags),
        "modified": micros_or_no_date(document.last_modified),
        "passage": passage_id(document.file_path, chunk),
        "path": document.file_path,
        "file_name": document.file_path.rpartition("/")[2],
        "title": document.title,
        "headings": list(chunk.heading_path),
        "lines": f"{chunk.line_start}-{chunk.line_end}",
        "text": chunk.text,
    }


def _chunk(number: int) -> int:
    return number // WINDOWS_PER_CHUNK


def _differences(expected: Mapping[int, str], held: Ids) -> tuple[Ids, Ids]:
    """(ids that are missing, ids too many), both ascending."""
    wanted = np.fromiter(expected, dtype=np.int64, count=len(expected))
    # neither holds an id twice
    return np.setdiff1d(wanted, held, assume_unique=True), np.setdiff1d(held, wanted, assume_unique=True)
