"""Worker processes for tasks that may hang, crash or use too much memory, such as reading files.

A task that exceeds its limits or crashes ends its process and costs nothing else; pebble starts another process.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.util import Finalize
from queue import SimpleQueue
from typing import Any, Final, Generic, TypeVar

from pebble import CONSTS, ProcessExpired, ProcessPool

from ..files.paths import leave_deleted
from .malloc import keep_small

T = TypeVar("T")
R = TypeVar("R")

logger = logging.getLogger(__name__)

CONSTS.term_timeout = 3.0  # a child at low priority on a busy machine needs time to close what it opened
_OUT_OF_MEMORY: Final = 87  #: exit code of a worker whose task could not allocate memory


class WorkerDied(Exception):
    """The process that ran a task ended without a result."""


class PoolClosed(WorkerDied):
    """The pool was closed while the task was waiting or running."""


class WorkerPool(Generic[T, R]):
    """Runs a callable over items in worker processes.

    Args:
        factory: makes the callable, once in each process. Importable from the top level of a module, or a
            `functools.partial` of such, because processes are spawned. If it raises, `map` raises the same error. If
            the callable has a method `close`, it is called before the process ends.
        timeout_s: CPU time that a task may use on each of `cores`, as a number or by item; see `_by_the_clock`.
        memory_mb: what a process may allocate beyond what it needed to get ready (Linux only).
        prefetch: items that are taken ahead for each process; more while the sum of their `cost` is less than
            `max_ahead`.
    """

    def __init__(
        self,
        factory: Callable[[], Callable[[T], R]],
        processes: int,
        *,
        timeout_s: float | Callable[[T], float],
        memory_mb: int | None = None,
        nice: int = 10,
        cores: int = os.cpu_count() or 1,
        prefetch: int = 4,
        cost: Callable[[T], int] = lambda _: 0,
        max_ahead: int = 0,
        start_timeout_s: float = 120.0,
    ) -> None:
        self._processes = processes
        self.timeout_s: Callable[[T], float] = timeout_s if callable(timeout_s) else lambda _: timeout_s
        self._cores = cores
        self._ready = (factory, memory_mb, nice, start_timeout_s)
        self._window = processes * prefetch
        self._cost, self._max_ahead = cost, max_ahead
        self._pool: ProcessPool | None = None
        self._started_processes = 0
        self._done: SimpleQueue[Future[bytes] | None] = SimpleQueue()

    def map(
        self, items: Iterable[T], timeout_s: Callable[[T], float] | None = None
    ) -> Iterator[tuple[T, R | BaseException]]:
        """Each item with its result or the error it ended in, in order of completion.

        `timeout_s` replaces the pool's own limits. Errors besides those of the callable: `TimeoutError`,
        `MemoryError`, `WorkerDied`. Leaving the iterator early cancels the remaining tasks. One at a time.
        """
        limit_of = timeout_s or self.timeout_s
        self._done = SimpleQueue()
        source = iter(items)
        first = list(islice(source, min(2, self._processes)))
        source = chain(first, source)
        processes = self._processes if len(first) > 1 else 1  # a single file needs no second process
        tasks: dict[Future[bytes], T] = {}
        ahead, broken = 0, False

        def submit(item: T) -> None:
            limit = limit_of(item)
            future = self._started(processes).schedule(_run, (item, limit * self._cores), timeout=_by_the_clock(limit))
            tasks[future] = item
            future.add_done_callback(self._done.put)

        try:
            while True:
                while len(tasks) < self._window or ahead < self._max_ahead:
                    if (following := next(source, None)) is None:
                        break
                    submit(following)
                    ahead += self._cost(following)
                if not tasks:
                    return
                future = self._done.get()
                if future is None:
                    raise PoolClosed("the worker pool was closed")
                if future not in tasks:
                    continue  # of a pool that broke
                if isinstance(error := future.exception(), BrokenProcessPool):
                    if broken:
                        raise WorkerDied("worker processes end while they start") from error
                    broken = True
                    self._stop()
                    again, tasks = list(tasks.values()), {}
                    for item in again:
                        submit(item)
                    continue
                item, broken = tasks.pop(future), False
                ahead -= self._cost(item)
                yield item, self._outcome(future, limit_of(item))
        finally:
            for future in tasks:
                future.cancel()

    def close(self) -> None:
        """End all processes, until there is work again; a `map` under way in another thread ends with `PoolClosed`."""
        self._done.put(None)
        self._stop()

    def _outcome(self, future: Future[bytes], limit: float) -> R | BaseException:
        error = future.exception()
        if isinstance(error, ProcessExpired):
            if error.exitcode == _OUT_OF_MEMORY:
                return MemoryError()
            if error.exitcode == -signal.SIGPROF:
                return TimeoutError(f"not done within {limit:g} s of CPU time")
            code = error.exitcode
            reason = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
            return WorkerDied(f"its process ended {reason}")
        if isinstance(error, TimeoutError):
            return TimeoutError(f"not done within {_by_the_clock(limit):g} s")
        if error is not None:
            return error
        try:
            kind, value = pickle.loads(future.result())
        except Exception as unreadable:
            return unreadable
        if kind == "start":  # a process remembers that it couldn't start; another may
            self._stop()
            raise value
        result: R | BaseException = value
        return result

    def _started(self, processes: int) -> ProcessPool:
        if self._pool is not None and (not self._pool.active or self._started_processes < processes):
            self._stop()
        if self._pool is None:
            resource_tracker.ensure_running()  # before SIGINT is blocked: it would unblock it
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for this process alone
            try:
                pool = ProcessPool(processes, initializer=_get_ready, initargs=self._ready, context=_Context())
                _ = pool.active  # starts processes and threads, which inherit the blocked signal
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self._pool, self._started_processes = pool, processes
        return self._pool

    def _stop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.stop()  # type: ignore[no-untyped-call]
            pool.join()


def _by_the_clock(limit: float) -> float:
    """Seconds that a task may take if it waits for something, or if a busy machine keeps it from the CPU."""
    return 1.5 * limit + 10


_starting = threading.Lock()


class _Process(SpawnProcess):
    """A spawned process that does not import the parent's main module: a user's script would open a library again."""

    def start(self) -> None:
        leave_deleted()
        main = sys.modules["__main__"]
        with _starting:
            hidden: dict[str, Any] = {
                name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__
            }
            main.__spec__ = None
            try:
                super().start()
            finally:
                main.__dict__.update(hidden)


class _Context(SpawnContext):
    Process = _Process


# -- in the worker processes -------------------------------------------------------------------------------------------

_work: Callable[[Any], Any] | BaseException | None = None


def _get_ready(factory: Callable[[], Callable[[T], R]], memory_mb: int | None, nice: int, timeout_s: float) -> None:
    """Build the callable and set limits. An error is reported by the first task, because pebble would only log it."""
    global _work
    with contextlib.suppress(OSError):
        os.dup2(2, 1)  # standard output belongs to the protocol of the parent
    os.nice(nice)
    keep_small()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    try:
        _work = factory()
        if callable(close := getattr(_work, "close", None)):
            Finalize(None, close, exitpriority=0)
        if memory_mb is not None:
            _limit_memory(memory_mb)
    except Exception as error:
        _work = error
    signal.setitimer(signal.ITIMER_REAL, 0)


def _run(item: Any, cpu_s: float) -> bytes:
    """The pickled outcome of one task. SIGPROF ends the process after `cpu_s` seconds of CPU time."""
    if isinstance(_work, BaseException):
        return _pickled("start", _work)
    assert _work is not None
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        return _pickled("done", _work(item))
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)  # the heap may be too full to send an answer, or for the next task
    except Exception as error:
        return _pickled("done", error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _pickled(kind: str, value: object) -> bytes:
    try:
        return pickle.dumps((kind, value), protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        unsendable = RuntimeError(f"{type(value).__name__} can't be sent between processes: {error}")
        return pickle.dumps((kind, unsendable))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _limit_memory(megabytes: int) -> None:
    """Cap private writable memory at today's use plus `megabytes`.

    RLIMIT_AS would also count address space that thread arenas and memory-mapped models only reserve.
    """
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        used_kb = next((int(line.split()[1]) for line in status if line.startswith("VmData:")), 0)
    ceiling = used_kb * 1024 + megabytes * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        ceiling = min(ceiling, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (ceiling, hard))
