"""Pass MCP's JSON lines between a host's pipes and the daemon.

An MCP host starts one such process each. It loads nothing: it finds the daemon or starts it, and copies lines. It looks
into a line only to remember the handshake, which it repeats to a new daemon, and which requests are open: when their
daemon dies they are answered with an error (one of them may have killed it), when it says farewell they are sent to
the next. It ends when its stdin does. Nothing but protocol is ever written to stdout: the descriptor is taken away from
everybody else.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, Final

from ..errors import INTERRUPTED, SETUP, LibrarianError, SetupError, Unavailable
from ..files.writing import private_umask
from .address import FAILED, FAREWELL, REPLY_S, Lines, encode
from .client import Library, connect
from .discovery import find

DAEMON_ERROR: Final = -32000  #: JSON-RPC's first code for errors of a server's own
DRAIN_S: Final = 10.0  #: how long answers are awaited after stdin has ended
HANDSHAKE_S: Final = 30.0  #: how long a new daemon may take to repeat its side of the handshake
AGAIN_S: Final = 1.0  #: a failed start isn't tried again sooner
HANDOVERS: Final = 5  #: daemons that may make way while they are told the handshake
BRIEF_S: Final = 5.0  #: a daemon that ends sooner, with nothing to answer, isn't followed by another until it is needed
LONGEST_LINE: Final = 4 * 1024 * 1024  #: bytes that a daemon takes; it hangs up on longer ones

_ANSWER: Final = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?\d+|"[^"\\]*"),"(?:result|error)":')
_EXAMPLE: Final = """\
Passes MCP messages between stdin and stdout and the daemon of the index folder, which is started if none runs.
Example, in an MCP host's configuration:

    {"command": "librarian", "args": ["stdio", "--config", "/home/me/library/config.json"]}
"""

Id = str | int


class StdioBridge:
    """One host's connection. `forward` is called with each line of the host; answers go to `write`.

    Two threads at most are in here: the one that calls `forward` and one that reads the daemon's socket.
    """

    def __init__(self, library: Library, write: Callable[[bytes], None], *, reply_s: float = REPLY_S) -> None:
        self._library = library
        self._write = write
        self._reply_s = reply_s
        self._lock = threading.RLock()
        self._answered = threading.Condition(self._lock)
        self._writing = threading.Lock()
        self._lines: Lines | None = None
        self._open: dict[Id, bytes] = {}  #: the host's requests that wait for an answer
        self._replayed: dict[str, bytes] = {}  #: the handshake, and what else a new daemon has to be told, in order
        self._failure: LibrarianError | None = None
        self._tried = float("-inf")
        self._since = float("-inf")
        self._closing = False
        self.setup_failed = False  #: whether the last attempt failed for a wrong configuration

    # -- from the host ---------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Connect ahead of the first line. A failure shows in the answer to it."""
        with self._lock:
            self._connect()

    def forward(self, line: bytes) -> None:
        """Pass one line of the host on, or answer it with an error where no daemon can be had."""
        message = _parsed(line)
        if message is None:
            self._reply(None, -32700, "That isn't a JSON object on one line.")
            return
        if not isinstance(message.get("id"), Id | None):
            self._reply(None, -32600, "An id must be a string or a whole number.")
            return
        if len(line) > LONGEST_LINE:
            text = f"The message has {len(line):,} bytes; at most {LONGEST_LINE:,} are taken. Send less at once."
            self._reply(message.get("id"), -32600, text)
            return
        line = line if line.endswith(b"\n") else line + b"\n"
        with self._lock:
            ident, method = message.get("id"), message.get("method")
            if self._lines is None and not self._connect():
                if method is not None and ident is not None:
                    self._fail(ident, str(self._failure))
                return
            self._remember(line, message)
            if method is not None and ident is not None:
                self._open[ident] = line
            lines = self._lines
        if lines is not None:
            with suppress(OSError):  # the reading thread sees the same end, and answers what is open
                lines.socket.sendall(line)

    def _remember(self, line: bytes, message: dict[str, Any]) -> None:
        method = message.get("method")
        params = message.get("params")
        given = params if isinstance(params, dict) else {}
        if method in ("initialize", "notifications/initialized", "logging/setLevel"):
            self._replayed[method] = line
        elif method == "notifications/cancelled" and isinstance(given.get("requestId"), Id):
            self._open.pop(given["requestId"], None)  # what is cancelled isn't answered
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            uri = f"subscribe {given.get('uri', '')}"
            self._replayed.pop(uri, None)
            if method == "resources/subscribe":
                self._replayed[uri] = line

    def close(self) -> None:
        """Wait a little for answers that are still due, then hang up."""
        if not self._lock.acquire(timeout=DRAIN_S):
            return  # another thread is still waiting for a daemon; there's nothing left to bring it
        try:
            self._answered.wait_for(lambda: self._lines is None or not self._awaited(), DRAIN_S)
            self._closing = True
            lines, self._lines = self._lines, None
        finally:
            self._lock.release()
        if lines is not None:
            lines.close()

    def _awaited(self) -> bool:
        """Whether an answer is due; a subscription's comes when it ends, which the host does by leaving."""
        return any(b'"subscriptions/listen"' not in line for line in self._open.values())

    # -- from the daemon -------------------------------------------------------------------------------------------

    def _pump(self, lines: Lines) -> None:
        """Copy the daemon's lines to the host until it hangs up; then fail what is open and find the next daemon."""
        farewell = failed = False
        with suppress(OSError):  # a killed daemon resets the connection; the same as its end
            while line := lines.read():
                if line in (FAREWELL, FAILED):
                    farewell, failed = True, line == FAILED
                    if not failed:
                        break  # what is cut off now may be answered as that; the next daemon knows better
                elif line.endswith(b"\n"):
                    self._deliver(line)
        with self._lock:
            if self._closing or self._lines is not lines:
                return
            self._lines = None
            lines.close()
            for ident in list(self._open):
                # an unanswered handshake is repeated to the next daemon, which answers it
                if not farewell and not self._is_handshake(ident):
                    self._fail(
                        ident,
                        "The daemon of the index ended before it had answered. Send the request again: another daemon "
                        "is started by itself.",
                    )
            if self._open or (not failed and time.monotonic() - self._since > BRIEF_S):
                self._connect(again=[line for ident, line in self._open.items() if not self._is_handshake(ident)])

    def _deliver(self, line: bytes) -> None:
        if match := _ANSWER.match(line):
            ident, asks = json.loads(match[1]), False
        else:
            message = _parsed(line) or {}
            ident, asks = message.get("id"), "method" in message
        self._send(line)
        with self._answered:
            if ident is not None and not asks:
                self._open.pop(ident, None)
            self._answered.notify_all()

    # -- connecting ------------------------------------------------------------------------------------------------

    def _connect(self, again: Sequence[bytes] = ()) -> bool:
        """Find or start a daemon, tell it the handshake and what else has to be sent `again`; False with `_problem`
        set where that fails.
        """
        if self._failure is not None and time.monotonic() - self._tried < AGAIN_S:
            return False
        try:
            lines = self._connect_once(again)
        except LibrarianError as error:
            self._give_up(error)
            return False
        except (OSError, ValueError) as error:
            self._give_up(Unavailable(f"The daemon can't be reached: {error}.", hint="Send the request again."))
            return False
        self._failure, self.setup_failed = None, False
        self._lines, self._since = lines, time.monotonic()
        threading.Thread(target=self._pump, args=(lines,), name="daemon", daemon=True).start()
        return True

    def _connect_once(self, again: Sequence[bytes]) -> Lines:
        """A daemon that was told everything. One that shuts down meanwhile is followed by another."""
        for _ in range(HANDOVERS):
            connection = connect(self._library, "mcp", timeout_s=self._reply_s)
            lines = connection.lines
            if note := connection.note(self._library):
                print(f"librarian: {note}", file=sys.stderr, flush=True)  # noqa: T201
            self._library = self._library._replace(settings="")  # a later daemon knows the settings of its time better
            try:
                if self._repeat(lines):
                    for line in again:
                        lines.socket.sendall(line)
                    return lines
            except BaseException:
                lines.close()
                raise
            lines.close()
        raise Unavailable(f"{HANDOVERS} daemons have made way, one after another.", hint="Send it again.")

    def _give_up(self, error: LibrarianError) -> None:
        self._failure, self.setup_failed = error, isinstance(error, SetupError)
        self._tried = time.monotonic()  # a daemon that hangs isn't waited for once more by a line that came meanwhile
        print(f"librarian: {error}", file=sys.stderr, flush=True)  # noqa: T201 (hosts show a server's stderr)
        for ident in list(self._open):
            self._fail(ident, str(error))

    def _repeat(self, lines: Lines) -> bool:
        """Bring a new daemon to where the last one was: the same handshake, level and subscriptions. False where it
        makes way for another.
        """
        lines.socket.settimeout(HANDSHAKE_S)
        for stored in list(self._replayed.values()):
            lines.socket.sendall(stored)
            ident = (_parsed(stored) or {}).get("id")
            if ident is None:
                continue
            while True:
                line = lines.read()
                if line == FAREWELL:
                    return False
                if not line or line == FAILED:
                    raise ConnectionResetError("it ended during the handshake")
                message = _parsed(line) or {}
                if message.get("id") == ident and "method" not in message:
                    break
                self._deliver(line)
            if ident in self._open:
                self._deliver(line)
        lines.socket.settimeout(None)
        return True

    def _is_handshake(self, ident: Id) -> bool:
        return (_parsed(self._replayed.get("initialize", b"")) or {}).get("id") == ident

    # -- answers of its own ----------------------------------------------------------------------------------------

    def _fail(self, ident: Id, text: str) -> None:
        with self._answered:
            self._reply(ident, DAEMON_ERROR, text)
            self._open.pop(ident, None)
            self._answered.notify_all()

    def _reply(self, ident: Id | None, code: int, text: str) -> None:
        self._send(encode({"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": text}}))

    def _send(self, line: bytes) -> None:
        with self._writing:
            self._write(line)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def run(library: Library, source: BinaryIO, write: Callable[[bytes], None], *, reply_s: float = REPLY_S) -> int:
    """Relay until `source` ends or `write` finds nobody left; returns the exit code."""
    host_left = threading.Event()

    def deliver(line: bytes) -> None:
        try:
            write(line)
        except OSError:
            # the host has closed our stdout: there's nobody to work for
            host_left.set()

    bridge = StdioBridge(library, deliver, reply_s=reply_s)
    bridge.open()
    for line in iter(source.readline, b""):
        if host_left.is_set():
            return 0
        if line.strip():
            bridge.forward(line)
    if not host_left.is_set():
        bridge.close()
    return SETUP if bridge.setup_failed else 0


def main(argv: Sequence[str] | None = None, *, program: Sequence[str] | None = None) -> int:
    """The `stdio` command and `stdio_server.py`. `program` is how a daemon is started, for tests."""
    parser = argparse.ArgumentParser(
        "librarian stdio", description=_EXAMPLE, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, metavar in (("config", "FILE"), ("root", "DIR"), ("index", "DIR")):
        parser.add_argument(f"--{name}", metavar=metavar)
    parser.add_argument("--layout", choices=("product/component", "flat"))
    try:
        given = parser.parse_args(argv)
        if given.layout:
            os.environ["DOCS_LAYOUT"] = given.layout  # a daemon that is started inherits it
        where = find(config=given.config, root=given.root, index=given.index)
        library = Library.at(where, root_given=given.root is not None)
        for note in where.notes:
            print(f"librarian: {note}", file=sys.stderr)  # noqa: T201
    except SetupError as error:
        print(f"librarian: {error}", file=sys.stderr)  # noqa: T201
        return SETUP
    except SystemExit as end:  # of the parser: 0 after --help, 2 after a wrong option
        return int(end.code or 0)
    if program is not None:
        library = library._replace(program=tuple(program))
    # whatever prints from here on goes to stderr; only `write` knows the real stdout
    protocol = os.dup(1)
    os.dup2(2, 1)

    def write(data: bytes) -> None:
        while data:
            data = data[os.write(protocol, data) :]

    try:
        with private_umask():
            return run(library, sys.stdin.buffer, write)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        os.close(protocol)


if __name__ == "__main__":
    sys.exit(main())
