"""Runs a synchronous library from an event loop: in a few threads, bounded and cancellable."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..errors import Busy
from ..models import DEADLINE, REQUEST, Deadline, new_id

T = TypeVar("T")


class Calls:
    """Threads that all interfaces of a process share. Of `queue` waiting calls, one more is answered `Busy`.

    Not a loop's default pool, which the MCP SDK uses too: a cancelled call counts until its operation notices.
    """

    def __init__(self, threads: int = 4, queue: int = 64, timeout_s: float = 120.0) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="desk")
        self._most = threads + queue
        self._timeout_ms = timeout_s * 1000
        self._lock = threading.Lock()
        self._pending = 0

    @property
    def pending(self) -> int:
        """Calls that run or wait."""
        return self._pending

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread, with a `DEADLINE` that cancelling the awaiting task cancels. Raises `Busy`, too."""
        with self._lock:
            if self._pending >= self._most:
                raise Busy(
                    f"Librarian is busy: {self._pending} requests are being answered or waiting.",
                    hint="Try again in a second.",
                )
            self._pending += 1
        deadline = Deadline.of_ms(self._timeout_ms)
        try:
            context = contextvars.copy_context()
            if not context.get(REQUEST):
                context.run(REQUEST.set, new_id())
            context.run(DEADLINE.set, deadline)
            future = self._executor.submit(context.run, work)
        except BaseException:
            self._left(None)
            raise
        future.add_done_callback(self._left)
        try:
            return await asyncio.wrap_future(future)
        finally:
            deadline.cancelled.set()

    def _left(self, _: object) -> None:
        with self._lock:
            self._pending -= 1

    def close(self) -> None:
        """End the threads once their calls have ended; calls that wait are dropped."""
        self._executor.shutdown(wait=True, cancel_futures=True)
