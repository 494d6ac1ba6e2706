"""The piece of a passage that is shown: coherent, short, and with the match in it."""

from __future__ import annotations

from librarian.vocabulary.protocols import Analyzer
from librarian.vocabulary.types import AnalyzedQuery, Chunk, Document, Snippet

from .visible import visible

CEILING = 600  #: characters that no snippet exceeds


class Snippets:
    """Cuts snippets of about `target` characters."""

    def __init__(self, analyzer: Analyzer, *, target: int = 320) -> None:
        self._analyzer = analyzer
        self._target = min(max(target, 80), CEILING)

    def of(self, chunk: Chunk, document: Document, query: AnalyzedQuery) -> Snippet:
        """The chunk's opening."""
        return Snippet(visible(chunk.text)[: self._target], chunk.line_start, chunk.line_end)
