"""Remembers the vectors of questions: the same question comes again, and one costs about a millisecond."""

from __future__ import annotations

from ..models import Vector
from ..storage.lru_cache import LruCache
from .base import Embedder

QueryVectors = LruCache[str, Vector]


class CachedEmbedder:
    """An embedder whose question vectors are kept in a cache; they are read-only. A failure isn't kept."""

    def __init__(self, embedder: Embedder, cache: QueryVectors) -> None:
        self.spec = embedder.spec
        self.fingerprint, self.backend, self.device = embedder.fingerprint, embedder.backend, embedder.device
        self.windows, self.embed_chunks, self.close = embedder.windows, embedder.embed_chunks, embedder.close
        self._embedder = embedder
        self._cache = cache

    def embed_query(self, text: str) -> Vector:
        """Shape (dimension,)."""
        vector = self._cache.get(text)
        if vector is None:
            vector = self._embedder.embed_query(text)
            vector.flags.writeable = False
            self._cache.put(text, vector)
        return vector
