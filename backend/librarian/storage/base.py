"""What the catalog promises: the truth about text, read in transactions, and its columns in memory."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from ..models import (
    FEATURES,
    AnalyzedQuery,
    Count,
    Document,
    Failure,
    FileCounts,
    Filters,
    HalfVectors,
    Ids,
    Included,
    KeywordEntry,
    Kind,
    Ranking,
    ReadResult,
    Selection,
    SourceFile,
    Stored,
    StoredChunk,
    StoredDocument,
    StoredMail,
    Vector,
)


class CatalogReader(Protocol):
    """A consistent view of the catalog at one generation. Not shared between threads."""

    generation: int

    def chunks(self, ids: Sequence[int]) -> dict[int, StoredChunk]:
        """Stored chunks by id; unknown ids are missing."""

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Texts of chunks by id; unknown ids are missing. Cheaper than `chunks`."""

    def documents(self, ids: Sequence[int], *, text: bool = False) -> dict[int, StoredDocument]:
        """Documents by id; unknown ids are missing. Without `text` also without links, headings and spans."""

    def document_by_path(self, file_path: str, *, text: bool = True) -> StoredDocument | None:
        """The document of exactly that path; None where none is indexed."""

    def chunks_of(self, doc_id: int) -> list[StoredChunk]:
        """All chunks of a document in order."""

    def chunks_between(self, doc_id: int, first: int, last: int, start: int, end: int) -> list[StoredChunk]:
        """Chunks of a document in order, those with ordinals from `first` to `last` of which a part lies between two
        offsets of its text."""

    def iter_documents(self, filters: Filters = Filters()) -> Iterator[StoredDocument]:
        """Documents without text, by path."""

    def passage_counts(self) -> dict[int, tuple[str, int]]:
        """Document id → (path of the file that it was read from, how many passages it has), for all at once."""

    def names(self, kind: str, limit: int) -> list[tuple[str, str]]:
        """(file path, title) of documents of that kind (empty: of every kind), by path."""

    def thread(self, thread_id: str) -> list[StoredDocument]:
        """The mails of a thread with their text, oldest first."""

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

    def members(self, archive: str) -> dict[str, str]:
        """file_path → content hash of the documents that an archive holds."""

    def products(self) -> dict[str, dict[str, int]]:
        """Product → component → number of documents (mails included)."""

    def copies(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Further documents (file paths, sorted) that hold a chunk of the same hash; only chunks that have some."""

    def count(self, model: str = "") -> Count:
        """`embedded_chunks` are those of `model`; without one, those that some model has embedded."""

    def failures(self) -> list[Failure]:
        """What couldn't be read and what was left out, by path."""

    def included(self) -> dict[str, tuple[Included, ...]]:
        """file_path → the files that it includes, of every document that includes any."""

    def meta(self, key: str, default: str = "") -> str:
        """What `Catalog.set_meta` remembered."""


class Columns(Protocol):
    """The catalog's columns in memory, for ranking: arrays by chunk id, rebuilt at each generation."""

    @property
    def generation(self) -> int:
        """The catalog's generation that the arrays are of."""

    def doc_of(self, chunk_ids: Ids) -> Ids:
        """Document id of each chunk id, 0 where unknown."""

    def group_of(self, chunk_ids: Ids) -> Ids:
        """Like `doc_of`, but mails of one thread share a group."""

    def text_of(self, chunk_ids: Ids) -> Ids:
        """One number for all chunks of equal text; 0 where unknown."""

    def modified_of(self, chunk_ids: Ids) -> Ids:
        """When each chunk's document was last modified, in µs since 1970; lower than any date where unknown."""

    def passages_of(self, doc_ids: Ids) -> Ids:
        """How many passages each of these documents has."""

    def changelogs(self, doc_ids: Ids) -> Ids:
        """Those of these documents that are changelogs by their names (`changelogs.is_changelog`), in their order."""

    def in_links(self, doc_ids: Ids, sources: Ids) -> Ids:
        """How many of the documents `sources`, each named once or more, link to each of these (`cross_references`)."""

    def senders(self, doc_ids: Ids) -> list[str]:
        """Each mail's sender, `Name <address>` in its `unaccented` form; empty for documents."""

    def select(self, filters: Filters) -> Selection:
        """The chunks that pass the filters."""

    def newest(self, filters: Filters, per_group: int) -> Ids:
        """Documents that pass and have passages, latest first; of copies of a mail one, of one thread at most
        `per_group` (0: all)."""

    def only(self, chunk_ids: Ids) -> Selection:
        """Just these chunks: a mask of full length with no filters, for scoring given candidates."""

    def languages(self) -> tuple[str, ...]:
        """Languages that documents are written in, most frequent first."""

    def tally(self, kind: Kind) -> FileCounts:
        """What filters on documents of this kind may choose from."""


class Catalog(Protocol):
    """The truth about text: documents, chunks, threads, failures, fingerprints. One writer, many readers."""

    @property
    def damage(self) -> str:
        """What of it couldn't be read, with the way out; empty where nothing was met."""

    def read(self) -> AbstractContextManager[CatalogReader]:
        """A read transaction."""

    def columns(self) -> Columns: ...

    def transaction(self) -> AbstractContextManager[object]:
        """What this thread writes meanwhile becomes visible at its end, at once; none of it where the block fails."""

    def put(self, results: Sequence[ReadResult]) -> list[Stored]:
        """Store documents with their chunks in one transaction, replacing what their paths held.

        Returns the ids per result, in order. Ids are never reused. A stored path is no longer a failure."""

    def remove(self, file_paths: Sequence[str]) -> tuple[list[int], list[int]]:
        """Drop documents, and archives with all that they hold; returns (document ids, chunk ids) dropped."""

    def move(self, old: str, new: SourceFile, *, title: str | None = None) -> int | None:
        """Give a document another path (and title) without touching its chunks' ids; returns its id, or None where
        `old` is unknown or the new path is already taken."""

    def known(self) -> dict[str, tuple[int, int, str]]:
        """file_path → (size, mtime_ns, content_hash) of every file: documents, archives (their members are no files),
        and failed ones (hash empty)."""

    def touch(self, file_path: str, size: int, mtime_ns: int) -> None:
        """Remember a new mtime of unchanged content; of an archive, for all that it holds."""

    def withdraw(self, chunk_ids: Sequence[int]) -> None:
        """Drop passages of documents that stay: quotes whose originals have come. Unknown ids are no error."""

    def outdate(self, file_paths: Sequence[str]) -> None:
        """Forget the size and time (`OUTDATED`) of documents and of archives that hold them, or of archives: read them
        again."""

    def put_archive(self, archive: Document) -> None:
        """Remember an archive's size, time and content, after its members were put."""

    def rethread(self, threads: Mapping[int, str]) -> None:
        """Document id of a mail → its thread, now that more of the conversation is known."""

    def set_failures(self, failures: Iterable[Failure], *, replace: bool) -> None:
        """Remember what couldn't be read; with `replace`, instead of all that was remembered before."""

    def pending(self, model: str, limit: int) -> list[tuple[StoredChunk, str]]:
        """Chunks that lack vectors of `model`, with their embedding prefix, lowest id first."""

    def lacking(self, model: str, limit: int) -> list[int]:
        """Ids of such chunks, those included that another process has in its hands; lowest first."""

    def mark_embedded(self, model: str, windows: Mapping[int, Sequence[str]]) -> None:
        """Chunk id → hashes of its windows, in order."""

    def windows(self, model: str) -> Iterator[tuple[int, str]]:
        """(window id, window hash) of every embedded chunk."""

    def forget(self, model: str) -> None:
        """Drop what is remembered of a model's windows: their chunks are pending again."""

    @property
    def identity(self) -> str:
        """Made at random with the file: a projection that was made for another one must be rebuilt."""

    def set_meta(self, key: str, value: str) -> None:
        """Remember a fingerprint or another small fact."""

    def bump(self) -> int:
        """Commit a new generation and return it."""

    def verify(self) -> list[str]:
        """Sentences about what is inconsistent; empty where all is well. Reads everything."""

    def close(self) -> None: ...


class KeywordIndex(Protocol):
    """Postings: which chunks hold which terms."""

    @property
    def damage(self) -> str:
        """Why its files can't be read, where that was met since it was opened; opening it anew empties it."""

    def put(self, items: Iterable[tuple[int, int, Document, KeywordEntry]]) -> None:
        """(chunk id, document id, its document, its entry); visible after `commit`. Adds: what an id held before must
        be deleted first (in the same commit is fine)."""

    def delete(self, doc_ids: Iterable[int]) -> None:
        """Drop every entry of these documents; visible after `commit`."""

    def delete_chunks(self, chunk_ids: Iterable[int]) -> None:
        """Drop single entries of documents that stay; visible after `commit`."""

    def commit(self, generation: int) -> None:
        """Show what was put and deleted to the next search, under this generation of the catalog."""

    @property
    def generation(self) -> int:
        """Of the last commit; 0 where there was none."""

    def search(self, query: AnalyzedQuery, selection: Selection, limit: int) -> Ranking:
        """Best chunks by BM25 over weighted fields; `scores` are BM25 over the most this query could reach."""

    def features(self, query: AnalyzedQuery, chunk_ids: Ids, names: Collection[str] = FEATURES) -> dict[str, Vector]:
        """Scores of given chunks, for a ranker: each of `names` → array in the order of `chunk_ids`. `bm25` is what
        `search` gives as `scores` (0–1 over what this query could reach; 0 where nothing matches);
        `body`, `title`, `headings`, `path` are those fields' BM25 alone on the same scale; `identifiers` is the share
        of the query's identifiers that the chunk holds verbatim (in body, title or headings), 0 without any."""

    def admitted(self, query: AnalyzedQuery, chunk_ids: Ids) -> Ids:
        """Those of these chunks that hold all quoted phrases of the query and nothing that it excludes, by id."""

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Those of these terms that some chunk's body, title, headings or path holds, each with about how many do: for
        telling which are frequent. Deleted ones may count a while; counts may end at some hundreds."""

    def vocabulary(self, prefix: str, limit: int, *, identifiers: bool = False) -> list[str]:
        """Indexed terms of bodies, or identifiers, that start so, most frequent first."""

    def count(self) -> int:
        """How many chunks have an entry."""

    def dead(self) -> int:
        """How many deleted entries the scores still count."""

    def tally(self) -> dict[int, int]:
        """Document id → how many entries it has, for reconciling."""

    def clear(self) -> None:
        """Drop everything, at once."""

    def rollback(self) -> None:
        """Forget what was put and deleted since the last commit."""

    def close(self) -> None:
        """Let go of the files; what wasn't committed is lost."""


class EmbeddingCache(Protocol):
    """The truth about vectors: (window hash, model) → vector, kept apart from the catalog."""

    def get(self, model: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """The vectors that are known of `hashes`, as unit-length float32; notes that they were used today."""

    def scan(self, model: str, wanted: Container[str]) -> Iterator[tuple[list[str], HalfVectors]]:
        """(hashes, rows as they are kept) batch by batch from one reading of all: faster where much of it is wanted."""

    def models(self) -> list[str]:
        """Fingerprints of the models that vectors are kept of."""

    def put(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors, replacing equal hashes, in one transaction. Raises `ValueError` on a NaN or another shape."""

    def prune(self, model: str, alive: set[str]) -> int:
        """Drop vectors that no chunk has used for 30 days or that exceed a quarter of the file."""

    def count(self, model: str | None = None) -> int:
        """How many vectors are kept, of one model or of all."""

    def close(self) -> None:
        """Let go of the file."""
