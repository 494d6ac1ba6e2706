"""The one reader of HTML: pages, books, sites that are crawled, and bodies of mails."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from ..errors import SourceError
from ..models import Document, SourceFile
from .document_builder import DocumentBuilder, shift_mark
from .metadata import parse_date
from .zip_package import ZipPackage, opened, resolved_target

if TYPE_CHECKING:
    from lxml.etree import _Element

import codecs
import html
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ..models import Excluded, Heading
from .document_builder import Target, lines_of
from .encoding import SUPERSETS, Decoded, decode
from .front_matter import FrontMatter, read_front_matter
from .html_cleanup import (
    around_text,
    code_language,
    drawn_text,
    formula,
    forwarded_to,
    heading_level,
    image_text,
    is_around,
    is_in_note,
    is_label,
    is_layout,
    is_listing,
    is_silent,
    main_of,
    name_of,
    names_its_rows,
    without_site,
)
from .metadata import DATE_KEYS, given_doc_type, given_language, modified_of, summary_of, tags_of
from .plain_text import plain

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
#: Lists that lay out a page, as Javadoc's: their items hold headings.
_LAYOUT_LIST = "boolean(./li/h2 | ./li/section/*[self::h2 or self::h3 or self::h4 or self::h5 or self::h6])"
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
_LINE_MARKUP = re.compile(r"^(#{1,6} |>|~{3}|`{3,}(?![^\n]*`))", re.M)
_BULLET = re.compile(r"\A([-+*] )")
_TICKS = re.compile("`+")
_FILE_NAME = re.compile(r"\S*\.(png|jpe?g|gif|svg|webp|avif|bmp)", re.I)


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
        self._heading = 0
        self._title: _Element | None = None  # a heading that isn't marked up as one
        self._is_short = False  # the open heading, in which blocks are words
        self._quotes = 0
        self._code = 0  # open inline code
        self._pre: str | None = None  # language of the open <pre>
        self._pre_element: _Element | None = None
        self._label: _Element | None = None  # open element that names what follows it
        self._named = ""  # what the last one said
        self._rows: list[list[str]] | None = None
        self._cell_span = self._cell_rows = 0
        self._hanging: dict[int, int] = {}  # rows to come, by column, that a cell above reaches into
        self._taken: set[int] = set()  # columns of the open row that belong to a cell above
        self._table: _Element | None = None

    def write(self, root: _Element) -> None:
        """Everything below `root`."""
        from lxml import etree

        walker = etree.iterwalk(root, events=("start", "end"))
        skipped: _Element | None = None
        for event, element in walker:
            name = name_of(element)
            if event == "start":
                if not name or self._is_left_out(element, name):
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
        self._write_label()

    def _is_left_out(self, element: _Element, name: str) -> bool:
        if name in ("math", "script") and (words := formula(element)):
            self._add(f"${words}$" if self._address else words)
            return True
        if name == "sup" and (element.text or "") == "" and self._is_footnote(element):
            return True
        if name in ("sup", "sub") and self._pre is None:
            words = "".join(islice(element.itertext(), _LONGEST_SHIFTED))
            self._pieces.append(shift_mark("".join(self._pieces[-2:]), words, raised=name == "sup"))
        if name == "svg" and element.get("aria-hidden") != "true":
            self._pieces += (f" {words} " for words in drawn_text(element))
            return True
        return is_silent(element, name) or (self._strict and (element in self._around or is_around(element, name)))

    def _is_footnote(self, element: _Element) -> bool:
        """The number of a note, which would be one with the word before it, stands in brackets."""
        words = "".join(element.itertext()).strip()
        if len(words) > 4 or not words.isdecimal() or element.find("a[@href]") is None:
            return False
        self._pieces.append(f"[{words}]")
        return True

    def _add(self, text: str | None) -> None:
        if text == "\n" and self._pre is None:
            self._pieces.append(" ")  # no line break, for which that stands here
        elif text:
            marked = self._address is not None and self._pre is None and not self._code and "<" in text
            self._pieces.append(_MARKUP.sub(r"\\<", text) if marked else text)

    def _start(self, element: _Element, name: str) -> None:
        if self._pre is not None:
            if name == "code" and not self._pre:
                self._pre = code_language(element)
            elif name == "br" or (name == "div" and self._pieces and not self._pieces[-1].endswith("\n")):
                self._pieces.append("\n")
        elif name == "i" and self._label is not None and element.get("title"):
            self._pieces.append(element.get("title"))  # an icon of AsciiDoctor's
        elif name == "a" or (self._address and (name in _CODE or name in _MARKS)):
            self._inline.append(len(self._pieces))
            self._code += name in _CODE
        elif name == "br":
            in_line = self._rows is not None or self._heading or self._code
            self._pieces.append(" " if in_line else "\n")
        elif name == "img":
            self._pieces.append(self._image(element))
        elif self._rows is not None:
            self._start_in_table(element, name)
        elif self._is_short and (name in _BLOCKS or name in _HEADINGS):
            self._pieces.append(" ")
        elif name in _HEADINGS and not (self._address and is_label(element, name)):
            self._flush()
            self._open_heading(element, 0 if is_in_note(element) else heading_level(element) or _HEADINGS[name])
        elif name == "pre" or is_listing(element, name):
            self._flush()
            self._pre, self._pre_element = code_language(element), element
        elif name in _BLOCKS or name in _HEADINGS or (self._address and is_label(element, name)):
            self._flush()
            self._open(element, name)

    def _image(self, element: _Element) -> str:
        words = image_text(element)
        if self._address is None or self._label is not None:
            return f" {words} "
        target = self._address(element.get("data-src") or element.get("src") or "")
        shown = words and target and not _FILE_NAME.fullmatch(words) and "mwe-math" not in (element.get("class") or "")
        return f"![{words}]({target})" if shown else words if not target else ""

    def _open_heading(self, element: _Element, level: int) -> None:
        self._heading = level
        words = "".join(islice(element.itertext(), _LONGEST_HEADING))
        self._is_short = level > 0 and self._address is not None and len(words) < _LONGEST_HEADING

    def _open(self, element: _Element, name: str) -> None:
        if self._address and self._label is None and is_label(element, name):
            self._label = element
        if name in _LISTS:
            self._write_label()
            start = element.get("start") or "1"
            number = int(start) if start.isdecimal() and len(start) < 9 else 1
            self._lists.append(-1 if element.xpath(_LAYOUT_LIST) else number if name == "ol" else None)
        elif name == "li":
            count = self._lists[-1] if self._lists else None
            self._mark = "-" if count is None else f"{count}." if count >= 0 else None
            if count is not None and count >= 0:
                self._lists[-1] = count + 1
        elif name == "blockquote":
            self._quotes += 1
        elif name == "table" and not self._is_layout(element):
            self._rows, self._table = [], element
            self._hanging = {}
        elif name in ("div", "p") and (level := heading_level(element)):
            self._title = element
            self._open_heading(element, level)

    def _is_layout(self, table: _Element) -> bool:
        return is_layout(table)

    def _start_in_table(self, element: _Element, name: str) -> None:
        if name == "tr" and self._rows is not None:
            self._rows.append([])
            self._pieces.clear()
            self._taken = {column for column, left in self._hanging.items() if left}
            self._hanging = {column: self._hanging[column] - 1 for column in self._taken}
        elif name in ("td", "th"):
            self._pieces.clear()
            self._cell_span = min(_span(element, "colspan"), _MAX_SPAN)
            self._cell_rows = _span(element, "rowspan")
        elif name in _BLOCKS:
            self._pieces.append(" ")

    def _end(self, element: _Element, name: str) -> None:
        if self._pre is not None:
            if element is self._pre_element:
                self._write_label()
                self._out.fence("".join(self._pieces), self._pre)
                self._pieces.clear()
                self._inline.clear()
                self._pre = self._pre_element = None
        elif name == "a" or (self._address and (name in _CODE or name in _MARKS)):
            self._end_inline(element, name)
        elif self._rows is not None:
            self._end_in_table(element, name)
        elif element is self._title or (name in _HEADINGS and self._title is None and element is not self._label):
            self._flush()
            self._heading, self._title, self._is_short = 0, None, False
        elif self._is_short and name in _BLOCKS:
            self._pieces.append(" ")
        elif element is self._label:
            words = self._words().strip()
            if words:
                named = words if "**" in words else f"**{' '.join(words.split())}**"
                self._named = f"{self._named}\n{named}" if self._named else named
                self._pieces.clear()
            self._label = None
        elif name in _BLOCKS:
            self._flush()
            if name in _LISTS:
                if self._lists:
                    self._lists.pop()
                self._mark = None
            elif name == "li":
                self._mark = None
            elif name == "blockquote":
                self._quotes = max(0, self._quotes - 1)

    def _end_inline(self, element: _Element, name: str) -> None:
        self._code = max(0, self._code - (name in _CODE))
        if not self._inline:
            return
        place = self._inline.pop()
        words = "".join(self._pieces[place:])
        if name == "a":
            target = element.get("href") or ""
            if not target or target.lower().startswith(("javascript:", "data:")) or len(words) >= 1_000:
                return
            self._links.append((words, target))
        if self._address is not None and words.strip():
            self._pieces[place:] = [self._marked(element, name, words)]

    def _marked(self, element: _Element, name: str, words: str) -> str:
        """Words of an inline element in Markdown; the spaces around them stay outside."""
        inner = " ".join(words.split())
        if name in _CODE:
            ticks = "`" * (1 + max(map(len, _TICKS.findall(inner)), default=0))
            shown = f"{ticks} {inner} {ticks}" if "`" in inner else f"`{inner}`"
        elif name == "a":
            target = (element.get("href") or "").strip()
            target = (
                "" if target.startswith("#") else target if target.startswith("mailto:") else self._addressed(target)
            )
            label = inner if "](" in inner else inner.replace("]", "\\]")
            shown = f"[{label}]({target})" if target else inner
        else:
            shown = inner if _MARKS[name] in inner else f"{_MARKS[name]}{inner}{_MARKS[name]}"
        return f"{' ' * words[0].isspace()}{shown}{' ' * words[-1].isspace()}"

    def _addressed(self, target: str) -> str:
        return self._address(target) if self._address else ""

    def _end_in_table(self, element: _Element, name: str) -> None:
        rows = self._rows or []
        if name in ("td", "th"):
            if rows:
                self._end_cell(rows[-1], _SPACES.sub(" ", "".join(self._pieces)))
            self._pieces.clear()
        elif name == "caption":
            words = "".join(self._pieces)
            self._pieces.clear()
            self._out.paragraph(_SPACES.sub(" ", words))
        elif element is self._table:
            self._write_label()
            if names_its_rows(element):
                self._write_fields(rows)
            else:
                self._out.table(rows, self._links)
            self._rows = self._table = None
            self._links = []
            self._inline.clear()
            self._pieces.clear()
        elif name in _BLOCKS:
            self._pieces.append(" ")

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
            words = "; ".join(cell.strip() for cell in cells if cell.strip())
            self._out.item(f"{name.rstrip(':')}: {words}" if name and words else name or words, links=links)
            links = []

    def _words(self) -> str:
        """What has been collected; newlines of <br> are pieces of their own, all others are spaces."""
        words = "".join(self._pieces)
        if "\n" in words:
            words = "".join(piece if piece == "\n" else _SPACES.sub(" ", piece) for piece in self._pieces)
        return words

    def _write_label(self) -> None:
        if self._named:
            named, self._named = self._named, ""
            if depth := sum(number != -1 for number in self._lists):
                self._out.item(named, depth - 1, " ")
            else:
                self._out.paragraph(named)

    def _flush(self) -> None:
        """Write what has been collected as the kind of block that it stands in."""
        if not self._pieces:
            return
        words = self._words()
        links, self._links, self._pieces = self._links, [], []
        self._inline = [0] * len(self._inline)
        if not words.strip():
            self._links = links
            return
        if self._heading:
            self._write_label()
            self._out.heading(self._heading, words, links)
            return
        if self._address is not None:
            words = _BULLET.sub(r"\\\1", _LINE_MARKUP.sub(r"\\\1", lines_of(words)))
        if self._named:
            words, self._named = f"{self._named}\n{words}", ""
        depth = sum(number != -1 for number in self._lists)
        if depth:
            self._out.item(words, depth - 1, self._mark if self._mark is not None else " ", links)
            self._mark = None
        elif self._quotes:
            self._out.quote(words, links)
        else:
            self._out.paragraph(words, links)


def _span(cell: _Element, name: str) -> int:
    given = cell.get(name) or "1"
    return int(given) if given.isdecimal() and len(given) < 9 else 1


_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|^\s*<\?xml[^>]{0,100}encoding=[\"']([\w.:-]+)", re.I
)
_TAGS = re.compile(r"<[^<>]*>")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_TEMPLATE = re.compile(r"\{%-?[^%\n]*%\}")  #: a generator's tag
_FIRST, _SECOND = re.compile(r"1(?:\.0)?\.?\s"), re.compile(r"2(?:\.0)?\.?\s")
_NO_WORD = re.compile(r"\W")
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEAD_BYTES = 4096
_LONGEST_SIGNPOST = 1_000  #: characters of a page that only says where another one is


class HtmlParser:
    """The main text of a page; the encoding it declares is believed unless the bytes are UTF-8."""

    extensions: tuple[str, ...] = (".html", ".htm", ".xhtml")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode_page(data, source.file_path)
        front = read_front_matter(decoded.text) if decoded.text.startswith(("---", "+++")) else FrontMatter()
        text = decoded.text[front.end :]
        root = html_tree(_TEMPLATE.sub("", text) if front.end else text)
        given = plain(str(front.values.get("title") or ""))
        builder = _written(root, text)
        first = builder.headings[0].text if builder.headings else ""
        title = given or without_site(title_tag(root), first)
        if builder.is_empty and not title and decoded.text.strip():
            raise SourceError(
                f"'{source.file_path}' holds no text that a reader would see.",
                hint="If the page is drawn by a script, save it as shown by a browser.",
                reason="no_text",
            )
        if builder.is_empty:
            builder.paragraph(title)
        document = builder.document(
            source,
            source.extension,
            title=title,
            tags=tags_of(front.values) or _keywords(root),
            modified=parse_date(_meta(root, "dcterms.modified", "article:modified_time", "last-modified")),
            is_better=bool(given) or _are_parts(builder.headings),
        )
        document = replace(
            document,
            encoding=decoded.encoding,
            encoding_confidence=decoded.confidence,
            summary=_summary(document) or document.summary,
        )
        if root is not None and len(document.text) < _LONGEST_SIGNPOST and forwarded_to(root):
            document = replace(document, excluded=(Excluded(0, len(document.text), "sent on"),))
        return _with_front_matter(document, front, source) if front.end else document


def _written(root: _Element | None, text: str) -> DocumentBuilder:
    """The main text of a page, or all of it where that is nothing; of one too deep for a tree what stands in `text`
    between its tags."""
    builder = DocumentBuilder()
    if root is not None:
        main = main_of(root)
        around = around_text(root, title_tag(root))
        HtmlPage(builder, around=around).write(root if main is None else main)
        if builder.is_empty:
            HtmlPage(builder, strict=False).write(root)
    if builder.is_empty and (root is None or not "".join(root.itertext()).strip()):
        for words in _TAGS.split(text):
            builder.paragraph(html.unescape(words))
    return builder


def _with_front_matter(document: Document, front: FrontMatter, source: SourceFile) -> Document:
    """With what the front matter says, which site generators take off a page."""
    values = front.values
    dated = any(key in values for key in DATE_KEYS)
    return replace(
        document,
        doc_type=given_doc_type(values) or document.doc_type,
        language=given_language(values),
        summary=summary_of("", (), values) or document.summary,
        last_modified=modified_of(values, source) if dated else document.last_modified,
        front_matter=values,
        notes=(*document.notes, *([front.note] if front.note else [])),
    )


def page_title(root: _Element | None, builder: DocumentBuilder) -> str:
    """The first heading of the first level, else `<title>` without the name of the site."""
    title = title_tag(root)
    first = plain(next((heading.text for heading in builder.headings if heading.level == 1), ""))
    if first and not _are_parts(builder.headings) and _NO_WORD.sub("", first) != _NO_WORD.sub("", title):
        return first
    outside = (" ".join("".join(heading.itertext()).split()) for heading in root.iter("h1")) if root is not None else ()
    known = [*(plain(heading.text) for heading in builder.headings[:1]), *outside]
    return next((name for name in known if name and without_site(title, name) == name), title or "".join(known[:1]))


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
    return [] if " ".join(words.split()) == title_tag(root) else words.split(",")


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


def title_tag(root: _Element | None) -> str:
    """What a page's `<title>` says."""
    found = None if root is None else root.find(".//title")
    return "" if found is None else " ".join("".join(found.itertext()).split())


def _meta(root: _Element | None, *names: str) -> str:
    for element in root.iter("meta") if root is not None else ():
        if (element.get("name") or element.get("property") or element.get("http-equiv") or "").lower() in names:
            return element.get("content") or ""
    return ""


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
