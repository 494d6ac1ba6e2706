"""Interfaces of models, and how a model is loaded: once, when it is first needed, with failures remembered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from ..errors import LibrarianError, Unavailable
from ..models import Deadline, ModelSpec, Vector, Vectors, Window
from . import windows

T = TypeVar("T")

FIRST_WAIT = 60.0  #: seconds before a failed load is tried again; doubles with each failure
LONGEST_WAIT = 3_600.0


class Embedder(Protocol):
    """Text to unit vectors."""

    spec: ModelSpec
    fingerprint: str  #: model and arithmetic (int8 or fp32): vectors of two fingerprints are never compared
    backend: str  #: onnx-int8 | onnx-fp32 | torch | openai | …
    device: str  #: cpu | cuda | remote

    def windows(self, prefix: str, text: str) -> list[Window]:
        """The windows that together hold every token of `text`, each within the model's limit, prefix included."""

    def embed_chunks(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), rows of unit length, float32. Texts are windows' texts."""

    def embed_query(self, text: str) -> Vector:
        """Shape (dimension,), unit length, float32. What exceeds the model's limit isn't read."""

    def close(self) -> None:
        """Free the model."""


class TextEmbedder:
    """The part of an `Embedder` that models on this machine and those of services share."""

    spec: ModelSpec
    _special = 0  #: tokens of a passage that are none of its own: special ones, and those of the instruction

    def windows(self, prefix: str, text: str) -> list[Window]:
        return windows.cut(prefix, text, self._places, self.spec.window_limit - self._special)

    def embed_chunks(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.spec.dimension), dtype=np.float32)
        return self._embed([self.spec.passage_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._embed([self.spec.query_prefix + text], is_query=True)[0]
        return vector

    def _places(self, text: str) -> list[tuple[int, int]]:
        """Where a text's tokens stand in it, in characters; special tokens aside. By default never too few."""
        return windows.estimated(text)

    def _embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:
        raise NotImplementedError


class Reranker(Protocol):
    """Reads question and passage together."""

    name: str

    def score(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float | None]:
        """A logit per passage, in order; None for passages not reached within the deadline."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a language model made of a question."""

    search_terms: str
    hypothetical_answer: str
    model: str
    ms: float


class LazyModel(Generic[T]):
    """A model that `load` loads at the first `get`; a failure is remembered for a minute, then two, up to an hour.

    Threads that ask during a load wait for it and share its outcome. `clock` counts seconds.
    """

    def __init__(self, load: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._model: T | None = None
        self._error = self._hint = ""
        self._wait, self._retry_at = FIRST_WAIT, float("-inf")

    def get(self) -> T:
        """The model. Raises `Unavailable` with the reason of the last failure until it is time to try again."""
        if self._model is not None:
            return self._model
        with self._lock:
            if self._model is None:
                if self._clock() < self._retry_at:
                    raise Unavailable(self._error, hint=self._hint)
                try:
                    self._model = self._load()
                except Exception as error:
                    self._error, self._hint = f"{type(error).__name__}: {error}", "The log holds the details."
                    if isinstance(error, LibrarianError):
                        self._error, self._hint = error.message, error.hint
                    self._retry_at = self._clock() + self._wait
                    self._wait = min(2 * self._wait, LONGEST_WAIT)
                    raise Unavailable(self._error, hint=self._hint) from error
                self._error = ""
            return self._model

    def loaded(self) -> T | None:
        """The model if it is loaded; never loads it."""
        return self._model

    def error(self) -> str:
        """Why the last load failed; empty if it did not."""
        return self._error

    def reset(self) -> None:
        """Forget the failure: the next `get` tries again."""
        self._error = self._hint = ""
        self._wait, self._retry_at = FIRST_WAIT, float("-inf")

    def close(self) -> None:
        """Free the model if it is loaded."""
        close = getattr(self._model, "close", None)
        if close is not None:
            close()
