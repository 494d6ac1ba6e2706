"""A semaphore that serves its waiters first-in, first-out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class FairSemaphore:
    """A context manager: its body is one of at most `at_once` that run. Not to be entered twice by one thread.

    With `threading.Semaphore`, a thread that has just left may enter again before a waiting one is awake: background
    queries, one after another, would keep others out for seconds.
    """

    def __init__(self, at_once: int) -> None:
        self._lock = Lock()  # for what follows
        self._free = at_once  #: below 0 where a thread that came back without a place is still to leave
        self._waiting: deque[Lock] = deque()  #: one for each that waits, released once it may go on

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def __enter__(self) -> None:
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            own = Lock()
            own.acquire()
            self._waiting.append(own)
        try:
            own.acquire()
        except BaseException:  # Ctrl-C
            with self._lock:
                if own in self._waiting:
                    self._waiting.remove(own)
                    raise
            self._leave()
            raise

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._free += 1
            if self._free > 0 and self._waiting:
                self._free -= 1
                self._waiting.popleft().release()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Within the semaphore: let another thread run while the body waits for something that isn't Python's."""
        self._leave()
        try:
            yield
        finally:
            try:
                self.__enter__()
            except BaseException:  # Ctrl-C: the place that is left now wasn't taken again
                with self._lock:
                    self._free -= 1
                raise
