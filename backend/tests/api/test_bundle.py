"""What `scripts/bundle.sh` builds: what is proved here.

* The bundle's manifest names the tools and prompts that there are, and what it starts serves them.
* Where Librarian isn't installed, the bundle says where it looked.
* `server.json` is what the registry takes; each of its rules is held to by a counter-example.
* The same source gives the same bytes.
"""

from __future__ import annotations

import json
import sys
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from librarian.schemas import TOOLSETS
from tests.api.fake_library import FakeLibrary
from tests.api.keeping import stored
from tests.api.raw_host import BACKEND, RawHost

SCRIPT = BACKEND.parent / "scripts" / "bundle.py"


def load() -> Any:
    spec = spec_from_file_location("bundle", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bundle: Any = load()


def unpacked(folder: Path, program: Path) -> tuple[Path, dict[str, Any]]:
    [packed] = bundle.build(folder / "dist", program)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder / "extension")
    return folder / "extension", json.loads((folder / "extension" / "manifest.json").read_text("utf-8"))


def command(extension: Path, manifest: dict[str, Any], **config: Path) -> list[str]:
    """What a host starts, its placeholders filled in."""
    started = manifest["server"]["mcp_config"]
    words = [started["command"], *started["args"]]
    for name, value in {
        "${__dirname}": extension,
        **{f"${{user_config.{key}}}": config[key] for key in config},
    }.items():
        words = [word.replace(name, str(value)) for word in words]
    return words


def test_the_bundle_starts_what_it_promises(tmp_path: Path) -> None:
    program = tmp_path / "my programs" / "librarian"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nshift\nexec "{sys.executable}" "{BACKEND / "stdio_server.py"}" "$@"\n')
    program.chmod(0o755)
    extension, manifest = unpacked(tmp_path, program)
    assert set(manifest["user_config"]) == {"documents", "index", "program"}
    assert manifest["user_config"]["program"]["default"] == str(program)
    assert (extension / manifest["server"]["entry_point"]).is_file()
    index = tmp_path / "my index"
    index.mkdir()
    started = command(extension, manifest, program=program, documents=tmp_path, index=index)
    with stored(index, FakeLibrary()), RawHost(started) as host:
        assert host.initialize()["result"]["serverInfo"]["name"] == "librarian"
        tools = [tool["name"] for tool in host.ask("tools/list")["result"]["tools"]]
        assert tools == [tool["name"] for tool in manifest["tools"]] == [tool.name for tool in TOOLSETS["default"]]
        prompts = [prompt["name"] for prompt in host.ask("prompts/list")["result"]["prompts"]]
        assert prompts == [prompt["name"] for prompt in manifest["prompts"]]
    assert host.noise == []


def test_a_bundle_without_its_program_says_where_it_looked(tmp_path: Path) -> None:
    extension, manifest = unpacked(tmp_path, tmp_path / "gone")
    with RawHost(command(extension, manifest, program=tmp_path / "gone", documents=tmp_path, index=tmp_path)) as host:
        assert host.process.wait(20) == 78
    assert f"Librarian isn't at {tmp_path / 'gone'}" in host.stderr


def test_the_same_source_gives_the_same_bytes(tmp_path: Path) -> None:
    entry = bundle.registry_entry("io.github.a/b", "b", "")
    builds = [bundle.build(tmp_path / name, Path("/opt/librarian"), entry) for name in "ab"]
    assert [path.read_bytes() for path in builds[0]] == [path.read_bytes() for path in builds[1]]


def test_without_a_publishers_name_there_is_no_entry_for_the_registry(tmp_path: Path) -> None:
    assert [path.name for path in bundle.build(tmp_path, Path("/opt/librarian"))] == ["librarian.mcpb"]
    assert not (tmp_path / "server.json").exists()


def test_the_registry_takes_the_entry() -> None:
    entry = bundle.registry_entry(
        "io.github.someone/librarian", "someones-librarian", "https://github.com/someone/librarian"
    )
    assert bundle.mistakes(entry) == []
    assert "remotes" not in entry, "a server on this machine isn't public"
    assert entry["version"] == bundle.project()["version"] == entry["packages"][0]["version"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"$schema": "x"}, "$schema"),
        ({"name": "librarian"}, "reversed domain"),
        ({"description": "x" * 101}, "100 characters"),
        ({"version": "^1.0"}, "single version"),
        ({"licence": "MIT"}, "unknown fields: licence"),
        ({"packages": [{"registryType": "apt", "identifier": "x", "transport": {"type": "stdio"}}]}, "'apt'"),
        ({"packages": [{"registryType": "mcpb", "identifier": "x", "transport": {"type": "stdio"}}]}, "fileSha256"),
        ({"packages": [{"registryType": "pypi", "transport": {"type": "stdio"}}]}, "identifier"),
        ({"packages": [{"registryType": "pypi", "identifier": "x", "transport": {"type": "ws"}}]}, "transport"),
        ({"remotes": [{"type": "sse", "url": "http://127.0.0.1"}]}, "public"),
    ],
)
def test_what_the_registry_would_refuse_is_named(changes: dict[str, Any], words: str) -> None:
    entry = {**bundle.registry_entry("io.github.a/b", "b", ""), **changes}
    assert any(words in mistake for mistake in bundle.mistakes(entry))
