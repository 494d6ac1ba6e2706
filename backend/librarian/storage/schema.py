"""The tables of the catalog and of the embedding cache, the same in SQLite and PostgreSQL.

Placeholders stand for what the two write differently; `tables_for` fills them in. A database of another version isn't
changed: its tables are made anew, and the documents are read again.
"""

from __future__ import annotations

import uuid
from importlib.resources import files
from typing import Final, NamedTuple

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
