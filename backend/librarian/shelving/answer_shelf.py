"""Answers kept for those who ask again, without the texts of the documents that they come from.

An answer shows passages, snippets, titles and headings, all of which are kept. Whole texts with their structure would
be most of what is kept, and hold documents in memory that nothing else needs any more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from librarian.vocabulary.types import Hit, SearchOutcome

from .cache import LruCache


class AnswerShelf(LruCache[Any, SearchOutcome]):
    """An `LruCache` of outcomes whose documents have no text, blocks, links or excluded spans."""

    def put(self, key: Any, value: SearchOutcome) -> None:
        """Keep an answer; the one that was given stays whole."""
        super().put(key, replace(value, hits=tuple(map(_lean, value.hits))))


def _lean(hit: Hit) -> Hit:
    document = replace(hit.document.document, text="", blocks=(), links=(), excluded=())
    return replace(hit, document=replace(hit.document, document=document))
