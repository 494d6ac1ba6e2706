"""Who sends a head or a body without end is refused and hung up on; who is merely slow to read, or large, is not."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from librarian.web.app import build_app
from tests.api.fake_library import FakeLibrary
from tests.api.serving import served

ASKED = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n"
POSTED = b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    app = build_app(FakeLibrary())
    with served(app, head_s=0.5) as url:
        app.state.rules.body_s = 0.5
        yield url


def sent(url: str, *pieces: bytes) -> bytes:
    """All that comes back for these bytes until the server hangs up."""
    parts, answer = urlsplit(url), b""
    with socket.create_connection((str(parts.hostname), parts.port or 0), timeout=20) as open_:
        try:
            for piece in pieces:
                open_.sendall(piece)
            while received := open_.recv(65536):
                answer += received
        except ConnectionError:  # hung up on before all was sent
            pass
    return answer


def code(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"x-content-type-options" in head
    return int(head.split()[1]), json.loads(body)["error"]["code"]


def test_a_head_without_end_is_cut_off_before_it_fills_the_memory(url: str) -> None:
    parts = urlsplit(url)
    with socket.create_connection((str(parts.hostname), parts.port or 0), timeout=20) as open_:
        open_.sendall(ASKED + b"x-a: ")
        taken = 0
        with contextlib.suppress(ConnectionError):
            while taken < 1_000_000_000:
                open_.sendall(b"a" * 65536)
                taken += 65536
    assert taken < 50_000_000  # what the system's buffers hold


def test_a_head_that_never_ends_is_refused_after_a_while(url: str) -> None:
    assert code(sent(url, ASKED)) == (408, "too_slow")


def test_a_connection_that_asks_nothing_is_closed_without_a_word(url: str) -> None:
    assert sent(url) == b""


def test_a_second_head_on_a_connection_may_take_no_longer(url: str) -> None:
    first, _, second = sent(url, ASKED + b"\r\n", ASKED).partition(b"HTTP/1.1 408")
    assert first.startswith(b"HTTP/1.1 200")
    assert b"too_slow" in second


@pytest.mark.parametrize("path", [b"/api/search", b"/mcp", b"/api/document"])
@pytest.mark.parametrize(
    "part",
    [b"content-length: 1000\r\n\r\n{", b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"],
    ids=["plain", "chunked"],
)
def test_a_body_that_never_ends_is_refused_after_a_while(url: str, path: bytes, part: bytes) -> None:
    assert code(sent(url, POSTED % path + part)) == (408, "too_slow")


def test_what_is_still_sent_after_the_answer_holds_no_connection(url: str) -> None:
    answer = sent(url, POSTED % b"/nowhere" + b"content-length: 1000\r\n\r\n{", b"{")
    assert answer.startswith(b"HTTP/1.1 404")


def test_large_bodies_and_usual_heads_pass(url: str) -> None:
    question = {"query": "tokens", "hypothetical_answer": "tokens " * 2000}
    with httpx.Client(base_url=url, headers={"x-a": "a" * 30_000}) as client:
        for _ in range(3):
            assert client.post("/api/search", json=question).status_code == 200
            large = client.post("/api/search", content=b'{"query": "tokens"' + b" " * 3_000_000 + b"}")
            assert large.status_code == 200
            assert client.get("/health").status_code == 200


def test_a_stream_may_be_silent_for_as_long_as_it_likes(url: str) -> None:
    parts, came = urlsplit(url), b""
    with socket.create_connection((str(parts.hostname), parts.port or 0), timeout=2) as open_:
        open_.sendall(ASKED.replace(b"/health", b"/sse") + b"\r\n")
        while b"event: endpoint" not in came:
            came += open_.recv(65536)
        with pytest.raises(TimeoutError):
            open_.recv(65536)
