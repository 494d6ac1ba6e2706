"""A daemon over a library of this process, for the length of a test: bridges and the command line find it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from librarian import __version__
from librarian.api.library_handle import LibraryHandle
from librarian.api.mcp import McpServer
from librarian.daemon.address import Address
from librarian.daemon.server import SocketServer, command_api
from librarian.files.lock import FolderLock
from librarian.web.app import build_app


@contextlib.contextmanager
def stored(index: Path, library: Any) -> Iterator[Path]:
    """`library` as the daemon of `index`."""
    lock = FolderLock(index)
    if not lock.acquire(version=__version__):  # a library that was opened in this process owns its folder
        assert (holder := lock.holder()) is not None
        assert holder.pid == os.getpid()
    ready, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        mcp_server = McpServer(library, version="1.2.3", heartbeat_s=0.02)
        app = build_app(library, token="for TCP alone", version="1.2.3", mcp_server=mcp_server)
        address = Address(os.getpid(), __version__, "")
        handle, progress = command_api(LibraryHandle.of(library))
        server = SocketServer(index, app, address, handle=handle, progress=progress, on_shut_down=stop.set)
        async with app.router.lifespan_context(app), server:
            loops.append(asyncio.get_running_loop())
            ready.set()
            await stop.wait()
            mcp_server.end_streams()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(20), "the daemon did not start"
        yield index
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(20)
        lock.release()
        assert not thread.is_alive(), "the daemon did not stop"
