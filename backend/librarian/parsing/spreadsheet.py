"""Excel files: `.xlsx` and `.xlsm`. Sheets are read as a stream, so their size costs time but no memory."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ..models import Document, SourceFile
from .document_builder import DocumentBuilder, one_line
from .office_xml import attribute, child, children, local
from .slides import drawn_words, shape_words
from .table_rows import write_rows
from .zip_package import ZipPackage, opened

if TYPE_CHECKING:
    from lxml.etree import _Element

_MAIN = "xl/workbook.xml"
_MAX_ROWS = 50_000  #: per sheet; beyond, a table is data rather than a document
_MAX_COLUMNS = 200
_MAX_STRINGS = 2_000_000
_COLUMN = re.compile(r"[A-Z]{1,3}")
#: The built-in number formats that show a date or a time (ECMA-376, 18.8.30).
_DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_PERCENT_FORMATS = frozenset({9, 10})
_DATE_LETTERS = re.compile(r"[ymdhs]", re.I)
_NO_LETTERS = re.compile(r"\"[^\"]*\"|\\.|\[(?:[^\]hms][^\]]*|)\]|_.", re.I)
#: A character that XML can't hold, or an underscore that would be mistaken for one (ECMA-376, 22.9.2.19).
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_LAST_SERIAL = 2_958_465  #: 9999-12-31


class SpreadsheetParser:
    """A heading per sheet, rows under their header (repeated where a table is long), formulas by their value."""

    extensions: tuple[str, ...] = (".xlsx", ".xlsm")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        manuscript = DocumentBuilder()
        with opened(data, source.file_path) as package:
            book = _Book(package)
            for name, part, hidden in book.sheets:
                if manuscript.full or part not in package:
                    continue
                manuscript.heading(1, f"{name} (hidden)" if hidden else name)
                write_rows(manuscript, book.rows(part), _MAX_ROWS, name)
                if part in book.wide:
                    manuscript.notes.append(f"only the first {_MAX_COLUMNS} columns of '{name}' are kept")
                for words in book.drawn(part):
                    manuscript.paragraph(words)
                for where, words in book.comments(part):
                    manuscript.paragraph(f"{where}: {words}")
        return manuscript.document(source, source.extension, title=book.title)


class _Book:
    def __init__(self, package: ZipPackage) -> None:
        self._package = package
        roots = package.relations("").values()
        main = next((target for kind, target, _ in roots if kind == "officeDocument"), _MAIN)
        relations = package.relations(main)
        by_kind = {kind: target for kind, target, _ in relations.values()}
        root = package.tree(main)
        self._epoch = (
            dt.datetime(1904, 1, 1)
            if attribute(child(root, "workbookPr"), "date1904") in ("1", "true")
            else dt.datetime(1899, 12, 30)
        )
        self.wide: set[str] = set()  # parts of sheets with more columns than are kept
        self.sheets: list[tuple[str, str, bool]] = []
        for sheet in root.iter("{*}sheet"):
            relation = next((str(value) for key, value in sheet.attrib.items() if str(key).endswith("}id")), "")
            part = relations.get(relation, ("", "", False))[1]
            self.sheets.append((sheet.get("name") or "", part, (sheet.get("state") or "visible") != "visible"))
        core = next((target for kind, target, _ in roots if kind == "core-properties"), "")
        found = package.tree(core).iter("{*}title") if core in package else iter(())
        self.title = next((title.text or "" for title in found), "")
        self._dates, self._percents = self._number_styles(by_kind.get("styles", ""))
        self._strings = list(self._shared(by_kind.get("sharedStrings", "")))

    def rows(self, part: str) -> Iterator[list[str]]:
        """The rows of a sheet as shown, cells without a value as empty."""
        from lxml import etree

        with self._package.open(part) as stream:
            for _, row in etree.iterparse(
                stream, events=("end",), tag="{*}row", resolve_entities=False, no_network=True, load_dtd=False
            ):
                cells: list[str] = []
                for cell in row:
                    if local(cell) != "c":
                        continue
                    column = _column(cell.get("r") or "", len(cells))
                    if column >= _MAX_COLUMNS:
                        if child(cell, "v") is None:
                            continue
                        self.wide.add(part)
                        break
                    cells += [""] * (column - len(cells))
                    cells[column:] = [self._value(cell)]
                yield cells
                row.clear()
                while row.getprevious() is not None:
                    del row.getparent()[0]

    def comments(self, part: str) -> Iterator[tuple[str, str]]:
        """Where each comment of a sheet stands, and what it says."""
        for kind, target, _ in self._package.relations(part).values():
            if kind == "comments" and target in self._package:
                for comment in self._package.tree(target).iter("{*}comment"):
                    if words := one_line(_unescaped("".join(comment.itertext("{*}t")))):
                        yield comment.get("ref") or "", words

    def drawn(self, part: str) -> Iterator[str]:
        """The words of a sheet's shapes, diagrams and charts."""
        for kind, target, _ in self._package.relations(part).values():
            if kind == "drawing" and target in self._package:
                root, relations = self._package.tree(target), self._package.relations(target)
                for shape in root.iter("{*}sp", "{*}pic"):
                    if not any(local(above) == "Fallback" for above in shape.iterancestors()):
                        yield from shape_words(shape)
                yield from (words for _, words in drawn_words(self._package, relations, root))

    def _value(self, cell: _Element) -> str:
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            return _unescaped("".join(cell.itertext("{*}t")))
        value = child(cell, "v")
        text = (value.text or "") if value is not None else ""
        if kind == "s":
            place = int(text) if text.isdecimal() and len(text) < 10 else -1
            return self._strings[place] if 0 <= place < len(self._strings) else ""
        if kind == "b":
            return {"1": "TRUE", "0": "FALSE"}.get(text, text)
        if kind == "n" and text:
            return self._number(text, cell.get("s") or "0")
        return _unescaped(text)

    def _number(self, text: str, style: str) -> str:
        try:
            number = float(text)
        except ValueError:
            return text
        if style.isdecimal() and int(style) in self._dates and 0 <= number <= _LAST_SERIAL:
            moment = self._epoch + dt.timedelta(seconds=round(number * 86_400))
            if number < 1:
                return moment.strftime("%H:%M:%S").removesuffix(":00")
            return moment.strftime("%Y-%m-%d") if number == int(number) else moment.strftime("%Y-%m-%d %H:%M")
        if style.isdecimal() and int(style) in self._percents:
            return f"{number * 100:.15g}%"
        # Sums carry the noise of binary fractions (0.30000000000000004); Excel shows 15 digits at most.
        return f"{number:.15g}" if abs(number) < 1e15 else text

    def _number_styles(self, part: str) -> tuple[frozenset[int], frozenset[int]]:
        """The places of the styles that show dates, and of those that show percentages."""
        if part not in self._package:
            return frozenset(), frozenset()
        root = self._package.tree(part)
        dates, percents = set(_DATE_FORMATS), set(_PERCENT_FORMATS)
        for form in root.iter("{*}numFmt"):
            number, code = form.get("numFmtId") or "", form.get("formatCode") or ""
            code = _NO_LETTERS.sub("", code.partition(";")[0])
            if number.isdecimal() and _DATE_LETTERS.search(code):
                dates.add(int(number))
            elif number.isdecimal() and "%" in code:
                percents.add(int(number))
        formats = child(root, "cellXfs")
        shown = [_whole(style.get("numFmtId") or "") for style in (() if formats is None else children(formats, "xf"))]
        return (
            frozenset(place for place, number in enumerate(shown) if number in dates),
            frozenset(place for place, number in enumerate(shown) if number in percents),
        )

    def _shared(self, part: str) -> Iterator[str]:
        from lxml import etree

        if part not in self._package:
            return
        with self._package.open(part) as stream:
            items = etree.iterparse(
                stream, events=("end",), tag="{*}si", resolve_entities=False, no_network=True, load_dtd=False
            )
            for _, item in islice(items, _MAX_STRINGS):
                # Readings of Japanese words (rPh) stand beside the text.
                yield _unescaped("".join(t.text or "" for t in item.iter("{*}t") if local(t.getparent()) != "rPh"))
                item.clear()
                while item.getprevious() is not None:
                    del item.getparent()[0]


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), text) if "_x" in text else text


def _column(reference: str, following: int) -> int:
    """The 0-based column of a reference such as `BC12`."""
    match = _COLUMN.match(reference)
    if match is None:
        return following
    number = 0
    for letter in match.group():
        number = number * 26 + ord(letter) - 64
    return max(following, number - 1)


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else -1
