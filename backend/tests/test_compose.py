"""The compose file for several servers: what can be said of it without a container runtime.

* It is one valid document whose services, volumes and configs all exist, and every variable that must be set says so.
* Its settings load, name both servers, and its commands are commands.
* The image that it builds takes the extras that it names.

And of what is installed, there and by the scripts: every package has its hashes, every image its digest.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from librarian.cli.search import app
from librarian.settings import SETTINGS, Settings

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("server",)


def given(text: str) -> str:
    """With a value for each variable that must be set, and the default of those that may be."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", re.sub(r"\$\{\w+:\?[^}]*\}", "given", text))


def test_what_is_named_is_there() -> None:
    for service in SERVICES.values():
        assert set(service.get("depends_on", {})) <= set(SERVICES)
        assert {each["source"] for each in service.get("configs", [])} <= set(COMPOSE["configs"])
        named = {each.split(":")[0] for each in service.get("volumes", []) if re.match(r"\w+:", each)}
        assert named <= set(COMPOSE["volumes"])
        for needed, how in service.get("depends_on", {}).items():
            assert how["condition"] != "service_healthy" or "test" in SERVICES[needed]["healthcheck"]
    assert "${" not in given(TEXT)


@pytest.mark.parametrize("name", OURS)
def test_its_settings_load_and_its_commands_are_commands(name: str, tmp_path: Path) -> None:
    service = SERVICES[name]
    known = {each.env for each in SETTINGS.values()} | {"CONFIG_FILE"}
    environ = {key: given(value) for key, value in service["environment"].items()}
    assert set(environ) <= known
    config = tmp_path / "librarian.json"
    config.write_text(json.dumps(json.loads(COMPOSE["configs"]["librarian"]["content"])))
    settings = Settings.load(config, environ=environ)
    assert settings.storage.database_url
    assert settings.storage.qdrant_url
    assert (settings.storage.catalog, settings.vector_db.store) == ("postgres", "qdrant")
    program, command, *options = shlex.split(service["command"])
    commands = typer.main.get_group(app).commands
    assert program == "librarian"
    assert set(options) <= {name for each in commands[command].params for name in each.opts}


@pytest.mark.parametrize("name", OURS)
def test_its_image_takes_the_extras_that_it_names(name: str) -> None:
    build = SERVICES[name]["build"]
    dockerfile = (ROOT / build["dockerfile"]).read_text()
    assert all(f"ARG {argument}=" in dockerfile for argument in build["args"])
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(build["args"]["EXTRAS"].split(",")) <= set(extras)


@pytest.mark.parametrize("file", sorted(ROOT.glob("requirements*.txt")), ids=lambda file: file.name)
def test_every_locked_package_has_a_version_and_hashes_and_no_address(file: Path) -> None:
    text = file.read_text()
    packages = re.findall(r"^[^\s#].*(?:\n    --hash=.*)*", text, re.MULTILINE)
    assert packages
    for package in packages:
        head, *hashes = [line.rstrip(" \\") for line in package.split("\n")]
        assert re.match(r"[a-z0-9-]+==\S+( ; |$)", head), head
        assert hashes, f"{head} has no hash: run scripts/pin.sh"
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", line) for line in hashes), head
    assert "://" not in text


INSTALLERS = [*ROOT.glob("scripts/*.sh"), *ROOT.glob("deploy/*"), ROOT / ".ci" / "run"]


@pytest.mark.parametrize("file", sorted(INSTALLERS), ids=lambda file: file.name)
def test_nothing_is_installed_without_its_hash(file: Path) -> None:
    commands = re.sub(r"\\\n\s*", " ", file.read_text())
    for line in re.findall(r"^(?! *#).*\bpip\b.* (?:install|download|wheel) .*$", commands, re.MULTILINE):
        for command in re.split(r"&&|;", line):
            if re.search(r"\bpip\b.* (install|download|wheel) ", command):
                assert "--require-hashes" in command or "--no-index" in command, command.strip()
    assert not re.search(r"\bnpm (install|i|add)\b|\bnpx\b", re.sub(r"(?m)^ *#.*$", "", commands))


def test_every_extra_of_the_image_is_locked() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {extra for extra in extras if not (ROOT / f"requirements-{extra}.txt").is_file()} == set()
    assert "!requirements*.txt" in (ROOT / ".dockerignore").read_text().splitlines()


def test_every_image_has_a_digest() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    [base] = re.findall(r"^ARG PYTHON_IMAGE=(.*)$", dockerfile, re.MULTILINE)
    assert {line.split()[1] for line in dockerfile.splitlines() if line.startswith("FROM ")} == {"${PYTHON_IMAGE}"}
    images = [base, *(each["image"] for name, each in SERVICES.items() if name not in OURS)]
    assert all(re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image) for image in images), images


def test_every_npm_package_has_its_hash_and_no_address() -> None:
    lock = json.loads((ROOT / "scripts" / "node_tools" / "package-lock.json").read_text())
    packages = {name: each for name, each in lock["packages"].items() if name}
    assert len(packages) > 100
    assert {name for name, each in packages.items() if not each.get("integrity", "").startswith("sha512-")} == set()
    assert {name for name, each in packages.items() if "resolved" in each} == set()
