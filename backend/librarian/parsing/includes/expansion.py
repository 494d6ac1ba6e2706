"""A document's bytes in; its text with what it includes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...models import Included, SourceFile
from ..asciidoc import AsciiDocParser
from ..encoding import decode
from ..markdown import MarkdownParser
from ..text import TextParser
from . import asciidoc, markdown, restructured
from .files import IncludeReader, IncludeRoots

_Expand = Callable[[str, IncludeReader, Sequence[str]], str]

_KINDS: dict[str, tuple[re.Pattern[bytes], _Expand]] = {
    **dict.fromkeys(MarkdownParser.extensions, (markdown.HINT, markdown.expand)),
    **dict.fromkeys(TextParser.extensions, (restructured.HINT, restructured.expand)),
    **dict.fromkeys(AsciiDocParser.extensions, (asciidoc.HINT, asciidoc.expand)),
}
#: Pages that were taken from a web site are shown as they are: the site has resolved its includes.
_CRAWLED = re.compile(rb"\A---\r?\n(?:[^\n]*\n){0,40}?source_url: ")


@dataclass(frozen=True, slots=True)
class Expansion:
    """A text in which includes were replaced, and what it depends on."""

    text: str
    encoding: str  #: of the document itself
    confidence: float
    included: tuple[Included, ...]
    found: int  #: parts of files that were put in


def expanded(source: SourceFile, data: bytes, roots: IncludeRoots) -> Expansion | None:
    """The text of a document with what it includes, None where it includes nothing. Raises `SourceError` for what
    isn't text."""
    if source.extension not in _KINDS:
        return None
    hint, expand = _KINDS[source.extension]
    if not hint.search(data) or _CRAWLED.match(data):
        return None
    decoded = decode(data, source.file_path)
    reader = IncludeReader(roots)
    text = expand(decoded.text, reader, (source.path,))
    if text == decoded.text and not reader.included:
        return None
    return Expansion(text, decoded.encoding, decoded.confidence, reader.included, reader.found)
