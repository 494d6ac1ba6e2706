"""The event loop that a process runs on: uvloop's where there is one, which takes less of the processor a request."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


def run(main: Coroutine[None, None, T]) -> T:
    """As `asyncio.run`."""
    try:
        import uvloop
    except ImportError:  # Windows has none
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)
