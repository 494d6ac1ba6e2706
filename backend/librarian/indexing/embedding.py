"""Gives every passage its vectors: windows, then the archive, then the model, then the stores.

Runs behind the text: keyword search doesn't wait for it. Cutting into windows and embedding happen in a child process.
A window whose vector is in the archive is never embedded again, whichever file it lies in.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from ..embeddings.base import Embedder
from ..errors import LibrarianError, Unavailable
from ..models import StoredChunk, Vector, Vectors, Window
from ..storage.base import Catalog, EmbeddingCache
from ..text.cross_references import paths_alone
from ..vector_stores.sync import VectorSync
from .workers import PoolClosed, WorkerPool

logger = logging.getLogger(__name__)

_GROUP = 512  # chunks taken from the catalog at once, and sorted by length among themselves
_CUT_AT_ONCE = 64  # chunks per task that cuts into windows
_EMBED_AT_ONCE = 32  # windows per task: half a second at 60 a second, so that stopping and news don't wait
_HOPELESS = 3  # so many windows in a row that fail alone: it is the model, not the text


@dataclass(frozen=True, slots=True)
class Identify:
    """Ask which model this is."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Cut (prefix, text) pairs into windows. `number` tells tasks over equal passages apart."""

    number: int
    chunks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed windows' texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """The model that a child holds."""

    fingerprint: str
    dimension: int


Task = Identify | Cut | Embed
Answer: TypeAlias = "Identity | list[list[Window]] | Vectors"
EmbedderPool = WorkerPool[Task, Answer]
Row = TypeVar("Row")


class EmbedderHands:
    """What an embedding child does with its embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __call__(self, task: Task) -> Answer:
        """Do one task."""
        match task:
            case Identify():
                return Identity(self._embedder.fingerprint, self._embedder.spec.dimension)
            case Cut():
                return [self._embedder.windows(prefix, text) for prefix, text in task.chunks]
            case Embed():
                return self._embedder.embed_chunks(task.texts)

    def close(self) -> None:
        """Free the model."""
        self._embedder.close()


@dataclass(frozen=True, slots=True)
class EmbedderFactory:
    """Builds the hands inside the child; `make` must be importable there (an `EmbedderSpec`)."""

    make: Callable[[], Embedder]

    def __call__(self) -> EmbedderHands:
        return EmbedderHands(self.make())


def embedder_pool(
    make: Callable[[], Embedder],
    processes: int = 1,
    *,
    timeout_s: float = 120.0,
    memory_mb: int | None = 4096,
    nice: int = 10,
) -> EmbedderPool:
    """A pool of embedding children; one is usual, since the model's own threads use the cores."""
    return WorkerPool(EmbedderFactory(make), processes, timeout_s=timeout_s, memory_mb=memory_mb, nice=nice, prefetch=2)


@dataclass(slots=True)
class Rate:
    """Progress of one filling."""

    done: int = 0
    total: int = 0
    per_s: float = 0.0
    elapsed_s: float = 0.0


class Filling:
    """Embeds what a model lacks. One at a time; the pool is the caller's to close."""

    def __init__(
        self,
        catalog: Catalog,
        archive: EmbeddingCache,
        vector_sync: VectorSync,
        pool: Callable[[], EmbedderPool],
        *,
        writing: AbstractContextManager[object],
        fault: Callable[[str], None],
        wait: Callable[[], bool],
        wanted: Callable[[], Sequence[int]],
        progress: Callable[[Rate], None],
        unfit: dict[int, str],
    ) -> None:
        """`wanted` are documents whose passages are embedded first. `unfit` collects chunk id → why it can't be
        embedded; those are left alone. `writing` is held while the catalog and the stores are written. `wait` blocks
        while something more urgent goes on, and says whether to go on at all.
        """
        self._catalog = catalog
        self._archive = archive
        self._vector_sync = vector_sync
        self._pool = pool
        self._writing = writing
        self._fault = fault
        self._wait = wait
        self._wanted = wanted
        self._progress = progress
        self._unfit = unfit
        self._started = 0.0
        self._rate = Rate()
        self._embedded = 0

    def identify(self) -> Identity:
        """The model that the children hold. Raises `Unavailable` where it can't be loaded."""
        answer: Answer | BaseException
        try:
            ((_, answer),) = self._pool().map([Identify()])
        except Exception as error:  # whatever a model's files make its libraries raise
            if not isinstance(error, LibrarianError | PoolClosed):
                logger.exception("the model can't be loaded")
            answer = error
        if isinstance(answer, Identity):
            return answer
        raise _explained(answer)

    @property
    def embedded(self) -> int:
        """Windows that were really embedded, not found in the archive."""
        return self._embedded

    def run(self, model: str) -> int:
        """Embed until nothing is pending or `wait` says stop; returns the number of chunks done.

        Raises `Unavailable` where the model or a store doesn't work.
        """
        self._started = time.monotonic()
        with self._catalog.read() as reader:
            count = reader.count(model)
        self._rate = Rate(0, max(0, count.chunks - count.embedded_chunks))
        while self._wait():
            wanted, limit = self._wanted(), _GROUP + len(self._unfit)
            pending = self._fit(self._catalog.pending_of(model, wanted, limit)) if wanted else []
            pending = pending or self._fit(self._catalog.pending(model, limit))
            if not pending:
                break
            self._group(model, pending)
        return self._rate.done

    # -- one group -------------------------------------------------------------------------------------------------

    def _fit(self, pending: Sequence[tuple[StoredChunk, str]]) -> Sequence[tuple[StoredChunk, str]]:
        return [(chunk, prefix) for chunk, prefix in pending if chunk.chunk_id not in self._unfit][:_GROUP]

    def _group(self, model: str, pending: Sequence[tuple[StoredChunk, str]]) -> None:
        windows: dict[int, list[Window]] = {}
        for chunk_ids, cut in self._cut(pending):
            windows.update(zip(chunk_ids, cut, strict=True))
        texts = {window.hash: window.text for cut in windows.values() for window in cut}
        vectors = self._archive.get(model, list(texts))
        waiting = {chunk_id: {window.hash for window in cut} - vectors.keys() for chunk_id, cut in windows.items()}
        users: dict[str, list[int]] = {}
        for chunk_id, pending_chunks in waiting.items():
            for digest in pending_chunks:
                users.setdefault(digest, []).append(chunk_id)
        ready = [chunk_id for chunk_id, pending_chunks in waiting.items() if not pending_chunks]
        self._shelve(model, ready, windows, vectors)
        missing = sorted(users, key=lambda digest: (-len(texts[digest]), digest))
        for hashes, matrix in self._embed([(digest, texts[digest]) for digest in missing], users):
            fresh: dict[str, Vector] = dict(zip(hashes, matrix, strict=True))
            self._archive.put(model, fresh)
            self._fault("archive put")
            self._embedded += len(fresh)
            vectors.update(fresh)
            ready = []
            for digest in hashes:
                for chunk_id in users[digest]:
                    waiting[chunk_id].discard(digest)
                    if not waiting[chunk_id] and chunk_id not in ready:
                        ready.append(chunk_id)
            self._shelve(model, ready, windows, vectors)
            if not self._wait():
                return

    def _shelve(
        self, model: str, chunk_ids: Sequence[int], windows: dict[int, list[Window]], vectors: dict[str, Vector]
    ) -> None:
        """Put finished chunks into the stores."""
        if not chunk_ids:
            return
        hashes = {chunk_id: [window.hash for window in windows[chunk_id]] for chunk_id in chunk_ids}
        with self._writing:
            self._vector_sync.put(model, hashes, vectors)
        self._rate.done += len(chunk_ids)
        self._rate.elapsed_s = max(time.monotonic() - self._started, 1e-3)
        self._rate.per_s = self._rate.done / self._rate.elapsed_s
        self._progress(self._rate)

    # -- in the children -------------------------------------------------------------------------------------------

    def _cut(self, pending: Sequence[tuple[StoredChunk, str]]) -> Iterator[tuple[list[int], list[list[Window]]]]:
        chunks = [(chunk.chunk_id, (prefix, paths_alone(chunk.chunk.text))) for chunk, prefix in pending]
        for part, answer in self._in_parts(
            chunks, _CUT_AT_ONCE, lambda part: Cut(part[0][0], tuple(row for _, row in part))
        ):
            if isinstance(answer, BaseException):
                self._unfit[part[0][0]] = str(answer)
            else:
                assert isinstance(answer, list)
                yield [chunk_id for chunk_id, _ in part], answer

    def _embed(
        self, missing: Sequence[tuple[str, str]], users: dict[str, list[int]]
    ) -> Iterator[tuple[list[str], Vectors]]:
        for part, answer in self._in_parts(
            missing, _EMBED_AT_ONCE, lambda part: Embed(tuple(text for _, text in part))
        ):
            if isinstance(answer, BaseException):
                logger.warning("a passage can't be embedded: %s", answer)
                self._unfit.update(dict.fromkeys(users[part[0][0]], str(answer)))
            else:
                assert isinstance(answer, np.ndarray)
                yield [digest for digest, _ in part], answer

    def _in_parts(
        self, rows: Sequence[Row], at_once: int, task_of: Callable[[Sequence[Row]], Task]
    ) -> Iterator[tuple[Sequence[Row], Answer | BaseException]]:
        """Answers part by part. A part that fails is done again row by row; only single rows come with an error.

        Raises `Unavailable` where the model or its setting says so, or where single rows keep failing.
        """
        tasks = {
            task_of(part): part for start in range(0, len(rows), at_once) if (part := rows[start : start + at_once])
        }
        failed: list[Row] = []
        for task, answer in self._pool().map(tasks):
            if isinstance(answer, LibrarianError):  # not about the text: a service or a setting that doesn't work
                raise _explained(answer)
            if isinstance(answer, BaseException):
                failed += tasks[task]
            else:
                yield tasks[task], answer
        alone = {task_of([row]): [row] for row in failed}
        in_a_row: list[tuple[list[Row], BaseException]] = []
        for task, answer in self._pool().map(alone):
            if isinstance(answer, LibrarianError):  # not about the text: a service or a setting that doesn't work
                raise _explained(answer)
            if isinstance(answer, BaseException):
                in_a_row.append((alone[task], answer))
                if len(in_a_row) >= _HOPELESS:
                    raise _explained(answer)
                continue
            yield from in_a_row
            in_a_row.clear()
            yield alone[task], answer
        yield from in_a_row


def _explained(error: object) -> Unavailable:
    if isinstance(error, LibrarianError):
        return error if isinstance(error, Unavailable) else Unavailable(error.message, hint=error.hint)
    kind = type(error).__name__
    return Unavailable(
        f"Embedding fails ({kind}: {error}).", hint="Keyword search goes on; see the log, and `librarian doctor`."
    )
