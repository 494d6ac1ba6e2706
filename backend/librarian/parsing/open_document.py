"""OpenDocument texts: `.odt` (and `.ott`), as LibreOffice writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import SourceError
from ..models import Document, SourceFile
from .document_builder import DocumentBuilder, Target
from .metadata import parse_date
from .office_xml import Words, attribute, child, children, local, whole
from .word_formatting import written_number
from .zip_package import opened

if TYPE_CHECKING:
    from lxml.etree import _Element

_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
#: Tables of contents and indexes repeat what the text says; a bibliography doesn't.
_SECTIONS = frozenset({"section", "index-body", "bibliography", "text-box", "numbered-paragraph"})
_MANIFEST = "META-INF/manifest.xml"
_NOTES = frozenset({"note-body", "annotation"})
_LEFT_OUT = frozenset({"", "change", "change-start", "change-end", "bookmark", "ruby-text", "annotation-xml"})
_MAX_REPEATED = 1_000


class OpenDocumentParser:
    """Headings by outline level, lists, tables, footnotes and comments at the end; tracked changes as accepted."""

    extensions: tuple[str, ...] = (".odt", ".ott")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        title = modified = ""
        with opened(data, source.file_path) as package:
            manifest = package.tree(_MANIFEST) if _MANIFEST in package else None
            if manifest is not None and next(manifest.iter("{*}encryption-data"), None) is not None:
                raise SourceError(
                    f"'{source.file_path}' is locked with a password.",
                    hint="Save it without a password.",
                    reason="encrypted",
                )
            roots = [package.tree(name) for name in ("styles.xml", "content.xml") if name in package or name[0] == "c"]
            out = _Text(roots).out
            if "meta.xml" in package:
                meta = package.tree("meta.xml")
                title = next((t.text or "" for t in meta.iter("{*}title")), "")
                modified = next((t.text or "" for t in meta.iter("{*}date")), "")
        return out.document(source, source.extension, title=title, modified=parse_date(modified))


@dataclass(slots=True)
class _List:
    """A list that is open: its style, and the number of its last item."""

    style: str
    count: int


class _Text:
    """Writes the text of a file; `roots` are its styles and its content."""

    def __init__(self, roots: list[_Element]) -> None:
        self.out = DocumentBuilder()
        self._notes: list[str] = []
        self._comments: list[str] = []
        styles = {attribute(one, "name"): attribute(one, "parent-style-name") for one in roots[-1].iter("{*}style")}
        self._titles = {"Title", *(name for name, parent in styles.items() if parent in ("Title", "Heading"))}
        self._preformatted = {name for name, parent in styles.items() if "Preformatted" in parent}
        self._numbered = {
            (attribute(style, "name"), whole(attribute(level, "level"), 1) - 1): level
            for root in roots
            for style in root.iter("{*}list-style")
            for level in children(style, "list-level-style-number")
            if attribute(level, "num-format")
        }
        self._lists: list[_List] = []
        self._ended: dict[str | tuple[str, int], int] = {}  # last numbers, by a list's id and by style and depth
        body = child(roots[-1], "body", "text")
        for element in () if body is None else body:
            self._block(element)
        for number, words in enumerate(self._notes, start=1):
            self.out.paragraph(f"[{number}] {words}")
        for words in self._comments:
            self.out.paragraph(words)

    # -- blocks ------------------------------------------------------------------------------------------------------

    def _block(self, element: _Element) -> None:
        name, style = local(element), attribute(element, "style-name")
        if name == "p" and (style in self._preformatted or style == "Preformatted_20_Text"):
            self.out.code_line(self._words(element).text)
        elif name in ("p", "h"):
            words = self._words(element)
            if name == "h":
                self.out.heading(whole(attribute(element, "outline-level"), 1), words.text, words.links)
            elif style in self._titles and words.text.strip():
                self.out.heading(1, words.text, words.links)
            else:
                self.out.paragraph(words.text, words.links)
            for box in element.iter("{*}text-box"):
                for inner in box:
                    self._block(inner)
        elif name == "list":
            self._list(element)
        elif name == "table":
            self._table(element)
        elif name in _SECTIONS:
            for inner in element:
                self._block(inner)

    def _list(self, element: _Element) -> None:
        depth = len(self._lists)
        style = attribute(element, "style-name") or (self._lists[-1].style if self._lists else "")
        level = self._numbered.get((style, depth))
        count = whole(attribute(level, "start-value"), 1) - 1
        if attribute(element, "continue-numbering") == "true":
            count = self._ended.get((style, depth), count)
        count = self._ended.get(attribute(element, "continue-list"), count)
        self._lists.append(opened_list := _List(style, count))
        for item in element:
            if local(item) not in ("list-item", "list-header"):
                continue
            has_words = any(local(inner) in ("p", "h") for inner in item)
            mark = self._mark(item, depth) if has_words and local(item) == "list-item" else ""
            for inner in item:
                name = local(inner)
                if name == "list":
                    self._list(inner)
                elif name == "h":
                    self._block(inner)  # a numbered heading
                elif name == "p":
                    words = self._words(inner)
                    self.out.item(words.text, depth, mark, words.links)
                    mark = ""
        self._lists.pop()
        self._ended[style, depth] = self._ended[attribute(element, "id") or (style, depth)] = opened_list.count

    def _mark(self, item: _Element, depth: int) -> str:
        """`-`, `3.`, `2.1` or `b)` for an item with words of its own."""
        one = self._lists[-1]
        one.count = whole(attribute(item, "start-value"), one.count + 1)
        level = self._numbered.get((one.style, depth))
        if level is None:
            return "-"
        parts: list[str] = []
        for place in range(max(0, depth + 1 - whole(attribute(level, "display-levels"), 1)), depth + 1):
            if (above := self._numbered.get((one.style, place))) is not None:
                form = _FORMS.get(attribute(above, "num-format"), "decimal")
                parts.append(written_number(self._lists[place].count, form))
        before, behind = attribute(level, "num-prefix"), attribute(level, "num-suffix")
        return f"{before}{'.'.join(parts)}{behind if before or behind or len(parts) != 1 else '.'}".strip()

    def _table(self, table: _Element) -> None:
        rows: list[list[str]] = []
        links: list[Target] = []
        for row in _rows(table):
            cells: list[str] = []
            for cell in (*children(row, "table-cell"), *children(row, "covered-table-cell")):
                words = self._words_of_all(cell)
                times = whole(attribute(cell, "number-columns-repeated"), 1, _MAX_REPEATED if words.text else 64)
                cells += [words.text] * times
                links += words.links
            rows.append(cells)
        if len(rows) == 1 and len(rows[0]) == 1:
            self.out.paragraph(rows[0][0], links)  # a frame around text
        else:
            self.out.table(rows, links)

    # -- words -------------------------------------------------------------------------------------------------------

    def _words(self, element: _Element) -> Words:
        words = Words()
        self._inline(element, words)
        return words

    def _words_of_all(self, element: _Element | None) -> Words:
        """The paragraphs of a cell or note as one line, without the notes in them."""
        found = () if element is None else element.iter("{*}p", "{*}h")
        parts = [self._words(part) for part in found if not _NOTES & {local(part.getparent())} - {local(element)}]
        return Words([" ".join(part.text for part in parts)], [link for part in parts for link in part.links])

    def _inline(self, element: _Element, words: Words) -> None:
        pieces = words.pieces
        pieces.append(element.text or "")
        for inner in element:
            name = local(inner)
            if name == "s":
                pieces.append(" " * whole(attribute(inner, "c"), 1, 200))
            elif name in ("tab", "line-break"):
                pieces.append("\t" if name == "tab" else "\n")
            elif name == "note":
                self._notes.append(self._words_of_all(child(inner, "note-body")).text)
                pieces.append(f"[{len(self._notes)}]")
            elif name == "annotation":
                author = "".join(t.text or "" for t in children(inner, "creator"))
                text = self._words_of_all(inner).text
                self._comments.append(f"Comment by {author}: {text}" if author else f"Comment: {text}")
            elif name == "a":
                begin = len(pieces)
                self._inline(inner, words)
                words.links.append(("".join(pieces[begin:]), attribute(inner, "href")))
            elif name in ("p", "h", "title", "desc"):  # of a shape that is drawn among the words
                pieces.append(" ")
                self._inline(inner, words)
                pieces.append(" ")
            elif name == "frame":
                if child(inner, "text-box") is None:
                    pieces.append(" ".join(t.text or "" for t in inner if local(t) in ("title", "desc")))
            elif name not in _LEFT_OUT:
                self._inline(inner, words)
            pieces.append(inner.tail or "")


def _rows(table: _Element) -> Iterator[_Element]:
    for inner in table:
        name = local(inner)
        if name == "table-row":
            yield inner
        elif name in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows(inner)
