"""One body of tests over every transport and both protocol eras:

* all nine tools are listed in their order and each gives two complete halves, fields that fit the schema and text;
* mistakes are results that the model reads, with the argument, the value and what would be right;
* resources, completions and prompts work, and what isn't there is error -32602;
* a cancelled call stops working; progress comes for whoever asked;
* whoever watches is told of changes.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import http.client
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import anyio
import httpx
import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from librarian.api.library_handle import Calls
from librarian.api.mcp import McpServer, cursor_after
from librarian.web.app import build_app
from tests.api.clients import ERAS, WAYS, connected, line_pair, run
from tests.api.fake_library import DOCUMENTS, FakeLibrary
from tests.api.serving import served

CONFIG = "librarian://docs/ray/core/config.md"


@pytest.fixture(params=[(way, era) for way in WAYS for era in ERAS], ids=lambda pair: "-".join(pair))
def place(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param  # type: ignore[no-any-return]


@contextlib.asynccontextmanager
async def asking(place: tuple[str, str], desk: FakeLibrary, **options: object) -> AsyncIterator[Client]:
    way, era = place
    door = McpServer(desk, version="1.2.3", heartbeat_s=0.02)
    with contextlib.ExitStack() as stack:
        if way in {"http", "sse"}:
            url = await asyncio.to_thread(stack.enter_context, served(build_app(desk, mcp_server=door)))
            async with connected(way, door, url, era=era, **options) as client:
                yield client
            await asyncio.to_thread(stack.close)
        else:
            async with door.run(), connected(way, door, era=era, **options) as client:
                yield client


ARGUMENTS: dict[str, dict[str, object]] = {
    "search_documentation": {"query": "tokens", "max_results": "2"},
    "search_emails": {"sender": "ann"},
    "get_email_thread": {"thread_id": "t1"},
    "get_document": {"path": "ray/core/config.md", "section": "Tokens"},
    "list_products": {},
    "list_components": {"product": "ray"},
    "get_index_status": {},
    "analyze_query": {"query": "tokens", "path": "ray/core/install.md"},
    "clear_search_cache": {},
}


def text_of(result: types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


def test_every_tool_answers_in_both_halves(place: tuple[str, str]) -> None:
    async def body() -> None:
        async with asking(place, FakeLibrary()) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == list(ARGUMENTS)
            for tool in tools:
                assert tool.annotations is not None
                assert tool.annotations.read_only_hint is (tool.name != "clear_search_cache")
                result = await client.call_tool(tool.name, ARGUMENTS[tool.name])  # validates against the schema
                assert not result.is_error, text_of(result)
                assert result.structured_content
                assert text_of(result)

    run(body())


def test_hits_are_named_and_mistakes_are_explained(place: tuple[str, str]) -> None:
    async def body() -> None:
        async with asking(place, FakeLibrary()) as client:
            found = await client.call_tool("search_documentation", {"query": "tokens", "search_mode": "keyword"})
            assert CONFIG.removeprefix("librarian://docs/") in text_of(found)
            for arguments, words in (
                ({"query": "a", "querry": "b"}, ["'querry'", "'b'", "Did you mean 'query'?"]),
                ({"query": ["a", "b"]}, ["query must be a string", "['a', 'b']"]),
                ({}, ["query"]),
                ({"query": " "}, ["query is empty", "at least one word"]),
                ({"query": "a", "product": "rey"}, ["'rey'", "Did you mean 'ray'?"]),
                ({"query": "bug"}, ["internal error"]),
            ):
                wrong = await client.call_tool("search_documentation", arguments)
                assert wrong.is_error
                assert all(word in text_of(wrong) for word in words), text_of(wrong)
            with pytest.raises(MCPError, match="search_documentation") as error:
                await client.call_tool("search_docs", {"query": "a"})
            assert error.value.code == types.INVALID_PARAMS
            assert "search_documentation, search_emails, " in str(error.value), "the nearest by letters is another one"

    run(body())


def test_resources_are_paged_read_and_not_found(place: tuple[str, str]) -> None:
    async def body() -> None:
        async with asking(place, FakeLibrary()) as client:
            first = await client.list_resources()
            second = await client.list_resources(cursor=first.next_cursor)
            assert second.next_cursor is None
            page = await client.list_resources(cursor=cursor_after("ray/core/gone.md"))
            assert [item.name for item in page.resources] == [
                path for path in sorted(DOCUMENTS) if path > "ray/core/gone.md"
            ][:2]
            for listing in (
                client.list_resources,
                client.list_tools,
                client.list_prompts,
                client.list_resource_templates,
            ):
                for cursor in ("garbage", "ray/core/config.md", "gkåg", first.next_cursor[:-1]):
                    with pytest.raises(MCPError, match="No cursor") as error:
                        await listing(cursor=cursor)
                    assert error.value.code == types.INVALID_PARAMS
            listed = [*first.resources, *second.resources]
            assert [item.name for item in listed] == sorted(DOCUMENTS)
            for item in listed:
                contents = (await client.read_resource(str(item.uri))).contents[0]
                assert isinstance(contents, types.TextResourceContents)
                assert contents.text == DOCUMENTS[item.name]
            templates = (await client.list_resource_templates()).resource_templates
            assert [item.uri_template for item in templates] == ["librarian://docs/{+path}"]
            for uri in ("librarian://docs/nope.md", "file:///etc/passwd", "librarian://other/x"):
                with pytest.raises(MCPError) as error:
                    await client.read_resource(uri)
                assert error.value.code == types.INVALID_PARAMS
                assert error.value.data == {"uri": uri}

    run(body())


def test_prompts_bring_their_passages_and_names_are_completed(place: tuple[str, str]) -> None:
    async def body() -> None:
        async with asking(place, FakeLibrary()) as client:
            prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
            assert prompts == {"answer_from_docs", "compare_versions", "summarize_thread"}
            for name, given, words in (
                ("answer_from_docs", {"question": "tokens?", "product": "ray"}, "ray token rotate"),
                ("compare_versions", {"topic": "tokens", "first": "ray", "second": "prom"}, 'Product "prom":'),
                (
                    "compare_versions",
                    {"topic": "nothing", "first": "ray", "second": "prom"},
                    'Product "prom":\nNothing found',
                ),
                ("summarize_thread", {"thread": "t1"}, "Shall we release on Friday?"),
                ("summarize_thread", {"thread": "Release"}, "Shall we release on Friday?"),
            ):
                message = (await client.get_prompt(name, given)).messages[0]
                assert isinstance(message.content, types.TextContent)
                assert words in message.content.text
            for name, given in (("nope", {}), ("answer_from_docs", {}), ("summarize_thread", {"thread": "x"})):
                with pytest.raises(MCPError) as error:
                    await client.get_prompt(name, given)
                assert error.value.code == types.INVALID_PARAMS
            path = types.ResourceTemplateReference(uri="librarian://docs/{+path}")
            found = await client.complete(path, {"name": "path", "value": "ray"})
            assert found.completion.values == ["ray/core/config.md", "ray/core/install.md"]
            product = types.PromptReference(name="answer_from_docs")
            assert (await client.complete(product, {"name": "product", "value": "p"})).completion.values == ["prom"]
            many = (await client.complete(product, {"name": "product", "value": "many"})).completion
            assert (len(many.values), many.total, many.has_more) == (100, 150, True)
            none = (await client.complete(product, {"name": "question", "value": "x"})).completion
            assert none.values == []
            for wrong in (types.PromptReference(name="nope"), types.ResourceTemplateReference(uri="doc://{x}")):
                with pytest.raises(MCPError):
                    await client.complete(wrong, {"name": "product", "value": ""})

    run(body())


def test_whoever_asked_sees_progress_and_a_call_given_up_is_cancelled(place: tuple[str, str]) -> None:
    async def body() -> None:
        desk = FakeLibrary()
        seen = asyncio.Event()

        async def progress(done: float, total: float | None, message: str | None) -> None:
            assert message
            assert "Search the documentation" in message
            seen.set()

        async with asking(place, desk) as client:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:

                    async def block() -> None:
                        await client.call_tool("search_documentation", {"query": "block"}, progress_callback=progress)

                    tasks.start_soon(block)
                    await seen.wait()
                    assert await asyncio.to_thread(desk.blocking.wait, 10)  # what never began can't be cancelled
                    scope.cancel()
            if place == ("http", "legacy"):
                desk.release.set()  # without a session a notice of cancellation can't be told whose it is
            else:
                assert await asyncio.to_thread(desk.cancelled.wait, 10)
            assert not (await client.call_tool("list_products", {})).is_error

    run(body())


def test_instructions_come_with_the_connection(place: tuple[str, str]) -> None:
    async def body() -> None:
        async with asking(place, FakeLibrary()) as client:
            assert client.instructions == "Ask about ray and prom. Indexed 2026-01-01T00:00:00Z."
            assert client.server_info.name == "librarian"

    run(body())


def test_who_calls_is_known_by_name(place: tuple[str, str]) -> None:
    async def body() -> None:
        callers: list[str] = []
        way, era = place
        door = McpServer(FakeLibrary(), on_call=lambda name, version: callers.append(f"{name} {version}"))
        info = types.Implementation(name="some-host", version="2.0")
        with contextlib.ExitStack() as stack:
            url = await asyncio.to_thread(stack.enter_context, served(build_app(FakeLibrary(), mcp_server=door)))
            async with connected(way, door, url, era=era, client_info=info) as client:
                await client.list_tools()
                assert callers == []
                await client.call_tool("list_products", {})
            await asyncio.to_thread(stack.close)
        if place == ("http", "legacy"):
            assert len(callers) == 1  # without a session the handshake is forgotten; the user agent is all there is
            assert "http" in callers[0]
        else:
            assert callers == ["some-host 2.0"]

    run(body())


@pytest.mark.parametrize("way", WAYS)
def test_a_listener_hears_of_changed_resources(way: str) -> None:
    async def body() -> None:
        desk = FakeLibrary()
        async with (
            asking((way, "auto"), desk) as client,
            client.listen(resources_list_changed=True, resource_subscriptions=[CONFIG]) as events,
        ):
            desk.refreshed("2026-03-03T00:00:00Z")
            heard = [await anext(events), await anext(events)]
            assert {type(event) for event in heard} == {ResourcesListChanged, ResourceUpdated}

    run(body())


@pytest.mark.parametrize("way", ["lines", "sse"])
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_a_client_with_handshake_hears_of_changed_resources(way: str) -> None:
    async def body() -> None:
        desk = FakeLibrary()
        heard: asyncio.Queue[object] = asyncio.Queue()

        async def hear(message: object) -> None:
            await heard.put(message)

        async with asking((way, "legacy"), desk, message_handler=hear) as client:
            assert client.server_capabilities.resources is not None
            assert client.server_capabilities.resources.list_changed
            await client.subscribe_resource(CONFIG)
            desk.refreshed("2026-03-03T00:00:00Z")
            kinds = {type(await heard.get()), type(await heard.get())}
            assert kinds == {types.ResourceListChangedNotification, types.ResourceUpdatedNotification}
            await client.unsubscribe_resource(CONFIG)
            desk.refreshed("2026-04-04T00:00:00Z")
            assert isinstance(await heard.get(), types.ResourceListChangedNotification)
            assert (await client.list_tools()).tools
            assert heard.empty()

    run(body())


@pytest.mark.parametrize("way", ["lines", "http", "sse"])
@pytest.mark.parametrize("era", ERAS)
def test_only_who_can_be_told_is_offered_to_subscribe(way: str, era: str) -> None:
    async def body() -> None:
        async with asking((way, era), FakeLibrary()) as client:
            offered = client.server_capabilities.resources
            assert offered is not None
            assert (offered.subscribe, offered.list_changed) == ((way, era) != ("http", "legacy"),) * 2

    run(body())


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_whoever_watches_is_counted_once_and_told_however_busy_the_library_is() -> None:
    async def body() -> None:
        desk, release = FakeLibrary(), threading.Event()
        heard: asyncio.Queue[object] = asyncio.Queue()
        calls = Calls(threads=1, queue=0)
        door = McpServer(desk, calls=calls)
        async with door.run(), connected("lines", door, era="legacy", message_handler=heard.put) as client:
            await client.subscribe_resource(CONFIG)
            await client.subscribe_resource(CONFIG)
            busy = asyncio.create_task(calls.run(lambda: release.wait(20)))
            while not calls.pending:
                await asyncio.sleep(0)
            desk.refreshed("2026-03-03T00:00:00Z")
            kinds = {type(await heard.get()), type(await heard.get())}
            assert kinds == {types.ResourceListChangedNotification, types.ResourceUpdatedNotification}
            release.set()
            await busy
            await client.unsubscribe_resource(CONFIG)
            assert not any(door.watched)
        calls.close()

    run(body())


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_who_watches_nothing_hears_of_no_single_document() -> None:
    async def body() -> None:
        desk = FakeLibrary()
        told: dict[str, asyncio.Queue[object]] = {"first": asyncio.Queue(), "second": asyncio.Queue()}
        door = McpServer(desk)
        async with (
            door.run(),
            connected("lines", door, era="legacy", message_handler=told["first"].put) as watching,
            connected("lines", door, era="legacy", message_handler=told["second"].put) as other,
        ):
            await watching.subscribe_resource(CONFIG)
            desk.refreshed("2026-03-03T00:00:00Z")
            kinds = [type(await told["first"].get()) for _ in range(2)]
            assert types.ResourceUpdatedNotification in kinds
            assert isinstance(await told["second"].get(), types.ResourceListChangedNotification)
            await other.list_tools()  # all that was sent before its answer has come
            assert told["second"].empty()

    run(body())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(build_app(FakeLibrary(), mcp_server=McpServer(FakeLibrary(), most_streams=1))) as url:
        yield url


def test_a_get_of_the_endpoint_is_pointed_to_the_older_transport(url: str) -> None:
    for method in ("GET", "DELETE", "PUT"):
        answer = httpx.request(method, f"{url}/mcp", headers={"accept": "text/event-stream"})
        assert answer.status_code == 405
        assert answer.headers["allow"] == "POST"
        assert "/sse" in answer.json()["error"]["hint"]


HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
ASKED = {"name": "search_documentation", "arguments": {"query": "tokens \ud83d"}}
HALF = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": ASKED}).encode()


def test_half_an_emoji_does_not_keep_a_call_from_its_answer(url: str) -> None:
    assert b"\\ud83d" in HALF
    answer = httpx.post(f"{url}/mcp", headers=HEADERS, content=HALF)
    assert answer.status_code == 200
    assert '"id":7,"result"' in answer.text

    async def body() -> None:
        door = McpServer(FakeLibrary())
        async with door.run(), line_pair(door) as (reader, writer):
            writer.write(b'{"jsonrpc":"2.0","id":"\\ud83d \\ud83d\\ude00","method":"ping"}\n')
            assert json.loads(await reader.readline()) == {"jsonrpc": "2.0", "id": "\ufffd 😀", "result": {}}

    run(body())


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_arguments_come_as_text_or_as_an_empty_list_too(url: str, revision: str) -> None:
    for nothing in ([], "", "[]", "{}", "null", None):
        answer = asked_in(url, revision, {"name": "list_products", "arguments": nothing})
        assert answer["result"]["structuredContent"]["total"] == 2
    answer = asked_in(url, revision, {"name": "list_components", "arguments": '{"product": "ray"}'})
    assert answer["result"]["structuredContent"]["product"] == "ray"
    for wrong in ("ray", ["ray"], 7, True):
        answer = asked_in(url, revision, {"name": "list_components", "arguments": wrong})
        text = answer["result"]["content"][0]["text"]
        assert f"list_components has no argument 'arguments' (given: {wrong!r}). It takes product" in text


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_a_request_that_is_refused_is_told_what_is_wrong_in_it(url: str, revision: str) -> None:
    error = asked_in(url, revision, {"arguments": {}})["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid request parameters: name: Field required.")
    none = httpx.post(f"{url}/mcp", headers=HEADERS, json={"jsonrpc": "2.0", "id": 7, "method": "tools/call"})
    assert "Invalid request parameters: params: Field required." in none.text


def asked_in(url: str, revision: str, params: dict[str, Any]) -> dict[str, Any]:
    """The answer to a call of a tool, with what a protocol revision wants around it."""
    headers = {**HEADERS, "accept": "application/json", "mcp-protocol-version": revision}
    if revision == "2026-07-28":
        key, about = "io.modelcontextprotocol/", {"name": "script", "version": "1"}
        meta = {f"{key}protocolVersion": revision, f"{key}clientInfo": about, f"{key}clientCapabilities": {}}
        params = {**params, "_meta": meta}
        headers |= {"mcp-method": "tools/call", **({"mcp-name": params["name"]} if "name" in params else {})}
    asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    return cast("dict[str, Any]", httpx.post(f"{url}/mcp", headers=headers, json=asked).json())


@pytest.mark.parametrize("accept", ["application/json", "application/json;q=0.9, application/*", None])
@pytest.mark.parametrize("revision", [None, "2025-11-25", "2026-07-28"])
def test_whoever_takes_no_stream_is_answered_in_one_piece(url: str, accept: str | None, revision: str | None) -> None:
    params: dict[str, object] = {"name": "list_products", "arguments": {}}
    headers = {name: value for name, value in HEADERS.items() if name != "accept"}
    if accept is not None:
        headers["accept"] = accept
    if revision is not None:
        headers["mcp-protocol-version"] = revision
    if revision == "2026-07-28":
        about = {"name": "script", "version": "1"}
        key = "io.modelcontextprotocol/"
        params["_meta"] = {f"{key}protocolVersion": revision, f"{key}clientInfo": about, f"{key}clientCapabilities": {}}
        headers |= {"mcp-method": "tools/call", "mcp-name": "list_products"}
    asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    with httpx.Client() as client:
        del client.headers["accept"]
        answer = client.post(f"{url}/mcp", headers=headers, json=asked)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json()["result"]["structuredContent"]["total"] == 2


def test_arguments_that_clients_add_are_ignored_with_a_note(place: tuple[str, str]) -> None:
    async def body() -> None:
        async with asking(place, FakeLibrary()) as client:

            async def notes(name: str, **given: object) -> list[str]:
                result = await client.call_tool(name, given)
                texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
                return [*(["failed"] if result.is_error else []), *texts[1:]]

            added = {"sessionId": "7", "action": "sendMessage", "chatInput": "?", "tool": "x", "toolCallId": "y"}
            (note,) = await notes("search_documentation", query="tokens", **added)
            assert note.startswith("Note: search_documentation ignored 'sessionId'")
            assert await notes("list_products", anything=1) == ["Note: list_products ignored 'anything'."]
            assert await notes("search_documentation", query="tokens") == []
            assert await notes("search_documentation", query="tokens", session="7") == ["failed"]

    run(body())


def test_answers_that_name_what_the_library_holds_are_private(url: str) -> None:
    key = "io.modelcontextprotocol/"
    about = {f"{key}protocolVersion": "2026-07-28", f"{key}clientInfo": {"name": "script", "version": "1"}}
    for method in ("server/discover", "tools/list"):
        asked = {"jsonrpc": "2.0", "id": 7, "method": method}
        headers = {**HEADERS, "mcp-protocol-version": "2026-07-28", "mcp-method": method}
        meta = {"_meta": {**about, f"{key}clientCapabilities": {}}}
        result = httpx.post(f"{url}/mcp", headers=headers, json={**asked, "params": meta}).json()["result"]
        assert (result["cacheScope"], result["ttlMs"]) == ("private", 60_000)


def test_what_headers_a_call_may_carry_is_known_without_a_list_of_all_tools() -> None:
    door = McpServer(FakeLibrary())
    lookup = door.server.get_tool_input_schema
    assert lookup is not None

    async def body() -> None:
        async with door.run(), connected("memory", door) as client:
            for tool in (await client.list_tools()).tools:
                known = lookup(tool.name)
                assert known is not None
                assert known["properties"].keys() == tool.input_schema["properties"].keys()

    run(body())
    assert lookup("search_docs") is None  # the call itself is refused in words


def test_a_call_by_whoever_takes_no_stream_ends_when_they_have_gone() -> None:
    desk = FakeLibrary()
    asked = {"name": "search_documentation", "arguments": {"query": "block"}}
    call = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": asked})
    with served(build_app(desk, mcp_server=McpServer(desk))) as url:
        host, port = url.removeprefix("http://").split(":")
        with contextlib.closing(http.client.HTTPConnection(host, int(port))) as connection:
            connection.request("POST", "/mcp", call, {**HEADERS, "accept": "application/json"})
            assert desk.blocking.wait(10)
        assert desk.cancelled.wait(10)


@pytest.mark.parametrize(
    ("path", "headers", "content", "status", "words"),
    [
        ("/mcp", {**HEADERS, "content-type": "text/plain"}, HALF, 400, "Send `Content-Type: application/json`."),
        ("/mcp", {"accept": "*/*"}, HALF, 400, "Send `Content-Type: application/json`."),
        ("/messages/", HEADERS, HALF, 400, "session_id is required."),
        (f"/messages/?session_id={'0' * 32}", HEADERS, HALF, 404, "Connect to /sse anew"),
    ],
)
def test_what_cannot_be_a_message_is_refused_in_the_one_shape(
    url: str, path: str, headers: dict[str, str], content: bytes, status: int, words: str
) -> None:
    answer = httpx.post(f"{url}{path}", headers=headers, content=content)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"code", "message", "hint"}
    assert words in answer.text


def test_a_batch_is_refused_in_words(url: str) -> None:
    answer = httpx.post(f"{url}/mcp", headers=HEADERS, content=b' [{"jsonrpc":"2.0","id":1,"method":"ping"}]')
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32600
    assert "Send each message in a request of its own" in answer.json()["error"]["message"]


def test_a_notice_with_an_id_is_a_notice_still(url: str) -> None:
    notice = b'{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}'
    assert httpx.post(f"{url}/mcp", headers=HEADERS, content=notice).status_code == 202


def test_a_line_whose_id_cannot_be_one_gets_an_error_and_the_next_one_its_answer() -> None:
    async def body() -> None:
        door = McpServer(FakeLibrary())
        async with door.run(), line_pair(door) as (reader, writer):
            writer.write(b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n{"jsonrpc":"2.0","id":8,"method":"ping"}\n')
            refused, answered = [json.loads(await reader.readline()) for _ in range(2)]
            assert (refused["id"], refused["error"]["code"]) == (None, -32600)
            assert answered == {"jsonrpc": "2.0", "id": 8, "result": {}}

    run(body())


def test_a_post_to_the_stream_is_told_what_it_takes(url: str) -> None:
    answer = httpx.post(f"{url}/sse", headers=HEADERS, content=HALF)
    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]


def test_one_stream_too_many_is_refused(url: str) -> None:
    with httpx.stream("GET", f"{url}/sse") as stream:
        events = stream.iter_lines()
        assert next(events) == "event: endpoint"
        refused = httpx.get(f"{url}/sse")
        assert refused.status_code == 503
        assert "Streamable HTTP" in refused.json()["error"]["hint"]


def test_a_line_that_is_no_message_gets_an_error_and_the_next_one_its_answer() -> None:
    async def body() -> None:
        door = McpServer(FakeLibrary())
        async with door.run(), line_pair(door) as (reader, writer):
            writer.write(b'{"oops"\n\n{"jsonrpc": "2.0", "id": 7}\n{"jsonrpc":"2.0","id":8,"method":"ping"}\n')
            answers = [json.loads(await reader.readline()) for _ in range(3)]
            assert answers[0]["error"]["code"] == -32700
            assert (answers[1]["error"]["code"], answers[1]["id"]) == (-32600, 7)
            assert answers[2] == {"jsonrpc": "2.0", "id": 8, "result": {}}

    run(body())


def test_a_client_that_vanishes_in_mid_request_cancels_it() -> None:
    async def body() -> None:
        desk = FakeLibrary()
        door = McpServer(desk)
        call = {"name": "search_documentation", "arguments": {"query": "block"}}
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        messages = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        ]
        async with door.run():
            async with line_pair(door) as (_, writer):
                writer.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
                await writer.drain()
                assert await asyncio.to_thread(desk.blocking.wait, 10)
            assert await asyncio.to_thread(desk.cancelled.wait, 10)

    run(body())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_server_stops_while_streams_are_open() -> None:
    """The SDK leaves the inner ends of an SSE stream open when the server cancels it: collected here, not later."""
    with contextlib.ExitStack() as stack, httpx.Client() as client:
        with served(build_app(FakeLibrary())) as url:
            stream = stack.enter_context(client.stream("GET", f"{url}/sse"))
            events = stream.iter_lines()
            assert next(events) == "event: endpoint"
        with contextlib.suppress(httpx.TransportError):
            assert all("error" not in line for line in events)
    gc.collect()
