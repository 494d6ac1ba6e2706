"""Reading the catalog: one transaction, one generation."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from librarian.vocabulary.types import Count, Failure, Filters, StoredChunk, StoredDocument, StoredMail

from . import catalog_mails, catalog_windows
from .catalog_rows import CHUNK_COLUMNS, DOCUMENT_COLUMNS, EMAIL_COLUMNS, Row, stored_chunk, stored_document
from .columns import LoadedColumns, load_columns
from .document_memory import DocumentMemory

_AMONG = "IN (SELECT value FROM json_each(?))"
_BATCH = 500


class SqliteCatalogReader:
    """`protocols.CatalogReader` over a connection that is in a read transaction."""

    def __init__(
        self, connection: sqlite3.Connection, shared_products: frozenset[str], memory: DocumentMemory | None = None
    ) -> None:
        self._connection = connection
        self._memory = memory or DocumentMemory()
        self._shared_products = shared_products
        self._columns: LoadedColumns | None = None
        self.generation = int(self.meta("generation", "0"))

    def chunks(self, ids: Sequence[int]) -> dict[int, StoredChunk]:
        """Stored chunks by id; unknown ids are missing."""
        rows = self._connection.execute(f"SELECT id, {CHUNK_COLUMNS} FROM chunks WHERE id {_AMONG}", _listed(ids))
        return {row[0]: stored_chunk(row) for row in rows}

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Texts of chunks by id; unknown ids are missing."""
        return dict(self._connection.execute(f"SELECT id, text FROM chunks WHERE id {_AMONG}", _listed(ids)))

    def chunks_of(self, doc_id: int) -> list[StoredChunk]:
        """All chunks of a document in order; none where it is unknown."""
        rows = self._connection.execute(
            f"SELECT id, {CHUNK_COLUMNS} FROM chunks WHERE doc_id = ? ORDER BY ordinal", (doc_id,)
        )
        return [stored_chunk(row) for row in rows]

    def documents(self, ids: Sequence[int], *, text: bool = False) -> dict[int, StoredDocument]:
        """Stored documents by id; unknown ids are missing."""
        every = [int(number) for number in ids]
        changes = int(self.meta("changes", "0"))
        known = self._memory.known(changes, every, text=text)
        if missing := [number for number in every if number not in known]:
            read = self._documents(missing, text=text)
            self._memory.remember(changes, read, text=text)
            known |= read
        return known

    def _documents(self, ids: Sequence[int], *, text: bool) -> dict[int, StoredDocument]:
        wanted = _listed(ids)
        execute = self._connection.execute
        rows = execute(f"SELECT id, {DOCUMENT_COLUMNS} FROM documents WHERE id {_AMONG}", wanted).fetchall()
        emails: dict[int, Row] = {
            row[0]: row[1:]
            for row in execute(f"SELECT doc_id, {EMAIL_COLUMNS} FROM emails WHERE doc_id {_AMONG}", wanted)
        }
        texts: dict[int, Row] = {}
        if text:
            query = f"SELECT doc_id, text, structure FROM texts WHERE doc_id {_AMONG}"
            texts = {row[0]: row[1:] for row in execute(query, wanted)}
        also_in: dict[int, list[str]] = {}
        for doc_id, path in execute(
            f"""SELECT d.id, other.file_path FROM documents d
                JOIN documents other ON other.content_hash = d.content_hash AND other.id <> d.id
                WHERE d.id {_AMONG} AND d.content_hash <> '' ORDER BY other.file_path""",
            wanted,
        ):
            also_in.setdefault(doc_id, []).append(path)
        for doc_id, path in catalog_mails.copies(self._connection, emails):
            also_in.setdefault(doc_id, []).append(path)
        return {
            row[0]: stored_document(
                row, emails.get(row[0]), texts.get(row[0]), tuple(sorted(set(also_in.get(row[0], ()))))
            )
            for row in rows
        }

    def document_by_path(self, file_path: str, *, text: bool = True) -> StoredDocument | None:
        """The document of exactly that path."""
        row = self._connection.execute("SELECT id FROM documents WHERE file_path = ?", (file_path,)).fetchone()
        return None if row is None else self.documents([row[0]], text=text)[row[0]]

    def iter_documents(self, filters: Filters = Filters()) -> Iterator[StoredDocument]:
        """Documents without text, by path. Raises `CallerError` for a date filter that isn't a date."""
        ids = [row[0] for row in self._connection.execute("SELECT id FROM documents ORDER BY file_path")]
        if not filters.is_empty():
            if self._columns is None:
                self._columns = load_columns(self._connection, self.generation, self._shared_products)
            passing = self._columns.select(filters).doc_ids
            if passing is not None:
                among = set(passing.tolist())
                ids = [doc_id for doc_id in ids if doc_id in among]
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            found = self.documents(batch)
            yield from (found[doc_id] for doc_id in batch)

    def names(self, kind: str, limit: int) -> list[tuple[str, str]]:
        """(file path, title) of documents of that kind (empty: of every kind), by path."""
        return self._connection.execute(
            "SELECT file_path, title FROM documents WHERE ? IN ('', kind) ORDER BY file_path LIMIT ?", (kind, limit)
        ).fetchall()

    def thread(self, thread_id: str) -> list[StoredDocument]:
        """The mails of a thread with their text, oldest first; those without a date come first."""
        ids = [
            row[0]
            for row in self._connection.execute(
                """SELECT d.id FROM emails e JOIN documents d ON d.id = e.doc_id
                   WHERE e.thread_id = ? ORDER BY d.modified, d.file_path""",
                (thread_id,),
            )
        ]
        found = self.documents(ids, text=True)
        return [found[doc_id] for doc_id in ids]

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
        return catalog_mails.mails(self._connection, paths, mentioning, threads, topics, fingerprints)

    def members(self, archive: str) -> dict[str, str]:
        """file_path → content hash of the documents that an archive holds."""
        return catalog_mails.members(self._connection, archive)

    def copies(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Further documents (file paths, sorted) that hold a chunk of the same hash; only chunks that have some."""
        copies: dict[int, list[str]] = {}
        for chunk_id, path in self._connection.execute(
            f"""SELECT DISTINCT c.id, d.file_path FROM chunks c
                JOIN chunks other ON other.hash = c.hash AND other.doc_id <> c.doc_id
                JOIN documents d ON d.id = other.doc_id
                WHERE c.id {_AMONG} AND c.hash <> '' ORDER BY d.file_path""",
            _listed(chunk_ids),
        ):
            copies.setdefault(chunk_id, []).append(path)
        return {chunk_id: tuple(paths) for chunk_id, paths in copies.items()}

    def products(self) -> dict[str, dict[str, int]]:
        """Product → component → number of documents (mails included), by name."""
        changes = int(self.meta("changes", "0"))
        known = self._memory.products
        if known is None or known[0] != changes:
            products: dict[str, dict[str, int]] = {}
            for product, component, number in self._connection.execute(
                """SELECT product, component, count(*) FROM documents
                   GROUP BY product, component ORDER BY product, component"""
            ):
                products.setdefault(product, {})[component] = number
            known = self._memory.products = (changes, products)
        return {product: dict(components) for product, components in known[1].items()}

    def count(self, model: str = "") -> Count:
        """Totals. `documents` are those that aren't mails; `by_product` counts both.

        Counted once per state of the file: SQLite's data_version changes for a connection when another one commits.
        """
        version = int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        totals = self._memory.totals.get(self._connection)
        if totals is None or totals[0] != version:
            totals = self._memory.totals[self._connection] = (version, *self._totals())
        _, count, embedded = totals
        return replace(count, embedded_chunks=embedded.get(model, 0)) if model else count

    def _totals(self) -> tuple[Count, dict[str, int]]:
        execute = self._connection.execute
        kinds = dict(execute("SELECT kind, count(*) FROM documents GROUP BY kind").fetchall())
        by_product = dict(
            execute("SELECT product, count(*) FROM documents GROUP BY product ORDER BY product").fetchall()
        )
        some, embedded = catalog_windows.embedded(self._connection)
        count = Count(
            documents=kinds.get("document", 0),
            emails=kinds.get("email", 0),
            chunks=execute("SELECT count(*) FROM chunks").fetchone()[0],
            embedded_chunks=some,
            products=len(by_product),
            by_product=by_product,
        )
        return count, embedded

    def failures(self) -> list[Failure]:
        """What couldn't be read and what was left out, by path."""
        rows = self._connection.execute(
            "SELECT file_path, kind, reason, detail, size, mtime_ns FROM failures ORDER BY file_path"
        )
        return [Failure(*row) for row in rows]

    def meta(self, key: str, default: str = "") -> str:
        """What `set_meta` stored."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return default if row is None else str(row[0])


def _listed(ids: Iterable[int]) -> tuple[str]:
    """Ids as one bound value: any number of them, one prepared statement."""
    return (json.dumps([int(number) for number in ids]),)
