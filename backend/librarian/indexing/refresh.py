"""One look at the folder, or at a part of it, until the index equals what is there.

Compares, reads what changed in child processes, and writes it batch by batch, so that the first files are found while
the rest is still being read. A file that can't be read is listed with its reason and never stops the others.
"""

from __future__ import annotations

import logging
import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from operator import attrgetter
from pathlib import PurePath
from typing import TYPE_CHECKING

from ..embeddings.base import Embedder
from ..errors import SourceError
from ..files.paths import Paths, name_of, spelling_of, spellings, state_of
from ..files.safe_open import is_unchanged
from ..models import Failure, Included, IndexReport, Progress, ReadResult, SourceFile, time_left
from ..parsing.base import Reader
from ..storage.base import Catalog
from .changes import FolderDiff, compare, deleted_paths
from .emails import log_left_out
from .embedding import EmbedderHands, EmbedderPool
from .scanner import FolderScanner
from .workers import WorkerDied, WorkerPool
from .writer import Batch, as_read

if TYPE_CHECKING:
    from .indexer import IndexerOptions


def outdated_by_included(included: Mapping[str, tuple[Included, ...]], root: str) -> frozenset[str]:
    """File paths of the documents of which an included file isn't as it was, has come or is gone."""
    state = cache(state_of)
    return frozenset(
        path
        for path, files in included.items()
        if any(state(os.path.join(root, file.path)) != (file.size, file.mtime_ns) for file in files)
    )


def that_include(included: Mapping[str, tuple[Included, ...]], root: str, changed: Collection[str]) -> frozenset[str]:
    """File paths of the documents that include one of the `changed` paths (absolute), or something below one of them.

    Not compared by time: a clock tick can hold two writes.
    """

    def is_changed(file: Included) -> bool:
        place = PurePath(root, file.path)
        return any(str(each) in changed for each in (place, *place.parents))

    return frozenset(path for path, files in included.items() if any(map(is_changed, files)))


logger = logging.getLogger(__name__)

ReaderPool = WorkerPool[SourceFile, ReadResult]

_TRIES = 3  # how often a file that changes while it is read is read again
_FIRST_BATCH = 64  # small, so that something can be found at once
_BATCH = 512  # each leaves a segment in the keyword index; merging those of 256 took a fifth of its time
_FLUSH_S = 2.0  # after this time what has been read is written, so that slow files don't delay the others
_FLUSH_SHARE = 0.1  # of the time so far must pass between two writes, so that long runs have few
_BYTES_PER_TIMEOUT = 20_000_000  # of a file that the time limit is meant for; more get more
_SMALL = 256_000  # bytes of a file that is read before larger ones
_SLICE_S = 2.0  # CPU time that a file gets before all others are read; then it is tried again with its full limit
_BYTES_PER_SLICE = 1_000_000  # bytes for which that is meant; larger files get more
_MAIL_S = 10.0  # limit for a mail of up to _BYTES_PER_MAIL
_BYTES_PER_MAIL = 1_000_000  # larger mails get more: attachments may be long documents
_READ_AHEAD = 4_000_000  # of files that are read while a batch is written: reading goes on meanwhile
_LIMITS = "limits"  # kept by the catalog: those within which its failures failed
_MAILS = frozenset({".eml", ".emlx", ".msg"})
_RETRY_EVERY_SCAN = frozenset({"access", "replaced"})  # failures whose cause can go without a change of the file
_RETRY_WHEN_LIMITS_CHANGE = _RETRY_EVERY_SCAN | {"timeout", "memory", "unreadable"}
_FILE_COST = 2_000  # bytes that even an empty file counts for
_BATCH_CHARACTERS = 8_000_000  # of text held in memory before it is written


@dataclass(frozen=True, slots=True)
class Scope:
    """What to look at, and what to do with some of it whatever it looks like; file paths are relative to the root."""

    everything: bool = True
    paths: frozenset[str] = frozenset()  #: files and folders, absolute; where not `everything`
    again: frozenset[str] = frozenset()  #: file paths to be read whatever they look like


@dataclass(slots=True)
class Refresh:
    """One refresh; `run` is called once."""

    root: str
    scanner: FolderScanner
    catalog: Catalog
    write: Callable[[Batch], int]  #: makes a batch true and returns the new generation
    pool: Callable[[], ReaderPool]
    keep_missing: Callable[[int, int, bool], bool]  #: (documents gone, documents known, all looked at) → keep them
    missing_reason: Callable[[], str]  #: why the root isn't there; empty where it is
    progress: Callable[[Progress], None]
    stopping: Callable[[], bool]
    limits: str = ""  #: of reading a file
    _report: IndexReport = field(default_factory=IndexReport)
    _failures: list[Failure] = field(default_factory=list)
    _batch: Batch = field(default_factory=Batch)
    _outdated: set[str] = field(default_factory=set)
    _characters: int = 0
    _batches: int = 0
    _started: float = field(default_factory=time.monotonic)
    _flushed: float = field(default_factory=time.monotonic)
    _paths: Paths = field(init=False)

    def __post_init__(self) -> None:
        self._paths = Paths(self.root)

    def run(self, scope: Scope) -> IndexReport:
        """Make the index equal to what `scope` names. Raises `SourceError(reason="root")` where the root is gone."""
        started = time.monotonic()
        self.progress(Progress("scanning"))
        with self.catalog.read() as reader:
            before = {failure.file_path: failure for failure in reader.failures()}
            generation = reader.generation
            within = reader.meta(_LIMITS)
            included = reader.included()
        self._report = replace(self._report, generation=generation)
        scope = self._with_including(scope, included)
        retry_reasons = _RETRY_WHEN_LIMITS_CHANGE if within != self.limits and scope.everything else _RETRY_EVERY_SCAN
        retried = frozenset(path for path, failure in before.items() if failure.reason in retry_reasons)
        diff, known, looked_at = self._look(replace(scope, again=scope.again | retried), before)
        diff.deleted = deleted_paths(diff, self._paths.on_disk)
        if diff.touched:
            with self.catalog.transaction():
                for source in diff.touched:
                    self.catalog.touch(source.file_path, source.size, source.mtime_ns)
        deleted = self._read(diff, known, scope)
        if self.stopping():
            deleted = []  # what moved can't be told apart from what is gone
        elif scope.everything or deleted:
            with self.catalog.read() as reader:
                files = reader.file_count()
            if self.keep_missing(self._missing(deleted), files, scope.everything):
                if unread := [path for path in deleted if path in scope.again]:
                    self.catalog.outdate(unread)  # so that they are read once they are back
                deleted = []
        self._batch.removed += deleted
        self._flush()
        self._read_outdated()
        self._list_failures(before, looked_at, diff)
        if within != self.limits and scope.everything and not self.stopping():
            self.catalog.set_meta(_LIMITS, self.limits)
        took = (time.monotonic() - started) * 1000
        report = replace(
            self._report,
            removed=self._report.removed + len(deleted),
            unchanged=diff.unchanged,
            failed=tuple(self._failures),
            skipped=tuple(diff.skipped),
            took_ms=took,
        )
        self.progress(Progress("idle"))
        return report

    def _with_including(self, scope: Scope, included: Mapping[str, tuple[Included, ...]]) -> Scope:
        """Also to be read: documents that include what has changed. Paths outside the root are no documents."""
        if not included:
            stale = frozenset[str]()
        elif scope.everything:
            stale = outdated_by_included(included, self.root)
        else:
            asked = {name_of(self._relative(path)) for path in scope.paths} & included.keys()
            stale = that_include(included, self.root, scope.paths)
            stale |= outdated_by_included({path: included[path] for path in asked}, self.root)
        roots = (self.root, os.path.realpath(self.root))
        paths = frozenset(path for path in scope.paths if path.startswith(tuple(f"{root}{os.sep}" for root in roots)))
        if not scope.everything:
            paths |= frozenset(map(self._paths.on_disk, stale))
        return replace(scope, paths=paths, again=scope.again | stale)

    # -- looking ---------------------------------------------------------------------------------------------------

    def _look(
        self, scope: Scope, listed: Collection[str]
    ) -> tuple[FolderDiff, Mapping[str, tuple[int, int, str]], Collection[str] | None]:
        """How the folder differs, what was known of what was looked at, and the paths of that (None: all)."""
        if scope.everything:
            known = self.catalog.known()
            return compare(self.scanner.scan(), known, again=scope.again), known, None
        places = self._places(scope.paths)
        on_disk = [self._relative(path) for path in places]
        names, spelled = [name_of(path) for path in on_disk], [spelling_of(path) for path in on_disk]
        with self.catalog.read() as reader:
            known = reader.known(sorted({*names, *spelled}))
        sorted_names = sorted((*known, *listed))
        found: dict[str, SourceFile | Failure] = {}
        looked_at: set[str] = {*names, *spelled}
        doubted: set[str] = set()
        for path, file_path in zip(places, names, strict=True):
            first = bisect_left(sorted_names, f"{file_path}/")
            looked_at.update(
                sorted_names[first : bisect_left(sorted_names, f"{file_path}0", lo=first)]
            )  # "0" follows "/"
            if os.path.isdir(path):
                for item in self.scanner.below(path):
                    found.setdefault(item.file_path, item)
            elif os.path.lexists(path) and (item_there := self.scanner.look(path)) is not None:
                found[item_there.file_path] = item_there
                doubted.add(item_there.file_path)
        looked_at.update(found)
        diff = compare(found.values(), known, scope=looked_at, again=scope.again, doubted=doubted)
        if diff.deleted:
            self.scanner.require_root()
        return diff, known, looked_at

    def _places(self, paths: Iterable[str]) -> list[str]:
        """The paths, and what their documents are on disk now: of two files of one name the other, too."""
        found = dict.fromkeys(sorted(paths))
        found.update(dict.fromkeys(self._paths.on_disk(name_of(self._relative(path))) for path in list(found)))
        found.update(dict.fromkeys(twin for path in list(found) for twin in spellings(path)))
        return list(found)

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self.root).replace(os.sep, "/")

    def _missing(self, deleted: Iterable[str]) -> int:
        """How many aren't there at all; the others are left out by a setting, on purpose."""
        return sum(1 for path in deleted if not os.path.lexists(self._paths.on_disk(path)))

    def _read_outdated(self) -> None:
        """Read again what this refresh made wrong: copies of mails that are gone, quotes of mails that have come."""
        if not self._outdated:
            return
        with self.catalog.read() as reader:
            outdated = reader.outdated(sorted(self._outdated))
        found = [self.scanner.look(self._paths.on_disk(path)) for path in outdated]
        sources = [source for source in found if isinstance(source, SourceFile)]
        if self.stopping():
            return
        for source, outcome in self._outcomes(sources):
            if isinstance(outcome, ReadResult):
                self._batch.put.append(as_read(source, outcome))
                self._characters += _characters_of(outcome)
            if len(self._batch) >= _BATCH or self._characters > _BATCH_CHARACTERS:
                self._flush()
        self._flush()

    # -- reading ---------------------------------------------------------------------------------------------------

    def _read(self, diff: FolderDiff, known: Mapping[str, tuple[int, int, str]], scope: Scope) -> list[str]:
        """Read and write what changed; returns what is gone after all that moved is accounted for."""
        deleted = dict.fromkeys(diff.deleted)
        places: dict[str, list[str]] = {}
        for path in sorted(deleted, reverse=True):
            places.setdefault(known[path][2], []).append(path)
        total = len(diff.to_read)
        started = time.monotonic()
        for done, (source, outcome) in enumerate(self._outcomes(diff.to_read), start=1):
            elapsed = max(time.monotonic() - started, 1e-3)
            eta = time_left(done, total, elapsed)
            self.progress(Progress("reading", done, total, files_per_s=done / elapsed, eta_s=eta))
            old = known.get(source.file_path)
            if isinstance(outcome, ReadResult):
                result = as_read(source, outcome)
                origins = places.get(result.document.content_hash, [])
                held = old is not None and bool(old[2])
                if origins and not held:  # it moved: both ends change at once
                    origin = origins.pop()
                    del deleted[origin]
                    self._batch.removed.append(origin)
                    self._count(moved=1)
                else:
                    self._count(added=not held, changed=held, chunks=_chunks_of(result))
                self._batch.put.append(result)
                if result.members is not None and source.file_path in scope.again:
                    self._batch.anew.add(source.file_path)
                self._characters += _characters_of(result)
            else:
                held = old is not None and bool(old[2])
                if held and (why := self.missing_reason()):  # with the root, not by itself
                    raise SourceError(why, reason="root")
                self._failures.append(failure_of(source, outcome))
                if held:  # what it said before, it says no more
                    self._batch.removed.append(source.file_path)
                    self._count(removed=1)
            if self.stopping():
                break
            if len(self._batch) >= (_BATCH if self._batches else _FIRST_BATCH) or self._characters > _BATCH_CHARACTERS:
                self._flush()
        return list(deleted)

    def _outcomes(self, sources: list[SourceFile]) -> Iterator[tuple[SourceFile, ReadResult | BaseException]]:
        """Each file with what came of reading it. One that changed meanwhile is looked at and read again.

        Small files come first, and each file has a short time at first. Those that need more have it when all others
        are read and written, so that a few slow files don't keep the rest from being found.
        """
        if not sources:
            return
        pool = self.pool()

        def first_limit(source: SourceFile) -> float:
            return min(pool.timeout_s(source), _SLICE_S * max(1.0, source.size / _BYTES_PER_SLICE))

        late: list[SourceFile] = []
        small_first = sorted(sources, key=lambda source: source.size > _SMALL)
        for source, outcome in self._retried(small_first, pool, first_limit):
            if isinstance(outcome, TimeoutError) and first_limit(source) < pool.timeout_s(source):
                late.append(source)
            else:
                yield source, outcome
            self._flush_in_time()
        if late:
            self._flush()
            yield from self._retried(late, pool, pool.timeout_s)

    def _retried(
        self, sources: list[SourceFile], pool: ReaderPool, timeout_s: Callable[[SourceFile], float]
    ) -> Iterator[tuple[SourceFile, ReadResult | BaseException]]:
        tries = Counter[str]()
        while sources:
            now_read, sources = sources, []
            for source, outcome in pool.map(now_read, timeout_s):
                tries[source.file_path] += 1
                if tries[source.file_path] >= _TRIES or (is_unchanged(source) and not isinstance(outcome, WorkerDied)):
                    yield source, outcome
                    continue
                now = self.scanner.look(source.path)
                if isinstance(now, SourceFile):
                    sources.append(now)
                else:
                    yield source, SourceError(f"{source.file_path} went away while it was read.", reason="vanished")

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._report, name) + int(number) for name, number in more.items()}
        self._report = replace(self._report, **counts)

    def _flush_in_time(self) -> None:
        now = time.monotonic()
        if len(self._batch) <= 1:
            self._flushed = now  # starting the processes took its time
        elif now - self._flushed > max(_FLUSH_S, (now - self._started) * _FLUSH_SHARE):
            self._flush()

    def _flush(self) -> None:
        self._flushed = time.monotonic()
        if not len(self._batch):
            return
        generation = self.write(self._batch)
        self._outdated |= self._batch.outdated
        self._flushed = time.monotonic()
        self._batch = Batch()
        self._characters = 0
        self._batches += 1
        self._report = replace(self._report, generation=generation)

    # -- failures --------------------------------------------------------------------------------------------------

    def _list_failures(self, before: dict[str, Failure], looked_at: Collection[str] | None, diff: FolderDiff) -> None:
        """Keep what wasn't looked at and what failed before and is unchanged; the rest is as just found."""
        unchanged_failures = [
            failure
            for path, failure in before.items()
            if (looked_at is not None and path not in looked_at)
            or (failure.kind == "failed" and path in diff.still_failed)
        ]
        now = {failure.file_path: failure for failure in (*unchanged_failures, *diff.skipped, *self._failures)}
        now = {path: failure for path, failure in now.items() if failure.reason != "vanished"}
        self._failures = [failure for failure in now.values() if failure.kind == "failed"]
        if now != before and not self.stopping():
            log_left_out(before, now)
            self.catalog.set_failures(now.values(), replace=True)


def _chunks_of(result: ReadResult) -> int:
    return sum(len(one.chunks) for one in result.members or (result,))


def _characters_of(result: ReadResult) -> int:
    return sum(len(one.document.text) for one in result.members or (result,))


def failure_of(source: SourceFile, error: BaseException) -> Failure:
    """What is listed of a file that couldn't be read."""
    match error:
        case SourceError():
            reason = error.reason
        case TimeoutError():
            reason = "timeout"
        case MemoryError():
            reason = "memory"
        case WorkerDied():
            reason = "crash"
        case _:
            reason = "error"
            logger.warning("reading %s failed", source.file_path, exc_info=error)
    detail = str(error) or type(error).__name__
    return Failure(source.file_path, "failed", reason, detail, source.size, source.mtime_ns)


class Children:
    """The worker processes of an indexer. `close` ends them; the next use starts them again."""

    def __init__(self, reader: Reader, options: IndexerOptions) -> None:
        self._reader = reader
        self._options = options
        self._reading: ReaderPool | None = None
        self._embedding: EmbedderPool | None = None

    @property
    def limits(self) -> str:
        """Those of reading, as one word: other limits may let through what these do not."""
        return f"{self._options.file_timeout_s:g} s, {self._options.file_memory_mb or 0} MiB"

    def reading(self) -> ReaderPool:
        """Processes that read files."""
        if self._reading is None:
            self._reading = WorkerPool(
                partial(attrgetter("read"), self._reader),  # so that the process imports little
                self._options.processes,
                cores=1,
                timeout_s=self._timeout_s,
                memory_mb=self._options.file_memory_mb,
                nice=self._options.nice,
                cost=lambda source: source.size + _FILE_COST,
                max_ahead=_READ_AHEAD,
            )
        return self._reading

    def _timeout_s(self, source: SourceFile) -> float:
        limit = self._options.file_timeout_s
        if source.extension in _MAILS and source.size < _BYTES_PER_TIMEOUT:
            return min(limit, _MAIL_S * max(1.0, source.size / _BYTES_PER_MAIL))
        return limit * max(1.0, source.size / _BYTES_PER_TIMEOUT)  # large files may be archives

    def embedding(self, make: Callable[[], Embedder]) -> EmbedderPool:
        """The processes that embed, with the model that `make` builds there; one is usual, since its own threads use
        the cores."""
        if self._embedding is None:
            self._embedding = WorkerPool(
                partial(EmbedderHands, make),
                self._options.embedding_processes,
                timeout_s=120.0,
                memory_mb=4096,
                nice=self._options.embedding_nice,
                prefetch=2,
            )
        return self._embedding

    def close(self) -> None:
        """End them; idempotent."""
        reading, embedding = self._reading, self._embedding
        self._reading, self._embedding = None, None
        for pool in (reading, embedding):
            if pool is not None:
                pool.close()
