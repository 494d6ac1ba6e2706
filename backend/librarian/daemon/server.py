"""The daemon's side of its socket: the handshake, and serving each connection by its kind.

A connection of kind `mcp` is given, as asyncio streams, to the MCP server; on one of kind `call` requests are answered
in threads, several at once, and are cancelled when the caller hangs up. It reports when nobody has been connected for
a while. It knows no operation and no message of MCP, and doesn't own the folder's lock: its caller does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from ..api.library_handle import LibraryHandle
from ..errors import CallerError, LibrarianError, SetupError
from ..models import REQUEST, Deadline, new_id
from . import address as addresses
from .address import FAILED, FAREWELL, MAX_HANDSHAKE_BYTES, REPLY_S, Role, decode_handshake, encode

logger = logging.getLogger(__name__)

ReportProgress = Callable[[Mapping[str, Any]], None]
Handle = Callable[[str, Mapping[str, Any], ReportProgress, Event], Mapping[str, Any]]
ServeMcp = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

LONGEST_REQUEST: Final = 4 * 1024 * 1024  #: bytes of one request
DRAIN_S: Final = 2.0  #: how long connections may take to end when the host closes
_PROGRESS_S: Final = 0.25
_PROGRESS_BACKLOG: Final = 65536  #: bytes that wait for a slow caller; beyond them progress is dropped, answers never


class Host:
    """Listens for an index folder while `async with` lasts.

    Args:
        index: the folder, whose `FolderLock` the caller holds.
        handle: answers a call in a thread: (operation, arguments, progress, cancelled) → answer. A `LibrarianError` is
            sent with its code, anything else as `internal` with the traceback in the log.
        serve_mcp: serves MCP's JSON lines over the streams until the client leaves.
        on_shut_down: called once, in the event loop, when another process wants the folder.
        on_idle: called, in the event loop, each time nobody has been connected for `idle_timeout_s` (0: never).
        failed: whether it ends because the library can't be opened, so that no bridge starts another daemon in vain.
        busy: whether something else keeps the process from being idle, for example a running index.
        role, url: `serve` and its address if the process serves HTTP.
        version, settings: for clients; `settings` is `discovery.fingerprint`.
    """

    def __init__(
        self,
        index: Path,
        *,
        version: str,
        handle: Handle,
        serve_mcp: ServeMcp,
        on_shut_down: Callable[[], None],
        on_idle: Callable[[], None] | None = None,
        idle_timeout_s: float = 0.0,
        failed: Callable[[], bool] = lambda: False,
        busy: Callable[[], bool] = lambda: False,
        role: Role = "background",
        url: str = "",
        root: Path | None = None,
        root_named: bool = False,
        settings: str = "",
    ) -> None:
        self._index = index
        self._version = version
        self._handle = handle
        self._serve_mcp = serve_mcp
        self._on_shut_down = on_shut_down
        self._on_idle = on_idle
        self._idle_s = idle_timeout_s
        self._failed = failed
        self._busy = busy
        self._info = {"version": version, "pid": os.getpid(), "role": role, "url": url, "settings": settings}
        self._url = url
        self._root = root
        self._root_named = root_named
        self._executor = ThreadPoolExecutor(8, thread_name_prefix="call")
        self._server: asyncio.Server | None = None
        self._address: addresses.Address | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._bridges: set[asyncio.StreamWriter] = set()
        self._clients = 0  #: connections that keep the process from being idle: all but those that only ask who it is
        self._idle: asyncio.TimerHandle | None = None
        self._shutting_down = False
        self._lost = ""  #: why its address couldn't be written again

    @property
    def address(self) -> addresses.Address:
        """Where it listens. Raises `RuntimeError` where it doesn't."""
        if self._address is None:
            raise RuntimeError("The host doesn't listen.")
        return self._address

    async def __aenter__(self) -> Host:
        """Raises `SetupError` where the address can't be written."""
        try:
            await self._listen()
        except OSError as error:
            raise SetupError(
                f"The index folder {self._index} can't be written: {error.strerror or error}.",
                hint="Make it writable and see that it has space, or choose another with --index or INDEX_PATH.",
            ) from error
        self._watch_idleness()
        return self

    async def _listen(self) -> None:
        listener, address = addresses.listen(self._index, version=self._version, url=self._url)
        address = address._replace(root=str(self._root or ""), named=self._root_named)
        # asyncio removes a unix socket itself from Python 3.13 on; `withdraw` does everywhere
        server = await asyncio.start_server(self._accept, sock=listener, limit=LONGEST_REQUEST)
        before, self._address = self._address, address
        try:
            addresses.publish(self._index, address)
        except OSError:
            server.close()
            self._address = before
            raise
        self._server = server

    async def stay(self) -> None:
        """Listen anew where the address or the socket was removed, so that it is found again. Only for the lock's
        holder, who asks for it now and then."""
        if self._server is None or addresses.leads(self._index, self.address):
            self._lost = ""
            return
        before = self._server
        try:
            await self._listen()
            before.close()  # connections stay
            logger.warning("The daemon's address was removed from %s; it listens anew", self._index)
        except OSError as error:
            if str(error) != self._lost:
                logger.warning("The daemon's address can't be written into %s again: %s", self._index, error)
            self._lost = str(error)

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Take the address back, say farewell to bridges, end all connections and wait a moment for what they do."""
        server, self._server = self._server, None
        if server is None:
            return
        addresses.withdraw(self._index, self.address)
        if self._idle is not None:
            self._idle.cancel()
        server.close()
        for writer in self._bridges:
            if not writer.is_closing():
                writer.write(FAILED if self._failed() else FAREWELL)
        for task in list(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(list(self._connections), timeout=DRAIN_S)
        for writer in list(self._connections.values()):
            writer.transport.abort()
        self._executor.shutdown(wait=False, cancel_futures=True)

    # -- connections -----------------------------------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        try:
            await self._serve(reader, writer)
        except asyncio.CancelledError:
            logger.debug("A connection was ended with the host")
        except (ConnectionError, asyncio.IncompleteReadError):
            logger.debug("A client has gone")
        except Exception:
            logger.exception("A connection failed")
        finally:
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()
            del self._connections[task]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REPLY_S):
                line = await reader.readline()
            if not line:
                return
            if len(line) > MAX_HANDSHAKE_BYTES:
                raise ValueError("the greeting is too long")
            request = decode_handshake(line)
            kind = request.get("kind")
            if kind not in ("mcp", "call", "ping", "shut_down"):
                raise ValueError(f"there is no kind {kind!r}")
        except (ValueError, TimeoutError) as error:
            refusal = CallerError(f"This connection was not understood: {error}.", hint="Use `librarian`.")
            writer.write(encode({"librarian": {"error": _error_fields(refusal)}}))
            await writer.drain()
            return
        writer.write(encode({"librarian": {**self._info, "clients": self._clients}}))
        await writer.drain()
        if kind in ("mcp", "call"):
            self._clients += 1
            self._watch_idleness()
            if kind == "mcp":
                self._bridges.add(writer)
            try:
                await (self._serve_mcp if kind == "mcp" else self._serve_calls)(reader, writer)
            finally:
                self._bridges.discard(writer)
                self._clients -= 1
                self._watch_idleness()
        elif kind == "shut_down" and not self._shutting_down:
            self._shutting_down = True
            logger.info("Process %s asks this daemon to shut down", request.get("pid"))
            self._on_shut_down()

    # -- calls -----------------------------------------------------------------------------------------------------

    async def _serve_calls(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        cancelled = Event()
        tasks: set[asyncio.Task[None]] = set()
        try:
            while line := await reader.readline():
                task = asyncio.create_task(self._answer(line, writer, cancelled))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        except ValueError:
            error = CallerError(f"A request is longer than {LONGEST_REQUEST} bytes.", hint="Ask for less at once.")
            writer.write(encode({"id": None, "error": _error_fields(error)}))
            await writer.drain()
        finally:
            # a thread can't be stopped; it looks at `cancelled` between its steps
            cancelled.set()
            for task in tasks:
                task.cancel()

    async def _answer(self, line: bytes, writer: asyncio.StreamWriter, cancelled: Event) -> None:
        loop = asyncio.get_running_loop()
        ident: object = None

        def send_progress(content: bytes) -> None:
            if not writer.is_closing() and writer.transport.get_write_buffer_size() < _PROGRESS_BACKLOG:
                writer.write(content)

        def report(progress: Mapping[str, Any]) -> None:
            content = encode({"id": ident, "progress": progress})
            with suppress(RuntimeError):  # the loop has ended before the thread
                loop.call_soon_threadsafe(send_progress, content)

        def work() -> bytes:
            return encode({"id": ident, "result": self._handle(operation, arguments, report, cancelled)})

        try:
            ident, operation, arguments = _request(line)
            answer = await loop.run_in_executor(self._executor, work)
        except LibrarianError as error:
            answer = encode({"id": ident, "error": _error_fields(error)})
        except Exception as error:
            logger.exception("A call failed")
            failure = {"code": "internal", "message": f"{type(error).__name__}: {error}", "hint": "See daemon.log."}
            answer = encode({"id": ident, "error": failure})
        with suppress(ConnectionError):
            writer.write(answer)
            await writer.drain()

    # -- idleness --------------------------------------------------------------------------------------------------

    def _watch_idleness(self) -> None:
        """(Re)start the clock where nobody is connected, stop it where somebody is."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if self._idle_s > 0 and not self._clients and self._server is not None:
            self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._rest)

    def _rest(self) -> None:
        self._watch_idleness()
        if not self._busy() and self._on_idle is not None:
            logger.info("Nobody has been connected for %g s", self._idle_s)
            self._on_idle()


def _request(line: bytes) -> tuple[object, str, dict[str, Any]]:
    try:
        content = json.loads(line)
        operation, arguments = content["operation"], content.get("arguments") or {}
        if isinstance(operation, str) and isinstance(arguments, dict):
            return content.get("id"), operation, arguments
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # said below, for every way of being wrong
    raise CallerError(
        "A request must be one line of JSON with `operation` and `arguments`.",
        hint='For example {"id": 1, "operation": "status", "arguments": {}}.',
    )


def _error_fields(error: LibrarianError) -> dict[str, str]:
    return {"code": error.code, "message": error.message, "hint": error.hint}


def command_api(library_handle: LibraryHandle) -> Handle:
    """Runs operations that the command line calls; a refresh reports the progress of the index meanwhile."""

    def run(name: str, arguments: Mapping[str, Any], report: ReportProgress, cancelled: Event) -> Mapping[str, Any]:
        REQUEST.set(new_id())
        done = Event()

        def repeat() -> None:
            while not done.wait(_PROGRESS_S):
                if (library := library_handle.library) is not None:
                    report(asdict(library.status().progress))

        reporting = Thread(target=repeat, name="progress", daemon=True)
        if name == "refresh":
            reporting.start()
        try:
            response = library_handle.call(name, arguments, Deadline(cancelled=cancelled))
        finally:
            done.set()
            if reporting.ident is not None:
                reporting.join()
        return response if isinstance(response, Mapping) else response.as_fields()

    return run
