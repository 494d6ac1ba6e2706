"""What the catalog and the embedding cache need of a database; `sqlite` and `postgres.database` provide it."""

from __future__ import annotations

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from threading import Lock
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

VERSION: Final = 10  #: of the catalog's tables; raised with every change of them
CACHE_VERSION: Final = 1  #: of the embedding cache's


class Dialect(NamedTuple):
    """How a database writes what the two databases write differently."""

    key: str  #: a number that is a table's primary key
    sorted: str  #: a text that is ordered by its bytes
    blob: str
    compact: str  #: behind a table that is found by its primary key alone
    hashed: str  #: before the column of an index over texts of any length


#: Texts lie apart from documents, so that listing documents reads none. `chunks_by_text` holds all that the columns in
#: memory are read from.
CATALOG: Final = files(__package__).joinpath("catalog.sql").read_text("utf-8")

EMBEDDING_CACHE: Final = files(__package__).joinpath("embedding_cache.sql").read_text("utf-8")


def tables_for(dialect: Dialect, template: str) -> list[str]:
    """The statements that make the tables of `template`, in order; a catalog gets an identity of its own."""
    filled = template.format(**dialect._asdict(), identity=uuid.uuid4().hex)
    return [statement.strip() for statement in filled.split(";")]


class Session(Protocol):
    """One transaction. Statements write `?` for a value and `AMONG ?` for "is one of this list"."""

    def rows(self, statement: str, *values: object) -> list[Any]:
        """All rows that a statement returns, as tuples. Lists among the values are what `AMONG ?` takes."""

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute the statement for each row of values, without waiting for each answer."""

    def insert(self, table: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Add rows (column → value) that all have the same columns."""
        if rows:
            columns = ", ".join(f'"{name}"' for name in rows[0])
            given = ", ".join("?" * len(rows[0]))
            self.many(f"INSERT INTO {table} ({columns}) VALUES ({given})", [tuple(row.values()) for row in rows])

    def notify(self, generation: int) -> None:
        """Tell other servers, where there are any, after the commit that there is a new generation."""
        return


class Database(Protocol):
    """A database. Read transactions see one committed state."""

    #: What writing raises for characters that it can't hold.
    unstorable: tuple[type[Exception], ...] = (ValueError,)

    @property
    def damage(self) -> str:
        """What was found damaged since it was opened, in a sentence; empty where the server reports it itself."""
        return ""

    def read(self) -> AbstractContextManager[Session]:
        """A read transaction."""

    def write(self) -> AbstractContextManager[Session]:
        """A write transaction, undone where the block fails; within one of the same thread, a part of that."""

    def inconsistencies(self, session: Session) -> list[str]:
        """What the database itself finds wrong, in sentences."""
        return []

    def close(self) -> None:
        """Let go of it; may be called again. Those who share a database are closed together."""


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
    nothing.
    """

    def __init__(
        self, max_entries: int, ttl_s: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if max_entries < 0:
            raise ValueError(f"max_entries is {max_entries}; it must be 0 (keep nothing) or more.")
        self._max, self._clock = max_entries, clock
        self._ttl = float("inf") if ttl_s is None else ttl_s
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()  #: by use: value, and when it expires
        self._hits = self._misses = 0
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        """The value, which is then the most recently used; None where it is missing or has expired."""
        with self._lock:
            value, expires = self._entries.pop(key, (None, 0.0))
            if value is None or expires <= self._clock():
                self._misses += 1
                return None
            self._entries[key] = value, expires
            self._hits += 1
            return value

    def put(self, key: K, value: V) -> None:
        """Keep a value, in place of what the key held."""
        with self._lock:
            self._entries.pop(key, None)
            self._entries[key] = value, self._clock() + self._ttl
            if len(self._entries) > self._max:
                self._entries.popitem(last=False)

    def clear(self) -> int:
        """Forget everything, the counters too; returns how many entries there were."""
        with self._lock:
            cleared = len(self._entries)
            self._entries.clear()
            self._hits = self._misses = 0
            return cleared

    def stats(self) -> CacheStats:
        """Entries held, hits and misses."""
        with self._lock:
            now = self._clock()
            return CacheStats(sum(expires > now for _, expires in self._entries.values()), self._hits, self._misses)
