"""Vector spaces: which products are embedded by which model, and what answers for them.

A library has one model of its own. Products may have another one (a crawled site keeps the model it was gathered with);
vectors of two models never meet, so each space is searched by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .protocols import Embedder, Loadable, VectorStore


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """Products with a model of their own, as they are searched."""

    name: str  #: of the model
    products: frozenset[str]
    embedder: Loadable[Embedder]
    store: VectorStore | None  #: None until something is embedded
    embedded: Callable[[], int] = lambda: 0  #: passages whose vectors are kept, in the store or not yet
