"""The router, hypothetical answers and parent context.

* example questions of each kind are told apart, and every answer has reasons
* any text at all is judged without an error, within bounds
* without embeddings every question goes to keyword
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.models import Query
from librarian.search.pagination import parent_context
from librarian.search.query_expansion import answer_from_template
from librarian.search.router import QueryRouter
from librarian.text.analyzer import StandardAnalyzer

from .library import Library

ROUTER = QueryRouter(StandardAnalyzer())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("why does my pod crash with an out of memory error?", "troubleshooting"),
        ("connection refused when starting the worker", "troubleshooting"),
        ("where is the page about autoscaling?", "navigational"),
        ("installation", "navigational"),
        ("explain how scheduling works", "conceptual"),
        ("what is the difference between a task and an actor", "conceptual"),
        ("how many replicas are the default", "factual"),
        ("how do I configure authentication?", "conceptual"),
    ],
)
def test_kinds_of_questions_are_told_apart(text: str, kind: str) -> None:
    analysis = ROUTER.analyze(text)
    assert analysis.query_type == kind
    assert analysis.reasons


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("JWT token validation", ("JWT",)),
        ("compare OAuth2 and JWT for the API", ("OAuth2", "JWT", "API")),
        ("pod fails with CrashLoopBackOff", ("CrashLoopBackOff",)),
        ("WHY DOES IT FAIL", ()),
        ("how do we authenticate users?", ()),
    ],
)
def test_technical_terms_are_identifiers_and_acronyms_as_they_are_typed(question: str, terms: tuple[str, ...]) -> None:
    assert tuple(ROUTER.analyze(question).technical_terms) == terms


def test_short_technical_queries_go_to_keyword() -> None:
    analysis = ROUTER.analyze("kubectl --dry-run=server")
    assert analysis.recommended_mode == "keyword"
    assert analysis.technical_terms
    assert ROUTER.analyze('the "exact words" of it').recommended_mode == "keyword"


def test_questions_in_words_go_to_hybrid() -> None:
    assert ROUTER.analyze("how do I keep my data when a worker restarts?").recommended_mode == "hybrid"


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("explain how scheduling works in the cluster", "hyde"),
        ("what is the difference between a job and a task", "hyde"),
        ("max_replicas", "keyword"),
        ("--dry-run flag", "keyword"),
        ("my pod fails after the upgrade to the new release", "hybrid"),
    ],
)
def test_the_first_designs_routing_can_be_had(question: str, mode: str) -> None:
    assert QueryRouter(StandardAnalyzer(), routing="design").analyze(question).recommended_mode == mode


def test_without_embeddings_every_question_goes_to_keyword() -> None:
    router = QueryRouter(StandardAnalyzer(), semantic=False)
    assert router.analyze("explain how scheduling works").recommended_mode == "keyword"


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_judged_within_bounds(text: str) -> None:
    analysis = ROUTER.analyze(text)
    assert 0 <= analysis.complexity <= 1
    assert 0 <= analysis.confidence <= 1
    assert analysis.word_count == len(text.split())
    assert analysis.reasons


def test_longer_and_harder_questions_are_more_complex() -> None:
    easy = ROUTER.analyze("install").complexity
    hard = ROUTER.analyze(
        "why do replicas of the gateway fail to authenticate against the registry after a rollout, and how to debug it?"
    ).complexity
    assert easy < 0.2 < 0.6 < hard


def test_a_template_speaks_of_the_topic_for_each_kind() -> None:
    for kind in ("factual", "conceptual", "troubleshooting", "navigational"):
        answer = answer_from_template("How do I rotate credentials?", kind)
        assert "rotate credentials" in answer.lower()
        assert "how do i" not in answer.lower()
    assert "what" in answer_from_template("what?", "factual").lower()


def test_a_question_in_another_language_gets_no_english_template(manual: Library) -> None:
    found = manual.engine().search(Query("Wie und wann wird der Index gesichert?", mode="hyde"))
    assert (found.mode, found.retrievers["hyde"].status) == ("hybrid", "skipped")
    assert "templates are English" in found.retrievers["hyde"].reason
    assert not found.rewritten


def test_parent_context_names_place_outline_and_neighbours(manual: Library) -> None:
    hit = manual.engine().search(Query("undo a release with --to-revision", mode="keyword")).hits[0]
    with manual.catalog.read() as reader:
        siblings = reader.chunks_of(hit.document.doc_id)
    context = parent_context(hit.chunk, hit.document, siblings)
    assert context["title"] == "Deploying"
    assert context["breadcrumb"] == "shop / api / Deploying / Rolling back"
    assert context["headings"] == ["Deploying", "Rolling back"]
    assert context["next"] is None
    assert "rollout" in str(context["previous"])


def test_a_long_neighbour_is_cut_at_a_word_on_the_side_that_touches(manual: Library) -> None:
    from dataclasses import replace

    with manual.catalog.read() as reader:
        stored = reader.document_by_path("shop/api/deploy.md")
        assert stored is not None
        first, second = reader.chunks_of(stored.doc_id)
    long = " ".join(f"word{n}" for n in range(200))
    siblings = [replace(first, chunk=replace(first.chunk, text=long)), second]
    before = parent_context(second, stored, siblings)["previous"]
    after = parent_context(first, stored, [first, replace(second, chunk=replace(second.chunk, text=long))])["next"]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert before["text"].startswith("…word")
    assert before["text"].endswith("word199")
    assert after["text"].startswith("word0 ")
    assert after["text"].endswith("…")
