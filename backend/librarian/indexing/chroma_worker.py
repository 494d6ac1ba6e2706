"""A vector store that lives in a child process: its memory and its crashes are the child's.

An open ChromaDB collection is large, and is only written to while passages are embedded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from ..errors import LibrarianError, Unavailable
from ..models import Ids, Selection, Vector, Vectors
from ..vector_stores.base import Payload, VectorStore
from .workers import WorkerPool

CALL_S = 600.0  #: a call that takes longer has hung: the child is ended
IDLE_S = 30.0  #: the child ends when nothing was asked of it for so long

Call = tuple[Any, ...]  #: a method's name and its arguments


class StoreHands:
    """What the child does: makes the store, and calls it."""

    def __init__(self, make: Callable[[], VectorStore]) -> None:
        self._store = make()

    def __call__(self, call: Call) -> Any:
        """Do one call."""
        method, *arguments = call
        return getattr(self._store, method)(*arguments)

    def close(self) -> None:
        """Close the store before the child ends."""
        self._store.close()


class ChildStore(VectorStore):
    """A `VectorStore` behind a pipe. `make` builds the real one and must be importable from a module's top level."""

    def __init__(self, name: str, dimension: int, make: Callable[[], VectorStore]) -> None:
        self.name, self.dimension = name, dimension
        self._make = partial(StoreHands, make)
        self._lock = threading.Lock()
        self._pool: WorkerPool[Call, Any] | None = None
        self._timer: threading.Timer | None = None

    def _call(self, *call: object) -> Any:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._pool = self._pool or WorkerPool(self._make, 1, timeout_s=CALL_S, nice=5)
            try:
                ((_, answer),) = self._pool.map([call])
            except Exception as error:  # it can't be opened
                answer = error
            self._timer = threading.Timer(IDLE_S, self.close)
            self._timer.daemon = True
            self._timer.start()
        if isinstance(answer, LibrarianError):
            raise answer
        if isinstance(answer, BaseException):
            raise Unavailable(f"The vector store {self.name} failed: {answer}.") from answer
        return answer

    def _put(self, ids: Ids, vectors: Vectors, payloads: Sequence[Payload]) -> None:
        self._call("upsert", ids, vectors, payloads)

    def _drop(self, ids: Ids) -> None:
        self._call("delete", ids)

    def _near(self, question: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        return cast(tuple[Ids, Vector], self._call("search", question, limit, selection))

    def count(self) -> int:
        return int(self._call("count"))

    def ids(self) -> Ids:
        return cast(Ids, self._call("ids"))

    def clear(self) -> None:
        self._call("clear")

    def close(self) -> None:
        """End the child. The store can be used again: a new child is started then."""
        with self._lock:
            pool, self._pool = self._pool, None
            if self._timer is not None:
                self._timer.cancel()
        if pool is not None:
            pool.close()
