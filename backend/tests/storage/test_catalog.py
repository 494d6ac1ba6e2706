"""The SQLite catalog: the contract, and what only a file can show.

* A broken, a foreign and a newer file are refused with the way out; a fresh one is made with its folder.
* `verify` names what doesn't fit together, and a damaged page is told as damage, not as a bug.
* Large puts reload the columns, small ones extend them; older columns stay as they were.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from librarian.errors import Damaged, SetupError, Unavailable
from librarian.files.paths import LONGEST
from librarian.models import Filters
from librarian.storage import catalog as catalog_module
from librarian.storage.catalog import SqliteCatalog
from librarian.storage.database import VERSION
from librarian.storage.queries import MOST_COPIES, CatalogReader
from librarian.vector_stores.chroma import ChromaStore
from tests.contracts.catalog_contract import CatalogContract, document, result


class TestSqliteCatalog(CatalogContract):
    def open(self, folder: Path, shared_products: Sequence[str] = ()) -> SqliteCatalog:
        return SqliteCatalog(folder / "made" / "catalog.sqlite", shared_products=shared_products)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.sqlite"


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_file_that_is_no_database_is_damaged(path: Path) -> None:
    path.write_bytes(b"certainly no database " * 100)
    with pytest.raises(Damaged, match="start it again"):
        SqliteCatalog(path)


def test_a_cut_off_file_is_damaged(path: Path) -> None:
    catalog = SqliteCatalog(path)
    catalog.put([result(document(text="word " * 20_000))])
    catalog.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:5000])
    with pytest.raises(Damaged, match="damaged"):
        SqliteCatalog(path)


def test_a_page_that_broke_later_is_told_as_damage(path: Path) -> None:
    catalog = SqliteCatalog(path)
    catalog.put([result(document(f"alpha/api/{n}.md", "word " * 500), size=100) for n in range(40)])
    catalog.close()
    whole = bytearray(path.read_bytes())
    for start in range(4 * 4096, len(whole) - 4096, 4096):
        whole[start : start + 64] = b"\xff" * 64
    path.write_bytes(whole)
    with pytest.raises(Damaged):
        _read_everything(path)


def _read_everything(path: Path) -> None:
    catalog = SqliteCatalog(path)
    try:
        with catalog.read() as reader:
            for each in reader.iter_documents():
                reader.chunks_of(each.doc_id)
    finally:
        catalog.close()


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    change(path, "CREATE TABLE theirs (a)")
    before = path.read_bytes()
    with pytest.raises(SetupError, match="another program"):
        SqliteCatalog(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("other", [VERSION - 1, VERSION + 1])
def test_a_file_of_another_version_is_set_aside_and_begun_anew(path: Path, other: int) -> None:
    catalog = SqliteCatalog.sound(path)
    catalog.put([result(document())])
    catalog.close()
    change(path, f"PRAGMA user_version = {other}")
    with pytest.raises(Damaged, match=f"has format {other}"):
        SqliteCatalog(path)
    again = SqliteCatalog.sound(path)
    assert "made again from the files" in again.rescued
    assert again.known() == {}
    assert (path.parent / "catalog.sqlite.damaged-1" / "catalog.sqlite").exists()
    again.close()


def test_a_folder_that_cannot_be_opened_is_a_setup_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(SetupError, match="can't be opened"):
        SqliteCatalog(path)


def long_folder(folder: Path, length: int) -> Path:
    """A folder whose path has so many bytes."""
    while len(str(folder)) < length - 120:
        folder /= "long" * 25
    folder /= "x" * (length - len(str(folder)) - 1)
    folder.mkdir(parents=True)
    return folder


def test_a_path_that_is_too_long_for_its_file_is_told_with_its_length(tmp_path: Path) -> None:
    name = "/catalog.sqlite"
    folder = long_folder(tmp_path, LONGEST - len(name))
    SqliteCatalog(folder / "catalog.sqlite").close()
    folder = folder.rename(folder.with_name(folder.name + "y"))
    with pytest.raises(SetupError, match=r"its path has 505 bytes, and SQLite takes 504\. Choose a shorter path"):
        SqliteCatalog(folder / "catalog.sqlite")
    with pytest.raises(Unavailable, match=r"its path has 5\d\d bytes, and SQLite takes 504"):
        ChromaStore(folder / "chroma", "windows", 16).count()


def test_tables_that_could_not_all_be_made_leave_none_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("librarian.storage.sqlite.tables_for", lambda *_: ["CREATE TABLE half (a)", "no statement"])
        with pytest.raises(SetupError, match="can't be opened"):
            SqliteCatalog(path)
    catalog = SqliteCatalog(path)
    assert catalog.verify() == []
    catalog.close()


def test_a_closed_catalog_says_so_and_open_readers_finish(path: Path) -> None:
    catalog = SqliteCatalog(path)
    catalog.put([result(document())])
    with catalog.read() as reader:
        catalog.close()
        assert reader.document_by_path("alpha/api/a.md") is not None
    with pytest.raises(Unavailable, match="closed"), catalog.read():
        pass
    catalog.close()


def test_columns_keep_working_after_an_error_while_they_were_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = SqliteCatalog(path)
    catalog.put([result(document())])
    catalog.columns()
    catalog.put([result(document("beta/api/b.md"))])
    with monkeypatch.context() as patched:
        patched.setattr("librarian.storage.queries.columns_with", _full_disk)
        with pytest.raises(Unavailable, match="free space"):
            catalog.columns()
    assert catalog.columns().select(Filters(product="beta")).count > 0
    catalog.close()


def _full_disk(*_: object) -> None:
    raise sqlite3.OperationalError("disk I/O error")


def test_what_is_forgotten_while_pending_passages_are_read_is_found_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = SqliteCatalog(path)
    (stored,) = catalog.put([result(document())])
    catalog.mark_embedded("m", {stored.chunk_ids[0]: ["h"]})

    def read(*given: Any) -> object:
        found = pending(*given)
        catalog.forget("m")
        return found

    pending = CatalogReader.pending
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(CatalogReader, "pending", read)
        assert stored.chunk_ids[0] not in catalog.pending_chunks("m", 9)
    assert catalog.pending_chunks("m", 9) == list(stored.chunk_ids)
    catalog.close()


def test_older_columns_stay_as_they_were(path: Path) -> None:
    catalog = SqliteCatalog(path)
    (first,) = catalog.put([result(document())])
    older = catalog.columns()
    count = older.select(Filters()).count
    (second,) = catalog.put([result(document(text="other"))])
    newer = catalog.columns()
    assert newer is not older
    assert older.select(Filters()).count == count
    assert older.doc_of(np.array(first.chunk_ids)).tolist() == [first.doc_id] * count
    assert newer.doc_of(np.array(first.chunk_ids)).tolist() == [0] * count
    assert newer.doc_of(np.array(second.chunk_ids)).tolist() == [second.doc_id]
    assert catalog.columns() is newer
    assert catalog.bump() == catalog.columns().generation
    catalog.close()


def test_many_changes_at_once_reload_the_columns(path: Path) -> None:
    catalog = SqliteCatalog(path)
    catalog.columns()
    catalog.put([result(document(f"alpha/api/{n}.md")) for n in range(150)])
    assert catalog.columns().documents == 150
    catalog.close()


def test_only_so_many_selections_are_kept(path: Path) -> None:
    catalog = SqliteCatalog(path)
    catalog.put([result(document()), result(document("beta/api/b.md"))])
    columns = catalog.columns()
    first = columns.select(Filters(product="alpha", file_paths=("alpha/api/a.md",)))
    for number in range(100):
        columns.select(Filters(product="alpha", file_paths=(f"{number}",)))
    again = columns.select(first.filters)
    assert again is not first
    assert again.count == first.count
    catalog.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE chunks SET text = 'forged' WHERE ordinal = 1", "Chunk 1 of alpha/api/a.md is not the text"),
        ("DELETE FROM chunks WHERE ordinal = 0", "alpha/api/a.md should have 3 chunks and has 2"),
        ("DELETE FROM texts", "alpha/api/a.md has lost its text"),
        ("DELETE FROM documents", "refers to a row of documents that is not there"),
    ],
)
def test_verify_names_what_is_inconsistent(path: Path, statement: str, told: str) -> None:
    catalog = SqliteCatalog(path)
    catalog.put([result(document())])
    assert catalog.verify() == []
    change(path, statement)
    assert any(told in sentence for sentence in catalog.verify())
    catalog.close()


def test_totals_are_those_of_the_newest_commit_although_they_are_remembered(tmp_path: Path) -> None:
    catalog = SqliteCatalog(tmp_path / "catalog.sqlite")
    try:
        for number in range(3):
            with catalog.read() as reader:
                assert reader.count() == reader.count()
                assert reader.count().documents == number
            catalog.put([result(document(f"p/c/{number}.md", f"# Page {number}\n\nSome text."))])
            with catalog.read() as reader:
                before = reader.count().embedded_chunks
                ids = [
                    chunk.chunk_id for stored in reader.iter_documents() for chunk in reader.chunks_of(stored.doc_id)
                ]
            catalog.mark_embedded("model", {ids[-1]: ["hash"]})
            with catalog.read() as reader:
                assert reader.count().embedded_chunks == before + 1
    finally:
        catalog.close()


def alike(folder: Path, number: int) -> SqliteCatalog:
    """A catalog of so many files with one content."""
    catalog = SqliteCatalog(folder / f"{number}.sqlite")
    catalog.put([result(document(f"p/c/{n:05}.md", "the same")) for n in range(number)])
    return catalog


def seconds(work: Callable[[], object]) -> float:
    """Processor time that it takes, the least of three."""
    took = []
    for _ in range(3):
        started = time.process_time()
        work()
        took.append(time.process_time() - started)
    return min(took)


def test_listing_files_of_equal_content_takes_time_in_proportion_to_their_number(tmp_path: Path) -> None:
    took = []
    for number in (400, 3_200):
        catalog = alike(tmp_path, number)
        with catalog.read() as reader:
            listed = list(reader.iter_documents())
        assert [each.also_in for each in listed[:2]] == [
            ("p/c/00001.md", *(f"p/c/{n:05}.md" for n in range(2, MOST_COPIES + 1))),
            ("p/c/00000.md", *(f"p/c/{n:05}.md" for n in range(2, MOST_COPIES + 1))),
        ]

        def listing(catalog: SqliteCatalog = catalog) -> None:
            with catalog.read() as reader:
                assert sum(1 for _ in reader.iter_documents()) >= 400

        took.append(seconds(listing))
        catalog.close()
    assert took[1] < 2 * 8 * took[0]


def test_a_passage_of_thousands_of_documents_names_a_hundred_at_no_greater_cost(tmp_path: Path) -> None:
    took = []
    for number in (400, 3_200):
        catalog = alike(tmp_path, number)
        with catalog.read() as reader:
            (first, *_) = reader.chunks_of(1)
            copies = reader.copies([first.chunk_id])[first.chunk_id]
            took.append(seconds(lambda reader=reader, chunk=first.chunk_id: reader.copies([chunk] * 10)))
        assert copies == tuple(f"p/c/{n:05}.md" for n in range(1, MOST_COPIES + 1))
        catalog.close()
    assert took[1] < 3 * took[0]


def test_columns_are_read_while_more_changes_come_than_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_module, "_LONGEST_LOG", 3)
    catalog = SqliteCatalog(tmp_path / "catalog.sqlite")
    done, failed = threading.Event(), list[BaseException]()

    def read() -> None:
        try:
            while not done.is_set():
                catalog.columns()
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    for number in range(200):
        catalog.put([result(document(f"p/c/{number}.md"))])
    done.set()
    for thread in readers:
        thread.join()
    assert not failed
    assert catalog.columns().documents == 200
    catalog.close()
