"""A daemon for the tests: everything real but what it serves, which answers with what it was asked.

Started as `librarian.daemon.serve` would be. `ECHO_MODE` makes it misbehave: `setup` (wrong configuration), `crash`
(dies while starting), `deaf` (listens and never answers).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from librarian.daemon import address
from librarian.daemon.address import Address
from librarian.daemon.server import SocketServer
from librarian.errors import NotFound
from librarian.files.lock import FolderLock

VERSION = os.environ.get("ECHO_VERSION", "1.0")


def event(message: Mapping[str, Any]) -> bytes:
    return f"event: message\r\ndata: {json.dumps(message)}\r\n\r\n".encode()


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers each message with its method, its params, its headers and this process."""
    request = Request(scope, receive)
    message = await request.json()
    method, ident = message["method"], message["id"]
    if method == "die":
        os._exit(9)
    mark = Path(sys.argv[sys.argv.index("--index") + 1]) / "silent.once"
    if method in ("silence", "subscriptions/listen") or (method == "silence-once" and not mark.exists()):
        if method == "silence-once":
            mark.touch()
        head = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        begun = {"jsonrpc": "2.0", "method": "begun", "params": {"id": ident}}
        await send({"type": "http.response.body", "body": event(begun), "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        return
    size = int((message.get("params") or {}).get("size", 0))
    result = {
        "method": method,
        "pid": os.getpid(),
        "headers": dict(request.headers),
        "protocolVersion": "2025-11-25",
        "padding": "x" * size,
    }
    await JSONResponse({"jsonrpc": "2.0", "id": ident, "result": result})(scope, receive, send)


counted = Event()


def progress(operation: str) -> Mapping[str, Any] | None:
    if operation == "count":
        counted.set()
    return {"done": 1} if operation == "count" else None


def handle(operation: str, arguments: Mapping[str, Any], cancelled: Event) -> Mapping[str, Any]:
    if operation == "missing":
        raise NotFound("No document 'x'.", hint="Nearest: 'y'.")
    if operation == "bug":
        raise ZeroDivisionError("by zero")
    if operation == "count":
        counted.wait(60)
    if operation == "wait":
        cancelled.wait(60)
        Path(arguments["file"]).write_text("cancelled")
    if operation == "die":
        os._exit(9)
    return {"operation": operation, "arguments": dict(arguments), "pid": os.getpid(), "command": sys.argv[1:]}


async def keep(index: Path) -> None:
    ended = asyncio.Event()
    url = "http://localhost:1" if os.environ.get("ECHO_ROLE") == "serve" else ""
    own = Address(os.getpid(), VERSION, "", url=url, settings=os.environ.get("ECHO_SETTINGS", ""))
    async with SocketServer(
        index,
        app,
        own,
        handle=handle,
        progress=progress,
        on_shut_down=ended.set,
        on_idle=ended.set,
        idle_timeout_s=float(os.environ.get("ECHO_IDLE_S", "60")),
    ):
        await ended.wait()


async def be_deaf(index: Path) -> None:
    server, path = address.listen(index)
    address.publish(index, Address(os.getpid(), VERSION, path))
    with contextlib.closing(server):
        await asyncio.sleep(60)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket-only", action="store_true", required=True)
    parser.add_argument("--config")
    parser.add_argument("--root")
    parser.add_argument("--index", type=Path, required=True)
    given = parser.parse_args()
    mode = os.environ.get("ECHO_MODE", "")
    if mode == "setup":
        print("embeddings.model 'x' is unknown. Nearest: 'y'.", file=sys.stderr)
        return 78
    if mode == "crash":
        raise RuntimeError("out of luck")
    lock = FolderLock(given.index)
    if not lock.acquire(version=VERSION, timeout_s=2):
        return 0
    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(lock.release)
        asyncio.run(be_deaf(given.index) if mode == "deaf" else keep(given.index))
    return 0


if __name__ == "__main__":
    sys.exit(main())
