"""Keeps the index equal to the folder: at start, whenever the watcher reports changes, and from time to time anyway.

Two threads: one compares files and writes text, the other embeds and gives way to the first.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..embeddings.base import Embedder
from ..errors import LibrarianError, SetupError, SourceError, Unavailable
from ..files.paths import Paths
from ..models import Count, IndexReport, Progress
from ..parsing.reader import FileReader
from ..schemas import CheckResponse
from ..storage.base import Catalog, EmbeddingCache, KeywordIndex
from ..vector_stores.base import VectorStore
from ..vector_stores.sync import VectorSync
from .changes import MissingFiles, compare
from .embedding_worker import EMBEDDINGS, EmbeddingWorker, ModelsInUse, embedder_pool
from .log import ErrorLog, log_report
from .malloc import give_back
from .refresh import Refresh, reader_pool
from .scanner import IGNORE_FILES, FolderScanner
from .workers import WorkerPool
from .writer import Batch, IndexWriter, check_keyword_index

if TYPE_CHECKING:
    from ..storage.postgres.leader import LeaderLock
    from .watcher import FileWatcher

logger = logging.getLogger(__name__)

_ROOT_RETRY_S = 30.0  # how often a missing root is looked for
_TEXT_RETRY_S = (1.0, 30.0)  # text work that failed is tried again after the first, doubling up to the second
_EMBEDDING_RETRY_S = (60.0, 3600.0)  # as is embedding
_GIVE_WAY_S = 1.0  # that a part of the embedding waits at most for questions that are being answered
_MOST_WANTED = 100  # documents whose passages are embedded first
_SHOWN = 3  # file paths that a sentence names
_ELSEWHERE = "Another server indexes this library."


@dataclass(frozen=True, slots=True)
class IndexerOptions:
    """How the indexer works. Times in seconds, memory in MiB."""

    processes: int = 2  #: that read files
    file_timeout_s: float = 60.0
    file_memory_mb: int | None = 1024
    embedding_processes: int = 1
    scan_at_start: bool = True
    reconcile_s: float = 600.0  #: how often the whole folder is scanned, because watchers miss changes
    idle_s: float = 60.0  #: worker processes end after that long without work
    nice: int = 10  #: of the processes that read
    embedding_nice: int = 2  #: of those that embed: beside two other busy processes they get a third of two cores
    pool: Callable[..., WorkerPool[Any, Any]] = WorkerPool


class Listeners:
    """Callbacks for new index versions."""

    def __init__(self) -> None:
        self._callbacks: dict[object, Callable[[int], None]] = {}

    def __call__(self, generation: int) -> None:
        for callback in list(self._callbacks.values()):
            try:
                callback(generation)
            except Exception:  # a listener's bug must not stop the indexer
                logger.exception("A listener failed on generation %d", generation)

    def add(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Begin to call `callback`; the returned function ends it."""
        key = object()
        self._callbacks[key] = callback
        return lambda: self._callbacks.pop(key, None) and None


class Indexer:
    """Reads what changed below `root` into catalog, keyword index and vector stores.

    `refresh` and its like may be called directly and block until done; `start` does the same in the background, for
    what `changed` reports. All methods may be called from any thread.

    Args:
        stores_for: gives the vector stores of a model's fingerprint.
        embedder: builds the model inside a worker process, so it must be importable there; None leaves embedding out.
        model_key: names what `embedder` would load (model, backend, server): while it stays the same, the last
            fingerprint is taken as known and no process is started to ask.
        watcher: makes a watcher that reports what changed; None if changes aren't watched for.
        listeners: are called with new index versions.
        leader: decides which of several servers indexes; the others ask that one to scan. None if there is only one.
        fault: is called with the name of each step, so that tests can end the process there.
    """

    def __init__(
        self,
        root: Path | str,
        scanner: FolderScanner,
        reader: FileReader,
        catalog: Catalog,
        lexical: KeywordIndex,
        archive: EmbeddingCache,
        *,
        stores_for: Callable[[str], Sequence[VectorStore]] = lambda model: (),
        embedder: Callable[[], Embedder] | None = None,
        model_key: str = "",
        options: IndexerOptions = IndexerOptions(),
        watcher: Callable[[Callable[[Iterable[str]], None]], FileWatcher] | None = None,
        listeners: Listeners | None = None,
        leader: LeaderLock | None = None,
        fault: Callable[[str], None] = lambda step: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._root = os.path.abspath(root)
        self._scanner = scanner
        self._reader = reader
        self._catalog = catalog
        self._lexical = lexical
        self._archive = archive
        self._options = options
        self._make_watcher = watcher
        self._watcher: FileWatcher | None = None
        self._leader = leader
        listeners = listeners or Listeners()
        self.on_generation = listeners.add
        self._announce = leader.announce if leader is not None else listeners
        self._clock = clock
        self._errors = ErrorLog()
        self._vectors_sync = VectorSync(catalog, archive, stores_for, fault)
        self._writer = IndexWriter(catalog, lexical, self._vectors_sync, fault)
        self._missing = MissingFiles(self._root, scanner, catalog, self._errors, clock)
        self.missing_reason = self._missing.missing_reason
        self._models = ModelsInUse(catalog, self._vectors_sync, model_key)
        self.model, self.answering_key = self._models.answering, self._models.answering_key
        self._readers = reader_pool(reader, options)
        self._embedding = embedder and EmbeddingWorker(
            catalog, archive, self._vectors_sync, self._models, embedder_pool(embedder, options), self._errors, fault
        )
        self.last_indexed_at: float | None = None  #: seconds since the epoch; None before the first refresh
        self._refreshing = threading.RLock()  # one refresh at a time; guards what follows
        self._prepared = False
        self._again = frozenset[str]()  # file paths that the next look at everything reads whatever they look like
        self._counts = Counter[str]()  # what refreshes found since `update` reported it
        self._text_progress = Progress("idle")
        self._stop = threading.Event()
        self._threads: tuple[threading.Thread, ...] = ()
        self._state = threading.Condition()  # guards what follows
        self._busy = 0  # refreshes wanted or under way: embedding gives way
        self._answering = 0  # questions: embedding gives way for a moment
        self._inbox = frozenset[str]()  # paths to look at
        self._scan_wanted = False  # whether to look at everything now
        self._scanned_at = 0.0  # when everything was looked at, by the monotonic clock
        self._text_pause_s = 0.0  # until text work that failed is tried again
        self._pending = embedder is not None  # passages may lack vectors
        self._is_embedding = False
        self._retry_at = self._backoff_s = 0.0  # when embedding that failed is tried again

    # -- called directly -------------------------------------------------------------------------------------------

    def refresh(self, paths: Iterable[str] | None = None) -> IndexReport:
        """Make the text equal to the folder; with `paths` (absolute), look only there.

        Raises `SetupError` where this index belongs to another root.
        """
        with self._counting("_busy"), self._refreshing:
            return self._refresh(None if paths is None else frozenset(map(os.path.abspath, paths)), self._prepare())

    def embed(self) -> int:
        """Embed what is pending; returns the number of passages done. Raises `Unavailable` where that fails.

        One thread at a time: where it was started, that is its own.
        """
        if self._embedding is None:
            return 0
        with self._state:
            self._pending, self._is_embedding = False, True
        finished = False
        try:
            with self._refreshing:
                self._prepare()
            finished = self._embedding.fill(self._give_way)
            done = self._embedding.progress.chunks_embedded
            if done and finished:
                logger.info("Embedded what had no vector: %d passages in all", done)
                self._announce(self._catalog.bump())
            return done
        except Exception as error:
            if not self._stop.is_set():
                self._errors.note(EMBEDDINGS, str(error))
            raise
        finally:
            with self._state:
                self._is_embedding = False
                self._pending = self._pending or not finished
                self._state.notify_all()

    def check(self, *, repair: bool = False) -> list[str]:
        """What catalog, keyword index and stores lack or hold too much, in sentences; with `repair`, what is mended."""
        with self._counting("_busy"), self._refreshing:
            folder, unread = self._examine_folder()
            if not repair:
                found = folder + check_keyword_index(self._catalog, self._lexical)[0]
                for model in self._models.fingerprints():
                    found += self._vectors_sync.examine(model) + self._vectors_sync.examine_archive(model)
                return found
            self._prepared = False
            found = self._prepare()
            for model in self._models.fingerprints():
                found += self._vectors_sync.examine_archive(model, repair=True)
            self._wake_embedding()
            self._again |= unread
            if folder or found or "root" in self._errors:
                self._refresh(None)
            return found if "root" in self._errors else folder + found

    # -- on demand -------------------------------------------------------------------------------------------------

    @contextmanager
    def _on_demand(self) -> Iterator[None]:
        """What failed is tried again; errors are the caller's, and the work is repeated as soon as it can be."""
        if not self._leads:
            raise Unavailable(_ELSEWHERE, hint="Run this on the server that says `watching`, or end that server.")
        self.retry()
        try:
            yield
        except SetupError:
            raise
        except Exception:
            self.scan_soon()
            raise

    def update(self, *, rebuild: bool = False, prune: bool = False) -> IndexReport:
        """Look at everything; the report includes what the background found since the last one.

        With `rebuild`, every file is read again; nothing is embedded again but what changed. With `prune`, what is
        missing is dropped however much it is, and so are vectors that nothing uses. Another server that indexes is
        asked to scan, or refuses the two (`Unavailable`).
        """
        if not (rebuild or prune) and self._asked_elsewhere():
            with self._catalog.read() as reader:
                return IndexReport(generation=reader.generation, notes=(f"{_ELSEWHERE} It was asked to scan.",))
        with self._on_demand(), self._counting("_busy"), self._refreshing:
            notes = self._prepare()
            if rebuild:
                self._again = frozenset(self._catalog.known())
            report = self._refresh(None, notes, prune=prune)
            for model in self._archive.models() if prune else ():
                self._archive.prune(model, self._vectors_sync.hashes(model), unused_share=0)
            for model in self._models.fingerprints() if rebuild else ():
                self._vectors_sync.clear(model)  # it is filled anew from the archive
            self._wake_embedding()
            if rebuild and "root" not in self._errors:
                report = replace(report, notes=("Every file was read again.", *report.notes))
        counts, self._counts = self._counts, Counter()
        found = report.unchanged + report.added + report.changed + report.moved
        unchanged = max(0, found - counts["added"] - counts["changed"] - counts["moved"])
        totals: dict[str, Any] = {kind: counts[kind] for kind in ("added", "changed", "removed", "moved")}
        return replace(report, unchanged=unchanged, **totals)

    def verify(self, repair: bool = False) -> CheckResponse:
        """Compare catalog, keyword index, vectors and folder with each other; with `repair`, fix what differs.

        A catalog that contradicts itself is fixed by reading every file again. While the folder is missing, its
        documents are kept, which is a problem that no repair fixes. Raises `Unavailable` for a repair if another server
        indexes.
        """
        errors, differences = self._catalog.verify(), []
        if repair:
            with self._on_demand():
                if errors:
                    self.update(rebuild=True)
                    errors, differences = self._catalog.verify(), errors
                differences += self.check(repair=True)
            if missing := self._errors.get("root"):
                errors = [*errors, missing]
        else:
            differences += self.check()
        with self._catalog.read() as reader:
            count = reader.count()
        return CheckResponse(
            ok=not errors and (repair or not differences),
            problems=[*errors, *([] if repair else differences)],
            repaired=differences if repair else [],
            documents=count.documents,
            chunks=count.chunks,
            vectors=self._archive.count(),
        )

    @property
    def _leads(self) -> bool:
        return self._leader is None or self._leader.leading

    def _asked_elsewhere(self) -> bool:
        """Whether another server indexes, which is asked to scan."""
        if self._leader is not None and not self._leads:
            self._leader.request_scan()
        return not self._leads

    # -- getting ready ---------------------------------------------------------------------------------------------

    def _prepare(self) -> list[str]:
        """Before the first work, each look at everything and after a failure: is it the same library, was it made by
        the same rules, do its parts agree? Repairs what can be repaired without reading files."""
        if self._prepared:
            return []
        self._check_root()
        rules = self._catalog.meta("reader")
        notes: list[str] = []
        if rules and rules != self._reader.fingerprint:
            self._again = frozenset(self._catalog.known())
            notes.append(f"The rules of reading have changed: {len(self._again):,} files are read again.")
        if self._embedding is not None and self._models.changed():
            notes.append(
                "The embedding model has changed: passages are embedded again; the old vectors answer meanwhile."
            )
        self._vectors_sync.use(self._models.fingerprints())
        repaired, unread = check_keyword_index(self._catalog, self._lexical, repair=True)
        self._again |= unread
        for model in self._models.fingerprints():
            repaired += self._vectors_sync.repair(model)
        for sentence in repaired:
            logger.warning("%s", sentence)
        self._wake_embedding()
        self._prepared = True
        return notes + repaired

    def _check_root(self) -> None:
        """An index that holds nothing yet, of a mistyped folder for example, is any folder's."""
        held = self._catalog.meta("root")
        if held == self._root:
            return
        if held and not self._is_moved(held):
            raise SetupError(
                f"This index belongs to the library in {held}, not to {self._root}.",
                hint="Choose another index folder with --index or `index.path`, or set docs.root_path back.",
            )
        self._catalog.set_meta("root", self._root)

    def _is_moved(self, held: str) -> bool:
        """Whether the library of `held` lies in the root now: it is the same folder, or gone with most of its files
        here."""
        with self._catalog.read() as reader:
            sources = [stored.document.source for stored in reader.iter_documents()]
        if sources and os.path.lexists(held):
            return os.path.exists(self._root) and os.path.exists(held) and os.path.samefile(held, self._root)
        here = sum(os.path.lexists(os.path.join(self._root, source)) for source in sources)
        return here * 2 > len(sources) or not sources

    def _examine_folder(self) -> tuple[list[str], frozenset[str]]:
        """How the index differs from the folder, in sentences, and what has to be read; compares all content."""
        known = self._catalog.known()
        try:
            diff = compare(self._scanner.scan(), known, Paths(self._root).on_disk, doubted=known)
        except SourceError as error:
            return [str(error)], frozenset()
        if diff.deleted and (why := self.missing_reason()):
            return [why], frozenset()
        unread, found = [source.file_path for source in diff.to_read], []
        for paths, what in (
            (unread, "files are new or changed"),
            (list(diff.deleted), "documents have no file any more"),
        ):
            if paths:
                found.append(f"{len(paths):,} {what}: {', '.join(paths[:_SHOWN])}{', …' if paths[_SHOWN:] else ''}.")
        return found, frozenset(unread)

    # -- text ------------------------------------------------------------------------------------------------------

    def _refresh(self, paths: frozenset[str] | None, notes: Sequence[str] = (), *, prune: bool = False) -> IndexReport:
        for path in paths or ():
            if os.path.basename(path) in IGNORE_FILES or os.path.commonpath((path, self._root)) == path:
                paths = None  # it is the root or above, or may concern any file
                break
        self._text_progress = Progress("scanning")
        try:
            look = Refresh(
                self._root,
                self._scanner,
                self._catalog,
                self._readers,
                self._missing,
                write=self._write,
                limits=f"{self._options.file_timeout_s:g} s, {self._options.file_memory_mb or 0} MiB",
                progress=partial(setattr, self, "_text_progress"),
                stopping=self._stop.is_set,
            )
            report = look.run(paths, self._again if paths is None else frozenset(), prune=prune)
        except SourceError as error:
            if error.reason != "root":
                raise
            note = self._missing.keep(error)
            with self._catalog.read() as reader:
                return IndexReport(generation=reader.generation, notes=(*notes, note))
        finally:
            self._text_progress = Progress("idle")
        if not self._stop.is_set():
            if paths is None:
                self._again = frozenset()
                if self._catalog.meta("reader") != self._reader.fingerprint:
                    self._catalog.set_meta("reader", self._reader.fingerprint)
            self.last_indexed_at = self._clock()
            log_report(report)
            self._counts.update({kind: getattr(report, kind) for kind in ("added", "changed", "removed", "moved")})
        return replace(report, notes=tuple(notes))

    def _write(self, batch: Batch) -> int:
        try:
            generation = self._writer.write(batch)
        except BaseException:
            self._prepared = False  # something is half done: compare before going on
            raise
        self._announce(generation)
        self._wake_embedding()
        return generation

    # -- state -----------------------------------------------------------------------------------------------------

    def errors(self) -> dict[str, str]:
        """What doesn't work, by part: index, database, root, embeddings, vectors."""
        errors = {"database": self._leader.error} if self._leader is not None and self._leader.error else {}
        errors |= self._errors
        if (loading := self._vectors_sync.loading) is not None:
            there, total, where = loading
            errors["vectors"] = f"{there:,} of {total:,} are in {where} so far; meaning finds among these."
        return errors

    def notes(self) -> list[str]:
        """What works in another way than it could, in sentences."""
        return [self._watcher.note] if self._watcher is not None and self._watcher.note else []

    @property
    def watching(self) -> bool:
        """Whether changes are being watched for."""
        return self._watcher is not None and not self._watcher.error

    def was_read(self) -> bool:
        """Whether the whole folder was ever read to its end, by this process or one before."""
        return bool(self._catalog.meta("reader"))

    def is_complete(self, count: Count | None = None) -> bool:
        """Whether nothing is still being embedded or read into memory, now or of a library that holds this much."""
        if self._embedding is None:  # then a database that doesn't answer isn't asked
            return True
        if count is None:
            with self._catalog.read() as reader:
                count = reader.count()
        return count.embedded_chunks >= count.chunks and "vectors" not in self.errors()

    def progress(self) -> Progress:
        """How far the work is."""
        if self._embedding is not None and self._is_embedding and self._text_progress.phase == "idle":
            return self._embedding.progress
        return self._text_progress  # meanwhile embedding waits

    # -- running ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to scan, to embed and to follow the watcher; with a `leader`, once this server leads.

        Raises `SetupError` where this index belongs to another root.
        """
        if self._leader is None:
            self._begin()
        else:
            self._leader.start(self._lead, self._end, self.scan_soon)

    def _lead(self) -> None:
        try:
            self._begin()
        except Unavailable:
            raise  # the lock is released and requested again
        except LibrarianError as error:
            self._errors.note("index", str(error))

    def _begin(self) -> None:
        if self._threads:
            return
        self._check_root()
        self._prepared = False  # another process may have been at work since this one stopped
        self._text_pause_s = self._retry_at = self._backoff_s = 0.0
        self._scan_wanted, self._scanned_at = self._options.scan_at_start, time.monotonic()
        if self._scan_wanted:
            self._text_progress = Progress("scanning")  # what the last run left may be out of date
        self._threads = (
            threading.Thread(target=self._run_text, name="indexer", daemon=True),
            threading.Thread(target=self._run_embedding, name="embedding", daemon=True),
        )
        for thread in self._threads:
            thread.start()
        if self._make_watcher is not None:
            self._watcher = self._make_watcher(self.changed)
            self._watcher.start()

    def stop(self) -> None:
        """End watcher, threads and worker processes, and let another server index; idempotent. What is under way is
        taken up at the next start."""
        if self._leader is not None:
            self._leader.close()
        self._end()

    def _end(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
        self._stop.set()
        with self._state:
            self._state.notify_all()
        self._close_pools()
        for thread in self._threads:
            thread.join()
        self._close_pools()  # a thread may have started a process just then
        self._threads = ()
        self._errors.clear()
        self._stop.clear()

    def _close_pools(self) -> None:
        self._readers.close()
        if self._embedding is not None:
            self._embedding.pool.close()

    def changed(self, paths: Iterable[str]) -> None:
        """Compare these paths (absolute) soon."""
        if not self._asked_elsewhere():
            with self._state:
                self._inbox |= frozenset(paths)
                self._state.notify_all()

    def scan_soon(self) -> None:
        """Scan the whole folder soon and compare all parts: changes may have been missed. Tries the model again."""
        with self._state:
            self._scan_wanted = True
        self.retry()

    def retry(self) -> None:
        """Try a failed model, and passages that couldn't be embedded, again now."""
        if self._embedding is not None:
            self._embedding.retry()
        with self._state:
            self._retry_at = self._backoff_s = 0.0
        self._wake_embedding()

    def wait_until_ready(self, timeout_s: float | None = None) -> bool:
        """Block until nothing is left for this server to do but what has failed; False where time is up first."""
        with self._state:
            return self._state.wait_for(lambda: not self._work_left(), timeout_s)

    def _work_left(self) -> bool:
        if self._busy or self._inbox or self._is_embedding:
            return True
        return bool(self._threads) and (self._scan_wanted or (self._pending and self._retry_at == 0.0))

    def answering(self) -> AbstractContextManager[None]:
        """While a question is being answered, embedding gives way."""
        return self._counting("_answering")

    @contextmanager
    def _counting(self, name: str) -> Iterator[None]:
        with self._state:
            setattr(self, name, getattr(self, name) + 1)
        try:
            yield
        finally:
            with self._state:
                setattr(self, name, getattr(self, name) - 1)
                self._state.notify_all()

    def embed_first(self, doc_ids: Iterable[int]) -> None:
        """Embed the passages of these documents before all others, those that were named last at first."""
        if self._embedding is not None:
            wanted = dict.fromkeys((*doc_ids, *self._embedding.wanted))
            self._embedding.wanted = tuple(wanted)[:_MOST_WANTED]

    def _wake_embedding(self) -> None:
        with self._state:
            self._pending = self._embedding is not None
            self._state.notify_all()

    # -- in the threads --------------------------------------------------------------------------------------------

    def _run_text(self) -> None:
        while True:
            with self._state:
                wait_s = self._scanned_at + self._pause() - time.monotonic()
                self._state.wait_for(
                    lambda: self._stop.is_set() or self._inbox or self._scan_wanted,
                    max(0.0, min(wait_s, self._options.idle_s)),
                )
                if self._stop.is_set():
                    return
                everything = self._scan_wanted or time.monotonic() >= self._scanned_at + self._pause()
                paths, self._inbox = self._inbox, frozenset()
                self._scan_wanted = False
                self._busy += 1 if everything or paths else 0
            if not (everything or paths):
                self._rest()
                continue
            self._look(None if everything else paths)
            with self._state:
                self._busy -= 1
                self._state.notify_all()

    def _look(self, paths: frozenset[str] | None) -> None:
        """Make the index equal to what is there; what fails is tried again by looking at everything."""
        was_missing = "root" in self._errors
        try:
            if paths is None:
                self._prepared = False
            report = self.refresh(paths)
            self._text_pause_s = 0.0
            if "index" in self._errors:
                self._errors.note("index", "")
                self.retry()  # what kept text from being written, as a full disk, may have kept vectors, too
                self._scan_wanted = self._scan_wanted or paths is not None  # for what failed before
            # Whether those files are gone, elsewhere or back is seen by looking at everything.
            came = report.added or report.changed or report.moved or report.unchanged
            if paths is not None and "root" in self._errors and (came or not was_missing):
                self.scan_soon()
        except Exception as error:
            if not self._stop.is_set():
                logger.exception("indexing failed")
                self._errors.note("index", f"Indexing failed and is tried again: {error}")
                self._text_pause_s = min(2 * self._text_pause_s, _TEXT_RETRY_S[1]) or _TEXT_RETRY_S[0]
        if paths is None or "index" in self._errors:
            self._scanned_at = time.monotonic()
        if paths is None:
            give_back()

    def _pause(self) -> float:
        """Seconds from one look at everything to the next."""
        soon = {"root": _ROOT_RETRY_S, "index": self._text_pause_s}
        return min([self._options.reconcile_s, *(pause for part, pause in soon.items() if part in self._errors)])

    def _rest(self) -> None:
        """End children that have had nothing to do for a while, and give back what working and answering left free."""
        with self._refreshing:
            if self._is_embedding:
                return
            self._close_pools()
        give_back()

    def _run_embedding(self) -> None:
        while True:
            with self._state:
                if self._stop.is_set():
                    return
                wait_s = self._retry_at - time.monotonic()
                if not self._pending or self._busy or self._scan_wanted or wait_s > 0:
                    self._state.wait(wait_s if wait_s > 0 else None)
                    continue
            try:
                self.embed()
                with self._state:
                    self._backoff_s = self._retry_at = 0.0
            except Exception as error:
                if self._stop.is_set():
                    return
                if not isinstance(error, Unavailable):
                    logger.exception("embedding failed")
                with self._state:
                    self._backoff_s = min(self._backoff_s * 2, _EMBEDDING_RETRY_S[1]) or _EMBEDDING_RETRY_S[0]
                    self._retry_at = time.monotonic() + self._backoff_s
                    self._state.notify_all()

    def _give_way(self) -> bool:
        """Wait while files are looked at, and a moment for questions; False where embedding is to end."""
        until = time.monotonic() + _GIVE_WAY_S
        with self._state:
            while (self._busy or (self._answering and time.monotonic() < until)) and not self._stop.is_set():
                self._state.wait(0.2)
        return not self._stop.is_set()
