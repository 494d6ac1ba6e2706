"""Spreadsheets, read by calamine: Excel's `.xlsx`, `.xlsm`, `.xlsb` and `.xls`, and OpenDocument's `.ods`."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

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
    run: list[list[str]] = []
    length = 0  # a small sheet may show one long text in each of its cells
    for count, row in enumerate(rows):
        if count >= most or builder.full or length > MAX_CHARACTERS:
            builder.notes.append(f"only the first {count:,} rows of '{name}' are kept")
            break
        cells = [one_line(cell) for cell in row]
        length += sum(map(len, cells))
        if any(cells):
            run.append(cells)
        elif run:
            _write_run(builder, run)
            run = []
    if run:
        _write_run(builder, run)


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
    return len(set(named)) == len(named) and not any(_is_number(cell) for cell in named)


def _is_number(cell: str) -> bool:
    digits = cell.translate(_NUMBER_SIGNS)
    # A year may be a column's name, as in a table of figures by year.
    return digits.isdecimal() and not (len(cell) == 4 and cell.startswith(("19", "20")))


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
        tabbed = source.extension == ".tsv"
        separator = _SEPARATOR_LINE.match(decoded.text)
        text = decoded.text[separator.end() :] if separator else decoded.text
        text = text.replace("\0", " ")
        comments, begin = _comments(text)
        delimiter = separator.group(1) if separator else "\t" if tabbed else _delimiter(text[begin:])
        cells = _cells(text[begin:].lstrip("\r\n").split("\n", 1)[0], delimiter) if comments else 0
        # As many cells as the line below has name its columns, as `# time,flow` does; a sentence has one.
        while comments and 1 < cells == _cells(comments[-1], delimiter):
            begin -= len(comments.pop())
        for comment in comments:
            builder.paragraph(one_line(comment.strip().lstrip("#")))
        above = text.count("\n", 0, begin) + bool(separator)
        lines = io.StringIO(text[begin:], newline="")
        rows = csv.reader(lines, delimiter=delimiter, strict=False)
        name = source.file_path.rsplit("/", 1)[-1]
        try:
            write_rows(builder, rows, _MAX_ROWS, name)
        except csv.Error as error:
            raise SourceError(
                f"'{source.file_path}' can't be read as a table, line {above + rows.line_num}: {error}.",
                hint="Check its quotes.",
                reason="corrupt",
            ) from error
        document = builder.document(source, source.extension)
        return replace(document, encoding=decoded.encoding, encoding_confidence=decoded.confidence)


def _comments(text: str) -> tuple[list[str], int]:
    """The lines above a table that are comments or blank, and where they end; none where nothing else is there."""
    lines: list[str] = []
    end = 0
    while end < len(text):
        stop = text.find("\n", end) + 1 or len(text)
        line = text[end:stop]
        if line.strip() and not line.startswith("#"):
            return (lines, end) if any(map(str.strip, lines)) else ([], 0)
        lines.append(line)
        end = stop
    return [], 0


def _cells(line: str, delimiter: str) -> int:
    return len(next(csv.reader([line.replace("\r", " ").strip("\n")], delimiter=delimiter), []))


def _delimiter(text: str) -> str:
    """The character that parts most lines into the same number of cells, the more the better."""
    lines = [line for line in text[:100_000].split("\n", _SAMPLE_LINES)[:_SAMPLE_LINES] if line.strip()]
    best, most = ",", 0.0
    for delimiter in _DELIMITERS:
        counts = [len(cells) for cells in csv.reader(lines, delimiter=delimiter)]
        if counts and (common := max(set(counts), key=counts.count)) > 1:
            score = counts.count(common) / len(counts) * (1 + common / 1000)
            if score > most:
                best, most = delimiter, score
    return best


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
