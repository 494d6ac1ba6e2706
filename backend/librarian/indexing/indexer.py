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
from typing import NamedTuple

from ..embeddings.base import Embedder
from ..errors import SetupError, SourceError, Unavailable
from ..models import Count, IndexReport, Progress, time_left
from ..parsing.base import Reader
from ..storage.base import Catalog, EmbeddingCache, KeywordIndex
from ..vector_stores.base import VectorStore
from ..vector_stores.sync import VectorSync
from .changes import MissingFiles, examine_folder, is_moved
from .emails import ErrorLog, log_report
from .embedding_worker import BACKOFF_S, EMBEDDINGS, ModelsInUse, Rate, VectorWork
from .malloc import give_back
from .refresh import Children, Refresh, Scope
from .scanner import IGNORE_FILES, FolderScanner
from .writer import Batch, IndexWriter, examine_lexical, repair_lexical

logger = logging.getLogger(__name__)

_ROOT_RETRY_S = 30.0  # how often a missing root is looked for
_TEXT_RETRY_S = (1.0, 30.0)  # text work that failed is tried again after the first, doubling up to the second
_GIVE_WAY_S = 1.0  # that a part of the embedding waits at most for questions that are being answered
_MOST_WANTED = 100  # documents whose passages are embedded first


@dataclass(frozen=True, slots=True)
class IndexerOptions:
    """How the indexer works. Times in seconds, memory in MiB."""

    processes: int = 2  #: that read files; 0 reads in this process, without limits
    file_timeout_s: float = 60.0
    file_memory_mb: int | None = 1024
    embedding_processes: int = 1  #: 0 embeds in this process
    reconcile_s: float = 600.0  #: how often the whole folder is scanned, because watchers miss changes
    idle_s: float = 60.0  #: worker processes end after that long without work
    nice: int = 10  #: of the processes that read
    embedding_nice: int = 2  #: of those that embed: beside two other busy processes they get a third of two cores


class _Task(NamedTuple):
    """What the text thread does next."""

    everything: bool
    paths: frozenset[str]  #: absolute
    missed: bool  #: whether files were missing before it


class Indexer:
    """Reads what changed below `root` into catalog, keyword index and vector stores.

    `refresh` and its like may be called directly and block until done; `start` does the same in the background, for
    what `changed` reports. All methods may be called from any thread.

    `stores_for` gives the vector stores of a model's fingerprint; `embedder` builds the model inside a worker process
    (so it must be importable there), None leaves embedding out. `model_key` names what `embedder` would load (model,
    backend, server): while it stays the same, the last fingerprint is taken as known and no process is started to ask.
    `fault` is called with the name of each step, so that tests can end the process there.
    """

    def __init__(
        self,
        root: Path | str,
        scanner: FolderScanner,
        reader: Reader,
        catalog: Catalog,
        lexical: KeywordIndex,
        archive: EmbeddingCache,
        *,
        stores_for: Callable[[str], Sequence[VectorStore]] = lambda model: (),
        embedder: Callable[[], Embedder] | None = None,
        model_key: str = "",
        options: IndexerOptions = IndexerOptions(),
        on_generation: Callable[[int], None] = lambda generation: None,
        fault: Callable[[str], None] = lambda step: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._root = os.path.abspath(root)
        self._scanner = scanner
        self._reader = reader
        self._catalog = catalog
        self._lexical = lexical
        self._archive = archive
        self._embedder = embedder
        self._options = options
        self._on_generation = on_generation
        self._fault = fault
        self._clock = clock
        self._vectors_sync = VectorSync(catalog, archive, stores_for, fault)
        self._writer = IndexWriter(catalog, lexical, self._vectors_sync, fault)
        self._refreshing = threading.RLock()  # one refresh at a time
        self._filling = threading.Lock()  # one filling at a time
        self._writing = threading.RLock()  # one writer of text or vectors at a time
        self._state = threading.Condition()  # guards what follows
        self._busy = 0  # refreshes wanted or under way: embedding gives way
        self._answering = 0  # questions: embedding gives way for a moment
        self._wanted: tuple[int, ...] = ()  # documents that were shown last
        self._pending = embedder is not None  # passages may lack vectors
        self._embedding = False
        self._stop = threading.Event()
        self._prepared = False
        self._forced = Scope()
        self._children = Children(reader, options)
        self._errors: dict[str, str] = {}
        self._text_progress = Progress("idle")
        self._rate = Rate()
        self._missing = MissingFiles(self._root, scanner, catalog, self._errors, clock)
        self.missing_reason = self._missing.missing_reason
        self._models = ModelsInUse(catalog, self._vectors_sync, model_key)
        self.model = self._models.answering
        self._vectors = VectorWork(
            catalog,
            archive,
            self._vectors_sync,
            self._models,
            partial(self._children.embedding, embedder) if embedder is not None else None,
            errors=self._errors,
            writing=self._writing,
            fault=fault,
            progress=partial(setattr, self, "_rate"),
            wanted=lambda: self._wanted,
        )
        self.last_indexed_at: float | None = None  #: seconds since the epoch; None before the first refresh
        self._counts = Counter[str]()  # what refreshes found since `take_counts`
        self._threads: tuple[threading.Thread, ...] = ()
        self._inbox = frozenset[str]()
        self._scan_at = 0.0  # when everything is scanned next, by the monotonic clock; 0 means now
        self._text_pause_s = 0.0  # until text work that failed is tried again
        self._retry_at = self._backoff_s = 0.0  # when embedding may be tried again
        self._error_log = ErrorLog()

    # -- called directly -------------------------------------------------------------------------------------------

    def refresh(self, paths: Iterable[str] | None = None) -> IndexReport:
        """Make the text equal to the folder; with `paths` (absolute), look only there.

        Raises `SetupError` where this index belongs to another root.
        """
        with self._urgent(), self._refreshing:
            self._text_progress = Progress("scanning")
            try:
                notes = self._prepare()
                return self._refresh(Scope() if paths is None else self._scope(map(os.path.abspath, paths)), notes)
            finally:
                self._text_progress = Progress("idle")

    def embed(self, stop: threading.Event | None = None) -> int:
        """Embed what is pending; returns the number of passages done. Raises `Unavailable` where that fails."""
        if self._embedder is None:
            return 0
        with self._refreshing:
            self._prepare()
        with self._filling:
            with self._state:
                self._pending, self._embedding = False, True
            finished = False
            try:
                stop = stop or threading.Event()
                done, finished = self._vectors.fill(partial(self._give_way, stop), partial(self._stopped, stop))
                if done and finished:
                    logger.info("Embedded what had no vector: %d passages in all", done)
                    self._on_generation(self._catalog.bump())
                return done
            finally:
                with self._state:
                    self._embedding = False
                    self._pending = self._pending or not finished
                    self._rate = Rate()
                    self._state.notify_all()

    def check(self, *, repair: bool = False) -> list[str]:
        """What catalog, keyword index and stores lack or hold too much, in sentences; with `repair`, what is mended."""
        with self._urgent(), self._refreshing:
            folder, unread = examine_folder(self._root, self._scanner, self._catalog.known(), self.missing_reason)
            if not repair:
                found = folder + examine_lexical(self._catalog, self._lexical).sentences()
                for model in self._models.fingerprints():
                    found += self._vectors_sync.examine(model) + self._vectors_sync.examine_archive(model)
                return found
            found = list(dict.fromkeys([*self._prepare(), *self._reconcile()]))
            with self._writing:
                for model in self._models.fingerprints():
                    found += self._vectors_sync.examine_archive(model, repair=True)
            self._wake_embedding()
            self._forced = replace(self._forced, again=self._forced.again | unread)
            if folder or found or "root" in self._errors:
                self._refresh(Scope(), [])
            return found if "root" in self._errors else folder + found

    def rebuild(self) -> IndexReport:
        """Read every file again and fill the stores anew; what was found before is found meanwhile.

        Vectors come from the archive: nothing is embedded again but what changed.
        """
        with self._urgent(), self._refreshing:
            self._prepare()
            self._force_all()
            report = self._refresh(Scope(), [])
            again = () if "root" in self._errors else ("Every file was read again.",)
            with self._writing:
                for model in self._models.fingerprints():
                    self._vectors_sync.clear(model)
                self._vectors_sync.use(self._models.fingerprints())
            self._wake_embedding()
            return replace(report, notes=(*again, *report.notes))

    def prune(self) -> IndexReport:
        """Drop what is missing however much it is, and vectors that nothing has used for long."""
        with self._urgent(), self._refreshing:
            notes = self._prepare()
            with self._missing.pruning():
                report = self._refresh(Scope(), notes)
            for model in self._archive.models():
                self._archive.prune(model, self._vectors_sync.hashes(model))
            return report

    def take_counts(self) -> Counter[str]:
        """Files added, changed, removed and moved since this was last called, also in the background."""
        counts, self._counts = self._counts, Counter()
        return counts

    # -- getting ready ---------------------------------------------------------------------------------------------

    def _prepare(self) -> list[str]:
        """Before the first work: is it the same library, was it made by the same rules, do its parts agree?"""
        if self._prepared:
            return []
        self._check_root()
        rules = self._meta("reader")
        notes: list[str] = []
        if rules and rules != self._reader.fingerprint:
            number = self._force_all()
            notes.append(f"The rules of reading have changed: {number:,} files are read again.")
        if self._embedder is not None and self._models.changed():
            notes.append(
                "The embedding model has changed: passages are embedded again; the old vectors answer meanwhile."
            )
        with self._writing:
            self._vectors_sync.use(self._models.fingerprints())
            notes += self._reconcile()
        self._prepared = True
        return notes

    def _check_root(self) -> None:
        """An index that holds nothing yet, of a mistyped folder for example, is any folder's."""
        held = self._meta("root")
        with self._catalog.read() as reader:
            found = reader.count()
        other = held not in ("", self._root) and (found.documents or found.emails)
        if other and not is_moved(held, self._root, self._catalog):
            raise SetupError(
                f"This index belongs to the library in {held}, not to {self._root}.",
                hint="Choose another index folder with --index or `index.path`, or set docs.root_path back.",
            )
        if held != self._root:
            self._catalog.set_meta("root", self._root)

    def _reconcile(self) -> list[str]:
        """Repair what can be repaired without reading files, and note which files the next full look must read."""
        with self._writing:
            findings = examine_lexical(self._catalog, self._lexical)
            with self._catalog.read() as reader:
                repair_lexical(self._lexical, findings, reader.generation)
            self._forced = replace(self._forced, again=self._forced.again | frozenset(findings.missing))
            done = findings.sentences()
            for model in self._models.fingerprints():
                done += self._vectors_sync.repair(model)
        for sentence in done:
            logger.warning("%s", sentence)
        self._wake_embedding()
        return done

    def _force_all(self) -> int:
        known = frozenset(self._catalog.known())
        self._forced = replace(self._forced, again=known)
        return len(known)

    # -- text ------------------------------------------------------------------------------------------------------

    def _scope(self, paths: Iterable[str]) -> Scope:
        given = frozenset(paths)
        whole = any(
            path == self._root
            or self._root.startswith(path.rstrip(os.sep) + os.sep)
            or os.path.basename(path) in IGNORE_FILES  # a change of one may concern any file
            for path in given
        )
        return Scope() if whole else Scope(everything=False, paths=given)

    def _refresh(self, scope: Scope, notes: Sequence[str]) -> IndexReport:
        if scope.everything:
            scope = replace(self._forced, everything=True)
        try:
            look = Refresh(
                self._root,
                self._scanner,
                self._catalog,
                write=self._write,
                pool=self._children.reading,
                keep_missing=self._missing.judge,
                missing_reason=self._missing.missing_reason,
                progress=partial(setattr, self, "_text_progress"),
                stopping=self._stop.is_set,
                limits=self._children.limits,
            )
            report = look.run(scope)
        except SourceError as error:
            if error.reason != "root":
                raise
            note = self._missing.keep(error)
            with self._catalog.read() as reader:
                return IndexReport(generation=reader.generation, notes=(*notes, note))
        finally:
            self._text_progress = Progress("idle")
        report = replace(report, notes=(*notes, *report.notes))
        if self._stop.is_set():
            return report
        if scope.everything:
            self._forced = Scope()
            if self._meta("reader") != self._reader.fingerprint:
                self._catalog.set_meta("reader", self._reader.fingerprint)
        self.last_indexed_at = self._clock()
        log_report(report)
        self._counts.update({kind: getattr(report, kind) for kind in ("added", "changed", "removed", "moved")})
        return report

    def _write(self, batch: Batch) -> int:
        with self._writing:
            try:
                generation = self._writer.write(batch)
            except BaseException:
                self._prepared = False  # something is half done: compare before going on
                raise
        self._on_generation(generation)
        self._wake_embedding()
        return generation

    def _give_way(self, stop: threading.Event) -> bool:
        """Wait while files are looked at, and a moment for questions; False where embedding is to end."""
        until = time.monotonic() + _GIVE_WAY_S
        with self._state:
            while (self._busy or (self._answering and time.monotonic() < until)) and not self._stopped(stop):
                self._state.wait(0.2)
        return not self._stopped(stop)

    def _stopped(self, stop: threading.Event) -> bool:
        return stop.is_set() or self._stop.is_set()

    # -- small things ----------------------------------------------------------------------------------------------

    def _urgent(self) -> AbstractContextManager[None]:
        """While this lasts, embedding gives way."""
        return self._counting("_busy")

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
        with self._state:
            self._wanted = tuple(dict.fromkeys((*doc_ids, *self._wanted)))[:_MOST_WANTED]

    def _meta(self, key: str) -> str:
        with self._catalog.read() as reader:
            return reader.meta(key)

    def _wake_embedding(self) -> None:
        with self._state:
            self._pending = self._embedder is not None
            self._state.notify_all()

    # -- state -----------------------------------------------------------------------------------------------------

    def errors(self) -> dict[str, str]:
        """What doesn't work, by part: root, index, embeddings, vectors."""
        errors = dict(self._errors)
        if (loading := self._vectors_sync.loading) is not None:
            there, total, where = loading
            errors["vectors"] = f"{there:,} of {total:,} are in {where} so far; meaning finds among these."
        return errors

    def is_complete(self, count: Count | None = None) -> bool:
        """Whether nothing is still being embedded or read into memory, now or of a library that holds this much."""
        if self._embedder is None:  # then a database that doesn't answer isn't asked
            return True
        if count is None:
            with self._catalog.read() as reader:
                count = reader.count()
        return count.embedded_chunks >= count.chunks and "vectors" not in self.errors()

    def progress(self) -> Progress:
        """How far the work is."""
        text, rate = self._text_progress, self._rate
        if not self._embedding:
            return text
        left = time_left(rate.done, rate.total, rate.elapsed_s)
        return replace(
            text,
            phase="embedding" if text.phase == "idle" else text.phase,
            chunks_embedded=rate.done,
            chunks_total=rate.total,
            chunks_per_s=rate.per_s,
            eta_s=left if text.phase == "idle" else text.eta_s,
        )

    def answering_key(self) -> str:
        """`model_key` of the model whose vectors answer, where that isn't the configured one; empty otherwise."""
        return self._models.answering_key() if self._embedder is not None else ""

    # -- running ---------------------------------------------------------------------------------------------------

    def start(self, *, scan: bool = True) -> None:
        """Begin: scan everything (only later if not `scan`), then embed, then follow the watcher.

        Raises `SetupError` where this index belongs to another root.
        """
        if self._threads:
            return
        self._check_root()
        self._prepared = False  # another process may have been at work since this one stopped
        self._text_pause_s = self._retry_at = self._backoff_s = 0.0
        self._scan_at = 0.0 if scan else time.monotonic() + self._pause()
        self._error_log = ErrorLog()
        if scan:
            self._text_progress = Progress("scanning")  # what the last run left may be out of date
        self._threads = (
            threading.Thread(target=self._run_text, name="indexer", daemon=True),
            threading.Thread(target=self._run_embedding, name="embedding", daemon=True),
        )
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads and the children; idempotent. What is under way is taken up at the next start."""
        self._stop.set()
        with self._state:
            self._state.notify_all()
        self._children.close()
        for thread in self._threads:
            thread.join()
        self._children.close()  # a thread may have started a process just then
        self._threads = ()
        self._stop.clear()

    def __enter__(self) -> Indexer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def changed(self, paths: frozenset[str]) -> None:
        """The watcher's news: look there soon."""
        with self._state:
            self._inbox |= paths
            self._state.notify_all()

    def scan_soon(self) -> None:
        """Scan the whole folder soon and compare all parts: changes may have been missed."""
        with self._state:
            self._scan_at = 0.0
            self._state.notify_all()

    def retry(self) -> None:
        """Try a failed model, and passages that couldn't be embedded, again now."""
        with self._state:
            self._vectors.retry()
            self._pending = self._embedder is not None
            self._retry_at = self._backoff_s = 0.0
            self._state.notify_all()

    def wait_until_ready(self, timeout_s: float | None = None) -> bool:
        """Block until nothing is left to do but what has failed; False where time is up first."""
        with self._state:
            return self._state.wait_for(lambda: not self._work_left(), timeout_s)

    # -- in the threads --------------------------------------------------------------------------------------------

    def _work_left(self) -> bool:
        if self._busy or self._inbox or self._embedding:
            return True
        return bool(self._threads) and (self._scan_at == 0.0 or (self._pending and self._retry_at == 0.0))

    def _run_text(self) -> None:
        first = True
        while (task := self._next_task()) is not None:
            if not (task.everything or task.paths):
                self._rest()
            elif self._run_task(task, first=first):
                first = False

    def _next_task(self) -> _Task | None:
        """Wait for what is to be looked at, and take it; nothing where there was none for a while, None at the end."""
        with self._state:
            self._state.wait_for(
                lambda: self._stop.is_set() or bool(self._inbox) or self._scan_at == 0.0,
                max(0.0, min(self._scan_at - time.monotonic(), self._options.idle_s)),
            )
            if self._stop.is_set():
                return None
            task = _Task(self._scan_at <= time.monotonic(), self._inbox, missed="root" in self._errors)
            self._inbox = frozenset()
            if task.everything or task.paths:
                self._scan_at = self._scan_at or time.monotonic()
                self._busy += 1
            return task

    def _run_task(self, task: _Task, *, first: bool) -> bool:
        """Make the index equal to what is there; False where that fails, which is tried again."""
        came, done = False, False
        try:
            if task.everything and not first:
                with self._refreshing:
                    self._reconcile()
            report = self.refresh(None if task.everything else task.paths)
            came = bool(report.added or report.changed or report.moved or report.unchanged)
            self._text_pause_s = 0.0
            if self._errors.pop("index", None):
                self.retry()  # what kept text from being written, as a full disk, may have kept vectors, too
                if not task.everything:
                    self.scan_soon()  # for what failed before
            done = True
        except Exception as error:
            if not self._stop.is_set():
                logger.exception("indexing failed")
                self._errors["index"] = f"Indexing failed and is tried again: {error}"
                self._text_pause_s = min(2 * self._text_pause_s, _TEXT_RETRY_S[1]) or _TEXT_RETRY_S[0]
        finally:
            self._error_log.log(self._errors)
            if task.everything:
                give_back()
            with self._state:
                self._busy -= 1
                self._plan(task, came=came)
                self._state.notify_all()
        return done

    def _plan(self, task: _Task, *, came: bool) -> None:
        """Say when everything is looked at next, after a turn in which some file `came`."""
        if self._scan_at == 0.0:
            return  # it was asked for meanwhile, and may have missed what changed since it began
        now = time.monotonic()
        if task.everything or "index" in self._errors:
            self._scan_at = now + self._pause()
        elif "root" in self._errors:  # whether those files are gone, elsewhere or back is seen by looking at everything
            self._scan_at = min(self._scan_at, now + (self._pause() if task.missed and not came else 0))

    def _pause(self) -> float:
        """Seconds until everything is looked at again."""
        soon = {"root": _ROOT_RETRY_S, "index": self._text_pause_s}
        return min([self._options.reconcile_s, *(pause for part, pause in soon.items() if part in self._errors)])

    def _rest(self) -> None:
        """End children that have had nothing to do for a while, and give back what working and answering left free."""
        with self._state:
            idle = not (self._busy or self._embedding)
        if idle and self._filling.acquire(blocking=False):
            try:
                with self._refreshing:
                    self._children.close()
            finally:
                self._filling.release()
            self._meta("root")  # any read: the catalog then closes connections that nobody has used for long
            give_back()

    def _run_embedding(self) -> None:
        while True:
            with self._state:
                left_s = self._retry_at - time.monotonic()
                self._state.wait_for(self._may_embed, left_s if left_s > 0 else None)
                if self._stop.is_set():
                    return
                if not self._may_embed() and self._retry_at > time.monotonic():
                    continue
            try:
                self.embed(self._stop)
                self._error_log.log(self._errors)
                with self._state:
                    self._backoff_s = self._retry_at = 0.0
            except Exception as error:
                if self._stop.is_set():
                    return
                if not isinstance(error, Unavailable):
                    logger.exception("embedding failed")
                self._errors[EMBEDDINGS] = str(error)
                self._error_log.log(self._errors)
                with self._state:
                    self._backoff_s = min(self._backoff_s * 2, BACKOFF_S[1]) or BACKOFF_S[0]
                    self._retry_at = time.monotonic() + self._backoff_s
                    self._state.notify_all()

    def _may_embed(self) -> bool:
        if self._stop.is_set():
            return True
        return self._pending and not self._busy and self._scan_at != 0.0 and self._retry_at <= time.monotonic()
