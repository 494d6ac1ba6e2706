"""A process that moves a library to PostgreSQL or back until it is killed, and what has to hold afterwards.

The library of `killable` lies in `folder`/one and comes back to `folder`/two; nothing may be embedded on the way.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from librarian.shelving.migration import COPY_OF, Side, copy_library
from librarian.shelving.postgres.archive import PostgresVectorArchive
from librarian.shelving.postgres.catalog import PostgresCatalog
from librarian.shelving.postgres.database import Database
from librarian.shelving.postgres.lexical import PostgresLexicalIndex
from librarian.shelving.postgres.vectors import PgVectorStore
from tests.reliability.killable import assert_found_by_vector, opened
from tests.shelving.library import Library


def embedded(library: Library) -> Side:
    """This machine's side."""
    return Side(library.catalog, library.lexical, library.archive, lambda model: [library.store(model)])


@contextmanager
def shared(url: str, schema: str, model: str, dimension: int) -> Iterator[Side]:
    """PostgreSQL's side."""
    database = Database(url, schema=schema, text_search="english", connections=4, wait_s=30).join()
    with ExitStack() as held:
        catalog = held.enter_context(closing(PostgresCatalog(database)))
        lexical = held.enter_context(closing(PostgresLexicalIndex(database)))
        archive = held.enter_context(closing(PostgresVectorArchive(database)))
        store = held.enter_context(closing(PgVectorStore(database, model, dimension)))
        yield Side(catalog, lexical, archive, lambda _: [store])


def move(folder: str, url: str, schema: str, back: bool, started: object = None) -> int:
    """Move there, or back; returns how many documents were copied."""
    place = Path(folder) / ("two" if back else "one")
    if back:
        shutil.copytree(Path(folder) / "one" / "library", place / "library", dirs_exist_ok=True)
    library = opened(place, "fake")
    embedder = library.embedder
    with closing(library), shared(url, schema, embedder.fingerprint, embedder.spec.dimension) as there:
        source, target = (there, embedded(library)) if back else (embedded(library), there)
        if started is not None:
            started.set()  # type: ignore[attr-defined]
        with target.catalog.read() as reader:
            count = reader.count()
            if (count.documents or count.emails) and not reader.meta(COPY_OF):
                return 0  # whole before its killer came; another copy would be refused
        return copy_library(source, target, entries=library.reader.entries).documents  # type: ignore[attr-defined]


def documents_of(url: str, schema: str) -> set[int]:
    """Ids of the documents that have arrived in PostgreSQL."""
    with shared(url, schema, "none", 1) as there:
        return set(there.lexical.tally())


def assert_arrived(folder: Path, url: str, schema: str) -> None:
    """Both ends hold the library whole, and nothing was embedded for it."""
    before = (folder / "one" / "embedded.log").read_text()
    first, second = opened(folder / "one", "fake"), opened(folder / "two", "fake")
    with closing(first), closing(second):
        model = first.embedder.fingerprint
        second.catalog.set_meta("root", str(second.root))  # a folder that has moved isn't what is tested
        second.complete()
        second.assert_whole()
        assert second.embedder.calls == 0
        with shared(url, schema, model, first.embedder.spec.dimension) as there:
            assert there.catalog.verify() == []
            with there.catalog.read() as reader:
                arrived = {stored.document.file_path: stored for stored in reader.iter_documents()}
            assert set(arrived) == first.documents() == second.documents()
            assert set(there.lexical.tally()) == {stored.doc_id for stored in arrived.values()}
            (store,) = there.stores_for(model)
            expected = dict(there.catalog.windows(model))
            assert [int(number) for number in store.ids()] == sorted(expected)
            assert len(expected) == len(dict(first.catalog.windows(model)))
            assert there.archive.count(model) == first.archive.count(model)
            assert there.catalog.pending(model, 1) == []
        with second.catalog.read() as reader:
            for stored in reader.iter_documents():
                number = stored.document.title.split()[-1]
                assert second.find(f'"Page {number}"') == {stored.document.file_path}
                assert_found_by_vector(second, stored, reader.chunks_of(stored.doc_id))
    assert (folder / "one" / "embedded.log").read_text() == before
    assert not (folder / "two" / "embedded.log").exists()
