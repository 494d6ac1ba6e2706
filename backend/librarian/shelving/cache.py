"""A bounded cache that forgets what was used longest ago."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class CacheStats(NamedTuple):
    """How full a cache is and how often it helped since it was made or cleared."""

    entries: int
    hits: int
    misses: int


@dataclass(frozen=True, slots=True)
class _Entry(Generic[V]):
    value: V
    expires: float  #: seconds of the cache's clock


class LruCache(Generic[K, V]):
    """At most `max_entries` values; the least recently read one goes first. Safe to share between threads.

    With `ttl_s`, an entry is gone that many seconds after it was put, however often it is read. `max_entries=0` keeps
    nothing, so that a cache can be switched off without another code path.

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
        self._ttl = float("inf") if ttl_s is None else ttl_s
        self._clock = clock
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._hits = 0
        self._misses = 0
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        """The value, which is then the most recently used; None where it is missing or has expired."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry.expires <= self._clock():
                del self._entries[key]
                entry = None
            if entry is None:
                self._misses += 1
                return None
            self._entries.move_to_end(key)
            self._hits += 1
            return entry.value

    def put(self, key: K, value: V) -> None:
        """Keep a value, in place of what the key held."""
        with self._lock:
            self._entries[key] = _Entry(value, self._clock() + self._ttl)
            self._entries.move_to_end(key)
            while len(self._entries) > self._max:
                self._entries.popitem(last=False)

    def clear(self) -> int:
        """Forget everything, the counters too; returns how many entries there were."""
        with self._lock:
            cleared = len(self._entries)
            self._entries.clear()
            self._hits = self._misses = 0
            return cleared

    def stats(self) -> CacheStats:
        """Entries held (expired ones that nobody asked for included), hits and misses."""
        with self._lock:
            return CacheStats(len(self._entries), self._hits, self._misses)
