"""A small HTTP client for the daemon's unix socket.

A stdio bridge lives as long as its host, and the standard library's client, with the modules for e-mail and TLS that it
imports, would take a third more memory. One request per connection; closing the response cancels the request.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, Self

_LONGEST_LINE: Final = 65536  #: bytes of a line of the head


class Response:
    """The response to a request. Reading raises `ConnectionResetError` if it is cut off, `TimeoutError` if it is late.

    `end` is the point of `time.monotonic` until which all of it must have arrived; None waits without limit.
    """

    def __init__(self, connection: socket.socket, end: float | None) -> None:
        self._connection = connection
        self._received = connection.makefile("rb")
        self._end = end
        self.status = 0
        self.headers: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read_head(self) -> None:
        """Read status and headers. Raises `ValueError` for what isn't HTTP."""
        version, _, rest = self._line().partition(" ")
        if not version.startswith("HTTP/1."):
            raise ValueError(f"{version[:80]!r} isn't HTTP")
        self.status = int(rest[:3])
        while line := self._line():
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()

    def read(self) -> bytes:
        """The whole body."""
        return b"".join(self._blocks())

    def lines(self) -> Iterator[bytes]:
        """The body's lines, without their ends, as they arrive."""
        rest = b""
        for block in self._blocks():
            *whole, rest = (rest + block).split(b"\n")
            yield from whole
        if rest:
            yield rest

    def close(self) -> None:
        """Hang up, also under a reader that waits in another thread; the server cancels what isn't answered."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._received.close()
        self._connection.close()

    def _line(self) -> str:
        _limit(self._connection, self._end)
        line = self._received.readline(_LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise ConnectionResetError("the response was cut off")
        return line.decode("latin-1").rstrip("\r\n")

    def _blocks(self) -> Iterator[bytes]:
        if self.headers.get("transfer-encoding") != "chunked":
            yield self._block(int(self.headers.get("content-length", "0")))
            return
        while size := int(self._line(), 16):
            yield self._block(size)
            self._line()
        self._line()

    def _block(self, size: int) -> bytes:
        _limit(self._connection, self._end)
        block = self._received.read(size)
        if len(block) < size:
            raise ConnectionResetError("the response was cut off")
        return block


def request(
    path: str, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] = {}, *, end: float | None = None
) -> Response:
    """Send a request to the unix socket at `path`; the response's head is not yet read. `end` as of `Response`.

    Raises `ConnectionRefusedError` or `FileNotFoundError` if nobody listens there, so that nothing was sent, and
    `TimeoutError` if it isn't taken in time.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _limit(connection, end)
        connection.connect(path)
        fields = {"Host": "localhost", "Connection": "close", "Content-Length": str(len(body)), **headers}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        with suppress(BrokenPipeError):  # it has hung up; what it said before that says more
            connection.sendall("\r\n".join(lines).encode("latin-1", "replace") + body)
        return Response(connection, end)
    except BaseException:
        connection.close()
        raise


def encoded(content: object) -> bytes:
    """JSON on one line."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _limit(connection: socket.socket, end: float | None) -> None:
    connection.settimeout(None if end is None else max(end - time.monotonic(), 0.001))
