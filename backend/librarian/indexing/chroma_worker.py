"""A vector store that lives in a child process: its memory and its crashes are the child's.

An open ChromaDB collection is large, and is only written to while passages are embedded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from ..errors import LibrarianError, Unavailable
from ..models import Ids, Selection, Vector, Vectors
from ..vector_stores.base import VectorStore
from .workers import WorkerPool

CALL_S = 600.0  #: a call that takes longer has hung: the child is ended
IDLE_S = 30.0  #: the child ends when nothing was asked of it for so long


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a store's method."""

    method: str
    arguments: tuple[object, ...]


class StoreHands:
    """What the child does: makes the store, and calls it."""

    def __init__(self, make: Callable[[], VectorStore]) -> None:
        self._store = make()

    def __call__(self, call: Call) -> Any:
        """Do one call; a store that can be rebuilt is, once enough of it is dead."""
        answer = getattr(self._store, call.method)(*call.arguments)
        if call.method in ("upsert", "delete") and getattr(self._store, "needs_rebuild", False):
            cast(Any, self._store).rebuild()
        return answer

    def close(self) -> None:
        """Close the store before the child ends."""
        self._store.close()


class ChildStore:
    """A `VectorStore` behind a pipe. `make` builds the real one and must be importable from a module's top level."""

    def __init__(self, name: str, make: Callable[[], VectorStore], *, idle_s: float = IDLE_S, nice: int = 5) -> None:
        self.name = name
        self._make = partial(StoreHands, make)
        self._idle_s = idle_s
        self._nice = nice
        self._lock = threading.Lock()
        self._pool: WorkerPool[Call, Any] | None = None
        self._used = 0.0
        self._timer: threading.Timer | None = None

    def _call(self, method: str, *arguments: object) -> Any:
        with self._lock:
            if self._pool is None:
                self._pool = WorkerPool(self._make, 1, timeout_s=CALL_S, nice=self._nice)
            try:
                answer = next(iter(self._pool.map([Call(method, arguments)])))[1]
            except LibrarianError:
                raise
            except Exception as error:
                raise Unavailable(f"The vector store {self.name} can't be opened: {error}.") from error
            self._used = time.monotonic()
            self._end_later(self._idle_s)
        if isinstance(answer, LibrarianError):
            raise answer
        if isinstance(answer, BaseException):
            raise Unavailable(f"The vector store {self.name} failed: {answer}.") from answer
        return answer

    def _end_later(self, after_s: float) -> None:
        if self._timer is None:
            self._timer = threading.Timer(after_s, self._end_if_idle)
            self._timer.daemon = True
            self._timer.start()

    def _end_if_idle(self) -> None:
        with self._lock:
            self._timer = None
            left = self._used + self._idle_s - time.monotonic()
            if self._pool is None:
                return
            if left > 0:
                self._end_later(left)
                return
            pool, self._pool = self._pool, None
            pool.close()

    def upsert(self, ids: Ids, vectors: Vectors, payloads: Sequence[Mapping[str, object]] | None = None) -> None:
        self._call("upsert", ids, vectors, payloads)

    def delete(self, ids: Ids) -> None:
        self._call("delete", ids)

    def search(self, vector: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        return cast(tuple[Ids, Vector], self._call("search", vector, limit, selection))

    def count(self) -> int:
        return int(self._call("count"))

    def ids(self) -> Ids:
        return cast(Ids, self._call("ids"))

    def clear(self) -> None:
        self._call("clear")

    def close(self) -> None:
        """End the child. The store can be used again: a new child is started then."""
        with self._lock:
            timer, self._timer = self._timer, None
            pool, self._pool = self._pool, None
        if timer is not None:
            timer.cancel()
        if pool is not None:
            pool.close()
