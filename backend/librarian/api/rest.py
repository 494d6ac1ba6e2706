"""REST: the verbs at paths, with the tools' argument names, in query strings or JSON bodies."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from .. import schemas
from ..errors import Busy, CallerError, LibrarianError, NotFound
from ..models import DRAFT, Deadline, Observer
from ..schemas import (
    SEARCH_REGISTRY,
    Argument,
    Counts,
    Desk,
    EmailSearchAnswer,
    ErrorAnswer,
    ErrorBody,
    HealthAnswer,
    Operation,
    SearchAnswer,
    ask,
    checked,
    named,
    schema_of,
    shortened,
)
from .calls import Calls

logger = logging.getLogger(__name__)

_CODES = {404: "not_found", 405: "method_not_allowed"}
_HINTS = {404: "See /openapi.json for what there is.", 405: "See /openapi.json for the methods of each path."}


def error_response(
    status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error in its one shape."""
    body = ErrorAnswer(error=ErrorBody(code=code, message=message, hint=hint))
    return JSONResponse(body.model_dump(), status, headers=dict(headers or {}))


def status_of(error: LibrarianError) -> int:
    """Whose fault it is, as HTTP says it: 404 not there, 400 the caller's, 503 ours for now."""
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, Busy):
        return 503
    return 400 if isinstance(error, CallerError) else 503


def failed(error: Exception) -> JSONResponse:
    """The answer to a request that raised `error`. What isn't ours to raise is a bug, and logged."""
    if isinstance(error, LibrarianError):
        headers = {"retry-after": "1"} if isinstance(error, Busy) else None
        return error_response(status_of(error), error.code, error.message, error.hint, headers)
    logger.error("A request failed", exc_info=error)
    return error_response(
        500,
        "internal",
        "An internal error of Librarian, written to its log.",
        "Try again; see /api/status.",
    )


async def on_error(_: Request, error: Exception) -> Response:
    """Exception handler for whatever a route raises."""
    return failed(error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Exception handler for unknown paths, wrong methods and the like."""
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path}: {error.detail}."
    code = _CODES.get(error.status_code, "bad_request")
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


TYPE = Argument("type", description="What to search", limits={"enum": ["documents", "emails"], "default": "documents"})
OBSERVED = {"mode", "took_ms", "cache", "legs"}  #: what `metrics` counts of an answer
HEALTH = ("/health", "/api/health")
READY = "/ready"
DRAFT_HEADER = "librarian-draft"  #: the page sends `1` with a question that is still being typed
_BY_TYPE: Mapping[str, Operation] = {"documents": schemas.SEARCH, "emails": schemas.SEARCH_EMAILS}


@dataclass(frozen=True, slots=True)
class Path:
    """A verb's place."""

    path: str
    verb: Operation
    methods: tuple[str, ...] = ("GET",)


PATHS: tuple[Path, ...] = (
    Path("/api/document", schemas.DOCUMENT, ("GET", "POST")),
    Path("/api/thread", schemas.THREAD, ("GET", "POST")),
    Path("/api/products", schemas.PRODUCTS),
    Path("/api/components", schemas.COMPONENTS),
    Path("/api/facets", schemas.FACETS),
    Path("/api/analyze", schemas.ANALYZE, ("GET", "POST")),
    Path("/api/cache", schemas.CLEAR_CACHE, ("DELETE",)),
    Path("/api/status", schemas.STATUS),
    Path("/api/registry", SEARCH_REGISTRY, ("GET", "POST")),
)
_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "Wrong arguments"},
    401: {"model": ErrorAnswer, "description": "The token is missing or wrong"},
    403: {"model": ErrorAnswer, "description": "A page of another origin asks"},
    404: {"model": ErrorAnswer, "description": "What was named isn't there"},
    405: {"model": ErrorAnswer, "description": "The path has other methods, which Allow names"},
    408: {"model": ErrorAnswer, "description": "The request took too long to arrive"},
    413: {"model": ErrorAnswer, "description": "The body is too large"},
    421: {"model": ErrorAnswer, "description": "The server doesn't answer under this host name"},
    429: {"model": ErrorAnswer, "description": "More requests a minute than allowed; see Retry-After"},
    431: {"model": ErrorAnswer, "description": "The head of the request is too large"},
    500: {"model": ErrorAnswer, "description": "A bug of Librarian, written to its log"},
    503: {"model": ErrorAnswer, "description": "Busy, or a part doesn't work at the moment"},
}


class Api:
    """The REST routes over one desk."""

    def __init__(self, desk: Desk, calls: Calls, observe: Observer, counts: Counts = Counts()) -> None:
        self._desk = desk
        self._calls = calls
        self._observe = observe
        self._counts = counts

    def add_to(self, app: FastAPI) -> None:
        """Register all routes, with their schemas for OpenAPI."""
        for method in ("GET", "POST"):
            _add(
                app,
                "/api/search",
                method,
                self._search,
                schemas.SEARCH,
                _searching(method, self._counts),
                SearchAnswer | EmailSearchAnswer,
            )
        for place in PATHS:
            for method in place.methods:
                _add(
                    app,
                    place.path,
                    method,
                    self._endpoint(place.verb),
                    place.verb,
                    _asking(method, place.verb.arguments, self._counts),
                    place.verb.answer,
                )
        for path in HEALTH:
            app.add_api_route(
                path,
                self._health,
                methods=["GET"],
                response_model=HealthAnswer,
                summary="Whether all is well",
                operation_id=f"get{path.replace('/', '_')}",
            )
            add_head(app, path, self._health)
        app.add_api_route(
            READY,
            self._ready,
            methods=["GET"],
            response_model=HealthAnswer,
            responses={503: {"model": HealthAnswer, "description": "Not ready: `reasons` says why"}},
            summary="Whether the server can answer from the whole library",
            operation_id="get_ready",
        )
        add_head(app, READY, self._ready)

    async def _health(self) -> JSONResponse:
        """Answered outside the queue: a busy server is still alive."""
        answer = await asyncio.to_thread(self._desk.health)
        return JSONResponse(answer.model_dump(mode="json"))

    async def _ready(self) -> JSONResponse:
        """As health, with 503 while the library is read for the first time or something doesn't work."""
        answer = await asyncio.to_thread(self._desk.health)
        return JSONResponse(answer.model_dump(mode="json"), 200 if answer.ready else 503)

    async def _search(self, request: Request) -> Response:
        DRAFT.set(request.headers.get(DRAFT_HEADER) == "1")
        try:
            given = await given_in(request)
            kind = str(checked("search", (TYPE,), {"type": given.get("type")}).get("type", TYPE.limits["default"]))
            if kind not in _BY_TYPE:
                raise CallerError(f"type {shortened(kind)} is unknown.", hint="Use documents or emails.")
        except LibrarianError as error:
            return failed(error)
        return await self._answered(_BY_TYPE[kind], given, (TYPE,))

    def _endpoint(self, verb: Operation) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                given = await given_in(request)
            except LibrarianError as error:
                return failed(error)
            return await self._answered(verb, given)

        return endpoint

    async def _answered(self, verb: Operation, given: Mapping[str, object], also: Sequence[Argument] = ()) -> Response:
        """`also`: arguments of the path, beside the verb's."""
        start, outcome, told = time.perf_counter(), "error", None

        def written(budget: Deadline) -> tuple[Mapping[str, object], str]:
            wanted = named(verb.name, (*also, *verb.arguments), given)
            asked = {name: value for name, value in wanted.items() if not any(item.name == name for item in also)}
            answer = ask(self._desk, verb, asked, budget)
            return answer.as_fields(OBSERVED), answer.as_json()

        try:
            told, body = await self._calls.run(written)
            outcome = "ok"
            return Response(body, media_type="application/json")
        except LibrarianError as error:
            outcome = error.code
            return failed(error)
        except Exception as error:
            return failed(error)
        finally:
            seconds = time.perf_counter() - start
            self._observe("call", door="rest", verb=verb.name, outcome=outcome, seconds=seconds, answer=told)


async def given_in(request: Request) -> dict[str, object]:
    """Arguments of a request: the JSON body of a POST, else the query string (`q` is `query`).

    Raises `CallerError` for a body that isn't a JSON object, and for an argument in both or twice.
    """
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


def _searching(method: str, counts: Counts) -> dict[str, Any]:
    """What `/api/search` takes, for OpenAPI: a body is of one type; which type a parameter is for, words alone say."""
    if method == "POST":
        return _body({"oneOf": [_search_of(kind, counts) for kind in _BY_TYPE]})
    kinds: dict[str, list[str]] = {}
    items: dict[str, Argument] = {}
    for kind, verb in _BY_TYPE.items():
        for item in verb.arguments:
            kinds.setdefault(item.name, []).append(kind)
            items[item.name] = item
    parameters = [_parameter(TYPE, counts)]
    for name, item in items.items():
        parameter = _parameter(item, counts)
        if len(kinds[name]) < len(_BY_TYPE):
            parameter["description"] = f"{parameter['description']} (of {kinds[name][0]})".strip()
        parameters.append(parameter)
    return {"parameters": [{**each, "name": "q"} if each["name"] == "query" else each for each in parameters]}


def _search_of(kind: str, counts: Counts) -> dict[str, Any]:
    """The body of a search of one type, which only that of documents need not name."""
    default = TYPE.limits["default"] == kind
    limits = {"enum": [kind], **({"default": kind} if default else {})}
    return _schema((Argument("type", required=not default, limits=limits), *_BY_TYPE[kind].arguments), counts)


def _asking(method: str, arguments: Sequence[Argument], counts: Counts) -> dict[str, Any]:
    """What a path takes, for OpenAPI."""
    if not arguments:
        return {}
    if method == "POST":
        return _body(_schema(arguments, counts))
    return {"parameters": [_parameter(item, counts) for item in arguments]}


def _body(schema: Mapping[str, object]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _schema(arguments: Sequence[Argument], counts: Counts) -> dict[str, object]:
    properties = {item.name: _property(item, counts) for item in arguments}
    return {**schema_of(arguments, counts), "properties": properties}


def _property(item: Argument, counts: Counts) -> dict[str, object]:
    """An argument's schema; what is needed may not be blank, which schemas for models leave unsaid to be short."""
    blank = {"pattern": r"\S"} if item.required and item.kind == "text" and "enum" not in item.limits else {}
    return {**item.schema(counts), **blank}


def _parameter(item: Argument, counts: Counts) -> dict[str, Any]:
    schema = _property(item, counts)
    description = schema.pop("description", "")
    return {"name": item.name, "in": "query", "required": item.required, "description": description, "schema": schema}


def _add(
    app: FastAPI,
    path: str,
    method: str,
    endpoint: Callable[[Request], Awaitable[Response]],
    verb: Operation,
    taken: dict[str, Any],
    answer: Any,
) -> None:
    app.add_api_route(
        path,
        endpoint,
        methods=[method],
        response_model=answer,
        responses=_ERRORS,
        summary=verb.title,
        description=verb.description,
        operation_id=f"{method.lower()}{path.replace('/', '_')}",
        openapi_extra=taken,
    )
    if method == "GET":
        add_head(app, path, endpoint)
