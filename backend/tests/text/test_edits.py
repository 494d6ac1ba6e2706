"""Slips and dictionaries.

* A slip can be taken back: whatever one does to a word, the word is among the edits of what came out, and no other is.
* A dictionary holds its words and no others, in the languages that have one.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.text.analyzer import StandardAnalyzer
from librarian.text.dictionaries import LETTERS, Dictionary, dictionary, edits

WORDS = st.text(LETTERS, min_size=2, max_size=12)


@given(WORDS, st.data())
def test_every_slip_is_taken_back(word: str, data: st.DataObject) -> None:
    typed = data.draw(st.sampled_from(sorted(edits(word))))
    assert typed != word
    assert word in edits(typed)


@given(WORDS)
def test_edits_are_one_step_away(word: str) -> None:
    for other in edits(word):
        same_start = next(
            (at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other))
        )
        rest, others_rest = word[same_start:], other[same_start:]
        assert abs(len(word) - len(other)) <= 1
        assert (
            rest[1:] in (others_rest, others_rest[1:])
            or rest == others_rest[1:]
            or (rest[1::-1] == others_rest[:2] and rest[2:] == others_rest[2:])
        )


@given(st.sets(WORDS), WORDS)
def test_a_dictionary_holds_its_words_and_no_others(words: set[str], other: str) -> None:
    made = Dictionary.of(words, set("".join(words)))
    assert all(word in made for word in words)
    assert (other in made) == (other in words)


@pytest.mark.parametrize(
    ("language", "word", "letters"),
    [
        ("en", "receive", LETTERS),
        ("de", "konfiguration", LETTERS + "ß"),
        ("fr", "réponse", LETTERS),
        ("ru", "сервер", "абвгд"),
    ],
)
def test_a_dictionary_knows_words_and_letters_of_its_language(language: str, word: str, letters: str) -> None:
    found = dictionary(language)
    assert found is not None
    assert word in found
    assert word[::-1] not in found
    assert set(letters) <= set(found.letters)
    assert not set("éü-' ") & set(found.letters)


def test_a_language_without_a_dictionary_has_none() -> None:
    assert dictionary("xx") is None


def test_a_word_is_one_in_any_of_the_library_s_languages_and_in_english() -> None:
    analyzer = StandardAnalyzer()
    assert analyzer.is_word("receive", ["de"])
    assert analyzer.is_word("überprüfen", ["de"])
    assert not analyzer.is_word("überprüfen", ["en"])
    assert not analyzer.is_word("recieve", ["en", "de", "xx"])


def test_edits_come_with_what_they_are_indexed_as_in_each_language() -> None:
    found = StandardAnalyzer().edits("serverr", ["de", "en"])
    assert set(found["server"]) == {token for one in ("de", "en") for token in StandardAnalyzer().tokens("server", one)}
    assert StandardAnalyzer().edits("whcih")["which"] == ()
    assert "сервер" in StandardAnalyzer().edits("сервр", ["ru"])
