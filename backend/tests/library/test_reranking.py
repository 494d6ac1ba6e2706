"""Rerank mode from the settings to the answer, with a cross-encoder of a few thousand weights that really runs.

* its order is that of its logits and the first stage, and `retrievers.rerank` says how many it scored
* asked again, it reads nothing again
* an identifier's page stays first
* a model that can't be loaded, and one too slow for its time, leave hybrid's order, and the answer says so
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from librarian.embeddings.cross_encoder import OnnxCrossEncoder
from librarian.library import Librarian
from librarian.schemas import SearchResponse
from tests.embeddings import tiny_bert

QUESTION = "what is a pod"
PAGES = {
    f"shop/guide/{number}.md": f"# Page {number}\n\nThe {topic} runs. A {topic} is persistent to the scheduler.\n"
    for number, topic in enumerate(("pod", "node", "volume", "query") * 5)
} | {"shop/guide/setting.md": "# Settings\n\nSet `pod_limit_max` with care.\n"}


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Librarian]]:
    """Opens the library with a tiny embedder and a tiny cross-encoder; one at a time."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for path, text in PAGES.items():
        (tmp_path / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / path).write_text(text)
    tiny_bert.write_model(tmp_path / "embedder")
    tiny_bert.write_model(tmp_path / "judge", labels=1)
    made: list[Librarian] = []

    def make(**given: object) -> Librarian:
        settings: dict[str, Any] = {
            "embeddings.model": str(tmp_path / "embedder"),
            "search.reranker": "cross-encoder",
            "search.reranker_model": str(tmp_path / "judge"),
            "search.rerank_timeout_ms": 60_000,
            "index.workers": 1,
            "docs.watch_for_changes": False,
            "vector_db.store": "exact",
            **{name.replace("__", "."): value for name, value in given.items()},
        }
        made.append(Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **settings))
        return made[-1]

    yield make
    for library in made:
        library.close()


def order(answer: SearchResponse) -> list[str]:
    assert answer.results
    return [result.id for result in answer.results]


def test_a_cross_encoder_orders_says_how_many_it_scored_and_remembers(
    opened: Callable[..., Librarian], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = opened()
    read: list[str] = []
    logit = OnnxCrossEncoder._logit

    def counted(self: OnnxCrossEncoder, query: str, passage: str) -> float:
        read.append(passage)
        return logit(self, query, passage)

    monkeypatch.setattr(OnnxCrossEncoder, "_logit", counted)
    answer = library.search(QUESTION, mode="rerank", max_results=5, explain=True)
    assert answer.mode == "rerank"
    assert answer.retrievers.rerank.status == "ok"
    assert answer.retrievers.rerank.reason == f"{len(read)} candidates were scored"
    assert len(read) > len(answer.results)
    for result in answer.results:
        (why,) = (reason for reason in result.why if reason.source == "rerank")
        assert why.raw is not None
        assert result.rerank_score == pytest.approx(1 / (1 + math.exp(-why.raw)), abs=1e-3)
    library.clear_cache()
    again = library.search(QUESTION, mode="rerank", max_results=5)
    assert order(again) == order(answer)
    assert again.retrievers.rerank.reason == answer.retrievers.rerank.reason
    assert len(read) == len(set(read))
    named = library.search("pod_limit_max of a pod", mode="rerank")
    assert named.mode == "rerank"
    assert named.results[0].file_path == "shop/guide/setting.md"


def test_one_too_slow_leaves_hybrids_order_and_says_how_far_it_got(
    opened: Callable[..., Librarian], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = opened(search__rerank_timeout_ms=300)
    library.search(QUESTION, mode="rerank")  # loads the models

    def slow(self: OnnxCrossEncoder, query: str, passage: str) -> float:
        threading.Event().wait(0.12)
        return 1.0

    monkeypatch.setattr(OnnxCrossEncoder, "_logit", slow)
    answer = library.search("what is a node", mode="rerank")
    assert answer.mode == "hybrid"
    assert answer.retrievers.rerank.status == "skipped"
    assert "candidates were scored within 300 ms" in answer.retrievers.rerank.reason
    assert any(item.startswith("rerank:") for item in answer.degraded)
    assert order(answer) == order(library.search("what is a node", mode="hybrid"))


def test_one_that_cannot_be_loaded_leaves_hybrids_order_and_says_why(
    opened: Callable[..., Librarian], tmp_path: Path
) -> None:
    (tmp_path / "judge" / "tokenizer.json").unlink()
    library = opened()
    answer = library.search(QUESTION, mode="rerank")
    assert answer.mode == "hybrid"
    assert answer.retrievers.rerank.status == "failed"
    assert "tokenizer.json" in answer.retrievers.rerank.reason
    assert [reason.startswith("rerank: ") for reason in answer.degraded] == [True]
    assert library.status().status == "degraded"
    assert order(answer) == order(library.search(QUESTION, mode="hybrid"))


def test_auto_takes_the_model_in_a_folder_that_the_settings_name(opened: Callable[..., Librarian]) -> None:
    library = opened(search__reranker="auto")
    answer = library.search(QUESTION, mode="rerank")
    assert answer.mode == "rerank"
    assert answer.retrievers.rerank.reason.endswith("candidates were scored")
    assert library.status().reranker.endswith("judge")


def test_without_a_model_the_two_stages_of_words_and_meaning_rank_and_say_so(opened: Callable[..., Librarian]) -> None:
    library = opened(search__reranker="auto", search__reranker_model="nobody/nothing", search__mode="rerank")
    answer = library.search(QUESTION, explain=True)
    assert answer.mode == "rerank"
    assert answer.retrievers.rerank.reason.startswith("no cross-encoder")
    assert "librarian models fetch nobody/nothing" in answer.retrievers.rerank.reason
    assert {part.source for part in answer.results[0].why} <= {"semantic", "keyword"}
    status = library.status()
    assert status.reranker == "keyword-stage"
    assert any("no cross-encoder" in note and "models fetch" in note for note in status.notes)
    knowledge = library.search_knowledge_base(QUESTION, search_type="rerank")
    assert knowledge.search_mode == "hybrid"
    scores = [item.combined_score for item in knowledge.results]
    assert scores == sorted(scores, reverse=True)
    assert any("no cross-encoder" in reason for reason in knowledge.degraded)


def test_with_an_unknown_embedding_model_words_answer_and_the_status_says_why(opened: Callable[..., Librarian]) -> None:
    library = opened(embeddings__model="no-such-model")
    answer = library.search(QUESTION)
    assert answer.mode == "keyword"
    assert answer.results
    assert any("No embedding model 'no-such-model'" in reason for reason in answer.degraded)
    assert library.status().status == "degraded"


def test_an_embedding_model_that_was_replaced_in_its_folder_embeds_all_passages(
    opened: Callable[..., Librarian], tmp_path: Path
) -> None:
    library = opened()
    before = library.search(QUESTION, mode="semantic", explain=True).results[0].semantic_score
    library.close()
    tiny_bert.write_model(tmp_path / "embedder", seed=1)
    answer = opened().search(QUESTION, mode="semantic", explain=True)
    assert answer.mode == "semantic"
    assert answer.results[0].semantic_score != before
