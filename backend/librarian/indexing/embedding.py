"""What an embedding child does: it names its model, cuts passages into windows and embeds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..embeddings.base import Embedder
from ..models import Vectors, Window
from .workers import WorkerPool


@dataclass(frozen=True, slots=True)
class Identify:
    """Ask which model this is."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Cut (prefix, text) pairs into windows. `number` tells tasks over equal passages apart."""

    number: int
    chunks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed windows' texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """The model that a child holds."""

    fingerprint: str
    dimension: int


Task = Identify | Cut | Embed
Answer: TypeAlias = "Identity | list[list[Window]] | Vectors"
EmbedderPool = WorkerPool[Task, Answer]


class EmbedderHands:
    """What an embedding child does with the embedder that `make` builds there; importable there (an `EmbedderSpec`)."""

    def __init__(self, make: Callable[[], Embedder]) -> None:
        self._embedder = make()

    def __call__(self, task: Task) -> Answer:
        """Do one task."""
        match task:
            case Identify():
                return Identity(self._embedder.fingerprint, self._embedder.spec.dimension)
            case Cut():
                return [self._embedder.windows(prefix, text) for prefix, text in task.chunks]
            case Embed():
                return self._embedder.embed_chunks(task.texts)

    def close(self) -> None:
        """Free the model."""
        self._embedder.close()
