"""Bridges and daemons as real processes, for the tests of this folder."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from librarian.daemon import address
from librarian.daemon.address import ping
from librarian.daemon.client import Daemon

BACKEND = Path(__file__).resolve().parents[2]
ECHO = (sys.executable, str(Path(__file__).with_name("echo_daemon.py")))
PATIENCE_S = 180.0  #: matters only where something is wrong

_BRIDGE = """
import os, sys, threading
from librarian.daemon import stdio_bridge as bridge
if "NOISE" in os.environ:
    quiet = bridge.run
    def noisy(*given, **more):
        print("a library prints", flush=True)
        os.system("echo so does a child")
        return quiet(*given, **more)
    bridge.run = noisy
sys.exit(bridge.main(sys.argv[1:], program=sys.argv_program))
"""


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition that another process brings about."""
    end = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, f"{what} hasn't come about"
        pause.wait(0.005)


def daemon_of(index: Path) -> Daemon | None:
    """The daemon that answers at the address in the folder; None where none does."""
    where = address.read(index)
    if where is None:
        return None
    try:
        return Daemon(where, ping(where))
    except OSError:
        return None


class BridgeProcess:
    """A bridge as an MCP host starts it."""

    def __init__(self, index: Path, *arguments: str, environ: Mapping[str, str] = {}) -> None:
        code = _BRIDGE.replace("sys.argv_program", repr(list(ECHO)))
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "--index", str(index), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=index.parent,
            env={**os.environ, "PYTHONPATH": str(BACKEND), **environ},
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._errors: list[bytes] = []
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self._errors += list(self.process.stderr)

    def send(self, ident: int | str | None, method: str | None, **more: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0"}
        message |= {} if ident is None else {"id": ident}
        message |= {} if method is None else {"method": method}
        self.send_line(json.dumps(message | more).encode() + b"\n")

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        line = self._lines.get(timeout=PATIENCE_S)
        assert line, "the bridge has ended: " + self.errors()
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def ask(self, ident: int | str, method: str, **more: Any) -> dict[str, Any]:
        """A request and its answer."""
        self.send(ident, method, **more)
        answer = self.receive()
        assert answer["id"] == ident, answer
        return answer

    def end(self) -> int:
        """Close stdin; the exit code."""
        assert self.process.stdin is not None
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return code

    def left(self) -> list[bytes]:
        """What came and wasn't received."""
        lines = []
        while not self._lines.empty():
            lines.append(self._lines.get())
        return [line for line in lines if line]

    def errors(self) -> str:
        return b"".join(self._errors).decode()
