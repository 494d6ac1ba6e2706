"""What isn't HTTP is refused before the application hears of it: here in the shape of every other error."""

from __future__ import annotations

from asyncio import Transport
from http import HTTPStatus
from typing import Any

from .answers import error_response
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
