"""Remembers the vectors of questions: the same question comes again, and one costs about a millisecond."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from ..models import ModelSpec, Vector, Vectors, Window
from .base import Embedder, LazyModel


class CachedEmbedder:
    """An embedder whose `embed_query` is remembered, the least recently used forgotten first.

    Everything else is the wrapped embedder's. Safe to share between threads; the vectors are read-only.
    """

    def __init__(self, embedder: Embedder, max_entries: int = 10_000) -> None:
        self.spec: ModelSpec = embedder.spec
        self._embedder = embedder
        self._max_entries = max_entries
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = 0
        self._misses = 0

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def backend(self) -> str:
        return self._embedder.backend

    @property
    def device(self) -> str:
        return self._embedder.device

    def windows(self, prefix: str, text: str) -> list[Window]:
        return self._embedder.windows(prefix, text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> Vector:
        """Shape (dimension,). A failure isn't remembered."""
        with self._lock:
            found = self._vectors.get(text)
            if found is not None:
                self._vectors.move_to_end(text)
                self._hits += 1
                return found
            self._misses += 1
        vector = self._embedder.embed_query(text)
        vector.flags.writeable = False
        with self._lock:
            self._vectors[text] = vector
            while len(self._vectors) > self._max_entries:
                self._vectors.popitem(last=False)
        return vector

    def stats(self) -> tuple[int, int, int]:
        """(entries, hits, misses) since the last `clear`."""
        with self._lock:
            return len(self._vectors), self._hits, self._misses

    def clear(self) -> int:
        """Forget everything; returns how many vectors that were."""
        with self._lock:
            count = len(self._vectors)
            self._vectors.clear()
            self._hits = self._misses = 0
            return count

    def close(self) -> None:
        self._embedder.close()


class QueryEmbeddings:
    """The cache of question vectors of a model that may not be loaded yet."""

    def __init__(self, embedder: LazyModel[Embedder] | None) -> None:
        self._embedder = embedder

    def _cache(self) -> CachedEmbedder | None:
        loaded = self._embedder.peek() if self._embedder else None
        return loaded if isinstance(loaded, CachedEmbedder) else None

    def stats(self) -> tuple[int, int, int]:
        """(entries, hits, misses); zeros while no model is loaded."""
        cache = self._cache()
        return cache.stats() if cache else (0, 0, 0)

    def clear(self) -> int:
        """Forget all vectors; returns how many there were."""
        cache = self._cache()
        return cache.clear() if cache else 0
