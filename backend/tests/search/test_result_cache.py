"""Answers kept by their question.

* an equal question is answered from memory until the library or the engine's weights are others
* what was asked under weights that have changed meanwhile is never given to a later question
"""

from __future__ import annotations

from collections.abc import Callable

from librarian.models import Deadline, Query, SearchOutcome
from librarian.search.answer_cache import ResultCache
from librarian.search.engine import HybridSearchEngine
from librarian.search.ranker import shipped
from librarian.search.ranking import Calibration

from .library import Library

DOUBTING = Calibration(unlikely_below=1.1)


class Meanwhile:
    """An engine that something happens to while it answers."""

    def __init__(self, engine: HybridSearchEngine) -> None:
        self.engine = engine
        self.happens: Callable[[], object] = lambda: None

    def search(self, query: Query, deadline: Deadline) -> SearchOutcome:
        outcome = self.engine.search(query, deadline)
        happens, self.happens = self.happens, lambda: None
        happens()
        return outcome


def cached(engine: HybridSearchEngine, around: Meanwhile | None = None) -> ResultCache:
    return ResultCache(
        around or engine, generation=lambda: 1, version=lambda: engine.ranker_version, complete=lambda _: True
    )


def test_an_equal_question_is_answered_from_memory_until_the_weights_are_others(manual: Library) -> None:
    engine = manual.engine()
    cache = cached(engine)
    query = Query("how to deploy", mode="keyword")
    first, again = (cache.search(query, Deadline()) for _ in range(2))
    assert (first.cache, again.cache) == (None, "exact")
    assert first.hits
    assert again.hits == first.hits
    engine.use(ranker=shipped())
    assert [cache.search(query, Deadline()).cache for _ in range(2)] == [None, "exact"]
    assert cache.clear() == 2
    assert cache.stats() == (0, 0, 0)


def test_an_answer_under_way_while_the_weights_change_is_given_to_nobody_else(manual: Library) -> None:
    engine = manual.engine()
    around = Meanwhile(engine)
    cache = cached(engine, around)
    around.happens = lambda: engine.use(calibration=DOUBTING)
    query = Query("how to deploy the shop by rollout", mode="keyword")
    before, after, again = (cache.search(query, Deadline()) for _ in range(3))
    assert before.answerable != "unlikely"
    assert (after.cache, after.answerable) == (None, "unlikely")
    assert (again.cache, again.answerable) == ("exact", "unlikely")
