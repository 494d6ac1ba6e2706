"""OpenDocument texts: `.odt` (and `.ott`), as LibreOffice writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import SourceError
from ..models import Document, SourceFile
from .document_builder import DocumentBuilder, Target
from .math import mathml_text
from .metadata import parse_date
from .office_xml import attribute, child, children, local
from .word_formatting import written_number
from .zip_package import ZipPackage, beside, opened

if TYPE_CHECKING:
    from lxml.etree import _Element

_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_MAX_NUMBER = 99_999


@dataclass(frozen=True, slots=True)
class _Level:
    form: str
    prefix: str
    suffix: str
    start: int
    shown: int  #: how many levels a number shows: 2 for `3.1`


class ListMarks:
    """Counts the items of lists. Stateful: lists and items are told in the order of the text."""

    def __init__(self, roots: Iterable[_Element]) -> None:
        self._levels: dict[tuple[str, int], _Level] = {}
        self._counts: list[int] = []  # of the lists that are open, from the outermost
        self._ended: dict[tuple[str, int], int] = {}  # the last number by style and depth
        self._ended_lists: dict[str, int] = {}  # the last number by a list's id
        for root in roots:
            for style in root.iter("{*}list-style"):
                for level in style:
                    if local(level) == "list-level-style-number" and (form := attribute(level, "num-format")):
                        self._levels[attribute(style, "name"), whole(attribute(level, "level"), 1) - 1] = _Level(
                            _FORMS.get(form, "decimal"),
                            attribute(level, "num-prefix"),
                            attribute(level, "num-suffix"),
                            whole(attribute(level, "start-value"), 1),
                            max(1, whole(attribute(level, "display-levels"), 1)),
                        )

    def open(self, element: _Element, style: str) -> None:
        """A list begins, perhaps where another has ended."""
        depth = len(self._counts)
        level = self._levels.get((style, depth))
        count = level.start - 1 if level is not None else 0
        earlier = attribute(element, "continue-list")
        if earlier in self._ended_lists:
            count = self._ended_lists[earlier]
        elif attribute(element, "continue-numbering") == "true":
            count = self._ended.get((style, depth), count)
        self._counts.append(count)

    def mark(self, item: _Element, style: str) -> str:
        """`-`, `3.`, `2.1` or `b)` for an item with words of its own; empty for a list's header."""
        if local(item) == "list-header":
            return ""
        depth = len(self._counts) - 1
        self._counts[-1] = whole(attribute(item, "start-value"), self._counts[-1] + 1)
        level = self._levels.get((style, depth))
        if level is None:
            return "-"
        parts: list[str] = []
        for place in range(max(0, depth + 1 - level.shown), depth + 1):
            above = self._levels.get((style, place))
            if above is not None:
                parts.append(written_number(self._counts[place], above.form))
        bare = not (level.prefix or level.suffix) and len(parts) == 1
        return f"{level.prefix}{'.'.join(parts)}{'.' if bare else level.suffix}".strip()

    def close(self, element: _Element, style: str) -> None:
        """The list that was opened last ends."""
        count = self._counts.pop()
        self._ended[style, len(self._counts)] = count
        if key := attribute(element, "id"):
            self._ended_lists[key] = count


def whole(text: str, otherwise: int) -> int:
    """A number that an attribute gives."""
    return min(int(text), _MAX_NUMBER) if text.isdecimal() and len(text) < 9 else otherwise


_SILENT = frozenset({"tracked-changes", "forms", "sequence-decls", "variable-decls", "user-field-decls", "desc"})
#: Tables of contents and indexes repeat what the text says; a bibliography doesn't.
_SECTIONS = frozenset({"section", "index-body", "bibliography", "text-box", "numbered-paragraph"})
_MANIFEST = "META-INF/manifest.xml"
_ASIDE = frozenset({"note-body", "annotation"})
_MAX_DEPTH = 40
_MAX_REPEATED = 1_000


class OpenDocumentParser:
    """Headings by outline level, lists, tables, footnotes and comments at the end; tracked changes as accepted."""

    extensions: tuple[str, ...] = (".odt", ".ott")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        title = modified = ""
        with opened(data, source.file_path) as package:
            if _is_locked(package):
                raise SourceError(
                    f"'{source.file_path}' is locked with a password.",
                    hint="Save it without a password.",
                    reason="encrypted",
                )
            shared = [package.tree("styles.xml")] if "styles.xml" in package else []
            writer = _Text(package.tree("content.xml"), shared, package)
            if "meta.xml" in package:
                meta = package.tree("meta.xml")
                title = next((t.text or "" for t in meta.iter("{*}title")), "")
                modified = next((t.text or "" for t in meta.iter("{*}date")), "")
        document = writer.out.document(source, source.extension, title=title, modified=parse_date(modified))
        return replace(document, notes=(*document.notes, *writer.problems()))


class _Text:
    def __init__(self, root: _Element, shared: list[_Element], package: ZipPackage) -> None:
        self.out = DocumentBuilder()
        self._package = package
        self._formulas = set(_formulas(package))
        self._unread = 0
        self._notes: list[str] = []
        self._comments: list[str] = []
        self._titles = {
            style.get(key)
            for style in root.iter("{*}style")
            for key in style.attrib
            if str(key).endswith("}name") and attribute(style, "parent-style-name") in ("Title", "Heading")
        } | {"Title"}
        self._code = {
            attribute(style, "name")
            for style in root.iter("{*}style")
            if "Preformatted" in attribute(style, "parent-style-name")
        } | {"Preformatted_20_Text"}
        self._marks = ListMarks([*shared, root])
        self._lines: list[str] = []  # of code, until a paragraph that isn't
        body = child(root, "body", "text")
        for element in () if body is None else body:
            self._block(element, 0)
        self._end_code()
        for number, words in enumerate(self._notes, start=1):
            self.out.paragraph(f"[{number}] {words}")
        for words in self._comments:
            self.out.paragraph(words)

    def _block(self, element: _Element, depth: int) -> None:
        name = local(element)
        if depth > _MAX_DEPTH or name in _SILENT:
            return
        if name == "p" and attribute(element, "style-name") in self._code:
            self._lines.append(self._words(element)[0])
            return
        self._end_code()
        if name == "h":
            words, links = self._words(element)
            level = attribute(element, "outline-level")
            self.out.heading(int(level) if level.isdecimal() and len(level) < 3 else 1, words, links)
        elif name == "p":
            words, links = self._words(element)
            if attribute(element, "style-name") in self._titles and words.strip():
                self.out.heading(1, words, links)
            else:
                self.out.paragraph(words, links)
            self._boxes(element, depth)
        elif name == "list":
            self._list(element, 0, attribute(element, "style-name"))
        elif name == "table":
            self._table(element)
        elif name in _SECTIONS:
            for inner in element:
                self._block(inner, depth + 1)

    def _boxes(self, element: _Element, depth: int) -> None:
        for box in element.iter("{*}text-box"):
            for inner in box:
                self._block(inner, depth + 1)

    def _end_code(self) -> None:
        lines, self._lines = self._lines, []
        self.out.fence("\n".join(lines))

    def _list(self, element: _Element, depth: int, style: str) -> None:
        if depth > _MAX_DEPTH:
            return
        self._marks.open(element, style)
        for item in element:
            if local(item) not in ("list-item", "list-header"):
                continue
            mark = self._marks.mark(item, style) if any(local(inner) in ("p", "h") for inner in item) else ""
            for inner in item:
                name = local(inner)
                if name == "list":
                    self._list(inner, depth + 1, attribute(inner, "style-name") or style)
                elif name == "h":
                    self._block(inner, depth)  # a numbered heading
                elif name == "p":
                    words, links = self._words(inner)
                    self.out.item(words, depth, mark, links)
                    mark = ""
        self._marks.close(element, style)

    def _table(self, table: _Element) -> None:
        rows: list[list[str]] = []
        links: list[Target] = []
        for row in _rows(table):
            cells: list[str] = []
            for cell in row:
                if local(cell) in ("table-cell", "covered-table-cell"):
                    parts = cell.iter("{*}p", "{*}h")
                    texts = [self._words(part) for part in parts if local(part.getparent()) not in _ASIDE]
                    repeated = attribute(cell, "number-columns-repeated")
                    times = int(repeated) if repeated.isdecimal() and len(repeated) < 9 else 1
                    words = " ".join(text for text, _ in texts)
                    cells += [words] * (min(times, _MAX_REPEATED) if words else min(times, 64))
                    links += [link for _, found in texts for link in found]
            rows.append(cells)
        if len(rows) == 1 and len(rows[0]) == 1:
            self.out.paragraph(rows[0][0], links)  # a frame around text
        else:
            self.out.table(rows, links)

    def _words(self, element: _Element) -> tuple[str, list[Target]]:
        pieces: list[str] = []
        links: list[Target] = []
        self._inline(element, pieces, links, 0)
        return "".join(pieces), links

    def _inline(self, element: _Element, pieces: list[str], links: list[Target], depth: int) -> None:
        if depth > _MAX_DEPTH:
            return
        pieces.append(element.text or "")
        for inner in element:
            name = local(inner)
            if name == "s":
                count = attribute(inner, "c")
                pieces.append(" " * (min(int(count), 200) if count.isdecimal() and len(count) < 9 else 1))
            elif name == "tab":
                pieces.append("\t")
            elif name == "line-break":
                pieces.append("\n")
            elif name == "note":
                words, _ = self._words_of_all(child(inner, "note-body"))
                self._notes.append(words)
                pieces.append(f"[{len(self._notes)}]")
            elif name == "annotation":
                author = "".join(t.text or "" for t in children(inner, "creator"))
                words = " ".join(self._words(part)[0] for part in inner.iter("{*}p"))
                self._comments.append(f"Comment by {author}: {words}" if author else f"Comment: {words}")
            elif name == "a":
                begin = len(pieces)
                self._inline(inner, pieces, links, depth + 1)
                links.append(("".join(pieces[begin:]), attribute(inner, "href")))
            elif name in ("p", "h", "title", "desc"):  # of a shape that is drawn among the words
                pieces.append(" ")
                self._inline(inner, pieces, links, depth + 1)
                pieces.append(" ")
            elif name and name not in ("frame", "change", "change-start", "change-end", "bookmark", "ruby-text"):
                self._inline(inner, pieces, links, depth + 1)
            elif name == "frame" and child(inner, "text-box") is None:
                said = [t.text or "" for t in inner if local(t) in ("title", "desc")]
                pieces.append(" ".join(filter(None, [self._formula(inner), *said])))
            pieces.append(inner.tail or "")

    def _formula(self, frame: _Element) -> str:
        """The formula that a frame shows, as a line; empty where it shows something else."""
        held = child(frame, "object")
        formula = child(held, "math")
        folder = beside("content.xml", attribute(held, "href"))
        if formula is None and folder in self._formulas:
            try:
                formula = self._package.tree(f"{folder}/content.xml")
            except SyntaxError:  # ill-formed, which leaves the document readable
                self._unread += 1
        return mathml_text(formula) if formula is not None else ""

    def problems(self) -> tuple[str, ...]:
        """What of the document isn't read, for its notes."""
        return (f"damaged formulas aren't read: {self._unread}",) if self._unread else ()

    def _words_of_all(self, element: _Element | None) -> tuple[str, list[Target]]:
        parts = [] if element is None else [self._words(part) for part in element.iter("{*}p")]
        return " ".join(words for words, _ in parts), [link for _, links in parts for link in links]


def _is_locked(package: ZipPackage) -> bool:
    parts = package.tree(_MANIFEST).iter("{*}encryption-data") if _MANIFEST in package else iter(())
    return next(parts, None) is not None


def _formulas(package: ZipPackage) -> Iterator[str]:
    """The folders of the formulas within a text: they are documents of their own."""
    for entry in package.tree(_MANIFEST).iter("{*}file-entry") if _MANIFEST in package else ():
        folder = attribute(entry, "full-path").rstrip("/")
        if attribute(entry, "media-type").endswith(".formula") and f"{folder}/content.xml" in package:
            yield folder


def _rows(table: _Element) -> Iterator[_Element]:
    for inner in table:
        name = local(inner)
        if name == "table-row":
            yield inner
        elif name in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows(inner)
