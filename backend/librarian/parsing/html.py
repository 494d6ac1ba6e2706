"""The one reader of HTML: pages, books, sites that are crawled, and bodies of mails."""

from __future__ import annotations

import codecs
import html
import posixpath
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import SourceError
from ..models import Document, Excluded, SourceFile
from .document_builder import DocumentBuilder, Target, lines_of, shift_mark
from .encoding import SUPERSETS, Decoded, decode
from .front_matter import read_front_matter
from .html_cleanup import (
    around_text,
    code_language,
    drawn_text,
    formula,
    forwarded_to,
    image_text,
    is_around,
    is_in_note,
    is_layout,
    is_listing,
    is_silent,
    is_title,
    main_of,
    name_of,
    without_site,
)
from .metadata import DATE_KEYS, given_doc_type, given_language, modified_of, parse_date, summary_of, tags_of
from .plain_text import plain
from .zip_package import opened, resolved_target

if TYPE_CHECKING:
    from lxml.etree import _Element

_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div",
        "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "legend",
        "li", "main", "menu", "nav", "ol", "p", "section", "summary", "tbody", "tfoot", "thead", "tr", "ul", "td",
        "th", "table",
    }
)  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu"})
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*"}
_SPACES = re.compile(r"\s+")
_MAX_SPAN = 64
_LONGEST_SHIFTED = 8  #: pieces of raised or lowered words that are looked at
_LONGEST_HEADING = 400  #: characters; one that holds more was never closed
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
_LINE_MARKUP = re.compile(r"^(#{1,6} |>|~{3}|`{3,}(?![^\n]*`))", re.M)
_BULLET = re.compile(r"\A([-+*] )")
_TICKS = re.compile("`+")


class HtmlPage:
    """Writes one parsed page, or part of a book, into `builder`.

    Args:
        strict: what stands around the text is left out.
        around: elements that are part of that.
        address: makes the text Markdown, with inline marks; gives where a link leads, empty where nowhere.
    """

    def __init__(
        self,
        builder: DocumentBuilder,
        *,
        strict: bool = True,
        around: Collection[_Element] = (),
        address: Callable[[str], str] | None = None,
    ) -> None:
        self._out = builder
        self._strict = strict
        self._around = around
        self._address = address
        self._pieces: list[str] = []
        self._links: list[Target] = []
        self._inline: list[int] = []  # places in `_pieces` where open links and inline marks began
        self._lists: list[int | None] = []  # the next number of each open list, None for bullets, -1 for layout
        self._mark: str | None = None  # of the item whose first words are awaited
        self._quotes = 0
        self._code = 0  # open inline code
        self._flat = False  # within what is written as one line, or as code
        self._is_fence = False

    def write(self, root: _Element) -> None:
        """Everything below `root`."""
        self._walk(root)
        self._flush()

    def _walk(self, root: _Element) -> None:
        from lxml import etree

        walker = etree.iterwalk(root, events=("start", "end"))
        done: _Element | None = None  # left out, or written whole
        for event, element in walker:
            name = name_of(element)
            if event == "start":
                if element is not root and (not name or self._is_left_out(element, name) or self._start(element, name)):
                    done = element
                    walker.skip_subtree()
                else:
                    self._add(element.text)
            elif element is not root:
                if element is not done:
                    self._end(element, name)
                self._add(element.tail)

    def _words_in(self, element: _Element, *, as_code: bool = False) -> str:
        """The words of an element whose blocks are words too, or its code."""
        pieces, inline, flat = self._pieces, self._inline, self._flat
        self._pieces, self._inline, self._flat, self._is_fence = [], [], True, as_code
        self._walk(element)
        words = "".join(self._pieces)
        self._pieces, self._inline, self._flat, self._is_fence = pieces, inline, flat, False
        return words

    def _is_left_out(self, element: _Element, name: str) -> bool:
        if name in ("math", "script") and (words := formula(element)):
            self._add(f"${words}$" if self._address else words)
            return True
        if name in ("sup", "sub") and not self._is_fence:
            words = "".join(islice(element.itertext(), _LONGEST_SHIFTED))
            if name == "sup" and element.find("a[@href]") is not None and words.strip().isdecimal():
                self._pieces.append(f"[{words.strip()}]")  # a footnote's, which would be one with the word before it
                return True
            self._pieces.append(shift_mark("".join(self._pieces[-2:]), words, raised=name == "sup"))
        if name == "svg" and element.get("aria-hidden") != "true":
            self._pieces += (f" {words} " for words in drawn_text(element))
            return True
        return is_silent(element, name) or (self._strict and (element in self._around or is_around(element, name)))

    def _add(self, text: str | None) -> None:
        if text == "\n" and not self._is_fence:
            self._pieces.append(" ")  # no line break, for which that stands here
        elif text:
            marked = self._address is not None and not self._is_fence and not self._code and "<" in text
            self._pieces.append(_MARKUP.sub(r"\\<", text) if marked else text)

    def _start(self, element: _Element, name: str) -> bool:
        """Whether an element has been written whole."""
        if self._is_fence:
            if name == "br" or (name == "div" and self._pieces and not self._pieces[-1].endswith("\n")):
                self._pieces.append("\n")
        elif name == "i" and element.get("title") and not element.text:
            self._pieces.append(element.get("title"))  # an icon of AsciiDoctor's
            return True
        elif name == "a" or (self._address and (name in _CODE or name in _MARKS)):
            self._inline.append(len(self._pieces))
            self._code += name in _CODE
        elif name == "br":
            self._pieces.append(" " if self._flat or self._code else "\n")
        elif name == "img":
            self._pieces.append(f" {image_text(element)} ")
        elif self._flat:
            if name in _BLOCKS or name in _HEADINGS:
                self._pieces.append(" ")
        elif name in _BLOCKS or name in _HEADINGS or name == "pre":
            self._flush()
            return self._open(element, name)
        return False

    def _open(self, element: _Element, name: str) -> bool:
        if name == "pre" or is_listing(element, name):
            self._out.fence(self._words_in(element, as_code=True), code_language(element))
            return True
        level = 1 if is_title(element, name) else 0 if is_in_note(element) else _HEADINGS.get(name, 0)
        if level and len("".join(islice(element.itertext(), _LONGEST_HEADING))) < _LONGEST_HEADING:
            self._lists = [-1] * len(self._lists)
            self._out.heading(level, self._words_in(element), self._links)
            self._links = []
            return True
        if name == "table" and not is_layout(element):
            self._write_table(element)
            return True
        if name in _LISTS:
            self._lists.append(_number(element, "start") if name == "ol" else None)
        elif name == "li":
            count = self._lists[-1] if self._lists else None
            self._mark = "-" if count is None else f"{count}." if count >= 0 else None
            if count is not None and count >= 0:
                self._lists[-1] = count + 1
        elif name == "blockquote":
            self._quotes += 1
        return False

    def _write_table(self, table: _Element) -> None:
        rows: list[list[str]] = []
        hanging: dict[int, int] = {}  # rows to come, by column, that a cell above reaches into
        for row in table.iterdescendants():
            name = name_of(row)
            if name == "caption":
                self._out.paragraph(_SPACES.sub(" ", self._words_in(row)))
            if name != "tr" or self._is_left_out(row, name):
                continue
            taken = {column for column, left in hanging.items() if left}
            hanging = {column: hanging[column] - 1 for column in taken}
            cells: list[str] = []
            for cell in row:
                if (name := name_of(cell)) in ("td", "th") and not self._is_left_out(cell, name):
                    while len(cells) in taken:
                        cells.append("")
                    span, depth = min(_number(cell, "colspan"), _MAX_SPAN), _number(cell, "rowspan")
                    if depth > 1:
                        hanging.update((len(cells) + place, depth - 1) for place in range(span))
                    cells += [_SPACES.sub(" ", self._words_in(cell)), *[""] * (span - 1)]
            rows.append(cells)
        first = [name_of(cell) for cell in next(iter(table.iter("tr")), ())]
        if first[:1] == ["th"] and "td" in first:
            self._write_fields(rows)
        else:
            self._out.table(rows, self._links)
        self._links = []

    def _write_fields(self, rows: Sequence[Sequence[str]]) -> None:
        """Rows that name themselves by their first cell, as Sphinx's lists of fields do, as items."""
        for row in rows:
            name, *words = filter(None, map(str.strip, row)) if any(row) else ("",)
            self._out.item(": ".join([name.rstrip(":"), "; ".join(words)]) if words else name, links=self._links)
            self._links = []

    def _end(self, element: _Element, name: str) -> None:
        if self._is_fence:
            return
        if name == "a" or (self._address and (name in _CODE or name in _MARKS)):
            self._end_inline(element, name)
        elif self._flat:
            if name in _BLOCKS:
                self._pieces.append(" ")
        elif name in _BLOCKS or name in _HEADINGS:
            self._flush()
            if name in _LISTS:
                self._lists.pop()
            if name in _LISTS or name == "li":
                self._mark = None
            elif name == "blockquote":
                self._quotes -= 1

    def _end_inline(self, element: _Element, name: str) -> None:
        self._code -= name in _CODE
        place = self._inline.pop()
        words = "".join(self._pieces[place:])
        if name == "a":
            target = element.get("href") or ""
            if not target or target.lower().startswith(("javascript:", "data:")) or len(words) >= 1_000:
                return
            self._links.append((words, target))
        if self._address is not None and words.strip():
            self._pieces[place:] = [self._marked(element, name, words, self._address)]

    def _marked(self, element: _Element, name: str, words: str, address: Callable[[str], str]) -> str:
        """Words of an inline element in Markdown; the spaces around them stay outside."""
        inner = " ".join(words.split())
        if name in _CODE:
            ticks = "`" * (1 + max(map(len, _TICKS.findall(inner)), default=0))
            shown = f"{ticks} {inner} {ticks}" if "`" in inner else f"`{inner}`"
        elif name == "a":
            target = (element.get("href") or "").strip()
            if not target.startswith("mailto:"):
                target = "" if target.startswith("#") else address(target)
            label = inner if "](" in inner else inner.replace("]", "\\]")
            shown = f"[{label}]({target})" if target else inner
        else:
            shown = inner if _MARKS[name] in inner else f"{_MARKS[name]}{inner}{_MARKS[name]}"
        return f"{' ' * words[0].isspace()}{shown}{' ' * words[-1].isspace()}"

    def _flush(self) -> None:
        """Write what has been collected as the kind of block that it stands in."""
        if not self._pieces:
            return
        words = "".join(self._pieces)
        if "\n" in words:  # newlines of <br> are pieces of their own, all others are spaces
            words = "".join(piece if piece == "\n" else _SPACES.sub(" ", piece) for piece in self._pieces)
        self._pieces = []
        self._inline = [0] * len(self._inline)
        if not words.strip():
            return
        links, self._links = self._links, []
        if self._address is not None:
            words = _BULLET.sub(r"\\\1", _LINE_MARKUP.sub(r"\\\1", lines_of(words)))
        if depth := sum(number != -1 for number in self._lists):
            self._out.item(words, depth - 1, self._mark if self._mark is not None else " ", links)
            self._mark = None
        elif self._quotes:
            self._out.quote(words, links)
        else:
            self._out.paragraph(words, links)


def _number(element: _Element, name: str) -> int:
    given = element.get(name) or "1"
    return int(given) if given.isdecimal() and len(given) < 9 else 1


_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|^\s*<\?xml[^>]{0,100}encoding=[\"']([\w.:-]+)", re.I
)
_TAGS = re.compile(r"<[^<>]*>")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_TEMPLATE = re.compile(r"\{%-?[^%\n]*%\}")  #: a generator's tag
_NO_WORD = re.compile(r"\W")
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEAD_BYTES = 4096
_LONGEST_SIGNPOST = 1_000  #: characters of a page that only says where another one is


class HtmlParser:
    """The main text of a page; the encoding it declares is believed unless the bytes are UTF-8."""

    extensions: tuple[str, ...] = (".html", ".htm", ".xhtml")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode_page(data, source.file_path)
        front = read_front_matter(decoded.text)  # as site generators take it off a page
        values, text = front.values, decoded.text[front.end :]
        root = html_tree(_TEMPLATE.sub("", text) if front.end else text)
        builder = _written(root, text)
        title = plain(str(values.get("title") or "")) or page_title(root, builder)
        if builder.is_empty and not title and decoded.text.strip():
            raise SourceError(
                f"'{source.file_path}' holds no text that a reader would see.",
                hint="If the page is drawn by a script, save it as shown by a browser.",
                reason="no_text",
            )
        if builder.is_empty:
            builder.paragraph(title)
        meta = meta_tags(root)
        keywords = meta.get("keywords", "")
        dates = (meta[name] for name in ("dcterms.modified", "article:modified_time", "last-modified") if name in meta)
        document = builder.document(
            source,
            title=title,
            tags=tags_of(values) or ([] if keywords == title_tag(root) else keywords.split(",")),
            modified=parse_date(next(dates, "")),
            is_better=True,
        )
        is_signpost = len(document.text) < _LONGEST_SIGNPOST and forwarded_to(root)
        return replace(
            document,
            encoding=decoded.encoding,
            encoding_confidence=decoded.confidence,
            doc_type=given_doc_type(values) or document.doc_type,
            language=given_language(values),
            summary=summary_of("", (), values) or _summary(document) or document.summary,
            last_modified=modified_of(values, source) if values.keys() & DATE_KEYS else document.last_modified,
            front_matter=values,
            excluded=(Excluded(0, len(document.text), "sent on"),) if is_signpost else (),
            notes=(*document.notes, *([front.note] if front.note else [])),
        )


def _written(root: _Element, text: str) -> DocumentBuilder:
    """The main text of a page, or all of it where that is nothing; of one too deep for a tree what stands in `text`
    between its tags."""
    builder = DocumentBuilder()
    main = main_of(root)
    HtmlPage(builder, around=around_text(root, title_tag(root))).write(root if main is None else main)
    if builder.is_empty:
        HtmlPage(builder, strict=False).write(root)
    if builder.is_empty and not "".join(root.itertext()).strip():
        for words in _TAGS.split(text):
            builder.paragraph(html.unescape(words))
    return builder


def page_title(root: _Element, builder: DocumentBuilder) -> str:
    """The first heading of the first level, else `<title>` without the name of the site."""
    title = title_tag(root)
    first = plain(next((heading.text for heading in builder.headings if heading.level == 1), ""))
    if first and _NO_WORD.sub("", first) != _NO_WORD.sub("", title):
        return first
    outside = (" ".join("".join(heading.itertext()).split()) for heading in root.iter("h1"))
    known = [*(plain(heading.text) for heading in builder.headings[:1]), *outside]
    named = (without_site(title, name) for name in known)
    return next((name for name in named if name != title), title or "".join(known[:1]))


def _summary(document: Document) -> str:
    """Of what stands below the title: above it stand a site's name and motto."""
    titles = [heading.start for heading in document.headings if heading.text == document.title]
    below = [block for block in document.blocks if block.start > titles[0]] if titles else ()
    return summary_of(document.text, below, {})


def html_tree(text: str) -> _Element:
    """The tree of a page however ill-formed; one element where it holds nothing."""
    from lxml import etree

    text = _DECLARATION.sub("", text)
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    with suppress(etree.LxmlError):
        found = etree.fromstring(text.encode("utf-8", "replace"), parser)
        if found is not None:
            return found
    return etree.Element("html")


def decode_page(data: bytes, name: str, served: str = "", otherwise: str = "") -> Decoded:
    """Decode a page as its bytes, its server or itself says, in this order; without `otherwise` the rest is guessed."""
    if data.startswith(_BYTE_ORDER_MARKS):
        return decode(data, name)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        match = _DECLARED.search(data[:_HEAD_BYTES])
        declared = (match[1] or match[2]).decode("ascii") if match else ""
        for named in filter(None, (served, declared, otherwise)):
            try:
                encoding = codecs.lookup(named).name
                text = data.decode(SUPERSETS.get(encoding, encoding))
            except (LookupError, ValueError):
                continue
            return Decoded(text.replace("\r\n", "\n").replace("\r", "\n"), encoding, 1.0)
    return decode(data, name)


def title_tag(root: _Element) -> str:
    """What a page's `<title>` says."""
    found = root.find(".//title")
    return "" if found is None else " ".join("".join(found.itertext()).split())


def meta_tags(root: _Element) -> dict[str, str]:
    """What a page says about itself, by name."""
    return {
        (tag.get("name") or tag.get("property") or tag.get("http-equiv") or "").lower(): tag.get("content") or ""
        for tag in root.iter("meta")
    }


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
            book = next((one.get("full-path") or "" for one in package.tree(_CONTAINER).iter("{*}rootfile")), "")
            opf = package.tree(book)
            items = {item.get("id"): item for item in opf.iter("{*}item")}
            read = (items.get(reference.get("idref")) for reference in opf.iter("{*}itemref"))
            for item in read:
                if item is None or item.get("media-type") not in _PAGES or "nav" in item.get("properties", "").split():
                    continue
                chapter = resolved_target(book, item.get("href", ""))
                if chapter not in package:
                    builder.notes.append(f"the chapter {posixpath.basename(chapter)} is missing")
                elif not builder.full:
                    chapter_text = package.read(chapter).decode("utf-8", "replace")
                    HtmlPage(builder, strict=False).write(html_tree(chapter_text))
        title = _first(opf, "title")
        return builder.document(
            source,
            title=title,
            is_better=title.casefold() not in _NO_TITLES,  # than the first chapter's
            tags=[element.text or "" for element in opf.iter("{http://purl.org/dc/elements/1.1/}subject")],
            modified=parse_date(_first(opf, "date")),
        )


def _first(opf: _Element, name: str) -> str:
    found = next(opf.iter(f"{{http://purl.org/dc/elements/1.1/}}{name}"), None)
    return "" if found is None else " ".join((found.text or "").split())
