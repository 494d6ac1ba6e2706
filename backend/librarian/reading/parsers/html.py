"""Web pages: `.html`, `.htm`, `.xhtml`."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from librarian.vocabulary.errors import SourceError
from librarian.vocabulary.types import Document, Excluded, Heading, SourceFile

from ..encoding import Decoded, decode
from ..front_matter import FrontMatter, read_front_matter
from ..html_around import around_text, is_for_search, is_sent_on, without_site
from ..html_page import HtmlPage, main_of
from ..manuscript import Manuscript
from ..metadata import DATE_KEYS, given_doc_type, given_language, modified_of, parse_date, summary_of, tags_of
from ..plain_text import plain

if TYPE_CHECKING:
    from lxml.etree import _Element

_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|^\s*<\?xml[^>]{0,100}encoding=[\"']([\w.:-]+)", re.I
)
_TAGS = re.compile(r"<[^<>]*>")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_TEMPLATE = re.compile(r"\{%-?[^%\n]*%\}")  #: a generator's tag
_FIRST, _SECOND = re.compile(r"1(?:\.0)?\.?\s"), re.compile(r"2(?:\.0)?\.?\s")
_HEAD_BYTES = 4096
_LONGEST_SIGNPOST = 1_000  #: characters of a page that only says where another one is


class HtmlParser:
    """The main text of a page; the encoding it declares is believed unless the bytes are UTF-8."""

    extensions: tuple[str, ...] = (".html", ".htm", ".xhtml")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = _decoded(data, source.file_path)
        front = read_front_matter(decoded.text) if decoded.text.startswith(("---", "+++")) else FrontMatter()
        text = decoded.text[front.end :]
        root = html_tree(_TEMPLATE.sub("", text) if front.end else text)
        given = plain(str(front.values.get("title") or ""))
        manuscript = _written(root, text)
        title = given or without_site(_title(root), manuscript.headings)
        if manuscript.is_empty and not title and decoded.text.strip():
            raise SourceError(
                f"'{source.file_path}' holds no text that a reader would see.",
                hint="If the page is drawn by a script, save it as shown by a browser.",
                reason="no_text",
            )
        if manuscript.is_empty:
            manuscript.paragraph(title)
        document = manuscript.document(
            source,
            source.extension,
            title=title,
            tags=tags_of(front.values) or _keywords(root),
            modified=parse_date(_meta(root, "dcterms.modified", "article:modified_time", "last-modified")),
            is_better=bool(given) or _are_parts(manuscript.headings),
        )
        document = replace(
            document,
            encoding=decoded.encoding,
            encoding_confidence=decoded.confidence,
            summary=_summary(document) or document.summary,
        )
        if root is not None and len(document.text) < _LONGEST_SIGNPOST:
            reason = "sent on" if is_sent_on(root) else "search results" if is_for_search(root) else ""
            if reason:
                document = replace(document, excluded=(Excluded(0, len(document.text), reason),))
        return _told(document, front) if front.end else document


def _written(root: _Element | None, text: str) -> Manuscript:
    """The main text of a page, or all of it where that is nothing; of one too deep for a tree what stands in `text`
    between its tags."""
    manuscript = Manuscript()
    if root is not None:
        HtmlPage(manuscript, around=around_text(root, _title(root))).write(main_of(root))
        if manuscript.is_empty:
            HtmlPage(manuscript, strict=False).write(root)
    if manuscript.is_empty and (root is None or not "".join(root.itertext()).strip()):
        for words in _TAGS.split(text):
            manuscript.paragraph(html.unescape(words))
    return manuscript


def _told(document: Document, front: FrontMatter) -> Document:
    """With what the front matter says, which site generators take off a page."""
    values = front.values
    dated = any(key in values for key in DATE_KEYS)
    return replace(
        document,
        doc_type=given_doc_type(values) or document.doc_type,
        language=given_language(values),
        summary=summary_of("", (), values) or document.summary,
        last_modified=modified_of(values, document.mtime_ns) if dated else document.last_modified,
        front_matter=values,
        notes=(*document.notes, *([front.note] if front.note else [])),
    )


def _are_parts(headings: Sequence[Heading]) -> bool:
    """Whether the headings of the highest level are numbered parts of a page whose title stands elsewhere, or those of
    a manual page."""
    first, *others = [heading.text for heading in headings if heading.level == 1] or [""]
    numbered = _FIRST.match(first) is not None and any(_SECOND.match(other) for other in others)
    return numbered or (first.casefold() == "name" and bool(others))


def _summary(document: Document) -> str:
    """Of what stands below the title: above it stand a site's name and motto."""
    titles = [heading.start for heading in document.headings if heading.text == document.title]
    below = [block for block in document.blocks if block.start > titles[0]] if titles else ()
    return summary_of(document.text, below, {})


def _keywords(root: _Element | None) -> list[str]:
    """Those that say more than the page's title, which Texinfo gives as its keyword."""
    words = _meta(root, "keywords")
    return [] if " ".join(words.split()) == _title(root) else words.split(",")


def html_tree(text: str) -> _Element | None:
    """The tree of a page however ill-formed; None where it holds nothing."""
    from lxml import etree

    text = _DECLARATION.sub("", text)
    if not text.strip():
        return None
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        return etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.LxmlError:
        return None


def _decoded(data: bytes, name: str) -> Decoded:
    match = _DECLARED.search(data[:_HEAD_BYTES])
    if match and not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            try:
                encoding = codecs.lookup((match.group(1) or match.group(2)).decode("ascii")).name
                text = data.decode("cp1252" if encoding == "iso8859-1" else encoding)
            except (LookupError, UnicodeDecodeError):
                return decode(data, name)
            return Decoded(text.replace("\r\n", "\n").replace("\r", "\n"), encoding, 1.0)
    return decode(data, name)


def _title(root: _Element | None) -> str:
    found = None if root is None else root.find(".//title")
    return "" if found is None else " ".join("".join(found.itertext()).split())


def _meta(root: _Element | None, *names: str) -> str:
    for element in root.iter("meta") if root is not None else ():
        if (element.get("name") or element.get("property") or element.get("http-equiv") or "").lower() in names:
            return element.get("content") or ""
    return ""
