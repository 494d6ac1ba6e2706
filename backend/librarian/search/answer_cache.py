"""Answers kept by their query: the same query on the same generation is answered from memory; so is, where that is
switched on, one that asks the same in a slightly different way.

Keys hold the query, its filters, the index generation and the version of the engine's weights, so that an answer under
way while either changes is never taken for one of the new. Only whole answers are kept: one that was degraded, or made
while vectors were missing, is computed anew.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, Protocol

import numpy as np

from ..embeddings.base import Embedder, LazyModel
from ..errors import LibrarianError
from ..models import AnalyzedQuery, Deadline, Query, SearchOutcome, Vector
from ..storage.database import LruCache
from ..text.analyzer import StandardAnalyzer

_NUMBER = re.compile(r"\d+(?:[.:,]\d+)*")
#: Stop words that turn a question round; of its other words the terms tell.
_LOCKS = re.compile(
    r"n['’]t\b|\b(?:not|nor|no|never|none|nothing|neither|without|cannot|but|only|than|before|after|above|below|up|down|off"
    r"|out|over|under|into|more|few|most|nicht|kein|keine|keinen|ohne|nie|ne|pas|sans|jamais|non|senza|mai|sin|nunca|nem"
    r"|sem|não|нет|не|без)\b"
)
#: What stands behind one of these is what it is about: from here to there isn't from there to here.
_TOWARD = re.compile(r"\b(from|to|into|before|after|than|without|instead of)\s+(?:(?:a|an|the|my|our)\s+)?(\w+)")
#: Here `to` says nothing: how to do it is how one does it.
_INFINITIVE = re.compile(
    r"\b(?:how|what|where|when|whether|wants?|needs?|like|ha[sv]e?|try(?:ing)?|able|possible|easy|hard|ways?|best|order|going)"
    r"\s+to\b"
)


class Engine(Protocol):
    """What answers where a cache has nothing: the engine, or another cache before it."""

    def search(self, query: Query, deadline: Deadline) -> SearchOutcome: ...


def guard(query: AnalyzedQuery) -> tuple[object, ...]:
    """What two queries must share, besides nearly the same vector, to share an answer.

    Vectors alone confuse queries that differ in one telling word: "1.28 to 1.29" and "1.27 to 1.28" have a cosine of
    0.947. So the content words must be the same, numbers in the same order, and both must turn the same way.
    """
    text = _INFINITIVE.sub(" ", query.text.lower())
    exact = tuple(map(frozenset, (query.terms, query.identifiers, query.excluded, query.excluded_phrases)))
    locks = tuple(sorted(_LOCKS.findall(text)))
    return *exact, query.phrases, tuple(_NUMBER.findall(text)), locks, tuple(_TOWARD.findall(text))


class ResultCache:
    """Wraps an engine; equal are queries but for their blanks. Case counts: identifiers may differ by it alone."""

    kind: Literal["exact", "semantic"] = "exact"
    _threshold = 0.0

    def __init__(
        self,
        engine: Engine,
        *,
        generation: Callable[[], int],
        version: Callable[[], int],
        complete: Callable[[SearchOutcome], bool],
        max_entries: int = 1000,
        ttl_s: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._generation = generation
        self._version = version
        self._complete = complete
        self._store: LruCache[object, tuple[Any, SearchOutcome]] = LruCache(max_entries, ttl_s, clock)
        self._hits = self._misses = 0

    def search(self, query: Query, deadline: Deadline) -> SearchOutcome:
        """The stored answer, with `cache` saying so and its own time, or the engine's."""
        started = time.perf_counter()
        asked = self._asked(query)
        if asked is None:
            return self._engine.search(query, deadline)
        generation = self._generation()
        key = (asked[0], generation, self._version())
        found = self._store.get(key)
        if found is not None and (asked[1] is None or float(np.dot(found[0], asked[1])) >= self._threshold):
            self._hits += 1
            return replace(found[1], query=query, cache=self.kind, took_ms=(time.perf_counter() - started) * 1000)
        self._misses += 1
        outcome = self._engine.search(query, deadline)
        failed = outcome.degraded or any(one.status == "failed" for one in outcome.retrievers.values())
        current = outcome.cache is None and outcome.generation == generation
        if current and not failed and self._complete(outcome):
            self._store.put(key, (asked[1], outcome))
        return outcome

    def _asked(self, query: Query) -> tuple[object, Vector | None] | None:
        """What two queries must share, and the vector that they must nearly share; None where nothing is stored."""
        text = " ".join(unicodedata.normalize("NFC", query.text).split())
        return replace(query, text=text), None

    def stats(self) -> tuple[int, int, int]:
        """(entries, hits, misses)."""
        return self._store.stats()[0], self._hits, self._misses

    def clear(self) -> int:
        """Forget everything; returns how many answers there were."""
        self._hits = self._misses = 0
        return self._store.clear()


class SemanticQueryCache(ResultCache):
    """Wraps an engine: a query that embeds and has the `guard` and nearly the vector of an earlier one gets its answer.

    `threshold` is the cosine from which on two queries count as one.
    """

    kind = "semantic"

    def __init__(
        self,
        engine: Engine,
        embedder: LazyModel[Embedder],
        analyzer: StandardAnalyzer,
        *,
        threshold: float = 0.92,
        **given: Any,
    ) -> None:
        super().__init__(engine, **given)
        self._embedder = embedder
        self._analyzer = analyzer
        self._threshold = threshold

    def _asked(self, query: Query) -> tuple[object, Vector | None] | None:
        if query.mode == "keyword":
            return None
        try:
            embedder = self._embedder.get()
            vector = embedder.embed_query(query.text)
        except LibrarianError:  # the engine says what is wrong
            return None
        return (embedder.fingerprint, replace(query, text=""), guard(self._analyzer.query(query.text))), vector
