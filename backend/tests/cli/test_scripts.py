"""The scripts: what is proved here.

* `setup.sh` finds a Python that is new enough, installs once and again only when the pins change, reports packages that
  don't fit together. Where there is no Python it says what to do.
* The others set up first and pass their arguments on. What the tests write lies in memory where there is room, and is
  gone when they end.

Python, pip and the `librarian` command are stood in for by a shell script that writes down how it was called.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
SCRIPTS = sorted((REPOSITORY / "scripts").glob("*.sh"))
MEMORY = Path("/dev/shm")
TOOLS = ("bash", "sh", "env", "dirname", "cat", "cksum", "mkdir", "cp", "chmod", "rm", "printf", "df", "awk", "mktemp")

PYTHON = """#!/bin/sh
printf '%s %s\\n' "${0##*/}" "$*" >>"$CALLS"
case "$*" in
    "--version") echo "Python 3.12.0" ;;
    "-c import sys, venv"*) exit "${TOO_OLD:-0}" ;;
    "-m venv .venv")
        mkdir -p .venv/bin
        for name in python librarian ruff mypy lint-imports; do cp "$0" ".venv/bin/$name"; done ;;
    *"pip --disable-pip-version-check check") echo "chroma 1 needs numpy 2"; exit "${PINS_LACK:-0}" ;;
    "-m pytest"*) printf '%s %s' "${TMPDIR:-}" "${PYTHONDONTWRITEBYTECODE-unset}" >"$CALLS.pytest"; exit "${FAIL:-0}" ;;
esac
"""


class Machine:
    """A bare machine: a copy of the scripts, a few tools, and a Python that only writes down its calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls_file = folder / "calls"
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None
            (self.bin / tool).symlink_to(found)
        self.place_python("python3")
        shutil.copytree(REPOSITORY / "scripts", folder / "house" / "scripts")
        for path in (*REPOSITORY.glob("requirements*.txt"), REPOSITORY / "pyproject.toml"):
            shutil.copy(path, folder / "house" / path.name)

    def place_python(self, name: str, folder: Path | None = None) -> None:
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PYTHON)
        path.chmod(0o755)

    def run(self, script: str, *arguments: str, **environ: str) -> tuple[int, str, list[str]]:
        """Exit code, stderr, and the calls in order, checks of the Python aside."""
        self.calls_file.write_text("")
        surroundings = {"PATH": str(self.bin), "HOME": str(self.folder), "CALLS": str(self.calls_file), **environ}
        done = subprocess.run(
            [str(self.folder / "house" / "scripts" / script), *arguments],
            env=surroundings,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
        )
        calls = [call for call in self.calls_file.read_text().splitlines() if " -c " not in call]
        return done.returncode, done.stderr, calls


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_setup_installs_once(machine: Machine) -> None:
    code, _, calls = machine.run("setup.sh")
    assert code == 0
    assert calls == [
        "python3 --version",
        "python3 -m venv .venv",
        "python -m pip --disable-pip-version-check install --quiet --no-compile --require-hashes --only-binary=:all: "
        "--no-deps -r requirements.txt -r requirements-build.txt",
        "python -m pip --disable-pip-version-check install --quiet --no-index --no-build-isolation --no-deps -e .",
        "python -m pip --disable-pip-version-check check",
    ]
    assert machine.run("setup.sh") == (0, "", [])


def test_setup_installs_again_when_the_pins_change(machine: Machine) -> None:
    machine.run("setup.sh")
    with (machine.folder / "house" / "requirements.txt").open("a") as pins:
        pins.write("another==1\n")
    _, _, calls = machine.run("setup.sh")
    assert [call.split()[0] for call in calls] == ["python", "python", "python"]


def test_setup_reports_packages_that_do_not_fit_together_and_installs_nothing_more(machine: Machine) -> None:
    code, said, calls = machine.run("setup.sh", PINS_LACK="1")
    assert code == 0
    assert "Warning: packages in .venv don't fit together. Delete .venv and run this again.\nchroma 1 needs" in said
    assert sum(" install " in call for call in calls) == 2


def test_setup_begins_anew_where_the_environment_is_broken(machine: Machine) -> None:
    machine.run("setup.sh")
    (machine.folder / "house" / ".venv" / "bin" / "python").unlink()
    _, said, calls = machine.run("setup.sh")
    assert "Creating .venv with Python 3.12.0" in said
    assert len(calls) == 5


def test_without_a_new_enough_python_setup_says_what_to_do(machine: Machine) -> None:
    code, said, calls = machine.run("setup.sh", TOO_OLD="1")
    assert code == 78
    assert "Python 3.11 or newer" in said
    assert "python3-venv" in said
    assert calls == []


def test_setup_finds_pyenvs_python_and_the_one_named(machine: Machine) -> None:
    (machine.bin / "python3").unlink()
    machine.place_python("python3", machine.folder / ".pyenv" / "versions" / "3.11.7" / "bin")
    assert machine.run("setup.sh")[0] == 0
    shutil.rmtree(machine.folder / "house" / ".venv")
    machine.place_python("snake", machine.folder / "far")
    _, _, calls = machine.run("setup.sh", PYTHON=str(machine.folder / "far" / "snake"))
    assert calls[1] == "snake -m venv .venv"


@pytest.mark.parametrize(
    ("script", "command"),
    [("start", "serve"), ("status", "status"), ("check_index", "check"), ("bench", "bench"), ("evaluate", "evaluate")],
)
def test_the_others_set_up_first_and_pass_their_arguments_on(script: str, command: str, machine: Machine) -> None:
    code, _, calls = machine.run(f"{script}.sh", "--root", "my notes", "--json")
    assert code == 0
    assert "python3 -m venv .venv" in calls
    assert calls[-1] == f"librarian {command} --root my notes --json"


def test_testing_everything_checks_style_and_types_and_arguments_go_to_pytest(machine: Machine) -> None:
    machine.run("setup.sh")
    _, _, calls = machine.run("test.sh")
    assert [call.split()[0] for call in calls] == ["python", "ruff", "ruff", "mypy", "lint-imports", "python"]
    assert "--cov-fail-under=85" in calls[-1]
    _, _, calls = machine.run("test.sh", "backend/tests/config", "-k", "mode")
    assert calls == ["python -m pytest backend/tests/config -k mode"]


@pytest.mark.skipif(
    not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < 5e9, reason="there is no folder in memory with 5 GB free"
)
@pytest.mark.parametrize("arguments", [(), ("backend/tests/config",)])
def test_what_tests_write_lies_in_memory_and_is_gone_afterwards(arguments: tuple[str, ...], machine: Machine) -> None:
    code, _, _ = machine.run("test.sh", *arguments, FAIL="5", PYTHONDONTWRITEBYTECODE="1")
    assert code == 5
    folder, no_compiled_files = (machine.folder / "calls.pytest").read_text().split()
    assert Path(folder).parent == MEMORY
    assert not Path(folder).exists()
    assert no_compiled_files == "unset"
    machine.run("test.sh", *arguments, TMPDIR=str(machine.folder))
    assert (machine.folder / "calls.pytest").read_text().split()[0] == str(machine.folder)
    assert machine.folder.exists()


@pytest.mark.parametrize("script", [*SCRIPTS, REPOSITORY / ".ci" / "run"], ids=lambda script: script.name)
def test_a_script_can_be_run_and_says_what_it_does(script: Path) -> None:
    assert os.access(script, os.X_OK)
    lines = script.read_text("utf-8").splitlines()
    assert lines[0] in ("#!/usr/bin/env bash", "#!/bin/sh")
    assert lines[1].startswith("# ")
    assert len(lines) < 80
    subprocess.run(["bash", "-n", str(script)], check=True)
