"""Getting one address politely: within the site, within limits, and only anew where it has changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx

from ..embeddings.services import retry_after_s
from ..errors import CallerError
from . import urls

AGENT = "librarian"
MOST_REDIRECTS = 8
ATTEMPTS = 3
LONGEST_WAIT_S = 30.0  #: of what a site asks for by Retry-After
_PASSING = frozenset({429, 500, 502, 503, 504})
_UNPACKED = frozenset({"", "identity", "gzip", "deflate"})  #: what a body may be packed with
_LOST = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)  #: of a connection that was there


Summarize = Callable[[str, str], str]  #: title and Markdown → a summary; raises `Unavailable`


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """`per_second` 0 means no pause; a site's own Crawl-delay holds all the same."""

    allow_private: bool = False  #: addresses that aren't public may be reached too (then directly, without a proxy)
    per_second: float = 5.0
    timeout_s: float = 20.0  #: for a connection and for each silence; a whole answer may take four times as long
    most_bytes: int = 8 * 1024 * 1024  #: of one answer, counted after unpacking
    most_pages: int = 5_000
    most_depth: int = 15  #: links from the first page; lists of pages count as one
    most_queries: int = 5  #: addresses that differ only behind the question mark
    save_every: int = 20  #: pages between two saves of the state
    summarize: Summarize | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came back. `status` 0 means that nothing did; `error` then says why, as for a refused redirect."""

    url: str  #: where redirects led, normalised
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)  #: names in lower case
    error: str = ""
    charset: str = ""  #: as the server gives it
    lost: bool = False  #: the connection broke

    @property
    def ok(self) -> bool:
        """Whether there is a body to read."""
        return self.status == 200 and not self.error

    @property
    def media_type(self) -> str:
        """As `text/html`, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Fetcher:
    """One site's connection. Sequential: a site sees one request at a time, `per_second` of them at most."""

    def __init__(self, options: CrawlOptions, sleep: Callable[[float], None] = time.sleep) -> None:
        self._options = options
        self.gap_s = 1 / options.per_second if options.per_second else 0.0  #: at least so long between requests
        self._sleep = sleep
        self._next = 0.0
        self._checked: set[str] = set()
        self._peer_is_site = not options.allow_private and not getproxies()
        self.bytes_read = 0
        self.requests = 0
        self._client = httpx.Client(
            follow_redirects=False,
            timeout=options.timeout_s,
            trust_env=not options.allow_private,
            headers={"User-Agent": f"{AGENT} (documentation crawler)", "Accept-Encoding": "gzip, deflate"},
        )

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def get(
        self, url: str, *, within: Callable[[str], str] | None = None, etag: str = "", last_modified: str = ""
    ) -> Fetched:
        """The answer for `url`, through redirects as long as `within` has nothing against the next address.

        `within` returns why an address may not be followed, empty where it may. With `etag` or `last_modified` the
        status is 304 where nothing has changed. Raises `CallerError` only for an address that isn't public.
        """
        validators = {"If-None-Match": etag, "If-Modified-Since": last_modified}
        headers = {name: value for name, value in validators.items() if value}
        for _ in range(MOST_REDIRECTS):
            answer = self._patiently(url, headers)
            target = answer.headers.get("location", "")
            if answer.status not in (301, 302, 303, 307, 308) or not target:
                return answer
            following = urls.normalised(target, url)
            reason = "not an address" if not following else within(following) if within is not None else ""
            if reason:
                return Fetched(following or url, answer.status, error=f"redirects to {target}: {reason}")
            if following == url:
                break
            url = following
        return Fetched(url, 0, error="redirects without end")

    def _patiently(self, url: str, headers: Mapping[str, str]) -> Fetched:
        """Tries again what passes: a busy server or a lost connection."""
        answer = self._once(url, headers)
        for attempt in range(1, ATTEMPTS):
            if answer.status in _PASSING or answer.lost:
                wait = retry_after_s(answer.headers.get("retry-after", ""))
                self._sleep(min(wait if wait is not None else 0.5 * 2**attempt, LONGEST_WAIT_S))
                answer = self._once(url, headers)
        return answer

    def _once(self, url: str, headers: Mapping[str, str]) -> Fetched:
        host = urlsplit(url).hostname or ""
        if not self._options.allow_private and host not in self._checked:
            urls.refuse_private(host)
            self._checked.add(host)
        now = time.monotonic()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + self.gap_s
        self.requests += 1
        most_s = 4 * self._options.timeout_s
        deadline = time.monotonic() + most_s
        try:
            with self._client.stream("GET", url, headers=dict(headers)) as response:
                if self._peer_is_site:
                    _check_peer(response)
                given = {name.lower(): value for name, value in response.headers.items()}
                if response.status_code != 200:
                    return Fetched(url, response.status_code, headers=given)
                if (packing := given.get("content-encoding", "").strip().lower()) not in _UNPACKED:
                    return Fetched(url, 0, headers=given, error=f"packed as {packing}, which wasn't asked for")
                body = bytearray()
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > self._options.most_bytes:
                        return Fetched(url, 0, headers=given, error=f"larger than {self._options.most_bytes:,} bytes")
                    if time.monotonic() > deadline:
                        return Fetched(url, 0, headers=given, error=f"took longer than {most_s:.0f} s")
                self.bytes_read += len(body)
                return Fetched(url, 200, bytes(body), given, charset=response.charset_encoding or "")
        except httpx.TimeoutException:
            return Fetched(url, 0, error=f"no answer within {self._options.timeout_s:g} s")
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            reason = str(error).rstrip(".") or type(error).__name__
            return Fetched(url, 0, error=reason, lost=isinstance(error, _LOST))


def _check_peer(response: httpx.Response) -> None:
    """A name may mean another address by the time it is connected to: what counts is who answers."""
    stream: Any = response.extensions.get("network_stream")
    address = stream.get_extra_info("server_addr") if stream is not None else None
    if address and urls.is_private(str(address[0])):
        raise CallerError(
            f"{response.url.host} is {address[0]}, an address that isn't public.",
            hint="Pass --allow-private to allow it.",
        )
