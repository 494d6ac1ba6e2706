"""The compose file for several servers: what can be said of it without a container runtime.

* It is one valid document whose services, volumes and configs all exist, and every variable that must be set says so.
* Its settings load, name both servers, and its commands are commands.
* The image that it builds takes the extras that it names.
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

from librarian.config.settings import Settings, knobs
from librarian.terminal.commands import app

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("server", "worker")


def given(text: str) -> str:
    """With a value for each variable that must be set."""
    return re.sub(r"\$\{\w+:\?[^}]*\}", "given", text)


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
    known = {knob.env for knob in knobs()} | {"CONFIG_FILE"}
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
