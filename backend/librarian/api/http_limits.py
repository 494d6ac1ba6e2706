"""Limits of a request's head, and what is answered to what isn't HTTP. Imports no MCP: the web server starts sooner."""

from __future__ import annotations

import time
from asyncio import TimerHandle, Transport
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .rest import error_response
from .security import HEADERS

_HINT = (
    "Letters beyond ASCII and spaces in an address must be percent-encoded; "
    "`curl -G --data-urlencode 'q=…' ADDRESS` does that."
)


def refuse(protocol: HttpToolsProtocol, status: int, code: str, message: str, hint: str) -> None:
    """Answer what couldn't be parsed, and hang up; the server's own answer is a line of text without a remedy."""
    answer = error_response(status, code, message, hint, {**HEADERS, "connection": "close"})
    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
    lines = [first, *(name + b": " + value for name, value in answer.raw_headers), b"", b""]
    protocol.transport.write(b"\r\n".join(lines) + bytes(answer.body))
    protocol.transport.close()


MOST_HEAD = 64 * 1024  #: bytes, not counting the piece that a head begins in; browsers and proxies send some 8 KB
HEAD_S = 30.0  #: a head takes at most twice as long; looked at so often, for a timer a request would cost more
_LARGE = "Send fewer or shorter headers, and long questions as the body of a POST."


class LimitedHeads(HttpToolsProtocol):
    """uvicorn's protocol, but it refuses what isn't HTTP, or has a head that is too long or too slow."""

    head_s = HEAD_S
    _awaited: float | None = None  #: since when a head is awaited; None while a body or an answer is under way
    _length: int | None = None  #: of the head that has begun, without the piece that it begins in
    _looking: TimerHandle

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._awaited = time.monotonic()
        self._looking = self.loop.call_later(self.head_s, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._looking.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._awaited, self._length = time.monotonic(), -1

    def on_headers_complete(self) -> None:
        self._awaited, self._length = None, None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._awaited = time.monotonic()
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._length is None or self.transport.is_closing():
            return
        self._length += len(data) if self._length >= 0 else 1
        if self._length > MOST_HEAD:
            refuse(self, 431, "too_large", f"The head has more than {MOST_HEAD} bytes.", _LARGE)

    def send_400_response(self, _: str) -> None:
        refuse(self, 400, "bad_request", "The request isn't HTTP.", _HINT)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        now, answered = time.monotonic(), self.cycle is None or self.cycle.response_complete
        if answered and self._awaited is not None and now - self._awaited >= self.head_s:
            if self._length is not None:
                refuse(
                    self, 408, "too_slow", "The head of the request didn't end.", "Send the request without a pause."
                )
            else:
                self.transport.close()  # a browser that connects ahead asks nothing yet
            return
        if answered and self._awaited is None:
            self._awaited = now  # what was answered already is still being sent
        self._looking = self.loop.call_later(self.head_s, self._look)
