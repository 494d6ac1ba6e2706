"""Every vector store over one fixed corpus: the same first ten, filters included.

Exact stores name the same windows as brute force. Approximate ones (Chroma, pgvector) may miss one of a hundred;
cosines differ by no more than float16 does (0.002). Products' names, hostile ones too, are only names; filters by value
let through what filters by chunk do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from librarian.vector_stores.base import VectorStore
from librarian.vector_stores.chroma import ChromaStore
from librarian.vector_stores.exact import ExactStore
from tests import postgres
from tests.contracts.vector_store_contract import EVERYTHING, brute_force, clustered, recall_at, selection_of

DIMENSION, COUNT = 64, 1000
MODEL = "corpus"
PRODUCTS = ("ray", "'; DROP TABLE documents; --", '"} OR 1=1', "%s {table} $1", "🦊 ü\\")


def exact(folder: Path) -> VectorStore:
    return ExactStore(DIMENSION)


def chroma(folder: Path) -> VectorStore:
    return ChromaStore(folder, "windows", DIMENSION)


def sqlite_vec(folder: Path) -> VectorStore:
    pytest.importorskip("sqlite_vec", reason="the extra librarian-docs[sqlite-vec] isn't installed")
    from librarian.vector_stores.sqlite_vec import SqliteVecStore

    return SqliteVecStore(folder / "w.sqlite", DIMENSION)


def qdrant(folder: Path) -> VectorStore:
    pytest.importorskip("qdrant_client", reason="the extra librarian-docs[qdrant] isn't installed")
    from librarian.vector_stores.qdrant import IN_MEMORY, QdrantStore

    return QdrantStore(IN_MEMORY, "windows", DIMENSION)


def pgvector(folder: Path) -> VectorStore:
    postgres.url()
    from librarian.vector_stores.pgvector import PgVectorStore

    return PgVectorStore(postgres.database(folder), MODEL, DIMENSION)


@pytest.fixture(params=[exact, chroma, sqlite_vec, qdrant, pgvector], ids=lambda make: make.__name__)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    make: Callable[[Path], VectorStore] = request.param
    store = make(tmp_path / "store")
    yield store
    store.close()


@pytest.mark.no_cover
def test_the_first_ten_are_the_same_everywhere(store: VectorStore) -> None:
    rows, ids = clustered(COUNT, DIMENSION, seed=11), np.arange(COUNT, dtype=np.int64) * 64
    products = [PRODUCTS[number % len(PRODUCTS)] for number in range(COUNT)]
    store.upsert(ids, rows, [{"product": name, "tags": [f"t{n % 7}"]} for n, name in enumerate(products)])
    rng = np.random.default_rng(12)
    questions = rows[rng.integers(0, COUNT, 6)] + 0.1 * rng.standard_normal((6, DIMENSION))
    questions = np.asarray(questions / np.linalg.norm(questions, axis=1, keepdims=True), np.float32)
    least = 1.0 if store.name in ("exact", "sqlite-vec", "qdrant") else 0.99
    for share in (1.0, 0.4, 0.1, 0.02):
        chosen = rng.choice(COUNT, int(COUNT * share), replace=False)
        selection = EVERYTHING if share == 1 else selection_of(chosen, COUNT - 1)
        assert recall_at(store, ids, rows, questions, 10, selection) >= least, share
        _, cosines = store.search(questions[0], 10, selection)
        _, true = brute_force(ids, rows, questions[0], 10, selection)
        assert cosines == pytest.approx(true, abs=2e-3)
    for number, product in enumerate(PRODUCTS):
        for tags in ((), ("t1", "t5")):
            chosen = [n for n in range(COUNT) if n % len(PRODUCTS) == number and (not tags or f"t{n % 7}" in tags)]
            by_chunk = selection_of(np.array(chosen), COUNT - 1)
            allowed = {"product": (product,), **({"tags": tags} if tags else {})}
            by_value = replace(by_chunk, allowed=allowed, complete=True)
            assert recall_at(store, ids, rows, questions[:2], 10, by_value) >= least, (product, tags)
            found = store.search(questions[0], 10, by_value)[0]
            assert {products[n // 64] for n in found.tolist()} == {product}
    assert store.count() == COUNT
