"""Mails and archives in the catalog's tables: statements, for whoever holds the connection."""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ..models import (
    OUTDATED,
    WINDOWS_PER_CHUNK,
    Count,
    Document,
    Email,
    Failure,
    Filters,
    Included,
    StoredChunk,
    StoredDocument,
    StoredMail,
    embedding_prefix,
)
from .columns import DOCUMENTS, LoadedColumns, columns_of, columns_with
from .lru_cache import DocumentMemory
from .rows import (
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    EMAIL_COLUMNS,
    UNFINISHED,
    Row,
    leaves_out,
    stored_chunk,
    stored_document,
    stored_email,
    stored_included,
    unpack_text,
)

_AMONG = "IN (SELECT value FROM json_each(?))"


def put_ids(connection: sqlite3.Connection, doc_id: int, email: Email) -> None:
    """Remember every Message-ID that a mail has or names."""
    names = {email.message_id, *email.references, *email.in_reply_to} - {""}
    connection.executemany("INSERT INTO mail_ids VALUES (?, ?)", [(name, doc_id) for name in names])


def rethread(connection: sqlite3.Connection, threads: Mapping[int, str]) -> None:
    """Move mails to other threads."""
    connection.executemany(
        "UPDATE emails SET thread_id = ? WHERE doc_id = ?", [(name, doc_id) for doc_id, name in threads.items()]
    )


def put_archive(connection: sqlite3.Connection, archive: Document) -> None:
    """What the file of many mails looked like, and its members with it; it is no failure any more."""
    row = (archive.file_path, archive.size, archive.mtime_ns, archive.content_hash)
    connection.execute("INSERT OR REPLACE INTO archives VALUES (?, ?, ?, ?)", row)
    connection.execute("DELETE FROM failures WHERE file_path = ?", (archive.file_path,))
    touch(connection, archive.file_path, archive.size, archive.mtime_ns)


def touch(connection: sqlite3.Connection, file_path: str, size: int, mtime_ns: int) -> None:
    """Remember another size and time of a file, for all documents that it holds."""
    connection.execute(
        "UPDATE documents SET size = ?, mtime_ns = ? WHERE file_path = ? OR (archive <> '' AND archive = ?)",
        (size, mtime_ns, file_path, file_path),
    )
    connection.execute("UPDATE archives SET size = ?, mtime_ns = ? WHERE file_path = ?", (size, mtime_ns, file_path))


def withdraw(connection: sqlite3.Connection, chunk_ids: Iterable[int]) -> list[int]:
    """Drop passages, not their documents; the ids of those."""
    given = (json.dumps(list(chunk_ids)),)
    counts = connection.execute(
        f"SELECT count(*), doc_id FROM chunks WHERE id {_AMONG} GROUP BY doc_id", given
    ).fetchall()
    connection.execute(f"DELETE FROM chunks WHERE id {_AMONG}", given)
    connection.executemany("UPDATE documents SET chunk_count = chunk_count - ? WHERE id = ?", counts)
    return [doc_id for _, doc_id in counts]


def outdate(connection: sqlite3.Connection, file_paths: Iterable[str]) -> None:
    """Forget the size and time of documents, of the archives that hold them, and of archives."""
    for path in file_paths:
        connection.execute(
            "UPDATE documents SET size = ?, mtime_ns = ? WHERE file_path = ?", (OUTDATED, OUTDATED, path)
        )
        connection.execute(
            """UPDATE archives SET size = ?, mtime_ns = ?
               WHERE file_path IN (?, (SELECT archive FROM documents WHERE file_path = ?))""",
            (OUTDATED, OUTDATED, path, path),
        )


def with_members(connection: sqlite3.Connection, file_paths: Sequence[str]) -> Iterator[str]:
    """Each path, and the members of each that is an archive, which is forgotten."""
    for path in file_paths:
        connection.execute("DELETE FROM archives WHERE file_path = ?", (path,))
        yield path
        yield from [row[0] for row in connection.execute(f"{_MEMBERS} ORDER BY id", (path,))]


_MEMBERS = "SELECT file_path, content_hash FROM documents WHERE archive <> '' AND archive = ?"


def drop(connection: sqlite3.Connection, file_path: str) -> tuple[list[int], list[int]]:
    """Drop the document of exactly that path; (document ids, chunk ids) dropped."""
    row = connection.execute("SELECT id FROM documents WHERE file_path = ?", (file_path,)).fetchone()
    if row is None:
        return [], []
    chunks = connection.execute("SELECT id FROM chunks WHERE doc_id = ? ORDER BY ordinal", row).fetchall()
    connection.execute("DELETE FROM documents WHERE id = ?", row)
    return [row[0]], [chunk_id for (chunk_id,) in chunks]


def known_mails(connection: sqlite3.Connection) -> dict[str, tuple[int, int, str]]:
    """file_path → (size, mtime_ns, content_hash) of every file; the hash of a failed one is empty."""
    rows = connection.execute(
        f"""SELECT file_path, size, mtime_ns, '' FROM failures WHERE kind = 'failed'
           UNION ALL SELECT DISTINCT archive, -1, -1, '{UNFINISHED}' FROM documents WHERE archive <> ''
           UNION ALL SELECT file_path, size, mtime_ns, content_hash FROM archives
           UNION ALL SELECT file_path, size, mtime_ns, content_hash FROM documents WHERE archive = ''"""
    )
    # Later rows win: an archive whose members were put, but not yet itself, is there to be read again.
    return {path: (size, mtime_ns, digest) for path, size, mtime_ns, digest in rows}


_COLUMNS = ", ".join(f"c.{column.strip()}" for column in CHUNK_COLUMNS.split(","))
_MODEL = "(SELECT id FROM models WHERE fingerprint = ?)"


def pending(connection: sqlite3.Connection, model: str, limit: int, first: int) -> list[tuple[StoredChunk, str]]:
    """Chunks from id `first` on that lack vectors of `model`, with their embedding prefix, lowest id first."""
    rows = connection.execute(
        f"""SELECT c.id, {_COLUMNS}, d.title, d.title_in_text FROM chunks c JOIN documents d ON d.id = c.doc_id
            WHERE c.id >= ?
            AND NOT EXISTS (SELECT 1 FROM windows w WHERE w.chunk_id = c.id AND w.model_id = {_MODEL})
            ORDER BY c.id LIMIT ?""",
        (first, model, limit),
    ).fetchall()
    found = []
    for *row, title, title_in_text in rows:
        stored = stored_chunk(tuple(row))
        titled = Document("", "", "", "document", "", title, "", title_in_text=bool(title_in_text))
        found.append((stored, embedding_prefix(titled, stored.chunk.heading_path)))
    return found


def mark(connection: sqlite3.Connection, model: str, windows: Mapping[int, Sequence[str]]) -> None:
    """Chunk id → hashes of its windows, in order. Chunks that are gone meanwhile are passed over."""
    connection.execute("INSERT OR IGNORE INTO models (fingerprint) VALUES (?)", (model,))
    connection.executemany(
        f"""INSERT OR REPLACE INTO windows (chunk_id, model_id, hashes)
            SELECT ?, {_MODEL}, ? WHERE EXISTS (SELECT 1 FROM chunks WHERE id = ?)""",
        [(chunk_id, model, " ".join(hashes), chunk_id) for chunk_id, hashes in windows.items()],
    )


def marked(connection: sqlite3.Connection, model: str) -> list[tuple[int, str]]:
    """(window id, window hash) of every embedded chunk, ascending."""
    rows = connection.execute(
        f"SELECT chunk_id, hashes FROM windows WHERE model_id = {_MODEL} ORDER BY chunk_id", (model,)
    ).fetchall()
    return [
        (number, digest)
        for chunk_id, hashes in rows
        for number, digest in enumerate(hashes.split(), chunk_id * WINDOWS_PER_CHUNK)
    ]


def forget(connection: sqlite3.Connection, model: str) -> None:
    """Drop a model's windows."""
    connection.execute(f"DELETE FROM windows WHERE model_id = {_MODEL}", (model,))
    connection.execute("DELETE FROM models WHERE fingerprint = ?", (model,))


def embedded(connection: sqlite3.Connection) -> tuple[int, dict[str, int]]:
    """How many chunks some model has embedded, and how many each."""
    by_model: dict[str, int] = dict(
        connection.execute(
            """SELECT m.fingerprint, count(*) FROM windows w JOIN models m ON m.id = w.model_id GROUP BY w.model_id"""
        ).fetchall()
    )
    if len(by_model) < 2:
        return sum(by_model.values()), by_model
    return int(connection.execute("SELECT count(DISTINCT chunk_id) FROM windows").fetchone()[0]), by_model


_BATCH = 500
_EMAIL_OF_E = ", ".join(f"e.{name.strip()}" for name in EMAIL_COLUMNS.split(","))
_MAILS = f"""SELECT d.id, d.file_path, d.product, d.component, d.chunk_count, {_EMAIL_OF_E}
    FROM emails e JOIN documents d ON d.id = e.doc_id WHERE"""


class CatalogQueries(ABC):
    """`protocols.CatalogReader` over one read transaction, but for what a database does in its own way.

    Statements write `?` for a value and `AMONG ?` for "is one of this list".
    """

    def __init__(self, shared_products: frozenset[str]) -> None:
        self._shared_products = shared_products
        self._columns: LoadedColumns | None = None
        self.generation = int(self.meta("generation", "0"))

    @abstractmethod
    def _rows(self, statement: str, *values: object) -> list[Any]:
        """All rows, as tuples. Lists among the values are what `AMONG ?` asks for."""

    @abstractmethod
    def _embedded(self) -> tuple[int, dict[str, int]]:
        """(chunks with vectors of any model, model → chunks with vectors of that one)."""

    def chunks(self, ids: Sequence[int]) -> dict[int, StoredChunk]:
        """Stored chunks by id; unknown ids are missing."""
        rows = self._rows(f"SELECT id, {CHUNK_COLUMNS} FROM chunks WHERE id AMONG ?", _listed(ids))
        return {stored.chunk_id: stored for stored in self._stored(rows)}

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Texts of chunks by id; unknown ids are missing."""
        return dict(self._rows("SELECT id, text FROM chunks WHERE id AMONG ?", _listed(ids)))

    def chunks_of(self, doc_id: int) -> list[StoredChunk]:
        """All chunks of a document in order."""
        rows = self._rows(f"SELECT id, {CHUNK_COLUMNS} FROM chunks WHERE doc_id = ? ORDER BY ordinal", doc_id)
        return self._stored(rows)

    def chunks_between(self, doc_id: int, first: int, last: int, start: int, end: int) -> list[StoredChunk]:
        """Chunks of a document with some ordinals, those of which a part lies between two offsets of its text."""
        rows = self._rows(
            f"""SELECT id, {CHUNK_COLUMNS} FROM chunks
                WHERE doc_id = ? AND ordinal BETWEEN ? AND ? AND start < ? AND "end" > ? ORDER BY ordinal""",
            doc_id,
            first,
            last,
            end,
            start,
        )
        return self._stored(rows)

    def _stored(self, rows: Sequence[Row]) -> list[StoredChunk]:
        """Chunks of rows, with what their documents' texts must tell where rows leave it out."""
        lacking = sorted({row[1] for row in rows if leaves_out(row)})
        texts: dict[int, str] = {}
        if lacking:
            found = self._rows("SELECT doc_id, text FROM texts WHERE doc_id AMONG ?", lacking)
            texts = {doc_id: unpack_text(packed) for doc_id, packed in found}
        return [stored_chunk(row, texts.get(row[1], "")) for row in rows]

    def documents(self, ids: Sequence[int], *, text: bool = False) -> dict[int, StoredDocument]:
        """Stored documents by id; unknown ids are missing."""
        wanted = _listed(ids)
        rows = self._rows(f"SELECT id, {DOCUMENT_COLUMNS} FROM documents WHERE id AMONG ?", wanted)
        emails = _by_id(self._rows(f"SELECT doc_id, {EMAIL_COLUMNS} FROM emails WHERE doc_id AMONG ?", wanted))
        texts: dict[int, Row] = {}
        if text:
            texts = _by_id(self._rows("SELECT doc_id, text, structure FROM texts WHERE doc_id AMONG ?", wanted))
        also_in: dict[int, set[str]] = {}
        for doc_id, path in self._alike(wanted, list(emails)):
            also_in.setdefault(doc_id, set()).add(path)
        return {
            row[0]: stored_document(row, emails.get(row[0]), texts.get(row[0]), tuple(sorted(also_in.get(row[0], ()))))
            for row in rows
        }

    def _alike(self, doc_ids: list[int], mails: list[int]) -> list[Any]:
        """(document id, path of another one with the same content, or of the same mail)."""
        found = self._rows(
            """SELECT d.id, other.file_path FROM documents d
               JOIN documents other ON other.content_hash = d.content_hash AND other.id <> d.id
               WHERE d.id AMONG ? AND d.content_hash <> ''""",
            doc_ids,
        )
        if mails:
            found += self._rows(
                """SELECT e.doc_id, d.file_path FROM emails e
                   JOIN emails other ON other.fingerprint = e.fingerprint AND other.doc_id <> e.doc_id
                   JOIN documents d ON d.id = other.doc_id
                   WHERE e.doc_id AMONG ? AND e.fingerprint <> ''""",
                mails,
            )
        return found

    def document_by_path(self, file_path: str, *, text: bool = True) -> StoredDocument | None:
        """The document of exactly that path."""
        rows = self._rows("SELECT id FROM documents WHERE file_path = ?", file_path)
        return self.documents([rows[0][0]], text=text)[rows[0][0]] if rows else None

    def iter_documents(self, filters: Filters = Filters()) -> Iterator[StoredDocument]:
        """Documents without text, by path. Raises `CallerError` for a date filter that isn't a date."""
        ids = [row[0] for row in self._rows("SELECT id FROM documents ORDER BY file_path")]
        if not filters.is_empty():
            if self._columns is None:
                self._columns = self.load_columns()
            passing = self._columns.select(filters).doc_ids
            if passing is not None:
                among = set(passing.tolist())
                ids = [doc_id for doc_id in ids if doc_id in among]
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            found = self.documents(batch)
            yield from (found[doc_id] for doc_id in batch)

    def passage_counts(self) -> dict[int, tuple[str, int]]:
        """Document id → (path of the file that it was read from, how many passages it has), for all at once."""
        rows = self._rows(
            "SELECT id, CASE WHEN archive <> '' THEN archive ELSE file_path END, chunk_count FROM documents"
        )
        return {doc_id: (source, count) for doc_id, source, count in rows}

    def load_columns(self) -> LoadedColumns:
        """All columns, read anew."""
        chunks = self._rows("SELECT id, doc_id, text_key FROM chunks")
        return columns_of(self._rows(DOCUMENTS), chunks, self.generation, self._shared_products)

    def updated_columns(self, columns: LoadedColumns, changed: Iterable[int]) -> LoadedColumns:
        """New columns after the documents `changed` were put, moved or dropped."""
        ids = sorted(changed)
        documents = self._rows(f"{DOCUMENTS} WHERE d.id AMONG ?", ids)
        chunks = self._rows("SELECT id, doc_id, text_key FROM chunks WHERE doc_id AMONG ?", ids)
        return columns_with(columns, documents, chunks, self.generation, ids)

    def names(self, kind: str, limit: int) -> list[tuple[str, str]]:
        """(file path, title) of documents of that kind (empty: of every kind), by path."""
        return self._rows(
            "SELECT file_path, title FROM documents WHERE ? IN ('', kind) ORDER BY file_path LIMIT ?", kind, limit
        )

    def thread(self, thread_id: str) -> list[StoredDocument]:
        """The mails of a thread with their text, oldest first; those without a date come first."""
        rows = self._rows(
            """SELECT d.id FROM emails e JOIN documents d ON d.id = e.doc_id
               WHERE e.thread_id = ? ORDER BY d.modified, d.file_path""",
            thread_id,
        )
        found = self.documents([row[0] for row in rows], text=True)
        return [found[row[0]] for row in rows]

    def mails(
        self,
        *,
        paths: Sequence[str] = (),
        mentioning: Sequence[str] = (),
        threads: Sequence[str] = (),
        topics: Sequence[str] = (),
        fingerprints: Sequence[str] = (),
    ) -> list[StoredMail]:
        """Mails that any of these find, by document id."""
        found: dict[int, StoredMail] = {}
        for names, where in (
            (paths, "d.file_path AMONG ?"),
            (paths, "d.archive <> '' AND d.archive AMONG ?"),
            (mentioning, "e.doc_id IN (SELECT doc_id FROM mail_ids WHERE message_id AMONG ?)"),
            (threads, "e.thread_id AMONG ?"),
            (topics, "e.topic AMONG ?"),
            (fingerprints, "e.fingerprint AMONG ?"),
        ):
            for row in self._rows(f"{_MAILS} {where}", list(names)) if names else ():
                doc_id, path, product, component, chunk_count, *email = row
                found[doc_id] = StoredMail(doc_id, path, product, component, chunk_count, stored_email(tuple(email)))
        return [found[doc_id] for doc_id in sorted(found)]

    def members(self, archive: str) -> dict[str, str]:
        """file_path → content hash of the documents that an archive holds."""
        return dict(
            self._rows("SELECT file_path, content_hash FROM documents WHERE archive <> '' AND archive = ?", archive)
        )

    def copies(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Further documents (file paths, sorted) that hold a chunk of the same hash; only chunks that have some."""
        copies: dict[int, list[str]] = {}
        for chunk_id, path in self._rows(
            """SELECT DISTINCT c.id, d.file_path FROM chunks c
               JOIN chunks other ON other.hash = c.hash AND other.doc_id <> c.doc_id
               JOIN documents d ON d.id = other.doc_id
               WHERE c.id AMONG ? AND c.hash <> '' ORDER BY d.file_path""",
            _listed(chunk_ids),
        ):
            copies.setdefault(chunk_id, []).append(path)
        return {chunk_id: tuple(paths) for chunk_id, paths in copies.items()}

    def products(self) -> dict[str, dict[str, int]]:
        """Product → component → number of documents (mails included), by name."""
        products: dict[str, dict[str, int]] = {}
        for product, component, number in self._rows(
            "SELECT product, component, count(*) FROM documents GROUP BY product, component ORDER BY product, component"
        ):
            products.setdefault(product, {})[component] = number
        return products

    def count(self, model: str = "") -> Count:
        """Totals. `documents` are those that aren't mails; `by_product` counts both."""
        count, embedded = self._totals()
        return replace(count, embedded_chunks=embedded.get(model, 0)) if model else count

    def _totals(self) -> tuple[Count, dict[str, int]]:
        """(all totals, model → chunks with vectors of it)."""
        kinds = dict(self._rows("SELECT kind, count(*) FROM documents GROUP BY kind"))
        by_product = dict(self._rows("SELECT product, count(*) FROM documents GROUP BY product ORDER BY product"))
        some, embedded = self._embedded()
        count = Count(
            documents=kinds.get("document", 0),
            emails=kinds.get("email", 0),
            chunks=self._rows("SELECT count(*) FROM chunks")[0][0],
            embedded_chunks=some,
            products=len(by_product),
            by_product=by_product,
        )
        return count, embedded

    def failures(self) -> list[Failure]:
        """What couldn't be read and what was left out, by path."""
        rows = self._rows("SELECT file_path, kind, reason, detail, size, mtime_ns FROM failures ORDER BY file_path")
        return [Failure(*row) for row in rows]

    def included(self) -> dict[str, tuple[Included, ...]]:
        """file_path → the files that it includes, of every document that includes any."""
        rows = self._rows("SELECT file_path, included FROM documents WHERE included <> ''")
        return {path: stored_included(packed) for path, packed in rows}

    def meta(self, key: str, default: str = "") -> str:
        """What `set_meta` stored."""
        rows = self._rows("SELECT value FROM meta WHERE key = ?", key)
        return str(rows[0][0]) if rows else default


def _listed(ids: Iterable[int]) -> list[int]:
    return [int(number) for number in ids]


def _by_id(rows: Iterable[Row]) -> dict[int, Row]:
    return {row[0]: row[1:] for row in rows}


class SqliteCatalogReader(CatalogQueries):
    """`protocols.CatalogReader` over a connection that is in a read transaction."""

    def __init__(
        self, connection: sqlite3.Connection, shared_products: frozenset[str], memory: DocumentMemory | None = None
    ) -> None:
        self.connection = connection
        self._memory = memory or DocumentMemory()
        super().__init__(shared_products)

    def documents(self, ids: Sequence[int], *, text: bool = False) -> dict[int, StoredDocument]:
        """Stored documents by id; unknown ids are missing. Those read lately aren't read again."""
        every = [int(number) for number in ids]
        changes = int(self.meta("changes", "0"))
        known = self._memory.known(changes, every, text=text)
        if missing := [number for number in every if number not in known]:
            read = super().documents(missing, text=text)
            self._memory.remember(changes, read, text=text)
            known |= read
        return known

    def products(self) -> dict[str, dict[str, int]]:
        """Product → component → number of documents (mails included), by name; counted once per state."""
        changes = int(self.meta("changes", "0"))
        known = self._memory.products
        if known is None or known[0] != changes:
            known = self._memory.products = (changes, super().products())
        return {product: dict(components) for product, components in known[1].items()}

    def _totals(self) -> tuple[Count, dict[str, int]]:
        """Counted once per state of the file: SQLite's data_version changes for a connection when another commits."""
        version = int(self.connection.execute("PRAGMA data_version").fetchone()[0])
        totals = self._memory.totals.get(self.connection)
        if totals is None or totals[0] != version:
            totals = self._memory.totals[self.connection] = (version, *super()._totals())
        return totals[1], totals[2]

    def _embedded(self) -> tuple[int, dict[str, int]]:
        return embedded(self.connection)

    def meta(self, key: str, default: str = "") -> str:
        """What `set_meta` stored; asked with every transaction, so by the shortest way."""
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else default

    def _rows(self, statement: str, *values: object) -> list[Any]:
        # A list is one bound value, whatever its length: one prepared statement.
        bound = [json.dumps(value) if isinstance(value, list) else value for value in values]
        return self.connection.execute(_in_sqlite(statement), bound).fetchall()


@cache
def _in_sqlite(statement: str) -> str:
    return statement.replace("AMONG ?", "IN (SELECT value FROM json_each(?))")
