"""Copying a library between storages, there and back, with everything real.

* Documents, passages, keyword entries and vectors arrive whole, and both answer alike.
* Mails arrive with their conversations, quotes and copies, archives of many mails with what their file looked like.
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
from librarian.vocabulary.protocols import Catalog
from librarian.vocabulary.types import QUOTED_PATH, Filters
from tests import postgres

from .library import Library
from .test_mails import WALRUS, mbox, reply, source


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


def told(catalog: Catalog) -> dict[str, object]:
    """Everything that a catalog says of its documents, without its own ids."""
    with catalog.read() as reader:
        stored = {each.document.file_path: each for each in reader.iter_documents()}
        full = reader.documents([each.doc_id for each in stored.values()], text=True)
        threads = {each.document.email.thread_id for each in stored.values() if each.document.email}
        return {
            "documents": {path: full[each.doc_id].document for path, each in stored.items()},
            "also in": {path: full[each.doc_id].also_in for path, each in stored.items()},
            "passages": {path: [one.chunk for one in reader.chunks_of(each.doc_id)] for path, each in stored.items()},
            "threads": {name: [one.document.file_path for one in reader.thread(name)] for name in threads},
            "members": reader.members("p/m/list.mbox"),
            "mails": sorted(
                (mail.file_path, mail.chunk_count, mail.email) for mail in reader.mails(threads=[*threads])
            ),
            "failures": reader.failures(),
            "products": reader.products(),
            "count": reader.count(reader.meta("model")),
            "known": catalog.known(),
        }


def test_mails_and_archives_go_there_and_back_whole(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first, second = Library(tmp_path / "one"), Library(tmp_path / "two")
    quoting = reply("b", "Okapi.", WALRUS, "<a@x>")
    first.write("p/m/list.mbox", mbox(source("a", WALRUS), quoting, source("f", "Gnu.", references="<b@x>")))
    first.write("p/m/alone.eml", reply("c", "Tapir.", "What nobody else here says of the pump and its valve.", "<z@x>"))
    first.write("p/m/copy.eml", source("a", WALRUS))
    first.write("p/docs/page.md", "# Page\n\nA walrus in the manual.\n")
    first.write("p/docs/bad.docx", "no archive at all")
    first.complete()
    before = told(first.catalog)
    assert before["failures"]
    assert any(before["also in"].values())  # type: ignore[attr-defined]
    assert any(chunk.heading_path[:1] == QUOTED_PATH for chunks in before["passages"].values() for chunk in chunks)  # type: ignore[attr-defined]
    model, calls = first.embedder.fingerprint, first.embedder.calls
    database = postgres.database(tmp_path).join()
    catalog, lexical = PostgresCatalog(database), PostgresLexicalIndex(database)
    archive, store = PostgresVectorArchive(database), PgVectorStore(database, model, first.embedder.spec.dimension)
    there = Side(catalog, lexical, archive, lambda model: [store])
    entries = first.reader.entries  # type: ignore[attr-defined]
    copy_library(embedded(first), there, entries=entries)
    assert told(catalog) == before
    copy_library(there, embedded(second), entries=entries)
    assert told(second.catalog) == before
    for words in ("walrus", "okapi", "tapir", "valve"):
        assert second.find(words) == first.find(words) != set()
        assert second.nearest(words) == first.nearest(words)
    second.root = first.root
    second.reopen()
    report = second.complete()
    assert (report.added, report.changed, report.removed, report.moved) == (0, 0, 0, 0)
    assert (first.embedder.calls, second.embedder.calls) == (calls, 0)
    assert second.indexer.check() == []
    for part in (store, archive, lexical, catalog):
        part.close()
    database.leave()
    first.close()
    second.close()
