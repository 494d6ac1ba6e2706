"""A daemon for the tests: everything real but what it serves, which answers with what it was asked.

Started as `librarian.daemon.serve` would be.

`ECHO_MODE` makes it misbehave: `setup` (wrong configuration), `crash` (dies
while starting), `deaf` (listens and never greets).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from librarian.daemon import address
from librarian.daemon.server import Host
from librarian.errors import NotFound
from librarian.files.lock import FolderLock

VERSION = os.environ.get("ECHO_VERSION", "1.0")


async def serve_mcp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers each request with its method, its params, this process and the methods seen on this connection; what is
    still open at the end with an error, as MCP's own library does."""
    silenced: list[object] = []
    try:
        await echo(reader, writer, silenced)
    except asyncio.CancelledError:
        for ident in silenced:
            closed = {"jsonrpc": "2.0", "id": ident, "error": {"code": -32000, "message": "Connection closed"}}
            writer.write(json.dumps(closed, separators=(",", ":")).encode() + b"\n")
        raise


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silenced: list[object]) -> None:
    seen: list[str] = []
    while line := await reader.readline():
        message = json.loads(line)
        method, ident = message.get("method"), message.get("id")
        seen.append(method or f"answer to {ident}")
        if method == "die":
            os._exit(9)
        if method == "silence" or ident is None or method is None:
            continue
        if method == "initialize" and "ECHO_MUTE" in os.environ:  # the second handshake isn't answered
            with Path(os.environ["ECHO_MUTE"]).open("a") as file:
                file.write(".")
                if file.tell() == 2:
                    continue
        if method == "silence-once":
            mark = Path(sys.argv[sys.argv.index("--index") + 1]) / "silent.once"
            if not mark.exists():
                mark.touch()
                silenced.append(ident)
                continue
        size = int((message.get("params") or {}).get("size", 0))
        result = {"method": method, "pid": os.getpid(), "seen": seen, "padding": "x" * size}
        answer = json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}, separators=(",", ":"))
        writer.write(answer.encode() + b"\n")
        await writer.drain()


def handle(
    operation: str, arguments: Mapping[str, Any], progress: Callable[[Mapping[str, Any]], None], cancelled: Event
) -> Mapping[str, Any]:
    if operation == "missing":
        raise NotFound("No document 'x'.", hint="Nearest: 'y'.")
    if operation == "bug":
        raise ZeroDivisionError("by zero")
    if operation == "count":
        for number in range(arguments["to"]):
            progress({"done": number + 1})
    if operation == "wait":
        cancelled.wait(60)
        Path(arguments["file"]).write_text("cancelled")
    if operation == "die":
        os._exit(9)
    return {"operation": operation, "arguments": dict(arguments), "pid": os.getpid(), "command": sys.argv[1:]}


async def keep(index: Path, idle_s: float) -> None:
    ended = asyncio.Event()
    role = "serve" if os.environ.get("ECHO_ROLE") == "serve" else "background"
    async with Host(
        index,
        version=VERSION,
        handle=handle,
        serve_mcp=serve_mcp,
        on_shut_down=ended.set,
        on_idle=ended.set,
        idle_timeout_s=idle_s,
        role=role,  # type: ignore[arg-type]
        settings=os.environ.get("ECHO_SETTINGS", ""),
    ):
        await ended.wait()


async def be_deaf(index: Path) -> None:
    server, where = address.listen(index, version=VERSION)
    address.publish(index, where)
    with contextlib.closing(server):
        await asyncio.sleep(60)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket-only", action="store_true", required=True)
    parser.add_argument("--config")
    parser.add_argument("--root")
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--idle-timeout", type=float, default=60.0)
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
        asyncio.run(be_deaf(given.index) if mode == "deaf" else keep(given.index, given.idle_timeout))
    return 0


if __name__ == "__main__":
    sys.exit(main())
