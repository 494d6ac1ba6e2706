"""Indexer and watcher as one: what the desk asks of the writing side."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from ..errors import LibrarianError, SetupError, Unavailable
from ..models import IndexReport, Progress
from ..schemas import CheckResponse
from ..storage.base import Catalog, EmbeddingCache
from .indexer import FileIndexer

if TYPE_CHECKING:
    from ..storage.postgres.leader import LeaderLock

logger = logging.getLogger(__name__)

_ELSEWHERE: Final = "Another server indexes this library."


class Watching(Protocol):
    """A watcher of the root."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def problem(self) -> str: ...

    def note(self) -> str: ...


MakeWatcher = Callable[[Callable[[frozenset[str]], None], Callable[[str], None]], Watching]


class Listeners:
    """Who wants to know of new generations. Callable, so that an indexer can be given it before anyone listens."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[int], None]] = []

    def __call__(self, generation: int) -> None:
        with self._lock:
            callbacks = list(self._callbacks)
        for callback in callbacks:
            try:
                callback(generation)
            except Exception:  # a listener's bug must not stop the indexer
                logger.exception("A listener failed on generation %d", generation)

    def add(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Begin to call `callback`; the returned function ends it."""
        with self._lock:
            self._callbacks.append(callback)

        def remove() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return remove


class FileCounts:
    """Counts what an indexer tells as its observer, so that no report leaves out what the background has done."""

    _KINDS = ("added", "changed", "removed", "moved")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(self._KINDS, 0)

    def __call__(self, event: str, **fields: object) -> None:
        if event == "refreshed":
            with self._lock:
                for kind in self._KINDS:
                    self._counts[kind] += int(str(fields[kind]))

    def since_last(self) -> tuple[int, ...]:
        """Added, changed, removed and moved since this was last asked."""
        with self._lock:
            counts, self._counts = self._counts, dict.fromkeys(self._KINDS, 0)
        return tuple(counts.values())


class IndexScheduler:
    """Keeps the index true in the background, and on demand.

    Args:
        watcher: makes a watcher from (what changed, what was lost); None where changes aren't watched for.
        look_at_start: whether `start` begins with a look at the whole folder.
        listeners, tally: the same objects that the indexer tells of new generations and of its work.
        leader: decides which of several servers indexes; the others ask that one to scan. None where there is only one.
    """

    def __init__(
        self,
        indexer: FileIndexer,
        catalog: Catalog,
        archive: EmbeddingCache,
        watcher: MakeWatcher | None,
        *,
        listeners: Listeners,
        tally: FileCounts,
        look_at_start: bool = True,
        leader: LeaderLock | None = None,
    ) -> None:
        self._indexer = indexer
        self._catalog = catalog
        self._archive = archive
        self._make_watcher = watcher
        self._listeners = listeners
        self._tally = tally
        self._look_at_start = look_at_start
        self._leader = leader
        self._unstarted_index = ""  # why this server can't index though it leads
        self._watcher: Watching | None = None
        self._starting: threading.Thread | None = None
        self._unstarted = ""  # why the watcher couldn't be started

    def start(self) -> None:
        """Begin to index and to watch, with a `leader` once this server leads.

        Raises `SetupError` where the index belongs to another root.
        """
        if self._leader is None:
            self._begin()
        else:
            self._leader.start(self._lead, self._end, self.look_again)

    def _lead(self) -> None:
        self._unstarted_index = ""
        try:
            self._begin()
        except Unavailable:
            raise  # the lock is released and requested again
        except LibrarianError as error:
            self._unstarted_index = str(error)
            logger.error("%s", error)

    @property
    def _leads(self) -> bool:
        return self._leader is None or self._leader.leading

    def _require_leader(self) -> None:
        if not self._leads:
            raise Unavailable(_ELSEWHERE, hint="Run this on the server that says `watching`, or end that server.")

    def _begin(self) -> None:
        self._indexer.start(look=self._look_at_start)
        if self._make_watcher is None:
            return
        self._watcher = self._make_watcher(self._indexer.changed, self._watcher_lost)
        self._starting = threading.Thread(target=self._start_watcher, name="start-watcher", daemon=True)
        self._starting.start()

    def _start_watcher(self) -> None:
        try:
            if self._watcher is not None:
                self._watcher.start()
        except OSError as error:
            self._unstarted = f"The folder can't be watched: {error}."
            logger.warning("%s", self._unstarted)

    def _watcher_lost(self, reason: str) -> None:  # the watcher itself says it in the log
        self._indexer.look_at_everything()

    def _unwatched(self) -> str:
        """Why changes aren't noticed now though they are to be."""
        return self._unstarted or (self._watcher.problem() if self._watcher is not None else "")

    def close(self) -> None:
        """End watcher, threads and children, and let another server index."""
        if self._leader is not None:
            self._leader.close()
        self._end()

    def _end(self) -> None:
        if self._starting is not None:  # else it might begin to watch after it was stopped
            self._starting.join()
            self._starting = None
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
        self._indexer.stop()

    def refresh(self, paths: Sequence[str] | None = None) -> IndexReport:
        """Make the text equal to the folder now, and try a failed model again where that is the whole folder. The
        report includes what the background found since the last one. Where another server indexes, ask it to scan."""
        if self._leader is not None and not self._leader.leading:
            self._leader.request_scan()
            with self._catalog.read() as reader:
                return IndexReport(generation=reader.generation, notes=(f"{_ELSEWHERE} It was asked to scan.",))
        if paths is not None:
            with self._made_up_for():
                return self._indexer.refresh(paths)
        self._indexer.retry()  # who asks may have mended what failed, and would hear of the old failure otherwise
        with self._made_up_for():
            report = self._indexer.refresh()
        added, changed, removed, moved = self._tally.since_last()
        unchanged = max(0, report.unchanged + report.added + report.changed + report.moved - added - changed - moved)
        return replace(report, added=added, changed=changed, removed=removed, moved=moved, unchanged=unchanged)

    def rebuild(self) -> IndexReport:
        """Read every file again. Raises `Unavailable` where another server indexes."""
        self._require_leader()
        self._indexer.retry()
        with self._made_up_for():
            return self._indexer.rebuild()

    def prune(self) -> IndexReport:
        """Drop what is missing, however much it is. Raises `Unavailable` where another server indexes."""
        self._require_leader()
        self._indexer.retry()
        with self._made_up_for():
            return self._indexer.prune()

    @contextmanager
    def _made_up_for(self) -> Iterator[None]:
        """What fails within is said to whoever asked, and taken up in the background as soon as it can be."""
        try:
            yield
        except SetupError:
            raise
        except Exception:
            self._indexer.look_at_everything()
            raise

    def notice(self, paths: Sequence[str]) -> None:
        """Look at these paths soon."""
        if self._leader is not None and not self._leader.leading:
            self._leader.request_scan()
        else:
            self._indexer.changed(frozenset(paths))

    def look_again(self) -> None:
        """Look at the whole folder soon, and try the model again."""
        if self._leader is not None and not self._leader.leading:
            self._leader.request_scan()
            return
        self._indexer.retry()
        self._indexer.look_at_everything()

    def progress(self) -> Progress:
        """How far the work is."""
        return self._indexer.progress()

    def problems(self) -> list[str]:
        """`part: sentence` of everything that doesn't work now."""
        found = [f"index: {self._unstarted_index}"] if self._unstarted_index else []
        if self._leader is not None and self._leader.problem:
            found.append(f"database: {self._leader.problem}")
        if not self._leads:
            return found
        problems = self._indexer.problems()
        found += [f"{part}: {sentence}" for part, sentence in problems.items()]
        if "root" not in problems and (unwatched := self._unwatched()):
            found.append(f"watcher: {unwatched} Changes are found by the periodic look at the folder.")
        return found

    def notes(self) -> list[str]:
        """What works in another way than it could, in sentences."""
        note = self._watcher.note() if self._watcher is not None else ""
        return [note] if note else []

    def away(self) -> str:
        """Why the folder isn't there, in a sentence; empty where it is. Asked once a document's file is missing."""
        return self._indexer.away()

    def wait_until_idle(self, timeout_s: float | None = None) -> bool:
        """True once this server has nothing left to read or to embed."""
        return not self._leads or self._indexer.wait_until_ready(timeout_s)

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call `callback` with each new generation; the returned function ends it."""
        return self._listeners.add(callback)

    @property
    def last_indexed_at(self) -> float | None:
        """When the last look at the folder ended, in seconds since the epoch."""
        return self._indexer.last_indexed_at

    @property
    def watching(self) -> bool:
        """Whether changes are being watched for."""
        return self._watcher is not None and not self._unwatched()

    def check(self, repair: bool = False) -> CheckResponse:
        """Hold catalog, keyword index, vectors and folder against each other; with `repair`, mend what differs.

        A catalog that contradicts itself is mended by reading every file again. While the folder isn't there, its
        documents are kept, which is a problem that no repair mends. Raises `Unavailable` for a repair where another
        server indexes.
        """
        if repair:
            self._require_leader()
        problems, differences = self._catalog.verify(), []
        if problems and repair:
            self._indexer.rebuild()
            problems, differences = self._catalog.verify(), problems
        differences += self._indexer.check(repair=repair)
        if repair and (away := self._indexer.problems().get("root")):
            problems = [*problems, away]
        with self._catalog.read() as reader:
            count = reader.count()
        return CheckResponse(
            ok=not problems and (repair or not differences),
            problems=[*problems, *([] if repair else differences)],
            repaired=differences if repair else [],
            documents=count.documents,
            chunks=count.chunks,
            vectors=self._archive.count(),
        )
