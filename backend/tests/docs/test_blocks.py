"""The fenced blocks of README, CONTRIBUTING and manual: what is proved here.

* Shell blocks run in a clone with a server, each after those before it on its page, but for those marked `not run` and
  why.
* JSON blocks are settings that load, or what `librarian connect` prints; Python blocks run; front matter is understood.
* Every command line anywhere in the manual is one that the commands would take.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from librarian.cli import connect
from librarian.cli.search import app
from librarian.embeddings.model_files import ModelStore
from librarian.models import SourceFile
from librarian.parsing.reader import PARSERS
from librarian.settings import Settings

from . import blocks
from .stage import Stage

BLOCKS = blocks.everything()
SHOWN = ("text", "markdown")
SETTINGS, HOSTS = {"docs", "index", "search", "embeddings", "security"}, {"mcpServers", "servers"}


def of_kind(*kinds: str) -> pytest.MarkDecorator:
    found = [block for block in BLOCKS if block.kind in kinds and not block.reason]
    assert found
    return pytest.mark.parametrize("block", found, ids=lambda block: block.name)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    if ModelStore().locate("all-MiniLM-L6-v2") is None:
        pytest.skip("the default embedding model is not installed; run librarian models fetch")
    stage = Stage(tmp_path_factory.mktemp("reader"))
    yield stage
    stage.close()


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_a_block_is_run_or_says_why_not(block: blocks.Block) -> None:
    known = (*blocks.SHELL, *SHOWN, "json", "python", "yaml")
    assert block.reason or block.kind in known, f"{block.name}: mark it <!-- not run: why -->, or say what it is"


def test_a_start_says_where_to_go(stage: Stage) -> None:
    assert f"http://127.0.0.1:{stage.port}/" in "".join(stage.said)


@of_kind(*blocks.SHELL)
def test_a_shell_block_runs(block: blocks.Block, stage: Stage) -> None:
    stage.follow(block)


@of_kind("python")
def test_a_python_block_runs(block: blocks.Block, stage: Stage) -> None:
    program = [sys.executable, "-W", "error", "-c", block.text]
    done = subprocess.run(program, cwd=stage.folder, env=stage.environ, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@of_kind("json")
def test_a_json_block_is_settings_or_a_hosts_entry(block: blocks.Block, tmp_path: Path) -> None:
    content = json.loads(block.text)
    if content.keys() <= SETTINGS:
        (tmp_path / "config.json").write_text(block.text, "utf-8")
        Settings.load(environ={}, cwd=tmp_path, repository=tmp_path)  # as the file of a clone
        return
    assert content.keys() <= HOSTS
    [(section, entries)] = content.items()
    entry = entries["librarian"]
    server = connect.Server([entry.get("command", ""), *entry.get("args", [])], entry.get("url"))
    of_section = [host for host in connect.HOSTS.values() if host.section == section]
    assert any(json.loads(connect.snippet(host, server)) == content for host in of_section if _takes(host, server))


def _takes(host: connect.Host, server: connect.Server) -> bool:
    return not host.toml and not (host.name == "claude-desktop" and server.url)


@of_kind("yaml")
def test_front_matter_is_understood(block: blocks.Block) -> None:
    text = block.text + "\n# A heading\n\nText.\n"
    source = SourceFile("/a/b/c.md", "a/b/c.md", "a", "b", len(text), 0)
    document = PARSERS[".md"].parse(source, text.encode())
    assert document.title == "Rotating tokens"
    assert document.tags == ("security", "operations")


def command_lines() -> list[str]:
    lines = [line for block in BLOCKS for line in block.text.splitlines()]
    for page in blocks.ALL:
        lines += re.findall(r"`([^`\n]+)`", blocks.prose(page.read_text("utf-8")))
    found = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?librarian (?=[a-z])(.*?)(?:\s+#.*|\s*[|>].*)?$")
    return sorted({match[1] for line in lines if (match := found.match(line.strip())) and "COMMAND" not in line})


@pytest.mark.parametrize("line", command_lines())
def test_a_command_line_is_one_that_the_commands_take(line: str) -> None:
    words = [word for word in shlex.split(line) if word not in ("|", "…")]
    words = [word.rstrip(",") for word in words]
    command: Any = typer.main.get_command(app)
    context = command.make_context("librarian", words[:1])
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    if words or not any(parameter.required for parameter in command.params):  # else prose only names the command
        command.make_context(command.name, words, parent=context)
