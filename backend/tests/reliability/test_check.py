"""`librarian check` tells the truth about an index, and with `--repair` makes it true:

* catalog, keyword index, vectors and the folder are held against each other, by content and not by dates;
* every difference is a sentence; after a repair there is none.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.storage.library import Library


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    for number in range(12):
        made.write(f"ray/core/{number}.md", f"# Number {number}\n\nA passage about wombats, {number}.\n")
    made.complete()
    yield made
    made.close()


def secretly(library: Library) -> None:
    """A change that size and date don't tell of."""
    path = library.root / "ray/core/3.md"
    before = path.stat()
    path.write_text(path.read_text().replace("wombats", "ocelots"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def new_file(library: Library) -> None:
    library.write("ray/core/new.md", "# New\n")


def lost_file(library: Library) -> None:
    (library.root / "ray/core/3.md").unlink()


def lost_words(library: Library) -> None:
    library.lexical.delete([1, 2])
    with library.catalog.read() as reader:
        library.lexical.commit(reader.generation)


def broken_words(library: Library) -> None:
    """As a search leaves it that couldn't read the files."""
    library.lexical.give_up(RuntimeError("a bad block"))


def lost_vectors(library: Library) -> None:
    store = library.store(library.embedder.fingerprint)
    store.delete(store.ids()[:3])


def lost_from_the_file(library: Library) -> None:
    connection = sqlite3.connect(library.index / "vectors.sqlite")
    connection.execute("DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors LIMIT 3)")
    connection.commit()
    connection.close()


def foreign_vectors(library: Library) -> None:
    store = library.store(library.embedder.fingerprint)
    store.upsert(np.array([10**9], dtype=np.int64), np.ones((1, store.dimension), dtype=np.float32))


def lost_chunk(library: Library) -> None:
    change(library, "DELETE FROM chunks WHERE doc_id = 3")


def other_text(library: Library) -> None:
    change(library, "UPDATE chunks SET text = 'something else' WHERE doc_id = 4")


def change(library: Library, statement: str) -> None:
    connection = sqlite3.connect(library.index / "catalog.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (secretly, "new or changed: ray/core/3.md"),
        (new_file, "new or changed: ray/core/new.md"),
        (lost_file, "no file any more: ray/core/3.md"),
        (lost_words, "keyword index lacks 2 documents"),
        (broken_words, "is damaged"),
        (lost_vectors, "lacks 3 vectors"),
        (lost_from_the_file, "file of vectors lacks 3"),
        (foreign_vectors, "vectors of deleted passages"),
        (lost_chunk, "should have 1 chunks and has 0"),
        (other_text, "is not the text at"),
    ],
)
def test_what_differs_is_said_and_repaired(library: Library, harm: Callable[[Library], None], sentence: str) -> None:
    assert library.indexer.verify().ok
    calls = library.embedder.calls
    harm(library)
    found = library.indexer.verify()
    assert not found.ok
    assert sentence in " ".join(found.problems)
    repaired = library.indexer.verify(repair=True)
    assert repaired.ok, repaired.problems
    assert repaired.repaired
    library.indexer.embed()
    again = library.indexer.verify()
    assert again.ok, again.problems
    library.assert_whole()
    assert library.embedder.calls <= calls + {secretly: 2, new_file: 2, lost_from_the_file: 3}.get(harm, 0)


def test_a_root_that_is_gone_is_said_and_its_documents_are_kept_by_a_repair(library: Library) -> None:
    library.root.rename(library.root.with_name("elsewhere"))
    found, repaired = library.indexer.verify(), library.indexer.verify(repair=True)
    library.root.with_name("elsewhere").rename(library.root)
    assert not found.ok
    assert str(library.root) in " ".join(found.problems)
    assert (repaired.ok, repaired.repaired, repaired.documents) == (False, [], 12)
    assert "Its documents are kept until it is back." in " ".join(repaired.problems)
    assert library.indexer.verify(repair=True).ok


def test_a_repair_without_the_files_mends_the_rest_and_says_that_their_documents_are_kept(library: Library) -> None:
    for number in range(12, 30):
        library.write(f"ray/core/{number}.md", f"# Number {number}\n\nA passage about wombats, {number}.\n")
    library.complete()
    library.root.rename(library.root.with_name("elsewhere"))
    library.root.mkdir()
    lost_vectors(library)
    assert "30 of 30 files are missing" in " ".join(library.indexer.verify().problems)
    repaired = library.indexer.verify(repair=True)
    assert not repaired.ok
    assert [word for word in repaired.repaired if "file" in word] == []
    assert "Refilled 3 vectors" in " ".join(repaired.repaired)
    assert "30 of 30 files are missing" in " ".join(repaired.problems)
    assert repaired.documents == 30
