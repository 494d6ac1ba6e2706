"""The process that owns an index folder: it takes the lock, serves the application, and closes all in order.

A daemon, started by a bridge or by the command line, serves it on the socket in the index folder; `librarian serve`
does so on a port as well. Everything slow (stores, models, the first index) is loaded while requests are already taken.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import logging
import os
import pwd
import shlex
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import uvloop

from .. import __version__
from ..api.library_handle import LibraryHandle
from ..errors import SETUP, LibrarianError, SetupError, Unavailable
from ..files.lock import DAEMON, FolderLock
from ..files.writing import private_umask
from ..indexing.malloc import keep_small
from ..schemas import ResultLimits
from ..settings import Settings, revealed
from . import address as addresses
from . import logging_setup
from .address import Address, bind
from .client import acquire_index, served_at, shorten_log
from .client_log import ClientLog
from .discovery import fingerprint

if TYPE_CHECKING:
    from .server import SocketServer

logger = logging.getLogger(__name__)

FIRST_PERSON = 501 if sys.platform == "darwin" else 1000  #: the least number of a user who is a person
STOP_S = 4.0  #: what everything gets; then the process ends where it is, which loses no more than a kill
HANDSHAKE_S = 0.05  #: a host that has caused the start shakes hands before the library takes the processor
NEW_OBJECTS = 10_000  #: between two garbage collections; an answer in the making holds more than Python's 700
SWITCH_S = 0.0005  #: how long a searching thread may keep the interpreter while others, such as the event loop, wait
WATCH_S = 1.0  #: how often is looked whether a part of the catalog couldn't be read, or the index folder is gone
TRUSTED_S = 300.0  #: a library that was opened anew for its damage isn't so again sooner: a disk may be failing
FAILED_S = 1.0  #: what those who wait for a library that can't be opened get to hear why


def banner(settings: Settings, url: str) -> str:
    """A line for each interface, and notices of the settings. What the command line named, `connect` must get too."""
    hosts = "claude-code | claude-desktop | cursor | vscode | codex | gemini"
    return "\n".join(
        [
            f"Librarian serves {settings.docs.root_path}",
            f"  page         {url}/",
            f"  MCP          {url}{settings.mcp.endpoint}   (Streamable HTTP; older clients: {url}/sse)",
            f"  health       {url}/health",
            f"  connect      {' '.join([typed(), 'connect', *_named(settings)])} {hosts}",
            *(f"  note         {notice}" for notice in (*settings.notices, *_notes(settings))),
        ]
    )


def places(settings: Settings, url: str) -> str:
    """The same for programs: a JSON object of the addresses."""
    return json.dumps({"page": f"{url}/", "mcp": f"{url}{settings.mcp.endpoint}", "rest": f"{url}/api/search"})


def _named(settings: Settings) -> list[str]:
    """The options with which a command typed here means the same library: those that it wouldn't find by itself."""
    named = settings.configuration.kind == "named" and not settings.configuration.shipped
    words = ["--config", shlex.quote(str(settings.config_file))] if named else []
    for option, key in (("--root", "docs.root_path"), ("--index", "index.path"), ("--layout", "docs.layout")):
        given = settings.provenance(key)
        # a layout of the environment reaches commands that are typed there
        if given.source == "command line" or (key != "docs.layout" and given.source.startswith("environment: ")):
            words += [option, shlex.quote(str(given.value))]
    return words


def _notes(settings: Settings) -> Iterator[str]:
    """What other commands would do otherwise, and who else can read the library."""
    layout = settings.provenance("docs.layout")
    if layout.source == "command line":
        yield (
            f"--layout {layout.value} holds for this server. Give it to other commands too, or set docs.layout in the "
            "configuration file: without it they read the folder again."
        )
    others = any(
        each.pw_uid >= FIRST_PERSON
        and each.pw_uid != os.getuid()
        and each.pw_name != "nobody"
        and each.pw_shell.rpartition("/")[2] not in ("nologin", "false")
        for each in pwd.getpwall()
    )
    if others and settings.security.token is None:
        yield (
            "other users of this machine can open this address and read the library. To prevent that, set a token: "
            "security.token (MCP_AUTH_TOKEN)."
        )


def typed(program: Path | None = None, found: str | None = None) -> str:
    """How this installation's command is typed: by its name where the shell finds it, else by its path.

    `program` is one in the folder of the command, Python's own by default; `found` what the shell runs.
    """
    own, found = (program or Path(sys.executable)).with_name("librarian"), found or shutil.which("librarian")
    if not own.exists() or (found is not None and own.samefile(found)):
        return "librarian"
    here = Path.cwd()
    return str(own.relative_to(here) if own.is_relative_to(here) else own)


def main(argv: Sequence[str] | None = None) -> int:
    """The daemon's entry: `python -m librarian.daemon.serve [--socket-only] …`. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="librarian.daemon.serve")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--root", type=Path)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--socket-only", action="store_true")
    parser.add_argument("--must-be-trusted", action="store_true")
    given = parser.parse_args(argv)
    overrides = {"docs.root_path": given.root, "index.path": given.index}
    try:
        settings = Settings.load(given.config, overrides=overrides, must_be_trusted=given.must_be_trusted)
        return serve(settings, http=not given.socket_only)
    except LibrarianError as error:
        print(error, file=sys.stderr)  # noqa: T201 (the last line that a starting bridge shows)
        return SETUP


@private_umask()
def serve(settings: Settings, *, http: bool = True, out: TextIO | None = None, as_json: bool = False) -> int:
    """Serve until asked to stop; `out` gets the address. Returns the exit code; raises `SetupError`."""
    logging_setup.configure(settings)
    sys.setswitchinterval(SWITCH_S)
    gc.set_threshold(NEW_OBJECTS)
    keep_small()
    index = settings.index.path
    listener = None
    if http:
        settings.require_safe_bind()
        if url := served_at(index, settings.docs.root_path):
            _say(out, places(settings, url) if as_json else f"Librarian is already serving at {url}")
            return 0
        listener = bind(settings.mcp.host, settings.mcp.port)
    try:
        lock = _lock(index, take=http)
        if lock is None:
            return 0  # another daemon was quicker; the process that started this one finds it
        process = _Process(settings, listener, out, as_json, lock, fingerprint(settings.config_file))
        try:
            while True:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # uvloop needs less CPU time
                    runner.run(process.run())
                if not process.again:
                    return 0
                if not lock.stands:
                    lock.release()
                    if not index.parent.is_dir():
                        raise SetupError(f"{index.parent} was moved or removed.", hint="Start again where it is.")
                    if (lock := _lock(index, take=http)) is None:
                        return 0
                logging_setup.configure(process.settings)
                process = replace(process, lock=lock, trusted_s=TRUSTED_S)
        finally:
            process.ended()
            if lock is not None:
                lock.release()
    finally:
        if listener is not None:
            listener.close()


def _lock(index: Path, *, take: bool) -> FolderLock | None:
    if take:
        return acquire_index(index)
    lock = FolderLock(index, DAEMON)
    return lock if lock.acquire(version=__version__) else None


def _say(out: TextIO | None, text: str) -> None:
    if out is not None:
        out.write(text + "\n")
        out.flush()


@dataclass
class _Process:
    """One run of the event loop: interfaces opened and closed together."""

    settings: Settings
    listener: socket.socket | None  #: of HTTP; None for a daemon in the background
    out: TextIO | None
    as_json: bool
    lock: FolderLock
    fingerprint: str
    trusted_s: float = 0.0
    again: bool = field(default=False, init=False)  #: whether it ends so that the library is opened anew
    _failure: Exception | None = field(default=None, init=False)
    _last: threading.Timer | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._handle = LibraryHandle(self.settings.index.path)
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Serve until SIGTERM, SIGINT, a successor, or no client has come for a while. Raises what prevents it."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        try:
            app = await asyncio.to_thread(self._build_app)
            async with app.router.lifespan_context(app), self._socket_server(app) as server:
                opening = asyncio.create_task(self._open())
                watching = asyncio.create_task(self._watch(server))
                async with self._http(app, opening):
                    await self._stop.wait()
                    app.state.mcp_server.end_streams()
                    await server.close()
                await opening
                await watching
        finally:
            if self._handle.library is not None:
                await asyncio.to_thread(self._handle.library.close)
            self._handle.close()
        if self._failure is not None:
            raise self._failure

    def _build_app(self) -> Any:
        with _no_gc():
            from ..api.mcp import McpServer
            from ..web.app import build_app

            import_module("librarian.daemon.server")
        settings = self.settings
        limits = ResultLimits(settings.search.default_results, settings.search.max_results)
        mcp_server = McpServer(
            self._handle,
            toolsets=sorted(settings.enabled_toolsets),
            limits=limits,
            version=__version__,
            title=settings.system.name,
            on_call=ClientLog(settings.index.path).note,
        )
        return build_app(
            self._handle,
            token=revealed(settings.security.token),
            hosts=(settings.mcp.host, *settings.security.allowed_hosts),
            cors_origins=settings.security.cors_origins,
            endpoint=settings.mcp.endpoint,
            rate_limit=settings.security.rate_limit or None,
            access_log=settings.logging.access,
            version=__version__,
            limits=limits,
            mcp_server=mcp_server,
        )

    async def _open(self) -> None:
        """Open the library and let it begin its work; where that fails, tell those who wait and stop."""
        if self.listener is None and self._handle.introduced:
            await asyncio.sleep(HANDSHAKE_S)
        try:
            await asyncio.to_thread(self._build)
        except Exception as error:
            logger.debug("The library can't be opened", exc_info=True)
            self._failure = error
            failure = error if isinstance(error, LibrarianError) else Unavailable(repr(error), hint="See daemon.log.")
            self._handle.failed(failure)
            await asyncio.sleep(FAILED_S)
            self._stop.set()

    def _build(self) -> None:
        with _no_gc():
            from ..bootstrap import build
            from ..library import Librarian
        library = Librarian(build(self.settings))
        try:
            library.start()  # first of all: an index of another root must not answer for this one
        except LibrarianError:
            library.close()
            raise
        self._handle.opened(library)

    def _end(self) -> None:
        """Stop in bounded time, whatever hangs: the caller may be waiting."""
        if self._last is None:
            self._last = threading.Timer(STOP_S, _cut_short, (self.settings.index.path,))
            self._last.daemon = True
            self._last.start()
        self._stop.set()

    def ended(self) -> None:
        """All has been closed."""
        if self._last is not None:
            self._last.cancel()

    async def _watch(self, server: SocketServer) -> None:
        """Where the catalog turns out to be damaged or the index folder to be gone, end: opened anew the library is
        made whole from the files, and its address is written again. One whose folder is gone is opened anew where it is
        served alone."""
        trusted = time.monotonic() + self.trusted_s
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), WATCH_S)
            shorten_log(self.settings.index.path)
            library = self._handle.library
            if self._stop.is_set() or library is None:
                continue
            why = library.damage if time.monotonic() > trusted else ""
            if not self.lock.stands:
                why = why or f"{self.lock.path} was removed or moved away"
            elif not addresses.leads(self.settings.index.path, server.address):
                why = why or "its address was removed from the index folder"
            if why:
                # who needs it next starts one, with the settings that are right by then
                self.again = self.lock.stands or self.listener is not None
                logger.warning("The library is %s: %s", "opened anew" if self.again else "given up", why)
                self._stop.set()
                return

    def _reload(self) -> None:
        """Open the library anew with the settings of now (SIGHUP). Wrong ones change nothing, and the log says why."""
        try:
            now = self.settings.again()
            if self.listener is not None:
                now.require_safe_bind()
            if now.index.path != self.settings.index.path:
                raise SetupError("index.path has changed.", hint="Start again with it.")
        except SetupError as error:
            logger.error("The settings stay as they were: %s", error)
            return
        logger.info("The library is opened anew (SIGHUP)")
        self.settings, self.again = now, True
        self._stop.set()

    def _busy(self) -> bool:
        library = self._handle.library
        return library is None or library.status().status == "indexing"

    def _socket_server(self, app: Any) -> SocketServer:
        from .server import SocketServer, command_api

        settings, serves = self.settings, self.listener is not None
        handle, progress = command_api(self._handle)
        address = Address(
            os.getpid(),
            __version__,
            path="",
            url=self._url if serves else "",
            root=str(settings.docs.root_path),
            named=settings.root_is_named,
            settings=self.fingerprint,
            endpoint=settings.mcp.endpoint,
        )
        return SocketServer(
            settings.index.path,
            app,
            address,
            handle=handle,
            progress=progress,
            on_shut_down=self._end,
            on_idle=None if serves else self._stop.set,
            idle_timeout_s=0 if serves else settings.serve.idle_timeout_s,
            busy=self._busy,
        )

    @property
    def _url(self) -> str:
        assert self.listener is not None
        return addresses.url_of(*self.listener.getsockname()[:2])

    @contextlib.asynccontextmanager
    async def _http(self, app: Any, opening: asyncio.Task[None]) -> AsyncIterator[None]:
        """The application on the port, where this process serves one, once the library is open."""
        if self.listener is None:
            yield
            return
        await opening
        from ..api.security import LimitedHeads
        from .server import WebServer

        proxies = list(self.settings.security.trusted_proxies)
        server = WebServer(app, http=LimitedHeads, forwarded_allow_ips=proxies)
        serving = asyncio.create_task(server.serve(sockets=[self.listener.dup()]))
        serving.add_done_callback(lambda _: self._stop.set())
        if self._failure is None:
            _say(self.out, places(self.settings, self._url) if self.as_json else banner(self.settings, self._url))
        try:
            yield
        finally:
            server.should_exit = True
            await serving


@contextlib.contextmanager
def _no_gc() -> Iterator[None]:
    """While modules are imported nothing is garbage, and looking for it costs a tenth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def leave(code: int) -> NoReturn:
    """End the process after `serve` with what it returned. All is closed; finalizing modules would only take time."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _cut_short(index: Path) -> None:
    """End now, because something hangs. Nothing is half written: what is on disk is whole after every single write."""
    waiting = [thread.name for thread in threading.enumerate() if not thread.daemon]
    logger.warning("Stopping takes more than %g s, so it ends here (threads: %s)", STOP_S, ", ".join(waiting))
    if (address := addresses.read(index)) is not None and address.pid == os.getpid():
        addresses.withdraw(index, address)
    leave(0)


if __name__ == "__main__":
    leave(main())
