"""Reading the catalog in PostgreSQL: one transaction, one generation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from librarian.vocabulary.types import Count, Failure, Filters, StoredChunk, StoredDocument, StoredMail

from ..catalog_rows import CHUNK_COLUMNS, DOCUMENT_COLUMNS, EMAIL_COLUMNS, Row, stored_chunk, stored_document
from ..columns import DOCUMENTS, LoadedColumns, columns_of, columns_with
from . import catalog_mails

if TYPE_CHECKING:
    from psycopg import Connection

_BATCH = 500


class PostgresCatalogReader:
    """`protocols.CatalogReader` over a connection that is in a read transaction."""

    def __init__(self, connection: Connection[Any], shared_products: frozenset[str]) -> None:
        self._connection = connection
        self._shared_products = shared_products
        self._columns: LoadedColumns | None = None
        self.generation = int(self.meta("generation", "0"))

    def chunks(self, ids: Sequence[int]) -> dict[int, StoredChunk]:
        """Stored chunks by id; unknown ids are missing."""
        rows = self._connection.execute(f"SELECT id, {CHUNK_COLUMNS} FROM chunks WHERE id = ANY(%s)", (_listed(ids),))
        return {row[0]: stored_chunk(row) for row in rows}

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Texts of chunks by id; unknown ids are missing."""
        rows = self._connection.execute("SELECT id, text FROM chunks WHERE id = ANY(%s)", (_listed(ids),))
        return {row[0]: row[1] for row in rows}

    def chunks_of(self, doc_id: int) -> list[StoredChunk]:
        """All chunks of a document in order; none where it is unknown."""
        rows = self._connection.execute(
            f"SELECT id, {CHUNK_COLUMNS} FROM chunks WHERE doc_id = %s ORDER BY ordinal", (doc_id,)
        )
        return [stored_chunk(row) for row in rows]

    def documents(self, ids: Sequence[int], *, text: bool = False) -> dict[int, StoredDocument]:
        """Stored documents by id; unknown ids are missing."""
        wanted = (_listed(ids),)
        execute = self._connection.execute
        rows = execute(f"SELECT id, {DOCUMENT_COLUMNS} FROM documents WHERE id = ANY(%s)", wanted).fetchall()
        emails: dict[int, Row] = {
            row[0]: row[1:]
            for row in execute(f"SELECT doc_id, {EMAIL_COLUMNS} FROM emails WHERE doc_id = ANY(%s)", wanted)
        }
        texts: dict[int, Row] = {}
        if text:
            texts = {
                row[0]: row[1:]
                for row in execute("SELECT doc_id, text, structure FROM texts WHERE doc_id = ANY(%s)", wanted)
            }
        also_in: dict[int, list[str]] = {}
        for doc_id, path in execute(
            """SELECT d.id, other.file_path FROM documents d
               JOIN documents other ON other.content_hash = d.content_hash AND other.id <> d.id
               WHERE d.id = ANY(%s) AND d.content_hash <> '' ORDER BY other.file_path""",
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
        if "\0" in file_path:
            return None
        row = self._connection.execute("SELECT id FROM documents WHERE file_path = %s", (file_path,)).fetchone()
        return None if row is None else self.documents([row[0]], text=text)[row[0]]

    def iter_documents(self, filters: Filters = Filters()) -> Iterator[StoredDocument]:
        """Documents without text, by path. Raises `CallerError` for a date filter that isn't a date."""
        ids = [row[0] for row in self._connection.execute("SELECT id FROM documents ORDER BY file_path")]
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

    def names(self, kind: str, limit: int) -> list[tuple[str, str]]:
        """(file path, title) of documents of that kind (empty: of every kind), by path."""
        return self._connection.execute(
            "SELECT file_path, title FROM documents WHERE %s IN ('', kind) ORDER BY file_path LIMIT %s", (kind, limit)
        ).fetchall()

    def thread(self, thread_id: str) -> list[StoredDocument]:
        """The mails of a thread with their text, oldest first; those without a date come first."""
        ids = [
            row[0]
            for row in self._connection.execute(
                """SELECT d.id FROM emails e JOIN documents d ON d.id = e.doc_id
                   WHERE e.thread_id = %s ORDER BY d.modified, d.file_path""",
                (thread_id.replace("\0", "\ufffd"),),
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
        paths, mentioning, threads, topics = (
            [name.replace("\0", "\ufffd") for name in names] for names in (paths, mentioning, threads, topics)
        )
        return catalog_mails.mails(self._connection, paths, mentioning, threads, topics, fingerprints)

    def members(self, archive: str) -> dict[str, str]:
        """file_path → content hash of the documents that an archive holds."""
        return catalog_mails.members(self._connection, archive)

    def copies(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Further documents (file paths, sorted) that hold a chunk of the same hash; only chunks that have some."""
        copies: dict[int, list[str]] = {}
        for chunk_id, path in self._connection.execute(
            """SELECT DISTINCT c.id, d.file_path FROM chunks c
               JOIN chunks other ON other.hash = c.hash AND other.doc_id <> c.doc_id
               JOIN documents d ON d.id = other.doc_id
               WHERE c.id = ANY(%s) AND c.hash <> '' ORDER BY d.file_path""",
            (_listed(chunk_ids),),
        ):
            copies.setdefault(chunk_id, []).append(path)
        return {chunk_id: tuple(paths) for chunk_id, paths in copies.items()}

    def products(self) -> dict[str, dict[str, int]]:
        """Product → component → number of documents (mails included), by name."""
        products: dict[str, dict[str, int]] = {}
        for product, component, number in self._connection.execute(
            "SELECT product, component, count(*) FROM documents GROUP BY product, component ORDER BY product, component"
        ):
            products.setdefault(product, {})[component] = number
        return products

    def count(self, model: str = "") -> Count:
        """Totals. `documents` are those that aren't mails; `by_product` counts both."""
        execute = self._connection.execute
        kinds: dict[str, int] = dict(execute("SELECT kind, count(*) FROM documents GROUP BY kind").fetchall())
        by_product: dict[str, int] = dict(
            execute("SELECT product, count(*) FROM documents GROUP BY product ORDER BY product").fetchall()
        )
        embedded: dict[str, int] = dict(
            execute(
                """SELECT m.fingerprint, count(*) FROM windows w JOIN models m ON m.id = w.model_id
                   GROUP BY m.fingerprint"""
            ).fetchall()
        )
        some = sum(embedded.values())
        if len(embedded) > 1:
            several = execute("SELECT count(DISTINCT chunk_id) FROM windows").fetchone()
            some = 0 if several is None else several[0]
        chunks = execute("SELECT count(*) FROM chunks").fetchone()
        return Count(
            documents=kinds.get("document", 0),
            emails=kinds.get("email", 0),
            chunks=0 if chunks is None else chunks[0],
            embedded_chunks=embedded.get(model, 0) if model else some,
            products=len(by_product),
            by_product=by_product,
        )

    def failures(self) -> list[Failure]:
        """What couldn't be read and what was left out, by path."""
        rows = self._connection.execute(
            "SELECT file_path, kind, reason, detail, size, mtime_ns FROM failures ORDER BY file_path"
        )
        return [Failure(*row) for row in rows]

    def meta(self, key: str, default: str = "") -> str:
        """What `set_meta` stored."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = %s", (key,)).fetchone()
        return default if row is None else str(row[0])

    # -- columns ---------------------------------------------------------------------------------------------------

    def load_columns(self) -> LoadedColumns:
        """All columns, read anew."""
        documents = self._connection.execute(DOCUMENTS).fetchall()
        chunks = self._connection.execute("SELECT id, doc_id FROM chunks").fetchall()
        return columns_of(documents, chunks, self.generation, self._shared_products)

    def updated_columns(self, columns: LoadedColumns, changed: Sequence[int]) -> LoadedColumns:
        """New columns after the documents `changed` were put, moved or dropped."""
        wanted = (list(changed),)
        documents = self._connection.execute(f"{DOCUMENTS} WHERE d.id = ANY(%s)", wanted).fetchall()
        chunks = self._connection.execute("SELECT id, doc_id FROM chunks WHERE doc_id = ANY(%s)", wanted).fetchall()
        return columns_with(columns, documents, chunks, self.generation, changed)

    def changes(self, after: int) -> tuple[int, list[list[int]]]:
        """(number of the last change, documents that each change after `after` touched, as far as it is known)."""
        rows = self._connection.execute("SELECT doc_ids FROM changes WHERE number > %s ORDER BY number", (after,))
        return int(self.meta("changes", "0")), [row[0] for row in rows]


def _listed(ids: Sequence[int]) -> list[int]:
    return [int(number) for number in ids]
