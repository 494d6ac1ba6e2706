"""The nearest words, on a real analyzer and a real keyword index.

* A word that some passage holds is never called missing: not for being rare, nor for another language's stem of it.
* A word that none holds is named as it was typed, with the nearest that is indexed, also in an index that has grown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from librarian.finding.spelling import COMPARED, MOST, Spelling
from librarian.language.analyzer import StandardAnalyzer
from librarian.shelving.lexical_index import TantivyIndex
from tests.contracts.lexical_contract import SOME, entry

ANALYZER = StandardAnalyzer()


@pytest.fixture
def index() -> Iterator[TantivyIndex]:
    opened = TantivyIndex(None)
    yield opened
    opened.close()


def put(index: TantivyIndex, *texts: str, language: str = "en", title: str = "") -> None:
    first = index.count() + 1
    index.put(
        (number, number, SOME, entry(" ".join(ANALYZER.tokens(text, language)), title))
        for number, text in enumerate(texts, start=first)
    )
    index.commit(index.generation + 1)


def nearest(index: TantivyIndex, text: str, *languages: str) -> list[tuple[str, str]]:
    return Spelling(index, ANALYZER).nearest(ANALYZER.query(text, languages), languages)


def test_a_rare_word_is_not_called_missing(index: TantivyIndex) -> None:
    many = [f"co{a}{b}{c}" for a, b, c in product("bdfgklmnpr", repeat=3)]
    assert len(many) > COMPARED
    put(index, " ".join(many), " ".join(many), "the reason was ConnectionDone", "connectionpool connectionpool")
    assert "connectiondon" not in index.vocabulary("co", COMPARED)
    assert nearest(index, "connectiondone") == []


def test_what_only_a_title_holds_is_there(index: TantivyIndex) -> None:
    put(index, "nothing but this", title="gateway")
    put(index, "gatewai")
    assert nearest(index, "gateway") == []


def test_a_word_is_missing_only_where_no_language_s_stem_of_it_occurs(index: TantivyIndex) -> None:
    put(index, "Authentication is needed.", "authentically")
    put(index, "Una lettera, niente altro.", language="it")
    assert len(ANALYZER.query("authentication", ["en", "it"]).terms) == 2
    assert nearest(index, "authentication", "en", "it") == []
    assert nearest(index, "autenthication", "en", "it") == [("autenthication", "authent")]


def test_misspelt_words_are_named_as_typed_and_no_more_than_a_few(index: TantivyIndex) -> None:
    put(index, "receive an email from the scheduler by a template")
    assert nearest(index, "How to Recieve an emial?") == [("Recieve", "receiv"), ("emial", "email")]
    assert nearest(index, "how to receive the zzyzx") == []
    assert len(nearest(index, "recieve emial shceduler tempalte scheduller")) == MOST


def test_words_that_came_since_are_compared_too(index: TantivyIndex) -> None:
    put(index, "storage")
    spelling = Spelling(index, ANALYZER)
    query = ANALYZER.query("deploymetn")
    assert spelling.nearest(query, ()) == []
    put(index, "deployment")
    assert spelling.nearest(query, ()) == [("deploymetn", "deploy")]
