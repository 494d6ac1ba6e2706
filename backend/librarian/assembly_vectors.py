"""Settings and a model's fingerprint in, its vector stores out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import urlsplit

from .config.settings import Settings
from .models.table import dimension_of
from .shelving.vectors.child_store import ChildStore
from .shelving.vectors.chroma import ChromaStore
from .shelving.vectors.exact import ExactStore
from .shelving.vectors.qdrant import QdrantStore
from .shelving.vectors.sqlite_vec import SqliteVecStore
from .vocabulary.protocols import VectorStore

EXACT_UP_TO = 100_000  #: windows; above, a graph index answers (decisions page)


def embedded_stores(settings: Settings, fingerprint: str) -> Iterator[VectorStore]:
    """A model's vector stores, the one that answers first (decisions page: an exact scan answers small libraries)."""
    chosen, dimension = settings.vector_db.store, dimension_of(fingerprint)
    if chosen in ("auto", "exact"):
        yield ExactStore(dimension)
    if chosen in ("auto", "chroma"):
        yield ChildStore("chroma", chroma_child(settings, fingerprint, dimension))
    if chosen == "sqlite-vec":
        yield SqliteVecStore(settings.index.path / "sqlite-vec" / f"{_of(fingerprint)}.sqlite", dimension)
    if chosen == "qdrant":
        yield qdrant(settings, fingerprint)


def qdrant(settings: Settings, fingerprint: str) -> QdrantStore:
    """A model's collection on the server at `storage.qdrant_url`, or in the index folder where there is no address."""
    storage, hnsw = settings.storage, settings.vector_db.hnsw_config
    address = storage.qdrant_url.get_secret_value() if storage.qdrant_url else None
    parts = urlsplit(address or "")
    key = parts.username if parts.username and not parts.password else parts.password
    collection = collection_of(settings, fingerprint)
    return QdrantStore(
        _without_key(address) if address else settings.index.path / "qdrant" / collection,
        collection,
        dimension_of(fingerprint),
        M=hnsw.M,
        construction_ef=hnsw.construction_ef,
        search_ef=hnsw.search_ef,
        threshold=settings.search.similarity_threshold,
        quantization=settings.vector_db.quantization,
        api_key=key,
    )


def chroma_child(settings: Settings, fingerprint: str, dimension: int) -> Callable[[], VectorStore]:
    """What opens a model's Chroma collection inside a child."""
    database, hnsw = settings.vector_db, settings.vector_db.hnsw_config
    return partial(
        ChromaStore,
        settings.chroma_path,
        collection_of(settings, fingerprint),
        dimension,
        distance=database.distance_metric,
        M=hnsw.M,
        construction_ef=hnsw.construction_ef,
        search_ef=hnsw.search_ef,
    )


def collection_of(settings: Settings, fingerprint: str) -> str:
    """The name of a model's collection."""
    return f"{settings.vector_db.collection_name}-{_of(fingerprint)}"


def _of(fingerprint: str) -> str:
    return hashlib.sha256(fingerprint.encode()).hexdigest()[:8]


def _without_key(address: str) -> str:
    """The address without what stands before `@`, which is the key (`https://KEY@host:6333`)."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
