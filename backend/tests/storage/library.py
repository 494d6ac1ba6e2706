"""A library in a folder with all its real parts, for the tests of the indexer."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from librarian.embeddings.base import Embedder
from librarian.errors import SourceError
from librarian.indexing.indexer import Indexer, IndexerOptions, Listeners
from librarian.indexing.scanner import FolderScanner
from librarian.indexing.watcher import FileWatcher
from librarian.indexing.workers import PoolClosed, WorkerPool
from librarian.models import Filters, IndexReport, ReadResult, SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.reader import READABLE, FileReader
from librarian.storage.catalog import SqliteCatalog
from librarian.storage.embedding_cache import SqliteEmbeddingCache
from librarian.storage.keyword_index import TantivyIndex
from librarian.text.analyzer import StandardAnalyzer
from librarian.vector_stores.base import VectorStore
from librarian.vector_stores.exact import ExactStore
from tests.embeddings.fakes import FakeEmbedder


class InlinePool:
    """Does the work of a `WorkerPool` in this process, without limits."""

    def __init__(self, factory: Callable[[], Callable[[Any], Any]], timeout_s: Any) -> None:
        self._factory = factory
        self._work: Callable[[Any], Any] | None = None
        self._closed = False
        self.timeout_s = timeout_s

    def map(self, items: Iterable[Any], timeout_s: object = None) -> Iterator[tuple[Any, Any]]:
        self._closed = False
        self._work = self._work or self._factory()
        for item in items:
            if self._closed:
                raise PoolClosed("the worker pool was closed")
            try:
                outcome = self._work(item)
            except Exception as error:
                outcome = error
            yield item, outcome

    def close(self) -> None:
        self._closed = True
        if callable(close := getattr(self._work, "close", None)):
            close()
        self._work = None


def make_pool(factory: Callable[[], Callable[[Any], Any]], processes: int, **given: Any) -> Any:
    """A pool of so many processes; of none where that is 0."""
    return WorkerPool(factory, processes, **given) if processes else InlinePool(factory, given["timeout_s"])


Options = functools.partial(IndexerOptions, pool=make_pool)
INLINE = Options(processes=0, embedding_processes=0)
PATIENCE_S = 240.0  #: matters only where something is wrong


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it is true; for what other threads do."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        threading.Event().wait(0.01)


@contextmanager
def running(indexer: Indexer) -> Iterator[Indexer]:
    """Stops it at the end."""
    try:
        yield indexer
    finally:
        indexer.stop()


@contextmanager
def watching(watcher: FileWatcher) -> Iterator[FileWatcher]:
    """Starts it, and waits until it watches or says why it can't."""
    watcher.start()
    try:
        wait_for(lambda: watcher.how != "off" or bool(watcher.error))
        yield watcher
    finally:
        watcher.stop()


class Killed(BaseException):
    """Raised at a fault point: the process ends here."""


class Library:
    """`open` builds the parts over what lies in `index`; `kill` drops them as a kill would."""

    def __init__(self, folder: Path, *, options: IndexerOptions = INLINE) -> None:
        self.root = folder / "library"
        self.index = folder / "index"
        self.root.mkdir(exist_ok=True)
        self.index.mkdir(exist_ok=True)
        self.options = options
        self.embedder = FakeEmbedder()
        self.make: Callable[[], Embedder] | None = lambda: self.embedder
        self.model_key = "fake"
        self.reader: FileReader = FileReader(StandardAnalyzer(), StructureChunker(target_tokens=40, ceiling_tokens=80))
        self.store_kept: dict[str, VectorStore] = {}
        self.fault_at = ""
        self.now = 1_000_000.0
        self.generations: list[int] = []
        self.reads: list[str] = []
        self.open()

    def open(self) -> Indexer:
        self.catalog = SqliteCatalog.sound(self.index / "catalog.sqlite")
        self.lexical = TantivyIndex.sound(self.index / "words", identity=self.catalog.identity)
        self.archive = SqliteEmbeddingCache(self.index / "vectors.sqlite")
        listeners = Listeners()
        listeners.add(self.generations.append)
        self.indexer = Indexer(
            self.root,
            FolderScanner(self.root, known_extensions=READABLE),
            self.reader,
            self.catalog,
            self.lexical,
            self.archive,
            stores_for=lambda model: [self.store(model)],
            embedder=self.make,
            model_key=self.model_key,
            options=self.options,
            listeners=listeners,
            fault=self._fault,
            clock=lambda: self.now,
        )
        return self.indexer

    def close(self) -> None:
        self.indexer.stop()
        self.catalog.close()
        self.lexical.close()
        self.archive.close()

    def reopen(self) -> Indexer:
        self.close()
        return self.open()

    def store(self, model: str) -> VectorStore:
        if model not in self.store_kept:
            self.store_kept[model] = ExactStore(int(model.split(";")[2]))
        return self.store_kept[model]

    def _fault(self, step: str) -> None:
        if step == self.fault_at:
            raise Killed(step)

    # -- files -----------------------------------------------------------------------------------------------------

    def write(self, file_path: str, text: str) -> Path:
        path = self.root / file_path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def scanned(self, file_path: str) -> SourceFile:
        found = FolderScanner(self.root, known_extensions=READABLE).look(str(self.root / file_path))
        assert isinstance(found, SourceFile)
        return found

    def complete(self) -> IndexReport:
        report = self.indexer.refresh()
        self.indexer.embed()
        return report

    # -- what the index says ---------------------------------------------------------------------------------------

    def documents(self) -> set[str]:
        with self.catalog.read() as reader:
            return {stored.document.file_path for stored in reader.iter_documents()}

    def find(self, words: str) -> set[str]:
        """File paths that keyword search finds."""
        query = StandardAnalyzer().query(words)
        ranking = self.lexical.search(query, self.catalog.columns().select(Filters()), 100)
        with self.catalog.read() as reader:
            chunks = reader.chunks(ranking.ids)
            found = reader.documents([chunk.doc_id for chunk in chunks.values()])
            return {stored.document.file_path for stored in found.values()}

    def nearest(self, text: str) -> str:
        """File path of the passage that is nearest by vectors."""
        store = self.store(self.embedder.fingerprint)
        ids, _ = store.search(self.embedder.embed_query(text), 1, self.catalog.columns().select(Filters()))
        with self.catalog.read() as reader:
            chunk = reader.chunks([int(ids[0]) // 64])[int(ids[0]) // 64]
            return reader.documents([chunk.doc_id])[chunk.doc_id].document.file_path

    def assert_whole(self) -> None:
        """Catalog, keyword index and store agree with each other and with the folder."""
        assert self.catalog.verify() == []
        on_disk = {
            str(path.relative_to(self.root)): path.read_text() for path in self.root.rglob("*.md") if path.is_file()
        }
        with self.catalog.read() as reader:
            stored = {item.document.file_path: item for item in reader.iter_documents()}
            assert set(stored) == set(on_disk)
            for file_path, text in on_disk.items():
                document = reader.document_by_path(file_path)
                assert document is not None
                assert document.document.text == text
                assert document.document.product == file_path.split("/")[0]
            entries = {item.doc_id: item.chunk_count for item in stored.values() if item.chunk_count}
            count = reader.count(self.embedder.fingerprint)
        assert self.lexical.entry_counts() == entries
        assert self.lexical.count() == count.chunks
        assert count.embedded_chunks == count.chunks
        windows = dict(self.catalog.windows(self.embedder.fingerprint))
        store = self.store(self.embedder.fingerprint)
        assert np.array_equal(store.ids(), np.array(sorted(windows), dtype=np.int64))
        assert self.indexer.check() == []


def renamed(embedder: FakeEmbedder, name: str) -> FakeEmbedder:
    """Another model of the same kind."""
    other = FakeEmbedder(embedder.spec.dimension, embedder.spec.max_tokens, name)
    other.spec = replace(other.spec, name=name)
    return other


class Trap:
    """A reader that hangs and crashes on some files; picklable, for children."""

    fingerprint = "trap"

    def __init__(self, inner: FileReader) -> None:
        self.inner = inner

    def read(self, source: SourceFile) -> ReadResult:
        if "hangs" in source.file_path:
            threading.Event().wait()
        if "crashes" in source.file_path:
            os._exit(9)
        return self.inner.read(source)


class Refusing:
    """A reader that can't read some files for a reason; it counts how often it is asked for them."""

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
        self.refused: dict[str, str] = {}
        self.asked: list[str] = []
        self.on_read: Callable[[], None] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def read(self, source: SourceFile) -> ReadResult:
        self.asked.append(source.file_path)
        self.on_read()
        if reason := self.refused.get(source.file_path):
            raise SourceError("not now", reason=reason)
        return self._reader.read(source)
