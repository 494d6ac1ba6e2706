"""A vector store in PostgreSQL, by pgvector: one table per model, half precision, an HNSW index on the cosine.

Few passing chunks are compared one by one. Many are found through the graph, which goes on searching until enough of
what it meets has passed (`hnsw.iterative_scan`), so that a filter doesn't cost recall; where it gives up before, every
passing row is compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import re
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import SetupError, Unavailable
from ..models import WINDOWS_PER_CHUNK, Ids, Selection, Vector, Vectors
from ..storage.columns import CODED
from ..storage.postgres.database import Database
from ..storage.postgres.keyword_index import by_chunk, by_value
from .batches import best_first, checked_batch, checked_question, passes

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

logger = logging.getLogger(__name__)

Batch = tuple[Ids, Vectors, Sequence[Mapping[str, object]]]

_COLUMNS: Final = ("id", "vector", *CODED, "tags", "modified")
_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_TRAILER: Final = struct.pack(">h", -1)
_NULL: Final = struct.pack(">i", -1)
_TEXT_OID: Final = 25
#: What building a graph may take: pgvector keeps rows and links in memory while they fit, and is slow beyond.
_LINK, _ELEMENT = 16, 300  # bytes of a link (each row has 2 × M in the lowest layer), and of what else a row takes
_LEAST_MEMORY, _MOST_MEMORY = 64 << 20, 2 << 30


def load(
    connection: Connection[Any],
    batches: Iterable[Batch],
    *,
    dimension: int,
    M: int,  # noqa: N803 - pgvector's name
    create: Mapping[str, Composed],
    names: Mapping[str, str],
) -> int:
    """Fill the table `names["table"]`, which is empty, within the connection's transaction; returns the rows.

    `create` holds the statements that make the table beside it (`table`), the graph (`by_vector`) and the index on
    products (`by_product`); `names` the names that all three have at the end. An id may come once.
    """
    from psycopg import sql

    beside = {kind: f"{name}_new" for kind, name in names.items()}
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(beside["table"])))
    connection.execute(create["table"])
    columns = sql.SQL(", ").join(map(sql.Identifier, _COLUMNS))
    into = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(beside["table"]), columns)
    rows = 0
    with connection.cursor().copy(into) as copy:
        copy.write(_HEADER)
        for ids, vectors, payloads in batches:
            of = dict(zip(np.asarray(ids).tolist(), payloads, strict=True))
            numbers, checked = checked_batch(ids, vectors, dimension)
            copy.write(b"".join(_packed(numbers, checked, [of[number] for number in numbers.tolist()])))
            rows += numbers.size
        copy.write(_TRAILER)
    _build(connection, create["by_vector"], rows * (2 * dimension + _LINK * 2 * M + _ELEMENT))
    connection.execute(create["by_product"])
    connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(names["table"])))
    for kind in names:
        what = sql.SQL("TABLE" if kind == "table" else "INDEX")
        rename = sql.SQL("ALTER {} {} RENAME TO {}")
        connection.execute(rename.format(what, sql.Identifier(beside[kind]), sql.Identifier(names[kind])))
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(names["table"])))
    return rows


def _build(connection: Connection[Any], statement: Composed, expected: int) -> None:
    """Make the graph with enough memory; by one process alone where the machine has no shared memory for several."""
    from psycopg.errors import DiskFull

    memory = min(max(expected, _LEAST_MEMORY), _MOST_MEMORY) >> 10
    connection.execute("SELECT set_config('maintenance_work_mem', %s, true)", (f"{memory}kB",))
    with contextlib.suppress(DiskFull), connection.transaction():
        connection.execute(statement)
        return
    logger.info("there is too little shared memory to build the vector graph in parallel")
    connection.execute("SELECT set_config('max_parallel_maintenance_workers', '0', true)")
    connection.execute(statement)


def _packed(ids: Ids, vectors: Vectors, payloads: Sequence[Mapping[str, object]]) -> Iterator[bytes]:
    """Rows in the format of binary COPY: the number of columns, then each value with its length before it."""
    halves = vectors.astype(">f2")
    dimension = vectors.shape[1]
    head, vector_head = struct.Struct(">hiq"), struct.pack(">ihh", 4 + 2 * dimension, dimension, 0)
    for number, row, payload in zip(ids.tolist(), halves, payloads, strict=True):
        yield head.pack(len(_COLUMNS), 8, number)
        yield vector_head
        yield row.tobytes()
        for name in CODED:
            yield _text(payload.get(name))
        yield _array(payload.get("tags") or ())
        modified = payload.get("modified")
        yield _NULL if modified is None else struct.pack(">iq", 8, modified)


def _text(value: object) -> bytes:
    if value is None:
        return _NULL
    data = plain(value).encode()
    return struct.pack(">i", len(data)) + data


def _array(values: object) -> bytes:
    """A `text[]`: dimensions, whether it holds NULLs, the elements' type; then size, lower bound and the elements."""
    assert isinstance(values, Sequence)
    elements = b"".join(map(_text, values))
    shape = struct.pack(">ii", len(values), 1) if values else b""
    data = struct.pack(">iii", 1 if values else 0, 0, _TEXT_OID) + shape + elements
    return struct.pack(">i", len(data)) + data


def plain(value: object) -> str:
    """Text as PostgreSQL can hold it: without NUL."""
    return str(value).replace("\0", "\ufffd")


OLDEST: Final = (0, 8)  #: pgvector's version that has both `halfvec` (0.7) and `hnsw.iterative_scan`
MOST_CONSIDERED: Final = 1000  #: pgvector's limit of hnsw.ef_search
MOST_MET: Final = 200_000  #: rows that the graph may meet in search of some that pass
ONE_BY_ONE: Final = 10_000  #: chunks that are compared without the graph
_BATCH: Final = 1000
_COUNT_KEPT_S: Final = 5.0
_TIE: Final = 6  # decimals in which cosines must differ


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
        from psycopg import sql

        self.dimension = dimension
        self._database = database.join()
        self._closed = False
        self._search_ef = search_ef
        self._counting = Lock()  # guards what follows: a count that a write has overtaken must not be kept
        self._counted = (float("-inf"), 0)
        self._writes = self._writers = 0
        self._table = f"vectors_{hashlib.sha256(model.encode()).hexdigest()[:12]}"
        self._names = {kind: f"{self._table}{end}" for kind, end in _ENDS.items()}
        self._numbers = {"dimension": dimension, "m": M, "ef": max(construction_ef, 2 * M)}
        self._sql = sql
        try:
            with database.transaction() as connection:
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (database.lock_key(f"vectors/{model}"),))
                _check_version(connection)
                for statement in self._create().values():
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO vector_tables VALUES (%s, %s) ON CONFLICT DO NOTHING", (model, self._table)
                )
        except BaseException:
            self.close()
            raise

    # -- the protocol ----------------------------------------------------------------------------------------------

    def upsert(self, ids: Ids, vectors: Vectors, payloads: Sequence[Mapping[str, object]] | None = None) -> None:
        """Store rows, replacing those of equal ids, in one transaction; of equal ids within the batch the last."""
        given = np.asarray(ids, dtype=np.int64)
        of = dict(zip(given.tolist(), payloads, strict=True)) if payloads is not None else {}
        ids, vectors = checked_batch(given, vectors, self.dimension)
        if not ids.size:
            return
        statement = self._of(_UPSERT)
        with self._writing() as connection:
            for start in range(0, ids.size, _BATCH):
                numbers = ids[start : start + _BATCH].tolist()
                rows = [of.get(number, {}) for number in numbers]
                connection.execute(
                    statement,
                    {
                        "ids": numbers,
                        "vectors": [json.dumps(row) for row in vectors[start : start + _BATCH].tolist()],
                        "tags": [json.dumps(row.get("tags", [])).replace("\\u0000", "") for row in rows],
                        "modified": [row.get("modified") for row in rows],
                        **{name: [_plain(row.get(name)) for row in rows] for name in CODED},
                    },
                )

    def load(self, batches: Iterable[tuple[Ids, Vectors, Sequence[Mapping[str, object]]]]) -> int:
        """Fill the store at once, much faster than by `upsert`; returns the rows. An id may come once.

        Raises `ValueError` where the store isn't empty.
        """
        with self._writing() as connection:
            if self._count_in(connection):
                raise ValueError(f"The table {self._table} isn't empty; use `upsert`.")
            return load(
                connection,
                batches,
                dimension=self.dimension,
                M=self._numbers["m"],
                create=self._create("_new"),
                names=self._names,
            )

    def delete(self, ids: Ids) -> None:
        """Forget rows; unknown ids are fine."""
        doomed = np.unique(np.asarray(ids, dtype=np.int64)).tolist()
        with self._writing() as connection:
            connection.execute(self._of("DELETE FROM {table} WHERE id = ANY(%s)"), (doomed,))

    def search(self, vector: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        """Window ids and cosines, best first, ties by id, of windows whose chunk passes."""
        question = checked_question(vector, self.dimension)
        mask = selection.mask
        if limit < 1 or (mask is not None and not mask.any()):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        given: dict[str, object] = {"question": json.dumps(question.tolist()), "limit": limit}
        with self._reading() as connection:
            if mask is not None and np.count_nonzero(mask) <= ONE_BY_ONE:
                given["chunks"] = np.flatnonzero(mask).tolist()
                rows = connection.execute(self._of(_ONE_BY_ONE), given).fetchall()
            else:
                values = selection.complete and bool(selection.allowed or selection.modified)
                condition, chosen = by_value(selection) if values else by_chunk(selection, _CHUNK)
                rows = self._near(connection, condition, {**given, **chosen}, limit)
        ids = np.array([row[0] for row in rows], dtype=np.int64)
        cosines = np.array([_cosine(row[1]) for row in rows], dtype=np.float64)
        keep = passes(selection, ids)
        return best_first(ids[keep], np.round(cosines[keep], _TIE).astype(np.float32), limit)

    def count(self) -> int:
        """Rows stored; what other servers wrote is noticed after five seconds."""
        self._check_open()
        with self._counting:
            at, counted = self._counted
            writes, quiet = self._writes, not self._writers
        if counted and time.monotonic() - at < _COUNT_KEPT_S:
            return counted
        with self._reading() as connection:
            counted = self._count_in(connection)
        with self._counting:
            if quiet and writes == self._writes and not self._writers:
                self._counted = (time.monotonic(), counted)
        return counted

    def _count_in(self, connection: Connection[Any]) -> int:
        """Rows in this connection's snapshot, which may be older than the last write: not to be kept."""
        row = connection.execute(self._of("SELECT count(*) FROM {table}")).fetchone()
        return 0 if row is None else int(row[0])

    def ids(self) -> Ids:
        """Every stored id, ascending."""
        with self._reading() as connection:
            rows = connection.execute(self._of("SELECT id FROM {table} ORDER BY id")).fetchall()
        return np.array([row[0] for row in rows], dtype=np.int64)

    def clear(self) -> None:
        """Drop all rows and give their room back."""
        with self._writing() as connection:
            connection.execute(self._of("TRUNCATE {table}"))

    def close(self) -> None:
        """Let go of the database."""
        if not self._closed:
            self._closed = True
            self._database.leave()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _near(
        self, connection: Connection[Any], condition: str, given: Mapping[str, object], limit: int
    ) -> list[tuple[Any, ...]]:
        ef = min(MOST_CONSIDERED, max(self._search_ef, limit))
        connection.execute(
            """SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'strict_order', true),
                      set_config('hnsw.max_scan_tuples', %s, true)""",
            (str(ef), str(MOST_MET)),
        )
        rows: list[tuple[Any, ...]] = connection.execute(
            self._of(_NEAR, condition), {**given, "limit": limit}
        ).fetchall()
        if len(rows) >= limit or len(rows) >= self._count_in(connection):
            return rows
        # fewer than asked for: either no more pass, or the graph gave up on meeting them
        return connection.execute(self._of(_ALL, condition), given).fetchall()

    def _create(self, end: str = "") -> dict[str, Composed]:
        """The statements that make the table and its indexes, under their names with `end` behind."""
        names = {kind: self._sql.Identifier(name + end) for kind, name in self._names.items()}
        numbers = {name: self._sql.Literal(number) for name, number in self._numbers.items()}
        return {kind: self._sql.SQL(text).format(**names, **numbers) for kind, text in _CREATE.items()}

    def _of(self, statement: str, condition: str = "true") -> Composed:
        return self._sql.SQL(statement).format(
            table=self._sql.Identifier(self._table), condition=self._sql.SQL(condition)
        )

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Connection[Any]]:
        self._check_open()
        with self._database.snapshot() as connection:
            yield connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection[Any]]:
        self._check_open()
        with self._counting:
            self._writers += 1
        try:
            with self._database.transaction() as connection:
                yield connection
        finally:
            with self._counting:
                self._writers -= 1
                self._writes += 1
                self._counted = (float("-inf"), 0)

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


_CHUNK = f"(id / {WINDOWS_PER_CHUNK})"

_ENDS = {"table": "", "by_vector": "_near", "by_product": "_product"}

_CREATE = {
    # vectors don't compress: reading them inline saves a look into another table. Before PostgreSQL 16 only ALTER says
    # so, which waits for every reader: it is done where the table is made and nowhere else
    "table": """DO $$ BEGIN
        CREATE TABLE {table} (
            id bigint PRIMARY KEY, vector halfvec({dimension}) NOT NULL,
            product text, component text, file_type text, doc_type text, language text, kind text,
            tags text[] NOT NULL, modified bigint);
        ALTER TABLE {table} ALTER COLUMN vector SET STORAGE PLAIN;
        EXCEPTION WHEN duplicate_table THEN NULL;
        END $$""",
    "by_vector": """CREATE INDEX IF NOT EXISTS {by_vector} ON {table}
        USING hnsw (vector halfvec_cosine_ops) WITH (m = {m}, ef_construction = {ef})""",
    "by_product": "CREATE INDEX IF NOT EXISTS {by_product} ON {table} (product, component)",
}

_UPSERT = """
    INSERT INTO {table} (id, vector, product, component, file_type, doc_type, language, kind, tags, modified)
    SELECT given.id, given.vector::halfvec, given.product, given.component, given.file_type, given.doc_type,
        given.language, given.kind, ARRAY(SELECT jsonb_array_elements_text(given.tags::jsonb)), given.modified
    FROM unnest(%(ids)s::bigint[], %(vectors)s::text[], %(product)s::text[], %(component)s::text[],
        %(file_type)s::text[], %(doc_type)s::text[], %(language)s::text[], %(kind)s::text[], %(tags)s::text[],
        %(modified)s::bigint[])
        AS given (id, vector, product, component, file_type, doc_type, language, kind, tags, modified)
    ON CONFLICT (id) DO UPDATE SET vector = excluded.vector, product = excluded.product,
        component = excluded.component, file_type = excluded.file_type, doc_type = excluded.doc_type,
        language = excluded.language, kind = excluded.kind, tags = excluded.tags, modified = excluded.modified"""

_ONE_BY_ONE = f"""
    WITH passing AS MATERIALIZED (
        SELECT v.id, v.vector FROM unnest(%(chunks)s::bigint[]) AS chunk (id) JOIN {{table}} v
        ON v.id BETWEEN chunk.id * {WINDOWS_PER_CHUNK} AND chunk.id * {WINDOWS_PER_CHUNK} + {WINDOWS_PER_CHUNK - 1})
    SELECT id, vector <=> %(question)s::halfvec AS distance FROM passing
    WHERE {{condition}} ORDER BY distance, id LIMIT %(limit)s"""

_NEAR = """
    SELECT id, vector <=> %(question)s::halfvec AS distance FROM {table}
    WHERE {condition} ORDER BY vector <=> %(question)s::halfvec LIMIT %(limit)s"""

_ALL = """
    WITH passing AS MATERIALIZED (SELECT id, vector FROM {table} WHERE {condition})
    SELECT id, vector <=> %(question)s::halfvec AS distance FROM passing ORDER BY distance, id LIMIT %(limit)s"""


def _cosine(distance: float) -> float:
    """A row of zeros has no direction, and so no distance."""
    return 0.0 if distance != distance else 1 - distance


def _plain(value: object) -> str | None:
    return None if value is None else plain(value)
