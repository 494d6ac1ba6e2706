"""The vector stores of the models in use, kept equal to what the catalog says is embedded.

Stores are projections: what they miss comes from the archive, what they hold too much is deleted. Nothing is embedded
here.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..models import WINDOWS_PER_CHUNK, Chunk, Document, Ids, Vector, passage_id
from ..storage.base import Catalog, EmbeddingCache
from ..storage.columns import CODED
from ..storage.rows import micros_or_no_date
from .base import Payload, VectorStore

logger = logging.getLogger(__name__)

_BULK = 5_000  #: vectors that are loaded into memory within a tenth of a second: not shown as progress
_BATCH = 8_192  #: vectors moved at once: as many as a block of the exact store, 12 MB at 384 dimensions
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
        self.models: list[str] = []  #: fingerprints of the models whose stores are written to
        #: (vectors that are there, vectors that will be, where) while the store that answers is filled
        self.loading: tuple[int, int, str] | None = None

    def use(self, models: Iterable[str]) -> None:
        """Name the models whose stores are written to."""
        self.models = [model for model in models if model]

    def put(self, model: str, windows: Mapping[int, Sequence[str]], vectors: Mapping[str, Vector]) -> None:
        """Store the vectors of chunks' windows and mark them embedded. Chunks that went away meanwhile are left out."""
        with self._lock:
            payloads = self._payloads(windows)
            alive = {chunk_id: windows[chunk_id] for chunk_id in windows if chunk_id in payloads}
            rows = [
                (chunk_id * WINDOWS_PER_CHUNK + ordinal, digest)
                for chunk_id, hashes in alive.items()
                for ordinal, digest in enumerate(hashes)
            ]
            if model not in self.models:
                self.models.append(model)
            if rows:
                ids = np.array([number for number, _ in rows], dtype=np.int64)
                matrix = np.stack([np.asarray(vectors[digest], dtype=np.float32) for _, digest in rows])
                given = [payloads[number // WINDOWS_PER_CHUNK] for number, _ in rows]
                for store in self._stores_for(model):
                    store.upsert(ids, matrix, given)
            self._fault("store upsert")
            self._catalog.mark_embedded(model, alive)
            self._fault("mark")

    def delete(self, chunk_ids: Iterable[int]) -> None:
        """Drop the vectors of chunks that are gone: all that they may have had."""
        chunks = np.array(list(chunk_ids), dtype=np.int64)
        if not chunks.size:
            return
        with self._lock:
            for start in range(0, chunks.size, _BATCH):
                first = chunks[start : start + _BATCH, np.newaxis] * WINDOWS_PER_CHUNK
                numbers = (first + np.arange(WINDOWS_PER_CHUNK)).ravel()
                for store in (store for model in self.models for store in self._stores_for(model)):
                    store.delete(numbers)
        self._fault("stores delete")

    def examine(self, model: str) -> list[str]:
        """What stores lack or hold too much, in sentences; empty where all is well. Changes nothing."""
        found = []
        with self._lock:
            expected = dict(self._catalog.windows(model))
            for store in self._stores_for(model):
                missing, orphans = _differences(expected, store)
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
        wanted = list(self.hashes(model))
        parts = (wanted[start : start + _BATCH] for start in range(0, len(wanted), _BATCH))
        missing = sum(len(part) - len(self._archive.get(model, part)) for part in parts)
        if missing and repair:
            self._catalog.forget(model)  # what the archive has is found there again
        return [f"The file of vectors lacks {missing:,} that are in use."] if missing else []

    def repair(self, model: str) -> list[str]:
        """Make the stores of a model equal to the catalog; returns what was done, in sentences."""
        done: list[str] = []
        lost = False
        with self._lock:
            expected = dict(self._catalog.windows(model))
            for place, store in enumerate(self._stores_for(model)):
                missing, orphans = _differences(expected, store)
                if orphans.size:
                    store.delete(orphans)
                    done.append(
                        f"Deleted {orphans.size:,} vectors of deleted passages from the vector store {store.name}."
                    )
                wanted = [(number, expected[number]) for number in missing.tolist()]
                refilled = self._refill(model, store, wanted, answers=place == 0)
                lost = lost or refilled < missing.size
                # A store in memory begins empty: filling it is no repair, and nobody's to worry about.
                begins = store.name == IN_MEMORY and missing.size == len(expected)
                if refilled and not begins:
                    done.append(f"Refilled {refilled:,} vectors of the vector store {store.name} from the archive.")
            if lost:
                # The catalog can only forget a model as a whole; what the archive has is found there again.
                self._catalog.forget(model)
                done.append("Some vectors are lost; their passages are embedded again.")
        return done

    def clear(self, model: str) -> None:
        """Empty the stores of a model and forget what was embedded with it."""
        with self._lock:
            for store in self._stores_for(model):
                store.clear()
            self._catalog.forget(model)

    def hashes(self, model: str) -> set[str]:
        """Hashes of all windows embedded with a model."""
        return {digest for _, digest in self._catalog.windows(model)}

    def _refill(self, model: str, store: VectorStore, wanted: Sequence[tuple[int, str]], *, answers: bool) -> int:
        """Give a store what the archive has of these (window id, hash) pairs; returns how many vectors that were.
        Where it is the one that `answers`, `loading` says meanwhile how far it is."""
        # The store in memory filters by chunk alone, and is waited for at every start: it needs no payloads.
        in_memory = store.name == IN_MEMORY
        shown = answers and len(wanted) >= (_BULK if in_memory else 1)
        where = "memory" if in_memory else f"the vector store {store.name}"
        total, refilled = store.count() + len(wanted), 0
        try:
            for start in range(0, len(wanted), _BATCH):
                if shown:
                    self.loading = (store.count(), total, where)
                part = wanted[start : start + _BATCH]
                known = self._archive.get(model, [digest for _, digest in part])
                if rows := [(number, known[digest]) for number, digest in part if digest in known]:
                    chunks = [] if in_memory else [number // WINDOWS_PER_CHUNK for number, _ in rows]
                    payloads = self._payloads(set(chunks))
                    ids = np.array([number for number, _ in rows], dtype=np.int64)
                    vectors = np.stack([vector for _, vector in rows])
                    store.upsert(ids, vectors, [payloads[chunk] for chunk in chunks] or None)
                    refilled += len(rows)
            return refilled
        finally:
            self.loading = None

    def _payloads(self, chunk_ids: Iterable[int]) -> dict[int, Payload]:
        """What stores say of these chunks, of those that are there."""
        if not (ids := list(chunk_ids)):
            return {}
        with self._catalog.read() as reader:
            chunks = reader.chunks(ids)
            documents = reader.documents(sorted({chunk.doc_id for chunk in chunks.values()}))
        return {number: payload(documents[one.doc_id].document, one.chunk) for number, one in chunks.items()}


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


def _differences(expected: Mapping[int, str], store: VectorStore) -> tuple[Ids, Ids]:
    """(ids that the store lacks, ids that it has too many), both ascending."""
    wanted, held = np.fromiter(expected, dtype=np.int64, count=len(expected)), store.ids()
    # neither holds an id twice
    return np.setdiff1d(wanted, held, assume_unique=True), np.setdiff1d(held, wanted, assume_unique=True)
