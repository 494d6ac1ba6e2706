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
from typing import Protocol

import numpy as np

from ..embeddings.base import Embedder, LazyModel
from ..errors import LibrarianError
from ..models import AnalyzedQuery, Deadline, Mode, Query, SearchOutcome, Vector
from ..storage.database import LruCache
from ..text.analyzer import StandardAnalyzer

Key = tuple[Query, int, int]
Guard = tuple[object, ...]

#: Modes that embed a query: its vector is at hand, or soon will be.
EMBEDDING: frozenset[Mode] = frozenset({"auto", "hybrid", "semantic", "rerank", "hyde"})

_BLANKS = re.compile(r"\s+")
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


def is_whole(outcome: SearchOutcome) -> bool:
    """Nothing that should have contributed was missing."""
    return not outcome.degraded and all(retriever.status != "failed" for retriever in outcome.retrievers.values())


class ResultCache:
    """Wraps an engine; equal are queries but for their blanks. Case counts: identifiers may differ by it alone."""

    def __init__(
        self,
        engine: Engine,
        store: LruCache[Key, SearchOutcome],
        *,
        generation: Callable[[], int],
        version: Callable[[], int],
        complete: Callable[[SearchOutcome], bool],
    ) -> None:
        self._engine = engine
        self._store = store
        self._generation = generation
        self._version = version
        self._complete = complete

    def search(self, query: Query, deadline: Deadline) -> SearchOutcome:
        """The kept answer, with `cache` saying so and its own time, or the engine's."""
        started = time.perf_counter()
        text = _BLANKS.sub(" ", unicodedata.normalize("NFC", query.text)).strip()
        key = (replace(query, text=text), self._generation(), self._version())
        found = self._store.get(key)
        if found is not None:
            return replace(found, query=query, cache="exact", took_ms=(time.perf_counter() - started) * 1000)
        outcome = self._engine.search(query, deadline)
        if outcome.cache is None and outcome.generation == key[1] and is_whole(outcome) and self._complete(outcome):
            self._store.put(key, outcome)
        return outcome

    def stats(self) -> tuple[int, int, int]:
        """(entries, hits, misses)."""
        return self._store.stats()

    def clear(self) -> int:
        """Forget everything; returns how many answers there were."""
        return self._store.clear()


def guard(query: AnalyzedQuery) -> Guard:
    """What two queries must share, besides nearly the same vector, to share an answer.

    Vectors alone confuse queries that differ in one telling word: "1.28 to 1.29" and "1.27 to 1.28" have a cosine of
    0.947. So the content words must be the same, numbers in the same order, and both must turn the same way.

    >>> def asked(text): return guard(StandardAnalyzer().query(text))
    >>> asked("upgrade from 1.27 to 1.28") == asked("upgrade from 1.28 to 1.27")
    False
    >>> asked("how do I restart a pod") == asked("restarting pods")
    True
    """
    text = _INFINITIVE.sub(" ", query.text.lower())
    exact = tuple(map(frozenset, (query.terms, query.identifiers, query.excluded, query.excluded_phrases)))
    locks = tuple(sorted(_LOCKS.findall(text)))
    return *exact, query.phrases, tuple(_NUMBER.findall(text)), locks, tuple(_TOWARD.findall(text))


class SemanticQueryCache:
    """Wraps an engine: a query with the `guard` and nearly the vector of an earlier one gets its answer.

    Args:
        threshold: cosine from which two queries count as one.
        modes: only queries that ask for one of these are kept and answered.
    """

    def __init__(
        self,
        engine: Engine,
        embedder: LazyModel[Embedder],
        analyzer: StandardAnalyzer,
        *,
        generation: Callable[[], int],
        version: Callable[[], int],
        complete: Callable[[SearchOutcome], bool],
        threshold: float = 0.92,
        ttl_s: float = 300.0,
        max_entries: int = 1000,
        modes: frozenset[Mode] = EMBEDDING,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._embedder = embedder
        self._analyzer = analyzer
        self._generation = generation
        self._version = version
        self._complete = complete
        self._threshold = threshold
        self._modes = modes
        self._store: LruCache[object, tuple[Vector, SearchOutcome]] = LruCache(max_entries, ttl_s, clock)
        self._hits = self._misses = 0

    def search(self, query: Query, deadline: Deadline) -> SearchOutcome:
        """The answer to a query that asks the same, with `cache` saying so, or the engine's."""
        started = time.perf_counter()
        if query.mode not in self._modes:
            return self._engine.search(query, deadline)
        try:
            embedder = self._embedder.get()
            vector = embedder.embed_query(query.text)
        except LibrarianError:  # the engine says what is wrong
            return self._engine.search(query, deadline)
        generation = self._generation()
        shared = guard(self._analyzer.query(query.text))
        key = (embedder.fingerprint, replace(query, text=""), generation, self._version(), shared)
        found = self._store.get(key)
        if found is not None and float(np.dot(found[0], vector)) >= self._threshold:
            self._hits += 1
            return replace(found[1], query=query, cache="semantic", took_ms=(time.perf_counter() - started) * 1000)
        self._misses += 1
        outcome = self._engine.search(query, deadline)
        if outcome.generation == generation and is_whole(outcome) and self._complete(outcome):
            self._store.put(key, (vector, outcome))
        return outcome

    def stats(self) -> tuple[int, int, int]:
        """(entries, hits, misses)."""
        return self._store.stats()[0], self._hits, self._misses

    def clear(self) -> int:
        """Forget everything; returns how many answers there were."""
        self._hits = self._misses = 0
        return self._store.clear()
