"""Limits of a request's head, and what is answered to what isn't HTTP. Imports no MCP: the web server starts sooner."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .rest import error_response
from .security import HEADERS

_HINT = (
    "Letters beyond ASCII and spaces in an address must be percent-encoded; "
    "`curl -G --data-urlencode 'q=…' ADDRESS` does that."
)


MOST_HEAD = 64 * 1024  #: bytes, not counting the piece that a head begins in; browsers and proxies send some 8 KB
HEAD_S = 30.0  #: until a head must be complete
_LARGE = "Send fewer or shorter headers, and long questions as the body of a POST."


class LimitedHeads(HttpToolsProtocol):
    """uvicorn's protocol, but it refuses what isn't HTTP, or has a head that is too long or too slow."""

    head_s = HEAD_S
    _length: int | None = None  #: of the head that has begun, without the piece that it begins in
    _late: TimerHandle | None = None  #: ends the connection if nothing is asked or answered until then

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._length = -1
        self._await_head()

    def on_headers_complete(self) -> None:
        self._length = None
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._length is None or self.transport.is_closing():
            return
        self._length += len(data) if self._length >= 0 else 1
        if self._length > MOST_HEAD:
            self._refuse(431, "too_large", f"The head has more than {MOST_HEAD} bytes.", _LARGE)

    def send_400_response(self, _: str) -> None:
        self._refuse(400, "bad_request", "The request isn't HTTP.", _HINT)

    def _await_head(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = self.loop.call_later(self.head_s, self._end)

    def _end(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._await_head()
        elif self._length is not None:
            self._refuse(408, "too_slow", "The head of the request didn't end.", "Send the request without a pause.")
        else:
            self.transport.close()  # a browser that connects ahead asks nothing yet

    def _refuse(self, status: int, code: str, message: str, hint: str) -> None:
        """Answer, and hang up; the server's own answer is a line of text without a remedy."""
        answer = error_response(status, code, message, hint, {**HEADERS, "connection": "close"})
        first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
        lines = [first, *(name + b": " + value for name, value in answer.raw_headers), b"", b""]
        self.transport.write(b"\r\n".join(lines) + bytes(answer.body))
        self.transport.close()
