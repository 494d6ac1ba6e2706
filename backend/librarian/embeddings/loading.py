"""Loads what is slow and may fail, once, and remembers why it failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Literal, TypeVar

from ..errors import LibrarianError, SetupError, Unavailable
from .base import Embedder, LazyModel
from .model_files import ModelStore
from .model_table import hub_name, read_spec, spec_of
from .onnx import has_cuda

T = TypeVar("T")
Provider = Literal["local", "openai", "bedrock"]

FIRST_WAIT = 60.0  #: seconds before a failed load is tried again; doubles with each failure
LONGEST_WAIT = 3_600.0


class RetryingModel(Generic[T]):
    """A `LazyModel`: `load` runs at the first `get`; a failure is remembered for a minute, then two, up to an hour.

    Threads that ask while one loads wait for it and share its outcome. `clock` counts seconds.
    """

    def __init__(self, load: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._thing: T | None = None
        self._problem = ""
        self._hint = ""
        self._wait = FIRST_WAIT
        self._again = float("-inf")

    def get(self) -> T:
        """The loaded thing. Raises `Unavailable` with the reason of the last failure until it's time to try again."""
        thing = self._thing
        if thing is not None:
            return thing
        with self._lock:
            if self._thing is not None:
                return self._thing
            if self._problem and self._clock() < self._again:
                raise Unavailable(self._problem, hint=self._hint)
            try:
                self._thing = self._load()
            except Exception as error:
                self._remember(error)
                raise Unavailable(self._problem, hint=self._hint) from error
            self._problem = self._hint = ""
            self._wait = FIRST_WAIT
            return self._thing

    def peek(self) -> T | None:
        """The thing where it is loaded already."""
        return self._thing

    def problem(self) -> str:
        """Why the last load failed; empty where it didn't."""
        return self._problem

    def reset(self) -> None:
        """Forget the failure: the next `get` tries again at once."""
        with self._lock:
            self._problem = self._hint = ""
            self._wait = FIRST_WAIT
            self._again = float("-inf")

    def _remember(self, error: Exception) -> None:
        if isinstance(error, LibrarianError):
            self._problem, self._hint = error.message, error.hint
        else:
            self._problem, self._hint = f"{type(error).__name__}: {error}", "The log holds the details."
        self._again = self._clock() + self._wait
        self._wait = min(2 * self._wait, LONGEST_WAIT)


def load_embedder(
    name: str,
    *,
    folder: Path | None = None,
    provider: Provider = "local",
    base_url: str | None = None,
    api_key: str | None = None,
    threads: int = 2,
    max_batch: int = 8,
    timeout_s: float = 30.0,
) -> Embedder:
    """The embedder of a model's name, fetched and built first where it isn't on this machine.

    `folder` is where models are kept (the user's cache by default). `timeout_s` is for one request to a service. A
    model's name alone chooses no service: one that only a service has is refused. Raises `SetupError` or `Unavailable`
    with the remedy.
    """
    if provider == "bedrock":
        from .bedrock import BedrockEmbedder

        return BedrockEmbedder(name, endpoint_url=base_url, timeout_s=timeout_s)
    if provider == "local" and (needed := spec_of(name).provider) != "local":
        raise SetupError(
            f"{name} runs at a service, and no text is sent to one unless you say so.",
            hint=f"Set embeddings.provider to {needed}, or choose a model that runs on this machine.",
        )
    if provider == "openai":
        from .openai import OpenAIEmbedder

        return OpenAIEmbedder(name, base_url=base_url, api_key=api_key, timeout_s=timeout_s)
    from . import sentence_transformers
    from .onnx import OnnxEmbedder

    if sentence_transformers.has_cuda() and not has_cuda():
        return sentence_transformers.TorchEmbedder(hub_name(name), spec_of(name), max_batch=max_batch)
    try:
        home = ModelStore(folder).ensure(name)
    except Unavailable:
        if not sentence_transformers.is_installed():
            raise
        return sentence_transformers.TorchEmbedder(hub_name(name), spec_of(name), max_batch=max_batch)
    return OnnxEmbedder(home, read_spec(name, home), threads=threads, max_batch=max_batch)


class AnsweringModel:
    """A `LazyModel` of the model that questions are to be embedded with.

    Args:
        current: the configured model.
        earlier: the one before.
        changing: whether it is the one before whose vectors answer.
        answering: fingerprint of the model whose vectors answer; empty where there are none yet.
    """

    def __init__(
        self,
        current: LazyModel[Embedder],
        earlier: LazyModel[Embedder],
        *,
        changing: Callable[[], bool],
        answering: Callable[[], str],
    ) -> None:
        self._current = current
        self._earlier = earlier
        self._changing = changing
        self._answering = answering

    def get(self) -> Embedder:
        """The model. Raises `Unavailable` where it can't be loaded, or the vectors that answer are of another build."""
        model = self._wanted().get()
        answering = self._answering()
        if answering and model.fingerprint != answering:
            raise Unavailable(
                f"The vectors that answer are of another build of {model.spec.name} than the one at hand.",
                hint="Words answer until the passages are embedded with this one.",
            )
        return model

    def peek(self) -> Embedder | None:
        """The same, where it is loaded."""
        return self._wanted().peek()

    def problem(self) -> str:
        """Why it couldn't be loaded; empty where it could."""
        return self._wanted().problem()

    def reset(self) -> None:
        """Forget failures."""
        self._current.reset()
        self._earlier.reset()

    def close(self) -> None:
        """Free the model before; the configured one is closed by its owner."""
        earlier = self._earlier.peek()
        if earlier is not None:
            earlier.close()

    def _wanted(self) -> LazyModel[Embedder]:
        return self._earlier if self._changing() else self._current
