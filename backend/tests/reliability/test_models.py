"""A library whose embedding model changes, or whose embedding service has bad days.

* while a changed model is fetched and fills its stores the old vectors answer, through a kill too; what it has done it
  doesn't do again; then the new ones answer and the old are gone
* a service that refuses, limits, breaks or hangs gives one sentence; words answer meanwhile; when it is well again the
  rest is embedded at the next try, and at once where somebody asks for the index
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from librarian.library import Librarian
from tests.embeddings import tiny_bert
from tests.embeddings.embedding_service import Answer, Service
from tests.embeddings.hub import Hub, serving
from tests.reliability import running
from tests.reliability.running import Running

PATIENCE_S = 180.0  #: four servers start here, each with its children
PAGES = 60
TOPICS = ("pod", "node", "volume", "scheduler", "query")


@pytest.fixture(autouse=True)
def _own_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def service() -> Iterator[Service]:
    found = Service()
    yield found
    found.close()


def until(condition: Callable[[], bool], what: str) -> None:
    running.until(condition, what, PATIENCE_S)


def tiny(folder: Path, **changes: Any) -> str:
    tiny_bert.write_model(folder, **changes)
    return str(folder)


def write_pages(root: Path) -> None:
    for number in range(PAGES):
        topic = TOPICS[number % len(TOPICS)]
        page = root / "shop" / "guide" / f"{number}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        text = f"# Page {number}\n\nThe {topic} runs. Persistent is what page{number} says of a {topic}.\n"
        page.write_text(text + f"\n## More\n\nThe node reads the {topic} of page{number}.\n")


def search(url: str, mode: str) -> dict[str, Any]:
    asked = {"q": "what is a pod", "mode": mode}
    found: dict[str, Any] = httpx.get(f"{url}/api/search", params=asked, timeout=30).json()
    return found


def status(library: Running) -> dict[str, Any]:
    """What it says of itself; nothing while the address is still that of a server which was killed."""
    try:
        found: dict[str, Any] = httpx.get(f"{library.url()}/api/status", timeout=30).json()
    except httpx.TransportError:
        return {}
    return found


def has_read(library: Running) -> bool:
    return bool(status(library).get("documents") == PAGES)


def complete(library: Running) -> bool:
    seen = status(library)
    return bool(seen and seen["status"] == "ready" and seen["embedded_chunks"] == seen["chunks"] > 0)


def answers_by_meaning(url: str) -> None:
    found = search(url, "semantic")
    assert found["retrievers"]["semantic"]["status"] == "ok", found["retrievers"]
    assert found["mode"] == "semantic"
    assert found["results"]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[dict[str, object]], Running]]:
    """Starts the server with these settings of embeddings; one at a time."""
    started: list[Running] = []

    def start(embeddings: dict[str, object]) -> Running:
        started.append(Running(tmp_path, {"embeddings": embeddings, "vector_db": {"store": "exact"}}))
        return started[-1]

    yield start
    for library in started:
        library.stop(signal.SIGKILL)


def test_the_old_vectors_answer_while_a_changed_model_is_fetched_and_fills_its_stores(
    tmp_path: Path, serve: Callable[[dict[str, object]], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pages(tmp_path / "docs")
    library = serve({"model": tiny(tmp_path / "old")})
    until(lambda: complete(library), "the first model's vectors")
    answers_by_meaning(library.url())
    first = [result["file_path"] for result in search(library.url(), "semantic")["results"]]
    library.stop()

    # Another tiny model, of another width, at a hub that takes its time.
    tiny(tmp_path / "new", seed=1, hidden_size=48)
    new = "owner/tiny"
    with serving(tmp_path / "new") as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
        Hub.open.clear()
        library = serve({"model": new})
        until(lambda: has_read(library), "the documents")
        answers_by_meaning(library.url())
        assert [result["file_path"] for result in search(library.url(), "semantic")["results"]] == first
        library.stop(signal.SIGKILL)
        library = serve({"model": new})
        until(lambda: has_read(library), "the documents after the kill")
        answers_by_meaning(library.url())
        Hub.open.set()
        until(lambda: complete(library), "the new model's vectors")
    answers_by_meaning(library.url())
    assert status(library)["embeddings"]["dimension"] == 48


def test_after_a_kill_a_service_is_asked_only_for_what_it_has_not_done(
    tmp_path: Path, service: Service, serve: Callable[[dict[str, object]], Running]
) -> None:
    write_pages(tmp_path / "docs")
    library = serve({"model": tiny(tmp_path / "old")})
    until(lambda: complete(library), "the first model's vectors")
    library.stop()
    settings: dict[str, object] = {"model": "some-model", "provider": "openai", "base_url": service.url}
    half = 40

    def answer(body: dict[str, Any]) -> Answer:
        if len(service.texts()) > half:
            service.open.clear()
        return 200, {}, service.embed(body)

    service.answer = answer  # type: ignore[method-assign]
    library = serve(settings)
    until(lambda: not service.open.is_set(), "half of the passages")
    answers_by_meaning(library.url())
    assert status(library)["status"] == "indexing"
    library.stop(signal.SIGKILL)
    half = 10**9
    service.open.set()
    library = serve(settings)
    until(lambda: complete(library), "the service's vectors")
    answers_by_meaning(library.url())
    library.stop()
    often = Counter(text for text in service.texts() if "page" in text)
    assert sum(count > 1 for count in often.values()) <= 64  # what was on its way when the kill came


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        ((401, {}, {"error": {"message": "bad key"}}), "refuses the key (bad key). Check OPENAI_API_KEY"),
        ((429, {"Retry-After": "0"}, {"error": {"message": "slow down"}}), "limits the rate of requests (slow down)"),
        ((429, {}, {"error": {"message": "pay", "code": "insufficient_quota"}}), "The quota of "),
        ((500, {"Retry-After": "0"}, {"error": "broken"}), "fails with 500 (broken)"),
        (None, "doesn't answer"),
    ],
    ids=["key", "rate", "quota", "broken", "hangs"],
)
def test_words_answer_while_a_service_fails_and_the_rest_is_embedded_when_it_is_well(
    tmp_path: Path, service: Service, failure: Answer | None, sentence: str
) -> None:
    write_pages(tmp_path / "docs")
    service.failure = failure
    if failure is None:
        service.questions_too = True
        service.open.clear()
    options: dict[str, object] = {
        "embeddings.model": "some-model",
        "embeddings.provider": "openai",
        "embeddings.base_url": service.url,
        "embeddings.dimension": 64,
        "embeddings.timeout_s": 0.2,
        "vector_db.store": "exact",
        "index.workers": 1,
        "docs.watch_for_changes": False,
    }
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", wait=False, **options) as library:
        until(lambda: any(sentence in reason for reason in library.status().reasons), f"{sentence!r}")
        reasons = [reason for reason in library.status().reasons if "embeddings" in reason]
        assert len(reasons) == 1, reasons
        found = library.search("scheduler", mode="hybrid")
        assert found.mode == "keyword"
        assert found.results
        assert sentence in found.retrievers.semantic.reason
        assert library.status().status == "degraded"
        service.failure = None
        service.open.set()
        library.refresh()
        until(lambda: library.status().status == "ready", "the embedding")
        seen = library.status()
        assert seen.embedded_chunks == seen.chunks > 0
        assert library.search("scheduler", mode="semantic").mode == "semantic"


def test_whoever_asks_for_the_index_after_mending_what_failed_gets_it(tmp_path: Path, service: Service) -> None:
    write_pages(tmp_path / "docs")
    service.failure = (401, {}, {"error": {"message": "bad key"}})
    options: dict[str, object] = {
        "embeddings.model": "some-model",
        "embeddings.provider": "openai",
        "embeddings.base_url": service.url,
        "embeddings.dimension": 64,
        "embeddings.timeout_s": 0.2,
        "vector_db.store": "exact",
        "docs.watch_for_changes": False,
    }
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", wait=False, **options) as library:
        until(lambda: library.status().status == "degraded", "the failure")
        assert library.refresh().reasons
        service.failure = None
        done = library.refresh()
        assert done.reasons == []
        assert done.embedded == done.chunks > 0
