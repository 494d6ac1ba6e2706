"""What the interfaces of a process share: a library that may still be opening, threads for calls, and MCP's routes."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from .. import __version__
from ..errors import Busy, LibrarianError
from ..files.writing import write_whole
from ..models import DEADLINE, REQUEST, Deadline, new_id

if TYPE_CHECKING:
    from ..library import Librarian

R = TypeVar("R")
T = TypeVar("T")

logger = logging.getLogger(__name__)

INTRODUCTION: Final = "introduction.txt"
MAX_ERROR_LENGTH: Final = 2047  #: characters of instructions that only report an error
_POLL_S: Final = 0.1  #: how often a waiting call checks its deadline


class Calls:
    """Threads that all interfaces of a process share. Of `queue` waiting calls, one more is answered `Busy`.

    Not a loop's default pool, which the MCP SDK uses too: a cancelled call counts until its operation notices.
    """

    def __init__(self, threads: int = 4, queue: int = 64, timeout_s: float = 120.0) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="call")
        self._most = threads + queue
        self._timeout_ms = timeout_s * 1000
        self._lock = threading.Lock()
        self.pending = 0  #: calls that run or wait
        self.observe: Callable[..., None] | None = None
        """Called with each `answer`: interface, operation, outcome, seconds, and the response where there is one."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread, with a `DEADLINE` that cancelling the awaiting task cancels. Raises `Busy`, too."""
        with self._lock:
            if self.pending >= self._most:
                raise Busy(
                    f"Librarian is busy: {self.pending} requests are being answered or waiting.",
                    hint="Try again in a second.",
                )
            self.pending += 1
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

    async def answer(self, interface: str, operation: str, call: Callable[[], R], show: Callable[[R], T]) -> T:
        """What `show` makes of the response to `call`, both run in a thread."""
        start, outcome, responses = time.perf_counter(), "error", list[R]()

        def work() -> T:
            responses.append(call())
            return show(responses[0])

        try:
            shown = await self.run(work)
            outcome = "ok"
            return shown
        except LibrarianError as error:
            outcome = error.code
            raise
        finally:
            if self.observe is not None:
                response = responses[0] if outcome == "ok" else None
                self.observe(interface, operation, outcome, time.perf_counter() - start, response)

    def _left(self, _: object) -> None:
        with self._lock:
            self.pending -= 1

    def close(self) -> None:
        """End the threads once their calls have ended; calls that wait are dropped."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class LibraryHandle:
    """A library now or soon. `opened` or `failed` ends the waiting, once."""

    def __init__(self, index: Path | None = None) -> None:
        self._stored = index / INTRODUCTION if index is not None else None
        self._opened: Future[Librarian] = Future()
        self._callbacks: list[Callable[[int], None]] = []
        self.failed = self._opened.set_exception  #: with a `LibrarianError`, which every call raises from now on

    @classmethod
    def of(cls, library: Librarian | LibraryHandle) -> LibraryHandle:
        """A handle on a library that is open already."""
        if isinstance(library, LibraryHandle):
            return library
        handle = cls()
        handle.opened(library)
        return handle

    def opened(self, library: Librarian) -> None:
        """From now on `library` answers."""
        library.on_generation(self._announce)
        self._opened.set_result(library)

    def _announce(self, generation: int) -> None:
        for callback in list(self._callbacks):
            callback(generation)

    def close(self) -> None:
        """End the wait for a library that is never opened."""
        self._opened.cancel()

    @property
    def library(self) -> Librarian | None:
        """The library, once it is open."""
        return self._opened.result() if self._opened.done() and not self._opened.exception() else None

    @property
    def introduced(self) -> bool:
        """Whether `instructions` needn't wait."""
        return self._opened.done() or bool(self._last())

    def wait(self) -> Librarian:
        """The library, as soon as it is open. Raises what kept it from opening, and what the deadline does."""
        while True:
            try:
                return self._opened.result(_POLL_S)
            except TimeoutError:
                DEADLINE.get().check()

    def call(self, name: str, arguments: Mapping[str, object], deadline: Deadline | None = None) -> Any:
        """As `Librarian.call`, once the library is open."""
        token = DEADLINE.set(deadline or DEADLINE.get())
        try:
            return self.wait().call(name, arguments)
        finally:
            DEADLINE.reset(token)

    def products(self) -> list[str]:
        """Names of the products; none while the library is being opened or where they can't be read."""
        if self.library is None:
            return []
        with contextlib.suppress(LibrarianError):
            return [item.name for item in self.library.list_products().products]
        return []

    def instructions(self) -> str:
        """The library's, and before it is open those of the last start; a first start waits. Never raises."""
        last = self._last()
        if last and not self._opened.done():
            return last
        try:
            text = self.wait().instructions()
        except LibrarianError as error:
            return f"Librarian can't answer: {error}"[:MAX_ERROR_LENGTH]
        if self._stored is not None and text != last:
            try:
                write_whole(self._stored, f"{__version__}\n{text}")
            except OSError as error:
                logger.warning("The instructions can't be kept: %s", error)
        return text

    def _last(self) -> str:
        """The instructions that this version gave last; empty where it gave none."""
        try:
            version, _, text = self._stored.read_text("utf-8").partition("\n") if self._stored else ("", "", "")
        except (OSError, ValueError):
            return ""
        return text if version == __version__ else ""

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """As `Librarian.on_generation`; before the library is open the callback is remembered."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)


SSE: Final = "/sse"  #: where clients of the SSE transport listen
MESSAGES: Final = "/messages/"  #: and where they post


def mcp_routes(app: ASGIApp, endpoint: str = "/mcp") -> list[BaseRoute]:
    """The paths that a `McpServer` answers, for a web application."""
    return [Route(path, endpoint=app) for path in (endpoint, SSE, f"{MESSAGES}{{rest:path}}")]
