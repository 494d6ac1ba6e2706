"""What these tests prove of asking a language model, against a real server on this machine:

* OpenAI's format, which Ollama speaks too, carries the question as data; the answer comes back as terms and a passage;
* whatever a model wraps its JSON in is understood, and nothing else is made up;
* every failure is one clear `Unavailable`, within the budget.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.embeddings.language_models import Chat, LlmRewriter, parse
from librarian.errors import SetupError, Unavailable
from librarian.models import Deadline

SAID = '{"search_terms": "pod restart", "hypothetical_answer": "Pods restart when deleted."}'


class Server:
    def __init__(self) -> None:
        self.status = 200
        self.answer: Any = None
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.release = threading.Event()
        self.release.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(outer.status, {})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                outer.release.wait(10)
                message = {"message": {"content": SAID}}
                self._send(outer.status, {"choices": [message]} if outer.answer is None else outer.answer)

            def _send(self, status: int, answer: Any) -> None:
                data = json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except BrokenPipeError:
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.release.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


@pytest.fixture(params=["openai", "ollama"])
def rewriter(server: Server, request: pytest.FixtureRequest) -> Iterator[LlmRewriter]:
    found = LlmRewriter(Chat("some-model", provider=request.param, base_url=server.url, api_key="secret"))
    yield found
    found.close()


def test_a_question_becomes_terms_and_an_expected_answer(server: Server, rewriter: LlmRewriter) -> None:
    found = rewriter.rewrite("how do I restart a pod", Deadline())
    assert (found.search_terms, found.hypothetical_answer) == ("pod restart", "Pods restart when deleted.")
    assert found.model == "some-model"
    assert found.ms > 0
    path, headers, body = server.requests[0]
    assert path == ("/chat/completions" if rewriter.name.startswith("openai") else "/v1/chat/completions")
    assert headers["authorization"] == "Bearer secret"
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][1]["content"] == "how do I restart a pod"
    assert rewriter.is_reachable()


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "OPENAI_API_KEY"), (404, "llm.model"), (429, "in a minute"), (500, "later")]
)
def test_a_refusal_is_said(server: Server, rewriter: LlmRewriter, status: int, hint: str) -> None:
    server.status, server.answer = status, {"error": "some reason"}
    with pytest.raises(Unavailable, match=rf"some reason.*{hint}"):
        rewriter.rewrite("q", Deadline())
    assert not rewriter.is_reachable()


@pytest.mark.parametrize("answer", [{}, [], {"choices": []}, {"message": None}, "text"])
def test_what_is_no_chat_is_said(server: Server, rewriter: LlmRewriter, answer: Any) -> None:
    server.answer = answer
    with pytest.raises(Unavailable, match="isn't a chat"):
        rewriter.rewrite("q", Deadline())


def test_an_answer_may_come_in_parts(server: Server, rewriter: LlmRewriter) -> None:
    parts = [{"type": "text", "text": SAID[:9]}, {"type": "text", "text": SAID[9:]}]
    server.answer = {"choices": [{"message": {"content": parts}}]}
    assert rewriter.rewrite("q", Deadline()).search_terms == "pod restart"


def test_the_budget_ends_the_wait(server: Server, rewriter: LlmRewriter) -> None:
    server.release.clear()
    started = time.monotonic()
    with pytest.raises(Unavailable, match="doesn't answer within"):
        rewriter.rewrite("q", Deadline.of_ms(100))
    with pytest.raises(Unavailable, match="no time left"):
        rewriter.rewrite("q", Deadline.of_ms(-1))
    assert time.monotonic() - started < 5


def test_a_dead_network_is_said(rewriter: LlmRewriter) -> None:
    rewriter._chat.client.url = "http://127.0.0.1:9"
    with pytest.raises(Unavailable, match="can't be reached"):
        rewriter.rewrite("q", Deadline())
    assert not rewriter.is_reachable()


def test_openai_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of the environment, which the settings did not pass on")
    with pytest.raises(SetupError, match="OPENAI_API_KEY"):
        Chat("some-model")
    ollama = Chat("some-model", provider="ollama", base_url="http://127.0.0.1:9/")
    assert ollama.name == "ollama:some-model"
    assert ollama.client.url == "http://127.0.0.1:9/v1"
    ollama.close()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (SAID, ("pod restart", "Pods restart when deleted.")),
        (f"```json\n{SAID}\n```", ("pod restart", "Pods restart when deleted.")),
        (f"<think>{{x}} hm</think>Here: {SAID} Hope it helps!", ("pod restart", "Pods restart when deleted.")),
        (f"{{x}} or that? </think>\n{SAID}", ("pod restart", "Pods restart when deleted.")),
        (f"<thinking>{{}}</thinking>{SAID}", ("pod restart", "Pods restart when deleted.")),
        (f'Use {{braces}}: {{"result": {SAID}}}', ("pod restart", "Pods restart when deleted.")),
        ('{"search_terms": "a\\ud800b"}', ("ab", "")),
        ('{"search_terms": ["a", "b"], "hypothetical_answer": null}', ("a b", "")),
        ('{"hypothetical_answer": "two\nlines"}', ("", "two lines")),
        ("Pods restart when deleted.", ("", "Pods restart when deleted.")),
    ],
)
def test_whatever_wraps_the_json_is_understood(
    server: Server, rewriter: LlmRewriter, said: str, expected: tuple[str, str]
) -> None:
    server.answer = {"choices": [{"message": {"content": said}}]}
    found = rewriter.rewrite("q", Deadline())
    assert (found.search_terms, found.hypothetical_answer) == expected


@pytest.mark.parametrize(
    "said", ["", "<think>endless", '{"search_terms": "a', "{}", "``` ```", '{"search_terms": 3}', "null", '["a"]']
)
def test_nothing_said_is_nothing_found(server: Server, rewriter: LlmRewriter, said: str) -> None:
    server.answer = {"choices": [{"message": {"content": said}}]}
    with pytest.raises(Unavailable, match="said nothing"):
        rewriter.rewrite("q", Deadline())


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_no_answer_breaks_it(said: str) -> None:
    try:
        terms, expected = parse(said)
    except Unavailable:
        return
    assert terms or expected
