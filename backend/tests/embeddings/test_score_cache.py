"""A cross-encoder's scores are remembered by model, question and passage.

* the same pair is read once, another question or passage is read anew
* what wasn't reached in time is read the next time
* the least recently used scores go first
"""

from __future__ import annotations

from collections.abc import Sequence

from librarian.embeddings.cross_encoder import CachedReranker
from librarian.models import Deadline


class Counting:
    """Scores a passage by its length and keeps what it read; `reach` is how many at a time."""

    name = "counting"

    def __init__(self, reach: int = 100) -> None:
        self.read: list[tuple[str, str]] = []
        self._reach = reach

    def score(self, query: str, passages: Sequence[str], budget: Deadline) -> list[float | None]:
        self.read += [(query, text) for text in passages[: self._reach]]
        return [float(len(text)) if place < self._reach else None for place, text in enumerate(passages)]


def test_a_pair_is_read_once() -> None:
    model = Counting()
    cached = CachedReranker(model)
    assert cached.score("q", ["a", "bb", "a"], Deadline()) == [1.0, 2.0, 1.0]
    assert cached.score("q", ["bb", "ccc"], Deadline()) == [2.0, 3.0]
    assert cached.score("other", ["a"], Deadline()) == [1.0]
    assert model.read == [("q", "a"), ("q", "bb"), ("q", "ccc"), ("other", "a")]


def test_what_was_not_reached_is_read_the_next_time() -> None:
    cached = CachedReranker(Counting(reach=2))
    assert cached.score("q", ["a", "bb", "ccc"], Deadline()) == [1.0, 2.0, None]
    assert cached.score("q", ["a", "bb", "ccc"], Deadline()) == [1.0, 2.0, 3.0]


def test_the_least_recently_used_score_goes_first() -> None:
    model = Counting()
    cached = CachedReranker(model, max_entries=2)
    cached.score("q", ["a", "bb"], Deadline())
    cached.score("q", ["a"], Deadline())
    cached.score("q", ["ccc"], Deadline())
    model.read.clear()
    cached.score("q", ["a"], Deadline())
    cached.score("q", ["bb"], Deadline())
    assert model.read == [("q", "bb")]
