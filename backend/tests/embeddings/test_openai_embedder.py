"""What these tests prove of embeddings by a service, against a real server on this machine:

* it keeps the embedder's contract, puts answers in order, and sends key and model;
* limits and failures are tried again after the pause that the service asks for, never for ever;
* a refused key, a used-up quota, a missing model, nonsense and a dead network each give one clear message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from librarian.embeddings.base import Embedder
from librarian.embeddings.loading import EmbedderSpec
from librarian.embeddings.services import OpenAIEmbedder
from librarian.errors import SetupError, Unavailable
from tests.contracts.embedder_contract import EmbedderContract
from tests.embeddings.embedding_service import Service


@pytest.fixture
def service() -> Iterator[Service]:
    found = Service()
    yield found
    found.close()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def embedder(service: Service, pauses: list[float]) -> Iterator[OpenAIEmbedder]:
    def wait(seconds: float) -> bool:
        pauses.append(seconds)
        return False

    found = OpenAIEmbedder("some-model", base_url=service.url, api_key="secret", wait=wait)
    yield found
    found.close()


class TestContract(EmbedderContract):
    @pytest.fixture
    def embedder(self, service: Service) -> Iterator[Embedder]:
        found = OpenAIEmbedder("some-model", base_url=service.url)
        yield found
        found.close()


def test_the_width_is_asked_for_once_and_the_key_is_sent(service: Service, embedder: OpenAIEmbedder) -> None:
    assert embedder.spec.dimension == 64
    embedder.embed_chunks(["a"] * 100)
    assert [len(body["input"]) for _, body in service.requests] == [1, 32, 32, 32, 4]
    headers, body = service.requests[0]
    assert headers["authorization"] == "Bearer secret"
    assert body["model"] == "some-model"
    assert "secret" not in embedder.fingerprint


def test_a_limit_is_waited_out(service: Service, embedder: OpenAIEmbedder, pauses: list[float]) -> None:
    busy = {"error": {"message": "slow down"}}
    service.planned = [(429, {"Retry-After": "7"}, busy), (503, {}, "<html>"), (429, {"Retry-After": "9999"}, busy)]
    assert embedder.embed_chunks(["a"]).shape == (1, 64)
    assert pauses == [7.0, 1.0, 20.0]


def test_a_limit_may_end_at_a_date(service: Service, embedder: OpenAIEmbedder, pauses: list[float]) -> None:
    for said in ("Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "nan", "soon"):
        service.planned.append((503, {"Retry-After": said}, ""))
    with pytest.raises(Unavailable):
        embedder.embed_chunks(["a"])
    assert pauses == [20.0, 0.0, 2.0]


def test_a_user_and_a_password_in_the_address_are_not_told(service: Service) -> None:
    service.failure = (500, {}, "")
    url = service.url.replace("//", "//me:hidden@")
    with pytest.raises(Unavailable, match="fails with 500") as told:
        OpenAIEmbedder("some-model", base_url=url, wait=lambda _: True)
    assert "hidden" not in str(told.value)


def test_a_question_waits_for_no_long_pause(service: Service, embedder: OpenAIEmbedder, pauses: list[float]) -> None:
    service.planned = [(429, {"Retry-After": "15"}, {"error": {"message": "slow down"}})]
    with pytest.raises(Unavailable, match="limits the rate"):
        embedder.embed_query("a")
    assert pauses == []


def test_a_service_that_hangs_is_said(service: Service) -> None:
    embedder = OpenAIEmbedder("some-model", base_url=service.url, timeout_s=0.2, wait=lambda _: True)
    service.questions_too = True
    service.open.clear()
    with pytest.raises(Unavailable, match=r"doesn't answer within 0\.2 s"):
        embedder.embed_query("a")
    embedder.close()


def test_retries_end(service: Service, embedder: OpenAIEmbedder, pauses: list[float]) -> None:
    service.planned = [(500, {}, {"error": "broken"})] * 9
    with pytest.raises(Unavailable, match=r"fails with 500 \(broken\)\. Try again later"):
        embedder.embed_query("a")
    assert pauses == [0.5, 1.0, 2.0]
    service.planned = [(429, {}, {"error": {"message": "slow down."}})] * 4
    with pytest.raises(Unavailable, match=r"limits the rate of requests \(slow down\)"):
        embedder.embed_query("a")


@pytest.mark.parametrize(
    ("status", "answer", "error", "message"),
    [
        (401, {"error": {"message": "bad key"}}, SetupError, r"refuses the key \(bad key\)\. Check OPENAI_API_KEY"),
        (404, {"error": {"message": "no such model"}}, SetupError, "has no model 'some-model'"),
        (429, {"error": {"message": "pay", "code": "insufficient_quota"}}, Unavailable, "quota .* is used up"),
        (400, {"detail": "too long"}, Unavailable, "refuses the request with 400"),
        (400, "", Unavailable, "HTTP 400"),
        (200, {"nothing": 1}, Unavailable, "isn't embeddings"),
        (200, "<html>", Unavailable, "isn't embeddings"),
        (200, {"data": "x"}, Unavailable, "isn't embeddings"),
        (200, {"data": []}, Unavailable, "isn't embeddings"),
        (
            200,
            {"data": [{"index": 0, "embedding": [1.0, 2.0]}]},
            Unavailable,
            r"isn't embeddings .* \(shape \(1, 2\)\)",
        ),
        *(
            (200, {"data": [{"embedding": [value] + [0.0] * 63}]}, Unavailable, "zero or hold what isn't a finite")
            for value in (float("nan"), 1e300, None, 0.0)
        ),
        (401, {"error": {"message": "no: Bearer secret, sk-abc***xyz"}}, SetupError, r"\(no: Bearer …, …\)"),
    ],
)
def test_what_is_useless_to_repeat_is_said_at_once(
    service: Service, embedder: OpenAIEmbedder, pauses: list[float], status: int, answer: Any, error: Any, message: str
) -> None:
    service.planned = [(status, {}, answer)]
    with pytest.raises(error, match=message):
        embedder.embed_query("a")
    assert pauses == []


def test_a_dead_network_is_said(embedder: OpenAIEmbedder, pauses: list[float]) -> None:
    embedder._client.url = "http://127.0.0.1:9/v1"
    with pytest.raises(Unavailable, match="can't be reached"):
        embedder.embed_query("a")
    assert len(pauses) == 3


def test_a_pause_can_be_ended(service: Service) -> None:
    embedder = OpenAIEmbedder("some-model", base_url=service.url, wait=lambda _: True)
    service.planned = [(500, {}, "")]
    with pytest.raises(Unavailable):
        embedder.embed_query("a")
    assert len(service.requests) == 2
    embedder.close()


def test_a_known_model_needs_no_question(service: Service) -> None:
    embedder = EmbedderSpec("text-embedding-3-small", provider="openai", base_url=service.url, api_key="k")()
    assert embedder.spec.dimension == 1536
    assert service.requests == []
    assert embedder.backend == "openai"
    assert embedder.device == "remote"
    embedder.close()
