"""Word files: `.docx`.

The text is written out as light Markdown: `#` headings, `-` and numbered items as Word shows them, tables as pipe rows
with their header. The document part is read as a stream, so a file of 600 pages needs no more memory than its text.
Deleted revisions, headers and footers are left out; footnotes and comments follow at the end. Where no style is a
heading's, the looks of the paragraphs tell (`word_looks`), in a second reading.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from librarian.vocabulary.protocols import Parser
from librarian.vocabulary.types import Document, SourceFile

from ..metadata import doc_type_of, iso_of_ns, summary_of, title_of
from ..zip_package import ZipPackage, opened
from .word_inserted import inserted_document

if TYPE_CHECKING:
    from lxml.etree import _Element

_MAIN = "word/document.xml"
_DEPTH = 3  #: how deep Word files inside Word files are read


class WordParser:
    """Office Open XML, transitional and strict. Raises `SourceError` with reason corrupt, encrypted or too_large.

    `parsers` gives the registry of formats, for files that are inserted as a whole.
    """

    extensions: tuple[str, ...] = (".docx", ".docm")

    def __init__(self, parsers: Callable[[], Mapping[str, Parser]] = dict, *, depth: int = 0) -> None:
        self._parsers = parsers
        self._depth = depth

    def parse(self, source: SourceFile, data: bytes) -> Document:
        from .word_body import WordBody

        with opened(data, source.file_path) as package:
            inner = {".docx": WordParser(self._parsers, depth=self._depth + 1)}
            parts = _Package(package, source, {**self._parsers(), **inner} if self._depth < _DEPTH else {})
            body = WordBody(parts).read()
            looks = body.looks if not body.headings and body.looks.tell else None
            if looks or body.looks.typed:
                body = WordBody(parts, looks, typed=body.looks.typed).read()
        text, headings, blocks = body.text, body.headings, body.blocks
        title, in_text = title_of({}, headings, source.file_path)
        if not in_text and body.title:
            title, in_text = body.title, True
        return Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind="document",
            file_type=source.extension,
            title=title,
            text=text,
            headings=headings,
            blocks=blocks,
            page_starts=body.page_starts,
            links=body.links,
            doc_type=doc_type_of(source.file_path, title, text),
            summary=summary_of(text, blocks, {}),
            last_modified=iso_of_ns(source.mtime_ns),
            size=source.size,
            mtime_ns=source.mtime_ns,
            title_in_text=in_text,
            notes=(
                *([f"files inserted as a whole (altChunk) aren't read: {body.unread}"] if body.unread else ()),
                *(["hidden text is left out"] if body.hidden else ()),
            ),
        )


class _Package:
    """The parts of a file by their role."""

    def __init__(self, package: ZipPackage, source: SourceFile, parsers: Mapping[str, Parser]) -> None:
        self.archive = package
        self._source, self._parsers = source, parsers
        roots = package.relations("")
        self.main = next((target for kind, target, _ in roots.values() if kind == "officeDocument"), _MAIN)
        self.relations = package.relations(self.main)
        core = next((target for kind, target, _ in roots.values() if kind == "core-properties"), "")
        self._roles = {kind: target for kind, target, external in self.relations.values() if not external}
        if core:
            self._roles["core-properties"] = core

    def open_main(self) -> io.RawIOBase:
        """The document part. Raises KeyError where there is none."""
        return self.archive.open(self.main)

    def tree(self, role: str) -> _Element | None:
        """The part with a role such as styles, parsed; None where there is none."""
        target = self._roles.get(role, "")
        return self.archive.tree(target) if target and target in self.archive else None

    def inserted(self, key: str) -> Document | None:
        """The file that a relation inserts as a whole; None where there is none that can be read."""
        kind, target, external = self.relations.get(key, ("", "", True))
        if external or kind != "aFChunk" or target not in self.archive:
            return None
        with self.archive.open(target) as part:
            return inserted_document(self._parsers, self._source, target, part.read())
