"""Properties of the cache:

* It never holds more than its limit, and what it drops is what was used longest ago (oracle, hypothesis).
* An entry is gone after its time; clearing says how many there were; hits and misses are counted.
"""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.storage.database import LruCache


def test_the_least_recently_read_goes_first() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert cache.get("b") is None
    assert (cache.get("a"), cache.get("c")) == (1, 3)
    assert cache.stats() == (2, 3, 1)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 4), st.lists(st.tuples(st.booleans(), st.integers(0, 6))))
def test_it_behaves_like_a_list_that_is_kept_in_order_of_use(limit: int, steps: list[tuple[bool, int]]) -> None:
    cache: LruCache[int, int] = LruCache(limit)
    model: list[tuple[int, int]] = []
    for number, (write, key) in enumerate(steps):
        held = [item for item in model if item[0] == key]
        if write:
            cache.put(key, number)
            model = [item for item in model if item[0] != key] + [(key, number)]
            model = model[len(model) - min(limit, len(model)) :]
        else:
            assert cache.get(key) == (held[0][1] if held else None)
            model = [item for item in model if item[0] != key] + held
        assert cache.stats().entries == len(model)
    assert cache.clear() == len(model)
    assert cache.stats() == (0, 0, 0)


def test_an_entry_is_gone_after_its_time_however_often_it_is_read() -> None:
    now = [0.0]
    cache: LruCache[str, int] = LruCache(9, ttl_s=10, clock=lambda: now[0])
    cache.put("a", 1)
    now[0] = 9
    assert cache.get("a") == 1
    now[0] = 10
    assert cache.get("a") is None
    assert cache.stats().entries == 0


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 4))))
def test_what_is_too_old_makes_room_though_nobody_asks_for_it(steps: list[tuple[bool, int, int]]) -> None:
    now = 0
    cache: LruCache[int, int] = LruCache(99, ttl_s=10, clock=lambda: now)
    put: dict[int, int] = {}
    for write, key, later in steps:
        now += later
        if write:
            cache.put(key, now)
            put[key] = now
        assert cache.get(key) == (put[key] if key in put and now < put[key] + 10 else None)
        assert cache.stats().entries == sum(now < then + 10 for then in put.values())


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="max_entries is -1"):
        LruCache(-1)


def test_threads_share_one_cache() -> None:
    cache: LruCache[int, int] = LruCache(8)

    def work() -> None:
        for number in range(2000):
            cache.put(number % 20, number)
            cache.get((number + 7) % 20)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    entries, hits, misses = cache.stats()
    assert entries == 8
    assert hits + misses == 8000
