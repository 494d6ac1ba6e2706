"""What a page is about: in a language model's words where one is at hand, else in the page's own."""

from __future__ import annotations

import logging

from librarian.vocabulary.errors import Unavailable

from . import digest
from .crawl_options import Summarize
from .crawl_report import CrawlReport

logger = logging.getLogger(__name__)

GIVEN_UP_AFTER = 3  #: failures in a row: a crawl doesn't wait for a model that is away


class Summaries:
    """Writes summaries, and says in the report how many the model wrote and why it wrote no more."""

    def __init__(self, summarize: Summarize | None, report: CrawlReport) -> None:
        self._summarize = summarize
        self._report = report
        self._failed = 0

    def of(self, title: str, markdown: str, description: str) -> str:
        """`description` is what the page says about itself."""
        if self._summarize is not None and self._failed < GIVEN_UP_AFTER:
            try:
                text = self._summarize(title, markdown)
                self._failed = 0
                self._report.summarized += 1
                return text
            except Unavailable as error:
                self._failed += 1
                self._report.summary_problem = str(error)
                logger.warning("%s: summarised in its own words: %s", title, error)
        return digest.summary(markdown, description)
