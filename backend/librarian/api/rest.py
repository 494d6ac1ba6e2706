"""REST: the operations at paths, with the tools' argument names, in query strings or JSON bodies."""

from __future__ import annotations

import asyncio
import json
import logging
import platform
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from .. import __version__
from ..errors import Busy, CallerError, LibrarianError, NotFound, shortened
from ..models import DRAFT, Observer
from ..schemas import (
    ALIASES,
    OPERATIONS,
    EmailSearchResponse,
    ErrorBody,
    ErrorResponse,
    FacetsRequest,
    HealthResponse,
    Operation,
    ResponseModel,
    ResultLimits,
    SearchResponse,
    StatusResponse,
    input_schema,
    unknown_argument,
    validated,
)
from .library_handle import Calls, LibraryHandle, observed

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics(Collector):
    """An `Observer` that counts calls; `page` adds what the index is like at the moment."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._registry)
        build = Info("librarian_build", "The running version", registry=self._registry)
        build.info({"version": __version__, "python": platform.python_version()})

        def histogram(name: str, about: str, *labels: str) -> Histogram:
            return Histogram(f"librarian_{name}_seconds", about, labels, buckets=_SECONDS, registry=self._registry)

        labels = ("interface", "operation", "outcome")
        self._calls = Counter("librarian_calls", "Calls by their outcome", labels, registry=self._registry)
        self._seconds = histogram("call", "Time of calls", "interface", "operation")
        self._search_seconds = histogram("search", "Time of searches by the mode that ran", "mode")
        self._retriever_seconds = histogram("retriever", "Time of a search's retrievers that ran", "retriever")
        self._cached = Counter("librarian_cached_answers", "Searches by cache", ["cache"], registry=self._registry)
        self._lock = threading.Lock()
        self._now: tuple[StatusResponse, int, int] | None = None
        self._registry.register(self)

    def __call__(self, event: str, **fields: object) -> None:
        """Count a `call`: interface, operation, outcome, seconds, and the answer where there is one."""
        if event != "call":
            return
        interface, operation, outcome = (str(fields[name]) for name in ("interface", "operation", "outcome"))
        self._calls.labels(interface, operation, outcome).inc()
        seconds = fields["seconds"]
        assert isinstance(seconds, float)
        self._seconds.labels(interface, operation).observe(seconds)
        answer = fields.get("answer")
        if isinstance(answer, Mapping) and "retrievers" in answer:
            self._search(answer)

    def _search(self, answer: Mapping[str, Any]) -> None:
        self._search_seconds.labels(answer["mode"]).observe(answer["took_ms"] / 1000)
        self._cached.labels(answer.get("cache") or "none").inc()
        for name, retriever in answer["retrievers"].items():
            if retriever["status"] == "ok":
                self._retriever_seconds.labels(name).observe(retriever.get("ms", 0.0) / 1000)

    def page(self, status: StatusResponse, pending: int, streams: int) -> bytes:
        """All metrics in Prometheus' text format."""
        with self._lock:
            self._now = (status, pending, streams)
            return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """Sizes and counters that the library knows."""
        if self._now is None:
            return
        status, pending, streams = self._now
        yield GaugeMetricFamily("librarian_pending_calls", "Calls that run or wait", pending)
        yield GaugeMetricFamily("librarian_sse_streams", "Open SSE streams", streams)
        yield GaugeMetricFamily(
            "librarian_ready", "1 where the index is complete and all works", float(status.status == "ready")
        )
        for name in ("documents", "emails", "chunks", "embedded_chunks", "products", "generation"):
            yield GaugeMetricFamily(f"librarian_index_{name}", f"The index's {name}", getattr(status, name))
        yield GaugeMetricFamily("librarian_index_bytes", "The index on disk", status.storage.disk_bytes)
        yield GaugeMetricFamily("librarian_failed_files", "Files that can't be read", status.failures.total)
        yield GaugeMetricFamily("librarian_skipped_files", "Files left out on purpose", status.skipped.total)
        entries = GaugeMetricFamily("librarian_cache_entries", "Entries of a cache", labels=["cache"])
        lookups = CounterMetricFamily("librarian_cache_lookups", "Lookups in a cache", labels=["cache", "result"])
        for name, cache in status.caches:
            entries.add_metric([name], cache.entries)
            lookups.add_metric([name, "hit"], cache.hits)
            lookups.add_metric([name, "miss"], cache.misses)
        yield entries
        yield lookups


logger = logging.getLogger(__name__)

CODES = {404: "not_found", 405: "method_not_allowed"}
_HINTS = {404: "See /openapi.json for what there is.", 405: "See /openapi.json for the methods of each path."}


def error_response(
    status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error in its one shape."""
    body = ErrorResponse(error=ErrorBody(code=code, message=message, hint=hint))
    return JSONResponse(body.model_dump(), status, headers=dict(headers or {}))


def status_of(error: LibrarianError) -> int:
    """Whose fault it is, as HTTP says it: 404 not there, 400 the caller's, 503 ours for now."""
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, Busy):
        return 503
    return 400 if isinstance(error, CallerError) else 503


async def on_error(_: Request, error: Exception) -> Response:
    """Exception handler for whatever a route raises."""
    return failed(error)


def failed(error: Exception) -> Response:
    """The answer to a request that raised `error`. What isn't ours to raise is a bug, and logged."""
    if isinstance(error, LibrarianError):
        headers = {"retry-after": "1"} if isinstance(error, Busy) else None
        return error_response(status_of(error), error.code, error.message, error.hint, headers)
    logger.error("A request failed", exc_info=error)
    return error_response(
        500, "internal", "An internal error of Librarian, written to its log.", "Try again; see /api/status."
    )


async def on_http_error(request: Request, error: Exception) -> Response:
    """Exception handler for unknown paths, wrong methods and the like."""
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path}: {error.detail}."
    code = CODES.get(error.status_code, "bad_request")
    headers = error.headers
    if error.status_code == 405:
        known = _methods_at(request)
        headers = {"allow": ", ".join(sorted(known))} if known else headers
    return error_response(error.status_code, code, message, _HINTS.get(error.status_code, ""), headers)


def _methods_at(request: Request) -> set[str]:
    """What this path answers, over all its routes: the framework names the methods of the first alone."""
    return {
        method
        for route in request.app.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in getattr(route, "methods", None) or ()
    }


OBSERVED: Final = {"mode", "took_ms", "cache", "retrievers"}  #: what `metrics` counts of a response
HEALTH: Final = ("/health", "/api/health")
READY: Final = "/ready"
DRAFT_HEADER: Final = "librarian-draft"  #: the page sends `1` with a question that is still being typed
SEARCHES: Final[Mapping[str, Operation]] = {
    "documents": OPERATIONS["search_documentation"],
    "emails": OPERATIONS["search_emails"],
}
PATHS: Final[Mapping[str, tuple[Operation, tuple[str, ...]]]] = {
    "/api/document": (OPERATIONS["get_document"], ("GET", "POST")),
    "/api/thread": (OPERATIONS["get_email_thread"], ("GET", "POST")),
    "/api/products": (OPERATIONS["list_products"], ("GET",)),
    "/api/components": (OPERATIONS["list_components"], ("GET",)),
    "/api/facets": (OPERATIONS["list_facets"], ("GET",)),
    "/api/analyze": (OPERATIONS["analyze_query"], ("GET", "POST")),
    "/api/cache": (OPERATIONS["clear_search_cache"], ("DELETE",)),
    "/api/status": (OPERATIONS["get_index_status"], ("GET",)),
    "/api/registry": (OPERATIONS["search_registry"], ("GET", "POST")),
}
_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorResponse, "description": "Wrong arguments"},
    401: {"model": ErrorResponse, "description": "The token is missing or wrong"},
    403: {"model": ErrorResponse, "description": "A page of another origin asks"},
    404: {"model": ErrorResponse, "description": "What was named isn't there"},
    405: {"model": ErrorResponse, "description": "The path has other methods, which Allow names"},
    408: {"model": ErrorResponse, "description": "The request took too long to arrive"},
    413: {"model": ErrorResponse, "description": "The body is too large"},
    421: {"model": ErrorResponse, "description": "The server doesn't answer under this host name"},
    429: {"model": ErrorResponse, "description": "More requests a minute than allowed; see Retry-After"},
    431: {"model": ErrorResponse, "description": "The head of the request is too large"},
    500: {"model": ErrorResponse, "description": "A bug of Librarian, written to its log"},
    503: {"model": ErrorResponse, "description": "Busy, or a part doesn't work at the moment"},
}


class Api:
    """The REST routes over one library."""

    def __init__(self, handle: LibraryHandle, calls: Calls, observe: Observer, limits: ResultLimits) -> None:
        self._handle = handle
        self._calls = calls
        self._observe = observe
        self._limits = limits

    def add_to(self, app: FastAPI) -> None:
        """Register all routes, with their schemas for OpenAPI."""
        for method in ("GET", "POST"):
            taken = self._search_arguments(method)
            response = SearchResponse | EmailSearchResponse
            _add(app, "/api/search", method, self._search, SEARCHES["documents"], taken, response)
        for path, (operation, methods) in PATHS.items():
            for method in methods:
                taken = self._arguments(method, operation)
                _add(app, path, method, self._endpoint(operation), operation, taken, operation.response)
        not_ready: dict[int | str, dict[str, Any]]
        not_ready = {503: {"model": HealthResponse, "description": "Not ready: `reasons` says why"}}
        for path in (*HEALTH, READY):
            app.add_api_route(
                path,
                self._health,
                methods=["GET"],
                response_model=HealthResponse,
                responses=not_ready if path == READY else None,
                summary="Whether the whole library can answer" if path == READY else "Whether all is well",
                operation_id=f"get{path.replace('/', '_')}",
            )
            add_head(app, path, self._health)

    async def _health(self, request: Request) -> JSONResponse:
        """Answered outside the queue: a busy server is still alive, but not `READY` while it reads or lacks a part."""
        health = await asyncio.to_thread(lambda: self._handle.wait().health())
        is_ready = health.ready or request.url.path != READY
        return JSONResponse(health.model_dump(mode="json"), 200 if is_ready else 503)

    async def _search(self, request: Request) -> Response:
        DRAFT.set(request.headers.get(DRAFT_HEADER) == "1")
        arguments = await arguments_of(request)
        searched = {"type": arguments.pop("type")} if "type" in arguments else {}
        operation = SEARCHES[validated(FacetsRequest, searched, "search").type]
        names = ["type", *operation.request.model_fields]
        for unknown in arguments.keys() - {*names, *ALIASES}:
            raise unknown_argument(operation.name, unknown, arguments, names)
        return await self._respond(operation, arguments)

    def _endpoint(self, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await self._respond(operation, await arguments_of(request))

        return endpoint

    async def _respond(self, operation: Operation, arguments: Mapping[str, object]) -> Response:
        def call() -> tuple[Mapping[str, object], str]:
            response = self._handle.call(operation.name, arguments)
            assert isinstance(response, ResponseModel)
            return response.as_fields(OBSERVED), response.as_json()

        try:
            with observed(self._observe, "rest", operation.name) as seen:
                seen["answer"], body = await self._calls.run(call)
                return Response(body, media_type="application/json")
        except LibrarianError:
            raise
        except Exception as error:
            return failed(error)

    # -- OpenAPI

    def _schema(self, operation: Operation) -> dict[str, Any]:
        """The arguments; required text may not be blank, which schemas for models leave out to be short."""
        schema = input_schema(operation.request, self._limits, for_models=False)
        needed = schema.get("required", [])
        properties = {
            name: {**item, "pattern": r"\S"} if name in needed and item.get("type") == "string" else item
            for name, item in schema["properties"].items()
        }
        return {**schema, "properties": properties}

    def _arguments(self, method: str, operation: Operation) -> dict[str, Any]:
        schema = self._schema(operation)
        if not schema["properties"]:
            return {}
        return _body(schema) if method == "POST" else {"parameters": _parameters(schema)}

    def _search_arguments(self, method: str) -> dict[str, Any]:
        """What `/api/search` takes: a body is of one type; which type a parameter is for is described in words."""
        schemas = {kind: self._schema(operation) for kind, operation in SEARCHES.items()}
        if method == "POST":
            return _body({"oneOf": [_of_type(kind, schema) for kind, schema in schemas.items()]})
        properties = {"type": input_schema(FacetsRequest)["properties"]["type"] | {"description": "What to search"}}
        properties["q"] = schemas["documents"]["properties"].pop("query")
        for kind, schema in schemas.items():
            for name, item in schema["properties"].items():
                is_shared = all(name in other["properties"] for other in schemas.values())
                about = item.get("description", "") + ("" if is_shared else f" (of {kind})")
                properties.setdefault(name, {**item, "description": about.strip()})
        del properties["query"]
        return {"parameters": _parameters({"properties": properties})}


def _of_type(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a search of one type, which only a search of emails must name."""
    if kind == "documents":
        return {**schema, "properties": {"type": {"enum": [kind], "default": kind}, **schema["properties"]}}
    needed = ["type", *schema.get("required", [])]
    return {**schema, "properties": {"type": {"enum": [kind]}, **schema["properties"]}, "required": needed}


def _body(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _parameters(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", []),
            "description": item.get("description", ""),
            "schema": {key: value for key, value in item.items() if key != "description"},
        }
        for name, item in schema["properties"].items()
    ]


async def arguments_of(request: Request) -> dict[str, object]:
    """Arguments of a request: the JSON body of a POST, else the query string. Raises `CallerError` for wrong ones."""
    if "q" in request.query_params and "query" in request.query_params:
        raise CallerError("The question is given twice, as q and as query.", hint="Give it once.")
    values: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        values.setdefault("query" if name == "q" else name, []).append(value)
    given: dict[str, object] = {name: many[0] if len(many) == 1 else many for name, many in values.items()}
    if request.method != "POST":
        return given
    try:
        body = json.loads(await request.body() or b"{}")
    except ClientDisconnect:
        raise CallerError("The body was cut short.", hint="Send it again.") from None
    except (ValueError, RecursionError) as error:
        raise CallerError(f"The body is not JSON: {error}.", hint='Send an object such as {"query": "…"}.') from None
    if not isinstance(body, dict):
        raise CallerError(f"The body is {shortened(body)}, not an object.", hint='Send one such as {"query": "…"}.')
    if twice := sorted(set(given) & set(body)):
        raise CallerError(f"{twice[0]} is given in the URL and in the body.", hint="Give it once.")
    return {**given, **body}


def add_head(app: FastAPI, path: str, endpoint: Callable[..., Awaitable[Response]]) -> None:
    """Have `path`, which GET is answered at, answer HEAD too, as HTTP has it; descriptions name GET alone."""
    app.add_api_route(path, endpoint, methods=["HEAD"], include_in_schema=False)


def _add(
    app: FastAPI,
    path: str,
    method: str,
    endpoint: Callable[[Request], Awaitable[Response]],
    operation: Operation,
    taken: dict[str, Any],
    answer: Any,
) -> None:
    app.add_api_route(
        path,
        endpoint,
        methods=[method],
        response_model=answer,
        responses=_ERRORS,
        summary=operation.title,
        description=operation.description,
        operation_id=f"{method.lower()}{path.replace('/', '_')}",
        openapi_extra=taken,
    )
    if method == "GET":
        add_head(app, path, endpoint)
