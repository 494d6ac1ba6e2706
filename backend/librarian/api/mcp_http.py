"""Repairs or refuses what clients post before the SDK reads it: the SDK's own errors are hard to understand."""

from __future__ import annotations

import json
from collections.abc import Mapping

import anyio
from mcp.server.streamable_http import check_accept_headers
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .rest import CODES, error_response

_HINTS = {
    404: "Connect to /sse anew: a session ends with its stream.",
    400: "See the MCP specification's transports.",
    405: "Clients of the older HTTP+SSE transport listen at /sse.",
}


def replace_lone_surrogates(text: bytes) -> bytes:
    r"""JSON without halves of surrogate pairs, as scripts write them that cut an emoji in two; others stay as they are.

    >>> replace_lone_surrogates(rb'["\ud83d", "\ud83d\ude00", "\\ud83d"]').decode()
    '["�", "😀", "\\\\ud83d"]'
    """
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    try:
        whole = json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
    return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def refused(status: int, message: str, hint: str = "", headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error in its one shape; the hint is the usual one of the status where none is given."""
    return error_response(
        status, CODES.get(status, "bad_request"), message, hint or _HINTS.get(status, ""), headers or {}
    )


async def pass_message(app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, plain: ASGIApp | None) -> None:
    """Have `app` answer a JSON-RPC message; `plain` answers those who take no stream, in one piece."""
    headers = Headers(scope=scope)
    kind = headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        message = f"Content-Type is {kind!r}; messages are JSON."
        await refused(400, message, "Send `Content-Type: application/json`.")(scope, receive, send)
        return
    try:
        body = await Request(scope, receive).body()
    except ClientDisconnect:
        return
    if body.lstrip()[:1] == b"[":
        text = "Invalid request: batches aren't taken. Send each message in a request of its own."
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": text}}
        await JSONResponse(error, 400)(scope, receive, send)
        return
    if "accept" not in headers:  # any type then, and JSON is the simplest to read
        scope = {**scope, "headers": [*scope["headers"], (b"accept", b"application/json")]}
    whole: list[Message] = [{"type": "http.request", "body": replace_lone_surrogates(body), "more_body": False}]

    async def received() -> Message:
        return whole.pop() if whole else await receive()

    takes_json, takes_streams = check_accept_headers(Request(scope))  # who takes neither is refused by the SDK
    if plain is None or takes_streams or not takes_json:
        await app(scope, received, _json_errors(scope, receive, send))
        return
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            """End the call once the client has disconnected, which the SDK doesn't look at."""
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        await plain(scope, received, _json_errors(scope, receive, send))
        tasks.cancel_scope.cancel()


def _json_errors(scope: Scope, receive: Receive, send: Send) -> Send:
    """Errors in bare text take the shape that all others have."""
    status = 0

    async def reworded(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            kind = Headers(raw=message["headers"]).get("content-type", "")
            is_bare = message["status"] >= 400 and not kind.startswith("application/json")
            status = message["status"] if is_bare else 0
        if not status:
            await send(message)
        elif message["type"] == "http.response.body":
            text = message.get("body", b"").decode(errors="replace")
            await refused(status, f"{text.rstrip('.')}.")(scope, receive, send)

    return reworded
