"""What doesn't work now, and what the log says of indexing."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ..models import Failure, IndexReport

logger = logging.getLogger(__name__)

_CHOSEN = frozenset({"ignored", "excluded", "hidden", "extension"})  # left out because somebody summary so
_NAMED = 20  # files of one look that have a line of their own


class ErrorLog(dict[str, str]):
    """What doesn't work, in a sentence, by part: root, index, embeddings. Logged once, as is that it works again."""

    def note(self, part: str, sentence: str) -> None:
        """Remember why a part doesn't work; empty where it does."""
        before = self.get(part, "")
        if sentence and sentence != before:
            self[part] = sentence
            logger.warning("%s: %s", part, sentence)
        elif before and not sentence:
            self.pop(part, None)
            logger.info("%s: works again", part)


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
    counts = {kind: getattr(report, kind) for kind in ("added", "changed", "removed", "moved")}
    level = logging.INFO if any(counts.values()) else logging.DEBUG
    counts |= {"unchanged": report.unchanged, "unreadable": len(report.failed), "left out": len(report.skipped)}
    summary = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    logger.log(level, "Indexed in %.1f s: %s", report.took_ms / 1000, summary)
