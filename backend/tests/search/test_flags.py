"""A word behind a minus: an exclusion, unless some document writes it as a flag.

* a flag is searched as a word, and `rewritten` says so; its misspelt neighbours are corrected all the same
* what no document writes behind a minus is excluded, in another case too
* what stands within a compound (`pre-race`) or behind two minuses (`--race`) is no flag
* of more than eight words behind a minus none is excluded: that is a command
* in mails, which people sign so, a minus excludes; a sender's name is no misspelt word there
* where the keyword index fails the meaning answers all the same
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Filters, Mode, Query, SearchOutcome
from librarian.search.query_expansion import EXCLUSIONS, FLAGS

from .library import Library

PAGES = {
    "till/guide/tests.md": "# Testing\n\nRun `go test -race` to find data races between goroutines.\n",
    "till/guide/build.md": "# Building\n\nThe race to a small binary: use --strip, a pre-link pass and testing.\n",
}


@pytest.fixture
def pages(shelve: Callable[..., Library]) -> Library:
    return shelve(PAGES)


def found(library: Library, text: str, mode: Mode = "hybrid", filters: Filters = Filters()) -> SearchOutcome:
    return library.engine().search(Query(text, mode=mode, filters=filters))


def paths(outcome: SearchOutcome) -> set[str]:
    return {hit.document.document.file_path for hit in outcome.hits}


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_flag_is_searched_as_a_word_and_it_is_told(pages: Library, mode: Mode) -> None:
    outcome = found(pages, "what does -race do in tests", mode)
    assert "till/guide/tests.md" in paths(outcome)
    assert outcome.rewritten == {
        "search_terms": "what does race do in tests",
        "hypothetical_answer": "",
        "source": FLAGS,
    }


def test_misspelt_words_beside_a_flag_are_corrected(pages: Library) -> None:
    outcome = found(pages, "gorotines with -race", "keyword")
    assert outcome.rewritten is not None
    assert outcome.rewritten["search_terms"] == "goroutines with race"
    assert outcome.rewritten["source"] == "flags; spelling"


@pytest.mark.parametrize("text", ["testing -binary", "testing -RACE", "testing -strip", "testing -link"])
def test_what_no_document_writes_so_is_excluded(pages: Library, text: str) -> None:
    outcome = found(pages, text)
    assert outcome.rewritten is None
    assert "till/guide/build.md" not in paths(outcome)


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("-binary", "binary"),
        ("-binary  -link", "binary  link"),
        ('-"small binary"', '"small binary"'),
        ('-link -"go test"', 'link "go test"'),
        ("-v", None),
    ],
)
def test_exclusions_alone_are_searched_as_words_and_it_is_told(pages: Library, text: str, searched: str | None) -> None:
    outcome = found(pages, text)
    assert outcome.rewritten == (
        searched and {"search_terms": searched, "hypothetical_answer": "", "source": EXCLUSIONS}
    )
    assert [item["value"] for item in outcome.suggestions if "only leaves out" in str(item["text"])] == (
        [text] if searched else []
    )


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("text", ['testing -"small binary"', "testing -“small binaries”", '-"small binary" testing'])
def test_quoted_words_behind_a_minus_must_not_occur(pages: Library, text: str, mode: Mode) -> None:
    outcome = found(pages, text, mode)
    assert paths(outcome) == {"till/guide/tests.md"}
    assert outcome.rewritten is None


def test_words_in_another_order_than_the_excluded_ones_are_found(pages: Library) -> None:
    assert "till/guide/build.md" in paths(found(pages, 'testing -"binary small"', "keyword"))


def test_excluded_quotes_of_one_telling_word_exclude_nothing(pages: Library) -> None:
    outcome = found(pages, 'testing -"to a binary"')
    assert "till/guide/build.md" in paths(outcome), "not every page with the word"


def test_a_run_without_blanks_is_excluded_as_a_whole(shelve: Callable[..., Library]) -> None:
    library = shelve(
        {"v/a/basics.md": "# 入门\n\n组件基础与响应式状态。\n", "v/a/async.md": "# 异步\n\n异步组件与响应式状态。\n"}
    )
    assert paths(found(library, "响应式状态 -组件基础", "keyword")) == {"v/a/async.md"}


@pytest.mark.parametrize(("words", "excluded"), [(8, True), (9, False)])
def test_more_words_behind_a_minus_than_anybody_excludes_are_a_command(
    pages: Library, words: int, excluded: bool
) -> None:
    options = " ".join(f"-{name}" for name in ("binary", "cp", "jar", "verbose", "debug", "name", "type", "out", "in"))
    outcome = found(pages, "testing " + " ".join(options.split()[:words]))
    assert ("till/guide/build.md" not in paths(outcome)) == excluded
    assert (outcome.rewritten is None) == excluded


def test_in_mails_a_minus_excludes(pages: Library) -> None:
    assert found(pages, "tests -race", filters=Filters(kind="email")).rewritten is None


def test_a_senders_name_is_no_misspelt_word_where_their_mails_are(shelve: Callable[..., Library]) -> None:
    mail = "From: Peter Pumpp <p@x.org>\nSubject: Order\nMessage-ID: <1@x.org>\n\nThe pumps are ordered, every pump.\n"
    pages = {"shop/guide/pumps.md": "# Pumps\n\nEvery pump has a filter.\n"}
    library = shelve({"shop/mail/1.eml": mail, **pages})
    asked = found(library, "orders by Pumpp", "keyword", Filters(kind="email"))
    assert asked.rewritten is None
    assert not [item for item in asked.suggestions if item["kind"] == "term"]
    documents = found(shelve(pages), "orders by Pumpp", "keyword", Filters(kind="document"))
    assert documents.rewritten is not None
    assert documents.rewritten["search_terms"] == "orders by pump"


def test_where_the_keyword_index_fails_the_meaning_answers(pages: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(pages.lexical, "search", fails)
    outcome = found(pages, "what does -race do in tests")
    assert outcome.hits
    assert outcome.rewritten is None
    assert outcome.retrievers["keyword"].status == "failed"
