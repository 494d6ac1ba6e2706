"""Which programs have called, and when last, so that `librarian doctor` can tell whether a host is connected.

Names and times only, kept in the index folder; what was asked isn't.
"""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..files.owned_folder import json_object
from ..files.writing import write_whole

logger = logging.getLogger(__name__)

CLIENTS: Final = "clients.json"
MOST: Final = 50  #: programs that are remembered; those that called last
WRITE_S: Final = 30.0  #: a program that is known is written down no more often than this
_LONGEST_NAME: Final = 100


class Client(NamedTuple):
    """A program's version, and its last call in seconds since 1970."""

    version: str
    last: float


class ClientLog:
    """The list of one daemon; not safe to use from several threads."""

    def __init__(self, index: Path) -> None:
        self._path = index / CLIENTS
        self._known = read(index)

    def note(self, name: str, version: str) -> None:
        """A program has called. Where that can't be written down the log says so."""
        name, now = name[:_LONGEST_NAME] or "unknown", time.time()
        before = self._known.pop(name, Client("", 0.0))
        if now - before.last < WRITE_S:
            self._known[name] = before
            return
        self._known[name] = Client(version[:_LONGEST_NAME], now)
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        try:
            write_whole(self._path, json.dumps(self._known))
        except OSError as error:
            logger.warning("The list of clients can't be kept: %s", error)


def read(index: Path) -> dict[str, Client]:
    """Who has called, by name, the last one last; empty where nothing is written or it can't be understood."""
    try:
        rows: dict[str, Any] = json_object(index / CLIENTS)
        return {name: Client(str(row[0]), float(row[1])) for name, row in rows.items()}
    except (ValueError, TypeError, IndexError):
        return {}
