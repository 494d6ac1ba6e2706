"""Passages that wait for vectors, shared out among everyone who embeds.

`embedding_queue` holds what is pending. Whoever takes rows locks them (`FOR UPDATE SKIP LOCKED`) until their vectors
are stored: nobody else takes them meanwhile, and when a worker dies, the server unlocks its rows and another has them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from librarian.vocabulary.errors import Unavailable
from librarian.vocabulary.types import StoredChunk

from .catalog import PENDING, PostgresCatalog, with_prefixes
from .database import Database

if TYPE_CHECKING:
    from psycopg import Connection

AT_MOST: Final = 128  #: chunks that one claims at once: two seconds of work, and what a dead one's heir does again
_FILLED_AT_ONCE: Final = 20_000  # rows that are queued when the queue runs low
_CLAIM: Final = """SELECT chunk_id FROM embedding_queue WHERE model = %(model)s
    ORDER BY chunk_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED"""
_FILL: Final = f"""INSERT INTO embedding_queue SELECT %(model)s, c.id {PENDING}
    ORDER BY c.id LIMIT %(limit)s ON CONFLICT DO NOTHING"""
_DONE: Final = f"""DELETE FROM embedding_queue q WHERE q.model = %(model)s AND q.chunk_id = ANY(%(claimed)s)
    AND NOT EXISTS (SELECT 1 {PENDING} AND c.id = q.chunk_id)"""


class ClaimingCatalog(PostgresCatalog):
    """A catalog whose `pending` hands every chunk to one caller at a time, over all servers and workers.

    What one call gave stays this caller's until its next call, or `release`. For one embedding thread. `patience_s` is
    how long `pending` waits for chunks that others hold before it says that nothing is left: they may die.
    """

    def __init__(
        self,
        database: Database,
        *,
        shared_products: Iterable[str] = (),
        at_most: int = AT_MOST,
        patience_s: float = 10.0,
        pause_s: float = 0.2,
    ) -> None:
        super().__init__(database, shared_products=shared_products)
        self._at_most = at_most
        self._patience_s = patience_s
        self._pause_s = pause_s
        self._claiming = threading.RLock()
        self._session: Connection[Any] | None = None
        self._claimed: list[int] = []
        self._model = ""
        self._ended = threading.Event()

    def pending(self, model: str, limit: int) -> list[tuple[StoredChunk, str]]:
        """Chunks that lack vectors of `model` and that nobody else holds, with their prefix."""
        patience = time.monotonic() + self._patience_s
        with self._claiming:
            self.release()
            while not self._ended.is_set():
                found = self._claim(model, limit)
                if found:
                    return found
                if not self.lacking(model, 1) or time.monotonic() > patience:
                    break
                self._ended.wait(self._pause_s)
            return []

    def release(self) -> None:
        """Give back what was claimed; rows whose chunk is embedded or gone leave the queue."""
        with self._claiming:
            session, claimed, self._claimed = self._session, self._claimed, []
            if session is None or not claimed:
                return
            try:
                with self._database.told():
                    session.execute(_DONE, self._given(claimed=claimed))
                    session.execute("COMMIT")
            except BaseException:
                self._drop_session()
                raise

    def close(self) -> None:
        """Give back what was claimed, and let go of the database."""
        self._ended.set()
        with self._claiming:
            if self._claimed and self._session is not None:
                with contextlib.suppress(Unavailable), self._database.told():
                    self._session.execute("ROLLBACK")  # waits for the answer: from now on others can have them
            self._drop_session()
        super().close()

    def _claim(self, model: str, limit: int) -> list[tuple[StoredChunk, str]]:
        try:
            with self._database.told():
                session = self._session = self._begun()
                self._model = model
                for turn in range(2):
                    if turn:
                        session.execute("BEGIN")
                    rows = session.execute(_CLAIM, {"model": model, "limit": min(limit, self._at_most)}).fetchall()
                    self._claimed = [number for (number,) in rows]
                    if self._claimed or turn:
                        break
                    session.execute("ROLLBACK")
                    session.execute(_FILL, self._given(limit=_FILLED_AT_ONCE))
                if not self._claimed:
                    session.execute("ROLLBACK")
                    return []
                session.execute(_DONE, self._given(claimed=self._claimed))
                alive = session.execute(
                    "SELECT chunk_id FROM embedding_queue WHERE model = %s AND chunk_id = ANY(%s)",
                    (model, self._claimed),
                ).fetchall()
                found = with_prefixes(session, [number for (number,) in alive])
        except BaseException:
            self._drop_session()
            raise
        if not found:
            self.release()
            return self._claim(model, limit)
        return found

    def _begun(self) -> Connection[Any]:
        """The session, in a transaction; a new one where a restart of the server has ended the one that was kept."""
        if self._session is not None:
            with contextlib.suppress(Unavailable), self._database.told():
                self._session.execute("BEGIN")
                return self._session
            self._drop_session()
        session = self._database.session()
        session.execute("BEGIN")
        return session

    def _given(self, **more: object) -> dict[str, object]:
        return {"model": self._model, "from": 0, **more}

    def _drop_session(self) -> None:
        session, self._session, self._claimed = self._session, None, []
        if session is not None:
            session.close()
