"""What the log says of indexing: what a look changed, each file that is left out, and what doesn't work."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from librarian.vocabulary.types import Failure, IndexReport

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
