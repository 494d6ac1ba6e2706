"""An index that another version wrote is made again from the documents, and says so:

* of every format that was ever published (`formats.py`), all documents are found again and nothing is embedded again;
* a catalog of a newer version is set aside, not changed;
* a keyword index or an embedding cache of another format is made again.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from pathlib import Path

import numpy as np
import pytest

from librarian.storage.rows import text_key
from tests.reliability.formats import FORMATS, PAGES
from tests.storage.library import Library

KEPT = sorted(path.name.removesuffix(".tar.gz") for path in FORMATS.glob("*.tar.gz"))


class Unpacked(Library):
    """The library of a kept format, not yet opened; its root is told where it lies now."""

    def __init__(self, folder: Path, number: str) -> None:
        with tarfile.open(FORMATS / f"{number}.tar.gz") as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 knows none
            archive.extractall(folder)
        self.change("catalog", f"UPDATE meta SET value = '{folder / 'library'}' WHERE key = 'root'", folder)
        super().__init__(folder)

    @staticmethod
    def change(name: str, statement: str, folder: Path) -> None:
        connection = sqlite3.connect(folder / "index" / f"{name}.sqlite")
        connection.execute(statement)
        connection.commit()
        connection.close()

    def restarted(self, name: str, statement: str) -> None:
        self.close()
        self.change(name, statement, self.index.parent)
        self.open()


@pytest.mark.parametrize("number", KEPT)
def test_an_index_of_an_older_format_is_made_again_without_embedding(tmp_path: Path, number: str) -> None:
    library = Unpacked(tmp_path, number)
    assert f"has format {number}" in library.catalog.rescued
    library.complete()
    assert library.find("wombat") == {"ray/core/tasks.md"}
    assert library.find("axolotl") == {"mail/inbox/one.eml"}
    assert library.documents() == set(PAGES)
    assert library.embedder.calls == 0
    assert library.indexer.check() == []
    assert library.catalog.verify() == []
    with library.catalog.read() as reader:
        chunks = [each for stored in reader.iter_documents() for each in reader.chunks_of(stored.doc_id)]
    keys = library.catalog.columns().text_of(np.array([each.chunk_id for each in chunks])).tolist()
    assert keys == [text_key(each.chunk.text) for each in chunks]
    library.close()


def test_a_newer_catalog_is_set_aside_as_it_is(tmp_path: Path) -> None:
    library = Unpacked(tmp_path, KEPT[-1])
    library.complete()
    library.close()
    library.change("catalog", "PRAGMA user_version = 999", tmp_path)
    written = (library.index / "catalog.sqlite").read_bytes()
    library.open()
    assert (library.index / "catalog.sqlite.damaged-2" / "catalog.sqlite").read_bytes() == written
    library.complete()
    assert library.documents() == set(PAGES)
    assert library.embedder.calls == 0
    library.close()


def test_a_keyword_index_of_another_format_is_made_again(tmp_path: Path) -> None:
    library = Unpacked(tmp_path, KEPT[-1])
    library.complete()
    library.close()
    state = library.index / "words" / "librarian.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"format": 999}))
    library.open()
    assert "lacks 4 documents" in " ".join(library.complete().notes)
    assert library.find("wombat") == {"ray/core/tasks.md"}
    assert library.embedder.calls == 0
    library.close()


def test_an_archive_of_another_format_is_set_aside_and_filled_again(tmp_path: Path) -> None:
    library = Unpacked(tmp_path, KEPT[-1])
    library.restarted("vectors", "PRAGMA user_version = 999")
    assert library.archive.recreated
    library.store_kept.clear()
    library.complete()
    assert library.indexer.check() == []
    assert (library.index / "vectors.sqlite.damaged-1" / "vectors.sqlite").exists()
    library.close()


def test_an_index_without_any_of_its_parts_is_just_a_new_one(tmp_path: Path) -> None:
    library = Unpacked(tmp_path, KEPT[-1])
    library.close()
    shutil.rmtree(library.index)
    library.index.mkdir()
    library.open()
    library.complete()
    assert library.documents() == set(PAGES)
    library.close()
