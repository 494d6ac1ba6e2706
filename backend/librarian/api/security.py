"""Checks requests: Host, Origin and Sec-Fetch-Site, token, size, time and rate; and what isn't HTTP at all."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import re
import time
from asyncio import TimerHandle, Transport
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..models import REQUEST, usable_id
from .rest import error_response, on_error

COOKIE = "librarian_access"  #: of the page
access = logging.getLogger("librarian.access")

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ANY_PORT_REFUSED = frozenset((*LOOPBACK, "::1", "0.0.0.0", "::", "[::]"))
_OWN_SITES = frozenset(("same-origin", "none"))  #: `none`: the user typed the address or opened a bookmark
MAX_PARAMETERS = 100
MAX_BODY = 4 * 1024 * 1024  #: bytes; the MCP SDK's own limit
#: What is still taken of a refused request's body, and thrown away: who is cut off while sending never reads why.
_TAKEN_BODIES, _TAKEN_S = 32, 10.0
BODY_S = 60.0  #: what a body may take to arrive whole
_MOST_CALLERS = 10_000

HEADERS = {  #: of every answer
    "cache-control": "no-store",  # answers hold the library's text, which is no cache's to keep
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    # Markup comes from the server alone, through the one policy `librarian`: the browser holds the page to that.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types librarian",
}


@dataclass(slots=True)
class Rules:
    """What the guard asks for.

    `hosts` come on top of this machine's names, each with any port unless it names one; `rate_limit` is requests a
    minute and caller, None for no limit; `open_paths` need no token and may be asked for by pages of other sites, and
    so may what lies below those that end with `/`. `probes` answer under any host name, as orchestrators ask by IP
    address, and are neither counted nor logged. `access_log` has each other request logged.
    """

    token: str | None = None
    hosts: Sequence[str] = ()
    cors_origins: Sequence[str] = ()
    rate_limit: int | None = None
    access_log: bool = True
    body_s: float = BODY_S
    open_paths: Collection[str] = frozenset()
    probes: Collection[str] = frozenset()

    def has_token(self, headers: Headers) -> bool:
        """Whether a request carries the token, or the page's cookie as a proof of it; True where none is needed."""
        if self.token is None:
            return True
        cookies = cookie_parser(headers.get("cookie", ""))
        if hmac.compare_digest(cookies.get(COOKIE, ""), self._proof()):
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # a header's bytes are read as Latin-1, and some programs send a token's characters as UTF-8
        spellings = [given.strip().encode(), given.strip().encode("latin-1", "replace")]
        right = sum(hmac.compare_digest(sent, self.token.encode()) for sent in spellings)
        return bool(right) and scheme.lower() == "bearer"

    def proof_of(self, token: str) -> str:
        """What the page's cookie holds for the right token; empty for another one."""
        expected = (self.token or "").encode()
        return self._proof() if expected and hmac.compare_digest(token.strip().encode(), expected) else ""

    def _proof(self) -> str:
        """Derived from the token, so that no program that is sent the cookie learns the token itself."""
        return hmac.digest((self.token or "").encode(), b"page of librarian", "sha256").hex()


class RateLimit:
    """A bucket of tokens for each caller: `per_minute` at once, refilled evenly."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, caller: str) -> float:
        """Take a token: 0 where there was one, else the seconds until there is."""
        now = self._clock()
        level, seen = self._buckets.pop(caller, (self._most, now))
        level = min(self._most, level + (now - seen) * self._most / 60)
        short = 1 - level
        self._buckets[caller] = (level if short > 0 else level - 1, now)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)
        return max(short, 0) * 60 / self._most


def _client(scope: Scope) -> str:
    """The caller's address; behind a trusted proxy the server has put the one that the proxy names here."""
    return (scope.get("client") or ("unknown",))[0]


def _without_port(host: str) -> str:
    return re.sub(r":\d+$", "", host)


class _Refused(Exception):
    """Raised where a request may not pass. `at_once`: without waiting until the caller has sent all of its body."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        hint: str,
        headers: Mapping[str, str] | None = None,
        *,
        at_once: bool = False,
    ) -> None:
        super().__init__(message)
        self.answer, self.at_once = error_response(status, code, message, hint, headers), at_once


class Guard:
    """The middleware that every request passes first: pure ASGI, as streams pass through it.

    HEAD is answered as GET, whose body the server leaves out.
    """

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app, self._rules = app, rules
        self._hosts = {host.lower() for host in (*LOOPBACK, *rules.hosts)}
        self._names = {host.lower() for host in rules.hosts} - _ANY_PORT_REFUSED
        self._origins = {origin.lower().rstrip("/") for origin in rules.cors_origins}
        self._limit = RateLimit(rules.rate_limit) if rules.rate_limit else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        status, begun = 0, time.perf_counter()
        method, headers = scope["method"], Headers(scope=scope)
        request = usable_id(headers.get("x-request-id"))
        REQUEST.set(request)

        async def guarded_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                answered = MutableHeaders(scope=message)
                answered["x-request-id"] = request
                for name, value in HEADERS.items():
                    answered.setdefault(name, value)
            await send(message)

        trusted = scope.get("state", {}).get("trusted", False)  # by a socket that is for this user alone
        if method == "HEAD":
            scope = {**scope, "method": "GET"}
        try:
            if not trusted:
                self._check(scope, headers)
            await self._app(scope, self._limited(receive), guarded_send)
        except _Refused as error:
            if not status:
                await self._refuse(error, scope, receive, guarded_send)
        except Exception as error:  # the framework's own handler of bugs has the connection closed
            if status:
                raise
            await (await on_error(Request(scope), error))(scope, receive, guarded_send)
        finally:
            if self._rules.access_log and not trusted and scope["path"] not in self._rules.probes:
                ms = (time.perf_counter() - begun) * 1000
                access.info("%s %s %s %d %.1f ms", _client(scope), method, scope["path"], status, ms)

    async def _refuse(self, error: _Refused, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer at once, then let the caller finish what it is sending: many programs read only after that."""
        if error.at_once:
            await error.answer(scope, receive, send)
            return

        async def unfinished(message: Message) -> None:
            await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

        await error.answer(scope, receive, unfinished)
        taken = 0
        with contextlib.suppress(TimeoutError, ClientDisconnect):
            async with asyncio.timeout(_TAKEN_S), contextlib.aclosing(Request(scope, receive).stream()) as pieces:
                async for piece in pieces:
                    if (taken := taken + len(piece)) > _TAKEN_BODIES * MAX_BODY:
                        break
        await send({"type": "http.response.body", "body": b""})

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Raise `_Refused` where a request may not pass."""
        host = headers.get("host", "")
        # a page under a rebound name can't send the token
        has_sent_token = self._rules.token is not None and self._rules.has_token(headers)
        if not self.is_known(host) and scope["path"] not in self._rules.probes and not has_sent_token:
            hint = f"Use {', '.join(LOOPBACK)}, or add the name to security.allowed_hosts."
            raise _Refused(421, "host", f"This server doesn't answer under the host name {host!r}.", hint)
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "none").strip().lower()
        if origin is not None and not self._is_own(origin, host, site):
            hint = "If that page may call, add it to security.cors_origins."
            raise _Refused(403, "origin", f"Requests of pages from {origin!r} are refused.", hint)
        if origin is None and site not in _OWN_SITES and "*" not in self._origins and not self._is_open(scope["path"]):
            message = f"Requests of pages from other sites are refused (Sec-Fetch-Site: {site[:40]!r})."
            raise _Refused(403, "cross_site", message, "Open the page at / and search there, or call with a program.")
        counts = scope["path"] not in self._rules.probes
        if self._limit and counts and (wait := self._limit.wait_s(_client(scope))):
            message = f"More than {self._rules.rate_limit} requests a minute."
            retry = {"retry-after": f"{int(wait) + 1}"}
            raise _Refused(429, "rate_limit", message, f"Try again in {wait:.0f} s.", retry)
        if not self._is_open(scope["path"]) and not self._rules.has_token(headers):
            hint = "Send it as `Authorization: Bearer <token>`; it is the server's MCP_AUTH_TOKEN."
            raise _Refused(401, "token", "The token is missing or wrong.", hint, {"www-authenticate": "Bearer"})
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            raise self._too_large()
        if (count := scope["query_string"].count(b"&") + 1) > MAX_PARAMETERS:
            hint = "Separate the values of a list by commas, or send a JSON body by POST."
            message = f"The address has {count} parameters; at most {MAX_PARAMETERS} are read."
            raise _Refused(400, "bad_request", message, hint)

    def _too_large(self) -> _Refused:
        message = f"The request's body has more than {MAX_BODY} bytes."
        return _Refused(413, "too_large", message, "Send less at once.", {"connection": "close"})

    def is_known(self, host: str) -> bool:
        """Whether a Host header, with or without a port, names this server."""
        return not self._hosts.isdisjoint((host.lower(), _without_port(host.lower())))

    def _is_own(self, origin: str, host: str, site: str) -> bool:
        """Whether a page of `origin` may call: an allowed one, the server's own page, or one under a configured name.

        On this machine other programs serve pages too, so there the port must be the one that is asked, unless the
        browser says that page and address are of one origin: a proxy between them may have changed the Host header.
        """
        if origin.lower() in self._origins or "*" in self._origins:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:  # such as of a bracket that isn't closed
            return False
        netloc = parts.netloc.lower()
        own = bool(netloc) and (netloc == host.lower() or (site == "same-origin" and self.is_known(netloc)))
        return parts.scheme in {"http", "https"} and (
            own or not self._names.isdisjoint((netloc, _without_port(netloc)))
        )

    def _is_open(self, path: str) -> bool:
        return any(
            path.startswith(open_) if open_.endswith("/") and open_ != "/" else path == open_
            for open_ in self._rules.open_paths
        )

    def _limited(self, receive: Receive) -> Receive:
        seen, whole = 0, False
        until = asyncio.get_running_loop().time() + self._rules.body_s

        async def limited() -> Message:
            nonlocal seen, whole
            try:
                async with asyncio.timeout_at(None if whole else until):
                    message = await receive()
            except TimeoutError:
                text = f"The request's body didn't arrive within {self._rules.body_s:.0f} s."
                closed = {"connection": "close"}
                raise _Refused(408, "too_slow", text, "Send it without a pause.", closed, at_once=True) from None
            if message["type"] == "http.request":
                seen, whole = seen + len(message.get("body", b"")), not message.get("more_body", False)
                if seen > MAX_BODY:
                    raise self._too_large()
            return message

        return limited


_NO_HTTP = (
    "Letters beyond ASCII and spaces in an address must be percent-encoded; "
    "`curl -G --data-urlencode 'q=…' ADDRESS` does that."
)
MOST_HEAD = 64 * 1024  #: bytes, not counting the piece that a head begins in; browsers and proxies send some 8 KB
HEAD_S = 30.0  #: until a head must be complete
_LARGE = "Send fewer or shorter headers, and long questions as the body of a POST."


class LimitedHeads(HttpToolsProtocol):
    """uvicorn's protocol, but it refuses what isn't HTTP, or has a head that is too long or too slow."""

    head_s = HEAD_S
    _length: int | None = None  #: of the head that has begun, without the piece that it begins in
    _late: TimerHandle | None = None  #: ends the connection if nothing is asked or answered until then

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._length = -1
        self._await_head()

    def on_headers_complete(self) -> None:
        self._length = None
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._length is None or self.transport.is_closing():
            return
        self._length += len(data) if self._length >= 0 else 1
        if self._length > MOST_HEAD:
            self._refuse(431, "too_large", f"The head has more than {MOST_HEAD} bytes.", _LARGE)

    def send_400_response(self, _: str) -> None:
        self._refuse(400, "bad_request", "The request isn't HTTP.", _NO_HTTP)

    def _await_head(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = self.loop.call_later(self.head_s, self._end)

    def _end(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._await_head()
        elif self._length is not None:
            self._refuse(408, "too_slow", "The head of the request didn't end.", "Send the request without a pause.")
        else:
            self.transport.close()  # a browser that connects ahead asks nothing yet

    def _refuse(self, status: int, code: str, message: str, hint: str) -> None:
        """Answer, and hang up; the server's own answer is a line of text without a remedy."""
        answer = error_response(status, code, message, hint, {**HEADERS, "connection": "close"})
        first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
        lines = [first, *(name + b": " + value for name, value in answer.raw_headers), b"", b""]
        self.transport.write(b"\r\n".join(lines) + bytes(answer.body))
        self.transport.close()
