"""Gives every passage its vectors: windows, then the embedding cache, then the model, then the stores.

Runs behind the text: keyword search doesn't wait for it. Cutting into windows and embedding happen in a child process.
A window whose vector is in the cache is never embedded again, whichever file it lies in.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..embeddings.base import Embedder
from ..errors import LibrarianError, Unavailable
from ..models import Progress, StoredChunk, Vector, Vectors, Window, time_left
from ..storage.base import Catalog, EmbeddingCache
from ..text.cross_references import paths_alone
from ..vector_stores.sync import VectorSync
from .log import ErrorLog
from .workers import PoolClosed, WorkerPool

if TYPE_CHECKING:
    from .indexer import IndexerOptions

logger = logging.getLogger(__name__)

Row = TypeVar("Row")
Call = tuple[str, int, Any]  #: a method of `EmbedderChild`, the place among the calls, and what it is given

_GROUP = 512  # chunks taken from the catalog at once, and sorted by length among themselves
_CUT_AT_ONCE = 64  # chunks per task that cuts into windows
_EMBED_AT_ONCE = 32  # windows per task: half a second at 60 a second, so that stopping and news don't wait
_TIDY_AFTER = 1_000  # windows embedded, until vectors that nothing uses any more are looked for
_HOPELESS = 3  # so many windows in a row that fail alone: it is the model, not the text
EMBEDDINGS = "embeddings"  #: the part that problems of embedding concern
_MODEL, _KEY = "model", "model_key"
_PREVIOUS, _PREVIOUS_KEY = "model_previous", "model_previous_key"


class EmbedderChild:
    """What an embedding child does with the embedder that `make` builds there."""

    def __init__(self, make: Callable[[], Embedder]) -> None:
        self._embedder = make()
        self.close = self._embedder.close

    def __call__(self, call: Call) -> Any:
        """Do one call."""
        method, _, given = call
        return getattr(self, method)(given)

    def identify(self, _: None) -> str:
        """The model's fingerprint."""
        return self._embedder.fingerprint

    def cut(self, chunks: Sequence[tuple[int, str, str]]) -> list[list[Window]]:
        """The windows of each (chunk id, prefix, text)."""
        return [self._embedder.windows(prefix, text) for _, prefix, text in chunks]

    def embed(self, windows: Sequence[tuple[str, str]]) -> Vectors:
        """The vectors of (hash, text)."""
        return self._embedder.embed_chunks([text for _, text in windows])


EmbedderPool = WorkerPool[Call, Any]


def embedder_pool(make: Callable[[], Embedder], options: IndexerOptions) -> EmbedderPool:
    """The processes that embed; one is usual, since its own threads use the cores."""
    return options.pool(
        partial(EmbedderChild, make),
        options.embedding_processes,
        timeout_s=120.0,
        memory_mb=4096,
        nice=options.embedding_nice,
        prefetch=2,
    )


class ModelsInUse:
    """Kept in the catalog's meta. `key` names what would be loaded; the fingerprint is only known once it is."""

    def __init__(self, catalog: Catalog, vector_sync: VectorSync, key: str) -> None:
        self._key = key
        self._catalog = catalog
        self._meta = catalog.meta
        self._vector_sync = vector_sync
        self._identified = False

    def fingerprints(self) -> list[str]:
        """The models whose stores are kept: the one being filled, then the one that answers meanwhile."""
        return [model for key in (_MODEL, _PREVIOUS) if (model := self._meta(key))]

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

    def current(self, identify: Callable[[], str], pending: Callable[[str], bool]) -> str:
        """The model to fill. `identify` starts a child, so it is only asked where the model may be another one, or
        where passages are `pending`, so that there is work for the child anyway."""
        stored = self._meta(_MODEL)
        known = bool(stored and self._key) and self._meta(_KEY) == self._key
        if known and (self._identified or not pending(stored)):
            return stored
        model = identify()
        self._identified = True
        if model != stored:
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
            self._vector_sync.use(self.fingerprints())

    def _change(self, stored: str, model: str) -> None:
        before, key = self._meta(_PREVIOUS), self._meta(_PREVIOUS_KEY)
        if not before:
            before, key = stored, self._meta(_KEY)
        elif stored:  # was never finished
            self._vector_sync.clear(stored)
        if before == model:
            before = ""
        else:  # whatever lies in its stores was made for another catalog
            self._vector_sync.clear(model)
        if before:
            logger.info("the embedding model has changed: passages are embedded again with %s", model)
        self._catalog.set_meta(_PREVIOUS_KEY, key if before else "")
        self._catalog.set_meta(_PREVIOUS, before)
        self._catalog.set_meta(_MODEL, model)
        self._vector_sync.use(self.fingerprints())


@dataclass(slots=True)
class EmbeddingWorker:
    """Embeds what a model lacks. One filling at a time. `errors["embeddings"]` says what couldn't be embedded."""

    catalog: Catalog
    archive: EmbeddingCache
    vector_sync: VectorSync
    models: ModelsInUse
    pool: EmbedderPool
    errors: ErrorLog
    fault: Callable[[str], None]
    wanted: tuple[int, ...] = ()  #: ids of documents whose passages are embedded first
    progress: Progress = field(default_factory=partial(Progress, "embedding"))  #: of the last filling
    _unfit: dict[int, str] = field(default_factory=dict)  # chunk id → why it can't be embedded; those are left alone
    _untidy: Counter[str] = field(default_factory=Counter)  # model → windows embedded since unused ones were dropped
    _started: float = 0.0

    def retry(self) -> None:
        """Forget what failed: all is tried again."""
        self._unfit.clear()

    def fill(self, wait: Callable[[], bool]) -> bool:
        """Embed all that can be; False where `wait` ended it. Raises `Unavailable` where embedding fails.

        `wait` blocks while something more urgent goes on, and says whether to go on at all.
        """
        self.progress = Progress("embedding")
        model = self.models.current(self._identify, lambda stored: bool(self.catalog.pending_chunks(stored, 1)))
        with self.catalog.read() as reader:
            count = reader.count(model)
        self._started = time.monotonic()
        self.progress = Progress("embedding", chunks_total=max(0, count.chunks - count.embedded_chunks))
        while wait():
            if not (pending := self._pending(model)):
                self._finish(model)
                return True
            self._group(model, pending, wait)
        return False

    def _finish(self, model: str) -> None:
        self.models.drop_previous()
        if self._untidy[model] >= _TIDY_AFTER:
            self.archive.prune(model, self.vector_sync.hashes(model))  # so that changes don't fill the disk
            self._untidy[model] = 0
        reasons, note = list(self._unfit.values()), ""
        if reasons:
            note = f"{len(reasons):,} passages can't be embedded ({reasons[0]}); keyword search finds them."
        self.errors.note(EMBEDDINGS, note)

    def _identify(self) -> str:
        """The model that the children hold. Raises `Unavailable` where it can't be loaded."""
        try:
            ((_, answer),) = self.pool.map([("identify", 0, None)])
        except Exception as error:  # whatever a model's files make its libraries raise
            if not isinstance(error, LibrarianError | PoolClosed):
                logger.exception("the model can't be loaded")
            answer = error
        if isinstance(answer, BaseException):
            raise _explained(answer)
        return str(answer)

    def _pending(self, model: str) -> Sequence[tuple[StoredChunk, str]]:
        """The chunks to embed next, with their prefixes."""
        for among in (self.wanted, None):
            if among is None or among:
                found = self.catalog.pending(model, _GROUP + len(self._unfit), among)
                if fit := [(chunk, prefix) for chunk, prefix in found if chunk.chunk_id not in self._unfit]:
                    return fit[:_GROUP]
        return []

    def _group(self, model: str, pending: Sequence[tuple[StoredChunk, str]], wait: Callable[[], bool]) -> None:
        chunks = [(chunk.chunk_id, prefix, paths_alone(chunk.chunk.text)) for chunk, prefix in pending]
        windows: dict[int, list[Window]] = {}  # of chunks that lack vectors
        for rows, cut in self._in_parts("cut", chunks, _CUT_AT_ONCE):
            if isinstance(cut, BaseException):
                self._unfit[rows[0][0]] = str(cut)
            else:
                windows.update(zip([row[0] for row in rows], cut, strict=True))
        texts = {window.hash: window.text for cut in windows.values() for window in cut}
        vectors = self.archive.get(model, list(texts))
        self._shelve(model, windows, vectors)
        missing = sorted(texts.keys() - vectors.keys(), key=lambda digest: (-len(texts[digest]), digest))
        for part, matrix in self._in_parts("embed", [(digest, texts[digest]) for digest in missing], _EMBED_AT_ONCE):
            if isinstance(matrix, BaseException):
                logger.warning("a passage can't be embedded: %s", matrix)
                digest = part[0][0]
                users = [chunk_id for chunk_id, cut in windows.items() if digest in {window.hash for window in cut}]
                self._unfit.update(dict.fromkeys(users, str(matrix)))
                continue
            fresh: dict[str, Vector] = dict(zip([digest for digest, _ in part], matrix, strict=True))
            self.archive.put(model, fresh)
            self.fault("archive put")
            self._untidy[model] += len(fresh)
            vectors.update(fresh)
            self._shelve(model, windows, vectors)
            if not wait():
                return

    def _shelve(self, model: str, windows: dict[int, list[Window]], vectors: dict[str, Vector]) -> None:
        """Put chunks whose vectors are all there into the stores, and take them out of `windows`."""
        hashes = {chunk_id: [window.hash for window in cut] for chunk_id, cut in windows.items()}
        ready = {chunk_id: given for chunk_id, given in hashes.items() if vectors.keys() >= set(given)}
        if not ready:
            return
        self.vector_sync.put(model, ready, vectors)
        for chunk_id in ready:
            del windows[chunk_id]
        done, total = self.progress.chunks_embedded + len(ready), self.progress.chunks_total
        elapsed_s = max(time.monotonic() - self._started, 1e-3)
        self.progress = Progress(
            "embedding",
            chunks_embedded=done,
            chunks_total=total,
            chunks_per_s=done / elapsed_s,
            eta_s=time_left(done, total, elapsed_s),
        )

    # -- in the children -------------------------------------------------------------------------------------------

    def _in_parts(self, method: str, rows: Sequence[Row], at_once: int) -> Iterator[tuple[Sequence[Row], Any]]:
        """Answers part by part. A part that fails is done again row by row; only single rows come with an error.

        Raises `Unavailable` where the model or its setting says so, or where single rows keep failing.
        """
        failed: list[Row] = []
        for part, answer in self._answers(method, rows, at_once):
            if isinstance(answer, BaseException):
                failed += part
            else:
                yield part, answer
        in_a_row = 0
        for part, answer in self._answers(method, failed, 1):
            in_a_row = in_a_row + 1 if isinstance(answer, BaseException) else 0
            if in_a_row >= _HOPELESS:
                self._unfit.clear()
                raise _explained(answer)
            yield part, answer

    def _answers(self, method: str, rows: Sequence[Row], at_once: int) -> Iterator[tuple[Sequence[Row], Any]]:
        parts = [rows[start : start + at_once] for start in range(0, len(rows), at_once)]
        calls: list[Call] = [(method, place, part) for place, part in enumerate(parts)]
        for (_, place, _), answer in self.pool.map(calls):
            if isinstance(answer, LibrarianError):  # not about the text: a service or a setting that doesn't work
                raise _explained(answer)
            yield parts[place], answer


def _explained(error: BaseException) -> Unavailable:
    if isinstance(error, LibrarianError):
        return error if isinstance(error, Unavailable) else Unavailable(error.message, hint=error.hint)
    kind = type(error).__name__
    return Unavailable(
        f"Embedding fails ({kind}: {error}).", hint="Keyword search goes on; see the log, and `librarian doctor`."
    )
