"""Hidden characters of files in names and in JSON's short escapes; fences are the property tests' beside this one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from librarian.api.mcp import McpServer
from librarian.library import Librarian
from tests.api.clients import connected, run

PAGES = "# Pages\n\nA form feed \f ends a page, and a backspace \b takes a letter back.\n"
NAMED = "ray/pages/bad\u202eger\u200bs.md"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpServer]:
    folder: Path = tmp_path_factory.mktemp("library")
    files = {"ray/pages/one.md": PAGES, NAMED: "A badger.\n"}
    for name, text in files.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    settings: dict[str, object] = {"embeddings.enabled": False, "logging.level": "ERROR"}
    with Librarian.open(root=folder / "docs", index=folder / "index", **settings) as library:
        yield McpServer(library, version="1.2.3")


def asked(door: McpServer, tool: str, **given: Any) -> tuple[str, Any]:
    """Text and fields of an answer."""
    answers: list[tuple[str, Any]] = []

    async def body() -> None:
        async with connected("memory", door) as client:
            result = await client.call_tool(tool, given)
            block = result.content[0]
            assert isinstance(block, types.TextContent)
            assert not result.is_error, block.text
            answers.append((block.text, result.structured_content))

    run(body())
    return answers[0]


def test_hidden_characters_are_replaced_in_names_of_resources(door: McpServer) -> None:
    names: list[str] = []

    async def body() -> None:
        async with connected("memory", door) as client:
            names.extend(item.name for item in (await client.list_resources()).resources if "ger" in item.name)

    run(body())
    assert names == ["ray/pages/bad\ufffdgers.md"]


@pytest.mark.parametrize(
    ("tool", "given"),
    [("search_documentation", {"query": "form feed and backspace"}), ("get_document", {"path": "ray/pages/one.md"})],
)
def test_what_json_has_short_escapes_for_is_hidden_too(door: McpServer, tool: str, given: dict[str, Any]) -> None:
    for shown in asked(door, tool, **given):
        plain = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
        assert "takes a letter back" in plain
        assert not any(hidden in plain for hidden in ("\f", "\b", "\\f", "\\b"))
