"""The event loop that a process runs on: uvloop's, which needs less processor time for a request."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import uvloop

T = TypeVar("T")


def run(main: Coroutine[None, None, T]) -> T:
    """As `asyncio.run`."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)
