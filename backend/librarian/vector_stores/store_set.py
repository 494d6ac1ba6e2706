"""The vector stores of each model: several are kept in step, one answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from .base import VectorStore


class StoreSet:
    """Stores by a model's fingerprint, made when first asked for.

    `make` gives a model's stores, the preferred one first; beyond `exact_up_to` windows the second answers, where there
    is one.
    """

    def __init__(self, make: Callable[[str], Iterable[VectorStore]], *, exact_up_to: int) -> None:
        self._make = make
        self._exact_up_to = exact_up_to
        self._made: dict[str, tuple[VectorStore, ...]] = {}
        self._lock = threading.Lock()

    def __call__(self, fingerprint: str) -> Sequence[VectorStore]:
        """All stores that are kept in step for a model."""
        with self._lock:
            if fingerprint not in self._made:
                self._made[fingerprint] = tuple(self._make(fingerprint))
            return self._made[fingerprint]

    def answering(self, fingerprint: str) -> VectorStore | None:
        """The store that answers questions; None before any model has been at work."""
        if not fingerprint:
            return None
        stores = self(fingerprint)
        return stores[1] if len(stores) > 1 and stores[0].count() > self._exact_up_to else stores[0]

    def close(self) -> None:
        """Close every store."""
        for stores in self._made.values():
            for store in stores:
                store.close()
