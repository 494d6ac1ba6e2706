"""MCP over one library, on the SDK's `MCPServer`: tools, prompts, resources, completions and notices of changes.

It is served as stateless Streamable HTTP and by the older SSE transport.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import os.path
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import anyio
from mcp import types
from mcp.server import CacheHint, MCPServer
from mcp.server.apps import Apps
from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import Prompt as SdkPrompt
from mcp.server.mcpserver.prompts.base import PromptArgument
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.runner import serve_dual_era_loop
from mcp.server.session import ServerSession
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from .. import schemas
from ..errors import CallerError, LibrarianError, NotFound, SetupError, shortened
from ..library import Librarian
from ..models import SCHEME
from ..text.sanitizing import escaped, inline, visible, wrap_untrusted
from .library_handle import MESSAGES, SSE, Calls, LibraryHandle
from .mcp_http import pass_message, refused
from .model_text import ON_REQUEST, cleaned, remarks, render, rest_of, structured
from .prompts import COMPLETED, PROMPTS
from .rest import error_response

logger = logging.getLogger(__name__)
T = TypeVar("T")
Ctx = ServerRequestContext[Any, Any]

TEMPLATE = SCHEME + "{+path}"
RESULTS_APP = "ui://librarian/results.html"
LONGEST = 1_000_000  #: characters; hosts end a connection over frames of 8 MiB
MOST_PRODUCTS = 30  #: that schemas name
MOST_COMPLETIONS = 100  #: the specification's limit
_REPEATED = 60  #: characters of products' names that several tools' schemas repeat
#: Arguments that hosts such as n8n add to every call; no tool takes them.
ADDED_BY_CLIENTS = frozenset({"action", "chatInput", "sessionId", "tool", "toolCallId"})
_ON_ONE_PAGE = frozenset({"tools/list", "prompts/list", "resources/templates/list"})
_LONG, _SHORT = CacheHint(ttl_ms=300_000, scope="public"), CacheHint(ttl_ms=60_000, scope="private")
_READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)  # the other hints say nothing of such tools
_REPEATABLE = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


@dataclass(eq=False)
class _Connection:
    """What receives notices of changes: an SSE stream, or one of `subscriptions/listen`.

    `session` is there once a client of SSE that shook hands is ready for notices.
    """

    watched: set[str] = field(default_factory=set)  #: resources
    session: ServerSession | None = None


class _Unchecked(FuncMetadata):
    """Passes arguments on as they came: the library's request models check them, for every interface alike."""

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        return {"arguments": arguments_to_validate}

    def convert_result(self, result: Any) -> Any:
        return result


class McpServer(MCPServer[Any]):
    """The methods of MCP over one library. Errors that a caller can correct are results, which reach the model.

    Use it inside `async with server.run():`, once. `most_streams` limits open `/sse` streams. `on_call` gets name and
    version of the client that calls a tool.
    """

    def __init__(
        self,
        library: Librarian | LibraryHandle,
        *,
        toolsets: Sequence[str] = (),
        limits: schemas.ResultLimits = schemas.ResultLimits(),
        calls: Calls | None = None,
        version: str = "",
        title: str = "Librarian",
        most_streams: int = 64,
        heartbeat_s: float = 1.0,
        on_call: Callable[[str, str], None] | None = None,
    ) -> None:
        self._handle = LibraryHandle.of(library)
        self.calls, self._own_calls = calls or Calls(), calls is None
        self._heartbeat_s, self._on_call, self._most_streams = heartbeat_s, on_call, most_streams
        self._connections: set[_Connection] = set()
        self._seen: dict[str, str] = {}  #: the last fingerprints of watched resources
        self._streaming: set[anyio.CancelScope] = set()
        self._introducing: asyncio.Task[None] | None = None  #: there once `run` runs
        self.bus = InMemorySubscriptionBus()
        self._operations = {operation.name: operation for operation in chosen_operations(toolsets)}
        super().__init__(
            "librarian",
            title=title,
            description="Finds the right passage in a folder of documentation and email.",
            version=version,
            tools=[self._tool(operation, limits) for operation in self._operations.values()],
            cache_hints={
                "prompts/list": _LONG,
                "resources/templates/list": _LONG,
                "tools/list": _SHORT,  # it names the library's products
                "server/discover": _SHORT,  # its instructions do, too
                "resources/list": _SHORT,
                "resources/read": _SHORT,
            },
            extensions=[_results_app()],
            subscriptions=self.bus,
            middleware=[self._check],
            log_level="WARNING",
        )
        for name, prompt in PROMPTS.items():
            arguments = [
                PromptArgument(name=argument, description=info.description, required=info.is_required())
                for argument, info in prompt.model_fields.items()
            ]
            about: dict[str, Any] = {"title": prompt.title, "description": prompt.__doc__, "arguments": arguments}
            self.add_prompt(SdkPrompt(name=name, fn=prompt.text, context_kwarg=None, **about))
        self.resource(
            TEMPLATE,
            name="document",
            title="A document of the library",
            description="By file path; a heading's anchor as fragment gives that section.",
            annotations=types.Annotations(audience=["user", "assistant"]),
        )(lambda path: path)  # `read_resource` reads: templates match no fragments and have one type for all
        self.completion()(self._complete)  # type: ignore[no-untyped-call]
        self.server = self._lowlevel_server  # the SDK has no other way to pages of resources and to subscriptions
        self._listen = ListenHandler(self.bus)
        add = self.server.add_request_handler
        add("resources/list", types.PaginatedRequestParams, self._list_documents)
        add("resources/subscribe", types.SubscribeRequestParams, self._subscribe)
        add("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
        add("subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen_to)
        self.server.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)
        # The web server's guard checks Host and Origin on every path; a second list to keep would only differ from it.
        open_ = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._http, self._plain_http = (
            StreamableHTTPSessionManager(app=self.server, json_response=plain, stateless=True, security_settings=open_)
            for plain in (False, True)
        )
        self._sse = SseServerTransport(MESSAGES, security_settings=open_)

    # -- life and transports -----------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:  # type: ignore[override]
        """Serve requests, and tell clients about new generations, while the body runs."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def notice(_: int) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended while the library was still refreshing
                loop.call_soon_threadsafe(changed.set)

        unsubscribe = self._handle.on_generation(notice)
        self._introducing = asyncio.create_task(self._introduce())
        try:
            async with self._http.run(), self._plain_http.run(), anyio.create_task_group() as tasks:
                tasks.start_soon(self._announce, changed)
                try:
                    yield
                finally:
                    self._listen.close()
                    tasks.cancel_scope.cancel()
        finally:
            unsubscribe()
            if self._own_calls:
                self.calls.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to one of `library_handle.mcp_routes`, once the library has introduced itself."""
        assert self._introducing is not None, "used outside of run()"
        await asyncio.shield(self._introducing)
        streams, method = scope["path"] == SSE, scope["method"]
        takes = "GET" if streams else "POST"
        if method != takes:
            message = f"{scope['path']} takes {takes}, not {method}."
            await refused(405, message, headers={"Allow": takes})(scope, receive, send)
        elif streams:
            await self._stream(scope, receive, send)
        elif scope["path"].startswith(MESSAGES):
            await pass_message(self._sse.handle_post_message, scope, receive, send, plain=None)
        else:
            await pass_message(self._http.handle_request, scope, receive, send, plain=self._plain_http.handle_request)

    @property
    def streams(self) -> int:
        """How many `/sse` streams are open."""
        return len(self._streaming)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one `/sse` stream until its client leaves."""
        if self.streams >= self._most_streams:
            message = f"There are {self.streams} SSE streams open already."
            hint = "Close one, or use Streamable HTTP at /mcp, which keeps none."
            await error_response(503, "busy", message, hint)(scope, receive, send)
            return
        serving, connection = anyio.CancelScope(), _Connection()
        self._streaming.add(serving)
        self._connections.add(connection)
        options = self.server.create_initialization_options(NotificationOptions(resources_changed=True))
        try:
            async with self._sse.connect_sse(scope, receive, send) as (incoming, outgoing):
                with serving:
                    await serve_dual_era_loop(
                        self.server, incoming, outgoing, lifespan_state=connection, init_options=options
                    )
                await outgoing.aclose()
        finally:
            self._streaming.discard(serving)
            self._connections.discard(connection)

    def end_streams(self) -> None:
        """End all streams in good order: a server that stops shouldn't have to cut them."""
        self._listen.close()
        for serving in list(self._streaming):
            serving.cancel()

    async def _check(self, ctx: Ctx, call_next: CallNext) -> Any:
        """Around every request: repair or drop arguments, refuse cursors of lists on one page, explain refusals."""
        params, note = ctx.params or {}, ""
        if ctx.method == "tools/call" and "arguments" in params:
            given, note = self._arguments(params.get("name"), params["arguments"])
            ctx = replace(ctx, params={**params, "arguments": given})
        elif ctx.method in _ON_ONE_PAGE and params.get("cursor"):
            raise MCPError(types.INVALID_PARAMS, inline(str(no_cursor(str(params["cursor"])))))
        try:
            result = await call_next(ctx)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            place = ".".join(map(str, first["loc"])).removeprefix("params.")
            raise MCPError(types.INVALID_PARAMS, f"Invalid request parameters: {place}: {first['msg']}.") from error
        if not isinstance(result, dict):
            return result
        if note:
            result["content"].append({"type": "text", "text": note})
        if ctx.method == "initialize" and not isinstance(ctx.lifespan_context, _Connection):
            result["capabilities"]["resources"]["subscribe"] = False  # HTTP without a session has no way back
        return result

    def _arguments(self, name: object, given: object) -> tuple[object, str]:
        """A call's arguments as an object without those that clients add, and a note about the ones left out."""
        found = arguments(given)
        operation = self._operations.get(name) if isinstance(name, str) else None
        if operation is None or not isinstance(found, dict):
            return found, ""
        fields = operation.request.model_fields
        known = {*fields, *(alias for alias, real in schemas.ALIASES.items() if real in fields)}
        ignored = [each for each in found if each not in known and (each in ADDED_BY_CLIENTS or not fields)]
        if not ignored:
            return found, ""
        left_out = inline(", ".join(shortened(each) for each in ignored[:5]))
        return {each: found[each] for each in found if each not in ignored}, f"Note: {name} ignored {left_out}."

    # -- tools -------------------------------------------------------------------------------------------------

    def _tool(self, operation: schemas.Operation, limits: schemas.ResultLimits) -> Tool:
        schema = schemas.output_schema(operation.response, ON_REQUEST) if operation.response else None
        searches = operation.response in (schemas.SearchResponse, schemas.EmailSearchResponse)
        return Tool(
            fn=partial(self._answer, operation),
            name=operation.name,
            title=operation.title,
            description=operation.description,
            parameters=schemas.input_schema(operation.request, limits),
            fn_metadata=_Unchecked(arg_model=ArgModelBase, output_schema=schema),
            is_async=True,
            context_kwarg="context",
            annotations=_READS if operation.read_only else _REPEATABLE,
            meta={"ui": {"resourceUri": RESULTS_APP}} if searches else None,
        )

    async def list_tools(self) -> list[types.Tool]:
        """All tools of the enabled toolsets, with the library's products in their schemas."""
        products = await asyncio.to_thread(self._handle.products)
        tools = await super().list_tools()
        return [tool.model_copy(update={"input_schema": with_products(tool, products)}) for tool in tools]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """As the SDK's, but an unknown tool is a protocol error that names those there are."""
        if name not in self._operations:
            # by their letters `search_docs` is nearest to `search_emails`: all are named
            there = ", ".join(self._operations)
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool {inline(shortened(name))}. There are: {there}.")
        return await super().call_tool(name, arguments, context)

    async def _answer(
        self, operation: schemas.Operation, arguments: Mapping[str, Any], context: Context[Any, Any]
    ) -> types.CallToolResult:
        ctx = context.request_context
        if self._on_call is not None:
            self._on_call(*_caller(ctx))

        call = partial(self._handle.call, operation.name, arguments)
        working = asyncio.create_task(self._tell_progress(ctx, operation.title))
        try:
            return await self.calls.answer("mcp", operation.name, call, answered)
        except LibrarianError as error:
            return _failed(wrap_untrusted("error", str(error)))
        except Exception:
            logger.exception("%s failed", operation.name)
            return _failed(
                f"{operation.name} failed: an internal error of Librarian, written to its log. Try again; "
                "get_index_status shows what works."
            )
        finally:
            working.cancel()

    async def _tell_progress(self, ctx: Ctx, title: str) -> None:
        """Tell a caller that asked for progress every so often that work goes on."""
        start = time.monotonic()
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                await asyncio.sleep(self._heartbeat_s)
                seconds = time.monotonic() - start
                # does nothing where no progress was asked for
                await ctx.session.report_progress(seconds, None, f"{title}: {seconds:.0f} s")

    # -- resources ---------------------------------------------------------------------------------------------

    async def _list_documents(self, _: Ctx, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """A page of documents, by path."""
        cursor = params.cursor if params is not None else None
        page, last = await self._run(lambda: self._handle.wait().resources(path_before(cursor) if cursor else None))
        listed = [
            types.Resource(
                uri=uri,
                name=inline(unquote(uri.removeprefix(SCHEME))),
                title=inline(title),
                mime_type=mime_type(file_type),
                annotations=types.Annotations(audience=["user", "assistant"], last_modified=last_modified),
            )
            for uri, title, file_type, last_modified in page
        ]
        return types.ListResourcesResult(resources=listed, next_cursor=cursor_after(last) if last else None)

    async def read_resource(
        self, uri: Any, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | types.InputRequiredResult:
        """A document or, by the address's fragment, a section of it; or the view of results."""
        if str(uri) == RESULTS_APP:
            return await super().read_resource(uri, context)
        return [await self._run(lambda: read(self._handle.wait(), str(uri)), uri=str(uri))]

    async def _initialized(self, ctx: Ctx, _: types.NotificationParams | None) -> None:
        """Remember whom to tell of changes."""
        if isinstance(ctx.lifespan_context, _Connection):
            ctx.lifespan_context.session = ctx.session

    async def _subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell this connection from now on when the resource has changed (protocol revisions up to 2025-11-25).

        HTTP without a session isn't offered subscriptions. One that is asked for all the same is taken and leads to
        nothing: the conformance suite asks so, and takes a refusal for a fault.
        """
        if isinstance(ctx.lifespan_context, _Connection):
            await self._watch(ctx.lifespan_context, {str(params.uri)})
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Ctx, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """No longer tell this connection of that resource."""
        if isinstance(ctx.lifespan_context, _Connection):
            ctx.lifespan_context.watched.discard(str(params.uri))
        return types.EmptyResult()

    async def _listen_to(
        self, ctx: Ctx, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Tell of changes on a stream of their own while it is open."""
        stream = _Connection()
        await self._watch(stream, set(params.notifications.resource_subscriptions or ()))
        self._connections.add(stream)
        try:
            return await self._listen(ctx, params)
        finally:
            self._connections.discard(stream)

    async def _watch(self, connection: _Connection, uris: set[str]) -> None:
        """Remember how these resources are now, where no other connection watches them already."""
        if new := uris - self._seen.keys():
            self._seen |= await self.calls.run(lambda: self._fingerprints(new))
        connection.watched |= uris

    @property
    def watched(self) -> set[str]:
        """Resources whose changes somebody has subscribed to."""
        return set[str]().union(*(connection.watched for connection in self._connections))

    def _fingerprints(self, uris: Iterable[str]) -> dict[str, str]:
        library = self._handle.wait()
        return {uri: resource_fingerprint(library, uri) for uri in uris}

    async def _introduce(self) -> None:
        # not one of the calls: a server must open, and tell of changes, however many of them wait
        self.server.instructions = visible(await asyncio.to_thread(self._handle.instructions))

    async def _announce(self, changed: asyncio.Event) -> None:
        """After each generation: new instructions, and notices to clients that subscribed."""
        while True:
            await changed.wait()
            changed.clear()
            try:
                await self._introduce()
                now = await asyncio.to_thread(self._fingerprints, self.watched)
                uris = [uri for uri, fingerprint in now.items() if self._seen.get(uri, fingerprint) != fingerprint]
                self._seen = {uri: seen for uri, seen in self._seen.items() if uri in self.watched} | now
                await self.bus.publish(ResourcesListChanged())
                for uri in uris:
                    await self.bus.publish(ResourceUpdated(uri=uri))
                for connection in [each for each in self._connections if each.session is not None]:
                    await self._tell(connection, uris)
            except Exception:
                logger.exception("Clients could not be notified of the new generation")

    async def _tell(self, connection: _Connection, uris: Iterable[str]) -> None:
        assert connection.session is not None
        try:
            await connection.session.send_resource_list_changed()
            for uri in connection.watched.intersection(uris):
                await connection.session.send_resource_updated(uri)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._connections.discard(connection)

    # -- prompts and completions ---------------------------------------------------------------------------------

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> types.GetPromptResult:
        """A prompt, filled from the library. Raises `MCPError` for an unknown one."""
        if name not in PROMPTS:
            there = ", ".join(PROMPTS)
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt {inline(shortened(name))}. There are: {there}.")
        prompt = PROMPTS[name]
        text = await self._run(lambda: schemas.validated(prompt, arguments or {}, name).text(self._handle.wait()))
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompt.__doc__, messages=[message])

    async def _complete(
        self,
        ref: types.PromptReference | types.ResourceTemplateReference,
        argument: types.CompletionArgument,
        context: types.CompletionContext | None,
    ) -> types.Completion:
        """Values that a prompt's or the template's argument may have, given what is typed of it and the others."""
        if isinstance(ref, types.PromptReference):
            if ref.name not in PROMPTS:
                raise MCPError(types.INVALID_PARAMS, f"Unknown prompt {inline(shortened(ref.name))}.")
        elif str(ref.uri) != TEMPLATE:
            raise MCPError(types.INVALID_PARAMS, f"Unknown resource template {inline(shortened(str(ref.uri)))}.")
        kind = COMPLETED.get(argument.name)
        if kind is None:
            return types.Completion(values=[], total=0, has_more=False)
        filled = (context.arguments if context is not None else None) or {}
        values = await self._run(lambda: self._handle.wait().complete(kind, argument.value, filled))
        shown = [visible(value) for value in values[:MOST_COMPLETIONS]]  # as answers show it, and accepted like that
        return types.Completion(values=shown, total=len(values), has_more=len(values) > len(shown))

    async def _run(self, work: Callable[[], T], uri: str = "") -> T:
        """`work` in a thread, with `LibrarianError`s as protocol errors."""
        try:
            return await self.calls.run(work)
        except LibrarianError as error:
            data = {"uri": uri} if uri and isinstance(error, NotFound) else None
            raise MCPError(types.INVALID_PARAMS, wrap_untrusted("error", str(error)), data) from error


def _results_app() -> Apps:
    """The view of results that hosts with MCP Apps show beside a search's text."""
    apps = Apps()
    html = Path(__file__).with_name("results_app.html").read_text("utf-8")
    about = "The results as a list, with the document beside it"
    apps.add_html_resource(RESULTS_APP, html, name="results", title="Search results", description=about)
    return apps


def chosen_operations(toolsets: Sequence[str]) -> list[schemas.Operation]:
    """The nine tools of every library, then those of `toolsets`. Raises `SetupError` for an unknown toolset."""
    further = [name for name in schemas.TOOLSETS if name != "default"]
    chosen = ["default", *(further if "all" in toolsets else dict.fromkeys(toolsets))]
    if unknown := [name for name in chosen if name not in schemas.TOOLSETS]:
        known = ", ".join(["all", *further])
        raise SetupError(f"No toolset {unknown[0]!r}.", hint=f"Set toolsets (MCP_TOOLSETS) to any of: {known}.")
    return [operation for name in chosen for operation in schemas.TOOLSETS[name]]


def with_products(tool: types.Tool, products: Sequence[str]) -> dict[str, Any]:
    """The input schema, whose `product`, if it has one, is one of these where they are at most `MOST_PRODUCTS`.

    Many long names are listed for the main search only, so that the list of tools stays short.
    """
    schema = tool.input_schema
    names = [visible(name) for name in products]
    repeated = tool.name != "search_documentation"
    if (
        "product" not in schema["properties"]
        or not 0 < len(names) <= MOST_PRODUCTS
        or (repeated and sum(map(len, names)) > _REPEATED)
    ):
        return schema
    return {**schema, "properties": {**schema["properties"], "product": {"enum": names}}}


def arguments(given: object) -> object:
    """A tool's arguments, also as some clients write them: an object as text, nothing as an empty list.

    What can't be arguments becomes one that no tool has, which the error names.

    >>> arguments('{"product": "ray"}'), arguments([]), arguments(["ray"])
    ({'product': 'ray'}, {}, {'arguments': ['ray']})
    """
    decoded = given
    if isinstance(given, str):
        with contextlib.suppress(ValueError, RecursionError):
            decoded = json.loads(given)
    if isinstance(decoded, dict):
        return decoded
    return {"arguments": given} if decoded else {}


def answered(response: schemas.ResponseModel) -> types.CallToolResult:
    """A response as a tool's result: text and fields, without hidden characters."""
    response = cleaned(response)
    text = types.TextContent(text=render(response))
    return types.CallToolResult(content=[text], structured_content=structured(response))


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def mime_type(file_type: str) -> str:
    """What a resource read of such a file gives: its text, as Markdown where it is that."""
    return "text/markdown" if file_type in {".md", ".markdown", ".mkd", ".mdx", ".qmd", ".rmd"} else "text/plain"


def read(library: Librarian, uri: str) -> ReadResourceContents:
    """The text of a document, or of the section that the fragment names; marks of answers in it are escaped.

    Raises `NotFound` for URIs of another kind and for documents that aren't there.
    """
    if not uri.startswith(SCHEME):
        raise NotFound(f"No resource {uri!r}.", hint=f"Resources begin with {SCHEME}; see resources/list.")
    answer = library.get_document(uri, max_chars=LONGEST)
    text = "\n\n".join([answer.content, *remarks(answer)])
    if answer.truncated:
        text += f"\n\n[Truncated. Go on with get_document, {rest_of(answer)}.]"
    return ReadResourceContents(escaped(text), mime_type(os.path.splitext(answer.file_path)[1].lower()))


def resource_fingerprint(library: Librarian, uri: str) -> str:
    """Changes when the document does; empty where there is none."""
    try:
        answer = library.get_document(uri.partition("#")[0], max_chars=1)
    except LibrarianError:
        return ""
    return f"{answer.indexed_at} {answer.last_modified}"


def cursor_after(path: str) -> str:
    """The cursor of the page that follows `path`."""
    return base64.urlsafe_b64encode(path.encode()).decode()


def path_before(cursor: str) -> str:
    """The path that a page begins after; it needn't be there any more. Raises `CallerError` for a foreign cursor.

    >>> path_before(cursor_after("shop/api/tokens.md"))
    'shop/api/tokens.md'
    """
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except ValueError:
        raise no_cursor(cursor) from None


def no_cursor(cursor: str) -> CallerError:
    """What to say of a cursor that no list gave out."""
    return CallerError(
        f"No cursor {shortened(cursor)}.", hint="Take nextCursor of the page before; none for the first."
    )


def _caller(ctx: Ctx) -> tuple[str, str]:
    """Name and version of the client; without a handshake or an envelope that tells them, its user agent."""
    if (params := ctx.session.client_params) is not None:
        return params.client_info.name, params.client_info.version
    headers = getattr(ctx.request, "headers", {})
    name, _, version = str(headers.get("user-agent", "")).partition("/")
    return name, version
