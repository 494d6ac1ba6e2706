"""Properties of the daemon's side:

* Sixteen relays with two hundred messages each get every answer, and one that doesn't read holds up nobody.
* A verb's progress, result and errors arrive by their ids; hanging up cancels it; a bug is told and logged.
* What isn't understood is refused in words.
* It retires once, rests when nobody has been connected for a while, and takes its address back.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import stat
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from librarian.daemon import address
from librarian.daemon.address import FAREWELL, client_handshake, greet
from librarian.daemon.server import LONGEST_REQUEST, Host
from librarian.errors import NotFound, SetupError

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

cancelled = Event()
counted = Event()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()


def handle(
    operation: str, arguments: Mapping[str, Any], progress: Callable[[Mapping[str, Any]], None], gone: Event
) -> Mapping[str, Any]:
    match operation:
        case "missing":
            raise NotFound("No document 'x'.", hint="Nearest: 'y'.")
        case "bug":
            raise ZeroDivisionError("by zero")
        case "count":
            for number in range(arguments["to"]):
                progress({"done": number, "padding": "x" * arguments.get("size", 0)})
            counted.set()
        case "wait":
            assert gone.wait(30)
            cancelled.set()
    return {"operation": operation, **arguments}


@asynccontextmanager
async def hosting(index: Path, **options: Any) -> AsyncIterator[Host]:
    options = {"version": "1.0", "handle": handle, "serve_mcp": echo, "on_shut_down": lambda: None} | options
    async with Host(index, **options) as host:
        yield host


@asynccontextmanager
async def connected(host: Host, kind: str, *, limit: int = 1 << 20) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_unix_connection(host.address.path, limit=limit)
    try:
        writer.write(client_handshake(kind, "1.0"))
        yield reader, writer
    finally:
        writer.transport.abort()  # a closed one would first send what nobody reads
        with suppress(ConnectionError):
            await writer.wait_closed()


async def ask(streams: Streams, operation: str, ident: int = 1, **arguments: Any) -> list[dict[str, Any]]:
    """Progress and answer of one verb."""
    reader, writer = streams
    writer.write(json.dumps({"id": ident, "operation": operation, "arguments": arguments}).encode() + b"\n")
    answers: list[dict[str, Any]] = []
    while not answers or "progress" in answers[-1]:
        answers.append(json.loads(await reader.readline()))
    return answers


def run(test: Coroutine[Any, Any, None]) -> None:
    async def within() -> None:
        async with asyncio.timeout(60):
            await test

    asyncio.run(within())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_sixteen_relays_with_two_hundred_messages_each_get_every_answer(folder: Path) -> None:
    async def bridge(host: Host, number: int) -> None:
        async with connected(host, "mcp") as (reader, writer):
            assert json.loads(await reader.readline())["librarian"]["version"] == "1.0"
            sent = [f'{{"relay":{number},"message":{n},"padding":"{"x" * n * 20}"}}\n'.encode() for n in range(200)]
            for line in sent:
                writer.write(line)
            assert [await reader.readline() for _ in sent] == sent

    async def test() -> None:
        async with hosting(folder) as host:
            await asyncio.gather(*(bridge(host, number) for number in range(16)))

    run(test())


def test_one_that_does_not_read_holds_up_nobody(folder: Path) -> None:
    async def test() -> None:
        async with hosting(folder) as host, connected(host, "mcp", limit=1024) as (_, slow):
            for _ in range(200):
                slow.write(b"x" * 100_000 + b"\n")
            async with connected(host, "call") as verbs, connected(host, "mcp") as (reader, writer):
                await verbs[0].readline()
                await reader.readline()
                assert (await ask(verbs, "status"))[-1]["result"] == {"operation": "status"}
                writer.write(b"hello\n")
                assert await reader.readline() == b"hello\n"

    run(test())


# -- verbs ---------------------------------------------------------------------------------------------------------


def test_progress_comes_before_the_result_and_several_verbs_share_a_connection(folder: Path) -> None:
    async def test() -> None:
        async with hosting(folder) as host, connected(host, "call") as verbs:
            await verbs[0].readline()
            answers = await ask(verbs, "count", to=3)
            assert [answer["progress"]["done"] for answer in answers[:-1]] == [0, 1, 2]
            assert answers[-1] == {"id": 1, "result": {"operation": "count", "to": 3}}
            for number in range(5):
                verbs[1].write(json.dumps({"id": number, "operation": "status"}).encode() + b"\n")
            idents = [json.loads(await verbs[0].readline())["id"] for _ in range(5)]
            assert sorted(idents) == [0, 1, 2, 3, 4]

    run(test())


def test_errors_arrive_with_code_message_and_hint_and_a_bug_is_logged(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with hosting(folder) as host, connected(host, "call") as verbs:
            await verbs[0].readline()
            (answer,) = await ask(verbs, "missing", ident=7)
            error = {"code": "not_found", "message": "No document 'x'.", "hint": "Nearest: 'y'."}
            assert answer == {"id": 7, "error": error}
            (answer,) = await ask(verbs, "bug")
            assert answer["error"]["code"] == "internal"
            assert answer["error"]["message"] == "ZeroDivisionError: by zero"
            for wrong in (b"nonsense\n", b"[]\n", b'{"operation": 1}\n', b'{"operation": "x", "arguments": [1]}\n'):
                verbs[1].write(wrong)
                assert json.loads(await verbs[0].readline())["error"]["code"] == "bad_request"

    run(test())
    assert "ZeroDivisionError" in caplog.text


def test_hanging_up_cancels_what_is_worked_on(folder: Path) -> None:
    async def test() -> None:
        cancelled.clear()
        async with hosting(folder) as host:
            async with connected(host, "call") as (reader, writer):
                await reader.readline()
                writer.write(b'{"id": 1, "operation": "wait"}\n{"id": 2, "operation": "status"}\n')
                assert json.loads(await reader.readline())["id"] == 2
            assert await asyncio.to_thread(cancelled.wait, 30)

    run(test())


def test_a_caller_that_does_not_read_misses_progress_but_no_answer(folder: Path) -> None:
    async def test() -> None:
        counted.clear()
        async with hosting(folder) as host, connected(host, "call", limit=1024) as (reader, writer):
            writer.write(b'{"id": 1, "operation": "count", "arguments": {"to": 5000, "size": 2000}}\n')
            assert await asyncio.to_thread(counted.wait, 30)
            lines, rest = 0, b""
            while b'"result":{"operation":"count"' not in rest:
                more = await reader.read(65536)
                rest, lines = rest[-200:] + more, lines + more.count(b"\n")
            assert lines < 5000

    run(test())


def test_a_request_of_any_length_ends_in_words(folder: Path) -> None:
    async def test() -> None:
        async with hosting(folder) as host, connected(host, "call") as (reader, writer):
            await reader.readline()
            writer.write(b"x" * (LONGEST_REQUEST + 10))
            assert "longer than" in json.loads(await reader.readline())["error"]["message"]

    run(test())


# -- strangers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", [b"GET / HTTP/1.1\r\n", b"{}\n", b'{"librarian": {"kind": "admin"}}\n', b"x" * 70_000 + b"\n", b"\xff\n"]
)
def test_what_is_no_greeting_is_refused_in_words(folder: Path, line: bytes) -> None:
    async def test() -> None:
        async with hosting(folder) as host:
            reader, writer = await asyncio.open_unix_connection(host.address.path)
            writer.write(line)
            error = json.loads(await reader.readline())["librarian"]["error"]
            assert error["code"] == "bad_request"
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()

    run(test())


def test_who_leaves_without_a_word_is_forgotten(folder: Path) -> None:
    async def test() -> None:
        async with hosting(folder) as host:
            _, writer = await asyncio.open_unix_connection(host.address.path)
            writer.close()
            await writer.wait_closed()
            async with connected(host, "ping") as (reader, _):
                assert json.loads(await reader.readline())["librarian"]["clients"] == 0

    run(test())


def test_socket_and_address_are_for_this_user_alone(folder: Path) -> None:
    async def test() -> None:
        async with hosting(folder) as host:
            for path in (Path(host.address.path), folder / address.ADDRESS):
                assert stat.S_IMODE(path.stat().st_mode) == 0o600

    run(test())


# -- life ----------------------------------------------------------------------------------------------------------


def test_it_is_asked_to_retire_once_and_says_farewell(folder: Path) -> None:
    async def test() -> None:
        asked: list[bool] = []
        async with hosting(folder, on_shut_down=lambda: asked.append(True), url="http://x", role="serve") as host:
            async with connected(host, "mcp") as (reader, _):
                assert json.loads(await reader.readline())["librarian"]["url"] == "http://x"
                for _ in range(2):
                    async with connected(host, "shut_down") as (other, _):
                        await other.readline()
                        assert await other.read() == b""
                assert asked == [True]
                await host.close()
                assert await reader.readline() == FAREWELL
                assert await reader.read() == b""
            assert address.read(folder) is None
            assert not Path(host.address.path).exists()

    run(test())


def test_it_is_found_again_where_its_address_or_socket_was_removed(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with hosting(folder) as host, connected(host, "mcp") as (reader, writer):
            await reader.readline()
            for lost in (folder / address.ADDRESS, Path(host.address.path)):
                await host.stay()
                found = address.read(folder)
                assert found is not None
                lost.unlink()
                await host.stay()
                lines, welcome = await asyncio.to_thread(greet, found, "ping", "1.0")
                lines.close()
                assert welcome.pid == os.getpid()
                assert address.leads(folder, found)
            folder.joinpath(address.ADDRESS).unlink()
            folder.joinpath(address.ADDRESS).mkdir()  # nothing can be written there
            for _ in range(2):
                await host.stay()
            with pytest.raises(SetupError, match="can't be written"):
                await hosting(folder).__aenter__()
            assert list(folder.glob(f"{address.ADDRESS}.*")) == []  # nor is half an address left behind
            folder.joinpath(address.ADDRESS).rmdir()
            await host.stay()
            assert address.leads(folder, host.address)
            assert [record.levelname for record in caplog.records if "can't be written" in record.message] == [
                "WARNING"
            ]
            writer.write(b"still here\n")
            assert await reader.readline() == b"still here\n"

    run(test())


def test_it_rests_when_nobody_has_been_connected_for_a_while(folder: Path) -> None:
    async def test() -> None:
        rested, occupied = asyncio.Event(), True
        looked: list[bool] = []

        def busy() -> bool:
            looked.append(occupied)
            return occupied

        async with hosting(folder, idle_timeout_s=0.05, on_idle=rested.set, busy=busy) as host:
            async with connected(host, "mcp") as (reader, writer):
                await reader.readline()
                before = len(looked)
                # while somebody is connected the clock stands still
                assert host._idle is None
                writer.write(b"still here\n")
                assert await reader.readline() == b"still here\n"
                assert len(looked) == before
            while not looked:
                await asyncio.sleep(0.01)
            assert not rested.is_set()
            occupied = False
            await rested.wait()

    run(test())


def test_it_ends_once_what_it_said_was_read(folder: Path) -> None:
    async def generous(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * 3_000_000)
        await reader.readline()

    async def test() -> None:
        async with hosting(folder, serve_mcp=generous) as host, connected(host, "mcp", limit=1024) as (reader, _):
            await reader.readline()
            closing = asyncio.create_task(host.close())
            for _ in range(100):
                await asyncio.sleep(0)
            assert not closing.done()
            assert await reader.readexactly(3_000_000) == b"x" * 3_000_000
            await closing

    run(test())


def test_nothing_is_kept_of_who_has_left(folder: Path) -> None:
    async def generous(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"x" * 100_000)
            await writer.drain()

    async def test() -> None:
        unhandled: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
        async with hosting(folder, serve_mcp=generous) as host:
            async with connected(host, "ping") as (reader, _):
                await reader.read()
            async with connected(host, "mcp") as (reader, _):  # hangs up in the middle of an answer
                await reader.readline()
            while host._connections:
                await asyncio.sleep(0.005)
        gc.collect()
        assert unhandled == []

    run(test())


def test_a_host_that_does_not_listen_has_no_address(folder: Path) -> None:
    host = Host(folder, version="1", handle=handle, serve_mcp=echo, on_shut_down=lambda: None)
    with pytest.raises(RuntimeError, match="doesn't listen"):
        _ = host.address
    asyncio.run(host.close())


def test_a_door_that_fails_ends_its_connection_and_no_other(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise ZeroDivisionError("in the door")

    async def test() -> None:
        async with hosting(folder, serve_mcp=fail) as host:
            for _ in range(2):
                async with connected(host, "mcp") as (reader, _):
                    await reader.readline()
                    assert await reader.read() == b""

    with caplog.at_level(logging.ERROR):
        run(test())
    assert "in the door" in caplog.text
