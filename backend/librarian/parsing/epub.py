"""Books: `.epub`, 2 and 3."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from ..errors import SourceError
from ..models import Document, SourceFile
from .document_builder import DocumentBuilder
from .html import HtmlPage, html_tree
from .metadata import parse_date
from .zip_package import ZipPackage, opened, resolved_target

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER = "META-INF/container.xml"
_PAGES = ("application/xhtml+xml", "text/html")

_NO_TITLES = frozenset({"", "unknown", "untitled"})  #: what programs write where nobody gave one


class EpubParser:
    """The chapters of a book in reading order; the table of contents, covers and style sheets are left out."""

    extensions: tuple[str, ...] = (".epub",)

    def parse(self, source: SourceFile, data: bytes) -> Document:
        builder = DocumentBuilder()
        with opened(data, source.file_path) as package:
            if "META-INF/encryption.xml" in package and "META-INF/rights.xml" in package:
                raise SourceError(
                    f"'{source.file_path}' is locked by its seller.", hint="Leave it out.", reason="encrypted"
                )
            root = package.tree(_CONTAINER)
            book = next((element.get("full-path") or "" for element in root.iter("{*}rootfile")), "")
            opf = package.tree(book)
            for chapter in _chapters(opf, book):
                if chapter in package and not builder.full:
                    _write(package, chapter, builder)
                elif chapter not in package:
                    builder.notes.append(f"the chapter {posixpath.basename(chapter)} is missing")
        title = _first(opf, "title")
        return builder.document(
            source,
            ".epub",
            title=title,
            is_better=title.casefold() not in _NO_TITLES,  # than the first chapter's
            tags=[element.text or "" for element in opf.iter("{http://purl.org/dc/elements/1.1/}subject")],
            modified=parse_date(_first(opf, "date")),
        )


def _write(package: ZipPackage, chapter: str, builder: DocumentBuilder) -> None:
    with package.open(chapter) as part:
        text = part.read().decode("utf-8", "replace")
    root = html_tree(text)
    if root is not None:
        HtmlPage(builder, strict=False).write(root)


def _chapters(opf: _Element, book: str) -> list[str]:
    items = {
        item.get("id"): (item.get("href") or "", item.get("media-type") or "", item.get("properties") or "")
        for item in opf.iter("{*}item")
    }
    chapters: list[str] = []
    for reference in opf.iter("{*}itemref"):
        href, media, properties = items.get(reference.get("idref"), ("", "", ""))
        if href and media in _PAGES and "nav" not in properties.split():
            chapters.append(resolved_target(book, href))
    return chapters


def _first(opf: _Element, name: str) -> str:
    found = next(opf.iter(f"{{http://purl.org/dc/elements/1.1/}}{name}"), None)
    return "" if found is None else " ".join((found.text or "").split())
