"""One question through every door gives one answer; one mistake, one sentence.

The real desk over a small library without embeddings: Python, MCP in memory, over HTTP and SSE in both protocol
eras and through a stdio bridge's pipes, REST by GET and POST, the command line. Written as JSON, answers are equal byte
for byte but for their times.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters, types

from librarian.api.mcp import McpServer
from librarian.api.model_text import structured
from librarian.cli import main
from librarian.cli.wording import in_own_words
from librarian.errors import CallerError
from librarian.library import Librarian
from librarian.schemas import TOOLSETS, ResponseModel
from librarian.web.app import build_app
from tests.api.clients import ERAS, WAYS, connected, run
from tests.api.keeping import stored
from tests.api.raw_host import RawHost, relay
from tests.api.serving import served

FILES = {
    "ray/core/tokens.md": "---\ntags: [auth]\n---\n# Tokens\n\nRotate a token with `ray token rotate`.\n\n## Expiry\n\n"
    "A token expires after 30 days.\n",
    "ray/core/install.md": "# Install\n\nInstall it with pip.\n",
    "prom/server/größe.txt": "Storage size\n\nThe storage grows by 3 GB a day.\n",
    "prom/mail/one.eml": "From: Ann <ann@example.org>\nTo: ben@example.org\nSubject: Storage on Friday\n"
    "Date: Sun, 01 Feb 2026 09:00:00 +0000\nMessage-ID: <m1@example.org>\nContent-Type: text/plain\n\n"
    "Shall we grow the storage on Friday?\n",
}
TIMES = {"took_ms", "ms", "uptime_s", "cache", "indexed_at"}


@dataclass(frozen=True)
class Place:
    library: Librarian
    door: McpServer
    url: str
    host: RawHost


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("library")
    for name, text in FILES.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    settings: dict[str, object] = {"embeddings.enabled": False, "logging.level": "ERROR"}
    with Librarian.open(root=folder / "docs", index=folder / "index", **settings) as library:
        door = McpServer(library, version="1.2.3")
        with served(build_app(library, mcp_server=door)) as url, stored(library.index, library):
            with RawHost(relay(library.root, library.index)) as host:
                host.initialize()
                yield Place(library, door, url, host)
            assert host.noise == []


def timeless(value: Any) -> Any:
    """The answer without what differs from call to call."""
    if isinstance(value, dict):
        return {name: timeless(item) for name, item in value.items() if name not in TIMES}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def written(answer: Any) -> bytes:
    return json.dumps(timeless(answer), ensure_ascii=False).encode()


def by_python(place: Place, tool: str, given: dict[str, Any]) -> Any:
    """The answer's fields, or the error's words."""
    try:
        response = place.library.call(tool, given)
        assert isinstance(response, ResponseModel)
        return response.as_fields()
    except CallerError as error:
        return str(error)


def unfenced(error: str) -> str:
    assert error.startswith("<error>\n"), error
    return error.removeprefix("<error>\n").removesuffix("\n</error>")


def by_mcp(way: str, era: str) -> Callable[[Place, str, dict[str, Any]], Any]:
    def call(place: Place, tool: str, given: dict[str, Any]) -> Any:
        answers: list[Any] = []

        async def body() -> None:
            async with connected(way, place.door, place.url, era=era) as client:
                result = await client.call_tool(tool, given)
                block = result.content[0]
                assert isinstance(block, types.TextContent)
                answers.append(unfenced(block.text) if result.is_error else result.structured_content)

        run(body())
        return answers[0]

    return call


PATHS = {
    "search_documentation": "/api/search",
    "search_emails": "/api/search?type=emails",
    "get_email_thread": "/api/thread",
    "get_document": "/api/document",
    "list_products": "/api/products",
    "list_components": "/api/components",
    "analyze_query": "/api/analyze",
}


def by_rest(method: str) -> Callable[[Place, str, dict[str, Any]], Any]:
    def call(place: Place, tool: str, given: dict[str, Any]) -> Any:
        url = httpx.URL(place.url + PATHS[tool])
        if method == "POST" and tool not in {"list_products", "list_components"}:
            answer = httpx.post(url, json=given)
        else:
            answer = httpx.get(url.copy_merge_params(given))
        body = answer.json()
        return body if answer.is_success else f"{body['error']['message']} {body['error']['hint']}".strip()

    return call


def by_relay(place: Place, tool: str, given: dict[str, Any]) -> Any:
    result = place.host.call(tool, **given)["result"]
    return unfenced(result["content"][0]["text"]) if result.get("isError") else result["structuredContent"]


COMMANDS = {
    "search_documentation": ["search"],
    "search_emails": ["search", "--emails"],
    "get_email_thread": ["thread"],
    "get_document": ["show"],
    "list_products": ["products"],
    "list_components": ["products"],
    "analyze_query": ["analyze"],
}
OPTIONS = {
    "file_types": "--file-type",
    "tags": "--tag",
    "include_parent_context": "--context",
    "modified_after": "--after",
    "subject_contains": "--subject",
}
POSITIONAL = {"query": 0, "thread_id": 0, "path": 0, "product": 0}


def by_command(place: Place, tool: str, given: dict[str, Any]) -> Any:
    """By `librarian … --json`, which asks the daemon of the index."""
    words = list(COMMANDS[tool])
    first = {"list_components": "product", "get_document": "path"}.get(tool, "query" if "query" in given else "")
    first = first or next(iter(given), "")
    for name, value in given.items():
        option = OPTIONS.get(name, "--" + name.replace("_", "-"))
        for item in value if isinstance(value, list) else [value]:
            if name == first and name in POSITIONAL:
                words.append(item)
            else:
                words += [option] if item is True else [option, str(item)]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        main.run([*words, "--json", "--root", str(place.library.root), "--index", str(place.library.index)])
    answer = json.loads(printed.getvalue())
    if error := answer.get("error"):
        return f"{error['message']} {error['hint']}".strip()
    return answer


DOORS = {
    **{f"mcp-{way}-{era}": by_mcp(way, era) for way in WAYS if way != "lines" for era in ERAS},
    "mcp-relay": by_relay,
    "rest-get": by_rest("GET"),
    "rest-post": by_rest("POST"),
    "command": by_command,
}
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("search_documentation", {"query": "rotate a token", "max_results": 5}),
    (
        "search_documentation",
        {"query": "storage", "product": "prom", "mode": "keyword", "include_parent_context": True},
    ),
    ("search_documentation", {"query": "token", "file_types": ["md"], "tags": ["auth"], "max_tokens": 100}),
    ("search_documentation", {"query": "zzyzx"}),
    ("search_emails", {"query": "storage"}),
    ("search_emails", {"sender": "ann"}),
    ("get_document", {"path": "ray/core/tokens.md", "section": "expiry"}),
    ("get_document", {"path": "librarian://docs/prom/server/gr%C3%B6%C3%9Fe.txt"}),
    ("search_documentation", {"query": "token", "max_results": 80}),
    ("get_document", {"path": "ray/core/tokens.md:6-8"}),
    ("get_document", {"path": "ray/core/tokens.md", "query": "when does a token expire", "max_tokens": 500}),
    ("list_products", {}),
    ("list_components", {"product": "ray"}),
    ("analyze_query", {"query": "how do I rotate a token?", "path": "ray/core/install.md"}),
    ("search_documentation", {"query": "How do I rotate a Databricks token?", "product": "ray"}),
]
MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("search_documentation", {"query": "a", "mode": "best"}, "best"),
    ("search_documentation", {"query": " "}, "query is empty"),
    ("search_documentation", {"query": "a" * 3000}, "3000"),
    ("search_documentation", {"query": "a", "max_results": 0}, "max_results"),
    ("search_documentation", {"query": "a", "limit": "5"}, "Did you mean 'max_results'?"),
    ("search_documentation", {"query": "a", "product": "rey"}, "Did you mean 'ray'?"),
    ("search_documentation", {"query": "a", "modified_after": "yesterday"}, "yesterday"),
    ("search_documentation", {"query": "a", "semantic_weight": 2}, "semantic_weight"),
    ("search_emails", {}, "query"),
    ("get_document", {"path": "../secret.md"}, "../secret.md"),
    ("get_document", {"path": "/etc/passwd"}, "/etc/passwd"),
    ("get_document", {"path": "ray/core/token.md"}, "ray/core/tokens.md"),
    ("get_document", {"path": "ray/core/tokens.md", "section": "Renewal"}, "Renewal"),
    ("get_document", {"path": "ray/core/tokens.md", "query": "expiry", "section": "Expiry"}, "query and section"),
    ("get_email_thread", {"thread_id": "nope"}, "nope"),
    ("list_components", {"product": "rey"}, "Did you mean 'ray'?"),
    ("list_components", {}, "product"),
]
UNSAYABLE = {("search_documentation", ("query", "limit")), ("list_components", ())}
"""What the command line has no words for: an option that it doesn't have, and `products` without a product."""


def test_what_no_document_mentions_is_said_first(place: Place) -> None:
    given = {"query": "How do I rotate a Databricks token?"}
    said = "No document mentions “Databricks”."
    assert place.host.call("search_documentation", **given)["result"]["content"][0]["text"].startswith(said)
    fields = httpx.get(f"{place.url}/api/search", params=given).json()
    assert (fields["not_mentioned"], fields["answerable"]) == (["Databricks"], "unlikely")
    assert all(result["relevance_score"] < 0.2 for result in fields["results"])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        main.run(["search", given["query"], "--root", str(place.library.root), "--index", str(place.library.index)])
    assert printed.getvalue().lstrip().startswith(said)
    analysis = by_python(place, "analyze_query", given | {"path": "ray/core/install.md"})
    assert analysis["why_not"]["explanation"].startswith(said)


def for_models(place: Place, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """The answer as a tool gives it in fields."""
    response = place.library.call(tool, given)
    assert isinstance(response, ResponseModel)
    return structured(response)


@pytest.mark.parametrize("door", DOORS)
def test_every_question_has_one_answer(place: Place, door: str) -> None:
    for tool, given in QUESTIONS:
        expected = by_python(place, tool, given)
        assert isinstance(expected, dict), (tool, given, expected)
        expected = for_models(place, tool, given) if door.startswith("mcp") else expected
        assert written(DOORS[door](place, tool, given)) == written(expected), (tool, given)


@pytest.mark.parametrize("door", DOORS)
def test_every_mistake_has_one_sentence(place: Place, door: str) -> None:
    for tool, given, words in MISTAKES:
        if door == "command" and (tool, tuple(given)) in UNSAYABLE:
            continue
        expected = by_python(place, tool, given)
        assert isinstance(expected, str), (tool, given)
        assert words in expected
        if door.startswith("rest") and tool == "search_documentation":  # one path for documents and mails, by `type`
            expected = expected.replace("It takes query,", "It takes type, query,")
        if door == "command":
            expected = in_own_words(expected)
        assert DOORS[door](place, tool, given) == expected, (tool, given)


def test_the_questions_are_answered_and_not_with_nothing(place: Place) -> None:
    """Guards the two tests above against agreeing on emptiness."""
    found = by_python(place, *QUESTIONS[0])
    assert found["results"][0]["file_path"] == "ray/core/tokens.md"
    assert by_python(place, *QUESTIONS[4])["results"][0]["subject"] == "Storage on Friday"
    nothing = by_python(place, *QUESTIONS[3])
    assert nothing["results"] == []
    assert nothing["suggestions"]


def test_resources_instructions_and_completions_come_from_the_library(place: Place) -> None:
    async def body() -> None:
        async with connected("http", place.door, place.url) as client:
            assert client.instructions is not None
            assert "ray" in client.instructions
            assert len(client.instructions) < 2048
            listed = (await client.list_resources()).resources
            assert {item.name for item in listed} == set(FILES)
            for item in listed:
                contents = (await client.read_resource(str(item.uri))).contents[0]
                assert isinstance(contents, types.TextResourceContents)
                assert contents.text
            path = types.ResourceTemplateReference(uri="librarian://docs/{+path}")
            found = await client.complete(path, {"name": "path", "value": "ray/core/t"})
            assert found.completion.values == ["ray/core/tokens.md"]
            section = await client.complete(path, {"name": "path", "value": "ray/core/tokens.md#e"})
            assert section.completion.values[0] == "ray/core/tokens.md#expiry"
            read = (await client.read_resource(f"librarian://docs/{section.completion.values[0]}")).contents[0]
            assert isinstance(read, types.TextResourceContents)
            assert "30 days" in read.text
            assert "ray token rotate" not in read.text

    run(body())


def test_prompts_are_completed_and_filled_from_the_library(place: Place) -> None:
    async def body() -> None:
        async with connected("http", place.door, place.url) as client:

            async def completed(prompt: str, argument: str, value: str) -> list[str]:
                reference = types.PromptReference(name=prompt)
                return (await client.complete(reference, {"name": argument, "value": value})).completion.values

            async def filled(prompt: str, **given: str) -> str:
                content = (await client.get_prompt(prompt, given)).messages[0].content
                assert isinstance(content, types.TextContent)
                return content.text

            assert await completed("answer_from_docs", "product", "ra") == ["ray"]
            assert await completed("compare_versions", "second", "pr") == ["prom"]
            assert await completed("summarize_thread", "thread", "stor") == ["Storage on Friday"]
            answer = await filled("answer_from_docs", question="how do I rotate a token?", product="ray")
            assert "ray/core/tokens.md" in answer
            assert "Cite the file and lines" in answer
            compared = await filled("compare_versions", topic="storage", first="ray", second="prom")
            assert 'Product "prom":\nResults 1–' in compared
            thread = await filled("summarize_thread", thread="Storage on Friday")
            assert "Shall we grow the storage on Friday?" in thread

    run(body())


def test_a_refresh_tells_whoever_listens(place: Place) -> None:
    async def body() -> None:
        async with (
            connected("http", place.door, place.url) as client,
            client.listen(resources_list_changed=True) as events,
        ):
            new = place.library.root / "ray" / "core" / "new.md"
            new.write_text("# New\n\nSomething new.\n", encoding="utf-8")
            await asyncio.to_thread(place.library.refresh)
            assert "Changed" in type(await anext(events)).__name__
            new.unlink()
            await asyncio.to_thread(place.library.refresh)

    run(body(), 60)


@pytest.mark.parametrize("era", ERAS)
def test_the_python_client_asks_through_a_relay(place: Place, era: str) -> None:
    command, *arguments = relay(place.library.root, place.library.index)

    async def body() -> None:
        program = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        async with Client(program, mode=era) as client:
            assert client.instructions == place.library.instructions()
            assert [tool.name for tool in (await client.list_tools()).tools] == [
                tool.name for tool in TOOLSETS["default"]
            ]
            tool, given = QUESTIONS[0]
            answer = await client.call_tool(tool, given)
            assert written(answer.structured_content) == written(for_models(place, tool, given))

    run(body())
