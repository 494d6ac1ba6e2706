"""A bounded cache that drops what was used longest ago."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class CacheStats(NamedTuple):
    """How full a cache is and how often it helped since it was made or cleared."""

    entries: int
    hits: int
    misses: int


class LruCache(Generic[K, V]):
    """At most `max_entries` values; the least recently read one goes first. Safe to share between threads.

    With `ttl_s`, an entry expires that many seconds after it was put, however often it is read. `max_entries=0` keeps
    nothing. With `most_weight`, the values' weights by `weigh` add up to at most that.

    >>> cache: LruCache[str, int] = LruCache(2)
    >>> cache.put("a", 1), cache.put("b", 2), cache.get("a"), cache.put("c", 3)
    (None, None, 1, None)
    >>> cache.get("b") is None, cache.get("a"), cache.get("c")
    (True, 1, 3)
    """

    def __init__(
        self,
        max_entries: int,
        ttl_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        most_weight: int = 0,
        weigh: Callable[[V], int] = lambda _: 0,
    ) -> None:
        if max_entries < 0:
            raise ValueError(f"max_entries is {max_entries}; it must be 0 (keep nothing) or more.")
        self._max, self._most_weight, self._weigh = max_entries, most_weight, weigh
        self._ttl = ttl_s
        self._clock = clock
        self._entries: OrderedDict[K, V] = OrderedDict()  # by use
        self._expires: OrderedDict[K, float] = OrderedDict()  # by age: seconds of the clock
        self._weight = 0
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
            if key in self._entries:
                self._drop(key)
            self._entries[key] = value
            self._weight += self._weigh(value)
            if self._ttl is not None:
                self._expires[key] = self._clock() + self._ttl
            while len(self._entries) > self._max or self._weight > self._most_weight:
                self._drop(next(iter(self._entries)))

    def clear(self) -> int:
        """Forget everything, the counters too; returns how many entries there were."""
        with self._lock:
            cleared = len(self._entries)
            self._entries.clear()
            self._expires.clear()
            self._weight = self._hits = self._misses = 0
            return cleared

    def stats(self) -> CacheStats:
        """Entries held, hits and misses."""
        with self._lock:
            self._expire()
            return CacheStats(len(self._entries), self._hits, self._misses)

    def _expire(self) -> None:
        """Drop what is too old; all entries live equally long, so the oldest expire first."""
        while self._expires and next(iter(self._expires.values())) <= self._clock():
            self._drop(next(iter(self._expires)))

    def _drop(self, key: K) -> None:
        self._weight -= self._weigh(self._entries.pop(key))
        self._expires.pop(key, None)
