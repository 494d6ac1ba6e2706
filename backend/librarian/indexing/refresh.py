"""One look at the folder, or at a part of it, until the index equals what is there.

Compares, reads what changed in child processes, and writes it batch by batch, so that the first files are found while
the rest is still being read. A file that can't be read is listed with its reason and never stops the others.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..errors import SourceError
from ..files.paths import Paths, name_of, spelling_of, spellings, state_of
from ..files.safe_open import is_unchanged
from ..models import Failure, Included, IndexReport, Progress, ReadResult, SourceFile, time_left
from ..parsing.reader import FileReader
from ..storage.base import Catalog
from .changes import FolderDiff, Known, MissingFiles, compare
from .log import log_left_out
from .scanner import FolderScanner
from .workers import WorkerDied, WorkerPool
from .writer import Batch

if TYPE_CHECKING:
    from .indexer import IndexerOptions

logger = logging.getLogger(__name__)

ReaderPool = WorkerPool[SourceFile, ReadResult]

_TRIES = 3  # how often a file that changes while it is read is read again
_FIRST_BATCH = 64  # small, so that something can be found at once
_BATCH = 512  # each leaves a segment in the keyword index; merging those of 256 took a fifth of its time
_BATCH_CHARACTERS = 8_000_000  # of text held in memory before it is written
_FLUSH_S = 2.0  # after this time what has been read is written, so that slow files don't delay the others
_FLUSH_SHARE = 0.1  # of the time so far must pass between two writes, so that long runs have few
_SMALL = 256_000  # bytes of a file that is read before larger ones
_SLICE_S = 2.0  # CPU time that a file gets before all others are read; then it is tried again with its full limit
_BYTES_PER_SLICE = 1_000_000  # bytes for which that is meant; larger files get more
_BYTES_PER_TIMEOUT = 20_000_000  # of a file that the time limit is meant for; more get more
_READ_AHEAD = 4_000_000  # of files that are read while a batch is written: reading goes on meanwhile
_FILE_COST = 2_000  # bytes that even an empty file counts for
_LIMITS = "limits"  # kept by the catalog: those within which its failures failed
_RETRY_EVERY_SCAN = frozenset({"access", "replaced"})  # failures whose cause can go without a change of the file
_RETRY_WHEN_LIMITS_CHANGE = _RETRY_EVERY_SCAN | {"timeout", "memory", "unreadable"}


def reader_pool(reader: FileReader, options: IndexerOptions) -> ReaderPool:
    """The processes that read files."""

    return options.pool(
        partial(attrgetter("read"), reader),  # so that the process imports little
        options.processes,
        cores=1,
        # large files may be archives
        timeout_s=lambda source: options.file_timeout_s * max(1.0, source.size / _BYTES_PER_TIMEOUT),
        memory_mb=options.file_memory_mb,
        nice=options.nice,
        cost=lambda source: source.size + _FILE_COST,
        max_ahead=_READ_AHEAD,
    )


@dataclass
class Refresh:
    """One refresh; `run` is called once."""

    root: str
    scanner: FolderScanner
    catalog: Catalog
    pool: ReaderPool
    missing: MissingFiles
    write: Callable[[Batch], int]  #: makes a batch true and returns the new generation
    limits: str  #: of reading a file, as a word: other limits may let through what these do not
    progress: Callable[[Progress], None]
    stopping: Callable[[], bool]

    def __post_init__(self) -> None:
        self._paths = Paths(self.root)
        self._counts = Counter[str]()
        self._failures: list[Failure] = []
        self._batch, self._characters = Batch(), 0
        self._outdated: set[str] = set()  # documents that this refresh made wrong
        self._generation = self._flushes = 0
        self._started = self._flushed = time.monotonic()

    def run(
        self, paths: Collection[str] | None, again: Collection[str] = frozenset(), *, prune: bool = False
    ) -> IndexReport:
        """Make the index equal to the folder, or to what lies at `paths` (absolute), where they are given.

        `again` are file paths to be read whatever they look like; `prune`: see `MissingFiles`. Raises
        `SourceError(reason="root")` where the root is gone.
        """
        with self.catalog.read() as reader:
            before = {failure.file_path: failure for failure in reader.failures()}
            self._generation, within, included = reader.generation, reader.meta(_LIMITS), reader.included()
        other_limits = paths is None and within != self.limits
        reasons = _RETRY_WHEN_LIMITS_CHANGE if other_limits else _RETRY_EVERY_SCAN
        outdated = self._outdated_by_included(included, paths or ())
        again = {*again, *outdated, *(path for path, failure in before.items() if failure.reason in reasons)}
        if paths is not None:
            below = os.path.join(self.root, "")
            paths = {*filter(lambda path: path.startswith(below), paths), *map(self._paths.on_disk, outdated)}
        diff, known, looked_at = self._compare(paths, again)
        if diff.touched:
            with self.catalog.transaction():
                for source in diff.touched:
                    self.catalog.touch(source.file_path, source.size, source.mtime_ns)
        deleted = self._read(diff, known, again)
        if self.stopping():
            deleted = {}  # what moved can't be told apart from what is gone
        elif (paths is None or deleted) and self.missing.judge(
            sum(deleted.values()), everything=paths is None, prune=prune
        ):
            if unread := sorted(again & deleted.keys()):
                self.catalog.outdate(unread)  # so that they are read once they are back
            deleted = {}
        self._batch.removed += deleted
        self._counts["removed"] += len(deleted)
        self._flush()
        failed = self._list_failures(before, looked_at, diff)
        if other_limits and not self.stopping():
            self.catalog.set_meta(_LIMITS, self.limits)
        if self._outdated and not self.stopping():  # copies of mails that are gone, quotes of mails that have come
            with self.catalog.read() as reader:
                wrong = reader.outdated(sorted(self._outdated))
            self._generation = replace(self).run({self._paths.on_disk(path) for path in wrong}).generation
        counts: dict[str, Any] = dict(self._counts)
        return IndexReport(
            unchanged=diff.unchanged,
            failed=failed,
            skipped=tuple(diff.skipped),
            generation=self._generation,
            took_ms=(time.monotonic() - self._started) * 1000,
            **counts,
        )

    def _outdated_by_included(
        self, included: Mapping[str, tuple[Included, ...]], changed: Collection[str]
    ) -> frozenset[str]:
        """File paths of the documents of which an included file isn't as it was, has come or is gone. Those that
        `changed` (absolute paths) aren't compared by time: a clock tick can hold two writes."""
        state = cache(state_of)

        def is_other(file: Included) -> bool:
            path = os.path.join(self.root, file.path)
            return path in changed or state(path) != (file.size, file.mtime_ns)

        return frozenset(path for path, files in included.items() if any(map(is_other, files)))

    # -- comparing -------------------------------------------------------------------------------------------------

    def _compare(
        self, paths: Collection[str] | None, again: Collection[str]
    ) -> tuple[FolderDiff, Known, Callable[[str], bool]]:
        """How the folder differs, what was known of it, and what tells which file paths were looked at."""
        on_disk = self._paths.on_disk
        if paths is None:
            known = self.catalog.known()
            return compare(self.scanner.scan(), known, on_disk, again=again), known, lambda path: True
        places = self._places(paths)
        relative = [self._relative(path) for path in places]
        names = {name for path in relative for name in (name_of(path), spelling_of(path))}
        with self.catalog.read() as reader:
            known = reader.known(sorted(names))

        def looked_at(path: str) -> bool:
            return not names.isdisjoint(accumulate(path.split("/"), "{}/{}".format))

        found: dict[str, SourceFile | Failure] = {}
        for path in places:
            for item in self.scanner.below(path):
                found.setdefault(item.file_path, item)
        diff = compare(found.values(), known, on_disk, looked_at=looked_at, again=again, doubted=names)
        if diff.deleted:
            self.scanner.require_root()
        return diff, known, looked_at

    def _places(self, paths: Iterable[str]) -> list[str]:
        """The paths, and what their documents are on disk now: of two files of one name the other, too."""
        found = dict.fromkeys(sorted(paths))
        found |= dict.fromkeys([self._paths.on_disk(name_of(self._relative(path))) for path in found])
        found |= dict.fromkeys([twin for path in found for twin in spellings(path)])
        return list(found)

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self.root).replace(os.sep, "/")

    # -- reading ---------------------------------------------------------------------------------------------------

    def _read(self, diff: FolderDiff, known: Known, again: Collection[str]) -> dict[str, bool]:
        """Read and write what changed; returns `diff.deleted` without what has moved."""
        deleted = dict(diff.deleted)
        origins: dict[str, list[str]] = {}  # content → where it was
        for path in sorted(deleted, reverse=True):
            origins.setdefault(known[path][2], []).append(path)
        total, started = len(diff.to_read), time.monotonic()
        for done, (source, outcome) in enumerate(self._outcomes(diff.to_read), start=1):
            path, held = source.file_path, source.file_path in known and bool(known[source.file_path][2])
            if not isinstance(outcome, ReadResult):
                if held and (why := self.missing.missing_reason()):  # with the root, not by itself
                    raise SourceError(why, reason="root")
                self._failures.append(failure_of(source, outcome))
                if held:  # what it said before, it says no more
                    self._batch.removed.append(path)
                    self._counts["removed"] += 1
            else:
                places = origins.get(outcome.document.content_hash)
                if places and not held:  # it moved: both ends change at once
                    origin = places.pop()
                    del deleted[origin]
                    self._batch.removed.append(origin)
                    self._counts["moved"] += 1
                else:
                    self._counts["changed" if held else "added"] += 1
                    self._counts["chunks"] += sum(len(one.chunks) for one in outcome.members or (outcome,))
                if outcome.members is not None and path in again:
                    self._batch.anew.add(path)
                self._batch.put.append(outcome)
                self._characters += sum(len(one.document.text) for one in outcome.members or (outcome,))
            elapsed = max(time.monotonic() - started, 1e-3)
            eta_s = time_left(done, total, elapsed)
            self.progress(Progress("reading", done, total, files_per_s=done / elapsed, eta_s=eta_s))
            if self.stopping():
                break
        return deleted

    def _outcomes(self, sources: list[SourceFile]) -> Iterator[tuple[SourceFile, ReadResult | BaseException]]:
        """Each file with what came of reading it; what the caller has put is written from time to time.

        Small files come first, and each file has a short time at first. Those that need more have it when all others
        are read and written, so that a few slow files don't keep the rest from being found. A file that changes while
        it is read is looked at and read again.
        """

        def short(source: SourceFile) -> float:
            return min(self.pool.timeout_s(source), _SLICE_S * max(1.0, source.size / _BYTES_PER_SLICE))

        sources = sorted(sources, key=lambda source: source.size > _SMALL)
        late: list[SourceFile] = []
        limit: Callable[[SourceFile], float] = short
        tries = Counter[str]()
        while sources or late:
            if not sources:
                self._flush()
                sources, late, limit = late, [], self.pool.timeout_s
            now_read, sources = sources, []
            for source, outcome in self.pool.map(now_read, limit):
                tries[source.file_path] += 1
                if isinstance(outcome, TimeoutError) and limit(source) < self.pool.timeout_s(source):
                    late.append(source)
                elif tries[source.file_path] >= _TRIES or (
                    is_unchanged(source) and not isinstance(outcome, WorkerDied)
                ):
                    yield source, outcome
                elif isinstance(now := self.scanner.look(source.path), SourceFile):
                    sources.append(now)
                else:
                    yield source, SourceError(f"{source.file_path} went away while it was read.", reason="vanished")
                self._flush_if_due()

    # -- writing ---------------------------------------------------------------------------------------------------

    def _flush_if_due(self) -> None:
        now, size = time.monotonic(), len(self._batch)
        if size >= (_BATCH if self._flushes else _FIRST_BATCH) or self._characters > _BATCH_CHARACTERS:
            self._flush()
        elif size <= 1:
            self._flushed = now  # starting the processes took its time
        elif now - self._flushed > max(_FLUSH_S, (now - self._started) * _FLUSH_SHARE):
            self._flush()

    def _flush(self) -> None:
        if len(self._batch):
            self._generation = self.write(self._batch)
            self._outdated |= self._batch.outdated
            self._batch, self._characters = Batch(), 0
            self._flushes += 1
        self._flushed = time.monotonic()

    def _list_failures(
        self, before: Mapping[str, Failure], looked_at: Callable[[str], bool], diff: FolderDiff
    ) -> tuple[Failure, ...]:
        """Keep what wasn't looked at and what failed before and is unchanged; the rest is as just found."""
        unchanged = [
            failure
            for path, failure in before.items()
            if not looked_at(path) or (failure.kind == "failed" and path in diff.still_failed)
        ]
        now = {failure.file_path: failure for failure in (*unchanged, *diff.skipped, *self._failures)}
        now = {path: failure for path, failure in now.items() if failure.reason != "vanished"}
        if now != before and not self.stopping():
            log_left_out(before, now)
            self.catalog.set_failures(now.values(), replace=True)
        return tuple(failure for failure in now.values() if failure.kind == "failed")


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
