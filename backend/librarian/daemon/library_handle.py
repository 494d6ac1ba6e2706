"""A desk whose library is still being opened: whoever asks it something waits for that.

So that doors open before stores are read: a host's handshake needs the introduction alone, and the last one given is
kept in the index folder.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .. import __version__
from ..errors import LibrarianError, Unavailable
from ..files.writing import write_whole
from ..models import Deadline
from ..schemas import FACETS, LONGEST_INSTRUCTIONS, OF_COMMANDS, RAG, REGISTRY, SITES, VERBS

if TYPE_CHECKING:
    from ..library import Librarian

logger = logging.getLogger(__name__)

KEPT: Final = "introduction.txt"
_POLL_S: Final = 0.1  #: how often a waiting call looks whether it was given up
_TOOLS: Final = frozenset(verb.method for verb in (*VERBS, FACETS, *RAG, *REGISTRY, *SITES))
_VERBS: Final = _TOOLS | OF_COMMANDS | {"complete", "resources"}
"""What waits for the library: what tools and REST ask, and what is for hosts and commands alone."""


class Opening:
    """Has every verb of the desk. `opened` or `failed` ends the waiting, once."""

    def __init__(self, index: Path) -> None:
        self._kept = index / KEPT
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._library: Librarian | None = None
        self._error: LibrarianError | None = None
        self._early: dict[object, Callable[[int], None]] = {}
        self._ends: dict[object, Callable[[], None]] = {}

    def opened(self, library: Librarian) -> None:
        """From now on `library` answers."""
        with self._lock:
            self._library = library
            for key, callback in self._early.items():
                self._ends[key] = library.on_generation(callback)
            self._early.clear()
        self._done.set()

    def failed(self, error: LibrarianError) -> None:
        """From now on every call raises `error`."""
        self._error = error
        self._done.set()

    @property
    def library(self) -> Librarian | None:
        """The library, once it is open."""
        return self._library

    @property
    def introduced(self) -> bool:
        """Whether `instructions` needn't wait."""
        return self._done.is_set() or bool(self._last())

    def wait(self, budget: Deadline | None = None) -> Librarian:
        """The library, as soon as it is open. Raises what kept it from opening, and what `budget` does."""
        while not self._done.wait(_POLL_S):
            if budget is not None:
                budget.check()
        if self._library is None:
            raise self._error or Unavailable("The library is closed.", hint="Ask again.")
        return self._library

    def __getattr__(self, name: str) -> Any:
        if name not in _VERBS:
            raise AttributeError(name)

        def verb(*given: Any, budget: Deadline | None = None, **named: Any) -> Any:
            return getattr(self.wait(budget), name)(*given, budget=budget, **named)

        return verb

    def instructions(self) -> str:
        """The library's, and before it is open those that it gave last; a first start waits. Never raises."""
        if not self._done.is_set() and (kept := self._last()):
            return kept
        try:
            text = self.wait().instructions()
        except LibrarianError as error:
            return f"Librarian can't answer: {error}"[:LONGEST_INSTRUCTIONS]
        self._keep(text)
        return text

    def _last(self) -> str:
        """The introduction that this version gave last; empty where it gave none."""
        try:
            version, _, text = self._kept.read_text("utf-8").partition("\n")
        except (OSError, ValueError):
            return ""
        return text if version == __version__ else ""

    def _keep(self, text: str) -> None:
        if self._last() == text:
            return
        try:
            write_whole(self._kept, f"{__version__}\n{text}")
        except OSError as error:
            logger.warning("The introduction can't be kept: %s", error)

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """As the library's; before it is open the callback is remembered."""
        key = object()
        with self._lock:
            if self._library is None:
                self._early[key] = callback
            else:
                self._ends[key] = self._library.on_generation(callback)

        def end() -> None:
            with self._lock:
                self._early.pop(key, None)
                unsubscribe = self._ends.pop(key, None)
            if unsubscribe is not None:
                unsubscribe()

        return end
