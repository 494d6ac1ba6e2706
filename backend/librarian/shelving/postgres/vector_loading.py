"""Filling an empty vector table at once: binary COPY into a table beside it, the graph last, then both change places.

A graph that is built over rows that are all there takes a fraction of what it takes to grow row by row. Searches go on
in the empty table meanwhile, and a kill leaves it as it was.
"""

from __future__ import annotations

import contextlib
import logging
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from librarian.vocabulary.types import Ids, Vectors

from ..columns import CODED
from ..vectors.batch import checked_batch

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
