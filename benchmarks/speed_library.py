"""A large library to measure on: real documents, copied under other products until there are enough passages.

Copies differ in one word a paragraph, so that no two passages are equal. Vectors: a sample of passages is embedded, and
all get a sample's vector with noise added, because embedding 50,000 passages takes a quarter of an hour; the output
says so.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

from librarian.bootstrap import build
from librarian.embeddings.loading import EmbedderSpec
from librarian.library import Librarian
from librarian.models import Vectors
from librarian.settings import Settings
from librarian.storage.catalog import SqliteCatalog
from librarian.storage.embedding_cache import SqliteEmbeddingCache

SAMPLE = 600  #: passages that are embedded for real
NOISE = 0.35  #: length of the noise that is added to a unit vector; leaves a cosine of about 0.94 to its sample
WORDS = ("amber", "basalt", "cobalt", "dune", "ember", "fjord", "garnet", "heath", "indigo", "jasper", "kelp", "lagoon")


def write_documents(source: Path, root: Path, copies: int, most: int | None = None) -> int:
    """`copies` of every text file of `source` below `root`, as products `copyN-<product>`; returns their bytes.

    `most` ends it after so many bytes. What was written before is left as it is.
    """
    written = 0
    for number in range(copies):
        chance = random.Random(number)
        for path in sorted(source.rglob("*")):
            if path.suffix not in (".md", ".txt") or not path.is_file():
                continue
            parts = path.relative_to(source).parts
            if len(parts) < 2:
                continue
            target = root.joinpath(f"copy{number}-{parts[0]}", *parts[1:])
            text = path.read_text("utf-8", "replace")
            if number:
                text = "\n\n".join(f"{part} {chance.choice(WORDS)}" if part else part for part in text.split("\n\n"))
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, "utf-8")
            written += len(text.encode())
            if most is not None and written >= most:
                return written
    return written


def index_text(settings: Settings) -> tuple[float, int]:
    """Read everything into catalog and keyword index with the shipped indexer; (seconds, passages)."""
    library = Librarian(build(settings))
    try:
        started = time.perf_counter()
        library.refresh(wait=False)
        took = time.perf_counter() - started
        return took, library.status().chunks
    finally:
        library.close()


def noisy_vectors(settings: Settings, sample: int = SAMPLE) -> int:
    """Fill the archive with vectors for every window, so that the indexer embeds nothing; returns how many."""
    embedder = EmbedderSpec(settings.embeddings.model)()
    index = settings.index.path
    catalog, archive = SqliteCatalog(index / "catalog.sqlite"), SqliteEmbeddingCache(index / "vectors.sqlite")
    chance = np.random.default_rng(0)
    try:
        with catalog.read() as reader:
            ids = [chunk.chunk_id for stored in reader.iter_documents() for chunk in reader.chunks_of(stored.doc_id)]
        chosen = sorted(chance.choice(len(ids), min(sample, len(ids)), replace=False).tolist())
        with catalog.read() as reader:
            texts = [chunk.chunk.text for chunk in reader.chunks([ids[place] for place in chosen]).values()]
        samples: Vectors = embedder.embed_chunks([text[:600] for text in texts])
        made, last = 0, 0
        while pending := [row for row in catalog.pending(embedder.fingerprint, 4000) if row[0].chunk_id > last]:
            windows = {
                chunk.chunk_id: [window.hash for window in embedder.windows(prefix, chunk.chunk.text)]
                for chunk, prefix in pending
            }
            hashes = [digest for digests in windows.values() for digest in digests]
            noise = chance.standard_normal((len(hashes), samples.shape[1])).astype(np.float32)
            noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
            rows = samples[chance.integers(0, len(samples), len(hashes))] + noise
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            archive.put(embedder.fingerprint, dict(zip(hashes, rows, strict=True)))
            catalog.mark_embedded(embedder.fingerprint, windows)
            made, last = made + len(hashes), max(windows)
        catalog.set_meta("model", embedder.fingerprint)
        catalog.bump()
        return made
    finally:
        archive.close()
        catalog.close()
        embedder.close()
