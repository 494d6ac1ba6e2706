"""What the guard promises, on every path alike:

* a Host that isn't this server's is refused, so that no page elsewhere can rebind a name to it; so is a foreign Origin,
  another port of this machine's included, and what a page of another site has the browser ask for without an Origin;
* health and readiness answer under any Host, for orchestrators ask by address; so does all else with the token;
* an address with thousands of parameters, or with a value nested thousands deep, is refused in milliseconds;
* with a token set, only health and the page's own files come without it; the page asks for it by a form;
* bodies and rates are limited; every answer has its security headers.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.api.security import Guard, RateLimit, Rules
from librarian.settings import RESERVED_PATHS
from librarian.web.app import OPEN_PATHS, build_app
from tests.api.fake_library import FakeLibrary
from tests.api.serving import served

PATHS = [
    "/",
    "/health",
    "/api/search?q=a",
    "/metrics",
    "/openapi.json",
    "/static/app.js",
    "/mcp",
    "/sse",
    "/messages/?session_id=0",
    "/nowhere",
]

FOREIGN = ("https://evil.example.com", "null", "file://", "https://127.0.0.1.evil.example.com")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    app = build_app(
        FakeLibrary(), token="geheim", hosts=["docs.example.org"], cors_origins=["https://wiki.example.org"]
    )
    with served(app) as url:
        yield url


def ask(url: str, path: str, method: str = "GET", **headers: str) -> httpx.Response:
    return httpx.request(method, url + path, headers={name.replace("_", "-"): text for name, text in headers.items()})


@pytest.mark.parametrize("path", PATHS)
def test_a_foreign_host_is_refused_on_every_path(url: str, path: str) -> None:
    answer = ask(url, path, host="evil.example.com")
    if path == "/health":
        assert answer.status_code == 200
    else:
        assert answer.status_code == 421
        assert "evil.example.com" in answer.json()["error"]["message"]


def test_a_request_with_the_token_may_come_under_any_host(url: str) -> None:
    assert ask(url, "/api/products", host="10.1.2.3:3001", authorization="Bearer geheim").status_code == 200
    assert ask(url, "/api/products", host="10.1.2.3:3001", authorization="Bearer falsch").status_code == 421


def test_without_a_token_set_any_authorization_opens_no_foreign_host() -> None:
    with served(build_app(FakeLibrary())) as url:
        assert ask(url, "/api/products", host="evil.example.com", authorization="Bearer x").status_code == 421


@pytest.mark.parametrize("path", PATHS)
def test_a_foreign_origin_is_refused_on_every_path(url: str, path: str) -> None:
    for origin in (*FOREIGN, "http://[::1", "http://localhost]"):
        assert ask(url, path, origin=origin, authorization="Bearer geheim").status_code == 403


def test_known_hosts_and_origins_pass(url: str) -> None:
    for host in ("localhost", "LOCALHOST:1", "[::1]:3001", "docs.example.org", "docs.example.org:8443"):
        assert ask(url, "/health", host=host).status_code == 200
    for origin in (url, "https://docs.example.org", "https://docs.example.org:8443", "https://wiki.example.org"):
        assert ask(url, "/health", origin=origin).status_code == 200


@pytest.mark.parametrize("origin", ["http://localhost:5173", "http://127.0.0.1:1", "http://[::1]:9", "http://0.0.0.0"])
def test_a_page_on_another_port_of_this_machine_is_another_page(origin: str) -> None:
    app = build_app(FakeLibrary(), hosts=["127.0.0.1", "0.0.0.0"], cors_origins=["http://localhost:6274"])
    with served(app) as url:
        assert ask(url, "/api/cache", "DELETE", origin=origin).json()["error"]["code"] == "origin"
        assert ask(url, "/api/cache", "DELETE", origin=origin, sec_fetch_site="same-site").status_code == 403
        assert ask(url, "/api/cache", "DELETE", origin=url).status_code == 200
        assert ask(url, "/api/cache", "DELETE", origin="http://localhost:6274").status_code == 200


@pytest.fixture(scope="module")
def open_url() -> Iterator[str]:
    """A server without a token, as on a user's own machine."""
    with served(build_app(FakeLibrary(), cors_origins=["https://wiki.example.org"])) as url:
        yield url


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_page_of_another_site_embeds_is_refused_but_files(open_url: str, path: str, site: str) -> None:
    answer = ask(open_url, path, sec_fetch_site=site, sec_fetch_mode="no-cors", sec_fetch_dest="image")
    if path in {"/health", "/static/app.js"}:
        assert answer.status_code == 200
    elif path == "/":
        assert answer.status_code == 403
    else:
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "cross_site")


def test_a_rebound_name_is_refused_though_page_and_address_are_of_one_origin(open_url: str) -> None:
    told = {"origin": "http://evil.example.com", "sec_fetch_site": "same-origin"}
    assert ask(open_url, "/api/products", **told).status_code == 403
    assert ask(open_url, "/api/products", host="evil.example.com", **told).status_code == 421


def test_a_plain_text_post_of_another_site_is_refused(open_url: str) -> None:
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example.com"}):
        sent = {"content-type": "text/plain", **headers}
        answer = httpx.post(open_url + "/api/search", content='{"query": "tokens"}', headers=sent)
        assert answer.status_code == 403


def test_the_page_itself_typed_addresses_programs_and_allowed_pages_pass(open_url: str) -> None:
    for headers in (
        {},
        {"sec_fetch_site": "none"},
        {"sec_fetch_site": "same-origin"},
        {"sec_fetch_site": "same-origin", "origin": open_url},
        {"sec_fetch_site": "same-origin", "origin": "http://localhost:8080"},  # through a proxy that changes the host
        {"sec_fetch_site": "cross-site", "origin": "https://wiki.example.org"},
    ):
        assert ask(open_url, "/api/products", **headers).status_code == 200, headers


NESTED = "[" * 1000 + "]" * 1000


@pytest.mark.parametrize(
    ("method", "address", "body"),
    [
        ("GET", "/api/search?" + "&".join(f"k{number}=" for number in range(9000)), None),
        ("GET", "/api/search?q=a&" + "&".join("tags=x" for _ in range(9000)), None),
        ("GET", "/sse?" + "&" * 9000, None),
        ("GET", f"/api/search?q=a&tags={NESTED}", None),
        ("POST", "/api/search", f'{{"query": "a", "tags": {"[" * 900}{"]" * 900}}}'),
        ("POST", "/api/search", f'{{"query": "a", "tags": "{NESTED}"}}'),
        ("POST", "/api/search", f'{{"query": "a", "tags": {"[" * 100_000}'),
        ("POST", "/api/search", f'{{"query": "a", "x": {"[" * 900}{"]" * 900}}}'),
    ],
    ids=["names", "one name", "MCP", "nested", "nested body", "nested text in a body", "endless", "unknown name"],
)
def test_hostile_arguments_are_refused_in_milliseconds(
    open_url: str, method: str, address: str, body: str | None
) -> None:
    host, port = open_url.removeprefix("http://").split(":")
    spent = []
    for _ in range(3):
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        before = time.process_time()
        connection.request(method, address, body)
        answer = connection.getresponse()
        error = json.loads(answer.read())["error"]
        spent.append(time.process_time() - before)
        connection.close()
        assert (answer.status, error["code"]) == (400, "bad_request"), error
    assert min(spent) < 0.05


def test_readiness_answers_under_any_host_and_says_why_not() -> None:
    desk = FakeLibrary()
    with served(build_app(desk, token="geheim")) as url:
        ready = ask(url, "/ready", host="10.1.2.3:3001")
        desk.first = "reading: 3 of 10 new or changed files are read so far"
        waiting = ask(url, "/ready", host="10.1.2.3:3001")
        alive = ask(url, "/health", host="10.1.2.3:3001")
    assert (ready.status_code, ready.json()["ready"]) == (200, True)
    assert waiting.status_code == 503
    assert waiting.json() == alive.json()
    assert waiting.json()["reasons"] == [desk.first]
    assert alive.status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_only_health_and_the_shell_are_open(url: str, path: str) -> None:
    answer = ask(url, path)
    if path in {"/health", "/static/app.js"}:
        assert answer.status_code == 200
    elif path == "/":
        assert answer.status_code == 401
        assert "This library asks for its token" in answer.text
    else:
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "MCP_AUTH_TOKEN" in answer.json()["error"]["hint"]


def test_the_page_keeps_a_proof_of_the_token_that_no_script_reads(url: str) -> None:
    refused = httpx.post(f"{url}/login", data={"token": "falsch", "next": "q=tokens"})
    assert (refused.status_code, refused.headers.get("set-cookie")) == (401, None)
    answer = httpx.post(f"{url}/login", data={"token": "geheim", "next": "q=tokens"})
    assert (answer.status_code, answer.headers["location"]) == (303, "./?q=tokens")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "geheim" not in cookie
    with httpx.Client(base_url=url, headers={"cookie": cookie.split(";")[0]}) as client:
        assert "Rotate" in client.get("/?q=tokens").text
        assert client.get("/api/products").status_code == 200
    assert ask(url, "/", cookie="librarian_access=0123").status_code == 401


def test_a_link_of_another_site_leads_to_the_page_but_no_frame_does(open_url: str) -> None:
    linked = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    assert ask(open_url, "/?q=tokens", sec_fetch_dest="document", **linked).status_code == 200
    for destination in ("iframe", "embed", "image"):
        assert ask(open_url, "/?q=tokens", sec_fetch_dest=destination, **linked).status_code == 403
    assert ask(open_url, "/login", "POST", origin="https://evil.example.com").status_code == 403


@pytest.mark.parametrize("header", ["Bearer falsch", "geheim", "Basic geheim", "Bearer", "Bearer geheimx"])
def test_a_wrong_token_is_refused(url: str, header: str) -> None:
    assert ask(url, "/api/products", authorization=header).status_code == 401


def test_the_right_token_opens_every_path(url: str) -> None:
    assert ask(url, "/api/products", authorization="Bearer geheim").status_code == 200
    assert ask(url, "/metrics", authorization="bearer geheim").status_code == 200


def test_a_preflight_of_an_allowed_page_needs_no_token(url: str) -> None:
    wanted = {"origin": "https://wiki.example.org", "access_control_request_method": "POST"}
    answer = ask(url, "/api/search", "OPTIONS", **wanted, access_control_request_headers="authorization")
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://wiki.example.org"


@pytest.mark.parametrize("path", PATHS)
def test_other_questions_for_options_need_the_token_like_all_else(url: str, path: str) -> None:
    open_ = path in {"/", "/health", "/static/app.js"}
    assert (ask(url, path, "OPTIONS").status_code == 401) is not open_


@pytest.mark.parametrize("path", ["/", "/health", "/nowhere", "/api/products"])
def test_every_answer_has_its_security_headers(url: str, path: str) -> None:
    headers = ask(url, path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(url: str) -> None:
    headers = {"authorization": "Bearer geheim"}
    declared = httpx.post(url + "/api/search", content=b"x" * (4 * 1024 * 1024 + 1), headers=headers)
    assert declared.status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(5):
            yield b"x" * 1024 * 1024

    streamed = httpx.post(url + "/api/search", content=pieces(), headers=headers)
    assert streamed.status_code == 413
    assert streamed.json()["error"]["code"] == "too_large"


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer geheim"}], ids=["no token", "too large"])
def test_who_sends_all_before_reading_learns_why_it_was_refused(url: str, headers: dict[str, str]) -> None:
    async def codes() -> list[str]:
        async with httpx.AsyncClient(base_url=url, headers=headers) as client:
            answers = [await client.post(path, content=b"x" * (24 * 1024 * 1024)) for path in ("/api/search", "/mcp")]
            return [answer.json()["error"]["code"] for answer in answers]

    assert set(asyncio.run(codes())) == {"too_large" if headers else "token"}


@pytest.mark.parametrize("path", ["/mcp", "/messages/?session_id=0", "/nowhere"])
def test_size_and_rate_are_limited_at_the_door_for_models_too(path: str) -> None:
    with served(build_app(FakeLibrary(), rate_limit=2)) as url:
        large = httpx.post(url + path, content=b"x" * (4 * 1024 * 1024 + 1))
        codes = [httpx.post(url + path, content=b"{}").status_code for _ in range(3)]
    assert large.status_code == 413
    assert codes[1:] == [429, 429]


def test_a_caller_over_the_rate_is_told_when_to_come_back() -> None:
    with served(build_app(FakeLibrary(), rate_limit=3)) as url:
        codes = [ask(url, "/api/products").status_code for _ in range(4)]
        answer = ask(url, "/api/products")
        alive = [ask(url, path).status_code for path in ("/health", "/api/health")]
    assert codes == [200, 200, 200, 429]
    assert int(answer.headers["retry-after"]) >= 1
    assert alive == [200, 200]  # a supervisor must hear that the server lives, however often it asks


def test_behind_a_trusted_proxy_each_client_has_its_own_rate() -> None:
    def codes(url: str, client: str) -> list[int]:
        return [ask(url, "/api/products", **{"x-forwarded-for": client}).status_code for _ in range(3)]

    with served(build_app(FakeLibrary(), rate_limit=2)) as url:
        assert [codes(url, client) for client in ("192.0.2.1", "192.0.2.2")] == [[200, 200, 429]] * 2


@pytest.mark.parametrize("logged", [True, False])
def test_requests_are_logged_without_what_they_ask(logged: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "librarian.access")
    with served(build_app(FakeLibrary(), access_log=logged)) as url:
        ask(url, "/api/search?q=secret", **{"x-forwarded-for": "192.0.2.1"})
        ask(url, "/health")
    lines = [record.getMessage() for record in caplog.records if record.name == "librarian.access"]
    assert len(lines) == logged
    assert all(line.startswith("192.0.2.1 GET /api/search 200 ") and "secret" not in line for line in lines)


def test_a_page_that_may_call_can_read_why_it_is_refused() -> None:
    own, other = "https://app.example.org", "https://other.example.org"
    with served(build_app(FakeLibrary(), token="secret", cors_origins=[own])) as url:
        refused = httpx.get(url + "/api/products", headers={"origin": own})
        foreign = httpx.get(url + "/api/products", headers={"origin": other})
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == own
    assert foreign.status_code == 403
    assert "access-control-allow-origin" not in foreign.headers


@pytest.mark.parametrize("spelling", ["utf-8", "latin-1"])
def test_a_token_beyond_ascii_is_known_in_both_spellings_of_a_header(spelling: str) -> None:
    with served(build_app(FakeLibrary(), token="schlüssel")) as url:
        codes = [
            httpx.get(url + "/api/products", headers={"authorization": b"Bearer " + given.encode(spelling)}).status_code
            for given in ("schlüssel", "schlussel", "schl", "ü")
        ]
    assert codes == [200, 401, 401, 401]


def test_a_monitor_may_ask_by_head() -> None:
    with served(build_app(FakeLibrary())) as url:
        assert [httpx.head(url + path).status_code for path in ("/", "/health", "/api/health")] == [200, 200, 200]


@given(st.lists(st.floats(0, 120), max_size=60), st.integers(1, 100))
def test_no_caller_gets_more_than_its_rate(pauses: list[float], per_minute: int) -> None:
    now = 0.0
    limit = RateLimit(per_minute, clock=lambda: now)
    passed = 0
    for pause in pauses:
        now += pause
        passed += limit.wait_s("a") == 0
    assert passed <= per_minute + now * per_minute / 60 + 1e-6
    assert limit.wait_s("b") == 0


@given(st.sampled_from(["127.0.0.1", "localhost", "[::1]", "name.example"]), st.integers(0, 65535))
def test_a_known_host_is_known_with_any_port_and_nothing_else_is(host: str, port: int) -> None:
    async def nothing(scope: Any, receive: Any, send: Any) -> None: ...

    guard = Guard(nothing, Rules(hosts=["name.example"]))
    assert guard.is_known(host)
    assert guard.is_known(f"{host}:{port}")
    assert not guard.is_known(f"{host}.evil.example:{port}")
    assert not guard.is_known(f"evil.{host}")
    assert not guard.is_known(f"{host}:{port}:80")


def test_mcp_cannot_be_put_where_another_route_is_nor_where_no_token_is_asked_for() -> None:
    routes = {str(getattr(route, "path", "")).split("/")[1] for route in build_app(FakeLibrary()).routes}
    assert routes - {"", "mcp"} == RESERVED_PATHS
    assert {path.split("/")[1] for path in OPEN_PATHS} - {""} <= RESERVED_PATHS
