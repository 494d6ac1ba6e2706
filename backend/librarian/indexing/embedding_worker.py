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
from typing import TypeVar

import numpy as np

from ..errors import LibrarianError, Unavailable
from ..models import StoredChunk, Vector, Vectors, Window
from ..storage.base import Catalog, EmbeddingCache
from ..text.cross_references import paths_alone
from ..vector_stores.sync import VectorSync
from .embedding import Answer, Cut, Embed, EmbedderPool, Identify, Identity, Task
from .workers import PoolClosed

logger = logging.getLogger(__name__)

Row = TypeVar("Row")

_GROUP = 512  # chunks taken from the catalog at once, and sorted by length among themselves
_CUT_AT_ONCE = 64  # chunks per task that cuts into windows
_EMBED_AT_ONCE = 32  # windows per task: half a second at 60 a second, so that stopping and news don't wait
EMBEDDINGS = "embeddings"  #: the part that problems of embedding concern
BACKOFF_S = (60.0, 3600.0)  #: what failed is tried again after the first, doubling up to the second
_TIDY_AFTER = 1_000  # windows embedded, until vectors that nothing uses any more are looked for
_HOPELESS = 3  # so many windows in a row that fail alone: it is the model, not the text
_MODEL, _KEY = "model", "model_key"
_PREVIOUS, _PREVIOUS_KEY = "model_previous", "model_previous_key"


class ModelsInUse:
    """Kept in the catalog's meta. `key` names what would be loaded; the fingerprint is only known once it is."""

    def __init__(self, catalog: Catalog, vector_sync: VectorSync, key: str) -> None:
        self._key = key
        self._catalog = catalog
        self._vector_sync = vector_sync
        self._identified = False

    def fingerprints(self) -> list[str]:
        """The models whose stores are kept: the one being filled, then the one that answers meanwhile."""
        with self._catalog.read() as reader:
            return [model for key in (_MODEL, _PREVIOUS) if (model := reader.meta(key))]

    def answering(self) -> str:
        """Fingerprint of the model whose vectors answer; empty where there is none yet."""
        return self._catalog.fact(_PREVIOUS) or self._catalog.fact(_MODEL)

    def answering_key(self) -> str:
        """The key of the model whose vectors answer, where that isn't the wanted one; empty otherwise."""
        fact = self._catalog.fact
        if fact(_PREVIOUS):
            return fact(_PREVIOUS_KEY)
        return fact(_KEY) if fact(_MODEL) and fact(_KEY) != self._key else ""

    def changed(self) -> bool:
        """Whether another model is wanted than was last filled."""
        return bool(self._meta(_MODEL)) and self._meta(_KEY) != self._key

    def current(
        self, identify: Callable[[], Identity], writing: AbstractContextManager[object], pending: Callable[[str], bool]
    ) -> str:
        """The model to fill.

        `identify` starts a child, so it is only asked where the model may be another one, or where passages are
        `pending`, so that there is work for the child anyway. `writing` is held while stores change their role.
        """
        stored = self._meta(_MODEL)
        known = bool(stored and self._key) and self._meta(_KEY) == self._key
        if known and (self._identified or not pending(stored)):
            return stored
        model = identify().fingerprint
        self._identified = True
        if model != stored:
            with writing:
                self._change(stored, model)
        if self._meta(_KEY) != self._key:
            self._catalog.set_meta(_KEY, self._key)
        return model

    def drop_previous(self) -> None:
        """The current model is complete: the one before is no longer needed."""
        if previous := self._meta(_PREVIOUS):
            self._vector_sync.clear(previous)
            self._catalog.set_meta(_PREVIOUS, "")
            self._catalog.set_meta(_PREVIOUS_KEY, "")
            self._use()

    def _change(self, stored: str, model: str) -> None:
        complete = self._meta(_PREVIOUS) or stored
        key = self._meta(_PREVIOUS_KEY) if self._meta(_PREVIOUS) else self._meta(_KEY)
        if stored and stored != complete:  # was never finished
            self._vector_sync.clear(stored)
        if complete == model:
            complete = ""
        else:  # whatever lies in its stores was made for another catalog
            self._vector_sync.clear(model)
        if complete:
            logger.info("the embedding model has changed: passages are embedded again with %s", model)
        self._catalog.set_meta(_PREVIOUS_KEY, key if complete else "")
        self._catalog.set_meta(_PREVIOUS, complete)
        self._catalog.set_meta(_MODEL, model)
        self._use()

    def _use(self) -> None:
        self._vector_sync.use(self.fingerprints())

    def _meta(self, key: str) -> str:
        with self._catalog.read() as reader:
            return reader.meta(key)


@dataclass(slots=True)
class Rate:
    """Progress of one filling."""

    done: int = 0
    total: int = 0
    per_s: float = 0.0
    elapsed_s: float = 0.0


class VectorWork:
    """Embeds what a model lacks. One filling at a time.

    Args:
        pool: the children that embed, which are the caller's to close; None where nothing is embedded.
        errors: what doesn't work, by part; that of embedding is kept here.
        writing: is held while the catalog and the stores are written.
        wanted: ids of documents whose passages are embedded first.
    """

    def __init__(
        self,
        catalog: Catalog,
        archive: EmbeddingCache,
        vector_sync: VectorSync,
        models: ModelsInUse,
        pool: Callable[[], EmbedderPool] | None,
        *,
        errors: dict[str, str],
        writing: AbstractContextManager[object],
        fault: Callable[[str], None],
        progress: Callable[[Rate], None],
        wanted: Callable[[], Sequence[int]],
    ) -> None:
        self._catalog = catalog
        self._archive = archive
        self._vector_sync = vector_sync
        self._models = models
        self._pool = pool
        self._errors = errors
        self._writing = writing
        self._fault = fault
        self._progress = progress
        self._wanted = wanted
        self._unfit: dict[int, str] = {}  # chunk id → why it can't be embedded; those are left alone
        self._untidy: dict[str, int] = {}  # model → windows embedded since unused ones were last dropped
        self._started = 0.0
        self._rate = Rate()
        self._embedded = 0  # windows of this filling that were really embedded, not found in the archive

    def fill(self, wait: Callable[[], bool], stopped: Callable[[], bool]) -> tuple[int, bool]:
        """(passages done, whether all that can be embedded is). Raises `Unavailable` where that fails.

        `wait` blocks while something more urgent goes on, and says whether to go on at all.
        """
        if self._pool is None:
            return 0, True
        try:
            return self._fill(wait, stopped)
        except Unavailable as error:
            if stopped():
                return 0, False
            self._errors[EMBEDDINGS] = str(error)
            raise

    def retry(self) -> None:
        """Forget what failed: all is tried again."""
        self._unfit.clear()

    def _fill(self, wait: Callable[[], bool], stopped: Callable[[], bool]) -> tuple[int, bool]:
        model = self._models.current(
            self._identify, self._writing, lambda stored: bool(self._catalog.pending_chunks(stored, 1))
        )
        done = self._run(model, wait)
        if stopped():
            return done, False
        if not set(self._catalog.pending_chunks(model, len(self._unfit) + 1)) - self._unfit.keys():
            with self._writing:
                self._models.drop_previous()
        if done:
            self._tidy(model)
        self._errors.pop(EMBEDDINGS, None)
        if reasons := list(self._unfit.values()):
            self._errors[EMBEDDINGS] = (
                f"{len(reasons):,} passages can't be embedded ({reasons[0]}); keyword search finds them."
            )
        return done, True

    def _tidy(self, model: str) -> None:
        """Now and then drop vectors of texts that are no more, so that changes don't fill the disk."""
        self._untidy[model] = self._untidy.get(model, 0) + self._embedded
        if self._untidy[model] >= _TIDY_AFTER:
            with self._writing:
                self._archive.prune(model, self._vector_sync.hashes(model))
            self._untidy[model] = 0

    def _identify(self) -> Identity:
        """The model that the children hold. Raises `Unavailable` where it can't be loaded."""
        answer: Answer | BaseException
        try:
            ((_, answer),) = self._children().map([Identify()])
        except Exception as error:  # whatever a model's files make its libraries raise
            if not isinstance(error, LibrarianError | PoolClosed):
                logger.exception("the model can't be loaded")
            answer = error
        if isinstance(answer, Identity):
            return answer
        raise _explained(answer)

    def _run(self, model: str, wait: Callable[[], bool]) -> int:
        """Embed until nothing is pending or `wait` says stop; returns the number of chunks done."""
        self._started, self._embedded = time.monotonic(), 0
        with self._catalog.read() as reader:
            count = reader.count(model)
        self._rate = Rate(0, max(0, count.chunks - count.embedded_chunks))
        while wait():
            wanted, limit = self._wanted(), _GROUP + len(self._unfit)
            pending = self._fit(self._catalog.pending(model, limit, wanted)) if wanted else []
            pending = pending or self._fit(self._catalog.pending(model, limit))
            if not pending:
                break
            self._group(model, pending, wait)
        return self._rate.done

    # -- one group -------------------------------------------------------------------------------------------------

    def _fit(self, pending: Sequence[tuple[StoredChunk, str]]) -> Sequence[tuple[StoredChunk, str]]:
        return [(chunk, prefix) for chunk, prefix in pending if chunk.chunk_id not in self._unfit][:_GROUP]

    def _group(self, model: str, pending: Sequence[tuple[StoredChunk, str]], wait: Callable[[], bool]) -> None:
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
            if not wait():
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

    def _children(self) -> EmbedderPool:
        assert self._pool is not None
        return self._pool()

    def _in_parts(
        self, rows: Sequence[Row], at_once: int, task_of: Callable[[Sequence[Row]], Task]
    ) -> Iterator[tuple[Sequence[Row], Answer | BaseException]]:
        """Answers part by part. A part that fails is done again row by row; only single rows come with an error.

        Raises `Unavailable` where the model or its setting says so, or where single rows keep failing.
        """
        parts = [rows[start : start + at_once] for start in range(0, len(rows), at_once)]
        failed: list[Row] = []
        for part, answer in self._answers(parts, task_of):
            if isinstance(answer, BaseException):
                failed += part
            else:
                yield part, answer
        in_a_row: list[tuple[Sequence[Row], BaseException]] = []
        for part, answer in self._answers([[row] for row in failed], task_of):
            if isinstance(answer, BaseException):
                in_a_row.append((part, answer))
                if len(in_a_row) >= _HOPELESS:
                    raise _explained(answer)
                continue
            yield from in_a_row
            in_a_row.clear()
            yield part, answer
        yield from in_a_row

    def _answers(
        self, parts: Sequence[Sequence[Row]], task_of: Callable[[Sequence[Row]], Task]
    ) -> Iterator[tuple[Sequence[Row], Answer | BaseException]]:
        tasks = {task_of(part): part for part in parts}
        for task, answer in self._children().map(tasks):
            if isinstance(answer, LibrarianError):  # not about the text: a service or a setting that doesn't work
                raise _explained(answer)
            yield tasks[task], answer


def _explained(error: object) -> Unavailable:
    if isinstance(error, LibrarianError):
        return error if isinstance(error, Unavailable) else Unavailable(error.message, hint=error.hint)
    kind = type(error).__name__
    return Unavailable(
        f"Embedding fails ({kind}: {error}).", hint="Keyword search goes on; see the log, and `librarian doctor`."
    )
