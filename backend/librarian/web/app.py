"""One application for one port: REST, the page, health, metrics, and MCP's routes grafted among them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

from ..api.library_handle import LibraryHandle, mcp_routes
from ..api.rest import CONTENT_TYPE, HEALTH, READY, Metrics, add_routes, on_error, on_http_error
from ..api.security import Guard, Rules
from ..errors import LibrarianError
from ..schemas import ResultLimits
from .pages import PATHS, Pages

if TYPE_CHECKING:
    from ..api.mcp import McpServer
    from ..library import Librarian

_STATIC = Path(__file__).parent / "static"
#: The page's views ask for the token themselves; health and readiness hold numbers.
OPEN_PATHS = frozenset({*PATHS, "/health", READY, "/favicon.ico", "/static/"})


class _Shell(StaticFiles):
    """The page's files. Browsers ask at each visit whether they are still good: after an upgrade none is old."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        response = super().file_response(*given, **named)
        response.headers["cache-control"] = "no-cache"
        return response


def build_app(
    library: Librarian | LibraryHandle,
    *,
    token: str | None = None,
    endpoint: str = "/mcp",
    version: str = "",
    limits: ResultLimits = ResultLimits(),
    mcp_server: McpServer | None = None,
    **rules_: Any,
) -> FastAPI:
    """The web application over `library`; its lifespan runs the MCP server, so serve it with lifespan on.

    `token` and `rules_` are what the guard asks for (`Rules`), `endpoint` is the path of MCP's Streamable HTTP.
    An `mcp_server` that other transports share must not be running yet.
    """
    handle = LibraryHandle.of(library)
    if mcp_server is None:
        from ..api.mcp import McpServer  # the SDK takes a while to import

        mcp_server = McpServer(handle, limits=limits, version=version)
    rules = Rules(token=token or None, open_paths=OPEN_PATHS, probes=(*HEALTH, READY), **rules_)
    metrics, mcp = Metrics(), mcp_server
    mcp.calls.observe = metrics.count

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.run():
            yield

    app = FastAPI(
        title="Librarian",
        version=version or "0",
        description="Finds the right passage in a folder of documentation and email.",
        lifespan=lifespan,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
    )
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(LibrarianError, on_error)
    add_routes(app, handle, mcp.calls, limits)

    async def metrics_page(_: Request) -> Response:
        status = await mcp.calls.run(lambda: handle.wait().status())
        return Response(metrics.page(status, mcp.calls.pending, mcp.streams), media_type=CONTENT_TYPE)

    async def icon(_: Request) -> Response:
        return FileResponse(_STATIC / "icon.svg", media_type="image/svg+xml")

    app.add_route("/metrics", metrics_page)
    app.add_route("/favicon.ico", icon)
    Pages(handle, mcp.calls, rules).add_to(app)
    app.router.routes.extend(mcp_routes(mcp, endpoint))
    app.mount("/static", _Shell(directory=_STATIC))
    app.add_middleware(Guard, rules=rules)
    if rules.cors_origins:  # around the guard: a page that may call reads why it is refused, too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(rules.cors_origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            expose_headers=["mcp-session-id", "mcp-protocol-version", "retry-after", "www-authenticate"],
        )
    app.state.mcp_server = mcp
    app.state.rules = rules
    return app
