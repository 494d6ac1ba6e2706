"""Interfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..models import (
    Deadline,
    ModelSpec,
    Vector,
    Vectors,
    Window,
)

T_co = TypeVar("T_co", covariant=True)


class LazyModel(Protocol[T_co]):
    """Something slow to load and able to fail: loaded once, in the background or at first use.

    A failed load is remembered and tried again after 60 s, doubling to an hour, and at `reset`.
    """

    def get(self) -> T_co:
        """The loaded thing. Raises `Unavailable` with the remembered reason."""

    def peek(self) -> T_co | None:
        """The thing where it is loaded already; never loads."""

    def problem(self) -> str:
        """Why the last load failed; empty where it didn't."""

    def reset(self) -> None:
        """Forget the failure: the next `get` tries again."""


class Embedder(Protocol):
    """Text to unit vectors."""

    spec: ModelSpec

    @property
    def fingerprint(self) -> str:
        """Model and arithmetic (int8 or fp32): vectors of two fingerprints never meet."""

    @property
    def backend(self) -> str:
        """onnx-int8 | onnx-fp32 | torch | openai | …"""

    @property
    def device(self) -> str:
        """cpu | cuda | remote"""

    def windows(self, prefix: str, text: str) -> list[Window]:
        """The windows that together hold every token of `text`, each within the model's limit, prefix included."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), rows of unit length, float32. Texts are windows' texts."""

    def embed_query(self, text: str) -> Vector:
        """Shape (dimension,), unit length, float32."""

    def close(self) -> None:
        """Let go of the model."""


class Reranker(Protocol):
    """Reads question and passage together."""

    name: str

    def score(self, query: str, passages: Sequence[str], budget: Deadline) -> list[float | None]:
        """A logit per passage, in order; None for passages not reached within the budget."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a language model made of a question."""

    search_terms: str
    hypothetical_answer: str
    model: str
    ms: float


class QueryRewriter(Protocol):
    """A language model that is asked for better search terms and the answer it would expect."""

    name: str

    def rewrite(self, query: str, budget: Deadline) -> Rewrite:
        """Raises `Unavailable` with one clear sentence."""

    def is_connected(self) -> bool:
        """Whether its server answers now."""

    def close(self) -> None:
        """End its connections."""
