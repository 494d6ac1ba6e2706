"""A server whose library is still being opened, and one whose threads are all busy:

* who comes before the library is open waits for it, over every transport, and is answered then;
* it opens however busy the others are.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack

import httpx
import pytest
from mcp import Client

from librarian.api.library_handle import Calls, LibraryHandle
from librarian.api.mcp import McpServer
from librarian.errors import SetupError
from librarian.web.app import build_app
from tests.api.clients import line_pair, run, sse_client
from tests.api.fake_library import FakeLibrary
from tests.api.serving import served

PATIENCE_S = 20.0


@pytest.mark.parametrize("way", ["http", "sse"])
def test_who_comes_before_the_library_waits_and_is_answered(way: str) -> None:
    async def body() -> None:
        with ExitStack() as stack:
            handle = LibraryHandle()
            app = build_app(handle, mcp_server=McpServer(handle))
            url = await asyncio.to_thread(stack.enter_context, served(app))

            async def listed() -> list[str]:
                async with Client(f"{url}/mcp" if way == "http" else sse_client(f"{url}/sse")) as client:
                    assert client.instructions == FakeLibrary().instructions()
                    return [tool.name for tool in (await client.list_tools()).tools]

            asking = asyncio.create_task(listed())
            async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as web:
                finding = asyncio.create_task(web.get("/api/search", params={"q": "tokens"}))
                await asyncio.sleep(0.2)
                assert not asking.done()
                assert not finding.done()
                handle.opened(FakeLibrary())  # type: ignore[arg-type]
                assert (await asking)[0] == "search_documentation"
                assert (await finding).status_code == 200
                assert 'interface="mcp"' not in (await web.get("/metrics")).text  # no tool was called
            await asyncio.to_thread(stack.close)

    run(body())


def test_a_library_that_cannot_be_opened_is_told_of() -> None:
    async def body() -> None:
        handle = LibraryHandle()
        door = McpServer(handle)
        async with door.run(), line_pair(door) as (reader, writer):
            writer.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n')
            handle.failed(SetupError("The catalog is damaged."))
            assert b'"id":1' in await asyncio.wait_for(reader.readline(), PATIENCE_S)
            assert door.server.instructions == "Librarian can't answer: The catalog is damaged."

    run(body())


def test_it_opens_though_no_further_call_may_wait() -> None:
    async def body() -> None:
        answered = threading.Event()
        door = McpServer(FakeLibrary(), calls=Calls(threads=1, queue=0))

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
