"""The Qdrant store: the contract in its local mode, in memory, and on a server where `QDRANT_URL` names one.

* A folder keeps what was stored.
* Filters by value find what filters by chunk find.
* Quantization is taken.
* A server that isn't there is a clear error; without the extra the error names it.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from librarian.errors import SetupError, Unavailable
from librarian.vector_stores.base import VectorStore
from librarian.vector_stores.qdrant import IN_MEMORY, QdrantStore, Quantization
from tests.contracts.vector_store_contract import EVERYTHING, VectorStoreContract, assert_value_filters_agree

pytest.importorskip("qdrant_client", reason="the extra librarian-docs[qdrant] isn't installed")


@pytest.fixture(autouse=True)
def left_open_by_the_client() -> Iterator[None]:
    """In a folder, qdrant-client leaves open the connection that it asks for SQLite's threading and those of
    collections that are deleted. Python 3.13 warns of that where garbage is looked for: here, not in some other test.
    """
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


class TestQdrantInMemory(VectorStoreContract):
    def make(self, folder: Path) -> VectorStore:
        return QdrantStore(IN_MEMORY, "windows", self.dimension)


@pytest.mark.skipif(not os.environ.get("QDRANT_URL"), reason="QDRANT_URL names no Qdrant server")
class TestQdrantServer(VectorStoreContract):
    persistent = True
    recall = 0.99

    def make(self, folder: Path) -> VectorStore:
        name = f"librarian-test-{uuid.uuid5(uuid.NAMESPACE_URL, str(folder)).hex}"
        return QdrantStore(os.environ["QDRANT_URL"], name, self.dimension)


def test_a_folder_keeps_what_was_stored(tmp_path: Path) -> None:
    first = QdrantStore(tmp_path / "q", "windows", 4)
    first.upsert(np.array([64, 128]), np.eye(2, 4, dtype=np.float32))
    first.delete(np.array([128]))
    first.close()
    again = QdrantStore(tmp_path / "q", "windows", 4)
    assert again.ids().tolist() == [64]
    assert again.search(np.array([1, 0, 0, 0], np.float32), 5, EVERYTHING)[0].tolist() == [64]
    again.close()


def test_filters_by_value_find_what_filters_by_chunk_find(tmp_path: Path) -> None:
    store = QdrantStore(IN_MEMORY, "windows", 8)
    assert_value_filters_agree(store, ("ray", 'it\'s; DROP TABLE "x" --', "kubernetes"), ("a",))
    store.close()


@pytest.mark.parametrize("quantization", ["scalar", "binary"])
def test_a_collection_can_be_quantized(tmp_path: Path, quantization: Quantization) -> None:
    store = QdrantStore(tmp_path / "q", "windows", 4, quantization=quantization)
    store.upsert(np.array([64, 128]), np.eye(2, 4, dtype=np.float32))
    assert store.search(np.array([1, 0, 0, 0], np.float32), 1, EVERYTHING)[0].tolist() == [64]
    store.close()


def test_a_collection_of_another_dimension_is_begun_anew(tmp_path: Path) -> None:
    first = QdrantStore(tmp_path / "q", "windows", 4)
    first.upsert(np.array([64]), np.eye(1, 4, dtype=np.float32))
    first.close()
    store = QdrantStore(tmp_path / "q", "windows", 8)
    assert store.count() == 0
    store.close()


def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unavailable, match="QDRANT_URL"):
        QdrantStore(f"http://127.0.0.1:{port}", "windows", 4)


def test_without_the_extra_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(SetupError, match=r"librarian-docs\[qdrant\]"):
        QdrantStore(tmp_path, "windows", 4)
