"""A language model that rewrites questions, from the settings to the answer over HTTP, against a real server:

* both wire formats, streamed and in one piece: what it said is in `rewritten`, and finds what the question doesn't;
* it is asked once per question, and not about names, keywords, or where the caller brought an answer;
* one that fails, is slow, breaks off or rambles changes nothing but `degraded`, within its time;
* its key reaches its server and nobody else: no log, no answer, no page.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from librarian.embeddings.model_files import ModelStore
from librarian.library import Librarian
from librarian.web.app import build_app
from tests.api.serving import served
from tests.embeddings.chat_server import ChatServer

KEY = "sk-very-secret-key"
QUESTION = "how can somebody give their goods back to us"
SAID = {"search_terms": "declined payment E4021", "hypothetical_answer": "A declined payment shows error E4021."}
FILES = {
    "shop/guides/returns.md": "# Returns\n\nGoods may be sent back within thirty days. "
    "See [declined payments in the shop](checkout.md) and [parcels that leave the house](parcels.md).\n",
    "shop/guides/checkout.md": "# Checkout\n\nWhen a payment is declined, error E4021 is shown and the cart is kept.\n",
    "shop/guides/parcels.md": "# Parcels\n\nParcels leave the house at noon on working days.\n",
}


@dataclass(frozen=True)
class Setting:
    """A library that asks the model, and what it finds without it."""

    model: ChatServer
    library: Librarian
    url: str
    plain: list[tuple[str, float]]


def _opened(folder: Path, **llm: Any) -> Librarian:
    given: dict[str, Any] = {"docs.watch_for_changes": False, "index.workers": 1, "search.cache.enabled": False}
    given["vector_db.store"] = "exact"
    given |= {f"llm.{name}": value for name, value in llm.items()}
    return Librarian.open(root=folder / "docs", index=folder / "index", **given)


@pytest.fixture(scope="module", params=["openai", "ollama"])
def setting(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Setting]:
    if ModelStore().locate("all-MiniLM-L6-v2") is None:
        pytest.skip("the default embedding model is not installed; run librarian models fetch")
    folder = tmp_path_factory.mktemp("rewriting")
    for name, text in FILES.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with _opened(folder) as library:
        plain = places(library.search(QUESTION, mode="hybrid", include_weak=True).as_fields())
    model = ChatServer()
    llm = {"enabled": True, "provider": request.param, "model": "m1", "base_url": model.url, "api_key": KEY}
    with _opened(folder, **llm, timeout_s=1.0) as library, served(build_app(library)) as url:
        yield Setting(model, library, url, plain)
    model.close()


@pytest.fixture
def model(setting: Setting) -> ChatServer:
    """On a good day; nothing said is remembered."""
    setting.model.recover()
    setting.model.words = [piece + " " for piece in json.dumps(SAID).split(" ")]
    setting.library.refresh()
    return setting.model


@pytest.fixture
def client(setting: Setting, model: ChatServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=setting.url, timeout=30) as client:
        yield client


def ask(client: httpx.Client, query: str = QUESTION, **given: Any) -> dict[str, Any]:
    asked = {"query": query, "mode": "hybrid", "explain": True, "include_weak": True, **given}
    answer = client.post("/api/search", json=asked)
    assert answer.status_code == 200, answer.text
    return {"rewritten": None, "degraded": [], **answer.json()}


def places(answer: dict[str, Any]) -> list[tuple[str, float]]:
    return [(result["id"], result["relevance_score"]) for result in answer["results"]]


def test_what_the_model_says_is_searched_beside_the_question(client: httpx.Client, model: ChatServer) -> None:
    answer = ask(client)
    assert answer["rewritten"] == {**SAID, "source": "m1"}
    assert answer["degraded"] == []
    assert answer["retrievers"]["hyde"]["status"] == "ok"
    found = {result["title"]: result for result in answer["results"]}
    assert found["Checkout"]["keyword_score"] > 0, "the model's words find what the question's don't"
    assert found["Returns"]["keyword_score"] > 0, "the question's own words are searched too"
    again = ask(client, max_results=1)
    assert len(model.requests) == 1, "one question, one call, further pages included"
    assert again["rewritten"] == answer["rewritten"]
    path, headers, body = model.requests[0]
    assert path in ("/chat/completions", "/v1/chat/completions")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert [body["messages"][1]["content"], body["model"]] == [QUESTION, "m1"]
    assert client.get("/api/status").json()["llm"]["connected"] is True


def test_it_is_not_asked_where_words_are_meant_exactly(client: httpx.Client, model: ChatServer) -> None:
    ask(client, mode="keyword")
    ask(client, mode="semantic")
    ask(client, "E4021")
    ask(client, "cart")
    ask(client, semantic_weight=0.5)
    ask(client, mode="hyde", hypothetical_answer="Goods are sent back by post.")
    assert model.requests == []


def test_it_is_asked_nothing_by_what_measures(setting: Setting, model: ChatServer, tmp_path: Path) -> None:
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.tsv"
    queries.write_text(json.dumps({"_id": "1", "text": QUESTION}))
    qrels.write_text("1\tshop/guides/returns.md\t1\n")
    judged = {"queries": str(queries), "qrels": str(qrels)}
    told = "the language model was asked nothing: --llm has it rewrite the questions, as it does others"
    assert setting.library.evaluate(**judged, modes=["hybrid"])["notes"] == [told]
    assert setting.library.evaluate(own=True, modes=["hybrid", "auto"])["questions"]
    setting.library.bench(QUESTION, mode="hybrid")
    assert model.requests == []
    assert setting.library.bench(QUESTION, mode="hybrid", llm=True).rewritten is not None
    setting.library.refresh()
    model.requests.clear()
    assert setting.library.evaluate(**judged, modes=["hybrid"], llm=True)["notes"] == []
    assert len(model.requests) == 1


def _refuses(model: ChatServer) -> str:
    model.status = 401
    model.refusal = {"error": {"message": f"Incorrect API key provided: {KEY}, also sk-very-*****-key"}}
    return "refuses the key"


def _is_slow(model: ChatServer) -> str:
    model.pause_s = 0.3
    return "answer within"


def _hangs(model: ChatServer) -> str:
    model.pause_s = 30
    return "answer within"


def _breaks_off(model: ChatServer) -> str:
    model.breaks_after = 2
    return "fails with 500 (out of memory"


def _rambles(model: ChatServer) -> str:
    model.words = ["<think>", *["Let me think about that. "] * 100]
    return "said nothing"


def _says_nothing(model: ChatServer) -> str:
    model.words = []
    return ""


def _stops_being_a_chat(model: ChatServer) -> str:
    model.path = "/elsewhere"
    return "has no model 'm1'"


@pytest.mark.parametrize(
    "bad_day", [_refuses, _is_slow, _hangs, _breaks_off, _rambles, _says_nothing, _stops_being_a_chat]
)
def test_a_model_that_fails_changes_nothing_but_degraded(
    client: httpx.Client, setting: Setting, model: ChatServer, bad_day: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = bad_day(model)
    started = time.monotonic()
    answer = ask(client)
    took = time.monotonic() - started
    assert places(answer) == setting.plain
    assert answer["mode"] == "hybrid"
    assert answer["rewritten"] is None
    assert len(answer["degraded"]) == 1
    assert answer["degraded"][0].startswith("llm: ")
    assert said in answer["degraded"][0]
    assert took < 6, "its time is one second, the rest is searching on a busy machine"
    asked = len(model.requests)
    again = ask(client)
    assert "asked again in" in again["degraded"][0], "a model that failed isn't waited for at every question"
    assert len(model.requests) == asked
    assert client.get("/api/status").json()["llm"] | {"provider": ""} == {
        "enabled": True, "provider": "", "model": "m1", "connected": False,
    }  # fmt: skip
    told = caplog.text + json.dumps([answer, again]) + client.get("/api/status").text + client.get("/metrics").text
    assert KEY not in told
    assert "sk-very" not in told
