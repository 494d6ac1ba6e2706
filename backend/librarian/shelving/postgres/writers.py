"""Everyone who writes to one library in PostgreSQL, as `Company`.

Advisory locks of transactions say who is storing, so that the server itself lets go for a process that was killed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from .database import WRITING, Database

_STORING: Final = "storing"
_PATIENCE_S: Final = 60  # what others store at once takes seconds; waiting longer is told as an error


class Writers:
    """`Company` over a database."""

    shared = True

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextlib.contextmanager
    def storing(self) -> Iterator[None]:
        """Vectors are being stored and marked; waits while another process is `alone`."""
        with self._database.told(), self._database.connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (self._database.lock_key(_STORING),))
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody is storing, and what a killed process had sent is committed or undone.

        Raises `Unavailable` where others don't come to an end within a minute.
        """
        storing, writing = (self._database.lock_key(purpose) for purpose in (_STORING, WRITING))
        with self._database.told(), self._database.connection() as connection, connection.transaction():
            connection.execute("SELECT set_config('lock_timeout', %s, true)", (f"{_PATIENCE_S}s",))
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (storing,))
            # those that have sent their COMMIT hold this until it is done
            connection.execute("SELECT pg_advisory_lock(%s)", (writing,))
            connection.execute("SELECT pg_advisory_unlock(%s)", (writing,))
            yield
