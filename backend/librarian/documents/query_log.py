"""What is written down about searches: one line each at debug level, and a warning for a slow one."""

from __future__ import annotations

import logging

from ..models import SearchOutcome
from .responses import match_type

logger = logging.getLogger(__name__)

LONGEST_QUERY = 200  #: characters of a question that a line holds


def note(outcome: SearchOutcome, slow_ms: float) -> None:
    """Write down a search; with `slow_ms` above 0, one that took as long with the time of its legs."""
    slow = 0 < slow_ms <= outcome.took_ms
    if not slow and not logger.isEnabledFor(logging.DEBUG):
        return
    asked = outcome.query.text
    text = asked if len(asked) <= LONGEST_QUERY else asked[: LONGEST_QUERY - 1] + "…"
    retrievers = " ".join(
        f"{name}={retriever.status}" + (f":{retriever.ms:.1f}ms" if retriever.ms else "")
        for name, retriever in outcome.retrievers.items()
        if retriever.status != "off"
    )
    said = f"mode={outcome.mode} took={outcome.took_ms:.1f}ms total={outcome.total} {retrievers}"
    if outcome.cache:
        said += f" cache={outcome.cache}"
    if slow:
        logger.warning("slow search %r %s", text, said)
    hits = " ".join(
        f"{hit.document.document.file_path}#{hit.chunk.chunk.ordinal}:{match_type(hit.candidate)}:{hit.relevance:.3f}"
        for hit in outcome.hits
    )
    logger.debug("search %r %s hits=[%s]", text, said, hits)
