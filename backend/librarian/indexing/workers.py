"""Child processes for work that may hang, crash or eat memory: reading files, embedding passages.

A task gets a child of its own while it runs, so a task that never ends is ended by killing the child, and a crash
costs one task. Not a scheduler: one caller maps one stream of items at a time.
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
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from ..files.paths import leave_deleted
from .worker_process import ChildSettings, serve

LEAST_S = 0.05  #: less isn't waited for: the processor's time is counted in hundredths of a second


def owed(process: BaseProcess, worked: float, limit: float) -> float:
    """Seconds that a child which is over its limit may still have; 0 where its time is up.

    Children are modest: beside a busy program a file that takes three seconds may take minutes. A child that wants the
    processor has `limit` seconds of it, counted from `worked`, what it had had before the task. One that waits for
    something else has no more time than the clock gave it.
    """
    import psutil

    try:
        child = psutil.Process(process.pid)
        if child.status() != psutil.STATUS_RUNNING:
            return 0.0
        times = child.cpu_times()
    except psutil.Error:
        return 0.0
    left = limit - (times.user + times.system - worked)
    return left if left >= LEAST_S else 0.0


class WorkerDied(Exception):
    """The child that ran a task ended without an answer."""


class PoolClosed(WorkerDied):
    """The pool was closed while the task was waiting or running: nobody's fault, and nothing to report."""


def ending(code: int | None) -> str:
    """How a process ended, by its exit code."""
    if code is not None and code < 0:
        return f"by signal {signal.Signals(-code).name}"
    return f"with code {code}"


_main_hidden = threading.Lock()


@contextlib.contextmanager
def without_main() -> Iterator[None]:
    """Children import the factory's module only. They would run a user's script again, which opens a library."""
    leave_deleted()
    main = sys.modules["__main__"]
    with _main_hidden:
        hidden: dict[str, Any] = {
            name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__
        }
        main.__spec__ = None
        try:
            yield
        finally:
            main.__dict__.update(hidden)


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """A terminal sends Ctrl-C to children too, and what they import first would end in a traceback: here it waits until
    they have said that it is their parent's alone."""
    resource_tracker.ensure_running()  # it would let signals in again, and needs none of this itself
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


T = TypeVar("T")
R = TypeVar("R")

logger = logging.getLogger(__name__)

_GOODBYE_S = 1.0  # how long a child may take to end once told to
_PAUSE_S = 0.05  # after a failure


class WorkerPool(Generic[T, R]):
    """Runs a callable over items in child processes.

    `factory` is called once in each child and gives the callable; it must be importable from the top level of a
    module (or a `functools.partial` of such), because children are spawned, not forked. Where it raises, `map` raises
    that error: no item is to blame.

    `processes=0` runs everything in the calling process, without limits: for tests and for jobs not worth a child.
    `prefetch` items for each child are taken ahead of the consumer, and more as long as their `cost`s (of those ahead)
    add up to less than `room`: so much the children do while the consumer is busy with what it got.
    `timeout_s` (one, or by item) is counted from an item's start, as `worker_time` says; `memory_mb` is what a child
    may allocate beyond what it needed to get ready; `nice` is added to the children's niceness. `farewell`: whether the
    callable has something to close, so that an idle child is let end by itself for a moment.
    """

    def __init__(
        self,
        factory: Callable[[], Callable[[T], R]],
        processes: int,
        *,
        timeout_s: float | Callable[[T], float],
        memory_mb: int | None = None,
        nice: int = 10,
        prefetch: int = 4,
        cost: Callable[[T], int] = lambda _: 0,
        room: int = 0,
        start_timeout_s: float = 120.0,
        farewell: bool = False,
    ) -> None:
        self._factory = factory
        self._processes = processes
        self._farewell = farewell
        self.timeout_s: Callable[[T], float] = timeout_s if callable(timeout_s) else lambda _: timeout_s
        self._start_timeout_s = start_timeout_s
        self._settings = ChildSettings(memory_mb=memory_mb, nice=nice)
        self._window = max(1, processes * prefetch)
        self._cost, self._room = cost, room
        self._inline: Callable[[T], R] | None = None
        self._busy = threading.Lock()
        self._dispatcher: _Dispatcher[T, R] | None = None
        self._closed = False

    def map(
        self, items: Iterable[T], timeout_s: Callable[[T], float] | None = None
    ) -> Iterator[tuple[T, R | BaseException]]:
        """Each item with its result, or with the error it ended in, in order of completion.

        `timeout_s` replaces the pool's own time limits for these items.

        Errors besides those of the callable: `TimeoutError`, `MemoryError`, `WorkerDied`. Items are taken ahead of the
        consumer, in the consumer's thread. Leaving the iterator early ends the tasks under way.
        """
        if self._closed:
            raise RuntimeError("the worker pool is closed")
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("the worker pool is already mapping")
        try:
            if self._processes == 0:
                yield from self._map_inline(items)
            else:
                yield from self._map_children(items, timeout_s or self.timeout_s)
        finally:
            self._busy.release()

    def close(self) -> None:
        """End all children. Idempotent; a `map` under way in another thread ends with `PoolClosed`."""
        self._closed = True
        dispatcher, self._dispatcher = self._dispatcher, None
        if dispatcher is not None:
            dispatcher.close()
        end = getattr(self._inline, "close", None)
        self._inline = None
        if callable(end):
            end()

    def pids(self) -> list[int]:
        """Process ids of the children alive."""
        return self._dispatcher.pids() if self._dispatcher else []

    def __enter__(self) -> WorkerPool[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _map_inline(self, items: Iterable[T]) -> Iterator[tuple[T, R | BaseException]]:
        if self._inline is None:
            self._inline = self._factory()
        work = self._inline
        for item in items:
            if self._closed:
                raise PoolClosed("the worker pool was closed")
            outcome: R | BaseException
            try:
                outcome = work(item)
            except Exception as error:
                outcome = error
            yield item, outcome

    def _map_children(
        self, items: Iterable[T], timeout_s: Callable[[T], float]
    ) -> Iterator[tuple[T, R | BaseException]]:
        dispatcher = self._dispatcher
        if dispatcher is None:
            dispatcher = self._dispatcher = _Dispatcher(
                self._factory, self._processes, self._start_timeout_s, self._settings, self._farewell
            )
        source = iter(items)
        outstanding = ahead = 0
        more = True
        try:
            while True:
                while more and (outstanding < self._window or ahead < self._room):
                    try:
                        item = next(source)
                    except StopIteration:
                        more = False
                        break
                    dispatcher.submit(item, timeout_s(item))
                    outstanding += 1
                    ahead += self._cost(item)
                if outstanding == 0:
                    return
                item, outcome = dispatcher.result()
                yield item, outcome
                outstanding -= 1
                ahead -= self._cost(item)
        finally:
            if outstanding:
                dispatcher.abandon()


@dataclass(slots=True)
class _Child(Generic[T]):
    process: BaseProcess
    connection: Connection
    deadline: float
    limit: float = 0.0  # seconds that the task may take
    worked: float = 0.0  # seconds of the processor before the task
    ready: bool = False
    task: list[T] = field(default_factory=list)  # the one item under way; empty while idle


class _Dispatcher(Generic[T, R]):
    """The thread that owns the children: starts them, feeds them, ends those that are late.

    One thread for the pool's whole life, because Linux sends a child its parent-death signal when the *thread* that
    started it ends.
    """

    def __init__(
        self,
        factory: Callable[[], Callable[[T], R]],
        processes: int,
        start_timeout_s: float,
        settings: ChildSettings,
        farewell: bool,
    ) -> None:
        self._farewell = farewell
        self._factory = factory
        self._processes = processes
        self._start_timeout_s = start_timeout_s
        self._settings = settings
        self._context = multiprocessing.get_context("spawn")
        self._waiting: deque[tuple[T, float]] = deque()  # items and their time limits
        self._done: deque[tuple[T, R | BaseException]] = deque()
        self._broken: BaseException | None = None
        self._children: list[_Child[T]] = []
        self._changed = threading.Condition()
        self._abandoned = False
        self._closing = False
        self._wake_read, self._wake_write = multiprocessing.Pipe(duplex=False)
        self._thread = threading.Thread(target=self._run, name="worker-pool", daemon=True)
        self._thread.start()

    # -- called by the consumer ------------------------------------------------------------------------------------

    def submit(self, item: T, limit: float) -> None:
        with self._changed:
            self._waiting.append((item, limit))
        self._wake()

    def result(self) -> tuple[T, R | BaseException]:
        with self._changed:
            self._changed.wait_for(lambda: self._done or self._broken or self._closing)
            if self._done:
                return self._done.popleft()
            broken, self._broken = self._broken, None
            raise broken or PoolClosed("the worker pool was closed")

    def abandon(self) -> None:
        """Forget what was submitted, and end the children that work on it."""
        with self._changed:
            self._waiting.clear()
            self._abandoned = True
        self._wake()
        with self._changed:
            self._changed.wait_for(lambda: not self._abandoned or self._closing)
            self._done.clear()
            self._broken = None

    def close(self) -> None:
        with self._changed:
            if self._closing:
                return
            self._closing = True
            self._changed.notify_all()
        self._wake()
        self._thread.join()
        self._wake_read.close()
        self._wake_write.close()

    def pids(self) -> list[int]:
        return [child.process.pid for child in list(self._children) if child.process.pid is not None]

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wake_write.send_bytes(b"!")

    # -- runs in the dispatcher's thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing:
            try:
                if self._abandoned:
                    self._drop_busy()
                self._feed()
                self._listen()
            except Exception as error:  # whoever maps may try again: there may be memory or handles for a child by then
                logger.exception("the worker pool failed")
                self._say_goodbye()
                self._fail(error)
                time.sleep(_PAUSE_S)
        self._say_goodbye()

    def _feed(self) -> None:
        with self._changed:
            waiting = len(self._waiting)
        idle = [child for child in self._children if not child.task]
        for _ in range(min(waiting - len(idle), self._processes - len(self._children))):
            idle.append(self._start())
        for child in idle:
            if not child.ready:
                continue
            with self._changed:
                if not self._waiting:
                    return
                item, child.limit = self._waiting.popleft()
            child.task = [item]
            child.deadline = time.monotonic() + child.limit
            try:
                child.connection.send(item)
            except OSError:
                self._bury(child, None)
            except (pickle.PicklingError, TypeError, AttributeError) as error:
                child.task = []
                self._deliver(item, error)

    def _listen(self) -> None:
        waited_for = [child for child in self._children if child.task or not child.ready]
        now = time.monotonic()
        patience = min((child.deadline - now for child in waited_for), default=None)
        sources: list[Connection] = [self._wake_read, *(child.connection for child in self._children)]
        signalled = wait(sources, None if patience is None else max(0.0, patience))
        if self._wake_read in signalled:
            while self._wake_read.poll():
                self._wake_read.recv_bytes()
        for child in list(self._children):
            if child.connection in signalled:
                self._receive(child)
        now = time.monotonic()
        for child in [child for child in self._children if (child.task or not child.ready) and child.deadline <= now]:
            limit = child.limit if child.task else self._start_timeout_s
            child.deadline = now + owed(child.process, child.worked, limit)
            if child.deadline <= now:
                self._bury(child, TimeoutError(f"not done within {limit:g} s"))

    def _receive(self, child: _Child[T]) -> None:
        try:
            kind, value, child.worked = child.connection.recv()
        except (EOFError, OSError):
            self._bury(child, None)
            return
        except Exception as error:  # an answer that can't be unpickled here
            kind, value = "error", error
        if kind == "ready":
            child.ready = True
        elif kind == "broken":
            self._bury(child, value)
        else:
            (item,), child.task = child.task, []
            self._deliver(item, value)
            if isinstance(value, MemoryError):  # its heap is in no state to go on with
                self._end(child)

    def _bury(self, child: _Child[T], reason: BaseException | None) -> None:
        """End a child that is late, dead or couldn't get ready, and say so to its item."""
        if reason is None:
            child.process.join(_GOODBYE_S)
        if child.process.exitcode is None:
            child.process.kill()
            child.process.join()
        error = reason or WorkerDied(f"its process ended {ending(child.process.exitcode)}")
        task, child.task = child.task, []
        ready = child.ready
        self._end(child)
        if task:
            self._deliver(task[0], error)
        elif not ready:
            self._fail(error)

    def _end(self, child: _Child[T]) -> None:
        self._children.remove(child)
        child.connection.close()
        child.process.kill()
        child.process.join()
        child.process.close()

    def _drop_busy(self) -> None:
        for child in [child for child in self._children if child.task]:
            self._end(child)
        with self._changed:
            self._abandoned = False
            self._changed.notify_all()

    def _deliver(self, item: T, outcome: R | BaseException) -> None:
        with self._changed:
            if not self._abandoned:
                self._done.append((item, outcome))
            self._changed.notify_all()

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self._broken = error
            self._waiting.clear()
            self._changed.notify_all()

    def _start(self) -> _Child[T]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=serve,
            args=(theirs, self._factory, self._settings, os.getpid()),
            name="librarian-worker",
            daemon=True,
        )
        with without_main(), without_interrupts():
            process.start()
        theirs.close()
        child = _Child[T](process, ours, time.monotonic() + self._start_timeout_s)
        self._children.append(child)
        return child

    def _say_goodbye(self) -> None:
        """Busy children are ended, and idle ones too unless they have something to close when their pipe does."""
        for child in self._children:
            child.connection.close()
            if child.task or not child.ready:
                child.process.kill()
            elif not self._farewell:
                child.process.terminate()
        until = time.monotonic() + _GOODBYE_S
        for child in self._children:
            child.process.join(max(0.0, until - time.monotonic()))
            if child.process.exitcode is None:
                child.process.kill()
                child.process.join()
            child.process.close()
        self._children.clear()
