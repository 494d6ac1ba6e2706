"""What isn't HTTP is refused before the application hears of it: here in the shape of every other error."""

from __future__ import annotations

from asyncio import Transport
from typing import Any

from .answers import error_response
from .security import HEADERS

_HINT = (
    "Letters beyond ASCII and spaces in an address must be percent-encoded; "
    "`curl -G --data-urlencode 'q=…' ADDRESS` does that."
)


def refuse(protocol: Any, _: str) -> None:
    """Answer what couldn't be parsed, and hang up; the server's own answer is a line of text without a remedy."""
    answer = error_response(400, "bad_request", "The request isn't HTTP.", _HINT, {**HEADERS, "connection": "close"})
    lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in answer.raw_headers), b"", b""]
    transport: Transport = protocol.transport
    transport.write(b"\r\n".join(lines) + bytes(answer.body))
    transport.close()
