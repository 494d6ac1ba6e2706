"""Tables as text: `.csv` and `.tsv`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import replace

from ..errors import SourceError
from ..models import Document, SourceFile
from .document_builder import MAX_CHARACTERS, DocumentBuilder, one_line
from .encoding import decode

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
            _write(builder, run)
            run = []
    if run:
        _write(builder, run)


def _write(builder: DocumentBuilder, rows: list[list[str]]) -> None:
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
_MAX_ROWS = 50_000
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
        text = text.replace("\0", "")
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
