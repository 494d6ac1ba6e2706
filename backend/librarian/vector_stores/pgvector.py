"""A vector store in PostgreSQL, by pgvector: one table per model, half precision, an HNSW index on the cosine.

Few passing chunks are compared one by one. Many are found through the graph, which goes on searching until enough of
what it meets has passed (`hnsw.iterative_scan`), so that a filter doesn't cost recall; where it gives up before, every
passing row is compared.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..errors import SetupError
from ..models import WINDOWS_PER_CHUNK, Ids, Selection, Vector, Vectors
from ..storage.database import Session
from ..storage.postgres.database import Database, PostgresSession
from ..storage.postgres.keyword_index import by_chunk
from .base import Hnsw, Payload, VectorStore

OLDEST: Final = (0, 8)  #: pgvector's version that has both `halfvec` (0.7) and `hnsw.iterative_scan`
MOST_CONSIDERED: Final = 1000  #: pgvector's limit of hnsw.ef_search
MOST_MET: Final = 200_000  #: rows that the graph may meet in search of some that pass
ONE_BY_ONE: Final = 10_000  #: chunks that are compared without the graph
_TIE: Final = 6  # decimals in which cosines must differ
_CHUNK: Final = f"(id / {WINDOWS_PER_CHUNK})"
_SEARCH: Final = "SELECT id, vector <=> %(question)s AS distance FROM"
_ONE_BY_ONE: Final = f"""
    WITH passing AS MATERIALIZED (
        SELECT v.id, v.vector FROM unnest(%(chunks)s::bigint[]) AS chunk (id) JOIN {{table}} v
        ON v.id BETWEEN chunk.id * {WINDOWS_PER_CHUNK} AND chunk.id * {WINDOWS_PER_CHUNK} + {WINDOWS_PER_CHUNK - 1})
    {_SEARCH} passing ORDER BY distance, id LIMIT %(limit)s"""
_NEAR: Final = (
    f"{_SEARCH} {{table}} WHERE {{condition}} ORDER BY vector <=> %(question)s LIMIT %(limit)s"  # by the graph
)
_ALL: Final = f"""WITH passing AS MATERIALIZED (SELECT id, vector FROM {{table}} WHERE {{condition}})
    {_SEARCH} passing ORDER BY distance, id LIMIT %(limit)s"""


class PgVectorStore(VectorStore):
    """A `VectorStore` in a table that is made where there is none.

    `model` is the fingerprint of the model whose vectors these are. Vectors are kept as `halfvec`: cosines are off by
    less than 0.001.
    """

    name = "pgvector"

    def __init__(self, database: Database, model: str, dimension: int, hnsw: Hnsw = Hnsw()) -> None:
        self.dimension = dimension
        self._database, self._hnsw = database, hnsw
        self.table = f"vectors_{hashlib.sha256(model.encode()).hexdigest()[:12]}"
        with database.write() as session:
            session.rows("SELECT pg_advisory_xact_lock(?)", database.lock_key(f"vectors/{model}"))
            _check_version(session)
            if session.rows("SELECT to_regclass(?)", self.table) == [(None,)]:
                self._create(session)
            session.rows("INSERT INTO vector_tables VALUES (?, ?) ON CONFLICT DO NOTHING", model, self.table)

    def _put(self, ids: Ids, vectors: Vectors, payloads: Sequence[Payload]) -> None:
        from pgvector import HalfVector

        statement = f"""INSERT INTO {self.table} (id, vector) VALUES (?::int8, ?::halfvec)
            ON CONFLICT (id) DO UPDATE SET vector = excluded.vector"""
        with self._database.write() as session:
            rows = zip(ids.tolist(), map(HalfVector, vectors), strict=True)
            session.many(statement, rows)

    def _drop(self, ids: Ids) -> None:
        with self._database.write() as session:
            session.rows(f"DELETE FROM {self.table} WHERE id AMONG ?", ids.tolist())

    def _near(self, question: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        from pgvector import HalfVector

        given: dict[str, object] = {"question": HalfVector(question), "limit": limit}
        with self._database.read() as session:
            if selection.mask is not None and np.count_nonzero(selection.mask) <= ONE_BY_ONE:
                given["chunks"] = np.flatnonzero(selection.mask).tolist()
                rows = session.connection.execute(_ONE_BY_ONE.format(table=self.table).encode(), given).fetchall()
            else:
                condition, chosen = by_chunk(selection, _CHUNK)
                rows = self._by_graph(session, condition, {**given, **chosen}, limit)
        # a row of zeros has no direction, and so no distance
        distances = np.nan_to_num(np.array([row[1] for row in rows], dtype=np.float64), nan=1.0)
        return np.array([row[0] for row in rows], dtype=np.int64), np.round(1 - distances, _TIE).astype(np.float32)

    def count(self) -> int:
        with self._database.read() as session:
            return self._count_in(session)

    def ids(self) -> Ids:
        with self._database.read() as session:
            rows = session.rows(f"SELECT id FROM {self.table} ORDER BY id")
        return np.array([row[0] for row in rows], dtype=np.int64)

    def clear(self) -> None:
        """Drop all rows and give their room back."""
        with self._database.write() as session:
            session.rows(f"TRUNCATE {self.table}")

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def _by_graph(
        self, session: PostgresSession, condition: str, given: Mapping[str, object], limit: int
    ) -> list[tuple[Any, ...]]:
        session.rows(
            """SELECT set_config('hnsw.ef_search', ?, true), set_config('hnsw.iterative_scan', 'strict_order', true),
                      set_config('hnsw.max_scan_tuples', ?, true)""",
            *(str(min(MOST_CONSIDERED, max(self._hnsw.search_ef, limit))), str(MOST_MET)),
        )
        near, every = (text.format(table=self.table, condition=condition).encode() for text in (_NEAR, _ALL))
        rows: list[tuple[Any, ...]] = session.connection.execute(near, given).fetchall()
        if len(rows) >= limit or len(rows) >= self._count_in(session):
            return rows
        # fewer than asked for: either no more pass, or the graph gave up on meeting them
        return session.connection.execute(every, given).fetchall()

    def _create(self, session: Session) -> None:
        # Vectors don't compress: reading them inline saves a look into another table. Before PostgreSQL 16 only ALTER
        # says so.
        for statement in (
            f"CREATE TABLE {self.table} (id bigint PRIMARY KEY, vector halfvec({self.dimension}) NOT NULL)",
            f"ALTER TABLE {self.table} ALTER COLUMN vector SET STORAGE PLAIN",
            f"""CREATE INDEX {self.table}_near ON {self.table} USING hnsw (vector halfvec_cosine_ops)
                WITH (m = {self._hnsw.M}, ef_construction = {max(self._hnsw.construction_ef, 2 * self._hnsw.M)})""",
        ):
            session.rows(statement)

    def _count_in(self, session: Session) -> int:
        return int(session.rows(f"SELECT count(*) FROM {self.table}")[0][0])


def _check_version(session: Session) -> None:
    """Raises `SetupError` where the database's pgvector lacks half precision or filtered scans of the graph."""
    rows = session.rows("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    version = str(rows[0][0]) if rows else "none"
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST:
        raise SetupError(
            f"The database has pgvector {version}, and {'.'.join(map(str, OLDEST))} or newer is needed.",
            hint="Install a newer one on the database's machine, then run ALTER EXTENSION vector UPDATE in the "
            "database; or set vector_db.store to qdrant.",
        )
