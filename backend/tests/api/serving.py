"""A web application on a real port, for the length of a test."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import uvicorn
from fastapi import FastAPI

from librarian.api.security import HEAD_S, LimitedHeads


@contextlib.contextmanager
def served(app: FastAPI, head_s: float = HEAD_S) -> Iterator[str]:
    """The address of `app`, served by uvicorn in a thread, with limits of heads; shut down in good order."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=type("Protocol", (LimitedHeads,), {"head_s": head_s}),
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=1,
        lifespan="on",
    )
    server = uvicorn.Server(config)
    ready = threading.Event()
    startup = server.startup

    async def announced(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets)
        ready.set()

    server.startup = announced  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        assert ready.wait(20), "the server did not start"
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
        assert not thread.is_alive(), "the server did not stop"
