"""The indexer as the library uses it: with the watcher, with requests on demand, and with one of several servers
indexing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..errors import LibrarianError, SetupError, Unavailable
from ..models import IndexReport
from ..schemas import CheckResponse
from ..storage.base import Catalog, EmbeddingCache
from .indexer import Indexer
from .watcher import FileWatcher

if TYPE_CHECKING:
    from ..storage.postgres.leader import LeaderLock

logger = logging.getLogger(__name__)

_ELSEWHERE: Final = "Another server indexes this library."

MakeWatcher = Callable[[Callable[[frozenset[str]], None]], FileWatcher]


class Listeners:
    """Callbacks for new index versions. Callable, so that an indexer can be given it before anyone listens."""

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


class IndexScheduler:
    """Keeps the index current in the background, and on demand.

    Args:
        watcher: makes a watcher that reports what changed; None if changes aren't watched for.
        scan_at_start: whether `start` begins with a scan of the whole folder.
        listeners: the object that the indexer tells of new index versions.
        leader: decides which of several servers indexes; the others ask that one to scan. None if there is only one.
    """

    def __init__(
        self,
        indexer: Indexer,
        catalog: Catalog,
        archive: EmbeddingCache,
        watcher: MakeWatcher | None,
        *,
        listeners: Listeners,
        scan_at_start: bool = True,
        leader: LeaderLock | None = None,
    ) -> None:
        self.indexer = indexer
        self.on_generation = listeners.add
        self.progress = indexer.progress
        self.missing_reason = indexer.missing_reason
        self.answering = indexer.answering
        self.embed_first = indexer.embed_first
        self._catalog = catalog
        self._archive = archive
        self._make_watcher = watcher
        self._scan_at_start = scan_at_start
        self._leader = leader
        self._start_error = ""  # why this server can't index though it leads
        self._watcher: FileWatcher | None = None

    def start(self) -> None:
        """Begin to index and to watch, with a `leader` once this server leads.

        Raises `SetupError` where the index belongs to another root.
        """
        if self._leader is None:
            self._begin()
        else:
            self._leader.start(self._lead, self._end, self.rescan)

    def _lead(self) -> None:
        self._start_error = ""
        try:
            self._begin()
        except Unavailable:
            raise  # the lock is released and requested again
        except LibrarianError as error:
            self._start_error = str(error)
            logger.error("%s", error)

    def _begin(self) -> None:
        self.indexer.start(scan=self._scan_at_start)
        if self._make_watcher is not None:
            self._watcher = self._make_watcher(self.indexer.changed)
            self._watcher.start()

    def close(self) -> None:
        """End watcher, threads and worker processes, and let another server index."""
        if self._leader is not None:
            self._leader.close()
        self._end()

    def _end(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
        self.indexer.stop()

    @property
    def _leads(self) -> bool:
        return self._leader is None or self._leader.leading

    def _requested_elsewhere(self) -> bool:
        """If another server indexes, ask it to scan."""
        if self._leader is None or self._leader.leading:
            return False
        self._leader.request_scan()
        return True

    @contextmanager
    def _on_demand(self, *, retry: bool = True) -> Iterator[None]:
        """Errors are reported to the caller, and the work is repeated in the background as soon as it can be."""
        if not self._leads:
            raise Unavailable(_ELSEWHERE, hint="Run this on the server that says `watching`, or end that server.")
        if retry:  # what failed may be fixed, and the old failure would be reported otherwise
            self.indexer.retry()
        try:
            yield
        except SetupError:
            raise
        except Exception:
            self.indexer.scan_soon()
            raise

    def refresh(self, paths: Sequence[str] | None = None) -> IndexReport:
        """Make the text equal to the folder now. The report of the whole folder includes what the background found
        since the last one. If another server indexes, ask it to scan."""
        if self._requested_elsewhere():
            with self._catalog.read() as reader:
                return IndexReport(generation=reader.generation, notes=(f"{_ELSEWHERE} It was asked to scan.",))
        with self._on_demand(retry=paths is None):
            report = self.indexer.refresh(paths)
        if paths is not None:
            return report
        counts = self.indexer.take_counts()
        found = report.unchanged + report.added + report.changed + report.moved
        unchanged = max(0, found - counts["added"] - counts["changed"] - counts["moved"])
        totals: dict[str, Any] = {kind: counts[kind] for kind in ("added", "changed", "removed", "moved")}
        return replace(report, unchanged=unchanged, **totals)

    def rebuild(self) -> IndexReport:
        """Read every file again. Raises `Unavailable` if another server indexes."""
        with self._on_demand():
            return self.indexer.rebuild()

    def prune(self) -> IndexReport:
        """Drop what is missing, however much it is. Raises `Unavailable` if another server indexes."""
        with self._on_demand():
            return self.indexer.prune()

    def notice(self, paths: Sequence[str]) -> None:
        """Compare these paths soon."""
        if not self._requested_elsewhere():
            self.indexer.changed(frozenset(paths))

    def rescan(self) -> None:
        """Scan the whole folder soon, and try the model again."""
        if not self._requested_elsewhere():
            self.indexer.retry()
            self.indexer.scan_soon()

    def errors(self) -> list[str]:
        """`part: sentence` of everything that doesn't work now."""
        found = [f"index: {self._start_error}"] if self._start_error else []
        if self._leader is not None and self._leader.error:
            found.append(f"database: {self._leader.error}")
        if not self._leads:
            return found
        errors = self.indexer.errors()
        found += [f"{part}: {sentence}" for part, sentence in errors.items()]
        if "root" not in errors and self._watcher is not None and (unwatched := self._watcher.error()):
            found.append(f"watcher: {unwatched} Changes are found by the periodic look at the folder.")
        return found

    def notes(self) -> list[str]:
        """What works in another way than it could, in sentences."""
        note = self._watcher.note() if self._watcher is not None else ""
        return [note] if note else []

    def wait_until_idle(self, timeout_s: float | None = None) -> bool:
        """True once this server has nothing left to read or to embed."""
        return not self._leads or self.indexer.wait_until_ready(timeout_s)

    @property
    def last_indexed_at(self) -> float | None:
        """When the last refresh ended, in seconds since the epoch."""
        return self.indexer.last_indexed_at

    @property
    def watching(self) -> bool:
        """Whether changes are being watched for."""
        return self._watcher is not None and not self._watcher.error()

    def check(self, repair: bool = False) -> CheckResponse:
        """Compare catalog, keyword index, vectors and folder with each other; with `repair`, fix what differs.

        A catalog that contradicts itself is fixed by reading every file again. While the folder is missing, its
        documents are kept, which is a problem that no repair fixes. Raises `Unavailable` for a repair if another server
        indexes.
        """
        errors, differences = self._catalog.verify(), []
        if repair:
            with self._on_demand():
                if errors:
                    self.indexer.rebuild()
                    errors, differences = self._catalog.verify(), errors
                differences += self.indexer.check(repair=True)
            if missing := self.indexer.errors().get("root"):
                errors = [*errors, missing]
        else:
            differences += self.indexer.check()
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
