"""Find the daemon of an index folder, start one if none runs, and call its operations.

Of many processes that look at once, one starts a daemon and the others wait for it. An older daemon makes way for a
newer program; a newer one serves older programs.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from .. import __version__
from ..errors import SETUP, LibrarianError, SetupError, Unavailable
from ..files.lock import DAEMON, STARTING, FolderLock
from . import address as addresses
from .address import CALL, REPLY_S, SHUT_DOWN, Address, as_error, kill_hint, ping
from .discovery import Library
from .unix_http import encoded, request

if TYPE_CHECKING:
    import subprocess

LOG: Final = "daemon.log"
START_S: Final = 30.0  #: until a started daemon must have published its address; it does so before it loads anything
_LONGEST_LOG: Final = 1 << 20  #: bytes; a longer log begins anew
_POLL_S: Final = 0.01
_STDERR: Final = 2

OnProgress = Callable[[Mapping[str, Any]], None]


def connect(library: Library, *, timeout_s: float = REPLY_S) -> Daemon:
    """The library's daemon, started where there is none.

    One of an older version, or with other settings and no clients, makes way for a new one.

    Raises `SetupError` where a daemon can't start or keeps other documents, `Unavailable` where it hangs.
    """
    if daemon := _reach(library, timeout_s, replace=True):
        return daemon
    end, child = time.monotonic() + START_S, None
    starting, owning = FolderLock(library.index, STARTING), FolderLock(library.index, DAEMON)
    try:
        while not (daemon := _reach(library, timeout_s)):
            if time.monotonic() > end:
                raise _late(library)
            if starting.acquire(timeout_s=0):  # else another process starts one
                if child is None and owning.holder() is None:  # a holder hasn't published its address yet
                    child = _spawn(library)
                elif child is not None and (code := child.poll()) is not None:
                    if owning.holder() is None:
                        raise _failed(library, code)
                    child = None
            time.sleep(_POLL_S)
    finally:
        starting.release()
    return daemon._replace(started=child is not None)


class Daemon(NamedTuple):
    """A daemon that answers."""

    address: Address
    clients: int = 0  #: bridges and commands that it is serving
    started: bool = False  #: whether it was started by this call

    def note(self, library: Library) -> str:
        """A sentence where the daemon has other settings than `library` asks for; empty where it has these."""
        if self.started or not _differs(self.address, library):
            return ""
        pid = self.address.pid
        now, remedy = f"process {pid}", f"end it with `kill {pid}`: another starts by itself"
        if self.address.url:
            now, remedy = f"the server at {self.address.url}", "start it again"
        return (
            f"The settings in force are those that {now} was started with; config.json, .env or a variable says "
            f"something else here, or the program was updated since. To have that in force, {remedy}."
        )


def shut_down_daemon(index: Path, *, timeout_s: float = 30.0) -> bool:
    """Ask the daemon to close its interfaces and wait until it let go of the folder; False where none runs.

    Raises `Unavailable` where it doesn't let go in time.
    """
    address = addresses.read(index)
    lock = FolderLock(index, DAEMON)
    if address is None or (holder := lock.holder()) is None:
        return False
    end = time.monotonic() + timeout_s
    answered = min(end, time.monotonic() + REPLY_S)
    with suppress(OSError), request(address.path, "POST", SHUT_DOWN, end=answered) as response:
        response.read_head()
    while lock.holder() is not None:
        if time.monotonic() > end:
            raise Unavailable(f"The daemon (process {holder.pid}) of {index} doesn't end.", hint=kill_hint(holder.pid))
        time.sleep(_POLL_S)
    return True


def acquire_index(index: Path, *, if_idle: bool = False, timeout_s: float = START_S, hint: str = "") -> FolderLock:
    """The daemon's lock, for a process that is to write the index itself. Meanwhile no daemon is started.

    A running daemon is shut down, with `if_idle` only one in the background without clients. Raises `SetupError` if
    another process keeps the folder, with `hint` as what to do then, and `Unavailable` if a daemon does not end.
    """
    lock = FolderLock(index, DAEMON)
    with FolderLock(index, STARTING).hold(timeout_s=timeout_s):
        if lock.acquire(version=__version__):
            return lock
        address = addresses.read(index)
        with suppress(OSError):
            if not if_idle or (address is not None and not address.url and not ping(address)):
                shut_down_daemon(index, timeout_s=timeout_s)
                if lock.acquire(version=__version__, timeout_s=1.0 if if_idle else timeout_s):
                    return lock
    holder = lock.holder()
    raise SetupError(f"Process {holder.pid if holder else '?'} owns the index {index}.", hint=hint)


def _reach(library: Library, timeout_s: float, *, replace: bool = False) -> Daemon | None:
    """The daemon that runs; None if there is none. `replace` shuts one down that should make way.

    Raises `SetupError` if the daemon has the documents of another folder.
    """
    address = addresses.read(library.index)
    if address is None:
        return None
    try:
        daemon = Daemon(address, ping(address, timeout_s=timeout_s))
    except OSError:
        return None
    wrong = None if library.root is None else addresses.wrong_root(address, library.root, named=library.named)
    if replace and _makes_way(daemon, library, has_wrong_root=wrong is not None):
        shut_down_daemon(library.index)
        return None
    if wrong is not None:
        raise wrong
    return daemon


def _spawn(library: Library) -> subprocess.Popen[bytes]:
    import subprocess

    log = library.index / LOG
    try:
        with _log(log) as out:
            out.write(b"--- daemon started by process %d\n" % os.getpid())
            out.flush()
            source = str(Path(__file__).resolve().parents[2])
            paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
            child = subprocess.Popen(
                library.command(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,  # the daemon outlives the terminal and the host that caused it
            )
    except OSError as error:
        raise SetupError(
            f"A daemon for {library.index} can't be started: {error}.",
            hint="Make the index folder writable, or choose another with --index or INDEX_PATH.",
        ) from error
    # takes note of its end, whenever that is, so that it doesn't stay behind as a zombie of a long-lived bridge
    threading.Thread(target=child.wait, name="daemon's end", daemon=True).start()
    return child


def _log(path: Path) -> BinaryIO:
    """The log, for this user alone, as it may tell of questions; also one that was written for everybody."""
    begin = os.O_TRUNC if path.exists() and path.stat().st_size > _LONGEST_LOG else 0
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | begin, 0o600)
    with suppress(OSError):  # another user's, which this one may write
        path.chmod(0o600)
    return open(file, "ab")


def shorten_log(index: Path) -> None:
    """Begin a daemon's log anew where it has grown long. For the daemon itself, whose standard error it is; its lines
    are in `librarian.log` as well, which is kept in parts."""
    with suppress(OSError):
        now = os.fstat(_STDERR)
        if now.st_size > _LONGEST_LOG and os.path.samestat(now, os.stat(index / LOG)):
            os.ftruncate(_STDERR, 0)


def _failed(library: Library, code: int) -> SetupError | Unavailable:
    """The error for a daemon that ended while starting, with the last line that it wrote."""
    text = ""
    with suppress(OSError):
        text = (library.index / LOG).read_bytes()[-8192:].decode("utf-8", "replace")
    own = text.rpartition("--- daemon started by process")[2].splitlines()[1:]
    last = next((line.strip() for line in reversed(own) if line.strip()), "")
    if code == SETUP:
        return SetupError(last or "The daemon's configuration is wrong.", hint="" if last else f"See {LOG}.")
    return Unavailable(
        f"The daemon of {library.index} ended with code {code} while starting: {last or 'it printed nothing'}",
        hint=f"See {library.index / LOG}.",
    )


def _late(library: Library) -> Unavailable:
    holder = FolderLock(library.index, DAEMON).holder()
    if holder is None:
        return Unavailable(
            f"No daemon of {library.index} has begun to listen within {START_S:g} s.",
            hint=f"See {library.index / LOG}.",
        )
    return Unavailable(f"Process {holder.pid} owns {library.index} and doesn't listen.", hint=kill_hint(holder.pid))


def _differs(address: Address, library: Library) -> bool:
    return bool(library.settings and address.settings) and address.settings != library.settings


def _makes_way(daemon: Daemon, library: Library, *, has_wrong_root: bool) -> bool:
    """Whether another daemon is started in its place: one in the background that is older, or that has no clients and
    other settings or documents. The new one checks whom the index belongs to."""
    if daemon.address.url:
        return False
    return _parts(daemon.address.version) < _parts(library.version) or (
        not daemon.clients and (has_wrong_root or _differs(daemon.address, library))
    )


def _parts(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def call(
    library: Library,
    operation: str,
    arguments: Mapping[str, Any],
    *,
    on_progress: OnProgress | None = None,
    timeout: float | None = None,
    on_note: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """An operation's answer by the daemon of a library, which is started where there is none.

    Raises what the operation raised, by its code; `SetupError` if the daemon can't start; `Unavailable` if it hangs,
    dies or takes longer than `timeout` seconds. `on_note` is called if the daemon has other settings than `library` and
    keeps them for other clients.
    """
    end = None if timeout is None else time.monotonic() + timeout
    daemon = connect(library)
    if on_note is not None and (note := daemon.note(library)):
        on_note(note)
    body = encoded(dict(arguments))
    try:
        with request(daemon.address.path, "POST", CALL + operation, body, end=end) as response:
            response.read_head()
            for line in response.lines():
                answer = json.loads(line)
                if "progress" in answer:
                    if on_progress is not None:
                        on_progress(answer["progress"])
                elif "error" in answer:
                    raise as_error(answer["error"])
                else:
                    result = answer["result"]
                    return result if isinstance(result, dict) else {"result": result}
            raise ConnectionResetError("hung up")
    except TimeoutError as error:
        raise Unavailable(
            f"{operation} wasn't answered within {timeout or 0:g} s.", hint="Ask for less, or allow more time."
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unavailable(
            f"The daemon ended before it had answered {operation}.",
            hint=f"Ask again: another one starts by itself. What happened is in {library.index / LOG}.",
        ) from error


def served_at(index: Path, root: Path, *, named: bool = True) -> str:
    """The URL of a running `librarian serve` of this index; empty if there is none.

    Raises `SetupError` if it serves another root; `named` as in `wrong_root`.
    """
    address = addresses.read(index)
    if address is None or not address.url:
        return ""
    try:
        ping(address)
    except (OSError, LibrarianError):
        return ""
    if (error := addresses.wrong_root(address, root, named=named)) is not None:
        raise error
    return address.url
