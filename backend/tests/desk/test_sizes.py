"""What an answer says of its size holds for the text that a model reads, whatever is shown in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.assembly import Librarian
from librarian.mcp_server.rendering import render
from librarian.vocabulary.wire import EmailSearchAnswer, SearchAnswer

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


@pytest.mark.parametrize("limit", [260, 400, 800])
def test_what_is_packed_into_a_limit_is_read_within_it(ask: Ask, limit: int) -> None:
    answer = ask(max_tokens=limit)
    assert answer.results
    assert answer.tokens_used <= limit
    assert len(render(answer)) / 4 <= limit
