"""Rows of cells, from sheets and comma-separated files, made into tables: where one begins, and what its header is."""

from __future__ import annotations

from collections.abc import Iterable

from .document_builder import MAX_CHARACTERS, DocumentBuilder, one_line

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
