"""Commands that start in a folder which somebody else filled, such as a cloned repository.

Every command, `stdio` included, runs with a hostile `.env`, `config.json`, `librarian.json` and file names around it:
nothing reaches the attacker's address, nothing outside is written, and answers come from the user's own library.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import typer.main

from librarian.cli.search import app
from librarian.daemon import client
from librarian.errors import LibrarianError

BACKEND = Path(__file__).resolve().parents[2]
SECRET = "sk-USERSECRET"
SHELL_NAME = ";touch PWNED;#.docx"

#: Each command with arguments that make it work in the user's library, and the exit codes that are right.
COMMANDS: dict[str, tuple[list[str], set[int]]] = {
    "search": (["search", "zorkmid"], {0}),
    "show": (["show", "mine/coins/coins.md"], {0}),
    "thread": (["thread", "nothing"], {1}),
    "analyze": (["analyze", "zorkmid"], {0}),
    "products": (["products"], {0}),
    "status": (["status"], {0}),
    "gaps": (["gaps"], {0}),
    "serve": (["serve", "--port", "0"], {0}),
    "stdio": (["stdio"], {0}),
    "index": (["index"], {0}),
    "check": (["check"], {0}),
    "crawl": (["crawl", "--refresh"], {1}),
    "add": (["add", "ssh://127.0.0.1:1/nothing"], {78}),
    "libraries": (["libraries"], {0}),
    "evaluate": (["evaluate", "--self", "--modes", "keyword"], {0}),
    "bench": (["bench", "--rounds", "1", "--modes", "keyword"], {0}),
    "doctor": (["doctor"], {0}),
    "connect": (["connect", "cursor"], {0}),
    "config": (["config"], {0}),
    "models": (["models", "list"], {0}),
    "trust": (["trust", "--revoke"], {0}),
}


@dataclass
class Attack:
    """The hostile folder, the home of the user who stands in it, and what the attacker's address has received."""

    folder: Path
    home: Path
    received: list[bytes] = field(default_factory=list)

    @property
    def index(self) -> Path:
        return self.home / "library-index"

    def environ(self) -> dict[str, str]:
        own = {"HOME": str(self.home), "PYTHONPATH": str(BACKEND), "OPENAI_API_KEY": SECRET}
        return own | {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "librarian", *arguments],
            cwd=self.folder,
            env=self.environ(),
            input=given,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def outside(self) -> dict[str, bytes]:
        """All files that are neither the user's index nor in the folders that Librarian keeps for itself."""
        own = (self.index, self.home / ".cache", self.home / ".local" / "share" / "librarian")
        found = (path for path in self.home.parent.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in found if not any(path.is_relative_to(each) for each in own)}


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attack]:
    place = tmp_path_factory.mktemp("attack")
    made = Attack(place / "clone", place / "home")
    with _listener(made.received) as port:
        thief = f"http://127.0.0.1:{port}/v1"
        write(made.home / ".bashrc", "# the user's own\n")
        write(made.home / "Documents" / "letter.txt", "mine")
        write(made.home / "library" / "mine" / "coins" / "coins.md", "# Coins\n\nA zorkmid is a coin.\n")
        minting = "# Coin minting\n\nSee [the coins](coins.md).\n\n## Silver furnace heat\n\nIt melts at 960 degrees.\n"
        write(made.home / "library" / "mine" / "coins" / "minting.md", minting)
        own = {
            "docs": {"root_path": str(made.home / "library")},
            "index": {"path": str(made.index)},
            "embeddings": {"enabled": False},
        }
        write(made.home / ".config" / "librarian" / "librarian.json", json.dumps(own))
        hostile = {
            "docs": {"root_path": "docs"},
            "index": {"path": "../home/Documents"},
            "logging": {"file": "~/.bashrc", "level": "warning"},
            "embeddings": {"provider": "openai", "base_url": thief, "model": "x"},
            "llm": {"enabled": True, "provider": "openai", "base_url": thief},
        }
        for name in ("config.json", "librarian.json", "other.json"):
            write(made.folder / name, json.dumps(hostile))
        lines = [
            "CONFIG_FILE=other.json",
            f"OPENAI_BASE_URL={thief}",
            "EMBEDDING_MODEL=text-embedding-3-small",
            "ENABLE_EMBEDDINGS=true",
            "AGENT_USE_LLM=true",
            "LLM_PROVIDER=openai",
            f"QDRANT_URL={thief}",
            f"DATABASE_URL=postgresql://u:p@127.0.0.1:{port}/x",
            "DOCS_ROOT_PATH=docs",
            "INDEX_PATH=../home/Documents",
            "LOG_LEVEL=verbose",
            "MCP_HOST=0.0.0.0",
            "MCP_AUTH_TOKEN=the-attackers",
        ]
        write(made.folder / ".env", "\n".join(lines) + "\n")
        write(made.folder / "docs" / "p" / "c" / SHELL_NAME, "broken")
        write(made.folder / "docs" / "p" / "c" / "lure.md", "# Lure\n\nA zorkmid of the attacker.\n")
        try:
            yield made
        finally:
            with contextlib.suppress(LibrarianError):
                client.shut_down_daemon(made.index, timeout_s=30)


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")


@contextlib.contextmanager
def _listener(received: list[bytes]) -> Iterator[int]:
    """The attacker's address; what arrives is noted, connections without a byte included."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(1)
                    received.append(b"connected ")
                    with contextlib.suppress(OSError):
                        received.append(connection.recv(65536))

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def handshake() -> str:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "search_documentation", "arguments": {"query": "zorkmid", "mode": "keyword"}}
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    return "".join(json.dumps({"jsonrpc": "2.0"} | message) + "\n" for message in messages)


def test_the_table_holds_every_command() -> None:
    assert set(typer.main.get_group(app).commands) == set(COMMANDS)  # type: ignore[attr-defined]


def test_no_command_follows_the_files_of_the_folder_that_it_starts_in(attack: Attack) -> None:
    before = attack.outside()
    first = attack.run("index")
    assert first.returncode == 0, first.stderr

    def one(name: str) -> tuple[str, subprocess.CompletedProcess[str]]:
        return name, attack.run(*COMMANDS[name][0], given=handshake() if name == "stdio" else "")

    with ThreadPoolExecutor(2) as pool:
        done = dict(pool.map(one, [name for name in COMMANDS if name != "serve"]))
    for name, result in done.items():
        assert result.returncode in COMMANDS[name][1], f"{name}: {result.stdout}{result.stderr}"
        if name not in ("trust", "models"):
            assert "librarian trust" in result.stderr, f"{name} does not say that it ignores the file"
        assert SECRET not in result.stdout + result.stderr, name
    for name in ("search", "stdio"):
        assert "A zorkmid is a coin" in done[name].stdout, name
        assert "attacker" not in done[name].stdout, name
    assert attack.received == []
    assert attack.outside() == before


def test_serve_takes_host_token_and_library_from_the_user(attack: Attack) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "librarian", "serve", "--port", "0", "--json"],
        cwd=attack.folder,
        env={
            "HOME": str(attack.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(BACKEND),
            "OPENAI_API_KEY": SECRET,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    process.terminate()
    _, notes = process.communicate(timeout=60)
    assert json.loads(said)["page"].startswith("http://127.0.0.1:"), notes
    assert "librarian trust" in notes
    assert attack.received == []


def test_a_folder_without_configuration_is_not_searched_unasked(tmp_path: Path) -> None:
    """The program's own folder stays as it is: no index is built in it."""
    alone = Attack(tmp_path / "empty", tmp_path / "home")
    alone.folder.mkdir()
    alone.home.mkdir()
    built = (BACKEND.parent / ".librarian").exists()
    asked = alone.run("search", "zorkmid")
    if built:  # a checkout in use: the note says which library was searched
        assert f"this searches {BACKEND.parent / 'docs'}" in asked.stderr
    else:
        assert (asked.returncode, asked.stdout) == (78, "")
        assert "--root" in asked.stderr
    assert (BACKEND.parent / ".librarian").exists() == built
