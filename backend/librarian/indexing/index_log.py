"""What the log says of indexing: what a look changed, each file that is left out, and what doesn't work."""

from __future__ import annotations

import logging
import math
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import Final

from ..errors import LibrarianError
from ..models import Failure, IndexReport
from ..storage.base import Catalog

logger = logging.getLogger(__name__)

_CHOSEN = frozenset({"ignored", "excluded", "hidden", "extension"})  # left out because somebody said so
_NAMED = 20  # files of one look that have a line of their own


def tell_left_out(before: Mapping[str, Failure], now: Mapping[str, Failure]) -> None:
    """A warning for each file that isn't indexed any more, or never was, though no setting leaves it out."""
    fresh = [
        failure
        for path, failure in now.items()
        if failure.reason not in _CHOSEN and (path not in before or before[path].reason != failure.reason)
    ]
    for failure in fresh[:_NAMED]:
        logger.warning("%s isn't indexed: %s (%s)", failure.file_path, failure.reason, failure.detail)
    if (further := len(fresh) - _NAMED) > 0:
        logger.warning("%d further files aren't indexed: `librarian status` counts them by reason.", further)


def tell_report(report: IndexReport) -> None:
    """One line for a look at the folder; where nothing changed, only for who wants to know everything."""
    changed = report.added or report.changed or report.removed or report.moved
    logger.log(
        logging.INFO if changed else logging.DEBUG,
        "Indexed in %.1f s: %d added, %d changed, %d removed, %d moved, %d unchanged, %d unreadable, %d left out",
        report.took_ms / 1000,
        report.added,
        report.changed,
        report.removed,
        report.moved,
        report.unchanged,
        len(report.failed),
        len(report.skipped),
    )


def tell_embedded(passages: int) -> None:
    """One line once everything that was without a vector has one."""
    logger.info("Embedded what had no vector: %d passages in all", passages)


class ProblemLog:
    """Tells of what stops working, once, and of what works again."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        self._lock = threading.Lock()

    def tell(self, problems: Mapping[str, str]) -> None:
        """`problems`: what doesn't work now, by part."""
        with self._lock:
            now = dict(problems)
            for part, problem in now.items():
                if self._told.get(part) != problem:
                    logger.warning("%s: %s", part, problem)
            for part in self._told.keys() - now.keys():
                logger.info("%s: works again", part)
            self._told = now


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
