"""A door that is made behind a server that already answers:

* who comes before it is there waits for it, over every transport, and is answered as by the door itself;
* it opens however busy the others are;
* where it can't be made those who wait are told, the others are still answered, and the end says why.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from mcp import Client

from librarian.api.library_handle import Calls, LazyMcpServer
from librarian.api.mcp import McpServer
from librarian.web.app import build_app
from tests.api.clients import line_pair, run, sse_client
from tests.api.fake_library import FakeLibrary
from tests.api.serving import served

PATIENCE_S = 20.0


class Making:
    """Makes a door when told to."""

    def __init__(self) -> None:
        self.asked, self.may = threading.Event(), threading.Event()
        self.door: McpServer | None = None

    def __call__(self, calls: Calls) -> McpServer:
        self.asked.set()
        assert self.may.wait(PATIENCE_S)
        self.door = McpServer(FakeLibrary(), calls=calls, version="1.2.3", heartbeat_s=0.02)
        return self.door


@pytest.fixture
def making() -> Iterator[Making]:
    making = Making()
    yield making
    making.may.set()


@pytest.mark.parametrize("way", ["http", "sse"])
def test_who_comes_before_the_door_waits_and_is_answered(making: Making, way: str) -> None:
    async def body() -> None:
        with ExitStack() as stack:
            app = build_app(FakeLibrary(), mcp_server=LazyMcpServer(making))
            url = await asyncio.to_thread(stack.enter_context, served(app))

            async def listed() -> list[str]:
                async with Client(f"{url}/mcp" if way == "http" else sse_client(f"{url}/sse")) as client:
                    return [tool.name for tool in (await client.list_tools()).tools]

            asking = asyncio.create_task(listed())
            assert await asyncio.to_thread(making.asked.wait, PATIENCE_S)
            async with httpx.AsyncClient(base_url=url) as web:
                assert (await web.get("/api/search", params={"q": "tokens"})).status_code == 200
                assert "librarian_calls_total" in (await web.get("/metrics")).text
            assert not asking.done()
            making.may.set()
            assert (await asking)[0] == "search_documentation"
            async with httpx.AsyncClient(base_url=url) as web:
                refused = await web.get("/mcp")
                assert refused.status_code == 405
                assert refused.headers["allow"] == "POST"
                assert 'interface="mcp"' not in (await web.get("/metrics")).text  # no tool was called
            await asyncio.to_thread(stack.close)

    run(body())


def test_lines_wait_for_the_door_and_calls_are_counted(making: Making) -> None:
    async def body() -> None:
        door = LazyMcpServer(making)
        async with door.run():
            assert door.streams == 0
            door.end_streams()  # nothing is open yet
            async with line_pair(door) as (reader, writer):
                writer.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n')
                making.may.set()
                assert b'"id":1' in await asyncio.wait_for(reader.readline(), PATIENCE_S)
            assert making.door is not None
            assert making.door.calls is door.calls

    run(body())


def test_it_opens_though_no_further_call_may_wait(making: Making) -> None:
    making.may.set()

    async def body() -> None:
        door, answered = LazyMcpServer(making), threading.Event()
        door.calls = Calls(threads=1, queue=0)

        def slow() -> bool:
            return answered.wait(PATIENCE_S)

        other = asyncio.create_task(door.calls.run(slow))
        async with door.run(), line_pair(door) as (reader, writer):
            writer.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n')
            assert b'"id":1' in await asyncio.wait_for(reader.readline(), PATIENCE_S)
            assert not other.done()
            answered.set()
            assert await other

    run(body())


async def told_nothing(door: LazyMcpServer) -> None:
    """A client of lines whose connection is closed without a word; raises what the door did."""
    async with line_pair(door) as (reader, _):
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""


def test_a_door_that_cannot_be_made_is_told_of() -> None:
    def broken(_: Calls) -> McpServer:
        raise ImportError("no such package")

    async def body() -> None:
        door = LazyMcpServer(broken)
        async with door.run():
            with pytest.raises(ImportError, match="no such package"):
                await told_nothing(door)
            assert door.streams == 0
            assert await door.calls.run(lambda: "answered") == "answered"

    with pytest.raises(ImportError, match="no such package"):
        run(body())
