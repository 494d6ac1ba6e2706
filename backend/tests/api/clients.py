"""The official Python client over every way to a door, and what runs the coroutines."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, types
from mcp.client.sse import sse_client
from mcp.shared.message import SessionMessage
from starlette.applications import Starlette

from librarian import __version__
from librarian.api.library_handle import mcp_routes
from librarian.api.mcp import McpServer
from librarian.daemon import stdio_bridge
from librarian.daemon.address import Address
from librarian.daemon.discovery import Library
from librarian.daemon.server import SocketServer

ERAS = ("auto", "legacy")  #: without a handshake (since 2026-07-28) and with one
WAYS = ("memory", "lines", "http", "sse")


def run(work: Coroutine[Any, Any, None], timeout_s: float = 30) -> None:
    """Run a test's coroutine; one that hangs fails."""

    async def bounded() -> None:
        async with asyncio.timeout(timeout_s):
            await work

    asyncio.run(bounded())


@contextlib.asynccontextmanager
async def line_client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[Any]:
    """The client's side of JSON lines over a byte stream, as a transport of the SDK's client."""
    in_send, in_receive = anyio.create_memory_object_stream[Any](0)
    out_send, out_receive = anyio.create_memory_object_stream[SessionMessage](0)

    async def incoming() -> None:
        async with in_send:
            async for line in reader:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                    await in_send.send(SessionMessage(message))

    async def outgoing() -> None:
        async with out_receive:
            async for message in out_receive:
                writer.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await writer.drain()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(incoming)
            tasks.start_soon(outgoing)
            yield in_receive, out_send
            tasks.cancel_scope.cancel()
    finally:
        for stream in (in_send, in_receive, out_send, out_receive):
            stream.close()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def unused(*_: object) -> dict[str, object]:
    raise AssertionError("nothing is called by its own protocol")


@contextlib.asynccontextmanager
async def line_pair(door: McpServer) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A byte stream at whose other end a stdio bridge passes lines to `door`; ends when the client closes its side."""
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryDirectory() as name, theirs, theirs.makefile("rb") as source:
        index, app = Path(name), Starlette(routes=mcp_routes(door))
        address = Address(os.getpid(), __version__, "")
        async with SocketServer(index, app, address, handle=unused, on_shut_down=lambda: None):
            bridge = asyncio.create_task(asyncio.to_thread(stdio_bridge.run, Library(index), source, theirs.sendall))
            reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 24)
            try:
                yield reader, writer
            finally:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()
                await bridge


@contextlib.asynccontextmanager
async def connected(
    way: str, door: McpServer, url: str = "", *, era: str = "auto", **options: Any
) -> AsyncIterator[Client]:
    """A client of `door` in memory or over lines, or of `url` over HTTP or SSE."""
    if way == "lines":
        async with line_pair(door) as streams, Client(line_client(*streams), mode=era, **options) as client:
            yield client
        return
    target: Any = {"memory": door.server, "http": f"{url}/mcp", "sse": sse_client(f"{url}/sse")}[way]
    async with Client(target, mode=era, **options) as client:
        yield client
