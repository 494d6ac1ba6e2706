"""Which embedder is loaded, and which one embeds questions while the model changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..errors import SetupError, Unavailable
from ..models import Vector
from ..storage.database import LruCache
from .base import Embedder, LazyModel
from .model_files import ModelStore
from .model_table import hub_name, read_spec, spec_of
from .onnx import has_cuda

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
        vector = self._cache.get(text)
        if vector is None:
            vector = self._embedder.embed_query(text)
            vector.flags.writeable = False
            self._cache.put(text, vector)
        return vector


Provider = Literal["local", "openai", "bedrock"]
Backend = Literal["auto", "onnx", "torch"]


@dataclass(frozen=True, slots=True)
class EmbedderSpec:
    """Which embedder to load. Can be pickled for a child process.

    Attributes:
        timeout_s: for one request to a service.
        dimension: a model with another dimension is refused.
        backend: what computes a local model; `auto` is torch where only that has CUDA, or where there is no ONNX file.
    """

    name: str
    provider: Provider = "local"
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    threads: int = 2
    max_batch: int = 8
    timeout_s: float = 30.0
    dimension: int | None = None
    backend: Backend = "auto"

    def __call__(self) -> Embedder:
        """Load it, fetched and built first if it isn't on this machine. Raises `SetupError` or `Unavailable`."""
        embedder = self._load()
        if self.dimension is not None and self.dimension != embedder.spec.dimension:
            embedder.close()
            raise wrong_dimension(self.name, self.dimension, embedder.spec.dimension)
        return embedder

    def _load(self) -> Embedder:
        if self.provider == "bedrock":
            from .bedrock import BedrockEmbedder

            return BedrockEmbedder(self.name, endpoint_url=self.base_url, timeout_s=self.timeout_s)
        if self.provider == "openai":
            from .services import OpenAIEmbedder

            return OpenAIEmbedder(self.name, base_url=self.base_url, api_key=self.api_key, timeout_s=self.timeout_s)
        spec = spec_of(self.name)
        if spec.provider != "local":  # a model's name alone sends no text to a service
            raise SetupError(
                f"{self.name} runs at a service, and no text is sent to one unless you say so.",
                hint=f"Set embeddings.provider to {spec.provider}, or choose a model that runs on this machine.",
            )
        from . import sentence_transformers as torch

        prefers_torch = self.backend == "auto" and torch.has_cuda() and not has_cuda()
        home = onnx_folder(self.name, "torch" if prefers_torch else self.backend)
        if home is None:
            return torch.TorchEmbedder(hub_name(self.name), spec, max_batch=self.max_batch)
        from .onnx import OnnxEmbedder

        return OnnxEmbedder(home, read_spec(self.name, home), threads=self.threads, max_batch=self.max_batch)


def onnx_folder(name: str, backend: Backend) -> Path | None:
    """The folder of a model's ONNX file, fetched where it isn't here; None if torch is to compute the model.

    Raises `Unavailable` where there is no such file and torch isn't installed or isn't wanted.
    """
    from .sentence_transformers import is_installed

    if backend == "torch":
        return None
    try:
        return ModelStore().ensure(name)
    except Unavailable:
        if backend == "onnx" or not is_installed():
            raise
        return None


def wrong_dimension(name: str, wanted: int, found: int) -> SetupError:
    """The settings name a dimension that the model doesn't have."""
    return SetupError(
        f"embeddings.dimension is {wanted}; {name} has {found}.", hint=f"Set it to {found}, or leave it out."
    )


@dataclass(eq=False)
class AnsweringModel(LazyModel[Embedder]):
    """The model that questions are embedded with: the configured one, or during a change the one before."""

    current: LazyModel[Embedder]  #: the configured model
    earlier: LazyModel[Embedder]  #: the one before
    changing: Callable[[], bool]  #: whether it is the one before whose vectors answer
    answering: Callable[[], str]  #: fingerprint of the model whose vectors answer; empty if there are none yet

    def get(self) -> Embedder:
        """The model. Raises `Unavailable` if it can't be loaded, or if the vectors that answer are of another build."""
        model = self._chosen().get()
        answering = self.answering()
        if answering and model.fingerprint != answering:
            raise Unavailable(
                f"The vectors that answer are of another build of {model.spec.name} than the one at hand.",
                hint="Words answer until the passages are embedded with this one.",
            )
        return model

    def loaded(self) -> Embedder | None:
        return self._chosen().loaded()

    def error(self) -> str:
        return self._chosen().error()

    def reset(self) -> None:
        self.current.reset()
        self.earlier.reset()

    def close(self) -> None:
        """Free the model before; the configured one is closed by its owner."""
        earlier = self.earlier.loaded()
        if earlier is not None:
            earlier.close()

    def _chosen(self) -> LazyModel[Embedder]:
        return self.earlier if self.changing() else self.current
