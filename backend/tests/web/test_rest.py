"""What REST promises:

* every verb has its path; arguments have the tools' names; GET and POST give the same answer;
* all errors, whatever their source, have one shape: `{error: {code, message, hint}}`;
* OpenAPI describes the real models; metrics count what was asked;
* health is answered while every thread is busy.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from librarian.api.library_handle import Calls
from librarian.api.mcp import McpServer
from librarian.schemas import TOOLSETS, ResultLimits
from librarian.web.app import build_app
from tests.api.fake_library import FakeLibrary
from tests.api.serving import served


@pytest.fixture(scope="module")
def desk() -> FakeLibrary:
    return FakeLibrary()


@pytest.fixture(scope="module")
def client(desk: FakeLibrary) -> Iterator[httpx.Client]:
    with served(build_app(desk, version="1.2.3")) as url, httpx.Client(base_url=url) as client:
        yield client


def test_a_search_by_query_string_and_by_body_give_the_same_answer(client: httpx.Client) -> None:
    by_get = client.get("/api/search", params={"q": "tokens", "max_results": "3", "product": "ray"})
    by_post = client.post("/api/search", json={"query": "tokens", "max_results": 3, "product": "ray"})
    assert by_get.status_code == by_post.status_code == 200
    assert by_get.json() == by_post.json()
    assert [item["rank"] for item in by_get.json()["results"]] == [1, 2, 3]


def test_type_chooses_between_documents_and_emails(client: httpx.Client) -> None:
    answer = client.get("/api/search", params={"q": "release", "type": "emails"}).json()
    assert answer["results"][0]["subject"] == "Release on Friday"
    assert client.get("/api/search", params={"q": "release", "type": "Emails"}).json() == answer
    refused = client.get("/api/search", params={"q": "release", "type": "mails"})
    assert refused.status_code == 400
    assert "documents, emails" in refused.json()["error"]["hint"]


def test_wherever_get_is_answered_head_tells_the_same_without_a_body(client: httpx.Client) -> None:
    addresses = ("/api/search?q=tokens", "/api/search", "/api/document?path=ray/serve/tokens.md", "/api/status", "/")
    for address in (*addresses, "/api/health", "/metrics", "/favicon.ico", "/openapi.json", "/static/page.css"):
        got, head = client.get(address), client.head(address)
        assert (head.status_code, head.content) == (got.status_code, b""), address
        assert head.headers["content-type"] == got.headers["content-type"]
    assert client.head("/api/cache").status_code == 405, "as of GET"
    methods = {method for path in client.get("/openapi.json").json()["paths"].values() for method in path}
    assert methods == {"get", "post", "delete"}


def test_lists_may_be_repeated_or_separated_by_commas(client: httpx.Client, desk: FakeLibrary) -> None:
    for query in ("q=a&file_types=md&file_types=txt", "q=a&file_types=md,txt", 'q=a&file_types=["md","txt"]'):
        assert client.get(f"/api/search?{query}").status_code == 200
        assert desk.asked[-1][1]["file_types"] == [".md", ".txt"]


@pytest.mark.parametrize(
    ("method", "path", "field"),
    [
        ("GET", "/api/document?path=ray/core/config.md", "content"),
        ("GET", "/api/thread?thread_id=t1", "emails"),
        ("GET", "/api/products", "products"),
        ("GET", "/api/components?product=ray", "components"),
        ("GET", "/api/facets?type=documents", "products"),
        ("GET", "/api/analyze?query=tokens&path=x.md", "why_not"),
        ("DELETE", "/api/cache", "cleared"),
        ("GET", "/api/status", "generation"),
        ("GET", "/api/registry?query=weather", "search_mode"),
        ("GET", "/api/health", "uptime_s"),
        ("GET", "/health", "uptime_s"),
    ],
)
def test_every_verb_has_its_path(client: httpx.Client, method: str, path: str, field: str) -> None:
    answer = client.request(method, path)
    assert answer.status_code == 200, answer.text
    assert field in answer.json()


def test_a_document_is_read_by_post_too(client: httpx.Client) -> None:
    answer = client.post(
        "/api/document", json={"path": "librarian://docs/prom/server/gr%C3%B6%C3%9Fe%20%26%20ma%C3%9F.txt"}
    )
    assert answer.json()["content"].startswith("Size")


@pytest.mark.parametrize(
    ("request_", "status", "code", "words"),
    [
        (("GET", "/nowhere"), 404, "not_found", "/openapi.json"),
        (("PUT", "/api/search"), 405, "method_not_allowed", "PUT"),
        (("GET", "/api/document?path=nope.md"), 404, "not_found", "Nearest: 'ray/core/config.md'"),
        (("GET", "/api/search?q=a&querry=b"), 400, "bad_request", "Did you mean 'query'?"),
        (("GET", "/api/search?q=a&nothing=b"), 400, "bad_request", "It takes type, query, product"),
        (("GET", "/api/search?q=a&typ=emails"), 400, "bad_request", "Did you mean 'type'?"),
        (("GET", "/api/search?q=a&max_results=many"), 400, "bad_request", "whole number"),
        (("GET", "/api/search?q="), 400, "bad_request", "query is empty"),
        (("GET", "/api/search?q=a&product=rey"), 404, "not_found", "Did you mean 'ray'?"),
        (("GET", "/api/search"), 400, "bad_request", "query"),
        (("GET", "/api/search?q=bug"), 500, "internal", "log"),
        (("GET", "/mcp"), 405, "method_not_allowed", "/sse"),
        (("GET", "/messages/"), 405, "method_not_allowed", "POST"),
        (("GET", "/api/search?q=a&query=b"), 400, "bad_request", "twice"),
    ],
)
def test_every_error_has_one_shape(
    client: httpx.Client, request_: tuple[str, str], status: int, code: str, words: str
) -> None:
    answer = client.request(*request_)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] == code
    assert words in error["message"] + " " + error["hint"]


def test_a_refused_method_is_told_all_that_there_are(client: httpx.Client) -> None:
    assert client.put("/api/document").headers["allow"] == "GET, HEAD, POST"
    assert client.get("/api/cache").headers["allow"] == "DELETE"


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"x"', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_the_callers_mistake(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/api/search", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_request"


def test_an_argument_in_the_url_and_in_the_body_is_refused(client: httpx.Client) -> None:
    answer = client.post("/api/search?q=a", json={"query": "b"})
    assert "query is given in the URL and in the body" in answer.json()["error"]["message"]


def search_bodies(api: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas of what `POST /api/search` takes: of documents and of emails."""
    schema = api["paths"]["/api/search"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    documents, emails = schema["oneOf"]
    return [documents, emails]


def test_openapi_describes_every_argument_and_the_real_models(client: httpx.Client) -> None:
    api = client.get("/openapi.json").json()
    bodies = search_bodies(api)
    named = {item["name"]: item["description"] for item in api["paths"]["/api/search"]["get"]["parameters"]}
    for operation, body in zip(TOOLSETS["default"][:2], bodies, strict=True):
        names = set(operation.request.model_fields)
        assert set(body["properties"]) == names | {"type"}
        assert names - {"query"} | {"q", "type"} <= set(named)
    assert named["sender"] == "Part of name or address (of emails)"
    assert named["tags"] == "Any of these (of documents)"
    assert named["product"] == "Only this product (list_products)"
    assert {"SearchResponse", "EmailSearchResponse", "DocumentResponse", "StatusResponse", "ErrorResponse"} <= set(
        api["components"]["schemas"]
    )
    assert "/mcp" not in api["paths"]
    told = {"200", "400", "401", "403", "404", "405", "408", "413", "421", "429", "431", "500", "503"}
    assert set(api["paths"]["/api/search"]["post"]["responses"]) == told
    ids = [operation["operationId"] for path in api["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids))


def test_openapi_says_how_many_results_the_settings_allow() -> None:
    with served(build_app(FakeLibrary(), limits=ResultLimits(default=2, maximum=4))) as url:
        api = httpx.get(f"{url}/openapi.json").json()
    bodies = [body["properties"]["max_results"] for body in search_bodies(api)]
    parameters = api["paths"]["/api/search"]["get"]["parameters"]
    (named,) = [item["schema"] for item in parameters if item["name"] == "max_results"]
    assert [*bodies, named] == [{"type": "integer", "minimum": 1, "maximum": 4, "default": 2}] * 3


@pytest.mark.parametrize(
    "body",
    [
        {"query": "tokens"},
        {"query": "tokens", "type": "documents", "tags": ["api"]},
        {"query": "release", "type": "emails", "sender": "alice"},
        {"type": "emails", "sender": "alice"},
        {"query": "tokens", "sender": "alice"},
        {"query": "tokens", "type": "emails", "tags": ["api"]},
        {"query": "  "},
        {"sender": "alice"},
        {},
    ],
    ids=str,
)
def test_openapi_allows_of_a_search_what_is_answered(client: httpx.Client, body: dict[str, object]) -> None:
    one, other = (Draft202012Validator(schema) for schema in search_bodies(client.get("/openapi.json").json()))
    answered = client.post("/api/search", json=body).status_code == 200
    assert one.is_valid(body) + other.is_valid(body) == answered


def test_openapi_says_that_what_must_be_named_may_not_be_blank(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    body = paths["/api/thread"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert (
        body["thread_id"]["pattern"] == paths["/api/components"]["get"]["parameters"][0]["schema"]["pattern"] == r"\S"
    )


def test_metrics_count_calls_searches_and_the_index(client: httpx.Client) -> None:
    client.get("/api/search", params={"q": "tokens"})
    text = client.get("/metrics").text
    assert 'librarian_calls_total{interface="rest",operation="search_documentation",outcome="ok"}' in text
    assert 'librarian_search_seconds_count{mode="keyword"}' in text
    assert 'librarian_retriever_seconds_count{retriever="keyword"}' in text
    assert "librarian_index_documents 3.0" in text
    assert 'librarian_cache_lookups_total{cache="exact",result="hit"} 3.0' in text


def test_the_page_and_its_parts_are_there(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for part in ("static/app.js", "static/page.css", "static/icon.svg"):
        assert f'"./{part}"' in page.text
        assert client.get(f"/{part}").status_code == 200
    assert client.get("/favicon.ico").headers["content-type"].startswith("image/svg+xml")
    assert client.get("/static/../app.py").status_code == 404


@pytest.mark.parametrize("path", ["/static/app.js", "/static/page.css"])
def test_after_an_upgrade_no_browser_shows_the_page_of_before(client: httpx.Client, path: str) -> None:
    first = client.get(path)
    assert first.headers["cache-control"] == "no-cache", "asked for at each visit"
    again = client.get(path, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["cache-control"] == "no-cache"
    assert client.head(path).headers["etag"] == first.headers["etag"]


@pytest.mark.parametrize("path", ["/", "/?q=tokens", "/api/search?q=tokens", "/api/status", "/api/nowhere", "/metrics"])
def test_what_the_library_says_is_kept_in_no_cache(client: httpx.Client, path: str) -> None:
    assert client.get(path).headers["cache-control"] == "no-store"


def test_health_is_answered_and_a_full_queue_says_busy_while_every_thread_is_taken() -> None:
    desk = FakeLibrary()
    calls = Calls(threads=1, queue=0)
    app = build_app(desk, mcp_server=McpServer(desk, calls=calls))
    with served(app) as url, httpx.Client(base_url=url, timeout=20) as client, ThreadPoolExecutor(1) as pool:
        blocked = pool.submit(client.get, "/api/search", params={"q": "block"})
        assert desk.blocking.wait(10)
        assert client.get("/health").status_code == 200
        refused = client.get("/api/products")
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "busy"
        assert refused.headers["retry-after"] == "1"
        desk.release.set()
        assert blocked.result(10).status_code == 200
    calls.close()
