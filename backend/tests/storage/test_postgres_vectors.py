"""pgvector and the archive on a real PostgreSQL: the store's contract, through the graph and one by one.

* Through the HNSW graph alone the recall stays at 0.95, filtered or not, and filters by value find what filters by
  chunk find.
* The SQL function for other programs finds by both legs, filters by source, and takes hostile texts as texts.
* The archive gives back what it was given, to float16, and drops what is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pgvector import HalfVector

from librarian.errors import SetupError, Unavailable
from librarian.storage.catalog import Catalog
from librarian.storage.embedding_cache import EmbeddingCache
from librarian.storage.postgres.database import Database
from librarian.storage.postgres.keyword_index import PostgresKeywordIndex
from librarian.vector_stores import pgvector
from librarian.vector_stores.base import VectorStore
from librarian.vector_stores.pgvector import PgVectorStore
from tests import postgres
from tests.contracts.catalog_contract import document, result
from tests.contracts.lexical_contract import entry
from tests.contracts.vector_store_contract import (
    EVERYTHING,
    VectorStoreContract,
    assert_value_filters_agree,
    clustered,
    recall_at,
    selection_of,
)


@pytest.fixture(scope="session", autouse=True)
def _server() -> None:
    postgres.url()


class TestPgVectorStore(VectorStoreContract):
    persistent = True
    recall = 0.99

    def make(self, folder: Path) -> VectorStore:
        return PgVectorStore(postgres.database(folder), "model", self.dimension)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = postgres.database(tmp_path)
    yield database
    database.close()


def test_vectors_lie_in_their_rows(database: Database) -> None:
    store = PgVectorStore(database, "m", 32)

    def kept_inline() -> bool:
        with database.read() as session:
            row = session.connection.execute(
                "SELECT attstorage FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'vector'",
                (store.table,),
            ).fetchone()
        return row is not None and row[0] in ("p", b"p")

    assert kept_inline()
    store.close()


def test_an_old_pgvector_is_refused_with_the_way_to_a_newer_one(database: Database) -> None:
    def call_it(version: str) -> str:
        with database.write() as session:
            row = session.connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
            session.connection.execute("UPDATE pg_extension SET extversion = %s WHERE extname = 'vector'", (version,))
        assert row is not None
        return str(row[0])

    before = call_it("0.7.4")
    try:
        with pytest.raises(SetupError, match=r"pgvector 0\.7\.4, and 0\.8 or newer") as refused:
            PgVectorStore(database, "m", 32)
    finally:
        call_it(before)
    assert "ALTER EXTENSION vector UPDATE" in str(refused.value)
    PgVectorStore(database, "m", 32).close()


def test_through_the_graph_filters_keep_their_recall(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pgvector, "ONE_BY_ONE", 0)
    with database.write() as session:  # for connections made from now on
        session.connection.execute("ALTER ROLE CURRENT_USER SET enable_seqscan = off")
        session.connection.execute("ALTER ROLE CURRENT_USER SET enable_sort = off")
    try:
        store = PgVectorStore(postgres.Database(postgres.url(), schema=database.schema), "m", 32)
        count = 2000
        rows, ids = clustered(count, 32, seed=5), np.arange(count, dtype=np.int64) * 64
        products = [f"p{n % 20}" for n in range(count)]
        store.upsert(ids, rows)
        questions = np.random.default_rng(6).standard_normal((10, 32)).astype(np.float32)
        questions /= np.linalg.norm(questions, axis=1, keepdims=True)
        assert recall_at(store, ids, rows, questions, 50, EVERYTHING) >= 0.95
        for names in ({"p3"}, {f"p{n}" for n in range(12)}):
            by_chunk = selection_of(np.array([n for n in range(count) if products[n] in names]), count - 1)
            assert recall_at(store, ids, rows, questions, 50, by_chunk) >= 0.95
        with store._database.read() as session:
            near = pgvector._NEAR.format(table=store.table, condition="true")
            given: dict[str, object] = {"question": HalfVector(rows[0]), "limit": 9}
            plan = session.connection.execute(f"EXPLAIN {near}".encode(), given)
            assert "_near" in str(plan.fetchall())
        store.close()
    finally:
        with database.write() as session:
            session.connection.execute("ALTER ROLE CURRENT_USER RESET ALL")


def test_filters_by_value_find_what_filters_by_chunk_find(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pgvector, "ONE_BY_ONE", 0)
    store = PgVectorStore(database, "m", 8)
    assert_value_filters_agree(store, ("ray", "'; DROP TABLE documents; --", "kubernetes"), ("a", "%s"))
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        store.count()


def test_the_sql_function_finds_by_both_legs(database: Database) -> None:
    catalog = Catalog(database)
    lexical = PostgresKeywordIndex(database)
    store = PgVectorStore(database, "m", 4)
    texts = {"ray/api/a.md": "running pods", "ray/api/b.md": "nothing here", "kubernetes/api/c.md": "pods and nodes"}
    stored = catalog.put([result(document(path, text), size=99) for path, text in texts.items()])
    for number, (path, text) in enumerate(texts.items()):
        (chunk,) = stored[number].chunk_ids
        lexical.put([(chunk, stored[number].doc_id, document(path), entry(text))])
        store.upsert(np.array([chunk * 64]), np.eye(4, dtype=np.float32)[[number]])
    lexical.commit(1)
    question = "[1, 0.5, 0, 0]"
    columns = "file_path, match_type, similarity, text_rank, combined_score"
    call = f"SELECT {columns} FROM hybrid_search_chunks(%s, %s, %s, %s)"
    with database.connection() as connection:
        with pytest.raises(Exception, match="No vectors lie in this database"):
            connection.execute(call, (question, "pod", 10, None))
        catalog.set_meta("model", "m")
        found = connection.execute(call, (question, "pod", 10, None)).fetchall()
        assert [row[:2] for row in found] == [
            ("ray/api/a.md", "both"),
            ("ray/api/b.md", "vector"),
            ("kubernetes/api/c.md", "text"),
        ]
        assert found[0][2] == pytest.approx(1 / 1.25**0.5, abs=1e-3)
        assert all(row[4] == pytest.approx(0.7 * row[2] + 0.3 * row[3]) for row in found)
        only = connection.execute(call, (question, "pod", 10, "kubernetes")).fetchall()
        assert [row[0] for row in only] == ["kubernetes/api/c.md"]
        assert len(connection.execute(call, (question, "pod", 1, None)).fetchall()) == 1
        for hostile in ("'; DROP TABLE documents; --", "%I $query$", "a & | !", ""):
            connection.execute(call, (question, hostile, 10, hostile))
    for part in (catalog, lexical, store):
        part.close()


def test_the_archive_gives_back_what_it_was_given(database: Database) -> None:
    archive = EmbeddingCache(database)
    rows = clustered(30, 16)
    archive.put("m", {f"h{n}": row for n, row in enumerate(rows)})
    archive.put("m", {"h0": rows[1]})
    archive.put("n", {"h0": rows[0][:8]})
    found = archive.get("m", ["h0", "h5", "unknown", "h5"])
    assert list(found) == ["h0", "h5"]
    assert found["h0"] == pytest.approx(rows[1], abs=2e-3)
    assert np.linalg.norm(found["h5"]) == pytest.approx(1, abs=1e-6)
    assert (archive.count(), archive.count("m"), archive.count("x")) == (31, 30, 0)
    assert archive.models() == ["m", "n"]
    assert archive.get("x", ["h0"]) == {}
    with pytest.raises(ValueError, match="NaN"):
        archive.put("m", {"bad": np.full(16, np.nan, np.float32)})
    with pytest.raises(ValueError, match="dimensions"):
        archive.put("m", {"bad": rows[0][:8]})
    archive.put("m", {})
    archive.close()
    archive.close()


def test_the_archive_drops_what_is_not_used(database: Database) -> None:
    archive = EmbeddingCache(database)
    rows = clustered(100, 4)
    archive.put("m", {f"h{n:02}": row for n, row in enumerate(rows)})
    used = {f"h{n:02}" for n in range(30)}
    assert archive.prune("unknown", set()) == 0
    assert archive.prune("m", used) == 60  # a third of 30 stays
    assert archive.prune("m", used, unused_share=0) == 10
    assert archive.get("m", sorted(used)).keys() == used
    archive.close()
