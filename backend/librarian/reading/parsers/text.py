"""Plain text and reStructuredText: `.txt`, `.text`, `.rst` (and `.rst.txt`, as Sphinx publishes its sources)."""

from __future__ import annotations

import re

from librarian.vocabulary.types import Document, Link, SourceFile

from ..encoding import decode
from ..metadata import doc_type_of, iso_of_ns, summary_of, title_of
from ..plain_text import plain
from .text_blocks import TextScanner

_DIRECTIVE = re.compile(r"^\.\. (?:[\w:-]+::|_[\w .-]+:[ \t]*$)", re.M)
_LINK = re.compile(r"`([^`<>]{1,300}?)\s*<([^`<>\s]+)>`__?(?!\w)")
_ROLE = re.compile(r":(?:doc|ref|std:doc|std:ref|any):`([^`<>]{1,300}?)\s*<([^`<>]+)>`")


class TextParser:
    """Text whose structure is what a reader sees: underlined titles, lists, ruled tables, indented code."""

    extensions: tuple[str, ...] = (".txt", ".text", ".rst")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        text, name = decoded.text, source.file_path.lower()
        structured = name.endswith((".rst", ".rst.txt")) or _DIRECTIVE.search(text) is not None
        scanner = TextScanner(text, directives=structured).scan()
        title, in_text = title_of({}, scanner.headings, source.file_path)
        return Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind="document",
            file_type="." + name.rsplit(".", 1)[-1],
            title=title,
            text=text,
            headings=tuple(scanner.headings),
            blocks=tuple(scanner.blocks),
            excluded=tuple(scanner.excluded),
            links=tuple(_links(text)) if structured else (),
            doc_type=doc_type_of(source.file_path, title, text),
            encoding=decoded.encoding,
            encoding_confidence=decoded.confidence,
            summary=summary_of(text, scanner.blocks, {}, scanner.excluded),
            last_modified=iso_of_ns(source.mtime_ns),
            size=source.size,
            mtime_ns=source.mtime_ns,
            title_in_text=in_text,
        )


def _links(text: str) -> list[Link]:
    found = [
        Link(plain(match.group(1)), match.group(2).strip(), match.start())
        for pattern in (_LINK, _ROLE)
        for match in pattern.finditer(text)
        if not (pattern is _LINK and text[match.start() - 1 : match.start()] == ":")
    ]
    return sorted(found, key=lambda link: link.start)
