"""Pass MCP's JSON lines between a host's pipes and the daemon: one line in, one POST to it, its answer back as lines.

An MCP host starts one such process each. It loads nothing: it finds the daemon or starts it, and copies. Requests run
in threads of their own; hanging up cancels one. A request whose daemon was killed is answered with an error, for it may
have killed it; one whose daemon ended of its own accord is sent to the next. HTTP keeps no session, so that a stream
of `subscriptions/listen` stands in for what a host of an older protocol revision subscribes to; it also tells the
daemon that a host is there. The bridge ends when its stdin does. Nothing but protocol is ever written to stdout: the
descriptor is taken away from everybody else.
"""

from __future__ import annotations

import argparse
import binascii
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, Final

from ..errors import INTERRUPTED, SETUP, LibrarianError, SetupError, Unavailable
from ..files.writing import private_umask
from . import address as addresses
from .address import REPLY_S, Address
from .client import connect
from .discovery import Library, find
from .unix_http import Response, encoded, request

DAEMON_ERROR: Final = -32000  #: JSON-RPC's first code for errors of a server's own
DRAIN_S: Final = 10.0  #: how long answers are awaited after stdin has ended
AGAIN_S: Final = 1.0  #: a failed start isn't tried again sooner
HANDOVERS: Final = 5  #: daemons that may make way for another while they have a request
BRIEF_S: Final = 5.0  #: a daemon that ends sooner, with nothing to answer, isn't followed by another until it is needed
LONGEST_LINE: Final = 4 * 1024 * 1024  #: bytes that a daemon takes
MOST_REQUESTS: Final = 64  #: that wait for answers at once; further lines are read later

_ENVELOPE: Final = "io.modelcontextprotocol/"
_STATELESS: Final = "2026-07-28"  #: the first protocol revision without a handshake
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_EXAMPLE: Final = """\
Passes MCP messages between stdin and stdout and the daemon of the index folder, which is started if none runs.
Example, in an MCP host's configuration:

    {"command": "librarian", "args": ["stdio", "--config", "/home/me/library/config.json"]}
"""

Id = str | int


class _Exchange:
    """A request of the host that waits for its answer."""

    cancelled = False
    response: Response | None = None

    def __init__(self, ident: Id, method: str, params: dict[str, Any], line: bytes) -> None:
        self.ident, self.method, self.params, self.line = ident, method, params, line

    def cancel(self) -> None:
        """Hang up; the daemon stops working on it, and nothing is answered."""
        self.cancelled = True
        if self.response is not None:
            self.response.close()


class StdioBridge:
    """One host's connection. `forward` is called with each line of the host; answers go to `write`."""

    def __init__(self, library: Library, write: Callable[[bytes], None], *, reply_s: float = REPLY_S) -> None:
        self._library = library
        self._write = write
        self._reply_s = reply_s
        self._writing = threading.Lock()
        self._find_lock = threading.Lock()
        self._stream_lock = threading.Lock()
        self._address: Address | None = None
        self._failure: LibrarianError | None = None
        self._tried = float("-inf")
        self._changed = threading.Condition()
        self._open: dict[Id, _Exchange] = {}
        self._hello: dict[str, Any] = {}  #: params of the host's handshake
        self._revision = ""  #: that the handshake agreed on; empty where each request names its own
        self._uris: list[str] = []  #: resources that the host subscribed to
        self._stream: Response | None = None  #: open while the daemon knows that a host is there
        self._streams = 0
        self._closing = False

    @property
    def setup_failed(self) -> bool:
        """Whether the last attempt to reach a daemon failed for a wrong configuration."""
        return isinstance(self._failure, SetupError)

    # -- from the host ---------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Find the daemon ahead of the first line. A failure shows in the answer to it."""
        with suppress(LibrarianError):
            self._find()

    def forward(self, line: bytes) -> None:
        """Pass one line of the host on, or answer it with an error where no daemon can be had."""
        message = _parsed(line)
        if message is None:
            self._reply(None, -32700, "That isn't a JSON object on one line.")
            return
        ident, method, params = message.get("id"), message.get("method"), message.get("params")
        notice = isinstance(method, str) and method.startswith("notifications/")
        has_id = isinstance(ident, Id) or "id" not in message or (ident is None and notice)
        if not has_id or (method is None and not {"result", "error"} & message.keys()):
            ident = ident if isinstance(ident, Id) else None
            self._reply(ident, -32600, "A request has a method, and an id that is a string or a whole number.")
            return
        if len(line) > LONGEST_LINE:
            text = f"The message has {len(line):,} bytes; at most {LONGEST_LINE:,} are taken. Send less at once."
            self._reply(ident, -32600, text)
            return
        params = params if isinstance(params, dict) else {}
        if not isinstance(method, str) or ident is None:
            # a stateless server does nothing with notices and answers but cancel
            if method == "notifications/cancelled" and (exchange := self._open.get(params.get("requestId", ""))):
                exchange.cancel()
            return
        exchange = _Exchange(ident, method, params, line.strip())
        with self._changed:
            self._changed.wait_for(lambda: len(self._open) < MOST_REQUESTS)
            self._open[ident] = exchange
        if method == "initialize":  # what comes after it depends on its answer
            self._hello = params
            self._exchange(exchange)
        else:
            threading.Thread(target=self._exchange, args=(exchange,), name="request", daemon=True).start()

    def close(self) -> None:
        """Wait a little for answers that are still due, then hang up."""
        with self._changed:
            # a subscription's answer comes when it ends, which the host does by leaving
            due = [each for each in self._open.values() if each.method != "subscriptions/listen"]
            self._changed.wait_for(lambda: not any(each.ident in self._open for each in due), DRAIN_S)
            self._closing = True
            for exchange in self._open.values():
                exchange.cancel()
        if self._stream is not None:
            self._stream.close()

    # -- requests --------------------------------------------------------------------------------------------------

    def _exchange(self, exchange: _Exchange) -> None:
        """Answer one request."""
        try:
            subscribes = exchange.method in ("resources/subscribe", "resources/unsubscribe") and bool(self._revision)
            if subscribes:
                uri = str(exchange.params.get("uri", ""))
                with self._changed:
                    self._uris = [each for each in self._uris if each != uri]
                    self._uris += [uri] if exchange.method == "resources/subscribe" else []
            else:
                self._post(exchange)
            with self._stream_lock:
                if subscribes or self._stream is None:
                    self._listen()
            if subscribes:  # the daemon watches what was asked for
                self._send(encoded({"jsonrpc": "2.0", "id": exchange.ident, "result": {}}))
        except LibrarianError as error:
            if exchange.ident in self._open and not exchange.cancelled:
                self._reply(exchange.ident, DAEMON_ERROR, str(error))
        finally:
            with self._changed:
                if self._open.get(exchange.ident) is exchange:
                    del self._open[exchange.ident]
                self._changed.notify_all()

    def _post(self, exchange: _Exchange) -> None:
        """Pass the request on until a daemon has answered it. Raises `LibrarianError` where none does."""
        headers = _headers(exchange.method, exchange.params, self._revision, self._hello)
        for _ in range(HANDOVERS):
            address = self._find()
            try:
                exchange.response = request(address.path, "POST", address.endpoint, exchange.line, headers)
                with exchange.response as response:
                    if exchange.cancelled or self._answered(exchange, response):
                        return
                    raise ConnectionResetError("ended without an answer")
            except (OSError, ValueError) as error:
                if exchange.cancelled:
                    return
                with self._find_lock:
                    if self._address == address:
                        self._address = None
                # a handshake changes nothing, and a daemon that ends of its own accord takes its address back
                is_safe = isinstance(error, ConnectionRefusedError | FileNotFoundError)  # nothing was sent
                if not (is_safe or exchange.method == "initialize" or addresses.read(self._library.index) != address):
                    raise Unavailable(
                        f"The daemon of the index ended before it had answered ({error}).",
                        hint="Send the request again: another daemon is started by itself.",
                    ) from error
        raise Unavailable(f"{HANDOVERS} daemons have made way, one after another.", hint="Send it again.")

    def _answered(self, exchange: _Exchange, response: Response) -> bool:
        """Pass on what comes; False where it ends without the answer."""
        for message, line in _messages(response):
            if "method" in message or "id" not in message:
                self._send(line)
                continue
            if exchange.method == "initialize" and "result" in message:
                result = message["result"]
                self._revision = str(result.get("protocolVersion", ""))
                if isinstance(resources := result.get("capabilities", {}).get("resources"), dict):
                    resources.update(subscribe=True, listChanged=True)  # which the bridge provides
                line = encoded(message)
            elif "error" in message and message["id"] != exchange.ident:  # of what the server couldn't understand
                line = encoded({**message, "id": exchange.ident})
            if not exchange.cancelled:
                self._send(line)
            return True
        if response.status >= 400:
            raise Unavailable(f"The daemon refused the request (HTTP {response.status}).", hint="See daemon.log.")
        return False

    # -- notices ---------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Open a stream of notices in place of the one before, in turn with other threads. Raises `LibrarianError`
        where no daemon can be had."""
        address = self._find()
        self._streams += 1
        wanted = {"resourcesListChanged": True, "resourceSubscriptions": self._uris} if self._revision else {}
        meta = {f"{_ENVELOPE}protocolVersion": _STATELESS, f"{_ENVELOPE}clientCapabilities": {}}
        params = {"notifications": wanted, "_meta": meta}
        method = "subscriptions/listen"
        asked = {"jsonrpc": "2.0", "id": f"notices-{self._streams}", "method": method, "params": params}
        headers = _headers(method, params, "", self._hello)
        try:
            stream = request(address.path, "POST", address.endpoint, encoded(asked), headers)
            messages = _messages(stream)
            next(messages, None)  # that the daemon watches
        except (OSError, ValueError):
            return  # the next request finds out what became of the daemon
        before, self._stream = self._stream, stream
        threading.Thread(target=self._notice, args=(stream, messages), name="notices", daemon=True).start()
        if before is not None:
            before.close()

    def _notice(self, stream: Response, messages: Iterator[tuple[dict[str, Any], bytes]]) -> None:
        """Pass notices on until the stream ends; where its daemon has ended, find the next."""
        began = time.monotonic()
        with suppress(OSError, ValueError), stream:
            for message, _ in messages:
                if "method" in message:
                    message.get("params", {}).pop("_meta", None)  # of the stream, which the host knows nothing of
                    self._send(encoded(message))
        if self._stream is stream:
            self._stream = None
            if not self._closing and time.monotonic() - began > BRIEF_S:
                with suppress(LibrarianError), self._stream_lock:
                    self._listen()

    # -- the daemon ------------------------------------------------------------------------------------------------

    def _find(self) -> Address:
        """The daemon's address. Raises `LibrarianError` where none can be had."""
        with self._find_lock:
            if self._address is not None:
                return self._address
            # one that hangs isn't waited for once more by a line that came meanwhile
            if self._failure is not None and time.monotonic() - self._tried < AGAIN_S:
                raise self._failure
            try:
                daemon = connect(self._library, timeout_s=self._reply_s)
            except (LibrarianError, OSError, ValueError) as error:
                failure = error if isinstance(error, LibrarianError) else None
                self._failure = failure or Unavailable(f"The daemon can't be reached: {error}.", hint="Send it again.")
                self._tried = time.monotonic()
                _warn(self._failure)  # hosts show a server's stderr
                raise self._failure from error
            if note := daemon.note(self._library):
                _warn(note)
            self._library = self._library._replace(settings="")  # a later daemon knows the settings of its time better
            self._failure, self._address = None, daemon.address
            return daemon.address

    # -- lines -----------------------------------------------------------------------------------------------------

    def _reply(self, ident: Id | None, code: int, text: str) -> None:
        self._send(encoded({"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": text}}))

    def _send(self, line: bytes) -> None:
        with self._writing:
            self._write(line + b"\n")


def _messages(response: Response) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Each JSON-RPC message of a response, parsed and as its line: the one body, or those of a stream of events."""
    response.read_head()
    events = response.headers.get("content-type", "").startswith("text/event-stream")
    for line in response.lines() if events else [response.read()]:
        if events and not line.startswith(b"data:"):
            continue
        line = line.removeprefix(b"data:").strip()
        message = _parsed(line)
        if message is not None and message.get("jsonrpc") == "2.0":
            yield message, line


def _headers(method: str, params: Mapping[str, Any], revision: str, hello: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a request: what its envelope says, or what the handshake agreed on."""
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    stated = meta.get(f"{_ENVELOPE}protocolVersion")
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    info = params.get("clientInfo") if method == "initialize" else hello.get("clientInfo")
    if isinstance(info, dict):
        headers["User-Agent"] = f"{info.get('name', '')}/{info.get('version', '')}".replace("\r", "").replace("\n", "")
    if isinstance(stated, str):
        headers |= {"MCP-Protocol-Version": _text(stated), "Mcp-Method": _text(method)}
        if isinstance(name := params.get(_NAMED_BY.get(method, "")), str):
            headers["Mcp-Name"] = _text(name)
    elif revision and method != "initialize":
        headers["MCP-Protocol-Version"] = revision
    return headers


def _text(value: str) -> str:
    """A header's value; what a header can't hold is written as base64, as the protocol has it."""
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?"):
        return value
    return f"=?base64?{binascii.b2a_base64(value.encode('utf-8', 'replace'), newline=False).decode()}?="


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _warn(text: object) -> None:
    print(f"librarian: {text}", file=sys.stderr, flush=True)  # noqa: T201


def run(library: Library, source: BinaryIO, write: Callable[[bytes], None], *, reply_s: float = REPLY_S) -> int:
    """Pass lines on until `source` ends or `write` finds nobody left; returns the exit code."""
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
        library = find(config=given.config, root=given.root, index=given.index)
        for note in library.notes:
            _warn(note)
    except SetupError as error:
        _warn(error)
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
