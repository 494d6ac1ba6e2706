"""Answers kept by their question: the same question on the same generation is answered from memory.

What this isn't: a cache of similar questions (`semantic_cache`). A paraphrase is another question here.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from ..models import Deadline, Query, SearchOutcome

Key = tuple[Query, int, int]

_BLANKS = re.compile(r"\s+")


class OutcomeStore(Protocol):
    """A bounded mapping that forgets by itself (least recently used, or too old)."""

    def get(self, key: Key) -> SearchOutcome | None: ...

    def put(self, key: Key, value: SearchOutcome) -> None: ...

    def clear(self) -> int: ...

    def stats(self) -> tuple[int, int, int]: ...


class Engine(Protocol):
    """What answers where the cache has nothing."""

    def search(self, query: Query, budget: Deadline) -> SearchOutcome: ...


def normalised(text: str) -> str:
    """NFC, blanks as one space. Case stays: identifiers may differ by it alone."""
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", text)).strip()


def is_whole(outcome: SearchOutcome) -> bool:
    """Nothing that should have contributed was missing."""
    return not outcome.degraded and all(retriever.status != "failed" for retriever in outcome.retrievers.values())


class ResultCache:
    """Wraps an engine. Keys hold the question, its filters, the index generation and the epoch of the engine's weights,
    so that an answer under way while either changes is never taken for one of the new.

    Only whole answers are kept: one that was degraded, or made while vectors were missing, is asked anew.
    """

    def __init__(
        self,
        engine: Engine,
        store: OutcomeStore,
        *,
        generation: Callable[[], int],
        epoch: Callable[[], int],
        complete: Callable[[], bool],
    ) -> None:
        self._engine = engine
        self._store = store
        self._generation = generation
        self._epoch = epoch
        self._complete = complete

    def search(self, query: Query, budget: Deadline) -> SearchOutcome:
        """The kept answer, with `cache` saying so and its own time, or the engine's."""
        began = time.perf_counter()
        key = (replace(query, text=normalised(query.text)), self._generation(), self._epoch())
        kept = self._store.get(key)
        if kept is not None:
            return replace(kept, query=query, cache="exact", took_ms=(time.perf_counter() - began) * 1000)
        outcome = self._engine.search(query, budget)
        if outcome.cache is None and outcome.generation == key[1] and is_whole(outcome) and self._complete():
            self._store.put(key, outcome)
        return outcome

    def stats(self) -> tuple[int, int, int]:
        """(entries, hits, misses)."""
        return self._store.stats()

    def clear(self) -> int:
        """Forget everything; returns how many answers there were."""
        return self._store.clear()
