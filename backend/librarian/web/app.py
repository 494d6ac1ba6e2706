"""One application for one port: REST, the page, health, metrics, and MCP's routes grafted among them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.staticfiles import StaticFiles

from ..api import model_text
from ..api.library_handle import Calls, LibraryHandle, mcp_routes
from ..api.rest import CONTENT_TYPE, DRAFT_HEADER, HEALTH, READY, Metrics, add_routes, on_error, on_http_error
from ..api.security import COOKIE, Guard, Rules
from ..errors import LibrarianError, NotFound
from ..files.paths import Paths
from ..files.safe_open import open_below
from ..models import DRAFT
from ..schemas import ResultLimits, StatusResponse
from . import views
from .state import State

if TYPE_CHECKING:
    from ..api.mcp import McpServer
    from ..library import Librarian

T = TypeVar("T")

PART_HEADER: Final = "librarian-part"  #: the page's script asks for `results`, a `panel` or the `state` alone
MAX_FORM: Final = 8192  #: bytes
_ORIGINAL_HEADERS: Final = {"content-security-policy": "sandbox; default-src 'none'", "cache-control": "no-store"}
_STATIC = Path(__file__).parent / "static"
#: The page's views ask for the token themselves, by a form; health and readiness hold numbers.
OPEN_PATHS = frozenset({"/", "/help", "/status", "/login", "/original", "/health", READY, "/favicon.ico", "/static/"})


class _Pages:
    """Routes of the page: every view by GET at an address of its own, and the form for the token."""

    def __init__(self, handle: LibraryHandle, calls: Calls, rules: Rules) -> None:
        self._handle, self._calls, self._rules = handle, calls, rules

    def add_to(self, app: FastAPI) -> None:
        """Register all routes."""
        app.add_route("/", self._page)
        app.add_route("/help", self._help)
        app.add_route("/status", self._status)
        app.add_route("/original", self._original)
        app.add_route("/login", self._login, ["POST"])

    async def _page(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        state = State.of(request.query_params.multi_items())
        part = request.headers.get(PART_HEADER, "")
        DRAFT.set(request.headers.get(DRAFT_HEADER) == "1")
        try:
            return HTMLResponse(await self._run(lambda library: views.render(library, state, part), "view"))
        except LibrarianError as error:
            headers = {"retry-after": "1"} if error.http_status == 503 else None
            return HTMLResponse(views.error_page(state, error, part), error.http_status, headers)

    async def _help(self, request: Request) -> Response:
        return HTMLResponse(views.page("help.html"))

    async def _status(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused

        def view(library: Librarian) -> str:
            status: StatusResponse = library.status()
            rows, progress = model_text.status_rows(status), model_text.progress(status.progress)
            return views.page("status.html", status=status, rows=rows, progress=progress)

        return HTMLResponse(await self._run(view, "status"))

    async def _original(self, request: Request) -> Response:
        """The file that a document was read from, as a download that runs nothing."""
        if refused := self._refused(request):
            return refused
        path = request.query_params.get("doc", "")
        original = await self._run(lambda library: library.original(path), "original")
        root = os.path.realpath(original.root)
        try:
            descriptor = open_below(root, os.path.relpath(Paths(root).on_disk(original.path), root))
        except OSError:
            raise NotFound(f"The file of {path!r} can’t be read.") from None
        name = quote(PurePath(original.path).name)
        headers = {**_ORIGINAL_HEADERS, "content-disposition": f"attachment; filename*=utf-8''{name}"}
        pieces = iter(partial(os.fdopen(descriptor, "rb").read, 1 << 20), b"")
        return StreamingResponse(pieces, media_type="application/octet-stream", headers=headers)

    # -- the token

    def _refused(self, request: Request) -> Response | None:
        """What is answered instead: to other sites, but for links to the page, and to those without the token."""
        site = request.headers.get("sec-fetch-site", "none")
        mode, destination = (request.headers.get(f"sec-fetch-{name}") for name in ("mode", "dest"))
        linked = (mode, destination) == ("navigate", "document")
        if site not in ("same-origin", "none") and not linked:
            return HTMLResponse("Pages of other sites may link here, not load this.", 403)
        if self._rules.has_token(request.headers):
            return None
        if PART_HEADER in request.headers:
            return HTMLResponse("The token is missing or wrong.", 401)
        return self._ask(str(request.url.query), wrong=False)

    @staticmethod
    def _ask(query: str, *, wrong: bool) -> Response:
        headers = {"referrer-policy": "same-origin"}  # without a referrer the form's Origin would be null
        return HTMLResponse(views.page("login.html", next=query, wrong=wrong), 401, headers)

    async def _login(self, request: Request) -> Response:
        body = await request.body()
        form = dict(parse_qsl(body[:MAX_FORM].decode("utf-8", "replace")))
        proof = self._rules.proof_of(form.get("token", ""))
        query = urlsplit(f"?{form.get('next', '')}").query
        if not proof:
            return self._ask(query, wrong=True)
        answer = RedirectResponse(f"./?{query}" if query else "./", 303)
        answer.set_cookie(COOKIE, proof, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return answer

    # -- calls

    async def _run(self, view: Callable[[Librarian], T], operation: str) -> T:
        """Run a view in a thread, once the library is open, and count it."""
        return await self._calls.answer("page", operation, self._handle.wait, view)


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
    _Pages(handle, mcp.calls, rules).add_to(app)
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
