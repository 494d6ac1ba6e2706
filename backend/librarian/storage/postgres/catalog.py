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
from functools import cache
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, Any

from ...models import (
    OUTDATED,
    WINDOWS_PER_CHUNK,
    Document,
    Email,
    Failure,
    ReadResult,
    SourceFile,
    Stored,
    StoredChunk,
    embedding_prefix,
)
from ...text.characters import without
from ..columns import LoadedColumns
from ..queries import CatalogQueries
from ..rows import (
    CHUNK_COLUMNS,
    KIND_AND_STRUCTURE,
    UNFINISHED,
    Inserts,
    Row,
    chunk_row,
    document_row,
    email_row,
    moved_reference_row,
    stored_chunk,
    text_row,
    unpack_text,
)
from .database import Database

if TYPE_CHECKING:
    from psycopg import Connection

_MOST = 20  #: sentences per kind of trouble


def inconsistencies(connection: Connection[Any]) -> list[str]:
    """Sentences, empty where all is well: chunk counts, lost texts, chunks against their text."""
    found = []
    for path, said, held in connection.execute(
        """SELECT d.file_path, d.chunk_count, count(c.id) FROM documents d LEFT JOIN chunks c ON c.doc_id = d.id
           GROUP BY d.id HAVING d.chunk_count <> count(c.id) ORDER BY d.file_path LIMIT %s""",
        (_MOST,),
    ):
        found.append(f"{path} should have {said} chunks and has {held}.")
    for (path,) in connection.execute(
        """SELECT file_path FROM documents d WHERE NOT EXISTS (SELECT 1 FROM texts t WHERE t.doc_id = d.id)
           ORDER BY file_path LIMIT %s""",
        (_MOST,),
    ):
        found.append(f"{path} has lost its text.")
    return found + _moved_passages(connection)


def _moved_passages(connection: Connection[Any]) -> list[str]:
    found: list[str] = []
    for (doc_id,) in connection.execute("SELECT id FROM documents ORDER BY id").fetchall():
        row = connection.execute(
            "SELECT d.file_path, t.text FROM documents d JOIN texts t ON t.doc_id = d.id WHERE d.id = %s", (doc_id,)
        ).fetchone()
        if row is None:
            continue
        text = unpack_text(row[1])
        for ordinal, start, end, passage in connection.execute(
            'SELECT ordinal, start, "end", text FROM chunks WHERE doc_id = %s', (doc_id,)
        ):
            if text[start:end] != passage:
                found.append(f"Chunk {ordinal} of {row[0]} is not the text at {start}–{end}.")
                if len(found) == _MOST:
                    return found
    return found


_MEMBERS = "SELECT file_path, content_hash FROM documents WHERE archive <> '' AND archive = %s"


def put_ids(connection: Connection[Any], mails: Mapping[int, Email]) -> None:
    """Remember every Message-ID that mails, given by document id, have or name."""
    rows = [
        (name, doc_id)
        for doc_id, email in mails.items()
        for name in sorted({email.message_id, *email.references, *email.in_reply_to} - {""})
    ]
    if rows:
        connection.cursor().executemany("INSERT INTO mail_ids VALUES (%s, %s)", rows)


def rethread(connection: Connection[Any], threads: Mapping[int, str]) -> None:
    """Move mails to other threads."""
    connection.cursor().executemany(
        "UPDATE emails SET thread_id = %s WHERE doc_id = %s", [(name, doc_id) for doc_id, name in threads.items()]
    )


def put_archive(connection: Connection[Any], archive: Document) -> None:
    """What the file of many mails looked like, and its members with it; it is no failure any more."""
    connection.execute(
        """INSERT INTO archives VALUES (%s, %s, %s, %s) ON CONFLICT (file_path) DO UPDATE
           SET size = excluded.size, mtime_ns = excluded.mtime_ns, content_hash = excluded.content_hash""",
        (archive.file_path, archive.size, archive.mtime_ns, archive.content_hash),
    )
    connection.execute("DELETE FROM failures WHERE file_path = %s", (archive.file_path,))
    touch(connection, archive.file_path, archive.size, archive.mtime_ns)


def touch(connection: Connection[Any], file_path: str, size: int, mtime_ns: int) -> None:
    """Remember another size and time of a file, for all documents that it holds."""
    connection.execute(
        "UPDATE documents SET size = %s, mtime_ns = %s WHERE file_path = %s OR (archive <> '' AND archive = %s)",
        (size, mtime_ns, file_path, file_path),
    )
    connection.execute("UPDATE archives SET size = %s, mtime_ns = %s WHERE file_path = %s", (size, mtime_ns, file_path))


def withdraw(connection: Connection[Any], chunk_ids: Iterable[int]) -> list[int]:
    """Drop passages, not their documents; the ids of those."""
    given = (list(chunk_ids),)
    counts = connection.execute(
        "SELECT count(*), doc_id FROM chunks WHERE id = ANY(%s) GROUP BY doc_id", given
    ).fetchall()
    connection.execute("DELETE FROM chunks WHERE id = ANY(%s)", given)
    connection.cursor().executemany("UPDATE documents SET chunk_count = chunk_count - %s WHERE id = %s", counts)
    return [doc_id for _, doc_id in counts]


def outdate(connection: Connection[Any], file_paths: Iterable[str]) -> None:
    """Forget the size and time of documents, of the archives that hold them, and of archives."""
    for path in file_paths:
        connection.execute(
            "UPDATE documents SET size = %s, mtime_ns = %s WHERE file_path = %s", (OUTDATED, OUTDATED, path)
        )
        connection.execute(
            """UPDATE archives SET size = %s, mtime_ns = %s
               WHERE file_path IN (%s, (SELECT archive FROM documents WHERE file_path = %s))""",
            (OUTDATED, OUTDATED, path, path),
        )


def with_members(connection: Connection[Any], file_paths: Sequence[str]) -> list[str]:
    """The paths, then the members of those that are archives, which are forgotten."""
    connection.execute("DELETE FROM archives WHERE file_path = ANY(%s)", (list(file_paths),))
    members = connection.execute(
        "SELECT file_path FROM documents WHERE archive <> '' AND archive = ANY(%s) ORDER BY id", (list(file_paths),)
    ).fetchall()
    return list(dict.fromkeys([*file_paths, *(path for (path,) in members)]))


def known(connection: Connection[Any]) -> dict[str, tuple[int, int, str]]:
    """file_path → (size, mtime_ns, content_hash) of every file; the hash of a failed one is empty."""
    rows = connection.execute(
        f"""SELECT file_path, size, mtime_ns, '' FROM failures WHERE kind = 'failed'
           UNION ALL SELECT DISTINCT archive, -1, -1, '{UNFINISHED}' FROM documents WHERE archive <> ''
           UNION ALL SELECT file_path, size, mtime_ns, content_hash FROM archives
           UNION ALL SELECT file_path, size, mtime_ns, content_hash FROM documents WHERE archive = ''"""
    ).fetchall()
    # A whole archive is worth more than the trace of one whose members were put, and that more than a failure.
    best: dict[str, tuple[int, int, str]] = {}
    for path, size, mtime_ns, digest in sorted(rows, key=lambda row: (bool(row[3]), row[3] != "?")):
        best[path] = (size, mtime_ns, digest)
    return best


class PostgresCatalogReader(CatalogQueries):
    """`protocols.CatalogReader` over a connection that is in a repeatable-read transaction."""

    def __init__(self, connection: Connection[Any], shared_products: frozenset[str]) -> None:
        self._connection = connection
        super().__init__(shared_products)

    def _embedded(self) -> tuple[int, dict[str, int]]:
        embedded: dict[str, int] = dict(
            self._rows(
                """SELECT m.fingerprint, count(*) FROM windows w JOIN models m ON m.id = w.model_id
                   GROUP BY m.fingerprint"""
            )
        )
        if len(embedded) > 1:
            return self._rows("SELECT count(DISTINCT chunk_id) FROM windows")[0][0], embedded
        return sum(embedded.values()), embedded

    def _rows(self, statement: str, *values: object) -> list[Any]:
        return self._connection.execute(_in_postgres(statement), [_storable(value) for value in values]).fetchall()

    def changes(self, after: int) -> tuple[int, list[list[int]]]:
        """(number of the last change, documents that each change after `after` touched, as far as it is known)."""
        rows = self._connection.execute("SELECT doc_ids FROM changes WHERE number > %s ORDER BY number", (after,))
        return int(self.meta("changes", "0")), [row[0] for row in rows]


@cache
def _in_postgres(statement: str) -> str:
    return statement.replace("AMONG ?", "= ANY(%s)").replace("?", "%s")


def _storable(value: object) -> object:
    """The value as it is stored: PostgreSQL's texts hold no zero bytes."""
    if isinstance(value, list):
        return [_storable(one) for one in value]
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


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
            paths = with_members(connection, without(_UNSTORABLE, tuple(file_paths)))
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
            touch(connection, file_path, size, mtime_ns)

    def withdraw(self, chunk_ids: Sequence[int]) -> None:
        """Drop passages of documents that stay. Unknown ids are no error."""
        with self._database.transaction() as connection:
            _note(connection, withdraw(connection, chunk_ids))

    def outdate(self, file_paths: Sequence[str]) -> None:
        """Forget the size and time of documents and their archives, or of archives, so that they are read again."""
        with self._database.transaction() as connection:
            outdate(connection, file_paths)

    def put_archive(self, archive: Document) -> None:
        """Remember an archive's size, time and content, after its members were put."""
        with self._database.transaction() as connection:
            put_archive(connection, without(_UNSTORABLE, archive))

    def rethread(self, threads: Mapping[int, str]) -> None:
        """Document id of a mail → its thread, now that more of the conversation is known."""
        with self._database.transaction() as connection:
            rethread(connection, threads)
            _note(connection, list(threads))

    def known(self) -> dict[str, tuple[int, int, str]]:
        """file_path → (size, mtime_ns, content_hash) of every document, and of every failed file (hash empty)."""
        with self._database.snapshot() as connection:
            return known(connection)

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
    put_ids(connection, mails)
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
