"""Which embedder to load, as a value: a child process that is handed it imports this room and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import SetupError
from .base import Embedder
from .loading import Provider, load_embedder


@dataclass(frozen=True, slots=True)
class EmbedderOrder:
    """Called, it loads the embedder; it can be pickled. The fields are `load_embedder`'s arguments, and one more.

    `dimension`: a model with another one is refused with `SetupError`.
    """

    name: str
    provider: Provider
    base_url: str | None
    api_key: str | None = field(repr=False)
    threads: int
    max_batch: int
    timeout_s: float
    dimension: int | None = None

    def __call__(self) -> Embedder:
        """Raises what `load_embedder` raises."""
        embedder = load_embedder(
            self.name,
            provider=self.provider,
            base_url=self.base_url,
            api_key=self.api_key,
            threads=self.threads,
            max_batch=self.max_batch,
            timeout_s=self.timeout_s,
        )
        if self.dimension is not None and self.dimension != embedder.spec.dimension:
            embedder.close()
            raise wrong_dimension(self.name, self.dimension, embedder.spec.dimension)
        return embedder


def wrong_dimension(name: str, wanted: int, found: int) -> SetupError:
    """The settings name a dimension that the model doesn't have."""
    return SetupError(
        f"embeddings.dimension is {wanted}; {name} has {found}.", hint=f"Set it to {found}, or leave it out."
    )
