"""A bounded cache that forgets what was used longest ago."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from ..models import Count, StoredDocument

K = TypeVar("K")
V = TypeVar("V")


class CacheStats(NamedTuple):
    """How full a cache is and how often it helped since it was made or cleared."""

    entries: int
    hits: int
    misses: int


class LruCache(Generic[K, V]):
    """At most `max_entries` values; the least recently read one goes first. Safe to share between threads.

    With `ttl_s`, an entry is gone that many seconds after it was put, however often it is read, and makes room when the
    cache is next touched. `max_entries=0` keeps nothing, so that a cache can be switched off without another code path.

    >>> cache: LruCache[str, int] = LruCache(2)
    >>> cache.put("a", 1), cache.put("b", 2), cache.get("a"), cache.put("c", 3)
    (None, None, 1, None)
    >>> cache.get("b") is None, cache.get("a"), cache.get("c")
    (True, 1, 3)
    """

    def __init__(
        self, max_entries: int, ttl_s: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if max_entries < 0:
            raise ValueError(f"max_entries is {max_entries}; it must be 0 (keep nothing) or more.")
        self._max = max_entries
        self._ttl = ttl_s
        self._clock = clock
        self._entries: OrderedDict[K, V] = OrderedDict()  # by use
        self._expires: OrderedDict[K, float] = OrderedDict()  # by age: seconds of the clock
        self._hits = 0
        self._misses = 0
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        """The value, which is then the most recently used; None where it is missing or has expired."""
        with self._lock:
            self._expire()
            if key not in self._entries:
                self._misses += 1
                return None
            self._entries.move_to_end(key)
            self._hits += 1
            return self._entries[key]

    def put(self, key: K, value: V) -> None:
        """Keep a value, in place of what the key held."""
        with self._lock:
            self._expire()
            self._entries[key] = value
            self._entries.move_to_end(key)
            if self._ttl is not None:
                self._expires[key] = self._clock() + self._ttl
                self._expires.move_to_end(key)
            while len(self._entries) > self._max:
                dropped, _ = self._entries.popitem(last=False)
                self._expires.pop(dropped, None)

    def clear(self) -> int:
        """Forget everything, the counters too; returns how many entries there were."""
        with self._lock:
            cleared = len(self._entries)
            self._entries.clear()
            self._expires.clear()
            self._hits = self._misses = 0
            return cleared

    def stats(self) -> CacheStats:
        """Entries held, hits and misses."""
        with self._lock:
            self._expire()
            return CacheStats(len(self._entries), self._hits, self._misses)

    def _expire(self) -> None:
        """Forget what is too old; all entries live equally long, so the oldest expire first."""
        while self._expires and next(iter(self._expires.values())) <= self._clock():
            key, _ = self._expires.popitem(last=False)
            del self._entries[key]


ENTRIES = 4096  #: documents at most
CHARACTERS = 8_000_000  #: of their texts together, at most
AT_ONCE = 60  #: more than an answer shows; who reads so many reads them all, once

Key = tuple[int, bool]  #: document id, with text


class DocumentMemory:
    """The documents of one state of the catalog, least recently used first. Any thread may use it."""

    def __init__(self, entries: int = ENTRIES, characters: int = CHARACTERS) -> None:
        self._most, self._most_characters = entries, characters
        self._lock = threading.Lock()
        self._changes = -1
        self._documents: OrderedDict[Key, StoredDocument] = OrderedDict()
        self._characters = 0
        #: connection → its data_version, the totals then, embedded chunks by model
        self.totals: dict[sqlite3.Connection, tuple[int, Count, dict[str, int]]] = {}
        #: what `changes` named, product → component → number of documents then
        self.products: tuple[int, dict[str, dict[str, int]]] | None = None

    def known(self, changes: int, ids: list[int], *, text: bool) -> dict[int, StoredDocument]:
        """Those of `ids` that were read in the state that `changes` names."""
        with self._lock:
            if changes != self._changes:
                return {}
            found = {}
            for doc_id in ids:
                if (document := self._documents.get((doc_id, text))) is not None:
                    self._documents.move_to_end((doc_id, text))
                    found[doc_id] = document
            return found

    def remember(self, changes: int, documents: dict[int, StoredDocument], *, text: bool) -> None:
        """Keep what was read in the state that `changes` names, unless it is more than `AT_ONCE`; a newer state forgets
        all of the older."""
        with self._lock:
            if changes < self._changes or len(documents) > AT_ONCE:
                return
            if changes > self._changes:
                self._documents.clear()
                self._changes, self._characters = changes, 0
            for doc_id, document in documents.items():
                if (doc_id, text) not in self._documents:
                    self._documents[doc_id, text] = document
                    self._characters += len(document.document.text)
            while len(self._documents) > self._most or self._characters > self._most_characters:
                _, dropped = self._documents.popitem(last=False)
                self._characters -= len(dropped.document.text)
