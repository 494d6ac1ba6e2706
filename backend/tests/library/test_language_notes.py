"""The notice where a library's language doesn't fit its model: who gets it, and who doesn't."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from librarian.documents.status import StatusReport
from librarian.embeddings.model_table import spec_of


def notes(languages: dict[str, int], model: str | None) -> list[str]:
    """What a library with so many documents in each language says about a loaded model (None: none is loaded)."""
    loaded = SimpleNamespace(spec=spec_of(model)) if model else None
    tallies = {"document": SimpleNamespace(languages=languages), "email": SimpleNamespace(languages={})}
    columns = SimpleNamespace(languages=lambda: tuple(languages), file_counts=tallies.__getitem__)
    parts: Any = SimpleNamespace(
        embedder=SimpleNamespace(loaded=lambda: loaded), catalog=SimpleNamespace(columns=lambda: columns)
    )
    return StatusReport(parts)._language_notes()


def test_a_german_library_with_an_english_model_is_told_of_the_multilingual_one() -> None:
    (note,) = notes({"de": 3, "en": 2}, "all-MiniLM-L6-v2")
    assert "'de'" in note
    assert "multilingual-e5-small" in note


@pytest.mark.parametrize(
    ("languages", "model"),
    [
        ({"en": 2, "de": 1}, "all-MiniLM-L6-v2"),
        ({"de": 2, "en": 1, "ru": 1}, "all-MiniLM-L6-v2"),  # the most frequent, but not most of them
        ({"de": 1}, "multilingual-e5-small"),
        ({}, "all-MiniLM-L6-v2"),
        ({"de": 1}, None),
    ],
)
def test_nobody_is_told_whose_model_fits_or_who_has_many_languages(
    languages: dict[str, int], model: str | None
) -> None:
    assert notes(languages, model) == []
