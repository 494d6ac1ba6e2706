"""Reading the catalog: one transaction, one generation."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from functools import cache
from typing import Any

from librarian.vocabulary.types import Count, StoredDocument

from . import catalog_windows
from .catalog_queries import CatalogQueries
from .document_memory import DocumentMemory


class SqliteCatalogReader(CatalogQueries):
    """`protocols.CatalogReader` over a connection that is in a read transaction."""

    def __init__(
        self, connection: sqlite3.Connection, shared_products: frozenset[str], memory: DocumentMemory | None = None
    ) -> None:
        self.connection = connection
        self._memory = memory or DocumentMemory()
        super().__init__(shared_products)

    def documents(self, ids: Sequence[int], *, text: bool = False) -> dict[int, StoredDocument]:
        """Stored documents by id; unknown ids are missing. Those read lately aren't read again."""
        every = [int(number) for number in ids]
        changes = int(self.meta("changes", "0"))
        known = self._memory.known(changes, every, text=text)
        if missing := [number for number in every if number not in known]:
            read = super().documents(missing, text=text)
            self._memory.remember(changes, read, text=text)
            known |= read
        return known

    def products(self) -> dict[str, dict[str, int]]:
        """Product → component → number of documents (mails included), by name; counted once per state."""
        changes = int(self.meta("changes", "0"))
        known = self._memory.products
        if known is None or known[0] != changes:
            known = self._memory.products = (changes, super().products())
        return {product: dict(components) for product, components in known[1].items()}

    def _totals(self) -> tuple[Count, dict[str, int]]:
        """Counted once per state of the file: SQLite's data_version changes for a connection when another commits."""
        version = int(self.connection.execute("PRAGMA data_version").fetchone()[0])
        totals = self._memory.totals.get(self.connection)
        if totals is None or totals[0] != version:
            totals = self._memory.totals[self.connection] = (version, *super()._totals())
        return totals[1], totals[2]

    def _embedded(self) -> tuple[int, dict[str, int]]:
        return catalog_windows.embedded(self.connection)

    def meta(self, key: str, default: str = "") -> str:
        """What `set_meta` stored; asked with every transaction, so by the shortest way."""
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else default

    def _rows(self, statement: str, *values: object) -> list[Any]:
        # A list is one bound value, whatever its length: one prepared statement.
        bound = [json.dumps(value) if isinstance(value, list) else value for value in values]
        return self.connection.execute(_in_sqlite(statement), bound).fetchall()


@cache
def _in_sqlite(statement: str) -> str:
    return statement.replace("AMONG ?", "IN (SELECT value FROM json_each(?))")
