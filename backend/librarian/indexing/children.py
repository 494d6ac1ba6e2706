"""The child processes of an indexer: those that read files, and those that embed. Started when first needed."""

from __future__ import annotations

from collections.abc import Callable

from ..embeddings.base import Embedder
from ..parsing.base import Reader
from .embedding import EmbedderPool, embedder_pool
from .options import IndexerOptions
from .refresh import ReaderPool, reader_pool


class Children:
    """All pools of an indexer. `close` ends them; the next use starts them anew."""

    def __init__(self, reader: Reader, options: IndexerOptions) -> None:
        self._reader = reader
        self._options = options
        self._reading: ReaderPool | None = None
        self._embedding: EmbedderPool | None = None

    @property
    def limits(self) -> str:
        """Those of reading, as one word: other ones may let through what these don't."""
        return f"{self._options.file_timeout_s:g} s, {self._options.file_memory_mb or 0} MiB"

    def reading(self) -> ReaderPool:
        """Children that read files."""
        if self._reading is None:
            self._reading = reader_pool(
                self._reader,
                self._options.processes,
                timeout_s=self._options.file_timeout_s,
                memory_mb=self._options.file_memory_mb,
                nice=self._options.nice,
            )
        return self._reading

    def embedding(self, make: Callable[[], Embedder]) -> EmbedderPool:
        """The child that embeds, with the model that `make` builds there."""
        if self._embedding is None:
            self._embedding = embedder_pool(
                make,
                self._options.embedding_processes,
                timeout_s=self._options.embedding_timeout_s,
                memory_mb=self._options.embedding_memory_mb,
                nice=self._options.nice,
            )
        return self._embedding

    def close(self) -> None:
        """End them; idempotent."""
        reading, embedding = self._reading, self._embedding
        self._reading, self._embedding = None, None
        for pool in (reading, embedding):
            if pool is not None:
                pool.close()
