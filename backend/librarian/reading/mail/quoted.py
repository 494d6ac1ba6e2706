"""The other side of a mail: what it quotes, as a document of its own to be cut into passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from librarian.vocabulary.types import Document, Excluded

from .cleaning import QUOTED

_SHORTEST = 4  #: words of a quote that are worth finding


def quoted_part(document: Document) -> Document | None:
    """The mail with everything but its quotes excluded; None where it quotes nothing to speak of.

    The text is the same, so that passages of the quotes have their place in the mail.
    """
    quotes = [
        span
        for span in document.excluded
        if span.reason in QUOTED and len(document.text[span.start : span.end].replace(">", " ").split()) >= _SHORTEST
    ]
    if not quotes:
        return None
    return replace(document, excluded=tuple(_between(quotes, len(document.text))), headings=())


def _between(spans: list[Excluded], length: int) -> Iterator[Excluded]:
    reached = 0
    for span in spans:
        if span.start > reached:
            yield Excluded(reached, span.start, "own words")
        reached = span.end
    if reached < length:
        yield Excluded(reached, length, "own words")
