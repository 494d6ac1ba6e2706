"""The sqlite-vec store: the contract, exactly; and what only a file can show.

* It misses nothing, at any share that passes.
* A damaged file, or one made for another model, becomes an empty store.
* Without the extra the error names it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from librarian.errors import SetupError, Unavailable
from librarian.vector_stores.base import VectorStore
from librarian.vector_stores.sqlite_vec import SqliteVecStore
from tests.contracts.vector_store_contract import EVERYTHING, VectorStoreContract

pytest.importorskip("apsw", reason="the extra librarian-docs[sqlite-vec] isn't installed")
pytest.importorskip("sqlite_vec", reason="the extra librarian-docs[sqlite-vec] isn't installed")


class TestSqliteVecStore(VectorStoreContract):
    persistent = True

    def make(self, folder: Path) -> VectorStore:
        return SqliteVecStore(folder / "windows.sqlite", self.dimension)


def test_a_row_without_a_direction_has_the_cosine_zero(tmp_path: Path) -> None:
    store = SqliteVecStore(tmp_path / "w.sqlite", 4)
    store.upsert(np.array([64, 128]), np.array([[0, 0, 0, 0], [1, 0, 0, 0]], np.float32))
    ids, cosines = store.search(np.array([1, 0, 0, 0], np.float32), 5, EVERYTHING)
    assert (ids.tolist(), cosines.tolist()) == ([128, 64], [1.0, 0.0])
    store.close()


def test_a_damaged_file_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    SqliteVecStore(path, 4).close()
    path.write_bytes(b"certainly no database " * 500)
    store = SqliteVecStore(path, 4)
    assert store.count() == 0
    store.upsert(np.array([64]), np.eye(1, 4, dtype=np.float32))
    store.close()
    again = SqliteVecStore(path, 4)
    assert again.count() == 1
    again.close()


def test_a_file_of_another_dimension_is_begun_anew(tmp_path: Path) -> None:
    first = SqliteVecStore(tmp_path / "w.sqlite", 4)
    first.upsert(np.array([64]), np.eye(1, 4, dtype=np.float32))
    first.close()
    store = SqliteVecStore(tmp_path / "w.sqlite", 8)
    assert store.count() == 0
    store.close()


def test_a_closed_store_says_so_and_a_folder_in_its_place_is_a_setup_error(tmp_path: Path) -> None:
    store = SqliteVecStore(tmp_path / "w.sqlite", 4)
    store.upsert(np.array([64]), np.eye(1, 4, dtype=np.float32))
    store.close()
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        store.search(np.ones(4, np.float32), 1, EVERYTHING)
    (tmp_path / "folder").mkdir()
    with pytest.raises(SetupError, match="can't be opened"):
        SqliteVecStore(tmp_path / "folder", 4)


def test_without_the_extra_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    with pytest.raises(SetupError, match=r"librarian-docs\[sqlite-vec\]"):
        SqliteVecStore(tmp_path / "w.sqlite", 4)
