"""The address of a daemon: a file in the index folder, next to the unix socket on which it serves HTTP.

The index folder, and with it the socket, is for this user alone. If its path is too long for a socket, the socket lies
in a private temporary folder. The daemon of an address may be dead; `ping` finds out.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import LibrarianError, SetupError, Unavailable
from ..files.writing import write_whole
from .unix_http import request

REPLY_S: Final = 10.0  #: a daemon that takes longer to answer `ping` hangs; a busy one takes milliseconds
INFO: Final = "/daemon/info"  #: paths that only the socket serves
SHUT_DOWN: Final = "/daemon/shut_down"
CALL: Final = "/daemon/call/"
ADDRESS: Final = "daemon.json"
SOCKET: Final = "daemon.sock"
LONGEST_PATH: Final = 100  #: bytes of a unix socket's path; systems take 104 to 108


class Address(NamedTuple):
    """A daemon's address."""

    pid: int
    version: str
    path: str  #: its unix socket
    url: str = ""  #: where it also serves HTTP; empty for a daemon in the background
    root: str = ""  #: the folder of documents; empty if unknown
    named: bool = False  #: whether command line or environment named it, not the configuration file
    settings: str = ""  #: `discovery.fingerprint` of what it was started with
    endpoint: str = "/mcp"  #: path of MCP's Streamable HTTP


def wrong_root(address: Address, root: Path, *, named: bool = True) -> SetupError | None:
    """The error where the daemon at this address keeps the documents of another folder.

    `named`: the client's root comes from its command line or environment, not from the configuration file. If only the
    daemon's does, the client passes: it need not repeat the root that `serve --root` names.
    """
    if not address.root or (address.named and not named) or Path(address.root).resolve() == root.resolve():
        return None
    way_back = "leave --root out" if named else "set docs.root_path back"
    return SetupError(
        f"This index belongs to the library in {address.root}, not to {root}.",
        hint=f"Choose another index folder with --index or `index.path`, or {way_back}.",
    )


def url_of(host: str, port: int) -> str:
    """Where this machine reaches what listens there.

    >>> url_of("0.0.0.0", 3001), url_of("::", 3001), url_of("fd00::1", 80), url_of("localhost", 80)
    ('http://127.0.0.1:3001', 'http://[::1]:3001', 'http://[fd00::1]:80', 'http://localhost:80')
    """
    host = host.strip("[]")
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


def read(index: Path) -> Address | None:
    """The address that the folder holds, of a dead daemon or a live one; None if it holds none, an unreadable one, or,
    being a copy, that of another index folder."""
    try:
        content = json.loads((index / ADDRESS).read_bytes())
        published_in = Path(content.pop("index", "") or index)
        is_copy = (published_in / ADDRESS).exists() and not published_in.samefile(index)
        return None if is_copy else Address(**content)
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def listen(index: Path) -> tuple[socket.socket, str]:
    """A listening socket and its path. Only for the holder of the daemon's lock: it removes what a dead daemon left."""
    path = index / SOCKET
    if len(os.fsencode(path)) > LONGEST_PATH:
        import tempfile

        if (left := read(index)) is not None and Path(left.path).name == SOCKET:
            _remove(left, index)
        is_short = len(os.fsencode(tempfile.gettempdir())) < LONGEST_PATH / 2
        path = Path(tempfile.mkdtemp(prefix="librarian-", dir=None if is_short else "/tmp")) / SOCKET
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.bind(str(path))
        path.chmod(0o600)  # its folder is for this user alone, where the file system knows permissions
        server.listen(1024)
    except BaseException:
        server.close()
        raise
    return server, str(path)


def publish(index: Path, address: Address) -> None:
    """Write the address for others to find, readable for this user alone."""
    content = {**address._asdict(), "index": str(index.resolve())}
    write_whole(index / ADDRESS, json.dumps(content), mode=0o600)


def leads(index: Path, address: Address) -> bool:
    """Whether the index folder still leads to this address: neither it nor its socket was removed."""
    return read(index) == address and os.path.exists(address.path)


def withdraw(index: Path, address: Address) -> None:
    """Take back what `publish` and `listen` made, unless another daemon has published since."""
    published = read(index)
    if published == address:
        (index / ADDRESS).unlink(missing_ok=True)
    elif published is not None and published.path == address.path:
        return  # that daemon listens at the same path now
    _remove(address, index)


def _remove(address: Address, index: Path) -> None:
    path = Path(address.path)
    path.unlink(missing_ok=True)
    if path.parent != index:
        with suppress(OSError):
            path.parent.rmdir()


def ping(address: Address, *, timeout_s: float = REPLY_S) -> int:
    """How many bridges and commands the daemon is serving.

    Raises `OSError` if nothing listens there, `Unavailable` if the daemon hangs or isn't one.
    """
    try:
        with request(address.path, "GET", INFO, end=time.monotonic() + timeout_s) as response:
            response.read_head()
            return int(json.loads(response.read())["clients"])
    except TimeoutError as error:
        raise Unavailable(
            f"The daemon (process {address.pid}) hasn't answered for {timeout_s:g} s.", hint=kill_hint(address.pid)
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(
            f"What answers at {address.path} is no daemon of this program ({error}).",
            hint="End all of Librarian's processes and ask again.",
        ) from error


def kill_hint(pid: int) -> str:
    """What to do about a daemon that hangs."""
    return f"End it with `kill -9 {pid}`, which loses nothing, and ask again: a new one starts by itself."


def as_error(content: object) -> LibrarianError:
    """An error that came over the wire, as the class that its code names; an unknown code as `LibrarianError`."""
    fields = content if isinstance(content, dict) else {}
    code, message, hint = (str(fields.get(name) or "") for name in ("code", "message", "hint"))
    kinds = [LibrarianError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    kind = next((kind for kind in kinds if kind.code == code), LibrarianError)
    error = kind(message or "The daemon gave no reason.", hint=hint)
    error.code = code or error.code
    return error


def bind(host: str, port: int) -> socket.socket:
    """A bound socket. Raises `SetupError` naming who holds the port. It names TCP, or asyncio sets no TCP_NODELAY."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.listen(256)
        listener.set_inheritable(False)
    except OSError as error:
        listener.close()
        taken, other = error.errno == errno.EADDRINUSE, "choose another port with --port, mcp.port or MCP_PORT."
        if taken or error.errno == errno.EACCES:
            hint = f"End that program, or {other}" if taken else f"Ports below 1024 may be the system's: {other}"
        else:
            hint = "Give an address of this machine with --host, mcp.host or MCP_HOST, such as 127.0.0.1."
        raise SetupError(
            f"Port {port} on {host} can't be used: {error.strerror}{holder(port) if taken else ''}.", hint=hint
        ) from error
    return listener


def holder(port: int) -> str:
    """The program that listens on a port, as the end of a sentence; empty if it is unknown."""
    import psutil

    with suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
                if connection.pid is None:
                    return "; another user's program holds it"
                return f"; {psutil.Process(connection.pid).name()} (process {connection.pid}) holds it"
    return ""
