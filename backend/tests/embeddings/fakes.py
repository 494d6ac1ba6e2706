"""An embedder whose geometry can be done in the head: hashed words, no model, instant."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from librarian.embeddings.windows import cut
from librarian.models import ModelSpec, Vector, Vectors, Window

_WORD = re.compile(r"\w+")


class FakeEmbedder:
    """Every word adds ±1 to one of `dimension` axes; texts that share words are near each other.

    Deterministic across processes. Tokens are words, so a window of `max_tokens=32` holds 32 words.
    `calls` counts embedded texts, `fail` makes the next calls raise it.
    """

    def __init__(self, dimension: int = 64, max_tokens: int = 32, name: str = "fake") -> None:
        self.spec = ModelSpec(name=name, dimension=dimension, max_tokens=max_tokens)
        self.calls = 0
        self.queries = 0
        self.closed = False
        self.fail: BaseException | None = None

    @property
    def fingerprint(self) -> str:
        return f"{self.spec.name};fake;{self.spec.dimension};{self.spec.max_tokens}"

    @property
    def backend(self) -> str:
        return "fake"

    @property
    def device(self) -> str:
        return "cpu"

    def windows(self, prefix: str, text: str) -> list[Window]:
        return cut(
            prefix, text, lambda piece: [m.span() for m in _WORD.finditer(piece)], self.spec.max_tokens, overlap=4
        )

    def embed_chunks(self, texts: Sequence[str]) -> Vectors:
        if self.fail is not None:
            raise self.fail
        self.calls += len(texts)
        if not texts:
            return np.zeros((0, self.spec.dimension), dtype=np.float32)
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        if self.fail is not None:
            raise self.fail
        self.queries += 1
        return self._vector(text)

    def close(self) -> None:
        self.closed = True

    def _vector(self, text: str) -> Vector:
        vector = np.zeros(self.spec.dimension, dtype=np.float32)
        for word in _WORD.findall(text.lower()):
            digest = hashlib.sha256(word.encode()).digest()
            vector[int.from_bytes(digest[:4], "big") % self.spec.dimension] += 1.0 if digest[4] & 1 else -1.0
        if not vector.any():
            vector[0] = 1.0
        unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit
