"""What an answer says of its size holds for the text that a model reads, whatever is shown in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.api.model_text import render
from librarian.bootstrap import Librarian
from librarian.schemas import EmailSearchAnswer, SearchAnswer

Ask = Callable[..., SearchAnswer | EmailSearchAnswer]


@pytest.fixture(params=["documents", "with context", "mails"])
def ask(request: pytest.FixtureRequest, library: Librarian) -> Ask:
    if request.param == "mails":
        return lambda **given: library.search_emails("refund original card", max_per_thread=0, **given)
    question, context = "how do I rotate a token", request.param == "with context"
    return lambda **given: library.search(question, max_per_document=0, include_parent_context=context, **given)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_size_is_that_of_the_text(ask: Ask, count: int) -> None:
    answer = ask(max_results=count)
    read = len(render(answer)) / 4
    assert read <= 1.05 * answer.tokens_used
    if all(result.parent_context is None for result in answer.results):  # of a context, what may be shown is counted
        assert answer.tokens_used <= 1.15 * read


@pytest.mark.parametrize("mode", ["rerank", "hyde", "auto"])
@pytest.mark.parametrize("question", ["rotate", "zzyzx qwvkj"])
def test_what_is_said_below_the_results_is_counted(library: Librarian, mode: str, question: str) -> None:
    for limit in (None, 40, 120, 200):
        answer = library.search(question, mode=mode, max_tokens=limit)
        assert answer.results
        assert len(render(answer)) / 4 <= 1.05 * answer.tokens_used
        assert answer.tokens_used <= (limit or 50_000) or len(answer.results) <= 1


def test_mails_without_a_question_are_packed_too(library: Librarian) -> None:
    every = library.search_emails(date_after="1990", max_per_thread=0)
    few = library.search_emails(date_after="1990", max_per_thread=0, max_tokens=every.tokens_used * 2 // 3)
    assert 0 < len(few.results) < len(every.results)
    assert few.next_offset == len(few.results)
    assert len(render(few)) / 4 <= few.tokens_used <= every.tokens_used * 2 // 3
    beyond = library.search_emails(date_after="1990", max_per_thread=0, offset=every.total)
    assert not beyond.results
    assert "offset 0" in beyond.suggestions[0].text


@pytest.mark.parametrize("limit", [260, 400, 800])
def test_what_is_packed_into_a_limit_is_read_within_it(ask: Ask, limit: int) -> None:
    answer = ask(max_tokens=limit)
    assert answer.results
    assert answer.tokens_used <= limit
    assert len(render(answer)) / 4 <= limit
