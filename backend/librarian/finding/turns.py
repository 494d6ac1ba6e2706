"""Whose turn it is: a few questions are worked on at once, the others wait without taking anything from them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class Turns:
    """A context manager: its body is one of at most `at_once` that run. Not to be entered twice by one thread."""

    def __init__(self, at_once: int) -> None:
        self._free = threading.BoundedSemaphore(at_once)

    def __enter__(self) -> None:
        self._free.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._free.release()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Within a turn: let another have it while the body waits for what isn't Python's."""
        self._free.release()
        try:
            yield
        finally:
            self._free.acquire()
