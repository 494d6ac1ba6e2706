"""Properties of the daemon's side:

* Many clients with many requests each get every answer, and one that doesn't read holds up nobody.
* An operation's progress, result and errors arrive; hanging up cancels it; a bug is reported and logged.
* It shuts down once, ends when no client has been connected for a while, and takes its address back.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import stat
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from librarian.daemon import address
from librarian.daemon.address import CALL, SHUT_DOWN, Address, ping
from librarian.daemon.server import SocketServer
from librarian.daemon.unix_http import Response, request
from librarian.errors import NotFound, SetupError

cancelled = Event()
counted = Event()


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Sends the body back; at `/stream` the first byte, and the rest once the client has left."""
    body = b""
    while (message := await receive()).get("more_body"):
        body += message["body"]
    body += message["body"]
    trusted = str(scope["state"]["trusted"]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"trusted", trusted)]})
    await send({"type": "http.response.body", "body": body, "more_body": scope["path"] == "/stream"})
    while scope["path"] == "/stream" and message["type"] != "http.disconnect":
        message = await receive()


def handle(operation: str, arguments: Mapping[str, Any], gone: Event) -> Mapping[str, Any]:
    match operation:
        case "missing":
            raise NotFound("No document 'x'.", hint="Nearest: 'y'.")
        case "bug":
            raise ZeroDivisionError("by zero")
        case "count":
            assert counted.wait(30)
        case "wait":
            assert gone.wait(30)
            cancelled.set()
    return {"operation": operation, **arguments}


@asynccontextmanager
async def serving(index: Path, **options: Any) -> AsyncIterator[SocketServer]:
    own = Address(os.getpid(), "1.0", "", url="http://x")
    options = {"handle": handle, "progress": progress, "on_shut_down": lambda: None} | options
    async with SocketServer(index, echo, own, **options) as server:
        yield server


def progress(operation: str) -> Mapping[str, Any] | None:
    if operation == "count":
        counted.set()
    return {"done": 1} if operation in ("count", "wait") else None


def post(server: SocketServer, target: str, content: bytes = b"") -> Response:
    """The response to a request, its head read."""
    response = request(server.address.path, "POST", target, content, end=time.monotonic() + 60)
    response.read_head()
    return response


def ask(server: SocketServer, operation: str, **arguments: Any) -> list[dict[str, Any]]:
    """Progress and answer of one operation."""
    return ask_with(server, operation, json.dumps(arguments).encode())


def ask_with(server: SocketServer, operation: str, content: bytes) -> list[dict[str, Any]]:
    with post(server, CALL + operation, content) as response:
        return [json.loads(line) for line in response.lines()]


def run(test: Coroutine[Any, Any, None]) -> None:
    async def within() -> None:
        async with asyncio.timeout(60):
            await test

    asyncio.run(within())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_many_clients_with_many_requests_each_get_every_answer(folder: Path) -> None:
    async def test() -> None:
        async with serving(folder) as server:

            def client(number: int) -> None:
                for n in range(50):
                    sent = f"{number} {n} {'x' * n * 200}".encode()
                    with post(server, "/echo", sent) as response:
                        assert response.headers["trusted"] == "True"
                        assert response.read() == sent

            with ThreadPoolExecutor(16) as pool:
                loop = asyncio.get_running_loop()
                await asyncio.gather(*(loop.run_in_executor(pool, client, number) for number in range(16)))

    run(test())


def test_one_that_does_not_read_holds_up_nobody(folder: Path) -> None:
    async def test() -> None:
        async with serving(folder) as server:
            with await asyncio.to_thread(post, server, "/stream", b"x" * 3_000_000):
                answer = await asyncio.to_thread(ask, server, "status")
                assert answer == [{"result": {"operation": "status"}}]

    run(test())


# -- operations ----------------------------------------------------------------------------------------------------


def test_progress_comes_before_the_result(folder: Path) -> None:
    async def test() -> None:
        async with serving(folder) as server:
            counted.clear()
            *told, answer = await asyncio.to_thread(ask, server, "count", to=3)
            assert {"progress": {"done": 1}} in told
            assert answer == {"result": {"operation": "count", "to": 3}}

    run(test())


def test_errors_arrive_with_code_message_and_hint_and_a_bug_is_logged(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with serving(folder) as server:
            (answer,) = await asyncio.to_thread(ask, server, "missing")
            assert answer == {"error": {"code": "not_found", "message": "No document 'x'.", "hint": "Nearest: 'y'."}}
            (answer,) = await asyncio.to_thread(ask, server, "bug")
            assert answer["error"]["code"] == "internal"
            assert answer["error"]["message"] == "ZeroDivisionError: by zero"
            for wrong in (b"nonsense", b"[]", b"\xff"):
                (answer,) = await asyncio.to_thread(ask_with, server, "status", wrong)
                assert answer["error"]["code"] == "bad_request"

    run(test())
    assert "ZeroDivisionError" in caplog.text


def test_hanging_up_cancels_what_is_worked_on(folder: Path) -> None:
    async def test() -> None:
        cancelled.clear()
        async with serving(folder) as server:
            with await asyncio.to_thread(post, server, f"{CALL}wait", b"{}") as response:
                assert await asyncio.to_thread(next, response.lines()) == b'{"progress":{"done":1}}'
            assert await asyncio.to_thread(cancelled.wait, 30)

    run(test())


# -- life ----------------------------------------------------------------------------------------------------------


def test_socket_and_address_are_for_this_user_alone(folder: Path) -> None:
    async def test() -> None:
        async with serving(folder) as server:
            for path in (Path(server.address.path), folder / address.ADDRESS):
                assert stat.S_IMODE(path.stat().st_mode) == 0o600

    run(test())


def test_it_is_asked_to_shut_down_once_and_takes_its_address_back(folder: Path) -> None:
    async def test() -> None:
        asked: list[bool] = []
        async with serving(folder, on_shut_down=lambda: asked.append(True)) as server:
            for _ in range(2):
                with await asyncio.to_thread(post, server, SHUT_DOWN) as response:
                    assert response.status == 202
            assert asked == [True]
            path = Path(server.address.path)
            await server.close()
            assert address.read(folder) is None
            assert not path.exists()

    run(test())


def test_an_address_that_cannot_be_written_is_an_error_and_leaves_nothing_behind(folder: Path) -> None:
    async def test() -> None:
        folder.joinpath(address.ADDRESS).mkdir()
        with pytest.raises(SetupError, match="can't be written"):
            await serving(folder).__aenter__()
        assert list(folder.glob(f"{address.ADDRESS}.*")) == []

    run(test())


def test_it_ends_when_no_client_has_been_connected_for_a_while(folder: Path) -> None:
    async def test() -> None:
        rested, occupied = asyncio.Event(), True
        looked: list[bool] = []

        def busy() -> bool:
            looked.append(occupied)
            return occupied

        async with serving(folder, idle_timeout_s=0.05, on_idle=rested.set, busy=busy) as server:
            with await asyncio.to_thread(post, server, "/stream", b"x"):
                before = len(looked)
                await asyncio.to_thread(Event().wait, 0.2)  # while a client is connected the clock stands still
                assert len(looked) == before
            while len(looked) == before:
                await asyncio.sleep(0.01)
            assert not rested.is_set()
            occupied = False
            await rested.wait()

    run(test())


def test_nothing_is_kept_of_a_client_that_has_left(folder: Path) -> None:
    async def test() -> None:
        unhandled: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
        async with serving(folder) as server:
            (await asyncio.to_thread(post, server, "/stream", b"x" * 3_000_000)).close()
            while await asyncio.to_thread(ping, server.address):
                await asyncio.sleep(0.005)
        gc.collect()
        assert unhandled == []

    run(test())
