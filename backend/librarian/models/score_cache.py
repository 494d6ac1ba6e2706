"""Remembers what a cross-encoder said: reading a question and a passage together takes milliseconds each time."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from librarian.vocabulary.protocols import Budget, Reranker

Key = tuple[str, str, str]  #: model, question, hash of the passage


class CachedReranker:
    """A reranker whose scores are remembered by model, question and passage, the least recently used forgotten first.

    Passages not reached in time aren't remembered, so that a slow question gets further each time it is asked. Safe to
    share between threads.
    """

    def __init__(self, reranker: Reranker, max_entries: int = 50_000) -> None:
        self.name = reranker.name
        self._reranker = reranker
        self._max_entries = max_entries
        self._scores: OrderedDict[Key, float] = OrderedDict()
        self._lock = threading.Lock()

    def score(self, query: str, passages: Sequence[str], budget: Budget) -> list[float | None]:
        """A logit per passage, in order; only the unknown ones are read."""
        keys = [(self.name, query, hashlib.sha256(text.encode()).hexdigest()) for text in passages]
        with self._lock:
            known = {key: self._scores[key] for key in keys if key in self._scores}
            for key in known:
                self._scores.move_to_end(key)
        unknown = {key: text for key, text in zip(keys, passages, strict=True) if key not in known}
        if unknown:
            found = self._reranker.score(query, list(unknown.values()), budget)
            read = {key: score for key, score in zip(unknown, found, strict=True) if score is not None}
            with self._lock:
                self._scores.update(read)
                while len(self._scores) > self._max_entries:
                    self._scores.popitem(last=False)
            known |= read
        return [known.get(key) for key in keys]
