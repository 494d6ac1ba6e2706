"""The catalog: documents, chunks, threads, failures and fingerprints, in SQLite or PostgreSQL.

One writer at a time, any number of readers that each see one committed state. It holds neither vectors nor postings,
only the hashes of the windows that were embedded. It is derived from the files: where its file is damaged or of another
version, it is set aside and the files are read again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path

from ..errors import Damaged, SetupError
from ..files.owned_folder import claim_index
from ..models import OUTDATED, Document, Failure, ReadResult, Stored, StoredChunk
from .columns import Columns
from .database import CATALOG, VERSION, Database, Session
from .queries import CatalogReader, Memory
from .rows import Row, chunk_row, document_row, email_row, storable, text_key, text_row
from .sqlite import SqliteDatabase, quarantined

log = logging.getLogger(__name__)

_LONGEST_LOG = 1000  #: changes that columns can be brought up to date over


class Catalog:
    """The catalog in a database that has its tables; `close` closes it.

    `shared_products` are the products that every product filter lets through.
    """

    def __init__(self, database: Database, *, shared_products: Iterable[str] = ()) -> None:
        self._database = database
        self._shared_products = frozenset(shared_products)
        self._memory = Memory()
        self.rescued = ""  #: a sentence, where a file was set aside for this one
        try:
            with self.read() as reader:
                self.identity = reader.meta("identity")  #: random; an index made for another catalog must be rebuilt
            if not self.identity:
                raise Damaged("The catalog is damaged: it has lost its identity.")
        except BaseException:
            self.close()
            raise

    # -- reading ---------------------------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[CatalogReader]:
        """A read transaction: what is committed later stays invisible until it ends."""
        with self._database.read() as session:
            yield CatalogReader(session, self._shared_products, self._memory)

    def fact(self, key: str) -> str:
        """What `CatalogReader.meta` gave for the key in this process's last read transaction; of the keys that every
        transaction begins with."""
        return self._memory.facts.get(key, "")

    def columns(self) -> Columns:
        """The columns of what is committed; see `CatalogReader.columns`."""
        with self.read() as reader:
            return reader.columns()

    def meta(self, key: str) -> str:
        """What `set_meta` stored; see `CatalogReader.meta`."""
        with self.read() as reader:
            return reader.meta(key)

    def known(self) -> dict[str, tuple[int, int, str]]:
        """file_path → (size, mtime_ns, content_hash) of every file; see `CatalogReader.known`."""
        with self.read() as reader:
            return reader.known()

    # -- writing ---------------------------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[object]:
        """What this thread writes meanwhile becomes visible at its end, at once; none of it where the block fails."""
        return self._database.write()

    def put(self, results: Sequence[ReadResult]) -> list[Stored]:
        """Store documents with their chunks in one transaction, replacing what their paths held.

        Returns the ids per result, in order. Ids are never reused. A stored path is no longer a failure. Characters
        that the database can't hold, such as half of a surrogate pair, are stored as U+FFFD.
        """
        try:
            return self._put(results)
        except self._database.unstorable:
            log.info("catalog: characters of a document that can't be stored are stored as U+FFFD")
            return self._put(list(map(storable, results)))

    def _put(self, results: Sequence[ReadResult]) -> list[Stored]:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        stored: list[Stored] = []
        with self._database.write() as session:
            # of a path that comes twice, the last is what stays
            distinct = len({result.document.file_path for result in results}) == len(results)
            for run in [results] if distinct else [[result] for result in results]:
                stored += _put(session, run, now)
            _note(session, [n for each in stored for n in (each.doc_id, *each.dropped_doc_ids)])
        return stored

    def remove(self, file_paths: Sequence[str]) -> tuple[list[int], list[int]]:
        """Drop documents, and archives with all that they hold; returns (document ids, chunk ids) dropped. Unknown
        paths are no error."""
        given = list(file_paths)
        with self._database.write() as session:
            session.rows("DELETE FROM archives WHERE file_path AMONG ?", given)
            members = session.rows(
                "SELECT file_path FROM documents WHERE archive <> '' AND archive AMONG ? ORDER BY id", given
            )
            paths = dict.fromkeys([*given, *(path for (path,) in members)])
            dropped = _drop(session, list(paths))
            deleted = [dropped[path] for path in paths if path in dropped]
            _note(session, [doc_id for doc_id, _ in deleted])
        return [doc_id for doc_id, _ in deleted], [number for _, chunk_ids in deleted for number in chunk_ids]

    def touch(self, file_path: str, size: int, mtime_ns: int) -> None:
        """Remember another size and mtime of unchanged content; of an archive, for all that it holds."""
        with self._database.write() as session:
            _touch(session, file_path, size, mtime_ns)

    def withdraw(self, chunk_ids: Sequence[int]) -> None:
        """Drop passages of documents that stay: quotes whose originals have come. Unknown ids are no error."""
        given = list(chunk_ids)
        with self._database.write() as session:
            counts = session.rows("SELECT count(*), doc_id FROM chunks WHERE id AMONG ? GROUP BY doc_id", given)
            session.rows("DELETE FROM chunks WHERE id AMONG ?", given)
            session.many("UPDATE documents SET chunk_count = chunk_count - ? WHERE id = ?", counts)
            _note(session, [doc_id for _, doc_id in counts])

    def outdate(self, file_paths: Sequence[str]) -> None:
        """Forget the size and time (`OUTDATED`) of documents and of archives that hold them, or of archives: they are
        read again."""
        with self._database.write() as session:
            for path in file_paths:
                session.rows(
                    "UPDATE documents SET size = ?, mtime_ns = ? WHERE file_path = ?", OUTDATED, OUTDATED, path
                )
                session.rows(
                    """UPDATE archives SET size = ?, mtime_ns = ?
                       WHERE file_path IN (?, (SELECT archive FROM documents WHERE file_path = ?))""",
                    *(OUTDATED, OUTDATED, path, path),
                )

    def put_archive(self, archive: Document) -> None:
        """Remember an archive's size, time and content, after its members were put."""
        names = ("file_path", "size", "mtime_ns", "content_hash")
        row = {name: storable(getattr(archive, name)) for name in names}
        with self._database.write() as session:
            for table in ("archives", "failures"):
                session.rows(f"DELETE FROM {table} WHERE file_path = ?", row["file_path"])
            session.insert("archives", [row])
            _touch(session, archive.file_path, archive.size, archive.mtime_ns)

    def rethread(self, threads: Mapping[int, str]) -> None:
        """Document id of a mail → its thread, now that more of the conversation is known."""
        with self._database.write() as session:
            session.many(
                "UPDATE emails SET thread_id = ? WHERE doc_id = ?", [(name, doc_id) for doc_id, name in threads.items()]
            )
            _note(session, list(threads))

    def set_failures(self, failures: Iterable[Failure], *, replace: bool) -> None:
        """Remember what couldn't be read; with `replace`, instead of all that was remembered before."""
        rows = {failure.file_path: asdict(failure) for failure in map(storable, failures)}
        with self._database.write() as session:
            if replace:
                session.rows("DELETE FROM failures")
            session.rows("DELETE FROM failures WHERE file_path AMONG ?", list(rows))
            session.insert("failures", list(rows.values()))

    def set_meta(self, key: str, value: str) -> None:
        """Remember a fingerprint or another small fact."""
        with self._database.write() as session:
            session.rows(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value
            )
        with self.read():
            pass  # so that `fact` tells it

    def bump(self) -> int:
        """Commit a new generation, tell every server, and return it: one more than any before."""
        with self._database.write() as session:
            generation = _counted(session, "generation", 1)
            session.notify(generation)
            return generation

    # -- embedding -------------------------------------------------------------------------------------------------

    def pending(self, model: str, limit: int, among: Sequence[int] | None = None) -> list[tuple[StoredChunk, str]]:
        """Chunks that lack vectors of `model`, with their embedding prefix; see `CatalogReader.pending`."""
        with self.read() as reader:
            return reader.pending(model, limit, among)

    def pending_chunks(self, model: str, limit: int) -> list[int]:
        """Ids of such chunks, lowest first."""
        return [stored.chunk_id for stored, _ in self.pending(model, limit)]

    def mark_embedded(self, model: str, windows: Mapping[int, Sequence[str]]) -> None:
        """Chunk id → hashes of its windows, in order. Chunks that are gone meanwhile are passed over."""
        with self._database.write() as session:
            session.many(
                """INSERT INTO windows (chunk_id, model_id, hashes)
                   SELECT id, CAST(? AS BIGINT), CAST(? AS TEXT) FROM chunks WHERE id = ?
                   ON CONFLICT (chunk_id, model_id) DO UPDATE SET hashes = excluded.hashes""",
                [(text_key(model), " ".join(hashes), chunk_id) for chunk_id, hashes in windows.items()],
            )
            _counted(session, "marks", 1)

    def windows(self, model: str) -> list[tuple[int, str]]:
        """(window id, window hash) of every embedded chunk, ascending."""
        with self.read() as reader:
            return reader.windows(model)

    def forget(self, model: str) -> None:
        """Drop what is remembered of a model's windows: their chunks are pending again."""
        with self._database.write() as session:
            session.rows("DELETE FROM windows WHERE model_id = ?", text_key(model))
            _counted(session, "marks", 1)
            _counted(session, "forgotten", 1)

    # -- maintenance -----------------------------------------------------------------------------------------------

    def verify(self) -> list[str]:
        """Sentences about what is inconsistent; empty where all is well. Reads everything."""
        with self._database.read() as session:
            reader = CatalogReader(session, self._shared_products, self._memory)
            return [*self._database.inconsistencies(session), *reader.inconsistencies()]

    @property
    def damage(self) -> str:
        """What was found damaged since it was opened, with the way out; empty where nothing was met."""
        return self._database.damage

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


class SqliteCatalog(Catalog):
    """A catalog in the SQLite file `path`. Raises `Damaged` where that can't be read or has another version, and
    `SetupError` where it belongs to another program or can't be opened."""

    def __init__(self, path: Path, *, shared_products: Iterable[str] = ()) -> None:
        super().__init__(SqliteDatabase(path, CATALOG, VERSION, "catalog"), shared_products=shared_products)

    @classmethod
    def sound(cls, path: Path, *, shared_products: Iterable[str] = ()) -> SqliteCatalog:
        """The catalog in that file of an index folder; an empty one, to be filled from the documents, where that is
        damaged or of another version. Raises `SetupError` where the folder is somebody else's or can't be written."""
        try:
            claim_index(path.parent)
        except OSError as error:
            raise SetupError(
                f"The index folder {path.parent} can't be used: {error.strerror}.", hint="Make it writable."
            ) from error
        try:
            return cls(path, shared_products=shared_products)
        except Damaged as error:
            note = f"{quarantined(path, error.message)} from the files; vectors were kept."
        log.warning("%s", note)
        catalog = cls(path, shared_products=shared_products)
        catalog.rescued = note
        return catalog


def _put(session: Session, results: Sequence[ReadResult], now: str) -> list[Stored]:
    """Store documents of different paths. Statements are for all of them at once: each may cost a round trip."""
    paths = [result.document.file_path for result in results]
    dropped = _drop(session, paths)
    # numbers that were never given and never will be again
    doc_ids = count(_counted(session, "last_document", len(results)) - len(results) + 1)
    chunks = sum(len(result.chunks) for result in results)
    chunk_ids = count(_counted(session, "last_chunk", chunks) - chunks + 1)
    stored: list[Stored] = []
    rows: dict[str, list[Row]] = {"documents": [], "texts": [], "emails": [], "mail_ids": [], "chunks": []}
    for doc_id, result in zip(doc_ids, results, strict=False):
        document = result.document
        rows["documents"].append(document_row(doc_id, document, len(result.chunks), now))
        rows["texts"].append(text_row(doc_id, document))
        if (email := document.email) is not None:
            rows["emails"].append(email_row(doc_id, email))
            names = {email.message_id, *email.references, *email.in_reply_to} - {""}
            rows["mail_ids"] += [{"message_id": name, "doc_id": doc_id} for name in sorted(names)]
        given = tuple(islice(chunk_ids, len(result.chunks)))
        rows["chunks"] += [chunk_row(n, doc_id, chunk) for n, chunk in zip(given, result.chunks, strict=True)]
        deleted_id, deleted_chunks = dropped.get(document.file_path, (0, []))
        stored.append(Stored(doc_id, given, (deleted_id,) if deleted_id else (), tuple(deleted_chunks)))
    for table, made in rows.items():
        session.insert(table, made)
    session.rows("DELETE FROM failures WHERE file_path AMONG ?", paths)
    return stored


def _drop(session: Session, file_paths: list[str]) -> dict[str, tuple[int, list[int]]]:
    """Delete documents; returns path → (document's id, its chunks' ids in their order) of those that were there."""
    dropped: dict[str, tuple[int, list[int]]] = {}
    for path, doc_id, chunk_id in session.rows(
        """SELECT d.file_path, d.id, c.id FROM documents d LEFT JOIN chunks c ON c.doc_id = d.id
           WHERE d.file_path AMONG ? ORDER BY d.id, c.ordinal""",
        file_paths,
    ):
        chunk_ids = dropped.setdefault(path, (doc_id, []))[1]
        if chunk_id is not None:
            chunk_ids.append(chunk_id)
    if dropped:
        session.rows("DELETE FROM documents WHERE id AMONG ?", [doc_id for doc_id, _ in dropped.values()])
    return dropped


def _touch(session: Session, file_path: str, size: int, mtime_ns: int) -> None:
    session.rows(
        "UPDATE documents SET size = ?, mtime_ns = ? WHERE file_path = ? OR (archive <> '' AND archive = ?)",
        *(size, mtime_ns, file_path, file_path),
    )
    session.rows("UPDATE archives SET size = ?, mtime_ns = ? WHERE file_path = ?", size, mtime_ns, file_path)


def _counted(session: Session, counter: str, by: int) -> int:
    """Raise a counter in `meta`; returns its new value."""
    rows = session.rows(
        "UPDATE meta SET value = CAST(CAST(value AS BIGINT) + ? AS TEXT) WHERE key = ? RETURNING value", by, counter
    )
    return int(rows[0][0])


def _note(session: Session, doc_ids: Sequence[int]) -> None:
    """Record which documents changed in the same transaction, so that a reader knows which changes it sees."""
    if doc_ids:
        number = _counted(session, "changes", 1)
        session.rows("INSERT INTO changes VALUES (?, ?)", number, json.dumps(list(doc_ids)))
        session.rows("DELETE FROM changes WHERE number <= ?", number - _LONGEST_LOG)
