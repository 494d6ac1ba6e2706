"""The MCP server over one library: stateless Streamable HTTP and the older SSE transport."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from asyncio import TimerHandle, Transport
from collections.abc import AsyncIterator, Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.lowlevel import NotificationOptions
from mcp.server.runner import serve_dual_era_loop
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from ..schemas import ResultLimits
from ..text.sanitizing import visible
from .library_handle import MESSAGES, Calls, LibraryHandle
from .mcp import Connection, LibraryServer
from .request_sanitizing import RequestSanitizer
from .rest import error_response
from .security import HEADERS

if TYPE_CHECKING:
    from ..library import Librarian


_HINT = (
    "Letters beyond ASCII and spaces in an address must be percent-encoded; "
    "`curl -G --data-urlencode 'q=…' ADDRESS` does that."
)


def refuse(
    protocol: Any,
    _: str = "",
    *,
    status: int = 400,
    code: str = "bad_request",
    message: str = "The request isn't HTTP.",
    hint: str = _HINT,
) -> None:
    """Answer what couldn't be parsed, and hang up; the server's own answer is a line of text without a remedy."""
    answer = error_response(status, code, message, hint, {**HEADERS, "connection": "close"})
    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
    lines = [first, *(name + b": " + value for name, value in answer.raw_headers), b"", b""]
    transport: Transport = protocol.transport
    transport.write(b"\r\n".join(lines) + bytes(answer.body))
    transport.close()


MOST_HEAD = 64 * 1024  #: bytes, not counting the piece that a head begins in; browsers and proxies send some 8 KB
HEAD_S = 30.0  #: a head takes at most twice as long; looked at so often, for a timer a request would cost more
_LARGE = "Send fewer or shorter headers, and long questions as the body of a POST."
_SLOW = "Send the request without a pause."


_Base: Any = object  #: stands for uvicorn's protocol, which is chosen at run time


class _LimitedHeads(_Base):  # type: ignore[misc]
    head_s = HEAD_S
    most = MOST_HEAD
    _awaited: float | None = None  #: since when a head is awaited; None while a body or an answer is under way
    _length = 0
    _begun = False
    _counted = False  #: whether all of the piece that has come is of a head that began before
    _looking: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:
        super().connection_made(transport)
        self._awaited = time.monotonic()
        self._looking = self.loop.call_later(self.head_s, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._awaited, self._length, self._begun, self._counted = time.monotonic(), 0, True, False

    def on_headers_complete(self) -> None:
        self._awaited, self._length, self._begun = None, 0, False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._awaited, self._counted = time.monotonic(), False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        self._counted = True
        super().data_received(data)
        if self._awaited is None or not self._counted or self.transport.is_closing():
            return
        self._length += len(data)
        if self._length > self.most:
            refuse(
                self, status=431, code="too_large", message=f"The head has more than {self.most} bytes.", hint=_LARGE
            )

    def send_400_response(self, _: str) -> None:
        refuse(self)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        now, answered = time.monotonic(), self.cycle is None or self.cycle.response_complete
        if answered and self._awaited is not None and now - self._awaited >= self.head_s:
            if self._begun:
                refuse(self, status=408, code="too_slow", message="The head of the request didn't end.", hint=_SLOW)
            else:
                self.transport.close()  # a browser that connects ahead asks nothing yet
            return
        if answered and self._awaited is None:
            self._awaited = now  # what was answered already is still being sent
        self._looking = self.loop.call_later(self.head_s, self._look)


def protocol(base: type[Any], *, head_s: float = HEAD_S) -> type[Any]:
    """uvicorn's protocol `base` that refuses what isn't HTTP, or has a head that is too long or too slow.

    Without httptools uvicorn parses by h11, which has a limit of its own for the length and tells of no beginnings.
    """
    if not hasattr(base, "on_message_begin"):
        return type("Protocol", (base,), {"send_400_response": refuse})
    return type("Protocol", (_LimitedHeads, base), {"head_s": head_s})


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
                if uri in connection.uris:
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
            error = {
                "code": "busy",
                "message": f"There are {self.streams} SSE streams open already.",
                "hint": "Close one, or use Streamable HTTP at /mcp, which keeps none.",
            }
            await JSONResponse({"error": error}, 503)(scope, receive, send)
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
        options = self.server.create_initialization_options(NotificationOptions(resources_changed=True))
        try:
            await serve_dual_era_loop(self.server, incoming, outgoing, lifespan_state=connection, init_options=options)
        finally:
            self._connections.discard(connection)
            for uri in connection.uris:
                self.watched.remove(uri)


class _SseEndpoint:
    """A raw ASGI application, so that nothing answers a second time when a client leaves."""

    def __init__(self, mcp_server: McpServer) -> None:
        self._mcp_server = mcp_server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._mcp_server.serve_stream(scope, receive, send)
