"""Whose turn it is to index: one server of a library at a time, handed over when that one dies; news for the others.

The turn is a session-level advisory lock, so that the database itself gives it back when its holder's connection
ends. The same connection listens for new generations.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from librarian.vocabulary.errors import LibrarianError

from .database import Database

if TYPE_CHECKING:
    from psycopg import Connection

logger = logging.getLogger(__name__)

TRY_S: Final = 2.0  #: how often a server that waits asks for its turn, and a holder whether it still has it
LOOK: Final = "look"  #: what a server tells the one whose turn it is: look at the folder


class Turn:
    """A thread that takes the turn when it is free.

    `gained` and `lost` are called in that thread when this server's turn begins and ends, `news` with each generation
    above the last one told, `asked` when another server wants the folder to be looked at.
    """

    def __init__(
        self,
        database: Database,
        *,
        gained: Callable[[], None],
        lost: Callable[[], None],
        news: Callable[[int], None] = lambda generation: None,
        asked: Callable[[], None] = lambda: None,
        try_s: float = TRY_S,
    ) -> None:
        self._database = database.join()
        self._gained, self._lost, self._news, self._asked = gained, lost, news, asked
        self._try_s = try_s
        self._stop = threading.Event()
        self._mine = threading.Event()
        self._decided = threading.Event()
        self._told = 0
        self._telling = threading.Lock()
        self._thread: threading.Thread | None = None
        self.problem = ""  #: why there is no connection now

    @property
    def mine(self) -> bool:
        """Whether this server indexes."""
        return self._mine.is_set()

    def start(self) -> None:
        """Begin to ask for the turn; returns once it is known whether it is this server's at first."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="turn", daemon=True)
            self._thread.start()
            self._decided.wait(30)

    def tell(self, generation: int) -> None:
        """There is a new generation; told once, whoever says so first."""
        with self._telling:
            if generation <= self._told:
                return
            self._told = generation
        self._news(generation)

    def ask_for_a_look(self) -> None:
        """Ask the server whose turn it is to look at the folder."""
        with self._database.transaction() as connection:
            connection.execute("SELECT pg_notify(%s, %s)", (self._database.channel, LOOK))

    def close(self) -> None:
        """End the turn and the thread."""
        if self._stop.is_set():
            return
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._database.leave()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._database.told(), self._database.session() as session:
                    self._listen(session)
            except Exception as error:
                known = isinstance(error, LibrarianError)
                if not self.problem:  # once, however long it takes
                    logger.warning("waiting for the database: %s", error, exc_info=None if known else error)
                self.problem = str(error) if known else "The turn to index can't be asked for; see the log."
            self._give_up()
            self._decided.set()
            self._stop.wait(self._try_s)

    def _listen(self, session: Connection[Any]) -> None:
        from psycopg import sql

        session.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._database.channel)))
        row = session.execute("SELECT value::bigint FROM meta WHERE key = 'generation'").fetchone()
        if row is not None:
            self.tell(row[0])
        if self.problem:
            logger.info("the database answers again")
        while not self._stop.is_set():
            self.problem = ""
            if not self.mine:
                self._try(session)
            self._decided.set()
            for notice in session.notifies(timeout=self._try_s, stop_after=1):
                self._hear(notice.payload)
            session.execute("SELECT 1")

    def _try(self, session: Connection[Any]) -> None:
        row = session.execute("SELECT pg_try_advisory_lock(%s)", (self._database.lock_key("indexer"),)).fetchone()
        if row is not None and row[0]:
            logger.info("this server indexes now")
            self._mine.set()
            self._gained()

    def _hear(self, payload: str) -> None:
        if payload == LOOK:
            if self.mine:
                self._asked()
        elif payload.isdigit():
            self.tell(int(payload))

    def _give_up(self) -> None:
        if self.mine:
            self._mine.clear()
            logger.info("this server no longer indexes")
            self._lost()
