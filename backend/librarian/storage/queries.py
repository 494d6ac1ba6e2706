"""Reads from the catalog: a consistent view of documents, chunks, threads and failures at one generation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from threading import RLock

from ..models import (
    OUTDATED,
    WINDOWS_PER_CHUNK,
    Count,
    Failure,
    Filters,
    Included,
    StoredChunk,
    StoredDocument,
    StoredMail,
    embedding_prefix,
)
from .columns import DOCUMENTS, Columns, columns_of, columns_with
from .database import Session
from .rows import (
    CHUNK_COLUMNS,
    UNFINISHED,
    stored_chunk,
    stored_document,
    stored_email,
    stored_included,
    stored_text,
    text_key,
    unpack_text,
)

_BATCH = 500
MOST_COPIES = 100  #: paths that are named of those with equal content, however many there are
_MANY_PLACES = 64  #: beyond, reading all files takes less time than looking for each

_CHUNKS = f"""SELECT {", ".join(f'"{name}"' for name in CHUNK_COLUMNS)} FROM chunks c"""
_MAILS = """SELECT d.id, d.file_path, d.product, d.component, d.chunk_count, d.facts, e.thread_id
    FROM emails e JOIN documents d ON d.id = e.doc_id WHERE"""
_SAME_CONTENT = "SELECT content_hash, file_path FROM documents WHERE content_hash AMONG ?"
_SAME_MAIL = """SELECT e.fingerprint, d.file_path FROM emails e JOIN documents d ON d.id = e.doc_id
    WHERE e.fingerprint AMONG ?"""
#: Entries of `meta` that every read transaction begins with: its state, and which models' vectors answer.
_FACTS = ("generation", "changes", "marks", "forgotten", "model", "model_key", "model_previous", "model_previous_key")
_STATE = f"SELECT key, value FROM meta WHERE key IN ({', '.join(map(repr, _FACTS))})"


@dataclass(slots=True)
class Memory:
    """What readers of a catalog found, each under the state of the catalog in which it was true."""

    columns: tuple[int, Columns] | None = None  #: number of changes, and the columns then
    columns_lock: RLock = field(default_factory=RLock)
    #: (numbers of changes and of embedding marks), embedded chunks by the model's key; by that of no text: of any
    embedded: tuple[tuple[int, int], dict[int, int]] | None = None
    #: (model, how often embedding marks were dropped) → first chunk that may be pending then
    embedded_below: dict[tuple[str, int], int] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)  #: of `meta`, as the last read transaction saw them


class CatalogReader:
    """One read transaction. Not shared between threads."""

    def __init__(self, session: Session, shared_products: frozenset[str], memory: Memory) -> None:
        self._rows = session.rows
        self._shared_products = shared_products
        self._memory = memory
        self._paths: dict[str, dict[str, list[str]]] = {}  # statement → value → paths
        state = memory.facts = dict(session.rows(_STATE))
        self.generation = int(state.get("generation", 0))
        self.changes, self._marks = int(state.get("changes", 0)), int(state.get("marks", 0))
        self._forgotten = int(state.get("forgotten", 0))  # how often a model's embedding marks were dropped

    # -- chunks ----------------------------------------------------------------------------------------------------

    def chunks(self, ids: Sequence[int]) -> dict[int, StoredChunk]:
        """Stored chunks by id; unknown ids are missing."""
        rows = self._rows(f"{_CHUNKS} WHERE c.id AMONG ?", list(map(int, ids)))
        return {row[0]: stored_chunk(row) for row in rows}

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Texts of chunks by id; unknown ids are missing. Cheaper than `chunks`."""
        return dict(self._rows("SELECT id, text FROM chunks WHERE id AMONG ?", list(map(int, ids))))

    def chunks_of(self, doc_id: int) -> list[StoredChunk]:
        """All chunks of a document in order."""
        return list(map(stored_chunk, self._rows(f"{_CHUNKS} WHERE doc_id = ? ORDER BY ordinal", doc_id)))

    def chunks_between(self, doc_id: int, first: int, last: int, start: int, end: int) -> list[StoredChunk]:
        """Chunks of a document in order, with ordinals from `first` to `last`, that overlap two offsets of its text."""
        statement = f"""{_CHUNKS} WHERE doc_id = ? AND ordinal BETWEEN ? AND ? AND start < ? AND "end" > ?
            ORDER BY ordinal"""
        return list(map(stored_chunk, self._rows(statement, doc_id, first, last, end, start)))

    def copies(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Further documents (file paths, sorted, at most `MOST_COPIES`) that hold a chunk of the same hash; only chunks
        that have some."""
        copies: dict[int, tuple[str, ...]] = {}
        for chunk_id, doc_id, digest in self._rows(
            "SELECT id, doc_id, hash FROM chunks WHERE id AMONG ? AND hash <> ''", list(map(int, chunk_ids))
        ):
            rows = self._rows(
                """SELECT DISTINCT d.file_path FROM documents d JOIN
                   (SELECT doc_id FROM chunks WHERE hash = ? AND doc_id <> ? ORDER BY id LIMIT ?) other
                   ON d.id = other.doc_id ORDER BY d.file_path""",
                *(digest, doc_id, MOST_COPIES),
            )
            if rows:
                copies[chunk_id] = tuple(path for (path,) in rows)
        return copies

    def pending(self, model: str, limit: int, among: Sequence[int] | None = None) -> list[tuple[StoredChunk, str]]:
        """Chunks that lack vectors of `model`, with their embedding prefix, lowest id first; of the documents `among`
        alone, where they are given."""
        first = self._memory.embedded_below.get((model, self._forgotten), 0)
        rows = self._rows(
            f"""{_CHUNKS} WHERE c.id >= ? {"" if among is None else "AND c.doc_id AMONG ?"}
                AND NOT EXISTS (SELECT 1 FROM windows w WHERE w.chunk_id = c.id AND w.model_id = ?)
                ORDER BY c.id LIMIT ?""",
            *(first, *([] if among is None else [list(map(int, among))]), text_key(model), limit),
        )
        if rows and among is None:  # ids only grow: the next call needn't look below
            self._memory.embedded_below = {(model, self._forgotten): rows[0][0]}
        found = [stored_chunk(row) for row in rows]
        documents = self.documents(sorted({stored.doc_id for stored in found}))
        return [
            (stored, embedding_prefix(documents[stored.doc_id].document, stored.chunk.heading_path)) for stored in found
        ]

    def windows(self, model: str) -> list[tuple[int, str]]:
        """(window id, window hash) of every embedded chunk, ascending."""
        asked = "SELECT chunk_id, hashes FROM windows WHERE model_id = ? ORDER BY chunk_id"
        return [
            (number, digest)
            for chunk_id, hashes in self._rows(asked, text_key(model))
            for number, digest in enumerate(hashes.split(), chunk_id * WINDOWS_PER_CHUNK)
        ]

    # -- documents -------------------------------------------------------------------------------------------------

    def documents(self, ids: Sequence[int], *, text: bool = False) -> dict[int, StoredDocument]:
        """Documents by id; unknown ids are missing. Without `text` also without links and blocks."""
        rows = self._rows(
            f"""SELECT d.id, d.file_path, d.size, d.mtime_ns, d.content_hash, d.facts, d.chunk_count, d.indexed_at,
                e.thread_id, e.fingerprint, {"t.text, t.structure" if text else "NULL, NULL"}
                FROM documents d LEFT JOIN emails e ON e.doc_id = d.id
                {"LEFT JOIN texts t ON t.doc_id = d.id" if text else ""} WHERE d.id AMONG ?""",
            list(map(int, ids)),
        )
        same_content = self._paths_by(_SAME_CONTENT, [row[4] for row in rows])
        same_mail = self._paths_by(_SAME_MAIL, [row[9] for row in rows])
        found = {}
        for doc_id, path, size, mtime_ns, digest, facts, chunk_count, indexed_at, thread_id, mail, *packed in rows:
            known = (facts, thread_id, size, mtime_ns)
            document = stored_document(*known) if packed[0] is None else stored_text(*packed, *known)
            alike = {*same_content.get(digest, ()), *same_mail.get(mail, ())} - {path}
            also_in = tuple(sorted(alike)[:MOST_COPIES])
            found[doc_id] = StoredDocument(doc_id, document, chunk_count, indexed_at, also_in)
        return found

    def _paths_by(self, statement: str, values: Iterable[str]) -> dict[str, list[str]]:
        """Value → the first paths, from (value, path) rows; of values that aren't empty. Each is read once."""
        known = self._paths.setdefault(statement, {})
        if wanted := [value for value in dict.fromkeys(values) if value and value not in known]:
            found: dict[str, list[str]] = {value: [] for value in wanted}
            for value, path in self._rows(statement, wanted):
                found[value].append(path)
            known.update({value: nsmallest(MOST_COPIES + 1, paths) for value, paths in found.items()})
        return known

    def document_by_path(self, file_path: str, *, text: bool = True) -> StoredDocument | None:
        """The document of exactly that path; None where none is indexed."""
        rows = self._rows("SELECT id FROM documents WHERE file_path = ?", file_path)
        return self.documents([rows[0][0]], text=text)[rows[0][0]] if rows else None

    def iter_documents(self, filters: Filters = Filters()) -> Iterator[StoredDocument]:
        """Documents without text, by path. Raises `CallerError` for a date filter that isn't a date."""
        ids = [row[0] for row in self._rows("SELECT id FROM documents ORDER BY file_path")]
        if not filters.is_empty():
            passing = self.columns().select(filters).doc_ids
            if passing is not None:
                among = set(passing.tolist())
                ids = [doc_id for doc_id in ids if doc_id in among]
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            found = self.documents(batch)
            yield from (found[doc_id] for doc_id in batch)

    def names(self, kind: str, limit: int) -> list[tuple[str, str]]:
        """(file path, title) of documents of that kind (empty: of every kind), by path."""
        return self._rows(
            "SELECT file_path, title FROM documents WHERE ? IN ('', kind) ORDER BY file_path LIMIT ?", kind, limit
        )

    def members(self, archive: str) -> dict[str, str]:
        """file_path → content hash of the documents that an archive holds."""
        return dict(
            self._rows("SELECT file_path, content_hash FROM documents WHERE archive <> '' AND archive = ?", archive)
        )

    def known(self, places: Sequence[str] | None = None) -> dict[str, tuple[int, int, str]]:
        """file_path → (size, mtime_ns, content_hash) of every file: documents, archives (their members are no files),
        and failed ones (hash empty). With `places`, at least of those that lie at or below these paths."""
        # A whole archive outranks one whose members were put, but not yet itself, and that outranks a failure.
        found: dict[str, tuple[int, int, str]] = {}
        for path, statement in (
            ("file_path", "SELECT file_path, size, mtime_ns, '' FROM failures WHERE kind = 'failed'"),
            ("archive", f"SELECT DISTINCT archive, -1, -1, '{UNFINISHED}' FROM documents WHERE archive <> ''"),
            ("file_path", "SELECT file_path, size, mtime_ns, content_hash FROM archives WHERE true"),
            ("file_path", "SELECT file_path, size, mtime_ns, content_hash FROM documents WHERE archive = ''"),
        ):
            if places is None or len(places) > _MANY_PLACES:
                rows = self._rows(statement)
            else:
                below = f"{statement} AND ({path} = ? OR {path} > ? AND {path} < ?)"  # "0" follows "/"
                rows = [row for place in places for row in self._rows(below, place, f"{place}/", f"{place}0")]
            found.update({path: (size, mtime_ns, digest) for path, size, mtime_ns, digest in rows})
        return found

    def file_count(self) -> int:
        """How many files there are with a document or as an archive."""
        ((count,),) = self._rows(
            """SELECT (SELECT count(*) FROM documents) - (SELECT count(*) FROM documents WHERE archive <> '')
               + (SELECT count(*) FROM archives)"""
        )
        return int(count)

    def outdated(self, file_paths: Sequence[str]) -> list[str]:
        """Paths of the files that these documents are to be read from again."""
        rows = self._rows(
            """SELECT DISTINCT CASE WHEN archive <> '' THEN archive ELSE file_path END AS file FROM documents
               WHERE size = ? AND file_path AMONG ? ORDER BY file""",
            *(OUTDATED, list(file_paths)),
        )
        return [path for (path,) in rows]

    def passage_counts(self) -> dict[int, tuple[str, int]]:
        """Document id → (path of the file that it was read from, how many passages it has), for all at once."""
        rows = self._rows(
            "SELECT id, CASE WHEN archive <> '' THEN archive ELSE file_path END, chunk_count FROM documents"
        )
        return {doc_id: (source, count) for doc_id, source, count in rows}

    def included(self) -> dict[str, tuple[Included, ...]]:
        """file_path → the files that it includes, of every document that includes any."""
        rows = self._rows("SELECT file_path, included FROM documents WHERE included <> ''")
        return {path: stored_included(packed) for path, packed in rows}

    def columns(self) -> Columns:
        """The columns of what is committed: kept, and brought up to date by what any process changed since. Newer than
        this transaction where another has loaded them already."""
        # Always with a connection in hand: a thread that waits for the lock may hold the last one.
        with self._memory.columns_lock:
            at, columns = self._memory.columns or (-1, None)
            if columns is not None and (self.changes, self.generation) <= (at, columns.generation):
                return columns
            changes = self._rows("SELECT doc_ids FROM changes WHERE number > ?", at)
            changed = sorted({doc_id for (doc_ids,) in changes for doc_id in json.loads(doc_ids)})
            unknown = len(changes) < self.changes - at
            # Above so many changed documents, reading all columns anew is no slower.
            if columns is None or unknown or len(changed) > 100 + columns.documents // 4:
                chunks = self._rows("SELECT id, doc_id, text_key FROM chunks")
                columns = columns_of(self._rows(DOCUMENTS), chunks, self.generation, self._shared_products)
            elif changed:
                documents = self._rows(f"{DOCUMENTS} WHERE d.id AMONG ?", changed)
                chunks = self._rows("SELECT id, doc_id, text_key FROM chunks WHERE doc_id AMONG ?", changed)
                columns = columns_with(columns, documents, chunks, self.generation, changed)
            elif columns.generation != self.generation:
                columns = replace(columns, generation=self.generation)
            self._memory.columns = self.changes, columns
            return columns

    # -- mails -----------------------------------------------------------------------------------------------------

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
        """Mails of any of these paths (an archive's path: its mails), Message-IDs (their own, or named as parents),
        threads, topics or fingerprints; by document id."""
        found: dict[int, StoredMail] = {}
        for names, where in (
            (paths, "d.file_path AMONG ?"),
            (paths, "d.archive <> '' AND d.archive AMONG ?"),
            (mentioning, "e.doc_id IN (SELECT doc_id FROM mail_ids WHERE message_id AMONG ?)"),
            (threads, "e.thread_id AMONG ?"),
            (topics, "e.topic AMONG ?"),
            (fingerprints, "e.fingerprint AMONG ?"),
        ):
            rows = self._rows(f"{_MAILS} {where}", list(names)) if names else []
            for doc_id, path, product, component, chunk_count, facts, thread_id in rows:
                email = stored_email(facts, thread_id)
                found[doc_id] = StoredMail(doc_id, path, product, component, chunk_count, email)
        return [found[doc_id] for doc_id in sorted(found)]

    # -- totals ----------------------------------------------------------------------------------------------------

    def products(self) -> dict[str, dict[str, int]]:
        """Product → component → number of documents (mails included), by name."""
        return {product: dict(components) for product, components in self.columns().products.items()}

    def count(self, model: str = "") -> Count:
        """Totals. `documents` are those that aren't mails; `by_product` counts both. `embedded_chunks` are those of
        `model`; without one, those that some model has embedded."""
        state, known = (self.changes, self._marks), self._memory.embedded
        if known is None or known[0] != state:
            embedded: dict[int, int] = dict(self._rows("SELECT model_id, count(*) FROM windows GROUP BY model_id"))
            every = sum(embedded.values())
            if len(embedded) > 1:
                every = self._rows("SELECT count(DISTINCT chunk_id) FROM windows")[0][0]
            embedded[text_key("")] = every
            known = self._memory.embedded = (state, embedded)
        return replace(self.columns().count, embedded_chunks=known[1].get(text_key(model), 0))

    def failures(self) -> list[Failure]:
        """What couldn't be read and what was left out, by path."""
        rows = self._rows("SELECT file_path, kind, reason, detail, size, mtime_ns FROM failures ORDER BY file_path")
        return [Failure(*row) for row in rows]

    def meta(self, key: str, default: str = "") -> str:
        """What `Catalog.set_meta` stored."""
        rows: list[tuple[str]] = self._rows("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else default

    # -- consistency -----------------------------------------------------------------------------------------------

    def inconsistencies(self, most: int = 20) -> list[str]:
        """The first sentences about chunk counts, lost texts, and chunks that aren't their text. Reads everything."""
        found: list[str] = []
        for doc_id, path, count in self._rows("SELECT id, file_path, chunk_count FROM documents ORDER BY id"):
            chunks = [stored.chunk for stored in self.chunks_of(doc_id)]
            if len(chunks) != count:
                found.append(f"{path} should have {count} chunks and has {len(chunks)}.")
            packed = self._rows("SELECT text FROM texts WHERE doc_id = ?", doc_id)
            if not packed:
                found.append(f"{path} has lost its text.")
            for text in (unpack_text(text) for (text,) in packed):
                found += [
                    f"Chunk {one.ordinal} of {path} is not the text at {one.start}–{one.end}."
                    for one in chunks
                    if text[one.start : one.end] != one.text
                ]
            if len(found) >= most:
                break
        return found[:most]
