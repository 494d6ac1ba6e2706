"""One shape for every answer: the wire model as JSON, or `{error: {code, message, hint}}`."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from ..schemas import ErrorBody, ErrorResponse
from ..vocabulary.errors import Busy, CallerError, LibrarianError, NotFound

logger = logging.getLogger(__name__)

_CODES = {404: "not_found", 405: "method_not_allowed"}
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
