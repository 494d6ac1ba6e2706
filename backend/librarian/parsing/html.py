"""Web pages: `.html`, `.htm`, `.xhtml`."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import SourceError
from ..models import Document, Excluded, Heading, SourceFile
from .document_builder import DocumentBuilder, Target
from .encoding import Decoded, decode
from .front_matter import FrontMatter, read_front_matter
from .html_cleanup import (
    alternative,
    around_text,
    columns_of_grid,
    is_around,
    is_declaration,
    is_for_search,
    is_in_declaration,
    is_listing,
    is_of_note,
    is_sent_on,
    is_silent,
    level_of,
    name_of,
    names_its_row,
    without_site,
)
from .metadata import DATE_KEYS, given_doc_type, given_language, modified_of, parse_date, summary_of, tags_of
from .plain_text import plain

if TYPE_CHECKING:
    from lxml.etree import _Element

_MAIN = (
    "//main", "//*[@role='main']", "//div[@itemprop='articleBody']", "//article",
    "//div[@id='main-content' or @id='content' or @id='main' or @id='bodyContent']",
)  # fmt: skip
_ASCIIDOC = frozenset({"article", "book", "manpage"})  #: classes of its pages' bodies
_MAIN_SHARE = 0.3  #: of the text, below which a candidate isn't the main text
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div",
        "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "legend",
        "li", "main", "nav", "ol", "p", "section", "summary", "tbody", "tfoot", "thead", "tr", "ul", "td", "th",
        "table",
    }
)  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LAYOUT = frozenset({"table", "h1", "h2", "h3", "h4", "h5", "h6", "pre"})
_LANGUAGE = re.compile(r"(?:^|\s)(?:language-|lang-|highlight-|brush:\s*|sourceCode\s+)([\w+#.-]+)")
_SPACES = re.compile(r"\s+")
_MAX_SPAN = 64


class HtmlPage:
    """Writes one parsed page, or part of a book, into `manuscript`."""

    def __init__(self, manuscript: DocumentBuilder, *, strict: bool = True, around: Collection[_Element] = ()) -> None:
        self._out = manuscript
        self._strict = strict  # whether what stands around the text is left out
        self._around = around  # of which these elements are part
        self._pieces: list[str] = []
        self._links: list[Target] = []
        self._anchors: list[int] = []  # places in `_pieces` where open links began
        self._lists: list[int | None] = []  # the next number of each open list, None for bullets
        self._mark: str | None = None  # of the item whose first words are awaited
        self._heading = 0
        self._quotes = 0
        self._pre: str | None = None  # language of the open <pre>
        self._pre_element: _Element | None = None
        self._title: _Element | None = None  # a heading that isn't marked up as one
        self._rows: list[list[str]] | None = None
        self._cell_span = self._cell_rows = 0
        self._hanging: dict[int, int] = {}  # rows to come, by column, that a cell above reaches into
        self._taken: set[int] = set()  # columns of the open row that belong to a cell above
        self._table: _Element | None = None
        self._columns = 0  # of a table of boxes

    def write(self, root: _Element) -> None:
        """Everything below `root`."""
        from lxml import etree

        walker = etree.iterwalk(root, events=("start", "end"))
        names: dict[object, str] = {}
        skipped: _Element | None = None
        for event, element in walker:
            tag = element.tag
            name = names.get(tag)
            if name is None:
                name = names[tag] = tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""
            if event == "start":
                if not name or self._is_left_out(element, name):
                    if name == "math":
                        self._add(element.get("alttext") or "")
                    skipped = element
                    walker.skip_subtree()
                else:
                    self._start(element, name)
                    self._add(element.text)
            else:
                if element is not skipped:
                    self._end(element, name)
                if element is not root:
                    self._add(element.tail)
        self._flush()

    def _is_left_out(self, element: _Element, name: str) -> bool:
        return is_silent(element, name) or (self._strict and (element in self._around or is_around(element, name)))

    def _add(self, text: str | None) -> None:
        if text:
            self._pieces.append(text)

    def _start(self, element: _Element, name: str) -> None:
        if self._pre is not None:
            if name == "code" and not self._pre:
                self._pre = _language(element)
            elif name == "br" or (name == "div" and self._pieces and not self._pieces[-1].endswith("\n")):
                self._add("\n")
        elif name == "a":
            self._anchors.append(len(self._pieces))
        elif name == "br":
            self._add("\n" if self._rows is None and not self._heading else " ")
        elif name == "img":
            self._add(f" {alternative(element)} ")
        elif name == "span" and self._heading and element.get("class") == "sep" and not (element.text or len(element)):
            self._add(".")  # drawn by a style, between the parts of a name
        elif self._rows is not None:
            self._start_in_table(element, name)
        elif name in _HEADINGS:
            self._flush()
            self._heading = 0 if is_of_note(element) else level_of(element) or _HEADINGS[name]
        elif name == "pre" or (name == "div" and is_listing(element)):
            self._flush()
            self._pre, self._pre_element = _language(element), element
        elif name == "td" and is_in_declaration(element):
            self._add(" ")
        elif name in _BLOCKS:
            self._flush()
            self._open(element, name)

    def _open(self, element: _Element, name: str) -> None:
        if name in ("ul", "menu"):
            self._lists.append(None)
        elif name == "ol":
            start = element.get("start") or "1"
            self._lists.append(int(start) if start.isdecimal() and len(start) < 9 else 1)
        elif name == "li":
            number = self._lists[-1] if self._lists else None
            self._mark = "-" if number is None else f"{number}."
            if number is not None:
                self._lists[-1] = number + 1
        elif name == "blockquote":
            self._quotes += 1
        elif name == "table" and not _is_layout(element):
            self._rows, self._table = [], element
            self._hanging = {}
        elif name == "div" and (columns := columns_of_grid(element)) and not _is_layout(element):
            self._rows, self._table, self._columns = [], element, columns
        elif name in ("div", "p") and (level := level_of(element)):
            self._title, self._heading = element, level

    def _start_in_table(self, element: _Element, name: str) -> None:
        if self._is_box(element, name) and self._rows is not None:
            if not self._rows or len(self._rows[-1]) >= self._columns:
                self._rows.append([])
            self._pieces.clear()
        elif name == "tr" and self._rows is not None:
            self._rows.append([])
            self._pieces.clear()
            self._taken = {column for column, left in self._hanging.items() if left}
            self._hanging = {column: self._hanging[column] - 1 for column in self._taken}
        elif name in ("td", "th"):
            self._pieces.clear()
            self._cell_span = min(_span(element, "colspan"), _MAX_SPAN)
            self._cell_rows = _span(element, "rowspan")
        elif name in _BLOCKS:
            self._add(" ")

    def _end(self, element: _Element, name: str) -> None:
        if self._pre is not None:
            if element is self._pre_element:
                self._out.fence("".join(self._pieces), self._pre)
                self._pieces.clear()
                self._anchors.clear()
                self._pre = self._pre_element = None
        elif name == "a":
            self._end_link(element)
        elif self._rows is not None:
            self._end_in_table(element, name)
        elif name in _HEADINGS or element is self._title:
            self._flush()
            self._heading, self._title = 0, None
        elif name in _BLOCKS and not (name == "td" and is_in_declaration(element)):
            self._flush()
            if name in ("ul", "ol", "menu"):
                if self._lists:
                    self._lists.pop()
                self._mark = None
            elif name == "li":
                self._mark = None
            elif name == "blockquote":
                self._quotes = max(0, self._quotes - 1)

    def _end_link(self, element: _Element) -> None:
        if self._anchors:
            words = "".join(self._pieces[self._anchors.pop() :])
            target = element.get("href") or ""
            if target and not target.lower().startswith(("javascript:", "data:")) and len(words) < 1_000:
                self._links.append((words, target))

    def _end_in_table(self, element: _Element, name: str) -> None:
        rows = self._rows or []
        if self._is_box(element, name):
            rows[-1].append(_SPACES.sub(" ", "".join(self._pieces)))
            self._pieces.clear()
        elif name in ("td", "th"):
            if rows:
                self._end_cell(rows[-1], _SPACES.sub(" ", "".join(self._pieces)))
            self._pieces.clear()
        elif name == "caption":
            words = "".join(self._pieces)
            self._pieces.clear()
            self._out.paragraph(_SPACES.sub(" ", words))
        elif element is self._table:
            if is_declaration(element):
                words = " ".join(cell for row in rows for cell in row if cell.strip())
                self._out.paragraph(words.replace("( ", "(").replace(" )", ")"), self._links)
            elif _names_its_rows(element):
                self._write_fields(rows)
            else:
                self._out.table(rows, self._links)
            self._rows = self._table = None
            self._columns = 0
            self._links = []
            self._anchors.clear()
            self._pieces.clear()
        elif name in _BLOCKS:
            self._add(" ")

    def _is_box(self, element: _Element, name: str) -> bool:
        """Whether an element is a cell of a table of boxes."""
        return self._columns > 0 and name == "div" and element.getparent() is self._table

    def _end_cell(self, row: list[str], words: str) -> None:
        while len(row) in self._taken:
            row.append("")
        if self._cell_rows > 1:
            self._hanging.update((len(row) + place, self._cell_rows - 1) for place in range(self._cell_span))
        row += [words, *[""] * (self._cell_span - 1)]

    def _write_fields(self, rows: list[list[str]]) -> None:
        """Rows that name themselves by their first cell, as items."""
        links = self._links
        for name, *cells in filter(None, rows):
            name = name.strip()
            if name.startswith("[") and len(cells) > 1:  # "[in]", before the name of a parameter
                name, cells = f"{cells[0].strip()} {name}", cells[1:]
            words = "; ".join(cell.strip() for cell in cells if cell.strip())
            self._out.item(f"{name.rstrip(':')}: {words}" if name and words else name or words, links=links)
            links = []

    def _flush(self) -> None:
        """Write what has been collected as the kind of block that it stands in."""
        pieces = self._pieces
        if not pieces:
            return
        words = "".join(pieces)
        if "\n" in words:  # newlines of <br> are pieces of their own; all others are spaces
            words = "".join(piece if piece == "\n" else _SPACES.sub(" ", piece) for piece in pieces)
        links, self._links, self._pieces = self._links, [], []
        self._anchors = [0] * len(self._anchors)
        if not words.strip():
            self._links = links
            return
        if self._heading:
            self._out.heading(self._heading, words, links)
        elif self._lists:
            self._out.item(words, len(self._lists) - 1, self._mark if self._mark is not None else " ", links)
            self._mark = None
        elif self._quotes:
            self._out.quote(words, links)
        else:
            self._out.paragraph(words, links)


def _is_layout(table: _Element) -> bool:
    """Whether a table holds what no cell can, or but one column without a header: a frame around text."""
    cells = most = 0
    headed = False
    for inner in table.iterdescendants():
        name = name_of(inner)
        if name in _LAYOUT:
            return True
        if name == "tr":
            cells = 0
        elif name in ("td", "th"):
            cells += 1
            most = max(most, cells)
            headed = headed or name == "th"
    return most == 1 and not headed


def _names_its_rows(table: _Element) -> bool:
    """Whether the first row begins with a header and goes on with values, as Sphinx's lists of fields do, or with a
    name."""
    row = next((inner for inner in table.iter() if name_of(inner) == "tr"), None)
    cells = [] if row is None else [cell for cell in row if name_of(cell) in ("td", "th")]
    if not cells or names_its_row(cells[0]):
        return bool(cells)
    return name_of(cells[0]) == "th" and any(name_of(cell) == "td" for cell in cells)


def _span(cell: _Element, name: str) -> int:
    given = cell.get(name) or "1"
    return int(given) if given.isdecimal() and len(given) < 9 else 1


def main_of(root: _Element) -> _Element:
    """The element that holds the page's main text; the root where none stands out."""
    total = len("".join(root.itertext()))
    for path in _MAIN:
        found = root.xpath(path)
        if len(found) != 1:
            continue
        told = path in _MAIN[:2] and found[0].find(".//h1") is not None  # however short it is
        if told or len("".join(found[0].itertext())) >= _MAIN_SHARE * total:
            return _with_header(found[0])
    return root


def _with_header(main: _Element) -> _Element:
    """AsciiDoc's pages hold title, purpose and footnotes beside `#content`: for those, the element around all of it."""
    around = main.getparent()
    if main.get("id") != "content" or around is None or around.tag != "body":
        return main
    asciidoc = not _ASCIIDOC.isdisjoint((around.get("class") or "").split())
    return around if asciidoc and around.find("div[@id='header']/h1") is not None else main


def _language(element: _Element) -> str:
    """The language of code, from its class, those of its parents, or `data-lang`."""
    place: _Element | None = element
    for _ in range(3):
        if place is None:
            break
        if given := place.get("data-lang") or place.get("data-language"):
            return str(given)
        if found := _LANGUAGE.search(place.get("class") or ""):
            language = found.group(1)
            return "" if language in ("default", "none", "text") else language
        place = place.getparent()
    return ""


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


def _written(root: _Element | None, text: str) -> DocumentBuilder:
    """The main text of a page, or all of it where that is nothing; of one too deep for a tree what stands in `text`
    between its tags."""
    manuscript = DocumentBuilder()
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
