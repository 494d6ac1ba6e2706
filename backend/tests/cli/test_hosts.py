"""Connecting hosts: what is proved here.

* Each host gets an entry in its own form, with absolute paths, for a command and for an address.
* Writing keeps everything else, keeps what was there beside, and does nothing the second time.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.cli import connect, main
from librarian.cli.application import Target
from librarian.cli.connect import configured
from librarian.errors import SETUP, SetupError

COMMAND = connect.Server(["/opt/librarian", "stdio", "--config", "/c/config.json"])
ADDRESS = connect.Server(COMMAND.command, "http://127.0.0.1:3001/mcp")
GUARDED = connect.Server(COMMAND.command, ADDRESS.url, token=True)
STARTED = {"command": "/opt/librarian", "args": ["stdio", "--config", "/c/config.json"]}


def entry(name: str, server: connect.Server) -> Any:
    host = connect.HOSTS[name]
    text = connect.snippet(host, server)
    return (tomllib.loads(text) if host.toml else json.loads(text))[host.section]["librarian"]


@pytest.mark.parametrize(
    ("name", "started", "reached"),
    [
        ("claude-code", {"type": "stdio", **STARTED}, {"type": "http", "url": ADDRESS.url}),
        ("vscode", {"type": "stdio", **STARTED}, {"type": "http", "url": ADDRESS.url}),
        ("cursor", STARTED, {"url": ADDRESS.url}),
        ("gemini", STARTED, {"httpUrl": ADDRESS.url}),
        ("codex", STARTED, {"url": ADDRESS.url}),
    ],
)
def test_each_host_gets_its_own_form(name: str, started: object, reached: dict[str, Any]) -> None:
    assert entry(name, COMMAND) == started
    assert entry(name, ADDRESS) == reached
    guarded = entry(name, GUARDED)
    assert "MCP_AUTH_TOKEN" in json.dumps(guarded)
    assert reached.items() <= guarded.items()


def test_claude_desktop_gets_a_command() -> None:
    assert entry("claude-desktop", COMMAND) == STARTED


def test_the_relay_command_has_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = Target(config=Path("config.json"), index=Path("~/cards"), layout="flat")
    command = connect.bridge_command(target.options())
    assert os.path.isabs(command[0])
    assert command[command.index("stdio") :] == [
        "stdio",
        "--config",
        str(tmp_path / "config.json"),
        "--index",
        str(Path.home() / "cards"),
        "--layout",
        "flat",
    ]


@pytest.mark.parametrize("name", sorted(connect.HOSTS))
def test_several_libraries_stand_side_by_side(name: str, tmp_path: Path) -> None:
    host, path = connect.HOSTS[name], tmp_path / "configuration"
    for own in ("librarian", "work", "work", "home-2"):
        connect.write(host, connect.Server([f"/opt/{own}"], name=own), path)
    text = path.read_text()
    entries = (tomllib.loads(text) if host.toml else json.loads(text))[host.section]
    assert {own: entry["command"] for own, entry in entries.items()} == {
        own: f"/opt/{own}" for own in ("librarian", "work", "home-2")
    }


@pytest.mark.parametrize("name", sorted(connect.HOSTS))
def test_writing_twice_changes_nothing_the_second_time(name: str, tmp_path: Path) -> None:
    host = connect.HOSTS[name]
    path = host.path(tmp_path, tmp_path)
    assert connect.write(host, COMMAND, path) is None
    first = path.read_text()
    assert connect.write(host, COMMAND, path) is None
    assert path.read_text() == first
    other = connect.Server(["/elsewhere", "stdio"])
    backup = connect.write(host, other, path)
    assert backup is not None
    assert backup.read_text() == first
    again = connect.write(host, COMMAND, path)
    assert again not in (None, backup)
    assert path.read_text() == first
    assert sorted(found.suffix for found in path.parent.iterdir()) == sorted([".backup", ".backup1", path.suffix])


KEYS = st.sampled_from(["a", "b-c", "librarian2", "x"])


@given(
    others=st.dictionaries(KEYS, st.fixed_dictionaries({"command": st.text()})),
    rest=st.dictionaries(KEYS, st.integers()),
)
def test_json_files_keep_everything_else(others: dict[str, Any], rest: dict[str, Any]) -> None:
    host = connect.HOSTS["cursor"]
    before = {**rest, "mcpServers": {**others, "librarian": {"url": "old"}}}
    after = json.loads(connect.changed(host, COMMAND, json.dumps(before)))
    assert after == {**rest, "mcpServers": {**others, "librarian": STARTED}}


TOML = """
model = "m"  # kept

[mcp_servers.other]
command = "x"

[mcp_servers.librarian]
command = "old"

[mcp_servers.librarian.env]
A = "[b]"

[profiles.p]
model = "n"
"""


def test_toml_files_keep_everything_else_comments_included() -> None:
    host = connect.HOSTS["codex"]
    after = connect.changed(host, COMMAND, TOML)
    assert 'model = "m"  # kept' in after
    wanted = tomllib.loads(TOML)
    wanted["mcp_servers"]["librarian"] = STARTED
    assert tomllib.loads(after) == wanted
    assert connect.changed(host, COMMAND, after) == after


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vscode", '{"servers": {} /* mine */}'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", "[]"),
        ("codex", "not toml"),
        ("codex", "mcp_servers = 3"),
    ],
)
def test_a_file_that_would_be_damaged_is_refused(name: str, text: str, tmp_path: Path) -> None:
    host = connect.HOSTS[name]
    path = host.path(tmp_path, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    with pytest.raises(SetupError, match=re.escape(f"{path.resolve()}: ")):
        connect.write(host, COMMAND, path)
    assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "text"),
    [("cursor", '{"mcpServers": {"a": {"command": "x"}}}'), ("codex", '[mcp_servers.a]\ncommand = "x"\n')],
)
def test_a_file_with_a_byte_order_mark_is_read_and_kept_as_it_was_beside(name: str, text: str, tmp_path: Path) -> None:
    host = connect.HOSTS[name]
    path = host.path(tmp_path, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8-sig")
    marked = path.read_bytes()
    backup = connect.write(host, COMMAND, path)
    assert backup is not None
    assert backup.read_bytes() == marked
    after = (tomllib.loads if host.toml else json.loads)(path.read_text("utf-8"))
    assert sorted(after[host.section]) == ["a", "librarian"]
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    (seen,) = configured(tmp_path, tmp_path)
    assert (seen.host, seen.target.split()[0]) == (host, "/opt/librarian")


def test_a_linked_file_stays_a_link_with_its_mode(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("{}")
    real.chmod(0o600)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    connect.write(connect.HOSTS["cursor"], COMMAND, link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert json.loads(real.read_text())["mcpServers"]["librarian"] == STARTED


def test_a_configuration_that_cannot_be_written_is_named_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".cursor").write_text("a file where a folder should be")
    (tmp_path / ".mcp.json").write_bytes(b"{}\xff")
    for host, problem in (("cursor", "mcp.json can't be written: "), ("claude-code", "it isn't UTF-8")):
        assert main.run(["connect", host, "--write"]) == SETUP
        said = capsys.readouterr().err
        assert problem in said
        assert said.endswith("Paste what `librarian connect` prints without --write.\n")


def test_connect_prints_or_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MCP_AUTH_TOKEN", "t")
    monkeypatch.setenv("CONFIG_FILE", "config.json")
    (tmp_path / "config.json").write_text("{}")
    assert main.run(["connect", "gemini", "--http"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["mcpServers"]["librarian"]["httpUrl"] == "http://127.0.0.1:3001/mcp"
    assert str(tmp_path / ".gemini" / "settings.json") in captured.err
    assert main.run(["connect", "claude-code", "--write"]) == 0
    assert "names Librarian now" in capsys.readouterr().out
    written = json.loads((tmp_path / ".mcp.json").read_text())
    assert str(tmp_path / "config.json") in written["mcpServers"]["librarian"]["args"]
    assert main.run(["connect", "claude-code", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] is False
