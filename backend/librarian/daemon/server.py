"""Serves the application on the unix socket of an index folder, and what only this program asks a daemon.

Besides the application's paths the socket has three of its own. They need no token: the socket is for this user alone.

====================================  =================================================================================
`GET /daemon/info`                    `{"pid": 4242, "clients": 1}`
`POST /daemon/call/<operation>`       The arguments as a JSON object. Lines of JSON come back: any number of
                                      `{"progress": {…}}`, then `{"result": {…}}` or `{"error": {…}}`.
                                      Hanging up cancels.
`POST /daemon/shut_down`              The daemon ends.
====================================  =================================================================================

It knows no operation and no message of MCP, and doesn't own the folder's lock: its caller does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from threading import Event
from typing import Any, Final

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ..api.library_handle import LibraryHandle
from ..errors import CallerError, Internal, LibrarianError, SetupError
from ..models import REQUEST, Deadline, new_id
from . import address as addresses
from .address import CALL, INFO, SHUT_DOWN, Address
from .unix_http import encoded

logger = logging.getLogger(__name__)

Handle = Callable[[str, Mapping[str, Any], Event], Mapping[str, Any]]
GetProgress = Callable[[str], Mapping[str, Any] | None]

GRACE_S: Final = 2  #: what requests under way get at shutdown before they are cut
_PROGRESS_S: Final = 0.25


class WebServer(uvicorn.Server):
    """uvicorn, which leaves signals to the process that it is part of."""

    def __init__(self, app: ASGIApp, **options: Any) -> None:
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",  # an application on two sockets is started and closed once, by its owner
            ws="none",
            timeout_graceful_shutdown=GRACE_S,
            server_header=False,
            **options,
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing."""
        yield


@dataclass(eq=False)
class SocketServer:
    """Listens for an index folder while `async with` lasts."""

    index: Path  #: the folder, whose `FolderLock` the caller holds
    app: ASGIApp  #: a request by the socket has `state.trusted`
    address: Address  #: what is published, but for the socket's path
    _: KW_ONLY
    #: Answers a call in a thread: (operation, arguments, cancelled) → answer. A `LibrarianError` is sent with its code,
    #: anything else as `internal` with the traceback in the log.
    handle: Handle
    progress: GetProgress = lambda operation: None  #: how far an operation is; None where there is nothing to tell
    on_shut_down: Callable[[], None]  #: called once, in the event loop, when another process wants the folder
    on_idle: Callable[[], None] | None = None  #: called, there too, each time there was no request for so long:
    idle_timeout_s: float = 0.0  #: 0: never
    busy: Callable[[], bool] = lambda: False  #: whether something else, such as indexing, keeps the process from idling

    def __post_init__(self) -> None:
        self._executor = ThreadPoolExecutor(8, thread_name_prefix="call")
        self._server: WebServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._clients = 0  #: requests that keep the process from being idle: all but those that only ask who it is
        self._idle: asyncio.TimerHandle | None = None
        self._shutting_down = False

    async def __aenter__(self) -> SocketServer:
        """Raises `SetupError` where the address can't be written."""
        try:
            self._listen()
        except OSError as error:
            raise SetupError(
                f"The index folder {self.index} can't be written: {error.strerror or error}.",
                hint="Make it writable and see that it has space, or choose another with --index or INDEX_PATH.",
            ) from error
        self._watch_idleness()
        return self

    def _listen(self) -> None:
        listener, path = addresses.listen(self.index)
        address = self.address._replace(path=path)
        try:
            addresses.publish(self.index, address)
        except OSError:
            listener.close()
            raise
        self.address = address
        self._server = WebServer(self)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Take the address back and end all connections; requests under way get a moment."""
        serving, self._serving = self._serving, None
        if serving is None or self._server is None:
            return
        addresses.withdraw(self.index, self.address)
        if self._idle is not None:
            self._idle.cancel()
        self._server.should_exit = True
        await serving
        self._executor.shutdown(wait=False, cancel_futures=True)

    # -- requests --------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request to the socket."""
        path: str = scope["path"]
        if path == INFO:
            await JSONResponse({"pid": os.getpid(), "clients": self._clients})(scope, receive, send)
            return
        if path == SHUT_DOWN and scope["method"] == "POST":
            await Response(status_code=202)(scope, receive, send)
            if not self._shutting_down:
                self._shutting_down = True
                logger.info("Another process asks this daemon to shut down")
                self.on_shut_down()
            return
        self._clients += 1
        self._watch_idleness()
        try:
            if path.startswith(CALL) and scope["method"] == "POST":
                body = await Request(scope, receive).body()
                lines = self._answers(path.removeprefix(CALL), body)
                await StreamingResponse(lines, media_type="application/x-ndjson")(scope, receive, send)
            else:
                state = {**scope.get("state", {}), "trusted": True}
                await self.app({**scope, "state": state}, receive, send)
        finally:
            self._clients -= 1
            self._watch_idleness()

    async def _answers(self, operation: str, body: bytes) -> AsyncIterator[bytes]:
        """The lines of the answer to a call."""
        loop, cancelled = asyncio.get_running_loop(), Event()

        def work() -> bytes:
            try:
                return encoded({"result": self.handle(operation, _arguments(body), cancelled)})
            except LibrarianError as error:
                failure = error
            except Exception as error:
                logger.exception("A call failed")
                failure = Internal(f"{type(error).__name__}: {error}", hint="See daemon.log.")
            return encoded({"error": {"code": failure.code, "message": failure.message, "hint": failure.hint}})

        answer = loop.run_in_executor(self._executor, work)
        try:
            while not (await asyncio.wait([answer], timeout=_PROGRESS_S))[0]:
                if (progress := await asyncio.to_thread(self.progress, operation)) is not None:
                    yield encoded({"progress": progress}) + b"\n"
            yield answer.result() + b"\n"
        finally:
            cancelled.set()  # a thread can't be stopped; it looks at this between its steps

    # -- idleness --------------------------------------------------------------------------------------------------

    def _watch_idleness(self) -> None:
        """(Re)start the clock where nothing is asked, stop it where something is."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if self.idle_timeout_s > 0 and not self._clients and self._serving:
            self._idle = asyncio.get_running_loop().call_later(self.idle_timeout_s, self._rest)

    def _rest(self) -> None:
        self._watch_idleness()
        if not self.busy() and self.on_idle is not None:
            logger.info("No client has been connected for %g s", self.idle_timeout_s)
            self.on_idle()


def _arguments(body: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        if isinstance(arguments := json.loads(body), dict):
            return arguments
    raise CallerError("The body must be a JSON object of arguments.", hint='For example {"query": "…"}.')


def command_api(handle: LibraryHandle) -> tuple[Handle, GetProgress]:
    """Runs operations that the command line calls; of a refresh it tells how far the index is meanwhile."""

    def run(name: str, arguments: Mapping[str, Any], cancelled: Event) -> Mapping[str, Any]:
        REQUEST.set(new_id())
        response = handle.call(name, arguments, Deadline(cancelled=cancelled))
        return response if isinstance(response, Mapping) else response.as_fields()

    def progress(name: str) -> Mapping[str, Any] | None:
        return asdict(handle.library.status().progress) if name == "refresh" and handle.library is not None else None

    return run, progress
