"""Word files: `.docx`.

The text is written out as light Markdown: `#` headings, `-` and numbered items as Word shows them, tables as pipe rows
with their header. The document part is read as a stream, so a file of 600 pages needs no more memory than its text.
Deleted revisions, headers and footers are left out; footnotes and comments follow at the end. Where no style is a
heading's, the looks of the paragraphs tell (`word_looks`), in a second reading.
"""

from __future__ import annotations

import email
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, Protocol

from ..models import Block, Document, Heading, Link, SourceFile
from .base import Parser
from .document_builder import MAX_CHARACTERS
from .metadata import doc_type_of, iso_of_ns, summary_of, title_of
from .slides import description, drawn_words
from .word_styles import Looks, Numbering, Styles, attribute, child, children, is_on, level_of, local, look_of, text_of
from .zip_package import ZipPackage, opened

if TYPE_CHECKING:
    from lxml.etree import _Element

    from .zip_package import ZipPackage

_ARCHIVED = re.compile(rb"\s*(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*){0,20}?(?:MIME-Version|Content-Type):", re.I)
_OTHER_XML = re.compile(rb"\s*(?:\xef\xbb\xbf)?<\?xml(?![^\0]{0,2000}<html)", re.I)


def inserted_document(parsers: Mapping[str, Parser], source: SourceFile, part: str, data: bytes) -> Document | None:
    """What an inserted part says, told by how it begins rather than by its name; None where no parser can read it."""
    try:
        page = _page_of(data) if _ARCHIVED.match(data[:4096]) else data
        extension = _extension(page)
        if extension not in parsers:
            return None
        inner = replace(source, file_path=f"{source.file_path}/{part}{extension}", size=len(page))
        return parsers[extension].parse(inner, page)
    except Exception:  # what can't be read of it must not cost the file around it
        return None


def _extension(data: bytes) -> str:
    beginning = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if beginning.startswith(b"{\\rtf"):
        return ".rtf"
    if beginning.startswith(b"PK"):
        return ".docx"
    if _OTHER_XML.match(beginning) or b"\0\0" in beginning:
        return ""
    return ".html" if re.match(rb"<[!?a-z]|\xff\xfe<|\xfe\xff\0<", beginning, re.I) else ".txt"


def _page_of(data: bytes) -> bytes:
    """The page in a web archive (MHTML, RFC 2557) as UTF-8; else its first text."""
    texts = [one for one in email.message_from_bytes(data.lstrip()).walk() if one.get_content_maintype() == "text"]
    texts.sort(key=lambda one: one.get_content_subtype() not in ("html", "xhtml"))
    content = texts[0].get_payload(decode=True) if texts else b""
    page = content if isinstance(content, bytes) else b""
    try:
        return page.decode(texts[0].get_content_charset("utf-8")).encode()
    except (LookupError, UnicodeDecodeError, IndexError):
        return page


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


#: Elements whose content stands in the text as if they weren't there.
TRANSPARENT = frozenset(
    {"ins", "moveTo", "smartTag", "sdt", "sdtContent", "fldSimple", "customXml", "dir", "bdo", "Choice"}
)
_MOST_IN_CELL = 40  #: paragraphs


def rows_of(table: _Element) -> list[_Element]:
    """The rows of a table, deleted ones too."""
    rows: list[_Element] = []
    for inner in table:
        if local(inner) == "tr":
            rows.append(inner)
        elif local(inner) in TRANSPARENT:
            rows += rows_of(inner)
    return rows


def cells_of(row: _Element) -> list[_Element]:
    """The cells of a row."""
    cells: list[_Element] = []
    for inner in row:
        if local(inner) == "tc":
            cells.append(inner)
        elif local(inner) in TRANSPARENT:
            cells += cells_of(inner)
    return cells


def is_page(cell: _Element) -> bool:
    """Whether a cell holds more than any table's does: a page, or all pages, of a document laid out by a table."""
    return sum(1 for _ in islice(cell.iter("{*}p"), _MOST_IN_CELL + 1)) > _MOST_IN_CELL


def is_deleted(row: _Element) -> bool:
    """Whether a row is left out where all changes are accepted."""
    return child(row, "trPr", "del") is not None


def span_of(columns: _Element | None) -> int:
    """How many columns an element says, 64 at most; 0 where it is missing or says no number."""
    said = attribute(columns)
    return min(int(said), 64) if said.isdecimal() and len(said) < 9 else 0


def written_rows(grid: list[list[str]]) -> list[str]:
    """The lines of a table: its rows, and the rule below the first.

    All rows get as many cells as the widest has: where the first has fewer columns than the rule, no reader of Markdown
    sees a table.
    """
    columns = max(map(len, grid))
    rows = ["| " + " | ".join([*texts, *[""] * (columns - len(texts))]) + " |" for texts in grid]
    return [rows[0], "|" + " --- |" * columns, *rows[1:]]


@dataclass(slots=True)
class Line:
    """A paragraph being put together; positions are within its text."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0
    rendered: list[int] = field(default_factory=list)
    explicit: list[int] = field(default_factory=list)
    links: list[tuple[int, int, str]] = field(default_factory=list)
    boxes: list[_Element] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)


#: Elements that stand for characters.
SIGNS = frozenset({"tab", "ptab", "noBreakHyphen", "sym"})
_PRIVATE = range(0xF000, 0xF100)  #: where Word moves the codes of fonts that have an encoding of their own
#: The encoding of the font Symbol, from its codes 0x20 and 0xA0 on.
_SYMBOL = {
    first + place: sign
    for first, signs in (
        (0x20, " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"),
        (0xA0, "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"),
        (0xF1, "〉∫"),
    )
    for place, sign in enumerate(signs)
}  # fmt: skip
#: The signs of Wingdings that mean something in a text: ticks, boxes, arrows, bullets.
_WINGDINGS = {
    0x6F: "☐", 0xA7: "▪", 0xA8: "☐", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨",
    0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0xA3: "☐"}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}


def sign_of(element: _Element) -> str:
    """The character that an element of `SIGNS` stands for; empty for the little pictures of symbol fonts."""
    name = local(element)
    if name != "sym":
        return "-" if name == "noBreakHyphen" else "\t"
    try:
        code = int(attribute(element, "char"), 16)
    except ValueError:
        return ""
    known = _FONTS.get(attribute(element, "font").lower())
    if known is not None:
        return known.get(code - _PRIVATE.start if code in _PRIVATE else code, "")
    return "" if code in _PRIVATE or not 0x20 <= code < 0x10000 else chr(code)


_MAX_DEPTH = 40


def math_text(element: _Element, depth: int = 0) -> str:
    """The text of an `oMath` element or of a part of one."""
    if depth > _MAX_DEPTH:
        return ""

    def part(name: str) -> str:
        found = child(element, name)
        return "" if found is None else math_text(found, depth + 1)

    name = local(element)
    if name == "t":
        return element.text or ""
    if name in ("rPr", "ctrlPr", "del", "moveFrom") or name.endswith("Pr"):
        return ""
    if name == "f":
        return f"({part('num')})/({part('den')})"
    if name in ("sSup", "sSub", "sSubSup", "sPre"):
        return f"{part('e')}{script('_', part('sub'))}{script('^', part('sup'))}"
    if name == "rad":
        return f"{part('deg')}√({part('e')})"
    if name == "nary":
        sign = attribute(child(element, "naryPr", "chr")) or "∫"
        return f"{sign}{script('_', part('sub'))}{script('^', part('sup'))} {part('e')}"
    if name == "d":
        properties = child(element, "dPr")
        begin, end = child(properties, "begChr"), child(properties, "endChr")
        inner = ", ".join(math_text(inner, depth + 1) for inner in children(element, "e"))
        return f"{'(' if begin is None else attribute(begin)}{inner}{')' if end is None else attribute(end)}"
    if name in ("limLow", "limUpp"):
        return f"{part('e')}{script('_' if name == 'limLow' else '^', part('lim'))} "
    if name == "func":
        return f"{part('fName')} {part('e')}"
    if name == "m":
        rows = (", ".join(math_text(cell, depth + 1) for cell in children(row, "e")) for row in children(element, "mr"))
        return f"[{'; '.join(rows)}]"
    if name == "eqArr":
        return "; ".join(math_text(line, depth + 1) for line in children(element, "e"))
    return "".join(math_text(inner, depth + 1) for inner in element)


def script(sign: str, words: str) -> str:
    """What stands below (`_`) or above (`^`) the line, in brackets where it is no single word; empty for nothing."""
    if not words:
        return ""
    return f"{sign}{words}" if len(words) == 1 or words.isalnum() else f"{sign}({words})"


_DELETED = frozenset({"del", "moveFrom", "instrText", "delText", "rPr", "pPr", "sdtPr", "rt"})
_MAX_TABLE_DEPTH = 20

Kind = Literal["heading", "paragraph", "list", "table", "fence"]


class Package(Protocol):
    """What the body needs of the file around it."""

    archive: ZipPackage
    relations: dict[str, tuple[str, str, bool]]

    def open_main(self) -> io.RawIOBase: ...

    def tree(self, role: str) -> _Element | None: ...

    def inserted(self, key: str) -> Document | None: ...


class WordBody:
    """Reads the body of one file; all fields are filled by `read`.

    `looks`, counted by a reading before, tells headings where no style does. Paragraphs whose letters are all of one
    width are code, unless the document is `typed`.
    """

    def __init__(self, package: Package, looks: Looks | None = None, *, typed: bool = False) -> None:
        self.text = ""
        self.title = ""
        self.headings: tuple[Heading, ...] = ()
        self.blocks: tuple[Block, ...] = ()
        self.links: tuple[Link, ...] = ()
        self.page_starts: tuple[int, ...] = ()
        self.unread = 0  # files inserted as a whole that Word shows as part of the text
        self.hidden = False  # whether words were left out that Word doesn't show
        self._package = package
        self._styles = Styles(package.tree("styles"))
        self._numbering = Numbering(package.tree("numbering"))
        self._parts: list[str] = []
        self._length = 0
        self._found_blocks: list[Block] = []
        self._found_headings: list[Heading] = []
        self._found_links: list[Link] = []
        self._rendered: list[int] = []
        self._explicit: list[int] = []
        self._break_before_next = False
        self._notes: list[tuple[str, str]] = []
        self._comments: list[str] = []
        self._lines = 1
        self._known_looks = looks
        self._typed = typed
        self._initial = ""  # a letter of several lines' height, which the next paragraph's first word begins with
        self._in_contents = False
        self.looks = Looks()

    def read(self) -> WordBody:
        from lxml import etree

        with self._package.open_main() as part:
            events = etree.iterparse(
                part, events=("end",), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
            )
            for _, element in events:
                parent = element.getparent()
                if parent is not None and local(parent) == "body":
                    self._block(element)
                    element.clear()
                    while element.getprevious() is not None:
                        del parent[0]
        if self._initial:
            self._write("paragraph", "", self._initial, None)
        self._footnotes()
        self._write_comments()
        self.text = "".join(self._parts)
        self.headings = tuple(self._found_headings)
        self.blocks = tuple(self._found_blocks)
        self.links = tuple(self._found_links)
        # Where Word has laid the document out, its marks include the explicit breaks.
        breaks = self._rendered or self._explicit
        pages = [min(offset, len(self.text)) for offset in breaks]
        self.page_starts = (0, *pages) if pages else ()
        if pages:
            self._number_pages()
        self.title = " ".join((text_of(self._package.tree("core-properties"), "title")).split())
        return self

    def _number_pages(self) -> None:
        from bisect import bisect_right

        self.headings = tuple(
            Heading(head.level, head.text, head.line, head.start, bisect_right(self.page_starts, head.start))
            for head in self.headings
        )

    # -- blocks ------------------------------------------------------------------------------------------------------

    def _block(self, element: _Element, depth: int = 0) -> None:
        name = local(element)
        if name == "p":
            self._paragraph(element, depth)
        elif name == "tbl":
            self._table(element, depth)
        elif name == "altChunk":
            self._inserted(element)
        elif name in ("sdt", "sdtContent", "customXml", "ins", "moveTo") and depth < _MAX_TABLE_DEPTH:
            outside = self._in_contents
            gallery = attribute(child(element, "sdtPr", "docPartObj", "docPartGallery"))
            self._in_contents = outside or gallery == "Table of Contents"
            for inner in element:
                self._block(inner, depth + 1)
            self._in_contents = outside

    def _paragraph(self, element: _Element, depth: int) -> None:
        properties = child(element, "pPr")
        style = self._styles.get(attribute(child(properties, "pStyle")))
        line = Line()
        if self._initial:
            line.add(self._initial)
            self._initial = ""
        self._inline(element, line, depth)
        level = level_of(properties, style)
        label, indent = self._label(properties, style.number_id, style.number_level)
        look = look_of(element, style, self._styles)
        is_code = style.is_code or (look.mono and not self._typed)
        if depth == 0:
            self.looks.count(look)
            if self._known_looks is not None and not level and not is_code:
                level = self._known_looks.level(look, "".join(line.pieces), label)
        own_break = child(properties, "pageBreakBefore")
        if self._break_before_next or (is_on(own_break) if own_break is not None else style.page_break):
            line.explicit.insert(0, 0)
        section = child(properties, "sectPr")
        new_page = attribute(child(section, "type")) not in ("continuous", "nextColumn")
        self._break_before_next = section is not None and new_page
        raw = "".join(line.pieces)
        if attribute(child(properties, "framePr"), "dropCap") in ("drop", "margin"):
            self._initial, raw = raw.strip(), ""
        if style.is_contents or self._in_contents:
            raw = ""  # repeats the headings
        if not raw.strip():
            # An empty paragraph may still carry a break: the next one begins the page.
            place = self._length + (2 if self._length else 0)
            self._rendered += [place] * len(line.rendered)
            self._explicit += [place] * len(line.explicit)
        elif level:
            words = " ".join(raw.split())
            self._write(
                "heading", f"{'#' * level} ", f"{label} {words}" if label and label != "-" else words, line, level
            )
        elif label is not None:
            self._write("list", f"{'  ' * indent}{label} ", raw, line)
        else:
            self._write("fence" if is_code else "paragraph", "", raw, line)
        for box in line.boxes:
            for inner in box:
                self._block(inner, depth + 1)
        for words in line.drawn:
            self._write("paragraph", "", " ".join(words.split()), None)

    def _label(self, properties: _Element | None, style_id: str, style_level: int) -> tuple[str | None, int]:
        own = child(properties, "numPr")
        number_id = attribute(child(own, "numId")) or style_id
        if not number_id or number_id == "0":
            return None, 0
        shown = attribute(child(own, "ilvl"))
        level = int(shown) if shown.isdecimal() else style_level
        return self._numbering.label(number_id, level), level

    def _write(self, kind: Kind, lead: str, words: str, line: Line | None, level: int = 0) -> None:
        """Append a block; items of a list and lines of code that follow each other become one."""
        words = words.strip("\n") if kind == "fence" else words.strip()
        last = self._found_blocks[-1] if self._found_blocks else None
        joins = last is not None and last.kind == kind and kind in ("list", "fence")
        gap = "" if not self._length else "\n" if joins else "\n\n"
        start = self._length + len(gap)
        body = lead + words
        if "\n" in body and kind == "list":
            body = body.replace("\n", "\n" + " " * len(lead))
        self._lines += gap.count("\n")
        if level:
            self._found_headings.append(Heading(level, words, self._lines, start))
        self._lines += body.count("\n")
        self._parts += (gap, body)
        self._length = start + len(body)
        first = last.start if last is not None and joins else start
        if joins:
            self._found_blocks.pop()
        self._found_blocks.append(Block(kind, first, self._length))
        if line is not None:
            origin = start + len(lead)
            self._rendered += [min(origin + place, self._length) if place else start for place in line.rendered]
            self._explicit += [min(origin + place, self._length) if place else start for place in line.explicit]
            for begin, end, target in line.links:
                words_of_link = " ".join("".join(line.pieces)[begin:end].split())
                if words_of_link and target:
                    self._found_links.append(Link(words_of_link, target, min(origin + begin, self._length)))

    def _inserted(self, element: _Element) -> None:
        """The blocks of a file that is inserted as a whole, with its headings and links, in its place."""
        document = self._package.inserted(attribute(element, "id")) if self._length < MAX_CHARACTERS else None
        if document is None:
            self.unread += 1
        elif text := document.text.rstrip():
            gap = "\n\n" if self._length else ""
            start, lines = self._length + len(gap), self._lines + len(gap) - 1
            self._parts += (gap, text)
            self._length, self._lines = start + len(text), lines + text.count("\n") + 1
            self._found_blocks += [
                replace(
                    block,
                    start=block.start + start,
                    end=min(block.end, len(text)) + start,
                    header_end=None if block.header_end is None else block.header_end + start,
                )
                for block in document.blocks
            ]
            self._found_headings += [
                replace(heading, line=heading.line + lines, start=heading.start + start, page=None)
                for heading in document.headings
            ]
            self._found_links += [replace(link, start=link.start + start) for link in document.links]

    # -- runs --------------------------------------------------------------------------------------------------------

    def _inline(self, element: _Element, line: Line, depth: int) -> None:
        if depth > _MAX_TABLE_DEPTH:
            return
        for inner in element:
            name = local(inner)
            if name == "t":
                line.add(inner.text or "")
            elif name == "oMath":
                line.add(math_text(inner))
            elif name == "r" and is_on(child(inner, "rPr", "vanish")):
                self.hidden = self.hidden or next(inner.iter("{*}t"), None) is not None
            elif name in ("r", "oMathPara") or name in TRANSPARENT:
                self._inline(inner, line, depth)
            elif name in _DELETED:
                continue
            elif name == "hyperlink":
                begin = line.length
                self._inline(inner, line, depth)
                target = self._package.relations.get(attribute(inner, "id"), ("", "", False))[1]
                line.links.append((begin, line.length, target or f"#{attribute(inner, 'anchor')}"))
            elif name in SIGNS:
                line.add(sign_of(inner))
            elif name in ("br", "cr"):
                if attribute(inner, "type") == "page":
                    line.explicit.append(line.length)
                line.add("\n")
            elif name == "lastRenderedPageBreak":
                line.rendered.append(line.length)
            elif name in ("footnoteReference", "endnoteReference"):
                self._notes.append((name.removesuffix("Reference") + "s", attribute(inner, "id")))
                line.add(f"[{len(self._notes)}]")
            elif name == "commentReference":
                self._comments.append(attribute(inner, "id"))
            elif name == "AlternateContent":
                chosen = child(inner, "Choice")
                self._inline(chosen if chosen is not None else inner, line, depth + 1)
            elif name in ("drawing", "pict", "Fallback", "object"):
                boxes = [box for box in inner.iter() if local(box) == "txbxContent"]
                line.boxes += boxes
                shown = next((box for box in inner.iter("{*}docPr")), None) if name == "drawing" and not boxes else None
                if words := description(shown):
                    line.add(f" {words} ")
                line.drawn += [words for _, words in drawn_words(self._package.archive, self._package.relations, inner)]
            elif len(inner):
                self._inline(inner, line, depth + 1)

    # -- tables ------------------------------------------------------------------------------------------------------

    def _table(self, table: _Element, depth: int) -> None:
        rows = [row for row in rows_of(table) if not is_deleted(row)]
        cells = [cell for row in rows for cell in cells_of(row)]
        if (len(cells) == 1 or any(map(is_page, cells))) and depth < _MAX_TABLE_DEPTH:
            for inner in (inner for cell in cells for inner in cell):  # a frame around text, or the layout of pages
                self._block(inner, depth + 1)
            return
        grid: list[list[str]] = []
        marks: list[tuple[int, int, int]] = []  # row, rendered breaks, explicit breaks
        links: list[tuple[int, str, str]] = []
        skipped = [span_of(child(row, "trPr", "gridBefore")) for row in rows]  # columns that a row begins behind
        for number, row in enumerate(rows):
            texts = [""] * (skipped[number] - min(skipped))
            rendered = explicit = 0
            for cell in cells_of(row):
                line = Line()
                self._cell(cell, line, depth)
                words = " ".join("".join(line.pieces).split()).replace("|", "\\|")
                texts += [words, *[""] * (span_of(child(cell, "tcPr", "gridSpan")) - 1)]
                # A row that runs over a page's end is marked in each of its cells.
                rendered, explicit = max(rendered, len(line.rendered)), max(explicit, len(line.explicit))
                whole = "".join(line.pieces)
                links += [(number, " ".join(whole[begin:end].split()), target) for begin, end, target in line.links]
            grid.append(texts)
            marks.append((number, rendered, explicit))
        if not any(any(texts) for texts in grid):
            return
        written = written_rows(grid)
        start = self._length + (2 if self._length else 0)
        self._write("table", "", "\n".join(written), None)
        offsets = [start]
        for row_text in written:
            offsets.append(offsets[-1] + len(row_text) + 1)
        place = [offsets[0], *offsets[2:]]
        for number, rendered, explicit in marks:
            self._rendered += [place[number]] * rendered
            self._explicit += [place[number]] * explicit
        self._found_links += [Link(words, target, place[number]) for number, words, target in links if words and target]
        block = self._found_blocks.pop()
        self._found_blocks.append(Block("table", block.start, block.end, offsets[2] - 1))

    def _cell(self, cell: _Element, line: Line, depth: int) -> None:
        if depth > _MAX_TABLE_DEPTH:
            return
        merge = child(cell, "tcPr", "vMerge")
        if merge is not None and attribute(merge) not in ("restart",):
            return  # the cell above goes on
        for inner in cell:
            name = local(inner)
            if name == "p":
                properties = child(inner, "pPr")
                style = self._styles.get(attribute(child(properties, "pStyle")))
                label, _ = self._label(properties, style.number_id, style.number_level)
                if label and label != "-":  # the number of a row or a requirement often stands in no other words
                    line.add(f"{label} ")
                self._inline(inner, line, depth)
                line.add(" ".join(["", *line.drawn, ""]))
                boxes, line.boxes, line.drawn = line.boxes, [], []
                for box in boxes:
                    self._cell(box, line, depth + 1)
            elif name == "tbl":
                for row in rows_of(inner):
                    for nested in cells_of(row):
                        self._cell(nested, line, depth + 1)
            elif name == "altChunk":
                document = self._package.inserted(attribute(inner, "id"))
                self.unread += document is None
                line.add(f" {document.text if document else ''} ")
            elif name in TRANSPARENT:
                self._cell(inner, line, depth + 1)

    # -- notes -------------------------------------------------------------------------------------------------------

    def _footnotes(self) -> None:
        if not self._notes:
            return
        notes: dict[tuple[str, str], _Element] = {}
        for role, name in (("footnotes", "footnote"), ("endnotes", "endnote")):
            root = self._package.tree(role)
            if root is not None:
                notes.update({(role, attribute(note, "id")): note for note in children(root, name)})
        for number, key in enumerate(list(self._notes), start=1):
            note = notes.get(key)
            if note is None:
                continue
            line = Line()
            self._cell(note, line, 0)
            words = " ".join("".join(line.pieces).split())
            if words:
                self._write("paragraph", "", f"[{number}] {words}", None)

    def _write_comments(self) -> None:
        root = self._package.tree("comments") if self._comments else None
        found = {} if root is None else {attribute(comment, "id"): comment for comment in children(root, "comment")}
        for key in self._comments:
            if key in found:
                line = Line()
                self._cell(found[key], line, 0)
                author, words = attribute(found[key], "author"), " ".join("".join(line.pieces).split())
                if words:
                    self._write("paragraph", "", f"Comment{f' by {author}' if author else ''}: {words}", None)
