"""What these tests prove of embeddings by Amazon Bedrock, against a server on this machine that speaks its protocol:

* both families of models keep the embedder's contract and are asked in their own way
* throttled and broken requests are tried again, and everything that goes wrong gives one clear message
* without the extra the error names it
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote

import pytest

from librarian.embeddings.base import Embedder
from librarian.embeddings.bedrock import BedrockEmbedder
from librarian.embeddings.loading import EmbedderSpec
from librarian.errors import SetupError, Unavailable
from tests.contracts.embedder_contract import EmbedderContract
from tests.embeddings.fakes import FakeEmbedder

TITAN, COHERE, COHERE_4 = "amazon.titan-embed-text-v2:0", "cohere.embed-multilingual-v3", "us.cohere.embed-v4:0"

installed = pytest.mark.skipif(find_spec("boto3") is None, reason="the extra bedrock isn't installed")


class Bedrock:
    """`POST /model/ID/invoke`. `planned` answers (status, error code, message) come first."""

    def __init__(self) -> None:
        self.planned: list[tuple[int, str, str]] = []
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.answer: Any = None
        self.open = threading.Event()
        self.open.set()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model = unquote(self.path).split("/")[2]
                service.bodies.append((model, body))
                assert "AWS4-HMAC-SHA256 Credential=key/" in self.headers["authorization"]
                service.open.wait(30)
                status, code, said = service.planned.pop(0) if service.planned else (200, "", "")
                found = service.embed(model, body) if service.answer is None else service.answer
                data = json.dumps(found if status == 200 else {"message": said}).encode()
                try:
                    self.send_response(status)
                    self.send_header("content-length", str(len(data)))
                    self.send_header("content-type", "application/json")
                    if code:
                        self.send_header("x-amzn-errortype", code)
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    self.close_connection = True  # who asked has gone

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self._thread.start()

    def embed(self, model: str, body: dict[str, Any]) -> dict[str, Any]:
        embed = FakeEmbedder()._vector
        if "titan" in model:
            return {"embedding": (2 * embed(body["inputText"])).tolist(), "inputTextTokenCount": 3}
        rows = [(2 * embed(text)).tolist() for text in body["texts"]]
        return {"embeddings": {"float": rows} if "v4" in model else rows}

    def close(self) -> None:
        self.open.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bedrock]:
    for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "eu-west-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    found = Bedrock()
    yield found
    found.close()


@installed
class TestTitan(EmbedderContract):
    @pytest.fixture
    def embedder(self, bedrock: Bedrock) -> Iterator[Embedder]:
        found = BedrockEmbedder(TITAN, endpoint_url=bedrock.url)
        yield found
        found.close()


@installed
class TestCohere(EmbedderContract):
    @pytest.fixture
    def embedder(self, bedrock: Bedrock) -> Iterator[Embedder]:
        found = BedrockEmbedder(COHERE, endpoint_url=bedrock.url)
        yield found
        found.close()


@installed
def test_each_family_is_asked_in_its_own_way(bedrock: Bedrock) -> None:
    cohere = EmbedderSpec(COHERE_4, provider="bedrock", base_url=bedrock.url)()
    assert cohere.spec.dimension == 64
    assert cohere.backend == "bedrock"
    cohere.embed_chunks(["a"] * 100)
    assert [len(body["texts"]) for _, body in bedrock.bodies] == [1, 96, 4]
    assert [body["input_type"] for _, body in bedrock.bodies] == ["search_query", "search_document", "search_document"]
    assert {model for model, _ in bedrock.bodies} == {COHERE_4}
    cohere.close()
    bedrock.bodies.clear()
    titan = EmbedderSpec(TITAN, provider="bedrock", base_url=bedrock.url)()
    titan.embed_chunks(["a", ""])
    assert sorted(body["inputText"] for _, body in bedrock.bodies) == [" ", "a", "dimension"]
    titan.close()


@installed
def test_what_passes_is_tried_again(bedrock: Bedrock) -> None:
    embedder = BedrockEmbedder(TITAN, endpoint_url=bedrock.url)
    bedrock.planned = [(429, "ThrottlingException", "slow down"), (503, "ServiceUnavailableException", "busy")]
    assert embedder.embed_query("a").shape == (64,)
    assert len(bedrock.bodies) == 4
    embedder.close()


@installed
@pytest.mark.parametrize(
    ("status", "code", "said", "error", "message"),
    [
        (403, "AccessDeniedException", "no access", SetupError, r"refuses the credentials \(no access\)\. Check them"),
        (403, "UnrecognizedClientException", "bad token", SetupError, "refuses the credentials"),
        (404, "ResourceNotFoundException", "none", SetupError, f"has no model '{TITAN}'"),
        (400, "ValidationException", "The provided model identifier is invalid.", SetupError, "has no model"),
        (400, "ValidationException", "too long", Unavailable, r"refuses the request with 400 \(too long\)"),
        (400, "ServiceQuotaExceededException", "spent", Unavailable, r"with 400 \(spent\)\. .*quota"),
        (429, "ThrottlingException", "slow down", Unavailable, r"with 429 \(slow down\)\. Try again"),
        (500, "InternalServerException", "broken", Unavailable, r"with 500 \(broken\)"),
    ],
)
def test_what_goes_wrong_is_said(bedrock: Bedrock, status: int, code: str, said: str, error: Any, message: str) -> None:
    embedder = BedrockEmbedder(TITAN, endpoint_url=bedrock.url, attempts=1)
    bedrock.planned = [(status, code, said)]
    with pytest.raises(error, match=message):
        embedder.embed_query("a")
    embedder.close()


@installed
@pytest.mark.parametrize("answer", [{}, [], {"embedding": "x"}, {"embedding": [1.0, 2.0]}, {"embedding": [[1.0]]}])
def test_what_is_no_embedding_is_said(bedrock: Bedrock, answer: Any) -> None:
    embedder = BedrockEmbedder(TITAN, endpoint_url=bedrock.url)
    bedrock.answer = answer
    with pytest.raises(Unavailable, match="isn't embeddings"):
        embedder.embed_query("a")
    embedder.close()


@installed
def test_a_service_that_hangs_or_is_away_is_said(bedrock: Bedrock) -> None:
    embedder = BedrockEmbedder(TITAN, endpoint_url=bedrock.url, timeout_s=0.3, attempts=1)
    bedrock.open.clear()
    with pytest.raises(Unavailable, match="doesn't answer"):
        embedder.embed_query("a")
    embedder.close()
    with pytest.raises(Unavailable, match="doesn't answer"):
        BedrockEmbedder(TITAN, endpoint_url="http://127.0.0.1:9", attempts=1)


@installed
def test_missing_credentials_regions_and_models_are_named(
    bedrock: Bedrock, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    with pytest.raises(SetupError, match=r"isn't an embedding model .*titan-embed-text-v2"):
        BedrockEmbedder("anthropic.something", endpoint_url=bedrock.url)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(SetupError, match=r"no credentials .*AWS_ACCESS_KEY_ID"):
        BedrockEmbedder(TITAN, endpoint_url=bedrock.url)
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(SetupError, match="Set AWS_REGION"):
        BedrockEmbedder(TITAN)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(SetupError, match=r"librarian-docs\[bedrock\]"):
        EmbedderSpec(TITAN, provider="bedrock")()
