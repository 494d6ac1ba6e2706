"""The body of a Word file, written out as text with its structure."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol

from librarian.vocabulary.types import Block, Document, Heading, Link

from ..manuscript import MAX_CHARACTERS
from .drawing import description, drawn_words
from .word_cells import TRANSPARENT, cells_of, is_deleted, is_page, rows_of, span_of, written_rows
from .word_line import Line
from .word_looks import Looks, look_of
from .word_math import math_text
from .word_styles import Numbering, Styles, attribute, child, children, is_on, level_of, local, text_of
from .word_symbols import SIGNS, sign_of

if TYPE_CHECKING:
    from lxml.etree import _Element

    from ..zip_package import ZipPackage

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
