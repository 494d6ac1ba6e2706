"""Reading the catalog in PostgreSQL: one transaction, one generation."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ..catalog_queries import CatalogQueries

if TYPE_CHECKING:
    from psycopg import Connection


class PostgresCatalogReader(CatalogQueries):
    """`protocols.CatalogReader` over a connection that is in a repeatable-read transaction."""

    def __init__(self, connection: Connection[Any], shared_products: frozenset[str]) -> None:
        self._connection = connection
        super().__init__(shared_products)

    def _embedded(self) -> tuple[int, dict[str, int]]:
        embedded: dict[str, int] = dict(
            self._rows(
                """SELECT m.fingerprint, count(*) FROM windows w JOIN models m ON m.id = w.model_id
                   GROUP BY m.fingerprint"""
            )
        )
        if len(embedded) > 1:
            return self._rows("SELECT count(DISTINCT chunk_id) FROM windows")[0][0], embedded
        return sum(embedded.values()), embedded

    def _rows(self, statement: str, *values: object) -> list[Any]:
        return self._connection.execute(_in_postgres(statement), [_storable(value) for value in values]).fetchall()

    def changes(self, after: int) -> tuple[int, list[list[int]]]:
        """(number of the last change, documents that each change after `after` touched, as far as it is known)."""
        rows = self._connection.execute("SELECT doc_ids FROM changes WHERE number > %s ORDER BY number", (after,))
        return int(self.meta("changes", "0")), [row[0] for row in rows]


@cache
def _in_postgres(statement: str) -> str:
    return statement.replace("AMONG ?", "= ANY(%s)").replace("?", "%s")


def _storable(value: object) -> object:
    """The value as it is stored: PostgreSQL's texts hold no zero bytes."""
    if isinstance(value, list):
        return [_storable(one) for one in value]
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
