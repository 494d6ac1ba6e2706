"""Whether an index can be written now, so that what a full disk or a lock kept from it is made up for at once."""

from __future__ import annotations

import logging
import math
import tempfile
import time
from typing import Final

from librarian.vocabulary.errors import LibrarianError
from librarian.vocabulary.protocols import Catalog

logger = logging.getLogger(__name__)

TRY_S: Final = 1.0  #: how often it is tried whether an index can be written that couldn't be
LONGEST_S: Final = 60.0  #: until work is tried again that fails although the index can be written
_ROOM: Final = 1 << 20  #: bytes that must find room, about what a small batch of changes takes
_TRIED: Final = "tried to write"  #: kept by the catalog: when, in seconds since 1970


def can_write(folder: str, catalog: Catalog) -> bool:
    """Whether the index `folder` (empty: none) has room and the catalog takes what is written: by writing."""
    try:
        if folder:
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(bytes(_ROOM))
        catalog.set_meta(_TRIED, str(time.time()))
    except (OSError, LibrarianError) as error:
        logger.debug("The index can't be written: %s", error)
        return False
    return True


class Backoff:
    """When work that failed is tried again: as soon as the index can be written. What fails although it can is tried
    after 1, 2, 4 … 60 seconds. For one thread."""

    def __init__(self, folder: str, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._at = math.inf  # by the monotonic clock
        self._pause_s = 0.0

    @property
    def wanted(self) -> bool:
        """Whether something is to be tried again."""
        return self._at < math.inf

    @property
    def wait_s(self) -> float:
        """Seconds until `due` is to be asked."""
        return max(0.0, self._at - time.monotonic())

    def failed(self) -> None:
        """Work has failed."""
        self._pause_s = min(max(2 * self._pause_s, TRY_S), LONGEST_S)
        self._at = time.monotonic() + self._pause_s

    def worked(self) -> None:
        """Work has succeeded."""
        self._at, self._pause_s = math.inf, 0.0

    def due(self) -> bool:
        """Whether to try again now, which takes the wish back."""
        if time.monotonic() < self._at:
            return False
        if can_write(self._folder, self._catalog):
            self._at = math.inf
            return True
        self._at, self._pause_s = time.monotonic() + TRY_S, 0.0
        return False
