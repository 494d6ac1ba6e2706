"""Limits of a request's head, and what is answered to what isn't HTTP. Imports no MCP: the web server starts sooner."""

from __future__ import annotations

import time
from asyncio import TimerHandle, Transport
from http import HTTPStatus
from typing import Any

from .rest import error_response
from .security import HEADERS

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
