"""A server or a worker of a shared library, as a process of its own: `python postgres_process.py ROLE URL SCHEMA ROOT`.

Prints a line of JSON for what happens. Embeds one batch with the fake embedder, then holds the next until it reads
`go`, so that it can be killed with passages in its hands. A line `changed PATH` tells a server where to look.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from librarian.language.analyzer import StandardAnalyzer
from librarian.reading.chunking import StructureChunker
from librarian.reading.parsers import PARSERS
from librarian.reading.reader import FileReader
from librarian.reading.scanner import FolderScanner
from librarian.shelving.indexer import FileIndexer, IndexerOptions
from librarian.shelving.postgres.archive import PostgresVectorArchive
from librarian.shelving.postgres.catalog import PostgresCatalog
from librarian.shelving.postgres.claims import ClaimingCatalog
from librarian.shelving.postgres.database import Database
from librarian.shelving.postgres.lexical import PostgresLexicalIndex
from librarian.shelving.postgres.shared_upkeep import SharedUpkeep
from librarian.shelving.postgres.vectors import PgVectorStore
from librarian.shelving.postgres.worker import EmbeddingWorker
from librarian.shelving.postgres.writers import Writers
from librarian.shelving.upkeep import Listeners, Tally, Upkeep
from librarian.vocabulary.types import Vectors
from tests.models.fakes import FakeEmbedder


class HeldEmbedder(FakeEmbedder):
    """Embeds the first batch at once, the others after `go`."""

    def __init__(self, go: threading.Event | None = None) -> None:
        super().__init__()
        self._go = go
        self._first = True

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if self._go is not None and not self._first:
            say("holding", count=len(texts))
            self._go.wait()
        self._first = False
        return super().embed_passages(texts)


def say(what: str, **more: object) -> None:
    print(json.dumps({"what": what, **more}), flush=True)


class Shared:
    """The parts of a server over one schema."""

    def __init__(self, url: str, schema: str, root: Path, *, go: threading.Event | None = None) -> None:
        self.database = Database(url, schema=schema, wait_s=5).join()
        self.embedder = HeldEmbedder(go)
        self.catalog = PostgresCatalog(self.database)
        self.claims = ClaimingCatalog(self.database, at_most=8)
        self.lexical = PostgresLexicalIndex(self.database, identity=self.catalog.identity)
        self.archive = PostgresVectorArchive(self.database)
        self.writers = Writers(self.database)
        self.made: dict[str, PgVectorStore] = {}
        self.listeners = Listeners()
        self.indexer = FileIndexer(
            root,
            FolderScanner(root, known_extensions=frozenset(PARSERS)),
            FileReader(StandardAnalyzer(), StructureChunker(target_tokens=40, ceiling_tokens=80)),
            self.claims,
            self.lexical,
            self.archive,
            stores_for=lambda model: [self.store(model)],
            embedder=lambda: self.embedder,
            model_key="fake",
            company=self.writers,
            options=IndexerOptions(processes=0, embedding_processes=0, reconcile_s=3600),
            on_generation=[lambda generation: self.upkeep.turn.tell(generation)],
        )
        inner = Upkeep(self.indexer, self.claims, self.archive, None, listeners=self.listeners, tally=Tally())
        self.upkeep = SharedUpkeep(
            inner, self.database, self.catalog, self.claims, self.writers, listeners=self.listeners, try_s=0.2
        )

    def store(self, model: str) -> PgVectorStore:
        if model not in self.made:
            self.made[model] = PgVectorStore(self.database, model, self.embedder.spec.dimension)
        return self.made[model]

    def worker(self) -> EmbeddingWorker:
        return EmbeddingWorker(
            self.claims,
            self.archive,
            stores_for=lambda model: [self.store(model)],
            embedder=lambda: self.embedder,
            company=self.writers,
            processes=0,
            pause_s=0.2,
        )

    def close(self) -> None:
        self.upkeep.close()
        for part in (*self.made.values(), self.lexical, self.archive, self.claims, self.catalog):
            part.close()
        self.database.leave()


def main(role: str, url: str, schema: str, root: str) -> None:
    go = threading.Event()
    shared = Shared(url, schema, Path(root), go=go)

    def obey() -> None:
        for line in sys.stdin:
            what, _, path = line.strip().partition(" ")
            if what == "go":
                go.set()
            else:
                shared.upkeep.notice([path])

    threading.Thread(target=obey, daemon=True).start()
    if role == "worker":
        say("ready")
        shared.worker().run()
        return
    shared.listeners.add(lambda generation: say("generation", number=generation))
    shared.upkeep.start()
    say("ready")
    mine = False
    while True:
        if shared.upkeep.turn.mine != mine:
            mine = not mine
            say("turn", mine=mine)
        time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])
