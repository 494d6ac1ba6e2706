"""Spreadsheets, read by calamine: Excel's `.xlsx`, `.xlsm`, `.xlsb` and `.xls`, and OpenDocument's `.ods`."""

from __future__ import annotations

import datetime as dt
import io
import re
from collections.abc import Iterator

from ..errors import SourceError
from ..models import Document, SourceFile
from .delimited import write_rows
from .document_builder import DocumentBuilder, one_line
from .office_xml import attribute, child, children, drawn_words
from .zip_package import ZipPackage, opened, refused

_MAX_ROWS = 50_000  #: per sheet; beyond, a table is data rather than a document
_MAX_COLUMNS = 200
_MAX_CELLS = 10_000_000  #: of the rectangle around a sheet's cells, which calamine takes memory for
_ROW = re.compile(rb'<(?:\w+:)?row\b[^>]*?\br="(\d{1,9})"')
_WIDE = re.compile(rb'<(?:\w+:)?c\b[^>]*?\br="([A-Z]{2,3})\d')
_LITERAL = re.compile(r"\"[^\"]*\"|\\.|\[[^\]]*\]|_.")  #: of a number's format: texts, colours, gaps
#: A number in a cell of some styles: the cell's beginning, what leads to the number, and the number.
_PERCENT_CELL = (
    rb'(<(?:\w+:)?c\b)((?![^>]*\bt=)[^>]*?\bs="(?:%s)"[^>]*>(?:<(?:\w+:)?f\b[^>]*/>|<(?:\w+:)?f\b[^>]*>[^<]*</(?:\w+:)?f>)?'
    rb"<(?:\w+:)?v>)([^<]+)"
)


class SpreadsheetParser:
    """A heading per sheet, rows under their header (repeated where a table is long), formulas by their value."""

    extensions: tuple[str, ...] = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        out, book = DocumentBuilder(), _Book(source.file_path)
        if source.extension == ".xls":
            with refused(source.file_path):
                _write(out, book, data)
        else:
            with opened(data, source.file_path) as package:
                _write(out, book, book.open(package))
        return out.document(source, source.extension, title=book.title)


def _write(out: DocumentBuilder, book: _Book, data: bytes) -> None:
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    with CalamineWorkbook.from_filelike(io.BytesIO(data)) as file:
        for place, sheet in enumerate(file.sheets_metadata):
            if out.full:
                break
            out.heading(1, sheet.name if sheet.visible == SheetVisibleEnum.Visible else f"{sheet.name} (hidden)")
            part = book.parts.get(sheet.name, "")
            if sheet.typ == SheetTypeEnum.WorkSheet:
                try:
                    cells = file.get_sheet_by_index(place)
                except CalamineError as error:
                    out.notes.append(f"the sheet '{sheet.name}' can't be read: {error}")
                    continue
                first, last = cells.start or (0, 0), cells.end or (0, 0)
                rows = ([_shown(value) for value in row[: _MAX_COLUMNS - first[1]]] for row in cells.iter_rows())
                write_rows(out, rows, _MAX_ROWS, sheet.name)
                if part in book.shortened:
                    out.notes.append(f"only the first {_MAX_ROWS:,} rows of '{sheet.name}' are kept")
                if last[1] >= _MAX_COLUMNS:
                    out.notes.append(f"only the first {_MAX_COLUMNS} columns of '{sheet.name}' are kept")
            for words in book.remarks(part):
                out.paragraph(words)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        # Sums carry the noise of binary fractions (0.30000000000000004); Excel shows 15 digits at most.
        return f"{value:.15g}" if abs(value) < 1e15 else f"{value:.0f}"
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    return str(value).removesuffix(":00") if isinstance(value, dt.time) else str(value)


class _Book:
    """What calamine doesn't tell of an Office Open XML workbook; empty for others."""

    def __init__(self, name: str) -> None:
        self.title = ""
        self.parts: dict[str, str] = {}  # by sheet
        self.shortened: set[str] = set()  # parts of sheets with more rows than are kept
        self._name = name
        self._percent_styles = ""  # an expression
        self._package: ZipPackage | None = None

    def open(self, package: ZipPackage) -> bytes:
        """The workbook as calamine may read it."""
        if "docProps/core.xml" in package:
            self.title = next((title.text or "" for title in package.tree("docProps/core.xml").iter("{*}title")), "")
        if (main := "xl/workbook.xml") in package:
            self._read(package, main)
        return package.rewritten(self._prepared).getvalue()

    def _read(self, package: ZipPackage, main: str) -> None:
        self._package = package
        targets = {key: target for key, (_, target, _) in package.relations(main).items()}
        for sheet in package.tree(main).iter("{*}sheet"):
            keys = [str(value) for key, value in sheet.attrib.items() if str(key).endswith("}id")]
            self.parts[sheet.get("name") or ""] = targets.get(keys[0] if keys else "", "")
        if "xl/styles.xml" in package:
            root = package.tree("xl/styles.xml")
            codes = {form.get("numFmtId"): form.get("formatCode") or "" for form in root.iter("{*}numFmt")}
            percents = {"9", "10"} | {
                key for key, code in codes.items() if "%" in _LITERAL.sub("", code.partition(";")[0])
            }
            shown = [attribute(style, "numFmtId") for style in children(child(root, "cellXfs"), "xf")]
            self._percent_styles = "|".join(str(place) for place, key in enumerate(shown) if key in percents)

    def _prepared(self, part: str, content: bytes) -> bytes:
        """A sheet with percentages and errors as texts, without the rows beyond those that are kept.

        Raises `SourceError` where calamine would need too much memory.
        """
        if part not in self.parts.values():
            return content
        rows = 0
        for row in _ROW.finditer(content):
            rows = int(row.group(1))
            if rows > _MAX_ROWS:
                self.shortened.add(part)
                content = content[: row.start()] + content[content.find(b"</sheetData>") :]
                break
        widest = max((_column(cell) for cell in set(_WIDE.findall(content))), default=0)
        if widest * rows > _MAX_CELLS:
            raise SourceError(
                f"A sheet of '{self._name}' has cells in {rows:,} rows and {widest:,} columns.",
                hint="Delete the cells that lie far from the others.",
                reason="too_large",
            )
        if self._percent_styles:
            content = re.sub(_PERCENT_CELL % self._percent_styles.encode(), _percentage, content)
        return content.replace(b' t="e"', b' t="str"')

    def remarks(self, part: str) -> Iterator[str]:
        """The words of a sheet's shapes, diagrams and charts, and its comments with their cells."""
        if (package := self._package) is None:
            return
        relations = list(package.relations(part).values())
        for kind, target, _ in relations:
            if kind == "drawing" and target in package:
                yield from drawn_words(package.tree(target))
                for inner, drawn, _ in package.relations(target).values():
                    if inner in ("chart", "diagramData") and drawn in package:
                        yield from drawn_words(package.tree(drawn))
        for kind, target, _ in relations:
            if kind == "comments" and target in package:
                for comment in package.tree(target).iter("{*}comment"):
                    if words := one_line("".join(comment.itertext("{*}t"))):
                        yield f"{comment.get('ref') or ''}: {words}"


def _percentage(cell: re.Match[bytes]) -> bytes:
    try:
        return b'%b t="str"%b%.15g%%' % (cell.group(1), cell.group(2), float(cell.group(3)) * 100)
    except ValueError:
        return cell.group()


def _column(letters: bytes) -> int:
    """The number of a column such as `BC`, from 1."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
