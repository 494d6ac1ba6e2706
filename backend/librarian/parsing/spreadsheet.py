"""Spreadsheets, read by calamine: Excel's `.xlsx`, `.xlsm`, `.xlsb` and `.xls`, and OpenDocument's `.ods`."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from ..errors import SourceError
from ..models import Document, SourceFile
from .document_builder import MAX_CHARACTERS, DocumentBuilder, one_line
from .encoding import decode
from .office_xml import attribute, child, children, drawn_words
from .zip_package import ZipPackage, opened, refused

_NUMBER_SIGNS = str.maketrans("", "", " .,:-+/%€$£eE\xa0")


def write_rows(builder: DocumentBuilder, rows: Iterable[list[str]], most: int, name: str) -> None:
    """Write runs of rows between empty ones: as a table, or as lines where they have one column.

    The first row is the header, after titles of one cell; where it looks like data, the columns have no names.
    At most `most` rows are taken, which is noted under `name`.
    """

    def limited() -> Iterator[list[str]]:
        length = 0  # a small sheet may show one long text in each of its cells
        for count, row in enumerate(rows):
            if count >= most or builder.full or length > MAX_CHARACTERS:
                builder.notes.append(f"only the first {count:,} rows of '{name}' are kept")
                return
            cells = [one_line(cell) for cell in row]
            length += sum(map(len, cells))
            yield cells

    for is_filled, run in groupby(limited(), any):
        if is_filled:
            _write_run(builder, list(run))


def _write_run(builder: DocumentBuilder, rows: list[list[str]]) -> None:
    while rows and sum(map(bool, rows[0])) == 1:  # titles and remarks above a table, or a column of words
        builder.paragraph(next(filter(None, rows[0])))
        rows = rows[1:]
    if not rows:
        return
    first = min(next(place for place, cell in enumerate(row) if cell) for row in rows)
    rows = [row[first:] for row in rows]
    if not _is_header(rows[0]) and len(rows) > 1:
        rows = [[f"column {place + 1}" for place in range(max(map(len, rows)))], *rows]
    builder.table(rows)


def _is_header(row: list[str]) -> bool:
    """Names rather than values: no cell is a number, and none is said twice."""
    named = [cell for cell in row if cell]
    numbers = [cell for cell in named if cell.translate(_NUMBER_SIGNS).isdecimal()]
    # A year may be a column's name, as in a table of figures by year.
    return len(set(named)) == len(named) and all(re.fullmatch(r"(?:19|20)..", cell) for cell in numbers)


_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 50
_MAX_ROWS = 50_000  #: of a sheet; beyond, a table is data rather than a document
_SEPARATOR_LINE = re.compile(r"sep=([^\r\n])[ \t]*\r?\n?", re.I)  #: a first line that names the delimiter for Excel
csv.field_size_limit(max(csv.field_size_limit(), MAX_CHARACTERS))  # exports hold whole pages in a cell


class CommaSeparatedParser:
    """Rows under their header, which is repeated where the table is long; the delimiter is found by counting."""

    extensions: tuple[str, ...] = (".csv", ".tsv")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        builder = DocumentBuilder()
        separator = _SEPARATOR_LINE.match(decoded.text)
        lines = decoded.text[separator.end() if separator else 0 :].replace("\0", " ").split("\n")
        first = next((place for place, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
        delimiter = "\t" if source.extension == ".tsv" else _delimiter(lines[first : first + _SAMPLE_LINES])
        delimiter = separator.group(1) if separator else delimiter
        # Comments above a table end where one has as many cells: `# time,flow` names its columns.
        begin, width = 0, _cells(lines[first], delimiter)
        while begin < first and not 1 < _cells(lines[begin], delimiter) == width:
            builder.paragraph(lines[begin].lstrip("#"))
            begin += 1
        rows = csv.reader(io.StringIO("\n".join(lines[begin:]), newline=""), delimiter=delimiter)
        with refused(source.file_path):
            write_rows(builder, rows, _MAX_ROWS, source.file_path.rsplit("/", 1)[-1])
        return builder.document(source, encoding=decoded.encoding, encoding_confidence=decoded.confidence)


def _cells(line: str, delimiter: str) -> int:
    return len(next(csv.reader([line], delimiter=delimiter), []))


def _delimiter(lines: list[str]) -> str:
    """The character that parts most lines into the same number of cells, the more the better."""
    lines = [line[:100_000] for line in lines if line.strip()]

    def score(delimiter: str) -> float:
        counts = Counter(len(cells) for cells in csv.reader(lines, delimiter=delimiter))
        common, times = counts.most_common(1)[0] if counts else (0, 0)
        return times / len(lines) * (1 + common / 1000) if common > 1 else 0.0

    return max(_DELIMITERS, key=score)


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
_MAIN, _STYLES = "xl/workbook.xml", "xl/styles.xml"


class SpreadsheetParser:
    """A heading per sheet, rows under their header (repeated where a table is long), formulas by their value."""

    extensions: tuple[str, ...] = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        out = DocumentBuilder()
        if source.extension == ".xls":
            with refused(source.file_path):
                _write(out, data, None)
            return out.document(source)
        with opened(data, source.file_path) as package:
            book = _Book(package, source.file_path) if _MAIN in package else None
            _write(out, package.rewritten(book.prepared if book else None).getvalue(), book)
            return out.document(source, title=package.title)


def _write(out: DocumentBuilder, data: bytes, book: _Book | None) -> None:
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    with CalamineWorkbook.from_filelike(io.BytesIO(data)) as file:
        for place, sheet in enumerate(file.sheets_metadata):
            if out.full:
                break
            out.heading(1, sheet.name if sheet.visible == SheetVisibleEnum.Visible else f"{sheet.name} (hidden)")
            if sheet.typ == SheetTypeEnum.WorkSheet:
                try:
                    cells = file.get_sheet_by_index(place)
                except CalamineError as error:
                    out.notes.append(f"the sheet '{sheet.name}' can't be read: {error}")
                    continue
                first, last = cells.start or (0, 0), cells.end or (0, 0)
                rows = ([_shown(value) for value in row[: _MAX_COLUMNS - first[1]]] for row in cells.iter_rows())
                write_rows(out, rows, _MAX_ROWS, sheet.name)
                if last[1] >= _MAX_COLUMNS:
                    out.notes.append(f"only the first {_MAX_COLUMNS} columns of '{sheet.name}' are kept")
            if book:
                book.write_remarks(out, sheet.name)


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
    """What calamine doesn't tell of an Office Open XML workbook."""

    def __init__(self, package: ZipPackage, name: str) -> None:
        self._package, self._name = package, name
        targets = {key: target for key, _, target in package.relations(_MAIN)}
        self._parts = {
            sheet.get("name") or "": targets.get(attribute(sheet, "id"), "")
            for sheet in package.tree(_MAIN).iter("{*}sheet")
        }
        self._shortened: set[str] = set()  # parts of sheets with more rows than are kept
        root = package.tree(_STYLES) if _STYLES in package else None
        codes = {
            attribute(one, "numFmtId"): attribute(one, "formatCode")
            for one in children(child(root, "numFmts"), "numFmt")
        }
        percents = {"9", "10"} | {key for key, code in codes.items() if "%" in _LITERAL.sub("", code.partition(";")[0])}
        shown = [attribute(style, "numFmtId") for style in children(child(root, "cellXfs"), "xf")]
        styles = "|".join(str(place) for place, key in enumerate(shown) if key in percents)
        self._percent_cell = re.compile(_PERCENT_CELL % styles.encode()) if styles else None

    def prepared(self, part: str, content: bytes) -> bytes:
        """A sheet with percentages and errors as texts, without the rows beyond those that are kept.

        Raises `SourceError` where calamine would need too much memory.
        """
        if part not in self._parts.values():
            return content
        rows = 0
        for row in _ROW.finditer(content):
            rows = int(row.group(1))
            if rows > _MAX_ROWS:
                self._shortened.add(part)
                content = content[: row.start()] + content[content.find(b"</sheetData>") :]
                break
        widest = max((_column(cell) for cell in set(_WIDE.findall(content))), default=0)
        if widest * rows > _MAX_CELLS:
            raise SourceError(
                f"A sheet of '{self._name}' has cells in {rows:,} rows and {widest:,} columns.",
                hint="Delete the cells that lie far from the others.",
                reason="too_large",
            )
        if self._percent_cell:
            content = self._percent_cell.sub(_percentage, content)
        return content.replace(b' t="e"', b' t="str"')

    def write_remarks(self, out: DocumentBuilder, sheet: str) -> None:
        """The words of a sheet's shapes, diagrams and charts, and its comments with their cells."""
        part = self._parts.get(sheet, "")
        if part in self._shortened:
            out.notes.append(f"only the first {_MAX_ROWS:,} rows of '{sheet}' are kept")
        for _, kind, target in sorted(self._package.relations(part), key=lambda relation: relation[1] != "drawing"):
            if kind == "drawing":
                further = [one for _, kind, one in self._package.relations(target) if kind in ("chart", "diagramData")]
                for words in (words for one in (target, *further) for words in drawn_words(self._package.tree(one))):
                    out.paragraph(words)
            elif kind == "comments":
                for comment in self._package.tree(target).iter("{*}comment"):
                    if words := one_line("".join(comment.itertext("{*}t"))):
                        out.paragraph(f"{attribute(comment, 'ref')}: {words}")


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
