"""A clone as a reader of the manual has it: this manual as documents, the scripts, a command `librarian`, a server.

The folder is a copy, the home is empty but for the models, and the port is a free one, so nothing of this machine's
user is read or changed. What set-up does has tests of its own; here it is done.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import psutil

from librarian.embeddings.model_files import ModelStore

from .blocks import REPOSITORY, SHELL, Block, of

COMMAND = """#!/bin/sh
exec '{python}' -m librarian.cli.main "$@"
"""
PATIENCE_S = 300.0
PAGES = ("tutorial/first-library", "guide/connecting-hosts", "guide/troubleshooting", "reference/formats")
"""The pages that the manual's examples ask for: its clone is indexed several times over."""


class Stage:
    """The clone, with a server running in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "clone"
        self._followed: set[str] = set()
        for name in ("scripts", "deploy"):
            shutil.copytree(REPOSITORY / name, self.folder / name)
        for page in PAGES:
            copy = self.folder / "docs" / "librarian" / f"{page}.md"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / "docs" / "librarian" / f"{page}.md", copy)
        for name in ("config.json", "README.md", "requirements.txt"):
            shutil.copy(REPOSITORY / name, self.folder / name)
        (self.folder / "scripts" / "setup.sh").write_text("#!/bin/sh\n")
        bin_folder = self.folder / ".venv" / "bin"
        bin_folder.mkdir(parents=True)
        command = bin_folder / "librarian"
        command.write_text(COMMAND.format(python=sys.executable))
        command.chmod(0o755)
        (bin_folder / "python3").symlink_to(sys.executable)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        home = folder / "home"
        (home / ".cache" / "librarian").mkdir(parents=True)
        (home / ".cache" / "librarian" / "models").symlink_to(ModelStore().folder)
        self.environ = {
            "HOME": str(home),
            "CONFIG_FILE": str(self.folder / "config.json"),  # in a real clone it lies beside the program
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "MCP_PORT": str(self.port),
            "PYTHONPATH": str(REPOSITORY / "backend"),
        }
        self._server = subprocess.Popen(
            [self.folder / "scripts" / "start.sh"],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._server.stdout is not None
        self.said = [next(self._server.stdout, "") for _ in range(5)]
        self.run("librarian index")

    def run(self, script: str) -> str:
        """What a shell in the clone prints for `script`. Fails where one of its commands does."""
        script = script.replace("127.0.0.1:3001", f"127.0.0.1:{self.port}")
        done = subprocess.run(
            ["bash", "-euc", script],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, f"exit code {done.returncode}\n{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def follow(self, block: Block) -> None:
        """Run a shell block, after those before it on its page; each is run once."""
        for each in of(block.page):
            if each.kind in SHELL and not each.reason and each.line <= block.line and each.name not in self._followed:
                self.run(each.text)
                self._followed.add(each.name)

    def close(self) -> None:
        """End the server, and the keepers that commands have started, those too that don't listen yet."""
        self._server.terminate()
        assert self._server.stdout is not None
        self._server.stdout.close()
        self._server.wait(PATIENCE_S)
        serving = [
            process
            for process in psutil.process_iter(["cmdline"])
            if "librarian.daemon.serve" in (command := process.info["cmdline"] or ())
            and any(part.startswith(str(self.folder)) for part in command)
        ]
        for keeper in serving:
            with contextlib.suppress(psutil.NoSuchProcess):
                keeper.terminate()
        _, left = psutil.wait_procs(serving, PATIENCE_S)
        assert not left, left
