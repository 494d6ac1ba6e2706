"""Upkeep of a library that several servers share: one of them indexes, all of them answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from librarian.schemas import CheckResponse
from librarian.vocabulary.errors import LibrarianError, Unavailable
from librarian.vocabulary.protocols import Catalog
from librarian.vocabulary.types import IndexReport, Progress

from ..company import Company
from ..upkeep import Upkeep
from .claims import ClaimingCatalog
from .database import Database
from .turn import TRY_S, Turn

logger = logging.getLogger(__name__)

_ELSEWHERE: Final = "Another server indexes this library."


class SharedUpkeep:
    """What `Upkeep` does, while it is this server's turn; otherwise requests go to the server whose turn it is."""

    def __init__(
        self,
        upkeep: Upkeep,
        database: Database,
        catalog: Catalog,
        claims: ClaimingCatalog,
        company: Company,
        *,
        listeners: Callable[[int], None],
        try_s: float = TRY_S,
    ) -> None:
        self._upkeep = upkeep
        self._catalog = catalog
        self._claims = claims
        self._company = company
        self._problem = ""
        self.turn = Turn(
            database,
            gained=self._begin,
            lost=self._end,
            news=listeners,
            asked=upkeep.look_again,
            try_s=try_s,
        )

    def start(self) -> None:
        """Ask for the turn; index while it is this server's."""
        self.turn.start()

    def close(self) -> None:
        """Give the turn back and end."""
        self.turn.close()
        self._upkeep.close()

    def _begin(self) -> None:
        try:
            with self._company.alone():
                pass  # what a killed predecessor had sent is decided now: what is compared next stays so
            self._upkeep.start()
            self._problem = ""
        except Unavailable:
            raise  # the turn is given back and asked for again: nobody would index while it is held in vain
        except LibrarianError as error:
            self._problem = f"index: {error}"
            logger.error("%s", error)

    def _end(self) -> None:
        self._upkeep.close()
        try:
            self._claims.release()
        except LibrarianError as error:
            logger.info("claims are given back by the database itself: %s", error)

    # -- what the desk asks ----------------------------------------------------------------------------------------

    def refresh(self, paths: Sequence[str] | None = None) -> IndexReport:
        """Make the text equal to the folder now, or ask the server whose turn it is."""
        return self._upkeep.refresh(paths) if self.turn.mine else self._asked()

    def rebuild(self) -> IndexReport:
        """Read every file again. Raises `Unavailable` where another server indexes."""
        self._must_be_mine()
        return self._upkeep.rebuild()

    def prune(self) -> IndexReport:
        """Drop what is missing, however much it is. Raises `Unavailable` where another server indexes."""
        self._must_be_mine()
        return self._upkeep.prune()

    def notice(self, paths: Sequence[str]) -> None:
        """Look at these paths soon."""
        if self.turn.mine:
            self._upkeep.notice(paths)
        else:
            self.turn.ask_for_a_look()

    def look_again(self) -> None:
        """Look at the whole folder soon, and try the model again."""
        if self.turn.mine:
            self._upkeep.look_again()
        else:
            self.turn.ask_for_a_look()

    def progress(self) -> Progress:
        """How far the work of this server is."""
        return self._upkeep.progress()

    def problems(self) -> list[str]:
        """`part: sentence` of everything that doesn't work now."""
        own = [self._problem] if self._problem else []
        lost = [f"database: {self.turn.problem}"] if self.turn.problem else []
        return [*own, *lost, *(self._upkeep.problems() if self.turn.mine else ())]

    def away(self) -> str:
        """Why the folder isn't there for this server; empty where it is. Asked once a document's file is missing."""
        return self._upkeep.away()

    def wait_until_idle(self, timeout_s: float | None = None) -> bool:
        """True once this server has nothing left to read or to embed."""
        return self._upkeep.wait_until_idle(timeout_s) if self.turn.mine else True

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call `callback` with each new generation, whichever server made it; the returned function ends it."""
        return self._upkeep.on_generation(callback)

    @property
    def last_indexed_at(self) -> float | None:
        """When this server's last look at the folder ended, in seconds since the epoch."""
        return self._upkeep.last_indexed_at

    @property
    def watching(self) -> bool:
        """Whether this server watches for changes."""
        return self.turn.mine and self._upkeep.watching

    def check(self, repair: bool = False) -> CheckResponse:
        """Hold all parts against each other; to mend, it must be this server's turn."""
        if repair:
            self._must_be_mine()
        return self._upkeep.check(repair)

    def _must_be_mine(self) -> None:
        if not self.turn.mine:
            raise Unavailable(_ELSEWHERE, hint="Run this on the server that says `watching`, or end that server.")

    def _asked(self) -> IndexReport:
        self.turn.ask_for_a_look()
        with self._catalog.read() as reader:
            return IndexReport(generation=reader.generation, notes=(f"{_ELSEWHERE} It was asked to look.",))
