"""A daemon's socket over a desk of this process, for the length of a test: relays and the command line find it."""

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
from librarian.api.mcp_transports import McpServer
from librarian.daemon.server import Host, command_api
from librarian.files.lock import FolderLock


@contextlib.contextmanager
def stored(index: Path, desk: Any, door: McpServer | None = None) -> Iterator[Path]:
    """`desk` as the daemon of `index`; with `door`, one that runs elsewhere already."""
    lock = FolderLock(index)
    if not lock.acquire(version=__version__):  # a library that was opened in this process owns its folder
        assert (holder := lock.holder()) is not None
        assert holder.pid == os.getpid()
    ready, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        own = door or McpServer(desk, version="1.2.3", heartbeat_s=0.02)
        host = Host(
            index,
            version=__version__,
            handle=command_api(LibraryHandle.of(desk)),
            serve_mcp=own.serve_lines,
            on_shut_down=stop.set,
        )
        async with own.run() if door is None else contextlib.nullcontext(), host:
            loops.append(asyncio.get_running_loop())
            ready.set()
            await stop.wait()

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
