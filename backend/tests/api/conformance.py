"""The things that the MCP conformance suite asks for by name, added to a door: tests only, never shipped.

Each handler knows the suite's tools, resources and prompts and leaves everything else to the door's own.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import struct
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ToolsListChanged

from librarian.api.mcp import McpServer

_KEY = b"only for tests"


def _png() -> str:
    """One red pixel."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    image = part(b"IHDR", header) + part(b"IDAT", zlib.compress(b"\x00\xff\x00\x00")) + part(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + image).decode()


def _wav() -> str:
    """One silent sample."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", 2) + b"\x80\x80"
    return base64.b64encode(b"RIFF" + struct.pack("<I", len(body)) + body).decode()


PNG, WAV = _png(), _wav()
IMAGE = types.ImageContent(data=PNG, mime_type="image/png")


def _text(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


def _embedded(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=text))


Result = Any
Handler = Callable[[Any, Any], Awaitable[Result]]


async def _mixed(_: Any, __: Any) -> Result:
    data = json.dumps({"test": "data", "value": 123})
    resource = _embedded("test://mixed-content-resource", "application/json", data)
    return types.CallToolResult(content=[types.TextContent(text="Multiple content types test:"), IMAGE, resource])


async def _logging(ctx: Any, _: Any) -> Result:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", text, related_request_id=ctx.request_id)
        await asyncio.sleep(0.05)
    return _text("done")


async def _progress(ctx: Any, _: Any) -> Result:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await asyncio.sleep(0.05)
    return _text("done")


def _elicit(message: str, properties: dict[str, Any]) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.ElicitRequest(params=params)


def _sample(text: str, most: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=most))


def _state(step: str) -> str:
    return f"{step}.{hmac.new(_KEY, step.encode(), hashlib.sha256).hexdigest()}"


def _step(state: str | None) -> str:
    """The step that a state names. Raises where it isn't one of ours."""
    if state is None:
        return ""
    step = state.partition(".")[0]
    if not hmac.compare_digest(_state(step).encode(), state.encode()):
        raise MCPError(types.INVALID_PARAMS, "requestState fails its integrity check")
    return step


def _wanting(requests: dict[str, Any], answer: Callable[[Any], Result], state: str | None = None) -> Handler:
    """A handler that asks for `requests` until all are answered, with `state` to be sent back."""

    async def handler(_: Any, params: Any) -> Result:
        seen = _step(params.request_state)
        responses = params.input_responses or {}
        if set(requests) <= set(responses) and (state is None or seen == state):
            return answer(responses)
        return types.InputRequiredResult(input_requests=requests, request_state=_state(state) if state else None)

    return handler


NAME = _elicit("What is your name?", {"name": {"type": "string"}})
ROOTS = types.ListRootsRequest()


async def _rounds(_: Any, params: Any) -> Result:
    step, responses = _step(params.request_state), params.input_responses or {}
    if step == "2" and "step2" in responses:
        return _text("Both rounds are done.")
    if step == "1" and "step1" in responses:
        color = _elicit("Step 2: What is your favorite color?", {"color": {"type": "string"}})
        return types.InputRequiredResult(input_requests={"step2": color}, request_state=_state("2"))
    first = _elicit("Step 1: What is your name?", {"name": {"type": "string"}})
    return types.InputRequiredResult(input_requests={"step1": first}, request_state=_state("1"))


async def _capable(ctx: Any, params: Any) -> Result:
    """Asks only for what the client says it can answer."""
    can = ctx.session.client_capabilities
    requests: dict[str, Any] = {}
    if can is not None and can.sampling is not None:
        requests["sampled"] = _sample("Say something", 50)
    if can is not None and can.elicitation is not None:
        requests["name"] = NAME
    return await _wanting(requests, lambda _: _text("done"))(ctx, params) if requests else _text("nothing to ask")


async def _sampling_only(ctx: Any, _: Any) -> Result:
    can = ctx.session.client_capabilities
    if can is None or can.sampling is None:
        missing = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling", missing)
    return _text("done")


async def _error(_: Any, __: Any) -> Result:
    text = types.TextContent(text="This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[text], is_error=True)


def _always(result: Result) -> Handler:
    async def handler(_: Any, __: Any) -> Result:
        return result

    return handler


def _name_in(responses: Any) -> str:
    response = responses["user_name"]
    content = response.content if hasattr(response, "content") else response.get("content")
    return str((content or {}).get("name", ""))


_CONFIRM = {"confirm": _elicit("Please confirm", {"ok": {"type": "boolean"}})}
TOOLS: dict[str, Handler] = {
    "test_simple_text": _always(_text("This is a simple text response for testing.")),
    "test_image_content": _always(types.CallToolResult(content=[IMAGE])),
    "test_audio_content": _always(types.CallToolResult(content=[types.AudioContent(data=WAV, mime_type="audio/wav")])),
    "test_embedded_resource": _always(
        types.CallToolResult(
            content=[_embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
        )
    ),
    "test_multiple_content_types": _mixed,
    "test_tool_with_logging": _logging,
    "test_tool_with_progress": _progress,
    "test_error_handling": _error,
    "test_input_required_result_elicitation": _wanting(
        {"user_name": NAME}, lambda responses: _text(f"Hello, {_name_in(responses)}!")
    ),
    "test_input_required_result_sampling": _wanting(
        {"capital_question": _sample("What is the capital of France?", 100)}, lambda responses: _text(str(responses))
    ),
    "test_input_required_result_list_roots": _wanting({"client_roots": ROOTS}, lambda responses: _text(str(responses))),
    "test_input_required_result_request_state": _wanting(_CONFIRM, lambda _: _text("state-ok"), "asked"),
    "test_input_required_result_multiple_inputs": _wanting(
        {"user_name": NAME, "greeting": _sample("Generate a greeting", 50), "client_roots": ROOTS},
        lambda responses: _text(str(responses)),
        "asked",
    ),
    "test_input_required_result_multi_round": _rounds,
    "test_input_required_result_tampered_state": _wanting(_CONFIRM, lambda _: _text("done"), "asked"),
    "test_input_required_result_capabilities": _capable,
    "test_missing_capability": _sampling_only,
    "test_streaming_elicitation": _wanting({"user_name": NAME}, lambda _: _text("done")),
    "test_logging_tool": _logging,
}


def _message(content: Any) -> types.PromptMessage:
    return types.PromptMessage(role="user", content=content)


async def _with_arguments(_: Any, params: Any) -> Result:
    given = params.arguments or {}
    text = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
    return types.GetPromptResult(messages=[_message(types.TextContent(text=text))])


async def _with_resource(_: Any, params: Any) -> Result:
    uri = (params.arguments or {}).get("resourceUri", "test://example-resource")
    resource = _embedded(uri, "text/plain", "Embedded resource content for testing.")
    after = types.TextContent(text="Please process the embedded resource above.")
    return types.GetPromptResult(messages=[_message(resource), _message(after)])


PROMPTS: dict[str, Handler] = {
    "test_simple_prompt": _always(
        types.GetPromptResult(messages=[_message(types.TextContent(text="This is a simple prompt for testing."))])
    ),
    "test_prompt_with_arguments": _with_arguments,
    "test_prompt_with_embedded_resource": _with_resource,
    "test_prompt_with_image": _always(
        types.GetPromptResult(
            messages=[_message(IMAGE), _message(types.TextContent(text="Please analyze the image above."))]
        )
    ),
    "test_input_required_result_prompt": _wanting(
        {"user_context": _elicit("What context should the prompt use?", {"context": {"type": "string"}})},
        lambda _: types.GetPromptResult(messages=[_message(types.TextContent(text="A prompt with context."))]),
    ),
}


async def _read(_: Any, params: Any) -> Result:
    uri = str(params.uri)
    if uri == "test://static-binary":
        blob = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
        return types.ReadResourceResult(contents=[blob])
    if uri == "test://static-text":
        kind, text = "text/plain", "This is the content of the static text resource."
    else:
        number = uri.removeprefix("test://template/").removesuffix("/data")
        kind = "application/json"
        text = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])


def _is_ours(uri: str) -> bool:
    return uri in {"test://static-text", "test://static-binary"} or uri.startswith("test://template/")


def with_fixtures(door: McpServer) -> McpServer:
    """`door` with what the suite asks for besides its own."""
    server = door.server

    def route(method: str, choose: Callable[[Any], Handler | None]) -> None:
        before = server.get_request_handler(method)
        assert before is not None

        async def handler(ctx: Any, params: Any) -> Result:
            chosen = choose(params)
            return await (chosen or before.handler)(ctx, params)

        server.add_request_handler(method, before.params_type, handler)

    async def no_values(_: Any, __: Any) -> Result:
        return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))

    async def nothing(_: Any, __: Any) -> Result:
        return types.EmptyResult()

    def trigger(event: Any) -> Handler:
        async def handler(_: Any, __: Any) -> Result:
            await door.bus.publish(event)
            return _text("done")

        return handler

    own = {
        **TOOLS,
        "test_trigger_tool_change": trigger(ToolsListChanged()),
        "test_trigger_prompt_change": trigger(PromptsListChanged()),
    }
    own_list = server.get_request_handler("tools/list")
    assert own_list is not None

    async def list_tools(ctx: Any, params: Any) -> Result:
        listed = await own_list.handler(ctx, params)
        empty = {"type": "object", "properties": {}}
        more = [types.Tool(name=name, description="For the suite", input_schema=empty) for name in own]
        return listed.model_copy(update={"tools": [*listed.tools, *more]})

    server.add_request_handler("tools/list", own_list.params_type, list_tools)
    route("tools/call", lambda params: own.get(params.name))
    route("prompts/get", lambda params: PROMPTS.get(params.name))
    route("resources/read", lambda params: _read if _is_ours(str(params.uri)) else None)
    route(
        "completion/complete", lambda params: no_values if getattr(params.ref, "name", "").startswith("test_") else None
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, nothing)
    return door
