"""What is said once the server listens can be typed as it stands there."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from librarian.daemon.serve import banner, typed
from librarian.settings import Settings


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "clone" / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "librarian").touch(0o755)
    return folder / "python"


def test_the_command_is_told_by_its_path_where_the_shell_does_not_find_it(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path / "clone")
    assert typed(program) == ".venv/bin/librarian"
    monkeypatch.chdir("/")
    assert Path("/", typed(program)) == program.with_name("librarian")


def test_the_command_is_told_by_its_name_where_that_runs_this_installation(program: Path, tmp_path: Path) -> None:
    assert typed(program, str(program.with_name("librarian"))) == "librarian"
    other = tmp_path / "librarian"
    other.touch(0o755)
    assert typed(program, str(other)).endswith("librarian")
    assert typed(program, str(other)) != "librarian"


def test_every_door_and_notice_has_its_line(tmp_path: Path) -> None:
    said = banner(Settings.load(None, overrides={"docs.root_path": tmp_path}), "http://127.0.0.1:1").splitlines()
    assert str(tmp_path) in said[0]
    assert [line.split()[0] for line in said[1:5]] == ["page", "MCP", "health", "connect"]


def test_a_command_as_it_is_told_connects_the_library_that_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INDEX_PATH", raising=False)
    (tmp_path / "other.json").write_text('{"docs": {"root_path": "theirs"}}', "utf-8")

    def told(config: str | None = None, **named: Path) -> str:
        overrides = {key.replace("__", "."): path for key, path in named.items()}
        return banner(Settings.load(config, overrides=overrides), "http://127.0.0.1:1").splitlines()[4]

    monkeypatch.delenv("CONFIG_FILE", raising=False)
    assert " connect claude-code | " in told()
    assert f" connect --root '{tmp_path}/my docs' claude-code | " in told(docs__root_path=tmp_path / "my docs")
    both = told(docs__root_path=tmp_path / "docs", index__path=tmp_path / "index")
    assert f" connect --root {tmp_path}/docs --index {tmp_path}/index claude-code | " in both
    assert f" connect --config {tmp_path}/other.json claude-code | " in told("other.json")


def person(name: str, number: int, shell: str = "/bin/bash") -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", number, number, "", f"/home/{name}", shell))


@pytest.mark.parametrize(
    ("users", "noted"),
    [
        ([person("other", 2000)], True),
        ([person("other", 2000, "")], True),  # the system's usual shell
        ([person("me", os.getuid()), person("root", 0), person("daemon", 2)], False),
        (
            [person("service", 2000, "/usr/sbin/nologin"), person("nobody", 65534), person("x", 2001, "/bin/false")],
            False,
        ),
    ],
)
def test_that_other_users_reach_a_server_without_token_is_said_where_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, users: list[pwd.struct_passwd], noted: bool
) -> None:
    monkeypatch.setattr(pwd, "getpwall", lambda: users)

    def notes(**named: object) -> list[str]:
        overrides = {"docs.root_path": tmp_path} | {key.replace("__", "."): value for key, value in named.items()}
        lines = banner(Settings.load(None, overrides=overrides), "http://127.0.0.1:1").splitlines()
        return [line for line in lines if "MCP_AUTH_TOKEN" in line]

    assert bool(notes()) == noted
    assert notes(security__token="secret") == []


def test_a_layout_that_other_commands_would_not_know_is_said_to_be_the_servers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def notes(**named: object) -> list[str]:
        overrides = {"docs.root_path": tmp_path} | {key.replace("__", "."): value for key, value in named.items()}
        lines = banner(Settings.load(None, overrides=overrides), "http://127.0.0.1:1").splitlines()
        return [line for line in lines if line.startswith("  note")]

    monkeypatch.setattr(pwd, "getpwall", list)
    assert notes() == []
    (note,) = notes(docs__layout="flat")
    assert "--layout flat holds for this server" in note
    settings = Settings.load(None, overrides={"docs.root_path": tmp_path, "docs.layout": "flat"})
    assert " --layout flat claude-code" in banner(settings, "http://127.0.0.1:1")
    assert "configuration file" in note
