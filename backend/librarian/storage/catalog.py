"""The truth about text, in one SQLite file: documents, chunks, threads, failures and fingerprints.

One writer at a time (a lock), any number of readers that each see one committed state (write-ahead log). Vectors and
postings are not kept here, only the hashes of the windows that were embedded.
"""

from __future__ import annotations

import logging
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock

from ..errors import Damaged, SetupError, Unavailable
from ..files.owned_folder import claim_index
from ..models import Document, Failure, ReadResult, SourceFile, Stored, StoredChunk
from . import queries, schema
from .columns import LoadedColumns
from .lru_cache import DocumentMemory
from .queries import SqliteCatalogReader
from .rows import (
    KIND_AND_STRUCTURE,
    Inserts,
    chunk_row,
    document_row,
    email_row,
    encodable,
    moved_reference_row,
    text_row,
)
from .schema import connect, explained, gone, inconsistencies, is_gone, open_writer

log = logging.getLogger(__name__)

_LONGEST_LOG = 1000
_IDLE_S = 30.0  #: a connection that nobody reads with for so long is closed: each keeps 2 MB of pages

#: What begins, ends and undoes a transaction, and a part of one: of the same name is undone what began last.
_WHOLE = ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
_PART = ("SAVEPOINT part", "RELEASE part", "ROLLBACK TO part")

_INSERT = Inserts("?")


class SqliteCatalog:
    """`protocols.Catalog` in a SQLite file.

    `shared_products` are the products that every product filter lets through. Opening raises `Damaged` where the file
    can't be read, and `SetupError` where it belongs to another program or to a newer version.
    """

    def __init__(self, path: Path, *, shared_products: Iterable[str] = ()) -> None:
        self._path = path
        self._shared_products = frozenset(shared_products)
        self._writer = open_writer(path)
        self._write_lock = RLock()
        self._memory = DocumentMemory()
        self._idle: list[tuple[sqlite3.Connection, float]] = []  # since when, longest first
        self._closed = False
        self._pool_lock = RLock()
        self._columns: LoadedColumns | None = None
        self._columns_lock = RLock()
        self._columns_at = 0
        self._log: dict[int, frozenset[int]] = {}
        self._embedded_below: dict[str, int] = {}  # first chunk that may be pending
        self._pending_below = False  # whether a transaction makes such before it pending: guarded by the write lock
        self.identity: str = self._identity()
        self._damage = ""
        self.rescued = ""  #: a sentence, where a damaged file was set aside for this one

    @classmethod
    def sound(cls, path: Path, *, shared_products: Iterable[str] = ()) -> SqliteCatalog:
        """The catalog in that file of an index folder; an empty one, to be filled from the documents, where that is
        damaged.

        Raises `SetupError` where the folder is somebody else's or can't be written.
        """
        try:
            claim_index(path.parent)
        except OSError as error:
            raise SetupError(
                f"The index folder {path.parent} can't be used: {error.strerror}.", hint="Make it writable."
            ) from error
        try:
            schema.examine_if_suspect(path)
            return cls(path, shared_products=shared_products)
        except Damaged as error:
            note = schema.set_aside(path, error.message)
        catalog = cls(path, shared_products=shared_products)
        catalog.rescued = note
        return catalog

    # -- reading ---------------------------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[SqliteCatalogReader]:
        """A read transaction: what is committed later stays invisible until it ends."""
        with self._pool_lock:
            if self._closed:
                raise Unavailable(f"The catalog {self._path} is closed.", hint="Open the library again.")
            connection = self._idle.pop()[0] if self._idle else None
        try:
            if connection is None:
                connection = connect(self._path, read_only=True)
            connection.execute("BEGIN")
            yield SqliteCatalogReader(connection, self._shared_products, self._memory)
        except (sqlite3.DatabaseError, zlib.error) as error:
            raise self._explained(error) from error
        finally:
            if connection is not None:
                connection.rollback()
                self._put_by(connection)

    def columns(self) -> LoadedColumns:
        """The columns of what is committed: kept, and brought up to date by what changed since."""
        with self._columns_lock, self.read() as reader:
            changes = int(reader.meta("changes", "0"))
            columns = self._columns
            # The write log says which documents each of the changes since then touched. It lacks those that another
            # process made, and is cut when it grows long: then everything is read anew.
            touched = [self._log.get(number) for number in range(self._columns_at + 1, changes + 1)]
            known = [ids for ids in touched if ids is not None]
            changed = frozenset().union(*known)
            if columns is None or len(known) < len(touched) or len(changed) > _most_changed(columns.documents):
                columns = reader.load_columns()
            elif changed:
                columns = reader.updated_columns(columns, changed)
            elif columns.generation != reader.generation:
                columns = replace(columns, generation=reader.generation)
            self._columns, self._columns_at = columns, changes
            for number in [number for number in list(self._log) if number <= changes]:
                del self._log[number]
            return columns

    # -- writing ---------------------------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[object]:
        """What this thread writes meanwhile becomes visible at its end, at once; none of it where the block fails."""
        return self._writing()

    def put(self, results: Sequence[ReadResult]) -> list[Stored]:
        """Store documents with their chunks in one transaction, replacing what their paths held.

        Returns the ids per result, in order. Ids are never reused. A stored path is no longer a failure. Half of a
        surrogate pair, which UTF-8 can't hold, is stored as U+FFFD.
        """
        try:
            return self._put(results)
        except UnicodeEncodeError:
            log.info("catalog: lone surrogates in a document are stored as U+FFFD")
            return self._put([encodable(result) for result in results])

    def remove(self, file_paths: Sequence[str]) -> tuple[list[int], list[int]]:
        """Drop documents; returns (document ids, chunk ids) dropped. Unknown paths are no error."""
        doc_ids: list[int] = []
        chunk_ids: list[int] = []
        with self._writing() as connection:
            for path in queries.with_members(connection, file_paths):
                documents, chunks = queries.drop(connection, path)
                doc_ids += documents
                chunk_ids += chunks
            self._note(connection, doc_ids)
        return doc_ids, chunk_ids

    def move(self, old: str, new: SourceFile, *, title: str | None = None) -> int | None:
        """Give a document another path (and title) without touching its chunks' ids; returns its id.

        None where `old` is unknown or the new path is already taken.
        """
        with self._writing() as connection:
            held = dict(
                connection.execute(
                    "SELECT file_path, id FROM documents WHERE file_path IN (?, ?)", (old, new.file_path)
                ).fetchall()
            )
            if old not in held or (new.file_path != old and new.file_path in held):
                return None
            doc_id = int(held[old])
            ((kind, structure),) = connection.execute(f"{KIND_AND_STRUCTURE} ?", (doc_id,)).fetchall()
            names, links = moved_reference_row(new, kind, structure)
            connection.execute(
                """UPDATE documents SET file_path = ?, product = ?, component = ?, size = ?, mtime_ns = ?,
                   title = coalesce(?, title), names = ?, links = ? WHERE id = ?""",
                (new.file_path, new.product, new.component, new.size, new.mtime_ns, title, names, links, doc_id),
            )
            connection.execute("DELETE FROM failures WHERE file_path = ?", (new.file_path,))
            self._note(connection, [doc_id])
            self._pending_below = True  # among products all of whose own chunks are embedded
            return doc_id

    def touch(self, file_path: str, size: int, mtime_ns: int) -> None:
        """Remember a new mtime of unchanged content."""
        with self._writing() as connection:
            queries.touch(connection, file_path, size, mtime_ns)

    def withdraw(self, chunk_ids: Sequence[int]) -> None:
        """Drop passages of documents that stay. Unknown ids are no error."""
        with self._writing() as connection:
            self._note(connection, queries.withdraw(connection, chunk_ids))

    def outdate(self, file_paths: Sequence[str]) -> None:
        """Forget the size and time of documents and their archives, or of archives, so that they are read again."""
        with self._writing() as connection:
            queries.outdate(connection, file_paths)

    def put_archive(self, archive: Document) -> None:
        """Remember an archive's size, time and content, after its members were put."""
        with self._writing() as connection:
            queries.put_archive(connection, archive)

    def rethread(self, threads: Mapping[int, str]) -> None:
        """Document id of a mail → its thread, now that more of the conversation is known."""
        with self._writing() as connection:
            queries.rethread(connection, threads)
            self._note(connection, list(threads))

    def known(self) -> dict[str, tuple[int, int, str]]:
        """file_path → (size, mtime_ns, content_hash) of every file; the hash of a failed one is empty."""
        with self.read() as reader:
            return queries.known_mails(reader.connection)

    def set_failures(self, failures: Iterable[Failure], *, replace: bool) -> None:
        """Remember what couldn't be read; with `replace`, instead of all that was remembered before."""
        rows = [(f.file_path, f.kind, f.reason, f.detail, f.size, f.mtime_ns) for f in failures]
        with self._writing() as connection:
            if replace:
                connection.execute("DELETE FROM failures")
            connection.executemany(_INSERT.failure, rows)

    def set_meta(self, key: str, value: str) -> None:
        """Remember a fingerprint or another small fact."""
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def bump(self) -> int:
        """Commit a new generation and return it: one more than any before."""
        with self._writing() as connection:
            row = connection.execute(
                "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation' RETURNING value"
            ).fetchone()
            return int(row[0])

    # -- embedding -------------------------------------------------------------------------------------------------

    def pending(self, model: str, limit: int) -> list[tuple[StoredChunk, str]]:
        """Chunks that lack vectors of `model`, with their embedding prefix, lowest id first."""
        below = self._embedded_below  # others take its place once more is pending than is found here
        with self.read() as reader:
            first = below.get(model, 0)
            found = queries.pending(reader.connection, model, limit, first)
        if found:
            below[model] = found[0][0].chunk_id  # ids only grow: the next call needn't look below
        return found

    def lacking(self, model: str, limit: int) -> list[int]:
        """Ids of such chunks, lowest first."""
        return [stored.chunk_id for stored, _ in self.pending(model, limit)]

    def mark_embedded(self, model: str, windows: Mapping[int, Sequence[str]]) -> None:
        """Chunk id → hashes of its windows, in order. Chunks that are gone meanwhile are passed over."""
        with self._writing() as connection:
            queries.mark(connection, model, windows)

    def windows(self, model: str) -> Iterator[tuple[int, str]]:
        """(window id, window hash) of every embedded chunk, ascending."""
        with self.read() as reader:
            return iter(queries.marked(reader.connection, model))

    def forget(self, model: str) -> None:
        """Drop what is remembered of a model's windows: their chunks are pending again."""
        with self._writing() as connection:
            self._pending_below = True
            queries.forget(connection, model)

    # -- care ------------------------------------------------------------------------------------------------------

    def verify(self) -> list[str]:
        """Sentences about what is inconsistent; empty where all is well. Reads everything."""
        with self.read() as reader:
            return inconsistencies(reader.connection)

    @property
    def damage(self) -> str:
        """What was found damaged since it was opened, in a sentence; a file that is gone is noticed by asking."""
        if not self._damage and is_gone(self._path):
            self._explained(gone(self._path))
        return self._damage

    def close(self) -> None:
        """Close the file; readers that are still open close theirs when they end."""
        with self._pool_lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()
        with self._write_lock:
            self._writer.close()

    # -- connections -----------------------------------------------------------------------------------------------

    def _put_by(self, connection: sqlite3.Connection) -> None:
        """Keep it for the next reader, who takes the one used last; close those that nobody has taken for long."""
        now = time.monotonic()
        with self._pool_lock:
            done = [] if self._closed else [old for old, since in self._idle if now - since > _IDLE_S]
            if self._closed:
                done.append(connection)
            else:
                self._idle = [*self._idle[len(done) :], (connection, now)]
        for old in done:
            self._memory.totals.pop(old, None)
            old.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """The one writer, in a transaction, or in a part of one, that is undone where the block fails."""
        with self._write_lock:
            begin, commit, undo = _PART if self._writer.in_transaction else _WHOLE
            try:
                self._writer.execute(begin)
                yield self._writer
                self._writer.execute(commit)
                if self._pending_below and not self._writer.in_transaction:
                    self._pending_below, self._embedded_below = False, {}
            except BaseException as error:
                if self._writer.in_transaction:
                    self._writer.execute(undo)
                if isinstance(error, sqlite3.DatabaseError):
                    raise self._explained(error) from error
                raise

    def _explained(self, error: Exception) -> Exception:
        told = error if isinstance(error, Damaged) else explained(self._path, error)
        if isinstance(told, Damaged):
            schema.suspect(self._path)
            self._damage = self._damage or str(told)
        return told

    def _identity(self) -> str:
        try:
            row = self._writer.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
            return str(row[0])
        except (sqlite3.DatabaseError, TypeError) as error:
            self._writer.close()
            raise Damaged(f"The catalog {self._path} is damaged: it has lost its identity ({error}).") from error

    def _put(self, results: Sequence[ReadResult]) -> list[Stored]:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        stored: list[Stored] = []
        with self._writing() as connection:
            doc_id, chunk_id = _last_id(connection, "documents"), _last_id(connection, "chunks")
            for result in results:
                document = result.document
                dropped_docs, dropped_chunks = queries.drop(connection, document.file_path)
                doc_id += 1
                first, chunk_id = chunk_id + 1, chunk_id + len(result.chunks)
                connection.execute(_INSERT.document, (doc_id, *document_row(document, len(result.chunks), now)))
                connection.execute(_INSERT.text, text_row(doc_id, document))
                if document.email is not None:
                    connection.execute(_INSERT.email, email_row(doc_id, document.email))
                    queries.put_ids(connection, doc_id, document.email)
                connection.executemany(
                    _INSERT.chunk, (chunk_row(n, doc_id, chunk) for n, chunk in enumerate(result.chunks, start=first))
                )
                connection.execute("DELETE FROM failures WHERE file_path = ?", (document.file_path,))
                stored.append(
                    Stored(doc_id, tuple(range(first, chunk_id + 1)), tuple(dropped_docs), tuple(dropped_chunks))
                )
            self._note(connection, [n for each in stored for n in (each.doc_id, *each.dropped_doc_ids)])
        return stored

    def _note(self, connection: sqlite3.Connection, doc_ids: Sequence[int]) -> None:
        """Count the change in its own transaction, so that a snapshot tells exactly which changes it holds."""
        if not doc_ids:
            return
        row = connection.execute(
            "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'changes' RETURNING value"
        ).fetchone()
        if len(self._log) >= _LONGEST_LOG:
            self._log.clear()
        self._log[int(row[0])] = frozenset(doc_ids)


def _most_changed(documents: int) -> int:
    """Above so many changed documents, reading all columns anew is no slower than bringing them up to date."""
    return 100 + documents // 4


def _last_id(connection: sqlite3.Connection, table: str) -> int:
    """The highest id that was ever given in this table, by now dropped or not."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 0 if row is None else int(row[0])
