"""Decides which of several servers over one PostgreSQL database indexes: the one that holds a session-level lock.

PostgreSQL releases the lock when the holder's connection ends. The same connection listens for new index versions.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...errors import LibrarianError
from .database import WRITING, Database

if TYPE_CHECKING:
    from psycopg import Connection

logger = logging.getLogger(__name__)

_SCAN: Final = "scan"  # asks the leader to scan the folder


class LeaderLock:
    """Takes the lock when it is free, in a thread of its own. `on_generation` is called with each new index version."""

    def __init__(self, database: Database, *, on_generation: Callable[[int], None], retry_s: float = 2.0) -> None:
        self._database = database
        self._on_generation, self._retry_s = on_generation, retry_s
        self._stop, self._leading, self._decided = threading.Event(), threading.Event(), threading.Event()
        self._announcing, self._announced = threading.Lock(), 0
        self._thread: threading.Thread | None = None
        self.error = ""  #: why there is no connection now

    @property
    def leading(self) -> bool:
        """Whether this server indexes."""
        return self._leading.is_set()

    def start(self, acquired: Callable[[], None], released: Callable[[], None], scan: Callable[[], None]) -> None:
        """Start the thread that calls these; returns once it is known whether this server leads at first.

        `acquired` and `released` are called as leadership begins and ends, `scan` when another server asks for one.
        """
        if self._thread is None:
            self._acquired, self._released, self._scan = acquired, released, scan
            self._thread = threading.Thread(target=self._run, name="leader-lock", daemon=True)
            self._thread.start()
            self._decided.wait(30)

    def announce(self, generation: int) -> None:
        """Call `on_generation`, unless it has seen this index version already."""
        with self._announcing:
            if generation <= self._announced:
                return
            self._announced = generation
        self._on_generation(generation)

    def request_scan(self) -> None:
        """Ask the leader to scan the folder."""
        with self._database.write() as session:
            session.rows("SELECT pg_notify(?, ?)", self._database.channel, _SCAN)

    def close(self) -> None:
        """Release the lock and end the thread."""
        if not self._stop.is_set():
            self._stop.set()
            if self._thread is not None:
                self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._database.notified(), self._database.session() as session:
                    self._listen(session)
            except Exception as error:
                known = isinstance(error, LibrarianError)
                if not self.error:  # log it once, however long it lasts
                    logger.warning("waiting for the database: %s", error, exc_info=None if known else error)
                self.error = str(error) if known else "The leader lock can't be requested; see the log."
            if self.leading:
                self._leading.clear()
                logger.info("this server no longer indexes")
                self._released()
            self._decided.set()
            self._stop.wait(self._retry_s)

    def _listen(self, session: Connection[Any]) -> None:
        session.execute(f'LISTEN "{self._database.channel}"'.encode())
        row = session.execute("SELECT value::bigint FROM meta WHERE key = 'generation'").fetchone()
        self.announce(row[0] if row is not None else 0)
        if self.error:
            logger.info("the database answers again")
        while not self._stop.is_set():
            self.error = ""
            if not self.leading:
                self._acquire(session)
            self._decided.set()
            for notice in session.notifies(timeout=self._retry_s, stop_after=1):
                if notice.payload.isdigit():
                    self.announce(int(notice.payload))
                elif self.leading:
                    self._scan()
            session.execute("SELECT 1")

    def _acquire(self, session: Connection[Any]) -> None:
        row = session.execute("SELECT pg_try_advisory_lock(%s)", (self._database.lock_key("indexer"),)).fetchone()
        if row is None or not row[0]:
            return
        # Transactions that a killed leader had sent hold this lock until they are decided.
        session.execute("SET lock_timeout TO '60s'")
        for function in ("pg_advisory_lock", "pg_advisory_unlock"):
            session.execute(f"SELECT {function}(%s)".encode(), (self._database.lock_key(WRITING),))
        logger.info("this server indexes now")
        self._leading.set()
        self._acquired()
