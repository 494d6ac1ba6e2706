"""Rerank mode: what judges again, and what stays where it can't.

* a cross-encoder's order decides, its logits are shown, and candidates it didn't read come after those it did
* a holder of the question's identifier stays before all others, whatever the model says
* as many candidates as there is time for are judged; the others stay behind them, and it is said how many were
* a missing or failing model, or one too slow for a page, leaves hybrid's order; the answer says so, as hybrid's
* the stage without a model is 70% semantic and 30% keyword score, and loses no holder of the identifier
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from librarian.errors import CallerError, Unavailable
from librarian.models import Deadline, Query, SearchOutcome
from librarian.search.engine import SearchOptions

from .library import Library

QUESTION = Query("deploy the shop", mode="rerank")


def logit(text: str) -> float:
    """What `Longest` thinks of a passage: ten letters more outweigh whatever the first stage thought."""
    return (len(text) - 90) / 5


class Longest:
    """A reranker to which a longer passage is a better one; `reads` is how many it gets to."""

    name = "longest"

    def __init__(self, reads: int = 1000) -> None:
        self._reads = reads

    def score(self, query: str, passages: Sequence[str], budget: Deadline) -> list[float | None]:
        return [logit(text) if place < self._reads else None for place, text in enumerate(passages)]


class Cancelled(Longest):
    """A reranker whose caller goes while it reads."""

    def score(self, query: str, passages: Sequence[str], budget: Deadline) -> list[float | None]:
        budget.cancelled.set()
        budget.check()
        return super().score(query, passages, budget)


class Given:
    """A `LazyModel` of a reranker, or of the reason why there is none."""

    def __init__(self, reranker: Longest | None) -> None:
        self._reranker = reranker

    def get(self) -> Longest:
        if self._reranker is None:
            raise Unavailable("The cross-encoder isn't on this machine.")
        return self._reranker

    def loaded(self) -> Longest | None:
        return self._reranker

    def error(self) -> str:
        return ""

    def reset(self) -> None: ...


def order(outcome: SearchOutcome) -> list[int]:
    return [hit.candidate.chunk_id for hit in outcome.hits]


def hybrid(manual: Library) -> list[int]:
    found = order(manual.engine().search(Query(QUESTION.text, mode="hybrid")))
    assert len(found) > 3
    return found


def test_a_cross_encoder_orders_and_shows_its_logits(manual: Library) -> None:
    outcome = manual.engine(reranker=Given(Longest())).search(QUESTION)
    assert outcome.mode == "rerank"
    assert outcome.retrievers["rerank"].status == "ok"
    assert set(order(outcome)) == set(hybrid(manual))
    for hit in outcome.hits:
        (reason,) = (why for why in hit.candidate.why if why.source == "rerank")
        assert reason.raw == logit(hit.chunk.chunk.text)
        assert hit.candidate.rerank_score == pytest.approx(1 / (1 + math.exp(-reason.raw)))
    reasons = [why for hit in outcome.hits for why in hit.candidate.why if why.source == "rerank"]
    by_rank = sorted(reasons, key=lambda why: why.rank or 0)
    assert [why.rank for why in by_rank] == list(range(1, len(reasons) + 1))
    assert [why.raw for why in by_rank] == sorted((why.raw for why in reasons), key=lambda raw: -(raw or 0))
    sums = [math.fsum(why.points for why in hit.candidate.why) for hit in outcome.hits]
    assert sums == sorted(sums, reverse=True)


def test_what_was_not_read_comes_after_what_was(manual: Library) -> None:
    options = SearchOptions(rerank_candidates=2, rerank_multiplier=1)
    outcome = manual.engine(reranker=Given(Longest()), options=options).search(
        Query(QUESTION.text, mode="rerank", max_results=2)
    )
    assert set(order(outcome)) == set(hybrid(manual)[:2])
    assert outcome.total > 2


def test_what_there_was_no_time_for_stays_behind_what_was_read(manual: Library) -> None:
    question = Query(QUESTION.text, mode="rerank", max_results=3)
    outcome = manual.engine(reranker=Given(Longest(reads=3))).search(question)
    assert outcome.mode == "rerank"
    assert outcome.retrievers["rerank"].status == "ok"
    assert outcome.retrievers["rerank"].reason.startswith(f"3 of {outcome.total} candidates were scored within ")
    assert not outcome.degraded
    assert set(order(outcome)) == set(hybrid(manual)[:3])
    lengths = [len(hit.chunk.chunk.text) for hit in outcome.hits]
    assert lengths == sorted(lengths, reverse=True)


def test_who_cancels_while_passages_are_judged_gets_no_answer(manual: Library) -> None:
    engine = manual.engine(reranker=Given(Cancelled()))
    with pytest.raises(CallerError, match="cancelled"):
        engine.search(QUESTION)
    with pytest.raises(CallerError, match="cancelled"), manual.catalog.read() as reader:
        engine.rank(QUESTION, reader, Deadline())


def test_a_passage_that_went_meanwhile_costs_no_other_its_judgement(manual: Library) -> None:
    with manual.catalog.read() as reader:
        gone = manual.engine().rank(Query(QUESTION.text, mode="hybrid"), reader, Deadline()).chunk_ids[0]
        kept = reader.texts
        reader.texts = lambda ids: {chunk: text for chunk, text in kept(ids).items() if chunk != gone}  # type: ignore[method-assign]
        second = manual.engine(reranker=Given(Longest())).rank(QUESTION, reader, Deadline())
    assert set(second.chunk_ids) >= {gone}
    assert [one.chunk_id for one in second if one.rerank_score is None] == [gone]


def test_an_identifier_stays_first(shelve: Callable[..., Library]) -> None:
    library = shelve(
        {
            "shop/ops/short.md": "# Short\n\nSet max_replicas.\n",
            "shop/ops/long.md": "# Long\n\n" + "Replicas scale the shop, as capacity demands. " * 12,
        }
    )
    outcome = library.engine(reranker=Given(Longest())).search(Query("max_replicas scale", mode="rerank"))
    assert outcome.mode == "rerank"
    assert outcome.hits[0].document.document.file_path == "shop/ops/short.md"


@pytest.mark.parametrize(
    ("setting", "reranker", "status", "degraded"),
    [
        ("none", Given(Longest()), "off", False),
        ("cross-encoder", Given(None), "failed", True),
        ("auto", Given(Longest(reads=1)), "skipped", True),
    ],
)
def test_without_the_model_hybrids_order_stays_and_it_is_said(
    manual: Library, setting: str, reranker: Given | None, status: str, degraded: bool
) -> None:
    options = SearchOptions(reranker=setting)  # type: ignore[arg-type]
    outcome = manual.engine(reranker=reranker, options=options).search(QUESTION)
    assert outcome.mode == "hybrid"
    assert outcome.retrievers["rerank"].status == status
    assert outcome.retrievers["rerank"].reason
    assert any(item.startswith("rerank:") for item in outcome.degraded) is degraded
    assert order(outcome) == hybrid(manual)


@pytest.mark.parametrize("reranker", ["keyword-stage", "auto"])
def test_the_stage_without_a_model_weighs_meaning_and_words(manual: Library, reranker: Any) -> None:
    outcome = manual.engine(reranker=Given(None), options=SearchOptions(reranker=reranker)).search(QUESTION)
    assert outcome.mode == "rerank"
    assert outcome.retrievers["rerank"].status == ("off" if reranker == "auto" else "ok")
    assert outcome.retrievers["rerank"].reason.startswith("no cross-encoder") is (reranker == "auto")
    assert any("no cross-encoder" in str(item["text"]) for item in outcome.suggestions) is (reranker == "auto")
    assert not outcome.degraded
    assert outcome.hits
    for hit in outcome.hits:
        seen = hit.candidate
        expected = 0.7 * (seen.semantic_score or 0) + 0.3 * (seen.keyword_score or 0)
        assert seen.rerank_score == pytest.approx(expected)
        assert (seen.keyword_score or 0) >= 0.1


def test_the_stage_without_a_model_keeps_who_holds_the_identifier(manual: Library) -> None:
    options = SearchOptions(
        reranker="keyword-stage", rerank_candidates=1, rerank_multiplier=1, rerank_keyword_threshold=0.9
    )
    question = "deploy release TILL_LOG_LEVEL"
    outcome = manual.engine(options=options).search(Query(question, mode="rerank", max_results=1))
    assert outcome.mode == "rerank"
    assert "TILL_LOG_LEVEL" in outcome.hits[0].chunk.chunk.text
    nearest = manual.engine().search(Query(question, mode="semantic", max_results=1))
    assert "TILL_LOG_LEVEL" not in nearest.hits[0].chunk.chunk.text
