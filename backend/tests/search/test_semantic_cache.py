"""Similar questions share an answer, and only those that may.

* a paraphrase above the threshold is answered from memory, says so, and carries its own text
* another identifier, number, name, negation, direction, filter, page, generation or epoch is another question
* entries age, the least recently used goes first, hits and misses are counted, and clearing forgets all
* modes that cost little are never answered so, and nothing is kept that was degraded or incomplete
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from librarian.models import Deadline, Filters, Mode, Query, RetrieverStatus, SearchOutcome, Vector
from librarian.search.answer_cache import SemanticQueryCache, guard
from librarian.text.analyzer import StandardAnalyzer

from .library import Loaded, TopicEmbedder

ANALYZER = StandardAnalyzer()


class OneDirection(TopicEmbedder):
    """Every question means the same, but for those that say "elsewhere"."""

    def embed_query(self, text: str) -> Vector:
        return np.array([0.0, 1.0] if "elsewhere" in text else [1.0, 0.0], dtype=np.float32)


class Engine:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.degraded: tuple[str, ...] = ()

    def search(self, query: Query, deadline: Deadline) -> SearchOutcome:
        self.asked.append(query.text)
        retrievers = {"keyword": RetrieverStatus("ok")}
        return SearchOutcome(query, "hybrid", (), 0, None, retrievers, 1, 5.0, degraded=self.degraded)


class Cached:
    """A cache over a counting engine, with a clock and a generation to turn."""

    def __init__(self, **given: int) -> None:
        self.engine, self.now, self.generation, self.version, self.complete = Engine(), 0.0, 1, 0, True
        self.cache = SemanticQueryCache(
            self.engine,
            Loaded(OneDirection()),
            ANALYZER,
            generation=lambda: self.generation,
            version=lambda: self.version,
            complete=lambda _: self.complete,
            clock=lambda: self.now,
            **given,
        )

    def ask(self, text: str, query: Query = Query("", mode="rerank")) -> str | None:
        outcome = self.cache.search(replace(query, text=text), Deadline())
        assert outcome.query.text == text
        return outcome.cache


def test_a_paraphrase_is_answered_from_memory_and_says_so() -> None:
    cached = Cached()
    assert cached.ask("ways of scaling a service") is None
    assert cached.ask("scaling services, which ways?") == "semantic"
    assert cached.ask("elsewhere") is None
    assert cached.engine.asked == ["ways of scaling a service", "elsewhere"]
    assert cached.cache.stats() == (2, 1, 2)
    assert cached.cache.clear() == 2
    assert cached.cache.stats() == (0, 0, 0)
    assert cached.ask("ways of scaling a service") is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("upgrade 1.27 → 1.28", "upgrade 1.28 → 1.29"),
        ("upgrade 1.27 → 1.28", "upgrade 1.28 → 1.27"),
        ("what does max_replicas mean", "what does min_replicas mean"),
        ("pods that restart", "pods that don't restart"),
        ("pods with a volume", "pods without a volume"),
        ("enable logging", "disable logging"),
        ("run it on Linux", "run it on Windows"),
        ("copy from the pod", "copy to the pod"),
        ('the "rolling update"', "the rolling update"),
        ("logs -audit", "logs audit"),
        ("Pods starten mit Volume", "Pods starten ohne Volume"),
        ("how does read_csv work", "how does read_parquet work"),
        ("what is error FERRY-1042", "what is error FERRY-1043"),
        ("the field spec.replicas", "the field status.replicas"),
        ("what does --dry-run do", "what does --force do"),
        ("ray.init in a script", "ray.shutdown in a script"),
        ("scale it to 3 replicas", "scale it to 5 replicas"),
        ("scale it to three replicas", "scale it to five replicas"),
        ("a timeout of 10ms", "a timeout of 10s"),
        ("a limit of 10 mb", "a limit of 10 gb"),
        ("a timeout in seconds", "a timeout in minutes"),
        ("why is a node schedulable", "why is a node unschedulable"),
        ("run it as a root user", "run it as a nonroot user"),
        ("pods that can be evicted", "pods that can't be evicted"),
        ("why does it work", "why doesn’t it work"),
        ("the first pod to start", "the last pod to start"),
        ("restore the latest snapshot", "restore the oldest snapshot"),
        ("all but the audit log", "all the audit log"),
        ("python 3.11", "python 3.12"),
        ("move from kafka to ferry", "move from ferry to kafka"),
        ("stop the pod before the node", "stop the node before the pod"),
        ('stop a pod -"drain node"', 'stop a pod -"cordon node"'),
    ],
)
def test_a_telling_word_makes_another_question(first: str, second: str) -> None:
    cached = Cached()
    assert cached.ask(first) is None
    assert cached.ask(second) is None
    assert guard(ANALYZER.query(first)) != guard(ANALYZER.query(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("labels with high cardinality", "labels with low cardinality"),
        ("what is the left side of a join", "what is the right side of a join"),
        ("a client library for python", "a client library for java"),
        ("convert a gauge to a counter", "convert a counter to a gauge"),
    ],
)
def test_a_word_in_anothers_place_makes_another_question(first: str, second: str) -> None:
    cached = Cached()
    assert cached.ask(first) is None
    assert cached.ask(second) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("how to set up alerting rules", "how do I set up alerting rules"),
        ("how do I scale a service", "can services be scaled"),
        ("convert a gauge to a counter", "how to convert gauges to a counter?"),
    ],
)
def test_the_same_words_otherwise_put_are_one_question(first: str, second: str) -> None:
    cached = Cached()
    assert cached.ask(first) is None
    assert cached.ask(second) == "semantic"


def test_another_filter_page_generation_or_epoch_is_another_question() -> None:
    cached = Cached()
    usual = Query("", mode="rerank")
    cached.ask("scaling", usual)
    for other in (
        replace(usual, filters=Filters(product="ray")),
        replace(usual, offset=10),
        replace(usual, mode="hyde"),
        replace(usual, hypothetical_answer="More."),
    ):
        assert cached.ask("to scale", other) is None
    assert cached.ask("scale it", usual) == "semantic"
    cached.version = 1
    assert cached.ask("scale it", usual) is None
    assert cached.ask("scale it", usual) == "semantic"
    cached.generation = 2
    assert cached.ask("scale it", usual) is None


def test_entries_age_and_the_least_recently_used_goes_first() -> None:
    cached = Cached(ttl_s=300, max_entries=2)
    cached.ask("scaling 1")
    cached.ask("scaling 2")
    assert cached.ask("scale 1") == "semantic"
    cached.ask("scaling 3")
    assert cached.ask("scale 2") is None
    cached.now = 299
    assert cached.cache.stats()[0] == 2
    cached.now = 301
    assert cached.cache.stats()[0] == 0, "what is too old stays though nobody can be answered with it"
    assert cached.ask("scale 3") is None
    assert cached.cache.stats()[0] == 1


@pytest.mark.parametrize("mode", ["auto", "hybrid", "semantic", "rerank", "hyde"])
def test_every_mode_that_embeds_shares_answers(mode: Mode) -> None:
    cached = Cached()
    assert cached.ask("scaling", Query("", mode=mode)) is None
    assert cached.ask("scale", Query("", mode=mode)) == "semantic"


def test_keyword_mode_degraded_and_incomplete_answers_are_left_alone() -> None:
    cached = Cached()
    for _ in range(2):
        assert cached.ask("scaling", Query("", mode="keyword")) is None
    cached.engine.degraded = ("rerank: slow",)
    cached.ask("scaling")
    cached.engine.degraded = ()
    cached.complete = False
    assert cached.ask("scale") is None
    cached.complete = True
    assert cached.ask("scale") is None
    assert cached.ask("scale") == "semantic"


def test_without_a_model_the_engine_answers() -> None:
    engine = Engine()
    cache = SemanticQueryCache(
        engine, Loaded(None, "none"), ANALYZER, generation=lambda: 1, version=lambda: 0, complete=lambda _: True
    )
    for _ in range(2):
        assert cache.search(Query("scaling", mode="hyde"), Deadline()).cache is None
    assert len(engine.asked) == 2
