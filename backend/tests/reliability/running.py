"""`librarian serve` as a process of its own, on a port that the system chooses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from librarian.daemon import address

BACKEND = Path(__file__).resolve().parents[2]
PATIENCE_S = 240.0  #: matters only where something is wrong


def until(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for a condition that another process brings about."""
    end = time.monotonic() + patience_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, f"{what} hasn't come about"
        pause.wait(0.02)


class Running:
    """A server over `folder`/docs with its index in `folder`/index; `settings` go into its config.json, and
    `program` is what Python runs in place of the server's module."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        *,
        environ: Mapping[str, str] = {},
        http: bool = True,
        program: Sequence[str] = ("-m", "librarian.daemon.serve"),
    ) -> None:
        self.folder = folder
        self.config = folder / "config.json"
        self.index = folder / "index"
        self.settings = {"docs": {"root_path": "docs"}, "index": {"path": "index", "workers": 1}, **settings}
        self.write_settings()
        self.said = folder / "server.err"
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [*(sys.executable, *program, "--config", str(self.config)), *([] if http else ["--socket-only"])],
                env={**os.environ, "PYTHONPATH": str(BACKEND), **environ},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        self.watched = psutil.Process(self.process.pid)

    def write_settings(self, **more: Any) -> None:
        self.settings |= more
        self.config.write_text(json.dumps({"mcp": {"port": 0}, **self.settings}))

    def url(self) -> str:
        """Its address, once it serves."""
        found = ""

        def serves() -> bool:
            nonlocal found
            assert self.process.poll() is None, self.said.read_text()
            where = address.read(self.index)
            found = where.url if where is not None else ""
            return bool(found)

        until(serves, "the server")
        return found

    def stop(self, number: signal.Signals = signal.SIGTERM) -> float:
        """End it; returns how long that took in seconds."""
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(30)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        return time.monotonic() - began

    def handles(self) -> int:
        return self.watched.num_fds()

    def memory_mb(self) -> float:
        return float(self.watched.memory_info().rss) / 1e6
