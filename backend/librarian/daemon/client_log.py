"""Which programs have really called, and when last: shows whether a host is connected.

Names and times only, kept in the index folder; what was asked isn't.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from ..files.writing import write_whole

logger = logging.getLogger(__name__)

CLIENTS: Final = "clients.json"
MOST: Final = 50  #: programs that are remembered; those that called last
WRITE_S: Final = 30.0  #: a program that is known is written down no more often than this
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class ClientEntry:
    """A program by the name that it gives itself; `last` is its last call, in seconds since 1970."""

    name: str
    version: str
    calls: int
    last: float


class ClientLog:
    """The list of one daemon; not safe to use from several threads."""

    def __init__(self, index: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = index / CLIENTS
        self._clock = clock
        self._known = {client_entry.name: client_entry for client_entry in read(index)}
        self._written = float("-inf")

    def note(self, name: str, version: str) -> None:
        """A program has called. A new one is written down at once."""
        name, version = name[:_LONGEST_NAME] or "unknown", version[:_LONGEST_NAME]
        now = self._clock()
        before = self._known.pop(name, None)
        self._known[name] = replace(before or ClientEntry(name, version, 0, now), version=version, last=now)
        self._known[name] = replace(self._known[name], calls=self._known[name].calls + 1)
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        if before is None or now - self._written >= WRITE_S:
            self.write()

    def write(self) -> None:
        """Put the list into the index folder; where that fails the log says so."""
        self._written = self._clock()
        try:
            write_whole(
                self._path, json.dumps([asdict(client_entry) for client_entry in self._known.values()], indent=1)
            )
        except OSError as error:
            logger.warning("The list of clients can't be kept: %s", error)


def read(index: Path) -> list[ClientEntry]:
    """Who has called, the last one last; empty where nothing is written or it can't be understood."""
    try:
        rows = json.loads((index / CLIENTS).read_bytes())
        return [
            ClientEntry(str(row["name"]), str(row["version"]), int(row["calls"]), float(row["last"])) for row in rows
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return []
