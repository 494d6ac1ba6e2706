"""What is said once the server listens can be typed as it stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from librarian.config.settings import Settings
from librarian.welcome import typed, welcome


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
    said = welcome(Settings.load(None, overrides={"docs.root_path": tmp_path}), "http://127.0.0.1:1").splitlines()
    assert str(tmp_path) in said[0]
    assert [line.split()[0] for line in said[1:5]] == ["page", "MCP", "health", "connect"]
