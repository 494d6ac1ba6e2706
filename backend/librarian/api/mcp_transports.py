"""The MCP server over one library: stateless Streamable HTTP and the older SSE transport."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.lowlevel import NotificationOptions
from mcp.server.runner import serve_dual_era_loop
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from ..schemas import ResultLimits
from ..text.sanitizing import visible
from .library_handle import MESSAGES, Calls, LibraryHandle
from .mcp import Connection, LibraryServer
from .request_sanitizing import RequestSanitizer
from .rest import error_response

if TYPE_CHECKING:
    from ..library import Librarian


logger = logging.getLogger(__name__)


class McpServer(LibraryServer):
    """All of MCP for one process. Use it inside `async with server.run():`, once.

    `most_streams` limits open `/sse` streams. `on_call` gets name and version of the client that calls a tool.
    """

    def __init__(
        self,
        library: Librarian | LibraryHandle,
        *,
        toolsets: Sequence[str] = (),
        limits: ResultLimits = ResultLimits(),
        calls: Calls | None = None,
        version: str = "",
        title: str = "Librarian",
        most_streams: int = 64,
        heartbeat_s: float = 1.0,
        on_call: Callable[[str, str], None] | None = None,
    ) -> None:
        self.calls, self._own_calls = calls or Calls(), calls is None
        super().__init__(
            LibraryHandle.of(library),
            self.calls,
            toolsets=toolsets,
            limits=limits,
            version=version,
            title=title,
            heartbeat_s=heartbeat_s,
            on_call=on_call,
        )
        self.most_streams = most_streams
        self.streams = 0
        self._connections: set[Connection] = set()
        self._streaming: set[anyio.CancelScope] = set()
        # The web server's guard checks Host and Origin on every path; a second list to keep would only differ from it.
        open_ = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._http, self._plain_http = (
            StreamableHTTPSessionManager(app=self.server, json_response=plain, stateless=True, security_settings=open_)
            for plain in (False, True)
        )
        self._sse = SseServerTransport(MESSAGES, security_settings=open_)

    # -- life --------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:  # type: ignore[override]
        """Serve requests, and tell clients about new generations, while the body runs."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def notice(_: int) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended while the library was still refreshing
                loop.call_soon_threadsafe(changed.set)

        unsubscribe = self._handle.on_generation(notice)
        await self._introduce()
        try:
            async with self._http.run(), self._plain_http.run(), anyio.create_task_group() as tasks:
                tasks.start_soon(self._announce, changed)
                try:
                    yield
                finally:
                    self.close()
                    tasks.cancel_scope.cancel()
        finally:
            if unsubscribe is not None:
                unsubscribe()
            if self._own_calls:
                self.calls.close()

    async def _introduce(self) -> None:
        # not one of the calls: a server must open, and tell of changes, however many of them wait
        self.server.instructions = visible(await asyncio.to_thread(self._handle.instructions))

    async def _announce(self, changed: asyncio.Event) -> None:
        """After each generation: new instructions, and notices to clients that subscribed."""
        while True:
            await changed.wait()
            changed.clear()
            try:
                await self._introduce()
                uris = await self.changed()
                await self.bus.publish(ResourcesListChanged())
                for uri in uris:
                    await self.bus.publish(ResourceUpdated(uri=uri))
                for connection in list(self._connections):
                    await self._tell(connection, uris)
            except Exception:
                logger.exception("Clients could not be notified of the new generation")

    async def _tell(self, connection: Connection, uris: Sequence[str]) -> None:
        if (session := connection.session) is None:
            return
        try:
            await session.send_resource_list_changed()
            for uri in uris:
                if uri in connection.watched:
                    await session.send_resource_updated(uri)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._connections.discard(connection)

    # -- transports --------------------------------------------------------------------------------------------

    def routes(self, endpoint: str = "/mcp") -> list[BaseRoute]:
        """Routes for a web app: Streamable HTTP at `endpoint`, `/sse` and `/messages/`."""
        return [
            Route(
                endpoint, endpoint=RequestSanitizer(self._http.handle_request, plain=self._plain_http.handle_request)
            ),
            Route("/sse", endpoint=_SseEndpoint(self), methods=["GET"]),
            Mount(MESSAGES, app=RequestSanitizer(self._sse.handle_post_message)),
        ]

    async def serve_stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One `/sse` stream until its client leaves."""
        if self.streams >= self.most_streams:
            message = f"There are {self.streams} SSE streams open already."
            hint = "Close one, or use Streamable HTTP at /mcp, which keeps none."
            await error_response(503, "busy", message, hint)(scope, receive, send)
            return
        self.streams += 1
        serving = anyio.CancelScope()
        try:
            async with self._sse.connect_sse(scope, receive, send) as (incoming, outgoing):
                with serving:
                    self._streaming.add(serving)
                    await self._serve(incoming, outgoing)
                await outgoing.aclose()
        finally:
            self.streams -= 1
            self._streaming.discard(serving)

    def end_streams(self) -> None:
        """End all streams in good order: a server that stops shouldn't have to cut them."""
        self.close()
        for serving in list(self._streaming):
            serving.cancel()

    async def _serve(self, incoming: Any, outgoing: Any) -> None:
        connection = Connection()
        self._connections.add(connection)
        self.watched.append(connection.watched)
        options = self.server.create_initialization_options(NotificationOptions(resources_changed=True))
        try:
            await serve_dual_era_loop(self.server, incoming, outgoing, lifespan_state=connection, init_options=options)
        finally:
            self._connections.discard(connection)
            self.unwatch(connection.watched)


class _SseEndpoint:
    """A raw ASGI application, so that nothing answers a second time when a client leaves."""

    def __init__(self, mcp_server: McpServer) -> None:
        self._mcp_server = mcp_server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._mcp_server.serve_stream(scope, receive, send)
