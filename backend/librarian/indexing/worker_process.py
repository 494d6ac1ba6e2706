"""What runs inside a child of the worker pool: get ready, answer item after item, end with the parent."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TypeVar, cast

from .malloc import keep_small

T = TypeVar("T")
R = TypeVar("R")

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True, slots=True)
class ChildSettings:
    """`memory_mb`: what may be allocated beyond what getting ready took; `nice`: added to the niceness."""

    memory_mb: int | None
    nice: int


def serve(
    connection: Connection, factory: Callable[[], Callable[[T], R]], settings: ChildSettings, parent: int
) -> None:
    """Build the callable and answer ("ready", None), then ("done", result) or ("error", exception) for each item.

    A factory that raises is answered as ("broken", exception), and the child ends. The third of each answer is the
    processor time that the child has had so far, in seconds.
    """
    _settle(settings.nice, parent)
    try:
        work = factory()
        if settings.memory_mb is not None:
            _limit_memory(settings.memory_mb)
    except Exception as error:
        _answer(connection, "broken", error)
        return
    _answer(connection, "ready", None)
    try:
        while True:
            try:
                item = cast(T, connection.recv())
            except (EOFError, OSError):
                return
            kind: str = "done"
            outcome: object
            try:
                outcome = work(item)
            except Exception as error:
                kind, outcome = "error", error
            if not _answer(connection, kind, outcome):
                return
    finally:
        end = getattr(work, "close", None)
        if callable(end):
            end()


def _settle(nice: int, parent: int) -> None:
    """Be modest, don't outlive the parent, leave Ctrl-C to it, and never write to its standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.dup2(2, 1)
    os.nice(nice)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        keep_small()
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)
    else:
        threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _limit_memory(megabytes: int) -> None:
    """Cap private writable memory at today's use plus `megabytes`.

    RLIMIT_DATA counts what is allocated; RLIMIT_AS would also count the gigabytes of address space that thread
    arenas and memory-mapped models merely reserve. Linux alone enforces it for all allocations.
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


def _answer(connection: Connection, kind: str, value: object) -> bool:
    """Send an answer; False where nobody listens any more."""
    try:
        connection.send((kind, value, time.process_time()))
    except OSError:
        return False
    except MemoryError:
        connection.send(("error", MemoryError("the answer didn't fit into memory"), time.process_time()))
    except Exception as error:
        unsendable = RuntimeError(f"{type(value).__name__} can't be sent between processes: {error}")
        connection.send(("error", unsendable, time.process_time()))
    return True
