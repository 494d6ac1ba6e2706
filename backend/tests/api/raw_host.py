"""An MCP host that speaks JSON lines to a process of ours, with nothing but the standard library between them."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

BACKEND = Path(__file__).resolve().parents[2]
RELAY = (sys.executable, str(BACKEND / "stdio_server.py"))
PATIENCE_S = 120.0  #: matters only where something is wrong
OPENING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw-host", "title": "Raw host", "version": "1"},
}


class RawHost:
    """Starts `command` and speaks to it; ends it on leaving the block. Lines that aren't JSON are kept as `noise`."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None, name: str = "raw-host") -> None:
        self._name = name
        self.process = subprocess.Popen(
            [*command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self.noise: list[bytes] = []
        self.notices: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._last = 0
        self._said = bytearray()
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                self.noise.append(line)
                continue
            if "method" in message or message.get("id") not in self._answers:
                self.notices.put(message)
            else:
                self._answers[message["id"]].put(message)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._said += line

    @property
    def stderr(self) -> str:
        """What it has written there so far."""
        return self._said.decode("utf-8", "replace")

    def send(self, method: str, params: Mapping[str, Any] | None = None, *, answered: bool = True) -> int:
        """One message; the id of a request, 0 of a notification."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if answered:
            self._last += 1
            message["id"] = self._last
            self._answers[self._last] = queue.Queue()
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return message.get("id", 0)

    def answer(self, ident: int, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """The whole answer to the request `ident`, result or error."""
        return self._answers[ident].get(timeout=timeout_s)

    def ask(
        self, method: str, params: Mapping[str, Any] | None = None, timeout_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        """A request and its answer."""
        return self.answer(self.send(method, params), timeout_s)

    def initialize(self) -> dict[str, Any]:
        """The handshake."""
        opening = {**OPENING, "clientInfo": {**OPENING["clientInfo"], "name": self._name}}  # type: ignore[dict-item]
        answer = self.ask("initialize", opening)
        self.send("notifications/initialized", answered=False)
        return answer

    def call(self, tool: str, timeout_s: float = PATIENCE_S, **arguments: Any) -> dict[str, Any]:
        """A tool's answer; an error counts as one, too."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, timeout_s)

    def memory_mb(self) -> float:
        """What the process has in memory, shared pages of the interpreter included."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def close(self) -> int:
        """End its stdin and wait for its end; the exit code."""
        assert self.process.stdin is not None
        if not self.process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):  # it has ended before
                self.process.stdin.close()
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            for thread in self._threads:
                thread.join(10)
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()
        return code


def relay(root: Path, index: Path, *further: str) -> list[str]:
    """The command that a host starts, for a library of its own."""
    return [*RELAY, "--root", str(root), "--index", str(index), *further]
