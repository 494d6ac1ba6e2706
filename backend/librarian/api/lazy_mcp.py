"""The MCP server of a server that already answers others: importing the SDK takes a quarter of a start."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route, Router
from starlette.types import Receive, Scope, Send

from ..models import Observer
from .calls import Calls

if TYPE_CHECKING:
    from .mcp_transports import McpServer

logger = logging.getLogger(__name__)

MESSAGES = "/messages/"  #: where clients of the SSE transport post
LATEST_S = 1.0  #: when the server is made at the latest, though others are still being answered
LOOK_S = 0.05  #: how often is looked whether they are


class LazyMcpServer:
    """Serves as the `McpServer` that is made and run behind the body of `run`; who comes before it is there waits.

    Args:
        make: builds the server, given the threads to share with other interfaces. Called once, in another thread.
    """

    def __init__(self, make: Callable[[Calls], McpServer]) -> None:
        self._make = make
        self.calls = Calls()
        self.observe: Observer | None = None
        self._wanted = asyncio.Event()
        self._mcp_server: asyncio.Future[McpServer] | None = None

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve requests while the body runs. Raises at its end what kept the server from opening or closing."""
        self._mcp_server, ending = asyncio.get_running_loop().create_future(), asyncio.Event()
        serving = asyncio.create_task(self._serve(self._mcp_server, ending))
        try:
            yield
        finally:
            ending.set()
            self._wanted.set()  # nothing is left to wait for
            await serving
            self.calls.close()

    async def _serve(self, coming: asyncio.Future[McpServer], ending: asyncio.Event) -> None:
        await self._others_first()
        if ending.is_set():
            coming.cancel()
            return
        try:
            mcp_server = await asyncio.to_thread(self._make, self.calls)
            mcp_server.observe = self.observe
            async with mcp_server.run():
                coming.set_result(mcp_server)
                await ending.wait()
        except Exception as error:
            logger.exception("MCP can't be served")
            if not coming.done():
                coming.set_exception(error)
                coming.exception()  # raised where the server is awaited; nothing may await it
            raise

    async def _others_first(self) -> None:
        """Wait while others are being answered, from whom importing would take the interpreter, till MCP is asked."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + LATEST_S
        while not self._wanted.is_set() and loop.time() < latest:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), LOOK_S)
            if not self.calls.pending:
                return

    async def _come(self) -> McpServer:
        assert self._mcp_server is not None, "used outside of run()"
        self._wanted.set()
        return await asyncio.shield(self._mcp_server)

    @property
    def _here(self) -> McpServer | None:
        """The server, once it is open."""
        coming = self._mcp_server
        if coming is None or not coming.done() or coming.cancelled() or coming.exception():
            return None
        return coming.result()

    @property
    def streams(self) -> int:
        """How many `/sse` streams are open."""
        return self._here.streams if self._here else 0

    def end_streams(self) -> None:
        """As the server's."""
        if self._here:
            self._here.end_streams()

    async def serve_lines(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """As the server's."""
        try:
            mcp_server = await self._come()
        except BaseException:
            writer.close()
            raise
        await mcp_server.serve_lines(reader, writer)

    def routes(self, endpoint: str = "/mcp") -> list[BaseRoute]:
        """As the server's."""
        later = _Later(self._come, endpoint)
        return [Route(path, endpoint=later) for path in (endpoint, "/sse", f"{MESSAGES}{{rest:path}}")]


class _Later:
    """A raw ASGI application that is the server's routes, once there is a server."""

    def __init__(self, come: Callable[[], Awaitable[McpServer]], endpoint: str) -> None:
        self._come, self._endpoint = come, endpoint
        self._router: Router | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._router is None:
            self._router = Router(routes=(await self._come()).routes(self._endpoint))
        await self._router(scope, receive, send)
