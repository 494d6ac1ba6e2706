"""Questions in languages that the embedding model wasn't trained on.

* Meaning counts a quarter there, unless the weights were learned from the library itself.
* Meaning alone neither vouches for an answer nor denies one.
* What a library of such a language doesn't answer is asked in that language when it is calibrated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from librarian.embeddings.base import Rewrite
from librarian.models import MANY, Deadline, ModelSpec, Query, Vector
from librarian.search.query_expansion import QueryExpansion
from librarian.search.ranker import UNSUPPORTED_LANGUAGE, LinearRanker, shipped
from librarian.text.analyzer import StandardAnalyzer
from librarian.tuning.calibration import CalibrationTraining, negative_queries

from .library import Library, TopicEmbedder

PAGES = {
    "haus/handbuch/sichern.md": "# Sichern\n\nDie Datenbank wird jede Nacht auf die zweite Platte gesichert, "
    "und die Kopien werden nach dreißig Tagen gelöscht.",
    "haus/handbuch/zugang.md": "# Zugang\n\nEin vergessenes Kennwort wird mit einem Schlüssel zurückgesetzt, "
    "den die Verwaltung nur für einen Tag ausstellt.",
    "haus/handbuch/drucken.md": "# Drucken\n\nDer Drucker im Flur nimmt Aufträge an, die über das Netz kommen, "
    "und druckt sie auf beiden Seiten.",
}


class Blurred(TopicEmbedder):
    """Finds every two texts nearly alike, as a model does in a language that it doesn't know."""

    def embed_query(self, text: str) -> Vector:
        vector = super().embed_query(text) / 4
        vector[-1] += 1.0
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


class InManyLanguages(Blurred):
    spec = replace(TopicEmbedder.spec, languages=tuple(f"x{number}" for number in range(MANY + 1)))


@pytest.fixture
def haus(shelve: Callable[..., Library]) -> Library:
    return shelve(PAGES, embedder=Blurred())


def foreign(library: Library, text: str) -> bool:
    with library.catalog.read() as reader:
        return library.engine().rank(Query(text, mode="hybrid"), reader).candidates.unsupported_language


def test_a_model_knows_the_languages_it_was_trained_on_and_one_of_many_all() -> None:
    assert ModelSpec("a", 4, 9).knows("en")
    assert not ModelSpec("a", 4, 9).knows("ja")
    assert InManyLanguages.spec.knows("ja")


def test_a_question_is_foreign_by_its_own_language(haus: Library, shelve: Callable[..., Library]) -> None:
    assert foreign(haus, "Wie wird die Datenbank gesichert?")
    assert foreign(haus, "Datenbank")  # which says nothing: the library's first language
    assert not foreign(haus, "how is the database saved to the disk")
    assert not foreign(shelve(PAGES, embedder=InManyLanguages()), "Wie wird die Datenbank gesichert?")


def test_meaning_counts_a_quarter_in_a_foreign_language_under_the_shipped_weights(haus: Library) -> None:
    def by_meaning(text: str, ranker: LinearRanker | None = None) -> float:
        engine = haus.engine(ranker=ranker)
        best = engine.search(Query(text, mode="hybrid")).hits[0].candidate.why
        points = {item.source: item.points / (item.raw or 1.0) for item in best}
        return points["semantic_scaled"]

    full = shipped().weights["semantic_scaled"]
    assert by_meaning("Wie wird die Datenbank gesichert?") == pytest.approx(UNSUPPORTED_LANGUAGE * full)
    assert by_meaning("how is the database saved to the disk") == pytest.approx(full)
    learned = LinearRanker(shipped().weights)
    assert by_meaning("Wie wird die Datenbank gesichert?", learned) == pytest.approx(full)


def test_meaning_alone_neither_vouches_nor_denies_in_a_foreign_language(haus: Library) -> None:
    engine = haus.engine()
    told = engine.search(Query("Wie oft wird die Datenbank auf die zweite Platte gesichert?", mode="hybrid"))
    strange = engine.search(Query("Warum schmeckt der Apfelkuchen meiner Tante nach Zimt?", mode="hybrid"))
    assert told.answerable != "unlikely"
    assert strange.answerable != "yes"
    assert strange.hits, "the meaning finds it near all the same"


@pytest.mark.parametrize(
    "language", ["de", "ja", "zh", "ko", "ru", "uk", "ar", "fa", "he", "tr", "pl", "vi", "id", "hi"]
)
def test_foreign_questions_are_in_the_language_they_are_said_to_be(language: str) -> None:
    questions = negative_queries(language)
    assert len(questions) == len(set(questions)) == 16
    assert StandardAnalyzer().detect("\n".join(questions)) == language


def test_a_language_without_foreign_questions_is_asked_in_english() -> None:
    assert negative_queries("xx") == negative_queries("en") == negative_queries()


class Unasked:
    """A language model that notes what it is asked."""

    name = "unasked"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def rewrite(self, query: str, budget: Deadline) -> Rewrite:
        self.asked.append(query)
        return Rewrite(query, query, "m1", 1.0)

    def is_reachable(self) -> bool:
        return True

    def close(self) -> None: ...


def test_a_library_is_calibrated_with_foreign_questions_in_its_language(shelve: Callable[..., Library]) -> None:
    numbers = ("erste", "zweite", "dritte", "vierte", "fünfte", "sechste", "siebte", "achte", "neunte", "zehnte",
               "elfte", "zwölfte", "letzte")  # fmt: skip
    sections = "\n\n".join(
        f"## Die {number} Maschine einrichten und warten\n\nDie {number} Maschine wird mit einem Schlüssel geöffnet, "
        "und der Filter ist nach jedem Monat zu reinigen, damit sie nicht heiß wird."
        for number in numbers
    )
    library = shelve({**PAGES, "haus/handbuch/maschinen.md": f"# Maschinen\n\n{sections}"}, embedder=Blurred())
    model = Unasked()
    fitting = CalibrationTraining(
        library.engine(rewriting=QueryExpansion(model)),
        library.catalog,
        complete=lambda: True,
        fingerprint=lambda: "",
        scale="learned",
        semantic=True,
        ended=threading.Event(),
    )
    found = fitting.renew()
    assert found.negative == len(negative_queries("de"))
    assert not model.asked
