"""A vector store in PostgreSQL, by pgvector: one table per model, half precision, an HNSW index on the cosine.

Few passing chunks are compared one by one. Many are found through the graph, which goes on searching until enough of
what it meets has passed (`hnsw.iterative_scan`), so that a filter doesn't cost recall; where it gives up before, every
passing row is compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import SetupError, Unavailable
from ..models import WINDOWS_PER_CHUNK, Ids, Selection, Vector, Vectors
from ..storage.columns import CODED
from ..storage.postgres.database import Database
from ..storage.postgres.keyword_index import by_chunk
from .base import best_first, checked_batch, checked_question, passes

if TYPE_CHECKING:
    from psycopg import Connection

logger = logging.getLogger(__name__)

OLDEST: Final = (0, 8)  #: pgvector's version that has both `halfvec` (0.7) and `hnsw.iterative_scan`
MOST_CONSIDERED: Final = 1000  #: pgvector's limit of hnsw.ef_search
MOST_MET: Final = 200_000  #: rows that the graph may meet in search of some that pass
ONE_BY_ONE: Final = 10_000  #: chunks that are compared without the graph
_COUNT_CACHED_S: Final = 5.0
_TIE: Final = 6  # decimals in which cosines must differ
_COLUMNS: Final = ("id", "vector", *CODED, "tags", "modified")
_TYPES: Final = ("int8", "halfvec", *("text" for _ in CODED), "text[]", "int8")
_ROW: Final = 300  # bytes of memory that building the graph takes for a row, beside its vector and links
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


class PgVectorStore:
    """A `VectorStore` in a table that is made where there is none; rows carry what filters name.

    `model` is the fingerprint of the model whose vectors these are. Vectors are kept as `halfvec`: cosines are off by
    less than 0.001.
    """

    name = "pgvector"

    def __init__(
        self,
        database: Database,
        model: str,
        dimension: int,
        *,
        M: int = 16,  # noqa: N803 - pgvector's and the setting's name
        construction_ef: int = 200,
        search_ef: int = 100,
    ) -> None:
        self.dimension = dimension
        self._database = database.join()
        self._closed = False
        self._m, self._construction_ef, self._search_ef = M, max(construction_ef, 2 * M), search_ef
        self._counted = (float("-inf"), 0, 0)  # when, rows, `_writes` then
        self._writes = 0
        self.table = f"vectors_{hashlib.sha256(model.encode()).hexdigest()[:12]}"
        try:
            with database.transaction() as connection:
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (database.lock_key(f"vectors/{model}"),))
                _check_version(connection)
                if connection.execute("SELECT to_regclass(%s)", (self.table,)).fetchone() == (None,):
                    self._create(connection, self.table)
                    self._index(connection, self.table)
                connection.execute(
                    "INSERT INTO vector_tables VALUES (%s, %s) ON CONFLICT DO NOTHING", (model, self.table)
                )
        except BaseException:
            self.close()
            raise

    # -- the protocol ----------------------------------------------------------------------------------------------

    def upsert(self, ids: Ids, vectors: Vectors, payloads: Sequence[Mapping[str, object]] | None = None) -> None:
        """Store rows, replacing those of equal ids, in one transaction; of equal ids within the batch the last."""
        rows = self._rows(ids, vectors, payloads)
        if not rows:
            return
        changed = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
        values = ", ".join(f"%s::{kind}" for kind in _TYPES)
        statement = f"""INSERT INTO {self.table} ({", ".join(_COLUMNS)}) VALUES ({values})
            ON CONFLICT (id) DO UPDATE SET {changed}"""
        with self._writing() as connection:
            connection.cursor().executemany(statement.encode(), rows)

    def load(self, batches: Iterable[tuple[Ids, Vectors, Sequence[Mapping[str, object]]]]) -> int:
        """Fill the store at once, much faster than by `upsert`; returns the rows. An id may come once.

        The rows go to a table of their own, which takes this one's place when its graph is built: readers don't wait.
        Raises `ValueError` where the store isn't empty.
        """
        new, count = f"{self.table}_new", 0
        with self._writing() as connection:
            if self._count_in(connection):
                raise ValueError(f"The table {self.table} isn't empty; use `upsert`.")
            connection.execute(f"DROP TABLE IF EXISTS {new}".encode())
            self._create(connection, new)
            into = f"COPY {new} ({', '.join(_COLUMNS)}) FROM STDIN (FORMAT BINARY)"
            with connection.cursor().copy(into.encode()) as copy:
                copy.set_types(_TYPES)
                for batch in batches:
                    for row in self._rows(*batch):
                        copy.write_row(row)
                        count += 1
            self._index(connection, new, count)
            connection.execute(f"DROP TABLE {self.table}".encode())
            connection.execute(f"ALTER TABLE {new} RENAME TO {self.table}".encode())
            for index in ("near", "product"):
                connection.execute(f"ALTER INDEX {new}_{index} RENAME TO {self.table}_{index}".encode())
            connection.execute(f"ANALYZE {self.table}".encode())
        return count

    def delete(self, ids: Ids) -> None:
        doomed = np.unique(np.asarray(ids, dtype=np.int64)).tolist()
        with self._writing() as connection:
            connection.execute(f"DELETE FROM {self.table} WHERE id = ANY(%s)".encode(), (doomed,))

    def search(self, vector: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        from pgvector import HalfVector

        question = checked_question(vector, self.dimension)
        mask = selection.mask
        if limit < 1 or (mask is not None and not mask.any()):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        given: dict[str, object] = {"question": HalfVector(question), "limit": limit}
        with self._reading() as connection:
            if mask is not None and np.count_nonzero(mask) <= ONE_BY_ONE:
                given["chunks"] = np.flatnonzero(mask).tolist()
                rows = connection.execute(_ONE_BY_ONE.format(table=self.table).encode(), given).fetchall()
            else:
                values = selection.complete and bool(selection.allowed or selection.modified)
                condition, chosen = _by_value(selection) if values else by_chunk(selection, _CHUNK)
                rows = self._near(connection, condition, {**given, **chosen}, limit)
        ids = np.array([row[0] for row in rows], dtype=np.int64)
        # a row of zeros has no direction, and so no distance
        distances = np.nan_to_num(np.array([row[1] for row in rows], dtype=np.float64), nan=1.0)
        keep = passes(selection, ids)
        return best_first(ids[keep], np.round(1 - distances[keep], _TIE).astype(np.float32), limit)

    def count(self) -> int:
        """Rows stored; what other servers wrote is noticed after five seconds."""
        self._check_open()
        at, counted, writes = self._counted
        if counted and writes == self._writes and time.monotonic() - at < _COUNT_CACHED_S:
            return counted
        writes = self._writes
        with self._reading() as connection:
            counted = self._count_in(connection)
        self._counted = (time.monotonic(), counted, writes)
        return counted

    def ids(self) -> Ids:
        with self._reading() as connection:
            rows = connection.execute(f"SELECT id FROM {self.table} ORDER BY id".encode()).fetchall()
        return np.array([row[0] for row in rows], dtype=np.int64)

    def clear(self) -> None:
        """Drop all rows and give their room back."""
        with self._writing() as connection:
            connection.execute(f"TRUNCATE {self.table}".encode())

    def close(self) -> None:
        """Let go of the database."""
        if not self._closed:
            self._closed = True
            self._database.close()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _rows(
        self, ids: Ids, vectors: Vectors, payloads: Sequence[Mapping[str, object]] | None
    ) -> list[tuple[object, ...]]:
        from pgvector import HalfVector

        given = np.asarray(ids, dtype=np.int64)
        payload_of = dict(zip(given.tolist(), payloads, strict=True)) if payloads else {}
        numbers, checked = checked_batch(given, vectors, self.dimension)
        rows: list[tuple[object, ...]] = []
        for number, row in zip(numbers.tolist(), checked, strict=True):
            payload = payload_of.get(number, {})
            tags = payload.get("tags") or ()
            assert isinstance(tags, Sequence)
            coded = (_plain(payload.get(name)) for name in CODED)
            rows.append((number, HalfVector(row), *coded, [_plain(tag) for tag in tags], payload.get("modified")))
        return rows

    def _near(
        self, connection: Connection[Any], condition: str, given: Mapping[str, object], limit: int
    ) -> list[tuple[Any, ...]]:
        connection.execute(
            """SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'strict_order', true),
                      set_config('hnsw.max_scan_tuples', %s, true)""",
            (str(min(MOST_CONSIDERED, max(self._search_ef, limit))), str(MOST_MET)),
        )
        near, every = (text.format(table=self.table, condition=condition).encode() for text in (_NEAR, _ALL))
        rows: list[tuple[Any, ...]] = connection.execute(near, given).fetchall()
        if len(rows) >= limit or len(rows) >= self._count_in(connection):
            return rows
        # fewer than asked for: either no more pass, or the graph gave up on meeting them
        return connection.execute(every, given).fetchall()

    def _create(self, connection: Connection[Any], table: str) -> None:
        connection.execute(
            f"""CREATE TABLE {table} (
                id bigint PRIMARY KEY, vector halfvec({self.dimension}) NOT NULL,
                {", ".join(f"{name} text" for name in CODED)}, tags text[] NOT NULL, modified bigint)""".encode()
        )
        # Vectors don't compress: reading them inline saves a look into another table. Before PostgreSQL 16 only ALTER
        # says so.
        connection.execute(f"ALTER TABLE {table} ALTER COLUMN vector SET STORAGE PLAIN".encode())

    def _index(self, connection: Connection[Any], table: str, rows: int = 0) -> None:
        """Build the graph, with memory for so many rows; by one process where the machine has no shared memory for
        several."""
        from psycopg.errors import DiskFull

        memory = min(max(rows * (2 * self.dimension + 32 * self._m + _ROW), 64 << 20), 2 << 30) >> 10
        connection.execute("SELECT set_config('maintenance_work_mem', %s, true)", (f"{memory}kB",))
        graph = f"""CREATE INDEX {table}_near ON {table} USING hnsw (vector halfvec_cosine_ops)
            WITH (m = {self._m}, ef_construction = {self._construction_ef})""".encode()
        try:
            with connection.transaction():
                connection.execute(graph)
        except DiskFull:
            logger.info("there is too little shared memory to build the vector graph in parallel")
            connection.execute("SELECT set_config('max_parallel_maintenance_workers', '0', true)")
            connection.execute(graph)
        connection.execute(f"CREATE INDEX {table}_product ON {table} (product, component)".encode())

    def _count_in(self, connection: Connection[Any]) -> int:
        row = connection.execute(f"SELECT count(*) FROM {self.table}".encode()).fetchone()
        return 0 if row is None else int(row[0])

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Connection[Any]]:
        self._check_open()
        with self._database.snapshot() as connection:
            yield connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection[Any]]:
        self._check_open()
        self._writes += 1  # a count that began before the commit must not be kept
        try:
            with self._database.transaction() as connection:
                yield connection
        finally:
            self._writes += 1

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("The pgvector store is closed.", hint="Open the library again.")


def _check_version(connection: Connection[Any]) -> None:
    """Raises `SetupError` where the database's pgvector lacks half precision or filtered scans of the graph."""
    row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    version = str(row[0]) if row else "none"
    if row is None or tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST:
        raise SetupError(
            f"The database has pgvector {version}, and {'.'.join(map(str, OLDEST))} or newer is needed.",
            hint="Install a newer one on the database's machine, then run ALTER EXTENSION vector UPDATE in the "
            "database; or set vector_db.store to qdrant.",
        )


def _by_value(selection: Selection) -> tuple[str, Mapping[str, object]]:
    """(condition, its parameters) on the table's own columns, for selections that values alone make."""
    conditions: list[str] = []
    given: dict[str, object] = {}
    for name, values in selection.allowed.items():
        if name not in (*CODED, "tags"):  # nothing else of a selection gets into a statement
            raise ValueError(f"There is no column {name!r}.")
        conditions.append("tags && %(tags)s::text[]" if name == "tags" else f"{name} = ANY(%({name})s::text[])")
        given[name] = list(values)
    if selection.modified is not None:
        conditions.append("modified BETWEEN %(modified_low)s AND %(modified_high)s")
        given |= {"modified_low": selection.modified[0], "modified_high": selection.modified[1]}
    return " AND ".join(conditions) or "true", given


def _plain(value: object) -> str | None:
    """Text as PostgreSQL can hold it: without NUL."""
    return None if value is None else str(value).replace("\0", "\ufffd")
