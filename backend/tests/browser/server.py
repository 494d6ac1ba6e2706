"""`librarian serve` in a process of its own, at an address that outlives it: it can be ended and started again."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

BACKEND = Path(__file__).resolve().parents[2]


class Server:
    """A server over `folder`/docs. `settings` are sections of its config.json."""

    def __init__(self, folder: Path, **settings: dict[str, Any]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        sections: dict[str, dict[str, Any]] = {
            "docs": {"root_path": "docs", "watch_debounce_ms": 50},
            "index": {"path": "index", "workers": 1},
            "mcp": {"port": self.port},
        }
        for name, section in settings.items():
            sections[name] = sections.get(name, {}) | section
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "docs").mkdir(exist_ok=True)
        self.config = folder / "config.json"
        self.config.write_text(json.dumps(sections), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, ready: bool = True) -> Server:
        """Start it, and wait until it answers; with `ready`, until everything is indexed."""
        environment = {**os.environ, "PYTHONPATH": str(BACKEND), "PYTHONUNBUFFERED": "1"}
        with (self.folder / "server.log").open("ab") as log:
            command = [sys.executable, "-m", "librarian.daemon.serve", "--config", str(self.config)]
            self._process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        self.wait_for(lambda health: not ready or (health["status"] == "ok" and health["chunks"] > 0))
        return self

    def wait_for(self, condition: Any, timeout_s: float = 300) -> None:
        """Wait for `/health` to say something."""
        deadline = time.monotonic() + timeout_s
        health: Any = None
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                break
            try:
                health = httpx.get(f"{self.url}/health", timeout=5).json()
                if condition(health):
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"The server isn't ready: {health}\n{self.log()}")

    def stop(self) -> None:
        """End it in good order."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def log(self) -> str:
        """What it wrote."""
        return (self.folder / "server.log").read_text("utf-8", errors="replace")
