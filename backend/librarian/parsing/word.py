"""Word files: `.docx` and `.docm`, opened by python-docx.

Headings, lists with the numbers that Word shows, tables, notes and comments are written as blocks. Deleted revisions,
hidden text, headers and footers are left out; footnotes and comments follow at the end. Where no style is a heading's,
the looks of the paragraphs decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from ..models import Document, SourceFile
from .document_builder import PAGE_MARK, DocumentBuilder, Target, shift_mark
from .office_xml import attribute, child, children, description, drawing_words, is_on, local, related_parts, whole
from .visual_headings import VisualHeadings
from .word_formatting import Numbering, ParagraphStyle, Styles, level_of, type_of
from .zip_package import opened

if TYPE_CHECKING:
    from docx.document import Document as WordFile
    from lxml.etree import _Element

#: Elements around blocks, rows or cells whose content stands in the text as if they weren't there.
_TRANSPARENT = frozenset({"ins", "moveTo", "sdt", "sdtContent", "customXml"})
_LEFT_OUT = frozenset({"del", "moveFrom", "instrText", "delText", "rPr", "pPr", "sdtPr", "rt"})
_CHARACTERS = {"tab": "\t", "ptab": "\t", "noBreakHyphen": "-", "br": "\n", "cr": "\n"}
_SHORTEST_HEADING = 3  #: characters
_BEFORE_WORDS = re.compile(rf"[{PAGE_MARK}\s]*")


class WordParser:
    """Office Open XML, transitional and strict. Raises `SourceError` with reason corrupt, encrypted or too_large."""

    extensions: tuple[str, ...] = (".docx", ".docm")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        import docx

        builder = DocumentBuilder()
        with opened(data, source.file_path) as package:
            file = docx.Document(package.rewritten())
            _Body(file, builder).write()
            return builder.document(source, title=package.title)


@dataclass(slots=True)
class _Words:
    """The words of a paragraph or cell as they are put together, and what stands in it besides words."""

    pieces: list[str] = field(default_factory=list)
    links: list[Target] = field(default_factory=list)
    boxes: list[_Element] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class _Body:
    """Writes the body of one file."""

    def __init__(self, file: WordFile, out: DocumentBuilder) -> None:
        self._file = file
        self._part = file.part
        self._root = file.element.body
        self._out = out
        self._styles = Styles(next(related_parts(self._part, "styles"), None))
        self._numbering = Numbering(next(related_parts(self._part, "numbering"), None))
        self._notes: list[tuple[str, str]] = []  # kind and id
        self._in_contents = self._has_hidden_text = False
        self._unread = 0
        # Where Word has laid the document out, its marks include the explicit breaks.
        self._is_laid_out = next(self._root.iter("{*}lastRenderedPageBreak"), None) is not None
        self._looks = VisualHeadings(type_of(one, self._style(one)) for one in children(self._root, "p"))
        self._has_headings = any(
            level_of(child(paragraph, "pPr"), self._style(paragraph)) and next(paragraph.iter("{*}t"), None) is not None
            for paragraph in self._root.iter("{*}p")
        )

    def write(self) -> None:
        for element in self._root:
            if self._out.full:
                break
            self._block(element)
        self._write_notes()
        for comment in self._file.comments:
            if words := " ".join(comment.text.split()):
                self._out.paragraph(f"Comment{f' by {comment.author}' if comment.author else ''}: {words}")
        if self._unread:
            self._out.notes.append(f"files inserted as a whole (altChunk) aren't read: {self._unread}")
        if self._has_hidden_text:
            self._out.notes.append("hidden text is left out")

    def _block(self, element: _Element) -> None:
        name = local(element)
        if name == "p":
            self._paragraph(element)
        elif name == "tbl":
            self._table(element)
        elif name == "altChunk":
            self._unread += 1
        elif name in _TRANSPARENT:
            outside = self._in_contents
            gallery = attribute(child(element, "sdtPr", "docPartObj", "docPartGallery"))
            self._in_contents = outside or gallery == "Table of Contents"
            for inner in element:
                self._block(inner)
            self._in_contents = outside

    def _paragraph(self, element: _Element) -> None:
        properties, style = child(element, "pPr"), self._style(element)
        line = _Words()
        self._inline(element, line)
        label, depth = self._label(element)
        level, is_code = level_of(properties, style), style.is_code
        words = line.text.strip()
        if not (self._has_headings or is_code) and element.getparent() is self._root:
            size, is_bold, _ = type_of(element, style)
            is_short = len(words) < _SHORTEST_HEADING or "\n" in words or label == "-"
            level = 0 if is_short else self._looks.level(f"{label or ''} {words}".strip(), size, is_bold=is_bold)
        new_page = child(properties, "pageBreakBefore")
        if (style.page_break if new_page is None else is_on(new_page)) and not self._is_laid_out:
            self._out.page_break()
        text = line.text
        if style.is_contents or self._in_contents:  # repeats the headings
            text = PAGE_MARK * text.count(PAGE_MARK)
        before = _BEFORE_WORDS.match(text)
        for _ in range(before.group().count(PAGE_MARK) if before else 0):
            self._out.page_break()
            text = text.replace(PAGE_MARK, "", 1)
        if is_code and not level and label is None and text.strip():
            self._out.code_line(text)
        elif text.strip():
            if level:
                self._out.heading(level, f"{label} {text}" if label and label != "-" else text, line.links)
            elif label is not None:
                self._out.item(text, depth, label, line.links)
            else:
                self._out.paragraph(text, line.links)
        for box in line.boxes:
            for inner in box:
                self._block(inner)
        for words in line.drawn:
            self._out.paragraph(words)

    def _style(self, paragraph: _Element) -> ParagraphStyle:
        return self._styles.get(attribute(child(paragraph, "pPr", "pStyle")))

    def _label(self, paragraph: _Element) -> tuple[str | None, int]:
        """What stands in front of a numbered paragraph, and how deep its list is."""
        style, own = self._style(paragraph), child(paragraph, "pPr", "numPr")
        number_id = attribute(child(own, "numId")) or style.number_id
        if not number_id or number_id == "0":
            return None, 0
        level = whole(attribute(child(own, "ilvl")), style.number_level)
        return self._numbering.label(number_id, level), level

    def _inline(self, elements: Iterable[_Element], line: _Words) -> None:
        """Collect the words of runs, and of paragraphs and tables in a cell or a note."""
        for inner in elements:
            name = local(inner)
            if name == "t":
                line.pieces.append(inner.text or "")
            elif name == "r" and is_on(child(inner, "rPr", "vanish")):
                self._has_hidden_text = self._has_hidden_text or next(inner.iter("{*}t"), None) is not None
            elif name in _LEFT_OUT or (name == "tc" and _is_merged(inner)):
                continue
            elif name == "p":
                label, _ = self._label(inner)
                if label and label != "-":  # the number of a row or a requirement often stands in no other words
                    line.pieces.append(f"{label} ")
                self._inline(inner, line)
                boxes, drawn, line.boxes, line.drawn = line.boxes, line.drawn, [], []
                line.pieces.append(" ".join(["", *drawn, ""]))
                self._inline(boxes, line)
            elif name == "r" and (shift := attribute(child(inner, "rPr", "vertAlign"))).endswith("script"):
                begin = len(line.pieces)
                self._inline(inner, line)
                words, before = "".join(line.pieces[begin:]), "".join(line.pieces[max(0, begin - 2) : begin])
                line.pieces.insert(begin, shift_mark(before, words, raised=shift == "superscript"))
            elif name == "ddList":  # a field of old forms, whose choice stands in no run
                place = whole(attribute(child(inner, "result")) or attribute(child(inner, "default")))
                line.pieces += map(attribute, islice(children(inner, "listEntry"), place, place + 1))
            elif name == "br" and attribute(inner, "type") == "page":
                line.pieces.append("\n" if self._is_laid_out else f"{PAGE_MARK}\n")
            elif name in _CHARACTERS:
                line.pieces.append(_CHARACTERS[name])
            elif name == "lastRenderedPageBreak":
                line.pieces.append(PAGE_MARK)
            elif name == "hyperlink":
                begin = len(line.pieces)
                self._inline(inner, line)
                relation = self._part.rels.get(attribute(inner, "id"))
                target = relation.target_ref if relation is not None else f"#{attribute(inner, 'anchor')}"
                line.links.append(("".join(line.pieces[begin:]), target))
            elif name in ("footnoteReference", "endnoteReference"):
                self._notes.append((name.removesuffix("Reference"), attribute(inner, "id")))
                line.pieces.append(f"[{len(self._notes)}]")
            elif name == "altChunk":
                self._unread += 1
            elif name == "AlternateContent":
                chosen = child(inner, "Choice")
                self._inline(inner if chosen is None else chosen, line)
            elif name in ("drawing", "pict", "object"):
                boxes = list(inner.iter("{*}txbxContent"))
                line.boxes += boxes
                if not boxes and (words := description(next(inner.iter("{*}docPr"), None))):
                    line.pieces.append(f" {words} ")
                line.drawn += drawing_words(self._part, inner)
            else:
                self._inline(inner, line)

    def _table(self, table: _Element) -> None:
        rows = [row for row in _within(table, "tr") if child(row, "trPr", "del") is None]
        cells = [cell for row in rows for cell in _within(row, "tc")]
        if len(cells) == 1:  # a frame around text
            for inner in cells[0]:
                self._block(inner)
            return
        grid: list[list[str]] = []
        links: list[Target] = []
        skipped = [whole(attribute(child(row, "trPr", "gridBefore")), most=64) for row in rows]  # columns before a row
        for row, columns in zip(rows, skipped, strict=True):
            texts = [""] * (columns - min(skipped))
            pages = 0
            for cell in _within(row, "tc"):
                words = _Words()
                self._inline([cell], words)
                # A row that runs over a page's end is marked in each of its cells.
                pages = max(pages, words.text.count(PAGE_MARK))
                span = whole(attribute(child(cell, "tcPr", "gridSpan")), 1, 64)
                texts += [words.text.replace(PAGE_MARK, ""), *[""] * (span - 1)]
                links += words.links
            grid.append([f"{texts[0]}{PAGE_MARK * pages}", *texts[1:]] if texts else [])
        self._out.table(grid, links)

    def _write_notes(self) -> None:
        found = {
            (kind, attribute(note, "id")): note
            for kind in dict.fromkeys(kind for kind, _ in self._notes)
            for root in related_parts(self._part, f"{kind}s")
            for note in children(root, kind)
        }
        for number, key in enumerate(list(self._notes), start=1):
            words = _Words()
            if key in found:
                self._inline(found[key], words)
            if text := " ".join(words.text.split()):
                self._out.paragraph(f"[{number}] {text}")


def _is_merged(cell: _Element) -> bool:
    """Whether the cell above goes on."""
    merge = child(cell, "tcPr", "vMerge")
    return merge is not None and attribute(merge) != "restart"


def _within(element: _Element, name: str) -> Iterator[_Element]:
    """The rows of a table or the cells of a row, within content controls too."""
    for inner in element:
        if local(inner) == name:
            yield inner
        elif local(inner) in _TRANSPARENT:
            yield from _within(inner, name)
