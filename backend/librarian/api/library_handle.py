"""A handle on a library that is still being opened: calls wait, and the instructions of the last start are kept."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.routing import BaseRoute, Route, Router
from starlette.types import Receive, Scope, Send

from .. import __version__
from ..errors import Busy, LibrarianError, Unavailable
from ..files.writing import write_whole
from ..models import DEADLINE, REQUEST, Deadline, Observer, new_id

if TYPE_CHECKING:
    from ..library import Librarian
    from ..schemas import ResponseModel
    from .mcp_transports import McpServer

T = TypeVar("T")


@contextlib.contextmanager
def observed(observe: Observer | None, interface: str, operation: str) -> Iterator[dict[str, Any]]:
    """Tell the observer of a call that the body makes; the body may add the `answer`."""
    start, seen = time.perf_counter(), {"outcome": "error", "answer": None}
    try:
        yield seen
        seen["outcome"] = "ok"
    except LibrarianError as error:
        seen["outcome"] = error.code
        raise
    finally:
        if observe is not None:
            observe("call", interface=interface, operation=operation, seconds=time.perf_counter() - start, **seen)


class Calls:
    """Threads that all interfaces of a process share. Of `queue` waiting calls, one more is answered `Busy`.

    Not a loop's default pool, which the MCP SDK uses too: a cancelled call counts until its operation notices.
    """

    def __init__(self, threads: int = 4, queue: int = 64, timeout_s: float = 120.0) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="call")
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


logger = logging.getLogger(__name__)

INTRODUCTION: Final = "introduction.txt"
MAX_ERROR_LENGTH: Final = 2047  #: characters of instructions that only report an error
_POLL_S: Final = 0.1  #: how often a waiting call checks its deadline


class LibraryHandle:
    """A library now or soon. `opened` or `failed` ends the waiting, once."""

    def __init__(self, index: Path | None = None) -> None:
        self._stored = index / INTRODUCTION if index is not None else None
        self._done = threading.Event()
        self._library: Librarian | None = None
        self._error: LibrarianError | None = None
        self._callbacks: list[Callable[[int], None]] = []

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
        self._library = library
        library.on_generation(self._announce)
        self._done.set()

    def _announce(self, generation: int) -> None:
        for callback in list(self._callbacks):
            callback(generation)

    def failed(self, error: LibrarianError) -> None:
        """From now on every call raises `error`."""
        self._error = error
        self._done.set()

    @property
    def library(self) -> Librarian | None:
        """The library, once it is open."""
        return self._library

    @property
    def introduced(self) -> bool:
        """Whether `instructions` needn't wait."""
        return self._done.is_set() or bool(self._last())

    def wait(self) -> Librarian:
        """The library, as soon as it is open. Raises what kept it from opening, and what the deadline does."""
        while not self._done.wait(_POLL_S):
            DEADLINE.get().check()
        if self._library is None:
            raise self._error or Unavailable("The library is closed.", hint="Ask again.")
        return self._library

    def call(
        self, name: str, arguments: Mapping[str, object], deadline: Deadline | None = None
    ) -> ResponseModel | Mapping[str, object]:
        """As `Librarian.call`, once the library is open."""
        token = DEADLINE.set(deadline or DEADLINE.get())
        try:
            return self.wait().call(name, arguments)
        finally:
            DEADLINE.reset(token)

    def products(self) -> list[str]:
        """Names of the products; none while the library is being opened or where they can't be read."""
        if self._library is None:
            return []
        try:
            return [item.name for item in self._library.list_products().products]
        except LibrarianError:
            return []

    def instructions(self) -> str:
        """The library's, and before it is open those of the last start; a first start waits. Never raises."""
        if not self._done.is_set() and (stored := self._last()):
            return stored
        try:
            text = self.wait().instructions()
        except LibrarianError as error:
            return f"Librarian can't answer: {error}"[:MAX_ERROR_LENGTH]
        self._keep(text)
        return text

    def _last(self) -> str:
        """The instructions that this version gave last; empty where it gave none."""
        try:
            version, _, text = self._stored.read_text("utf-8").partition("\n") if self._stored else ("", "", "")
        except (OSError, ValueError):
            return ""
        return text if version == __version__ else ""

    def _keep(self, text: str) -> None:
        if self._stored is None or self._last() == text:
            return
        try:
            write_whole(self._stored, f"{__version__}\n{text}")
        except OSError as error:
            logger.warning("The instructions can't be kept: %s", error)

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """As `Librarian.on_generation`; before the library is open the callback is remembered."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)


MESSAGES = "/messages/"  #: where clients of the SSE transport post


class LazyMcpServer:
    """Serves as the `McpServer` that `make` builds in another thread while `run` already runs; requests wait for it."""

    def __init__(self, make: Callable[[Calls], McpServer]) -> None:
        self._make = make
        self.calls = Calls()
        self.observe: Observer | None = None
        self._server: asyncio.Future[McpServer] | None = None  #: there while `run` runs

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve requests while the body runs. Raises at its end what kept the server from opening or closing."""
        self._server, ending = asyncio.get_running_loop().create_future(), asyncio.Event()
        serving = asyncio.create_task(self._serve(self._server, ending))
        try:
            yield
        finally:
            ending.set()
            await serving
            self.calls.close()

    async def _serve(self, server: asyncio.Future[McpServer], ending: asyncio.Event) -> None:
        try:
            mcp_server = await asyncio.to_thread(self._make, self.calls)
            mcp_server.observe = self.observe
            async with mcp_server.run():
                server.set_result(mcp_server)
                await ending.wait()
        except Exception as error:
            logger.exception("MCP can't be served")
            if not server.done():
                server.set_exception(error)
                server.exception()  # raised where the server is awaited; nothing may await it
            raise

    @property
    def _opened(self) -> McpServer | None:
        if self._server is None or not self._server.done() or self._server.exception():
            return None
        return self._server.result()

    async def wait(self) -> McpServer:
        """The server, once it is made."""
        assert self._server is not None, "used outside of run()"
        return await asyncio.shield(self._server)

    @property
    def streams(self) -> int:
        """How many `/sse` streams are open."""
        return self._opened.streams if self._opened else 0

    def end_streams(self) -> None:
        """End all `/sse` streams."""
        if self._opened:
            self._opened.end_streams()

    def routes(self, endpoint: str = "/mcp") -> list[BaseRoute]:
        """The server's routes, for a web app."""
        app = _LazyRoutes(self, endpoint)
        return [Route(path, endpoint=app) for path in (endpoint, "/sse", f"{MESSAGES}{{rest:path}}")]


class _LazyRoutes:
    """A raw ASGI application that is the server's routes, once there is a server."""

    def __init__(self, lazy: LazyMcpServer, endpoint: str) -> None:
        self._lazy, self._endpoint = lazy, endpoint
        self._router: Router | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._router is None:
            mcp_server = await self._lazy.wait()
            self._router = Router(routes=mcp_server.routes(self._endpoint))
        await self._router(scope, receive, send)
