"""A server of a library in PostgreSQL, as a process of its own: `python postgres_process.py URL SCHEMA ROOT`.

Prints a line of JSON for what happens. Embeds one batch with the fake embedder, then holds the next until it reads
`go`, so that it can be killed in the middle. A line `changed PATH` tells it where to look, `find WORDS` searches.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from librarian.indexing.indexer import Indexer, Listeners
from librarian.indexing.scanner import FolderScanner
from librarian.models import Filters, Vectors
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.reader import PARSERS, FileReader
from librarian.storage.catalog import Catalog
from librarian.storage.embedding_cache import EmbeddingCache
from librarian.storage.postgres.database import Database
from librarian.storage.postgres.keyword_index import PostgresKeywordIndex
from librarian.storage.postgres.leader import LeaderLock
from librarian.text.analyzer import StandardAnalyzer
from librarian.vector_stores.pgvector import PgVectorStore
from tests.embeddings.fakes import FakeEmbedder
from tests.storage.library import Options


class HeldEmbedder(FakeEmbedder):
    """Embeds the first batch at once, the others after `go`."""

    def __init__(self, go: threading.Event | None = None) -> None:
        super().__init__()
        self._go = go
        self._first = True

    def embed_chunks(self, texts: Sequence[str]) -> Vectors:
        if self._go is not None and not self._first:
            say("holding", count=len(texts))
            self._go.wait()
        self._first = False
        return super().embed_chunks(texts)


def say(what: str, **more: object) -> None:
    print(json.dumps({"what": what, **more}), flush=True)


class Shared:
    """The parts of a server over one schema."""

    def __init__(self, url: str, schema: str, root: Path, *, go: threading.Event | None = None) -> None:
        self.database = Database(url, schema=schema, wait_s=5)
        self.embedder = HeldEmbedder(go)
        self.catalog = Catalog(self.database)
        self.lexical = PostgresKeywordIndex(self.database)
        self.archive = EmbeddingCache(self.database)
        self.made: dict[str, PgVectorStore] = {}
        self.listeners = Listeners()
        self.leader = LeaderLock(self.database, on_generation=self.listeners, retry_s=0.2)
        self.indexer = Indexer(
            root,
            FolderScanner(root, known_extensions=frozenset(PARSERS)),
            FileReader(StandardAnalyzer(), StructureChunker(target_tokens=40, ceiling_tokens=80)),
            self.catalog,
            self.lexical,
            self.archive,
            stores_for=lambda model: [self.store(model)],
            embedder=lambda: self.embedder,
            model_key="fake",
            options=Options(processes=0, embedding_processes=0, reconcile_s=3600),
            listeners=self.listeners,
            leader=self.leader,
        )

    def store(self, model: str) -> PgVectorStore:
        if model not in self.made:
            self.made[model] = PgVectorStore(self.database, model, self.embedder.spec.dimension)
        return self.made[model]

    def find(self, words: str) -> list[str]:
        """Paths of the documents that hold these words."""
        selection = self.catalog.columns().select(Filters())
        found = self.lexical.search(StandardAnalyzer().query(words), selection, 9).ids
        with self.catalog.read() as reader:
            documents = reader.documents(sorted({chunk.doc_id for chunk in reader.chunks(found).values()}))
        return sorted(stored.document.file_path for stored in documents.values())

    def close(self) -> None:
        self.indexer.stop()
        for part in (*self.made.values(), self.lexical, self.archive, self.catalog):
            part.close()
        self.database.close()


def main(url: str, schema: str, root: str) -> None:
    go = threading.Event()
    shared = Shared(url, schema, Path(root), go=go)

    def obey() -> None:
        for line in sys.stdin:
            what, _, path = line.strip().partition(" ")
            if what == "go":
                go.set()
            elif what == "find":
                say("found", words=path, paths=shared.find(path))
            else:
                shared.indexer.changed([path])

    threading.Thread(target=obey, daemon=True).start()
    shared.listeners.add(lambda generation: say("generation", number=generation))
    shared.indexer.start()
    say("ready")
    leading = False
    while True:
        if shared.leader.leading != leading:
            leading = not leading
            say("leading", now=leading)
        time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])
