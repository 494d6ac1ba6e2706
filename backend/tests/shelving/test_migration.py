"""Copying a library between storages, there and back, with everything real.

* Documents, passages, keyword entries and vectors arrive whole, and both answer alike.
* Nothing is embedded and no file is read again at the next start.
* An empty source, a target that holds something, and a target without its extra are refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from librarian.shelving.migration import Side, copy_library
from librarian.shelving.postgres.archive import PostgresVectorArchive
from librarian.shelving.postgres.catalog import PostgresCatalog
from librarian.shelving.postgres.lexical import PostgresLexicalIndex
from librarian.shelving.postgres.vectors import PgVectorStore
from librarian.vocabulary.errors import SetupError
from librarian.vocabulary.types import Filters
from tests import postgres

from .library import Library


def embedded(library: Library) -> Side:
    return Side(library.catalog, library.lexical, library.archive, lambda model: [library.store(model)])


def test_a_library_goes_to_postgres_and_back(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first, second = Library(tmp_path / "one"), Library(tmp_path / "two")
    for number in range(30):
        words = f"# Page {number}\n\nword{number} and others.\n\n## More\n\n"
        first.write(f"ray/api/{number}.md", words + "text " * 90)
    with pytest.raises(SetupError, match="nothing to copy"):
        copy_library(embedded(first), embedded(second), entries=first.reader.entries)  # type: ignore[attr-defined]
    first.complete()
    model = first.embedder.fingerprint
    database = postgres.database(tmp_path).join()
    catalog, lexical = PostgresCatalog(database), PostgresLexicalIndex(database)
    archive, store = PostgresVectorArchive(database), PgVectorStore(database, model, first.embedder.spec.dimension)
    there = Side(catalog, lexical, archive, lambda model: [store])
    calls = first.embedder.calls
    told: list[tuple[str, int, int]] = []
    entries = first.reader.entries  # type: ignore[attr-defined]
    copied = copy_library(embedded(first), there, entries=entries, progress=lambda *given: told.append(given))
    assert copied.documents == 30
    assert copied.vectors == archive.count(model) == first.archive.count(model)
    assert told[-1][1] == told[-1][2]
    assert catalog.verify() == []
    assert store.count() == len(list(catalog.windows(model))) == len(list(first.catalog.windows(model)))
    assert catalog.pending(model, 1) == []
    with pytest.raises(SetupError, match="holds 30 documents"):
        copy_library(embedded(first), there, entries=entries)

    back = copy_library(there, embedded(second), entries=entries)
    assert back == copied
    for number in (0, 17, 29):
        assert second.find(f"word{number}") == first.find(f"word{number}")
        assert second.nearest(f"word{number} and others") == first.nearest(f"word{number} and others")
    question = first.embedder.embed_query("word17 and others")
    everything = catalog.columns().select(Filters())
    assert store.search(question, 5, everything)[1] == pytest.approx(
        first.store(model).search(question, 5, first.catalog.columns().select(Filters()))[1], abs=2e-3
    )
    assert first.catalog.known() == second.catalog.known() == catalog.known()
    assert (first.embedder.calls, second.embedder.calls) == (calls, 0)
    for part in (store, archive, lexical, catalog):
        part.close()
    database.leave()
    first.close()
    second.close()
