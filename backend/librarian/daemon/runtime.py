"""The event loop that a process runs on: uvloop's, which needs less processor time for a request."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Coroutine, Iterator
from typing import TypeVar

import uvloop

T = TypeVar("T")


def run(main: Coroutine[None, None, T]) -> T:
    """As `asyncio.run`."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


#: New objects until it is looked for. An answer in the making holds more than Python's 700: it would be looked through
#: once or twice in each, a twentieth of a hybrid question's time.
_NEW = 10_000


def seldom() -> None:
    """Look for garbage after as many new objects as several answers hold at once."""
    gc.set_threshold(_NEW)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """While modules are imported nothing is garbage, and looking for it costs a tenth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
