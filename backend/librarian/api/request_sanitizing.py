"""Repairs or refuses what clients send before the SDK reads it: the SDK's own errors are hard to understand."""

from __future__ import annotations

import json
from collections.abc import Mapping

import anyio
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .rest import CODES, error_response

_JSON, _STREAMS = ("application/json", "application/*"), ("text/event-stream", "text/*", "*/*")
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


class RequestSanitizer:
    """An ASGI application for JSON-RPC messages by POST; `plain` answers those who take no stream, in one piece."""

    def __init__(self, app: ASGIApp, *, plain: ASGIApp | None = None) -> None:
        self._app = app
        self._plain = plain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            message = f"{scope['path']} takes POST, not {scope['method']}."
            await _refused(405, message, _HINTS[405], {"Allow": "POST"})(scope, receive, send)
            return
        kind = Headers(scope=scope).get("content-type", "")
        if kind.partition(";")[0].strip().lower() != "application/json":
            message = f"Content-Type is {kind!r}; messages are JSON."
            await _refused(400, message, "Send `Content-Type: application/json`.")(scope, receive, send)
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
        if "accept" not in Headers(scope=scope):  # any type then, and JSON is the simplest to read
            scope = {**scope, "headers": [*scope["headers"], (b"accept", b"application/json")]}
        body = replace_lone_surrogates(body)
        if self._plain is not None and not _takes_streams(Headers(scope=scope)):
            await _until_disconnect(self._plain, scope, body, receive, _json_errors(send))
        else:
            await self._app(scope, _once(body, receive), _json_errors(send))


def _takes_streams(headers: Headers) -> bool:
    """False for a caller that takes JSON alone. Who takes no JSON is refused by the SDK."""
    accepted = {kind.partition(";")[0].strip().lower() for kind in headers.get("accept", "").split(",")}
    return accepted.isdisjoint(_JSON) or not accepted.isdisjoint(_STREAMS)


async def _until_disconnect(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """Let `app` answer until the client has disconnected, which it doesn't check itself."""
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        async def never() -> Message:
            await anyio.sleep_forever()
            raise AssertionError

        tasks.start_soon(watch)
        await app(scope, _once(body, never), send)
        tasks.cancel_scope.cancel()


def _once(body: bytes, receive: Receive) -> Receive:
    """A channel that holds `body`, then whatever comes: that the client leaves."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received


def _json_errors(send: Send) -> Send:
    """Errors in bare text take the shape that all others have."""
    refused: list[Message] = []

    async def shaping(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            if Headers(raw=message["headers"]).get("content-type", "").startswith("application/json"):
                await send(message)
            else:
                refused.append(message)
        elif refused:
            status = refused.pop()["status"]
            text = message.get("body", b"").decode(errors="replace")
            await _refused(status, f"{text.rstrip('.')}.", _HINTS.get(status, ""))({"type": "http"}, _nothing, send)
        else:
            await send(message)

    return shaping


def _refused(status: int, message: str, hint: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return error_response(status, CODES.get(status, "bad_request"), message, hint, headers)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
