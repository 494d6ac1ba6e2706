"""Where a daemon listens, written into its index folder for those who look for it.

A unix socket in the index folder, for this user alone; where the folder's path is too long for one, in a private
temporary folder. An address proves nothing: its daemon may be dead. `connect` finds out.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import SetupError

ADDRESS: Final = "daemon.json"
SOCKET: Final = "daemon.sock"
LONGEST_PATH: Final = 100  #: bytes of a unix socket's path; systems take 104 to 108


class Address(NamedTuple):
    """A daemon's address."""

    pid: int
    version: str
    path: str  #: its unix socket
    url: str = ""  #: where it also serves HTTP
    root: str = ""  #: the folder of documents; empty where it isn't told
    named: bool = False  #: whether command line or environment named it, not the configuration file

    def connect(self, timeout_s: float) -> socket.socket:
        """A connected socket. Raises `OSError` where nobody listens any more."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_s)
            connection.connect(self.path)
        except BaseException:
            connection.close()
            raise
        return connection


def require_root(address: Address, root: Path, *, named: bool = True) -> None:
    """Raises `SetupError` where the daemon at this address keeps the documents of another folder.

    `named`: the client's root comes from its command line or environment, not from the configuration file. If only the
    daemon's does, the client passes: it need not repeat the root that `serve --root` names.
    """
    if not address.root or (address.named and not named):
        return
    if Path(address.root).resolve() != root.resolve():
        way_back = "leave --root out" if named else "set docs.root_path back"
        raise SetupError(
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
    """What the folder says, dead or alive; None where it says nothing that can be understood, or, being a copy, what
    another index folder says."""
    try:
        content = json.loads((index / ADDRESS).read_bytes())
        published_in = content.pop("index", "")
        return None if _is_copy(index, published_in) else Address(**content)
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _is_copy(index: Path, published_in: str) -> bool:
    """Whether the folder that an address was published in is still there, and is another one."""
    folder = Path(published_in)
    return bool(published_in) and (folder / ADDRESS).exists() and not folder.samefile(index)


def require_readable(index: Path) -> None:
    """Raises `SetupError` where the folder's address is for another user alone: no second daemon can be
    started next to that user's."""
    path = index / ADDRESS
    why = ""
    if os.path.isdir(index) and not os.access(index, os.R_OK | os.X_OK):
        why = "belongs to another user"
    elif os.path.exists(path) and not os.access(path, os.R_OK):
        why = "is in use by a process of another user"
    if why:
        raise SetupError(
            f"The index folder {index} {why}.",
            hint="Choose one of your own with --index or INDEX_PATH, or have that user share it by `librarian serve`.",
        )


def listen(index: Path, *, version: str, url: str = "") -> tuple[socket.socket, Address]:
    """A listening socket and its address, not yet published. Only for the holder of the daemon's lock: it removes what
    a dead daemon left.
    """
    path = index / SOCKET
    if len(os.fsencode(path)) > LONGEST_PATH:
        import tempfile

        if (left := read(index)) is not None and Path(left.path).name == SOCKET:
            _remove(left, index)
        path = Path(tempfile.mkdtemp(prefix="librarian-")) / SOCKET
        if len(os.fsencode(path)) > LONGEST_PATH:
            path.parent.rmdir()
            path = Path(tempfile.mkdtemp(prefix="librarian-", dir="/tmp")) / SOCKET
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.bind(str(path))
        path.chmod(0o600)  # its folder is for this user alone, where the file system knows permissions
        server.listen(128)
    except BaseException:
        server.close()
        raise
    return server, Address(os.getpid(), version, str(path), url=url)


def publish(index: Path, address: Address) -> None:
    """Write the address for others to find, readable for this user alone, whole or not at all; where that fails nothing
    is left behind."""
    temporary = index / f"{ADDRESS}.{os.getpid()}"
    temporary.unlink(missing_ok=True)
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w", encoding="utf-8") as out:
            json.dump({**address._asdict(), "index": str(index.resolve())}, out)
        temporary.replace(index / ADDRESS)
    finally:
        temporary.unlink(missing_ok=True)


def leads(index: Path, address: Address) -> bool:
    """Whether who looks for it in the index folder gets to this address: neither it nor its socket was removed."""
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
        with contextlib.suppress(OSError):
            path.parent.rmdir()
