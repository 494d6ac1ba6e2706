"""What the workers of test_workers do: spawned children import it by name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from librarian.errors import SourceError, Unavailable


def work(item: object) -> object:
    """Does what the item says."""
    match item:
        case ("sleep", seconds):
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            signal.sigtimedwait([signal.SIGTERM], seconds)
            return "woke"
        case ("work", seconds):
            return worked(seconds)
        case ("share", seconds):
            return share(seconds)
        case "die":
            os._exit(3)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "greedy":
            return len(bytearray(400 * 1024 * 1024))
        case "raise":
            raise SourceError("No text in x.md.", reason="empty")
        case "unsendable":
            return lambda: None
        case "pid":
            return os.getpid()
        case "nice":
            return os.nice(0)
        case "print":
            print("not for the protocol")
            return "printed"
        case int():
            return item * 2
        case bytes():
            return item
    return None


def worked(seconds: float) -> str:
    """Takes so many seconds of the first processor."""
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return "worked"


def share(seconds: float) -> float:
    """The part of the first processor's time that this process got while it wanted all of it for so many seconds."""
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    started, until = time.process_time(), time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    return (time.process_time() - started) / seconds


def make_work() -> Callable[[object], object]:
    return work


def make_nothing(reason: str) -> Callable[[object], object]:
    raise Unavailable(reason)


def make_wait() -> Callable[[object], object]:
    work(("sleep", 60))
    return work


def make_death() -> Callable[[object], object]:
    os._exit(7)


class Closing:
    """Leaves a file when it is closed."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, item: object) -> object:
        return item

    def close(self) -> None:
        open(self._path, "w").close()
