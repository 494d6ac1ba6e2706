"""REST: the operations at paths, with the tools' argument names, in query strings or JSON bodies."""

from __future__ import annotations

import asyncio
import json
import logging
import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from fastapi import FastAPI, Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from .. import __version__, schemas
from ..errors import Busy, CallerError, LibrarianError, shortened
from ..models import DRAFT
from .library_handle import Calls, LibraryHandle

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """Counts calls; `page` adds what the index is like at the moment."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
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

    def count(self, interface: str, operation: str, outcome: str, seconds: float, response: object) -> None:
        """Count a call, as `Calls` tells of it."""
        self._calls.labels(interface, operation, outcome).inc()
        self._seconds.labels(interface, operation).observe(seconds)
        if isinstance(response, schemas.SearchResponseBase):
            self._search_seconds.labels(response.mode).observe(response.took_ms / 1000)
            self._cached.labels(response.cache or "none").inc()
            for name, retriever in response.retrievers:
                if retriever.status == "ok":
                    self._retriever_seconds.labels(name).observe(retriever.ms / 1000)

    def page(self, status: schemas.StatusResponse, pending: int, streams: int) -> bytes:
        """All metrics in Prometheus' text format."""
        now = CollectorRegistry()
        gauges: dict[str, tuple[str, float]] = {
            "pending_calls": ("Calls that run or wait", pending),
            "sse_streams": ("Open SSE streams", streams),
            "ready": ("1 where the index is complete and all works", status.status == "ready"),
            "index_bytes": ("The index on disk", status.storage.disk_bytes),
            "failed_files": ("Files that can't be read", status.failures.total),
            "skipped_files": ("Files left out on purpose", status.skipped.total),
        }
        for name in ("documents", "emails", "chunks", "embedded_chunks", "products", "generation"):
            gauges[f"index_{name}"] = (f"The index's {name}", getattr(status, name))
        for name, (about, value) in gauges.items():
            Gauge(f"librarian_{name}", about, registry=now).set(value)
        entries = Gauge("librarian_cache_entries", "Entries of a cache", ["cache"], registry=now)
        lookups = Counter("librarian_cache_lookups", "Lookups in a cache", ["cache", "result"], registry=now)
        for name, cache in status.caches:
            entries.labels(name).set(cache.entries)
            lookups.labels(name, "hit").inc(cache.hits)
            lookups.labels(name, "miss").inc(cache.misses)
        return generate_latest(self._registry) + generate_latest(now)


logger = logging.getLogger(__name__)

CODES = {404: "not_found", 405: "method_not_allowed"}
_HINTS = {404: "See /openapi.json for what there is.", 405: "See /openapi.json for the methods of each path."}


def error_response(
    status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error in its one shape."""
    body = schemas.ErrorResponse(error=schemas.ErrorBody(code=code, message=message, hint=hint))
    return JSONResponse(body.model_dump(), status, headers=dict(headers or {}))


async def on_error(_: Request, error: Exception) -> Response:
    """Exception handler for whatever a route raises. What isn't ours to raise is a bug, and logged."""
    if isinstance(error, LibrarianError):
        headers = {"retry-after": "1"} if isinstance(error, Busy) else None
        return error_response(error.http_status, error.code, error.message, error.hint, headers)
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
        # of all routes: the framework names the methods of the first alone
        routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
        known = {method for route in routes for method in getattr(route, "methods", None) or ()}
        headers = {"allow": ", ".join(sorted(known | {"HEAD"} if "GET" in known else known))}
    return error_response(error.status_code, code, message, _HINTS.get(error.status_code, ""), headers)


HEALTH: Final = ("/health", "/api/health")
READY: Final = "/ready"
Endpoint = Callable[[Request], Awaitable[Response]]
DRAFT_HEADER: Final = "librarian-draft"  #: the page sends `1` with a question that is still being typed
SEARCHES: Final[Mapping[str, schemas.Operation]] = {
    "documents": schemas.OPERATIONS["search_documentation"],
    "emails": schemas.OPERATIONS["search_emails"],
}
PATHS: Final[Mapping[str, tuple[schemas.Operation, tuple[str, ...]]]] = {
    "/api/document": (schemas.OPERATIONS["get_document"], ("GET", "POST")),
    "/api/thread": (schemas.OPERATIONS["get_email_thread"], ("GET", "POST")),
    "/api/products": (schemas.OPERATIONS["list_products"], ("GET",)),
    "/api/components": (schemas.OPERATIONS["list_components"], ("GET",)),
    "/api/facets": (schemas.OPERATIONS["list_facets"], ("GET",)),
    "/api/analyze": (schemas.OPERATIONS["analyze_query"], ("GET", "POST")),
    "/api/cache": (schemas.OPERATIONS["clear_search_cache"], ("DELETE",)),
    "/api/status": (schemas.OPERATIONS["get_index_status"], ("GET",)),
    "/api/registry": (schemas.OPERATIONS["search_registry"], ("GET", "POST")),
}
_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": schemas.ErrorResponse, "description": "Wrong arguments"},
    401: {"model": schemas.ErrorResponse, "description": "The token is missing or wrong"},
    403: {"model": schemas.ErrorResponse, "description": "A page of another origin asks"},
    404: {"model": schemas.ErrorResponse, "description": "What was named isn't there"},
    405: {"model": schemas.ErrorResponse, "description": "The path has other methods, which Allow names"},
    408: {"model": schemas.ErrorResponse, "description": "The request took too long to arrive"},
    413: {"model": schemas.ErrorResponse, "description": "The body is too large"},
    421: {"model": schemas.ErrorResponse, "description": "The server doesn't answer under this host name"},
    429: {"model": schemas.ErrorResponse, "description": "More requests a minute than allowed; see Retry-After"},
    431: {"model": schemas.ErrorResponse, "description": "The head of the request is too large"},
    500: {"model": schemas.ErrorResponse, "description": "A bug of Librarian, written to its log"},
    503: {"model": schemas.ErrorResponse, "description": "Busy, or a part doesn't work at the moment"},
}


def add_routes(app: FastAPI, handle: LibraryHandle, calls: Calls, limits: schemas.ResultLimits) -> None:
    """Register all routes over one library, with their schemas for OpenAPI."""

    async def respond(operation: schemas.Operation, arguments: Mapping[str, object]) -> Response:
        call = partial(handle.call, operation.name, arguments)
        body = await calls.answer("rest", operation.name, call, schemas.ResponseModel.as_json)
        return Response(body, media_type="application/json")

    async def search(request: Request) -> Response:
        DRAFT.set(request.headers.get(DRAFT_HEADER) == "1")
        arguments = await arguments_of(request)
        searched = {"type": arguments.pop("type")} if "type" in arguments else {}
        operation = SEARCHES[schemas.validated(schemas.FacetsRequest, searched, "search").type]
        names = ["type", *operation.request.model_fields]
        for unknown in arguments.keys() - {*names, *schemas.ALIASES}:
            raise schemas.unknown_argument(operation.name, unknown, arguments, names)
        return await respond(operation, arguments)

    def endpoint_of(operation: schemas.Operation) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await respond(operation, await arguments_of(request))

        return endpoint

    def add(path: str, methods: Sequence[str], endpoint: Endpoint, operation: schemas.Operation, answer: Any) -> None:
        for method in methods:
            app.add_api_route(
                path,
                endpoint,
                methods=[method],
                response_model=answer,
                responses=_ERRORS,
                summary=operation.title,
                description=operation.description,
                operation_id=f"{method.lower()}{path.replace('/', '_')}",
                openapi_extra=_taken(operation, method, limits),
            )

    add(
        "/api/search",
        ("GET", "POST"),
        search,
        SEARCHES["documents"],
        schemas.SearchResponse | schemas.EmailSearchResponse,
    )
    for path, (operation, methods) in PATHS.items():
        add(path, methods, endpoint_of(operation), operation, operation.response)

    async def health(request: Request) -> JSONResponse:
        """Answered outside the queue: a busy server is still alive, but not `READY` while it reads or lacks a part."""
        health = await asyncio.to_thread(lambda: handle.wait().health())
        is_ready = health.ready or request.url.path != READY
        return JSONResponse(health.model_dump(mode="json"), 200 if is_ready else 503)

    for path in (*HEALTH, READY):
        app.add_api_route(
            path,
            health,
            methods=["GET"],
            response_model=schemas.HealthResponse,
            responses={503: {"model": schemas.HealthResponse, "description": "Not ready: `reasons` says why"}}
            if path == READY
            else None,
            summary="Whether the whole library can answer" if path == READY else "Whether all is well",
            operation_id=f"get{path.replace('/', '_')}",
        )


# -- OpenAPI


def _taken(operation: schemas.Operation, method: str, limits: schemas.ResultLimits) -> dict[str, Any]:
    """What a route takes. A body of `/api/search` is of one type; of its parameters words say which they are for."""
    if operation is SEARCHES["documents"]:
        of_types = {kind: _schema(one, limits) for kind, one in SEARCHES.items()}
        for kind, schema in of_types.items():
            schema["properties"]["type"] = {"enum": [kind]}
        of_types["documents"]["properties"]["type"]["default"] = "documents"
        of_types["emails"]["required"] = ["type"]
        if method == "POST":
            return _body({"oneOf": list(of_types.values())})
        return {"parameters": _search_parameters(of_types)}
    schema = _schema(operation, limits)
    if not schema["properties"]:
        return {}
    return _body(schema) if method == "POST" else {"parameters": _parameters(schema)}


def _schema(operation: schemas.Operation, limits: schemas.ResultLimits) -> dict[str, Any]:
    """The arguments; required text may not be blank, which schemas for models leave out to be short."""
    schema = schemas.input_schema(operation.request, limits, for_models=False)
    needed = schema.get("required", [])
    properties = {
        name: {**item, "pattern": r"\S"} if name in needed and item.get("type") == "string" else item
        for name, item in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _search_parameters(of_types: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    about_type = {"enum": list(of_types), "default": "documents", "description": "What to search"}
    properties = {"type": about_type, "q": of_types["documents"]["properties"]["query"]}
    for kind, schema in of_types.items():
        for name, item in schema["properties"].items():
            is_shared = all(name in other["properties"] for other in of_types.values())
            about = item.get("description", "") + ("" if is_shared else f" (of {kind})")
            properties.setdefault(name, {**item, "description": about.strip()})
    del properties["query"]
    return _parameters({"properties": properties})


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
