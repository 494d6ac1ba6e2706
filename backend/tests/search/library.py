"""A small library on real parts (catalog, keyword index, exact vectors); its embedder's geometry fits the head."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from librarian.embeddings.base import Embedder
from librarian.errors import Unavailable
from librarian.models import WINDOWS_PER_CHUNK, ModelSpec, SourceFile, Vector, Vectors, Window
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.reader import FileReader
from librarian.search.engine import HybridSearchEngine
from librarian.storage.catalog import SqliteCatalog
from librarian.storage.keyword_index import TantivyIndex
from librarian.text.analyzer import StandardAnalyzer
from librarian.vector_stores.exact import ExactStore

#: Each topic is an axis; a text lies in the direction of the topics whose words it holds.
TOPICS: tuple[tuple[str, ...], ...] = (
    ("deploy", "rollout", "release", "ship"),
    ("scale", "replicas", "autoscaling", "capacity"),
    ("secret", "password", "credential", "token"),
    ("storage", "volume", "disk", "persist"),
    ("log", "logging", "logs", "trace"),
)


class TopicEmbedder:
    """One axis per topic and a small one of its own per text, so that no two texts are quite alike."""

    spec = ModelSpec("topics", len(TOPICS) + 3, 256)
    fingerprint = "topics"
    backend = "test"
    device = "cpu"

    def windows(self, prefix: str, text: str) -> list[Window]:
        whole = f"{prefix}\n{text}"
        return [Window(whole, hashlib.sha256(whole.encode()).hexdigest()[:32], 0, len(text))]

    def embed_chunks(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        words = text.lower().replace(".", " ").replace("?", " ").split()
        own = np.frombuffer(hashlib.sha256(text.encode()).digest()[:3], dtype=np.uint8).astype(np.float32) / 2550
        topics = [float(sum(word.startswith(stem) for word in words for stem in topic)) for topic in TOPICS]
        vector = np.concatenate([np.array(topics, dtype=np.float32), own + 0.01])
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

    def close(self) -> None: ...


class Loaded:
    """A `LazyModel` that has its embedder, or fails with a reason."""

    def __init__(self, embedder: Embedder | None, problem: str = "") -> None:
        self._embedder, self._problem = embedder, problem

    def get(self) -> Embedder:
        if self._embedder is None:
            raise Unavailable(self._problem)
        return self._embedder

    def loaded(self) -> Embedder | None:
        return self._embedder

    def error(self) -> str:
        return self._problem

    def reset(self) -> None: ...


class Library:
    """Files in, an engine out."""

    def __init__(
        self, folder: Path, files: Mapping[str, str], *, embed: bool = True, embedder: Embedder | None = None
    ) -> None:
        self.embedder: Embedder = embedder or TopicEmbedder()
        self.analyzer = StandardAnalyzer()
        self.catalog = SqliteCatalog(folder / "catalog.sqlite")
        self.lexical = TantivyIndex(None)
        self.vectors = ExactStore(self.embedder.spec.dimension)
        self._engines: list[HybridSearchEngine] = []
        self._docs = folder / "docs"
        self._embed = embed
        for file_path, text in files.items():
            self.put(file_path, text)
        self.lexical.commit(self.catalog.bump())

    def put(self, file_path: str, text: str) -> None:
        """Write a file, and what it holds to all parts; the keyword index isn't committed."""
        path = self._docs / file_path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        product, component = (*file_path.split("/"), "general")[:2]
        source = SourceFile(str(path), file_path, product, component, path.stat().st_size, 1)
        read = FileReader(self.analyzer, StructureChunker()).read(source)
        stored = self.catalog.put([read])[0]
        self.lexical.delete(stored.dropped_doc_ids)
        self.lexical.put(
            (chunk, stored.doc_id, read.document, entry)
            for chunk, entry in zip(stored.chunk_ids, read.entries, strict=True)
        )
        if self._embed and stored.chunk_ids:
            ids = np.array(stored.chunk_ids, dtype=np.int64) * WINDOWS_PER_CHUNK
            texts = [f"{read.document.title}\n{chunk.text}" for chunk in read.chunks]
            self.vectors.upsert(ids, self.embedder.embed_chunks(texts))

    def engine(self, *, embedder: object = "own", **given: object) -> HybridSearchEngine:
        loadable = Loaded(self.embedder) if embedder == "own" else embedder
        engine = HybridSearchEngine(
            self.catalog,
            self.lexical,
            self.analyzer,
            vectors=lambda: self.vectors,
            embedder=loadable,  # type: ignore[arg-type]
            **given,  # type: ignore[arg-type]
        )
        self._engines.append(engine)
        return engine

    def close(self) -> None:
        for engine in self._engines:
            engine.close()
        self.vectors.close()
        self.lexical.close()
        self.catalog.close()
