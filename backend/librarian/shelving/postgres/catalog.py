"""The truth about text in PostgreSQL: `SqliteCatalog`'s twin for libraries that several servers share.

Every server reads; the one that holds the leader lock writes. The database records what a change touched, so that every
server updates its columns instead of reading them again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, Any

from librarian.vocabulary.types import (
    WINDOWS_PER_CHUNK,
    Document,
    Failure,
    ReadResult,
    SourceFile,
    Stored,
    StoredChunk,
    embedding_prefix,
)

from ..catalog_references import KIND_AND_STRUCTURE, moved_reference_row
from ..catalog_rows import (
    CHUNK_COLUMNS,
    Inserts,
    Row,
    chunk_row,
    document_row,
    email_row,
    stored_chunk,
    text_row,
)
from ..characters import without
from ..columns import LoadedColumns
from . import catalog_mails
from .catalog_check import inconsistencies
from .catalog_reader import PostgresCatalogReader
from .database import Database

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

_UNSTORABLE = re.compile("[\ud800-\udfff\0]")  # half surrogates, and what PostgreSQL's texts can't hold
_CHUNK_COLUMNS_OF_C = ", ".join(f"c.{name.strip()}" for name in CHUNK_COLUMNS.split(","))
_LONGEST_LOG = 1000


_INSERT = Inserts("%s")

#: Chunks of %(model)s without windows, from id %(from)s on: for `pending`, and to fill the queue that workers share.
PENDING = """FROM chunks c WHERE c.id >= %(from)s AND NOT EXISTS (
    SELECT 1 FROM windows w JOIN models m ON m.id = w.model_id WHERE w.chunk_id = c.id AND m.fingerprint = %(model)s)"""


class PostgresCatalog:
    """`protocols.Catalog` in a schema of a PostgreSQL database.

    `shared_products` are the products that every product filter lets through.
    """

    def __init__(self, database: Database, *, shared_products: Iterable[str] = ()) -> None:
        self._database = database.join()
        self._shared_products = frozenset(shared_products)
        self._closed = False
        self._columns: LoadedColumns | None = None
        self._columns_lock = RLock()
        self._columns_at = 0
        with self.read() as reader:
            self.identity: str = reader.meta("identity")
        self.damage = ""  # PostgreSQL tells of damage itself, as an error of the query

    # -- reading ---------------------------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[PostgresCatalogReader]:
        """A read transaction: what is committed later stays invisible until it ends."""
        with self._database.snapshot() as connection:
            yield PostgresCatalogReader(connection, self._shared_products)

    def columns(self) -> LoadedColumns:
        """The columns of what is committed: kept, and brought up to date by what any server changed since."""
        with self._columns_lock, self.read() as reader:
            columns = self._columns
            last, touched = reader.changes(self._columns_at)
            if columns is not None and last < self._columns_at:
                return columns  # this thread's snapshot is older than what another has loaded already
            changed = sorted({doc_id for ids in touched for doc_id in ids})
            if columns is None or len(touched) < last - self._columns_at or len(changed) > _most_changed(columns):
                columns = reader.load_columns()
            elif changed:
                columns = reader.updated_columns(columns, changed)
            elif columns.generation != reader.generation:
                columns = replace(columns, generation=reader.generation)
            self._columns, self._columns_at = columns, last
            return columns

    # -- writing ---------------------------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[object]:
        """What this thread writes meanwhile becomes visible at its end, at once; none of it where the block fails.

        So does what it commits to the keyword index in the same database.
        """
        return self._database.transaction()

    def put(self, results: Sequence[ReadResult]) -> list[Stored]:
        """Store documents with their chunks in one transaction, replacing what their paths held.

        Returns the ids per result, in order. Ids are never reused. A stored path is no longer a failure. Half of a
        surrogate pair and NUL, which PostgreSQL can't hold, are stored as U+FFFD.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        stored: list[Stored] = []
        with self._database.transaction() as connection:
            for run in _distinct(without(_UNSTORABLE, result) for result in results):
                stored += _put(connection, run, now)
            _note(connection, [n for each in stored for n in (each.doc_id, *each.dropped_doc_ids)])
        return stored

    def remove(self, file_paths: Sequence[str]) -> tuple[list[int], list[int]]:
        """Drop documents; returns (document ids, chunk ids) dropped. Unknown paths are no error."""
        with self._database.transaction() as connection:
            paths = catalog_mails.with_members(connection, without(_UNSTORABLE, tuple(file_paths)))
            dropped = _drop(connection, paths)
            gone = [dropped[path] for path in paths if path in dropped]
            _note(connection, [doc_id for doc_id, _ in gone])
        return [doc_id for doc_id, _ in gone], [number for _, chunk_ids in gone for number in chunk_ids]

    def move(self, old: str, new: SourceFile, *, title: str | None = None) -> int | None:
        """Give a document another path (and title) without touching its chunks' ids; returns its id.

        None where `old` is unknown or the new path is already taken.
        """
        with self._database.transaction() as connection:
            held: dict[str, int] = dict(
                connection.execute(
                    "SELECT file_path, id FROM documents WHERE file_path IN (%s, %s)", (old, new.file_path)
                ).fetchall()
            )
            if old not in held or (new.file_path != old and new.file_path in held):
                return None
            ((kind, structure),) = connection.execute(f"{KIND_AND_STRUCTURE} %s", (held[old],)).fetchall()
            names, links = moved_reference_row(new, kind, structure)
            connection.execute(
                """UPDATE documents SET file_path = %s, product = %s, component = %s, size = %s, mtime_ns = %s,
                   title = coalesce(%s, title), names = %s, links = %s WHERE id = %s""",
                (new.file_path, new.product, new.component, new.size, new.mtime_ns, title, names, links, held[old]),
            )
            connection.execute("DELETE FROM failures WHERE file_path = %s", (new.file_path,))
            _note(connection, [held[old]])
            return held[old]

    def touch(self, file_path: str, size: int, mtime_ns: int) -> None:
        """Remember a new mtime of unchanged content."""
        with self._database.transaction() as connection:
            catalog_mails.touch(connection, file_path, size, mtime_ns)

    def withdraw(self, chunk_ids: Sequence[int]) -> None:
        """Drop passages of documents that stay. Unknown ids are no error."""
        with self._database.transaction() as connection:
            _note(connection, catalog_mails.withdraw(connection, chunk_ids))

    def outdate(self, file_paths: Sequence[str]) -> None:
        """Forget the size and time of documents and their archives, or of archives, so that they are read again."""
        with self._database.transaction() as connection:
            catalog_mails.outdate(connection, file_paths)

    def put_archive(self, archive: Document) -> None:
        """Remember an archive's size, time and content, after its members were put."""
        with self._database.transaction() as connection:
            catalog_mails.put_archive(connection, without(_UNSTORABLE, archive))

    def rethread(self, threads: Mapping[int, str]) -> None:
        """Document id of a mail → its thread, now that more of the conversation is known."""
        with self._database.transaction() as connection:
            catalog_mails.rethread(connection, threads)
            _note(connection, list(threads))

    def known(self) -> dict[str, tuple[int, int, str]]:
        """file_path → (size, mtime_ns, content_hash) of every document, and of every failed file (hash empty)."""
        with self._database.snapshot() as connection:
            return catalog_mails.known(connection)

    def set_failures(self, failures: Iterable[Failure], *, replace: bool) -> None:
        """Remember what couldn't be read; with `replace`, instead of all that was remembered before."""
        kept = (without(_UNSTORABLE, failure) for failure in failures)
        rows = [(f.file_path, f.kind, f.reason, f.detail, f.size, f.mtime_ns) for f in kept]
        with self._database.transaction() as connection:
            if replace:
                connection.execute("DELETE FROM failures")
            connection.cursor().executemany(_INSERT.failure, rows)

    def set_meta(self, key: str, value: str) -> None:
        """Remember a fingerprint or another small fact."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value)
            )

    def bump(self) -> int:
        """Commit a new generation, tell every server, and return it: one more than any before."""
        with self._database.transaction() as connection:
            row = connection.execute(
                "UPDATE meta SET value = (value::bigint + 1)::text WHERE key = 'generation' RETURNING value"
            ).fetchone()
            assert row is not None
            connection.execute("SELECT pg_notify(%s, %s)", (self._database.channel, row[0]))
            return int(row[0])

    # -- embedding -------------------------------------------------------------------------------------------------

    def pending(self, model: str, limit: int) -> list[tuple[StoredChunk, str]]:
        """Chunks that lack vectors of `model`, with their embedding prefix, lowest id first."""
        with self._database.snapshot() as connection:
            return _with_prefixes(connection, self.lacking(model, limit))

    def lacking(self, model: str, limit: int) -> list[int]:
        """Ids of such chunks, lowest first."""
        with self._database.snapshot() as connection:
            ids = connection.execute(
                f"SELECT c.id {PENDING} ORDER BY c.id LIMIT %(limit)s",
                {"model": model, "from": 0, "limit": limit},
            ).fetchall()
        return [number for (number,) in ids]

    def mark_embedded(self, model: str, windows: Mapping[int, Sequence[str]]) -> None:
        """Chunk id → hashes of its windows, in order. Chunks that are gone meanwhile are passed over."""
        with self._database.transaction() as connection:
            connection.execute("INSERT INTO models (fingerprint) VALUES (%s) ON CONFLICT DO NOTHING", (model,))
            connection.execute(
                """INSERT INTO windows (chunk_id, model_id, hashes)
                   SELECT given.id, m.id, given.hashes FROM unnest(%s::bigint[], %s::text[]) AS given (id, hashes)
                   JOIN chunks c ON c.id = given.id JOIN models m ON m.fingerprint = %s
                   ORDER BY given.id
                   ON CONFLICT (chunk_id, model_id) DO UPDATE SET hashes = excluded.hashes""",
                (list(windows), [" ".join(hashes) for hashes in windows.values()], model),
            )

    def windows(self, model: str) -> Iterator[tuple[int, str]]:
        """(window id, window hash) of every embedded chunk, ascending."""
        with self._database.snapshot() as connection:
            rows = connection.execute(
                """SELECT w.chunk_id, w.hashes FROM windows w JOIN models m ON m.id = w.model_id
                   WHERE m.fingerprint = %s ORDER BY w.chunk_id""",
                (model,),
            ).fetchall()
        for chunk_id, hashes in rows:
            for ordinal, digest in enumerate(hashes.split()):
                yield chunk_id * WINDOWS_PER_CHUNK + ordinal, digest

    def forget(self, model: str) -> None:
        """Drop what is remembered of a model's windows: their chunks are pending again."""
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM windows WHERE model_id IN (SELECT id FROM models WHERE fingerprint = %s)", (model,)
            )
            connection.execute("DELETE FROM models WHERE fingerprint = %s", (model,))

    # -- care ------------------------------------------------------------------------------------------------------

    def verify(self) -> list[str]:
        """Sentences about what is inconsistent; empty where all is well. Reads everything."""
        with self._database.snapshot() as connection:
            return inconsistencies(connection)

    def close(self) -> None:
        """Let go of the database."""
        if not self._closed:
            self._closed = True
            self._database.leave()


def _with_prefixes(connection: Connection[Any], chunk_ids: Sequence[int]) -> list[tuple[StoredChunk, str]]:
    """Chunks with their embedding prefix, lowest id first; those that are gone are missing."""
    rows = connection.execute(
        f"""SELECT c.id, {_CHUNK_COLUMNS_OF_C}, d.title, d.title_in_text FROM chunks c
            JOIN documents d ON d.id = c.doc_id WHERE c.id = ANY(%s) ORDER BY c.id""",
        (list(chunk_ids),),
    ).fetchall()
    found = []
    for *row, title, title_in_text in rows:
        chunk = stored_chunk(tuple(row))
        document = Document("", "", "", "document", "", title, "", title_in_text=title_in_text)
        found.append((chunk, embedding_prefix(document, chunk.chunk.heading_path)))
    return found


def _most_changed(columns: LoadedColumns) -> int:
    """Above so many changed documents, reading all columns anew is no slower than bringing them up to date."""
    return 100 + columns.documents // 4


def _distinct(results: Iterable[ReadResult]) -> Iterator[list[ReadResult]]:
    """Runs in which no path comes twice: of one that does, the last is what stays."""
    run: dict[str, ReadResult] = {}
    for result in results:
        if result.document.file_path in run:
            yield list(run.values())
            run = {}
        run[result.document.file_path] = result
    if run:
        yield list(run.values())


def _put(connection: Connection[Any], results: Sequence[ReadResult], now: str) -> list[Stored]:
    """Store documents of different paths. Statements are for all of them at once: each costs a round trip."""
    paths = [result.document.file_path for result in results]
    dropped = _drop(connection, paths)
    doc_ids = _new_ids(connection, "documents", len(results))
    chunk_ids = iter(_new_ids(connection, "chunks", sum(len(result.chunks) for result in results)))
    stored: list[Stored] = []
    rows: dict[str, list[Row]] = {_INSERT.document: [], _INSERT.text: [], _INSERT.email: [], _INSERT.chunk: []}
    for doc_id, result in zip(doc_ids, results, strict=True):
        document = result.document
        rows[_INSERT.document].append((doc_id, *document_row(document, len(result.chunks), now)))
        rows[_INSERT.text].append(text_row(doc_id, document))
        if document.email is not None:
            rows[_INSERT.email].append(email_row(doc_id, document.email))
        given = tuple(islice(chunk_ids, len(result.chunks)))
        rows[_INSERT.chunk] += [
            chunk_row(number, doc_id, chunk) for number, chunk in zip(given, result.chunks, strict=True)
        ]
        gone = dropped.get(document.file_path)
        stored.append(Stored(doc_id, given, (gone[0],) if gone else (), tuple(gone[1]) if gone else ()))
    for statement, given_rows in rows.items():
        if given_rows:
            connection.cursor().executemany(statement, given_rows)
    mails = {doc_id: email for doc_id, result in zip(doc_ids, results, strict=True) if (email := result.document.email)}
    catalog_mails.put_ids(connection, mails)
    connection.execute("DELETE FROM failures WHERE file_path = ANY(%s)", (paths,))
    return stored


def _new_ids(connection: Connection[Any], table: str, count: int) -> list[int]:
    """Numbers that were never given in this table and never will be again, ascending."""
    rows = connection.execute(
        "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", (table, count)
    ).fetchall()
    return sorted(int(number) for (number,) in rows)


def _drop(connection: Connection[Any], file_paths: Sequence[str]) -> dict[str, tuple[int, list[int]]]:
    """Delete documents; returns path → (document's id, its chunks' ids in their order) of those that were there."""
    rows = connection.execute(
        """SELECT d.file_path, d.id, ARRAY(SELECT c.id FROM chunks c WHERE c.doc_id = d.id ORDER BY c.ordinal)
           FROM documents d WHERE d.file_path = ANY(%s)""",
        (list(file_paths),),
    ).fetchall()
    if rows:
        connection.execute("DELETE FROM documents WHERE id = ANY(%s)", ([doc_id for _, doc_id, _ in rows],))
    return {path: (doc_id, chunk_ids) for path, doc_id, chunk_ids in rows}


def _note(connection: Connection[Any], doc_ids: Sequence[int]) -> None:
    """Count the change in its own transaction, so that a snapshot tells exactly which changes it holds."""
    if not doc_ids:
        return
    connection.execute(
        """WITH counted AS (
               UPDATE meta SET value = (value::bigint + 1)::text WHERE key = 'changes'
               RETURNING value::bigint AS number),
           forgotten AS (DELETE FROM changes WHERE number <= (SELECT number FROM counted) - %s)
           INSERT INTO changes SELECT number, %s FROM counted""",
        (_LONGEST_LOG, list(doc_ids)),
    )
