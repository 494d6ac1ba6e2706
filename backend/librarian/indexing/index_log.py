"""Log lines of the indexer: what a refresh changed, which files are left out, and what does not work."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from ..models import Failure, IndexReport

logger = logging.getLogger(__name__)

_CHOSEN = frozenset({"ignored", "excluded", "hidden", "extension"})  # left out because somebody said so
_NAMED = 20  # files of one look that have a line of their own


def log_left_out(before: Mapping[str, Failure], now: Mapping[str, Failure]) -> None:
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


def log_report(report: IndexReport) -> None:
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


class ErrorLog:
    """Logs once what stops working, and what works again."""

    def __init__(self) -> None:
        self._logged: dict[str, str] = {}
        self._lock = threading.Lock()

    def log(self, errors: Mapping[str, str]) -> None:
        """`errors`: what does not work now, by part."""
        with self._lock:
            now = dict(errors)
            for part, error in now.items():
                if self._logged.get(part) != error:
                    logger.warning("%s: %s", part, error)
            for part in self._logged.keys() - now.keys():
                logger.info("%s: works again", part)
            self._logged = now
