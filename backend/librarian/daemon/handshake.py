"""The first line of each side of a connection, and reading lines from a socket.

::

    client  {"librarian": {"kind": "mcp", "version": "0.1.0", "pid": 4711}}
    daemon  {"librarian": {"version": "0.1.0", "pid": 4242, "role": "background", "url": "",
                          "settings": "1f-8a3c…", "clients": 0}}
    daemon  {"librarian": {"error": {"code": "setup", "message": "…", "hint": "…"}}}      (instead)

    daemon  {"librarian": {"farewell": true}}                    (last, on `mcp`, where it ends of its own accord)
    daemon  {"librarian": {"farewell": true, "again": false}}    (instead, where the library can't be opened)

Kinds: `mcp` (MCP's JSON lines follow), `call` (requests of the command line follow), `ping` (nothing follows) and
`shut_down` (the daemon closes its interfaces and ends).
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple

from ..errors import LibrarianError, Unavailable
from .address import Address

Kind = Literal["mcp", "call", "ping", "shut_down"]
Role = Literal["background", "serve"]

REPLY_S: Final = 10.0  #: a daemon that takes longer to say a word hangs; a busy one takes milliseconds
MAX_HANDSHAKE_BYTES: Final = 65536  #: bytes
FAREWELL: Final = b'{"librarian":{"farewell":true}}\n'
FAILED: Final = b'{"librarian":{"farewell":true,"again":false}}\n'  #: the next daemon would fare no better by itself


class DaemonInfo(NamedTuple):
    """What a daemon says of itself."""

    version: str
    pid: int
    role: Role = "background"
    url: str = ""
    settings: str = ""  #: `where.fingerprint` of what it was started with
    clients: int = 0  #: hosts and commands that are connected, this one aside


def encode(content: object) -> bytes:
    """One JSON line."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def client_handshake(kind: Kind, version: str) -> bytes:
    """What a client says first."""
    return encode({"librarian": {"kind": kind, "version": version, "pid": os.getpid()}})


def decode_handshake(line: bytes) -> dict[str, Any]:
    """The inside of a greeting. Raises `ValueError` on anything else."""
    content = json.loads(line)
    inside = content.get("librarian") if isinstance(content, dict) else None
    if not isinstance(inside, dict):
        raise ValueError(f"{line[:80]!r} is no greeting")
    return inside


class Lines:
    """A connected socket, read line by line. One thread reads; another may send."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._rest = bytearray()

    def read(self) -> bytes:
        """The next line with its end; empty once the other side has closed. Raises `OSError`."""
        searched = 0
        while (end := self._rest.find(b"\n", searched)) < 0:
            searched = len(self._rest)
            more = self.socket.recv(65536)
            if not more:
                line, self._rest = bytes(self._rest), bytearray()
                return line
            self._rest += more
        line = bytes(self._rest[: end + 1])
        del self._rest[: end + 1]
        return line

    def close(self) -> None:
        """Close the connection, also under a reader that waits in another thread."""
        with suppress(OSError):  # it was closed from the other side
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def greet(address: Address, kind: Kind, version: str, *, timeout_s: float = REPLY_S) -> tuple[Lines, DaemonInfo]:
    """Connect to a daemon and exchange greetings. The socket then waits without limit.

    Raises `OSError` where nobody listens there, `Unavailable` where the daemon hangs or refuses.
    """
    end = time.monotonic() + timeout_s
    hangs = Unavailable(
        f"The daemon (process {address.pid}) hasn't answered for {timeout_s:g} s.",
        hint=f"End it with `kill -9 {address.pid}`, which loses nothing, and ask again: a new one starts by itself.",
    )
    try:
        lines = Lines(address.connect(timeout_s))
    except TimeoutError as error:
        raise hangs from error
    try:
        with suppress(BrokenPipeError):  # it has hung up; what it said before that says more
            lines.socket.sendall(client_handshake(kind, version))
        lines.socket.settimeout(max(end - time.monotonic(), 0.01))
        line = lines.read()
        if not line:
            raise ConnectionResetError("The daemon closed the connection without a word.")
        answer = decode_handshake(line)
        if refusal := answer.get("error"):
            raise as_error(refusal)
        lines.socket.settimeout(None)
        return lines, DaemonInfo(
            str(answer["version"]),
            int(answer["pid"]),
            answer.get("role", "background"),
            str(answer.get("url", "")),
            str(answer.get("settings", "")),
            int(answer.get("clients", 0)),
        )
    except TimeoutError as error:
        lines.close()
        raise hangs from error
    except (ValueError, KeyError, TypeError) as error:
        lines.close()
        raise Unavailable(
            f"What answers at {address.path} is no daemon of this program ({error}).",
            hint="End all of Librarian's processes and ask again.",
        ) from error
    except BaseException:
        lines.close()
        raise


def as_error(content: object) -> LibrarianError:
    """An error that came over the wire, as the class that its code names; an unknown code as `LibrarianError`."""
    fields = content if isinstance(content, dict) else {}
    code, message, hint = (str(fields.get(name) or "") for name in ("code", "message", "hint"))
    families = [LibrarianError]
    for family in families:
        families += family.__subclasses__()
    kind = next((family for family in families if family.code == code), LibrarianError)
    error = kind(message or "The daemon gave no reason.", hint=hint)
    error.code = code or error.code
    return error
