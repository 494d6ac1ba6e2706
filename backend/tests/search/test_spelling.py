"""The nearest words, on a real analyzer and a real keyword index.

* A word that some passage holds is never called missing: not for being rare, nor for another language's stem of it.
* A word that none holds is named as it was typed, with the nearest that is indexed, also in an index that has grown.
* A word is corrected where one slip explains it: never one that a dictionary has, that is quoted or looks like a name,
  and only to what is a word, or is written so in the library.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import pytest

from librarian.models import Query
from librarian.search.spelling import CORRECTED, MOST, QueryWords
from librarian.search.word_forms import COMPARED, IndexedWords
from librarian.storage.keyword_index import TantivyIndex
from librarian.text.analyzer import StandardAnalyzer
from tests.contracts.lexical_contract import SOME, entry

ANALYZER = StandardAnalyzer()


TEXTS: dict[int, str] = {}


def texts(ids: Sequence[int]) -> dict[int, str]:
    """What a catalog says of these passages."""
    return {number: TEXTS[number] for number in ids if number in TEXTS}


@pytest.fixture
def index() -> Iterator[TantivyIndex]:
    opened = TantivyIndex(None)
    TEXTS.clear()
    yield opened
    opened.close()


def put(index: TantivyIndex, *passages: str, language: str = "en", title: str = "") -> None:
    numbered = dict(enumerate(passages, start=index.count() + 1))
    TEXTS.update(numbered)
    index.put(
        (number, number, SOME, entry(" ".join(ANALYZER.tokens(text, language)), title))
        for number, text in numbered.items()
    )
    index.commit(index.generation + 1)


def words_of(indexed: IndexedWords, text: str, *languages: str) -> QueryWords:
    columns = cast(Any, SimpleNamespace(languages=lambda: languages))
    return QueryWords(indexed, Query(text), columns, cast(Any, SimpleNamespace(texts=texts)))


def nearest(index: TantivyIndex, text: str, *languages: str) -> list[tuple[str, str]]:
    return words_of(IndexedWords(ANALYZER, index), text, *languages).nearest()


def corrected(index: TantivyIndex, text: str, *languages: str) -> str:
    words = words_of(IndexedWords(ANALYZER, index), text, *languages)
    words.correct()
    return words.analyzed.text if words.corrected else ""


def test_a_rare_word_is_not_called_missing(index: TantivyIndex) -> None:
    many = [f"co{a}{b}{c}" for a, b, c in product("bdfgklmnpr", repeat=3)]
    assert len(many) > COMPARED
    put(index, " ".join(many), " ".join(many), "the reason was ConnectionDone", "connectionpool connectionpool")
    assert "connectiondon" not in index.terms("co", COMPARED)
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
    assert nearest(index, "autenthication", "en", "it") == [("autenthication", "Authentication")]


def test_misspelt_words_are_named_as_typed_and_no_more_than_a_few(index: TantivyIndex) -> None:
    put(index, "receive an email from the scheduler by a template")
    assert nearest(index, "How to Recieve an emial?") == [("Recieve", "receive"), ("emial", "email")]
    assert nearest(index, "how to receive the zzyzx") == []
    assert len(nearest(index, "recieve emial shceduler tempalte scheduller")) == MOST


def test_of_a_misspelt_name_its_parts_are_not_told_too(index: TantivyIndex) -> None:
    put(index, "Edit `pyproject.toml`, whose tm marks are TOML, and `config.json`, which is JSON.")
    assert nearest(index, "pyproject.tml and config.jsn") == [
        ("pyproject.tml", "pyproject.toml"),
        ("config.jsn", "config.json"),
    ]


def test_words_that_came_since_are_compared_too(index: TantivyIndex) -> None:
    put(index, "storage")
    indexed = IndexedWords(ANALYZER, index)
    assert words_of(indexed, "deploymetn").nearest() == []
    put(index, "deployment")
    assert words_of(indexed, "deploymetn").nearest() == [("deploymetn", "deployment")]


def test_a_word_that_only_its_stem_makes_alike_is_not_named(index: TantivyIndex) -> None:
    put(index, "Le composant allège la page le lundi.", language="fr")
    put(index, "Am Montag und am Dienstag wird gewartet.", language="de")
    put(index, "foobar and foobaz")
    assert nearest(index, "alligator mortgage football", "fr", "de", "en") == []


def test_the_nearest_word_is_told_as_the_library_writes_it(index: TantivyIndex) -> None:
    put(index, "Il faut répéter les essais.", language="fr")
    put(index, "Scheduling of StatefulSets")
    assert nearest(index, "schdeuling", "fr", "en") == [("schdeuling", "Scheduling")]
    TEXTS.clear()  # a passage that went meanwhile
    assert nearest(index, "schdeul", "fr", "en") == [("schdeul", "schedul")]


def test_words_that_every_text_holds_are_not_called_missing(index: TantivyIndex) -> None:
    put(index, "Read the howto of DOS.", "Howtos")
    assert nearest(index, "how to do it", "en", "de") == []
    assert nearest(index, "howtoo") == [("howtoo", "howto")]


def test_misspelt_words_are_corrected_where_they_stand(index: TantivyIndex) -> None:
    put(index, "Receive an email from the scheduler of Kubernetes.")
    assert corrected(index, "How to Recieve (an emial), please?") == "How to receive (an email), please?"
    assert corrected(index, "kuberntes") == "kubernetes"
    words = words_of(IndexedWords(ANALYZER, index), "Recieve emial")
    words.correct()
    assert words.corrected == [("Recieve", "receive"), ("emial", "email")]


@pytest.mark.parametrize(
    "text", ["receive email", '"recieve" email', "email -recieve", "how to", "", "zzyzx", "email --recieve"]
)
def test_what_is_no_slip_is_left_as_it_is(index: TantivyIndex, text: str) -> None:
    put(index, "Receive an email from the scheduler.")
    assert corrected(index, text) == ""


def test_a_word_of_a_dictionary_is_rare_and_not_misspelt(index: TantivyIndex) -> None:
    put(index, "The base casts a spell, stating the actions taken.", "Das Bett ist breit.", language="en")
    assert corrected(index, "bake breads by castling actinic statues", "en", "de") == ""


def test_names_in_capitals_and_marked_ones_are_left_as_they_are(index: TantivyIndex) -> None:
    put(index, "Receive an email. Keras maps pods.")
    for text in ("KRAS", "RECIEVE_email", "`recieve`", "recieve()", "reciEve", "mail/recieve", "KERASS"):
        assert corrected(index, text) == ""


def test_a_spelling_that_only_shares_its_stem_with_what_is_written_is_not_taken(index: TantivyIndex) -> None:
    put(index, "A definition of definite answers.")
    assert "definit" in index.frequencies(ANALYZER.edits("definitz")["definits"])
    assert corrected(index, "definitz") == "definite"


def test_two_swapped_letters_are_likelier_than_a_wrong_one(index: TantivyIndex) -> None:
    put(index, "It was caused by this.", "It was cased.", "It was cased again.")
    assert corrected(index, "cuased") == "caused"


def test_a_misspelt_stop_word_is_no_rarer_word(index: TantivyIndex) -> None:
    put(index, "A tier above their own.")
    assert corrected(index, "pods and thier tier") == "pods and their tier"


def test_a_blank_left_out_is_put_back_between_words_that_occur(index: TantivyIndex) -> None:
    put(index, "Balance the load of a read only disk by a load balancer.")
    assert corrected(index, "a loadbalancer") == "a load balancer"
    assert corrected(index, "the readonlydisk") == ""


def test_other_languages_words_are_corrected_too(index: TantivyIndex) -> None:
    put(index, "Die Konfiguration überprüfen und die Größe ändern.", language="de")
    put(index, "Проверить настройки сервера.", language="ru")
    assert corrected(index, "Konfigurtion überpüfen", "de", "ru") == "konfiguration überprüfen"
    assert corrected(index, "настроки сервера", "de", "ru") == "настройки сервера"


def test_no_more_than_some_words_are_corrected(index: TantivyIndex) -> None:
    put(index, "receive")
    assert corrected(index, "recieve " * (CORRECTED + 1)).split() == ["receive"] * CORRECTED + ["recieve"]


def test_a_short_word_begins_as_it_was_meant_to(index: TantivyIndex) -> None:
    put(index, "A link to the process that installs it.")
    assert corrected(index, "flink") == ""
    assert corrected(index, "rpocess nstalls") == "process installs"


def test_where_the_questions_language_has_no_dictionary_its_forms_stay(index: TantivyIndex) -> None:
    put(index, "Resmi kaynak kodu ve araçlar için bir sayfa.", language="tr")
    put(index, "The robot waits.")
    assert corrected(index, "kullanıcı için bir resim yükleme", "tr", "en") == ""
    assert corrected(index, "kullanıcı için bir resim yükleme", "en", "tr") == ""
    assert corrected(index, "where is the robbot", "tr", "en") == "where is the robot"
