"""Look-ups that fail cost the answer no more than what they would have told.

* a keyword index that fails at a later look-up, and a vector store that fails at its second one, degrade the answer
* a vector store that hangs at its second look-up is waited for only so long
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from librarian.models import Mode, Query, SearchOutcome
from librarian.search.engine import SearchOptions

from .library import Library

QUESTIONS = ["deploy the shop", "max_replicas", 'deploy "the shop" -till', "how to deploy shop_ctl on disk"]


def fails(*_: object, **__: object) -> Any:
    raise OSError("a segment is missing")


def asked(library: Library, text: str, mode: Mode = "hybrid", **options: Any) -> SearchOutcome:
    return library.engine(options=SearchOptions(**options)).search(Query(text, mode=mode))


@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("method", ["scores", "admitted", "frequencies", "terms"])
@pytest.mark.parametrize("mode", ["keyword", "hybrid", "rerank"])
def test_a_keyword_index_that_fails_at_a_later_look_up_degrades_the_answer(
    manual: Library, monkeypatch: pytest.MonkeyPatch, text: str, method: str, mode: Mode
) -> None:
    monkeypatch.setattr(manual.lexical, method, fails)
    outcome = asked(manual, text, mode)
    assert outcome.hits
    used = method == "admitted" and "-till" in text and mode != "keyword"
    used = used or (method == "scores" and "_" in text)
    assert any(reason.startswith("keyword: ") for reason in outcome.degraded) is used


def test_a_keyword_index_that_fails_at_scores_by_the_text_alone_degrades_the_answer(
    manual: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manual.lexical, "body_scores", fails)
    outcome = asked(manual, "deploy the shop")
    assert outcome.hits
    assert outcome.degraded == ("keyword: a segment is missing",)


@pytest.mark.parametrize("text", [text for text in QUESTIONS if "deploy" in text])
def test_a_keyword_index_that_answers_nothing_leaves_the_answer_to_the_vectors(
    manual: Library, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    for method in ("search", "scores", "admitted", "frequencies"):
        monkeypatch.setattr(manual.lexical, method, fails)
    outcome = asked(manual, text)
    assert outcome.hits
    assert outcome.retrievers["keyword"].status == "failed"
    assert "keyword: a segment is missing" in outcome.degraded


class SecondLookUp:
    """A vector store elsewhere, whose search fails, or hangs, from its second call on."""

    def __init__(self, library: Library, work: Any) -> None:
        self._store, self._work, self.calls = library.vectors, work, 0

    def count(self) -> int:
        return self._store.count()

    def search(self, *given: Any) -> Any:
        self.calls += 1
        return self._store.search(*given) if self.calls == 1 else self._work()


def test_a_vector_store_that_fails_at_its_second_look_up_degrades_the_answer(
    manual: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SecondLookUp(manual, fails)
    monkeypatch.setattr(manual, "vectors", store)
    outcome = asked(manual, "max_replicas in the settings", similarity_threshold=0.9)
    assert store.calls == 2
    assert outcome.hits
    assert outcome.degraded == ("semantic: a segment is missing",)


def test_a_vector_store_that_hangs_at_its_second_look_up_is_waited_for_only_so_long(
    manual: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    monkeypatch.setattr(manual, "vectors", SecondLookUp(manual, over.wait))
    try:
        outcome = asked(manual, "max_replicas in the settings", similarity_threshold=0.9, semantic_timeout_ms=40.0)
    finally:
        over.set()
    assert outcome.hits
    assert outcome.degraded == ("semantic: no answer within 40 ms",)


def test_vectors_in_memory_that_fail_at_the_second_look_up_degrade_the_answer(
    manual: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manual.vectors, "cosines", fails)
    outcome = asked(manual, "max_replicas in the settings", similarity_threshold=0.9)
    assert outcome.hits
    assert outcome.degraded == ("semantic: a segment is missing",)
