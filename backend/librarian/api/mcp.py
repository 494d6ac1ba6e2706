"""What is offered, in the MCP SDK's types: one handler per method, for every transport and protocol revision."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import os.path
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from urllib.parse import unquote

import anyio
from mcp import types
from mcp.server import CacheHint, Server
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError

from ..errors import CallerError, LibrarianError, NotFound, SetupError, shortened
from ..library import Librarian
from ..models import SCHEME, Observer
from ..schemas import (
    TOOLSETS,
    EmailSearchResponse,
    Operation,
    ResponseModel,
    Result,
    ResultLimits,
    SearchResponse,
    input_schema,
    output_schema,
)
from ..text.sanitizing import escaped, inline, visible, wrap_untrusted
from .library_handle import Calls, LibraryHandle
from .model_text import ON_REQUEST, cleaned, remarks, render, rest_of, structured
from .prompts import COMPLETED, PROMPTS, fill
from .request_sanitizing import coerce_arguments
from .rest import OBSERVED

TEMPLATE = SCHEME + "{+path}"
LONGEST = 1_000_000  #: characters; hosts end a connection over frames of 8 MiB


def read(library: Librarian, uri: str) -> types.TextResourceContents:
    """The text of a document, or of the section that the fragment names; marks of answers in it are escaped.

    Raises `NotFound` for URIs of another kind and for documents that aren't there.
    """
    if not uri.startswith(SCHEME):
        raise NotFound(f"No resource {uri!r}.", hint=f"Resources begin with {SCHEME}; see resources/list.")
    answer = library.get_document(uri, max_chars=LONGEST)
    text = "\n\n".join([answer.content, *remarks(answer)])
    if answer.truncated:
        text += f"\n\n[Truncated. Go on with get_document, {rest_of(answer)}.]"
    kind = mime_type(os.path.splitext(answer.file_path)[1].lower())
    return types.TextResourceContents(uri=uri, mime_type=kind, text=escaped(text))


def resource_fingerprint(library: Librarian, uri: str) -> str:
    """Changes when the document does; empty where there is none."""
    try:
        answer = library.get_document(uri.partition("#")[0], max_chars=1)
    except LibrarianError:
        return ""
    return f"{answer.indexed_at} {answer.last_modified}"


def path_of(uri: str) -> str:
    """The file path that a document's URI names."""
    return unquote(uri.removeprefix(SCHEME).partition("#")[0])


def cursor_after(path: str) -> str:
    """The cursor of the page that follows `path`, with a checksum: clients take it as it is."""
    text = path.encode()
    return base64.urlsafe_b64encode(zlib.crc32(text).to_bytes(4) + text).decode()


def path_before(cursor: str) -> str:
    """The path that a page begins after; it needn't be there any more. Raises `CallerError` for a foreign cursor.

    >>> path_before(cursor_after("shop/api/tokens.md"))
    'shop/api/tokens.md'
    """
    try:
        data = base64.b64decode(cursor, altchars=b"-_", validate=True)
        if zlib.crc32(data[4:]).to_bytes(4) == data[:4]:
            return data[4:].decode()
    except ValueError:
        pass
    raise no_cursor(cursor)


def no_cursor(cursor: str) -> CallerError:
    """What to say of a cursor that no list gave out."""
    return CallerError(
        f"No cursor {shortened(cursor)}.", hint="Take nextCursor of the page before; none for the first."
    )


MOST_PRODUCTS = 30  #: that schemas name
_REPEATED = 150  #: characters of products' names that several tools' schemas repeat
MOST_LINKS = 10  #: each costs the client some 200 bytes and the server some 9 µs


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """Both halves of an answer, without hidden characters; a host may show a model only one of them."""

    text: str
    structured: dict[str, Any]
    links: tuple[dict[str, Any], ...] = ()  #: `ResourceLink`s as JSON has them
    observed: dict[str, Any] = field(default_factory=dict)  #: what `metrics` counts


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as every transport offers it; `call` is synchronous and raises `LibrarianError`s."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object] | None
    call: Callable[[Mapping[str, object]], ToolAnswer] = field(repr=False)
    read_only: bool = True


def build_tools(
    handle: LibraryHandle, toolsets: Sequence[str] = (), limits: ResultLimits = ResultLimits()
) -> tuple[Tool, ...]:
    """The nine tools of every library, then those of `toolsets`. Raises `SetupError` for an unknown toolset."""
    further = [name for name in TOOLSETS if name != "default"]
    chosen = ["default", *(further if "all" in toolsets else dict.fromkeys(toolsets))]
    if unknown := [name for name in chosen if name not in TOOLSETS]:
        known = ", ".join(["all", *further])
        raise SetupError(f"No toolset {unknown[0]!r}.", hint=f"Set toolsets (MCP_TOOLSETS) to any of: {known}.")
    return tuple(_tool(handle, operation, limits) for name in chosen for operation in TOOLSETS[name])


def _tool(handle: LibraryHandle, operation: Operation, limits: ResultLimits) -> Tool:
    def call(arguments: Mapping[str, object]) -> ToolAnswer:
        response = handle.call(operation.name, arguments)
        assert isinstance(response, ResponseModel)
        response = cleaned(response)
        return ToolAnswer(render(response), structured(response), links_of(response), response.as_fields(OBSERVED))

    return Tool(
        name=operation.name,
        title=operation.title,
        description=operation.description,
        input_schema=input_schema(operation.request, limits),
        output_schema=output_schema(operation.response, ON_REQUEST) if operation.response else None,
        call=call,
        read_only=operation.read_only,
    )


def links_of(answer: ResponseModel) -> tuple[dict[str, Any], ...]:
    """One link per document found, best first, at most `MOST_LINKS`."""
    if not isinstance(answer, SearchResponse | EmailSearchResponse):
        return ()
    found: dict[str, Result] = {}
    for item in answer.results:
        found.setdefault(item.uri, item)
    return tuple(
        {
            "type": "resource_link",
            "uri": item.uri,
            "name": inline(item.file_path),
            "title": inline(item.title),
            "mimeType": mime_type(item.file_type),
            "annotations": {
                "audience": ["user", "assistant"],
                "priority": min(max(item.relevance_score or 0.0, 0.0), 1.0),
                "lastModified": item.last_modified,
            },
        }
        for item in list(found.values())[:MOST_LINKS]
    )


def with_products(tool: Tool, products: Sequence[str]) -> dict[str, Any]:
    """The input schema, whose `product`, if it has one, is one of these where they are at most `MOST_PRODUCTS`.

    Many long names are listed for the main search only, so that the list of tools stays short.
    """
    schema: dict[str, Any] = dict(tool.input_schema)
    names = [visible(name) for name in products]
    repeated = tool.name != "search_documentation"
    if (
        "product" not in schema["properties"]
        or not 0 < len(names) <= MOST_PRODUCTS
        or (repeated and sum(map(len, names)) > _REPEATED)
    ):
        return schema
    return {**schema, "properties": {**schema["properties"], "product": {"enum": names}}}


def mime_type(file_type: str) -> str:
    """What a resource read of such a file gives: its text, as Markdown where it is that."""
    return "text/markdown" if file_type in {".md", ".markdown", ".mkd", ".mdx", ".qmd", ".rmd"} else "text/plain"


@dataclass(eq=False)
class Connection:
    """A connection that lasts: `session` is there once a client with handshake is ready for notices."""

    session: ServerSession | None = None
    uris: set[str] = field(default_factory=set)


class Subscriptions:
    """Resources that someone subscribed to, each with its last fingerprint; counted, for several may watch one."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}
        self._watchers = Counter[str]()

    def add(self, uri: str, fingerprint: str) -> None:
        """Add a watcher."""
        self.seen.setdefault(uri, fingerprint)
        self._watchers[uri] += 1

    def remove(self, uri: str) -> None:
        """Remove a watcher, and with the last one the resource."""
        self._watchers[uri] -= 1
        if self._watchers[uri] <= 0:
            del self._watchers[uri]
            self.seen.pop(uri, None)

    def update(self, uri: str, fingerprint: str) -> bool:
        """Remember how a resource is now; true where that is new."""
        changed = uri in self.seen and self.seen[uri] != fingerprint
        if changed:
            self.seen[uri] = fingerprint
        return changed


logger = logging.getLogger(__name__)
T = TypeVar("T")
Ctx = ServerRequestContext[Any, Any]

_LONG, _SHORT = CacheHint(ttl_ms=300_000, scope="public"), CacheHint(ttl_ms=60_000, scope="private")
_HINTS = {
    "prompts/list": _LONG,
    "resources/templates/list": _LONG,
    "tools/list": _SHORT,  # it names the library's products
    "server/discover": _SHORT,  # its instructions do, too
    "resources/list": _SHORT,
    "resources/read": _SHORT,
}
_RO = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)  # the other hints say nothing of such tools
_REPEATABLE = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_HEARTBEAT_S = 1.0
_LINKS_SINCE = "2025-06-18"  #: clients of older revisions refuse a whole answer for one link in it
MOST_COMPLETIONS = 100  #: the specification's limit


class _Server(Server[Any]):
    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *given: Any, **named: Any
    ) -> InitializationOptions:
        """Whoever names no notices can't carry any: HTTP without sessions has no way back, so nothing to subscribe."""
        options = super().create_initialization_options(notification_options, *given, **named)
        if notification_options is None and options.capabilities.resources is not None:
            options.capabilities.resources.subscribe = False
        return options


class Handlers:
    """The methods of MCP over one library. The SDK's decorators ignore unknown arguments and list everything."""

    def __init__(
        self,
        handle: LibraryHandle,
        tools: Sequence[Tool],
        calls: Calls,
        *,
        version: str,
        title: str = "Librarian",
        heartbeat_s: float = _HEARTBEAT_S,
        on_call: Callable[[str, str], None] | None = None,
    ) -> None:
        self._handle = handle
        self._tools = {tool.name: tool for tool in tools}
        self._prompts = {prompt.name: prompt for prompt in PROMPTS}
        self._calls = calls
        self._heartbeat_s = heartbeat_s
        self.observe: Observer | None = None
        self._on_call = on_call
        self.bus = InMemorySubscriptionBus()
        self.watched = Subscriptions()
        self._listen = ListenHandler(self.bus)
        self.server: Server[Any] = _Server(
            "librarian",
            version=version,
            title=title,
            description="Finds the right passage in a folder of documentation and email.",
            cache_hints=cast(Any, _HINTS),
            # which headers a call may carry: the SDK would else list all tools, as its answer to `tools/list`, at each
            get_tool_input_schema=lambda name: self._tools[name].input_schema if name in self._tools else None,
            on_list_tools=self.list_tools,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=self.listen,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_completion=self.complete,
        )
        self.server.middleware.append(coerce_arguments)
        self.server.add_request_handler("tools/call", types.CallToolRequestParams, self.call_tool)
        self.server.add_notification_handler("notifications/initialized", types.NotificationParams, self.initialized)

    # -- tools -------------------------------------------------------------------------------------------------

    async def list_tools(self, _: Ctx, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """All tools of the enabled toolsets, on one page."""
        _on_one_page(params)
        products = await asyncio.to_thread(self._handle.products)
        return types.ListToolsResult(tools=[_definition(tool, products) for tool in self._tools.values()])

    async def call_tool(self, ctx: Ctx, params: types.CallToolRequestParams) -> dict[str, Any]:
        """A `CallToolResult` as JSON. Errors that a caller can correct are results, which reach the model."""
        tool = self._tools.get(params.name)
        if tool is None:
            # by their letters `search_docs` is nearest to `search_emails`: all are named
            there = ", ".join(self._tools)
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool {inline(shortened(params.name))}. There are: {there}.")
        if self._on_call is not None:
            self._on_call(*_caller(ctx))
        start, outcome, observed = time.perf_counter(), "error", None
        try:
            async with self._progress(ctx, tool.title):
                answer = await self._calls.run(lambda: tool.call(params.arguments or {}))
            outcome, observed = "ok", answer.observed
        except LibrarianError as error:
            outcome = error.code
            return _result(wrap_untrusted("error", str(error)))
        except Exception:
            logger.exception("%s failed", params.name)
            return _result(
                f"{params.name} failed: an internal error of Librarian, written to its log. Try again; "
                "get_index_status shows what works."
            )
        finally:
            if self.observe is not None:
                seconds = time.perf_counter() - start
                self.observe(
                    "call", interface="mcp", operation=tool.name, outcome=outcome, seconds=seconds, answer=observed
                )
        links = answer.links if ctx.protocol_version >= _LINKS_SINCE else ()
        return _result(answer.text, links, answer.structured)

    @contextlib.asynccontextmanager
    async def _progress(self, ctx: Ctx, title: str) -> AsyncIterator[None]:
        """While the body runs, tell a caller that asked for progress every so often that work goes on."""
        start = time.monotonic()

        async def beat() -> None:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                while True:
                    await asyncio.sleep(self._heartbeat_s)
                    seconds = time.monotonic() - start
                    # Does nothing where no progress was asked for.
                    await ctx.session.report_progress(seconds, None, f"{title}: {seconds:.0f} s")

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()

    # -- resources ---------------------------------------------------------------------------------------------

    async def list_resources(self, _: Ctx, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """A page of documents, by path."""
        cursor = params.cursor if params is not None else None
        page, last = await self._run(lambda: self._handle.wait().resources(path_before(cursor) if cursor else None))
        listed = [
            types.Resource(
                uri=uri,
                name=inline(path_of(uri)),
                title=inline(title),
                mime_type=mime_type(file_type),
                annotations=types.Annotations(audience=["user", "assistant"], last_modified=last_modified),
            )
            for uri, title, file_type, last_modified in page
        ]
        return types.ListResourcesResult(resources=listed, next_cursor=cursor_after(last) if last else None)

    async def list_templates(
        self, _: Ctx, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """The one template that every document's address follows."""
        _on_one_page(params)
        template = types.ResourceTemplate(
            uri_template=TEMPLATE,
            name="document",
            title="A document of the library",
            description="By file path; a heading's anchor as fragment gives that section.",
            annotations=types.Annotations(audience=["user", "assistant"]),
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, _: Ctx, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """A document or, by the address's fragment, a section of it."""
        uri = str(params.uri)
        text = await self._run(lambda: read(self._handle.wait(), uri), uri=uri)
        return types.ReadResourceResult(contents=[text])

    async def initialized(self, ctx: Ctx, _: types.NotificationParams | None) -> None:
        """Remember whom to tell of changes."""
        if isinstance(ctx.lifespan_context, Connection):
            ctx.lifespan_context.session = ctx.session

    async def subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell this connection from now on when the resource has changed (protocol revisions up to 2025-11-25).

        HTTP without a session isn't offered subscriptions, for it has no way back. One that is asked for all the same
        is taken and leads to nothing: the conformance suite asks so, and takes a refusal for a fault.
        """
        uri, connection = str(params.uri), ctx.lifespan_context
        if isinstance(connection, Connection) and uri not in connection.uris:
            now = await self._fingerprint(uri)
            if uri not in connection.uris:  # asked twice at once, it is one watcher still
                self.watched.add(uri, now)
                connection.uris.add(uri)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Ctx, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """No longer tell this connection of that resource."""
        if isinstance(ctx.lifespan_context, Connection) and str(params.uri) in ctx.lifespan_context.uris:
            ctx.lifespan_context.uris.discard(str(params.uri))
            self.watched.remove(str(params.uri))
        return types.EmptyResult()

    async def listen(self, ctx: Ctx, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """Tell of changes on a stream of their own while it is open."""
        looked_at: list[str] = []
        try:
            for uri in params.notifications.resource_subscriptions or ():
                self.watched.add(uri, await self._fingerprint(uri))
                looked_at.append(uri)
            return await self._listen(ctx, params)
        finally:
            for uri in looked_at:
                self.watched.remove(uri)

    async def _fingerprint(self, uri: str) -> str:
        return await self._calls.run(lambda: resource_fingerprint(self._handle.wait(), uri))

    async def changed(self) -> list[str]:
        """Watched resources that aren't as they were. None of the calls: what isn't told now is never told."""
        watched = list(self.watched.seen)
        library = self._handle.wait
        now = await asyncio.to_thread(lambda: [resource_fingerprint(library(), uri) for uri in watched])
        return [uri for uri, fingerprint in zip(watched, now, strict=True) if self.watched.update(uri, fingerprint)]

    def close(self) -> None:
        """End open `subscriptions/listen` streams in good order."""
        self._listen.close()

    # -- prompts and completions ---------------------------------------------------------------------------------

    async def list_prompts(self, _: Ctx, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """All prompts, on one page."""
        _on_one_page(params)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=prompt.name,
                    title=prompt.title,
                    description=prompt.request.__doc__,
                    arguments=[
                        types.PromptArgument(name=name, description=field.description, required=field.is_required())
                        for name, field in prompt.request.model_fields.items()
                    ],
                )
                for prompt in self._prompts.values()
            ]
        )

    async def get_prompt(self, _: Ctx, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """A prompt, filled from the library. Raises `MCPError` for an unknown one."""
        prompt = self._prompts.get(params.name)
        if prompt is None:
            there = ", ".join(self._prompts)
            raise MCPError(
                types.INVALID_PARAMS, f"Unknown prompt {inline(shortened(params.name))}. There are: {there}."
            )
        text = await self._run(lambda: fill(prompt, self._handle.wait(), params.arguments or {}))
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompt.request.__doc__, messages=[message])

    async def complete(self, _: Ctx, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Values that a prompt's or the template's argument may have, given what is typed of it and the others."""
        ref, argument = params.ref, params.argument
        if isinstance(ref, types.PromptReference):
            if ref.name not in self._prompts:
                raise MCPError(types.INVALID_PARAMS, f"Unknown prompt {inline(shortened(ref.name))}.")
        elif str(ref.uri) != TEMPLATE:
            raise MCPError(types.INVALID_PARAMS, f"Unknown resource template {inline(shortened(str(ref.uri)))}.")
        kind = COMPLETED.get(argument.name)
        if kind is None:
            return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))
        filled = (params.context.arguments if params.context is not None else None) or {}
        values = await self._run(lambda: self._handle.wait().complete(kind, argument.value, filled))
        shown = [visible(value) for value in values[:MOST_COMPLETIONS]]  # as answers show it, and accepted like that
        completion = types.Completion(values=shown, total=len(values), has_more=len(values) > len(shown))
        return types.CompleteResult(completion=completion)

    async def _run(self, work: Callable[[], T], uri: str = "") -> T:
        """`work` in a thread, with `LibrarianError`s as protocol errors."""
        try:
            return await self._calls.run(work)
        except NotFound as error:
            raise MCPError(
                types.INVALID_PARAMS, wrap_untrusted("error", str(error)), {"uri": uri} if uri else None
            ) from error
        except LibrarianError as error:
            raise MCPError(types.INVALID_PARAMS, wrap_untrusted("error", str(error))) from error


def _on_one_page(params: types.PaginatedRequestParams | None) -> None:
    """Raises `MCPError` for a cursor: a list on one page gives none out."""
    if params is not None and params.cursor:
        raise MCPError(types.INVALID_PARAMS, inline(str(no_cursor(params.cursor))))


def _caller(ctx: Ctx) -> tuple[str, str]:
    """Name and version of the client; without a handshake or an envelope that tells them, its user agent."""
    if (params := ctx.session.client_params) is not None:
        return params.client_info.name, params.client_info.version
    headers = getattr(ctx.request, "headers", {})
    name, _, version = str(headers.get("user-agent", "")).partition("/")
    return name, version


def _definition(tool: Tool, products: Sequence[str]) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=with_products(tool, products),
        output_schema=dict(tool.output_schema) if tool.output_schema is not None else None,
        annotations=_RO if tool.read_only else _REPEATABLE,
    )


def _result(
    text: str, links: Sequence[dict[str, Any]] = (), structured: dict[str, Any] | None = None
) -> dict[str, Any]:
    content = [{"type": "text", "text": text}, *links]
    result = {"resultType": "complete", "content": content, "isError": structured is None}
    return result if structured is None else {**result, "structuredContent": structured}
