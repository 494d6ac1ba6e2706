"""What the catalog and the embedding cache need of a database; `sqlite` and `postgres.database` provide it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from typing import Any, Final, NamedTuple, Protocol, TypeVar

VERSION: Final = 7  #: of the catalog's tables; raised with every change of them
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


Row = tuple[Any, ...]
T = TypeVar("T")


class Session(Protocol):
    """One transaction. Statements write `?` for a value and `AMONG ?` for "is one of this list"."""

    def rows(self, statement: str, *values: object) -> list[Any]:
        """All rows that a statement returns, as tuples. Lists among the values are what `AMONG ?` takes."""

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute the statement for each row of values."""

    def stream(self, statement: str, *values: object) -> Iterator[list[Any]]:
        """The rows that a statement returns, in batches, without holding all of them."""

    def notify(self, generation: int) -> None:
        """Tell other servers, after the commit, that there is a new generation."""


class Database(Protocol):
    """A database. Read transactions see one committed state."""

    @property
    def damage(self) -> str:
        """What was found damaged since it was opened, in a sentence."""

    def join(self) -> Database:
        """One more part uses it; each of them calls `close`."""

    def read(self) -> AbstractContextManager[Session]:
        """A read transaction."""

    def write(self) -> AbstractContextManager[Session]:
        """A write transaction, undone where the block fails; within one of the same thread, a part of that."""

    def storable(self, value: T) -> T:
        """The value without characters that this database can't hold."""

    def inconsistencies(self, session: Session) -> list[str]:
        """What the database itself finds wrong, in sentences."""

    def compact(self) -> None:
        """Give deleted rows' space back to the disk."""

    def close(self) -> None:
        """Let go of it."""
