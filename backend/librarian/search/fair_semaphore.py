"""Whose turn it is: a few questions are worked on at once, the others wait without taking anything from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from types import TracebackType


class FairSemaphore:
    """A context manager: its body is one of at most `at_once` that run. Not to be entered twice by one thread.

    Who waits longest is next. With a semaphore, whoever has just had a turn may have the next one before a waiting
    thread is awake: what is asked in the background question after question would keep others out for seconds.
    """

    def __init__(self, at_once: int) -> None:
        self._lock = Lock()  # for what follows
        self._free = at_once  #: below 0 where who came back without a turn is still to leave
        self._waiting: deque[Lock] = deque()  #: one for each that waits, released once it is its turn

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    def __enter__(self) -> None:
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            turn = Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            turn.acquire()
        except BaseException:  # Ctrl-C
            with self._lock:
                given = turn not in self._waiting
                if not given:
                    self._waiting.remove(turn)
            if given:
                self._pass_on()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            self._free += 1
            if self._free > 0 and self._waiting:
                self._free -= 1
                self._waiting.popleft().release()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Within a turn: let another have it while the body waits for what isn't Python's."""
        self._pass_on()
        try:
            yield
        finally:
            try:
                self.__enter__()
            except BaseException:  # Ctrl-C: the turn that ends now wasn't had again
                with self._lock:
                    self._free -= 1
                raise
