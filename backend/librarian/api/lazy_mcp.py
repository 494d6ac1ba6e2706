"""The MCP server of a server that already answers others: importing the SDK takes a quarter of a start."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route, Router
from starlette.types import Receive, Scope, Send

from ..models import Observer
from .library_handle import Calls

if TYPE_CHECKING:
    from .mcp_transports import McpServer

logger = logging.getLogger(__name__)

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

    async def serve_lines(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of JSON lines; closes `writer`."""
        try:
            mcp_server = await self.wait()
        except BaseException:
            writer.close()
            raise
        await mcp_server.serve_lines(reader, writer)

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
