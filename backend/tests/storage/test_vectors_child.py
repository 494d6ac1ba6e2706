"""A store in a child process keeps the contract of the store inside it, and outlives its child's death."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from librarian.errors import Unavailable
from librarian.indexing.chroma_worker import ChildStore
from librarian.models import Filters, Selection
from librarian.vector_stores.chroma import ChromaStore

EVERYTHING = Selection(Filters(), None, 3)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChildStore]:
    made = ChildStore("chroma", 4, partial(ChromaStore, tmp_path / "chroma", "windows", 4))
    yield made
    made.close()


def test_what_is_stored_is_found_after_the_child_has_ended(store: ChildStore) -> None:
    ids = np.array([64, 128, 192], dtype=np.int64)
    store.upsert(ids, np.eye(4, dtype=np.float32)[:3], [{"product": "p", "tags": []}] * 3)
    store.close()
    assert store.count() == 3
    found, cosines = store.search(np.eye(4, dtype=np.float32)[1], 2, EVERYTHING)
    assert found[0] == 128
    assert cosines[0] == pytest.approx(1.0, abs=1e-3)
    store.delete(np.array([128], dtype=np.int64))
    assert store.ids().tolist() == [64, 192]
    store.clear()
    assert store.count() == 0


def test_a_store_that_can_not_be_opened_is_unavailable() -> None:
    store = ChildStore("chroma", 4, partial(ChromaStore, Path("/dev/null/nowhere"), "windows", 4))
    try:
        with pytest.raises(Unavailable, match="Chroma"):
            store.count()
    finally:
        store.close()
