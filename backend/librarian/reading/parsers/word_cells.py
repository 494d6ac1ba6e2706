"""Rows and cells of a Word file's tables."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from .word_styles import attribute, child, local

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Elements whose content stands in the text as if they weren't there.
TRANSPARENT = frozenset(
    {"ins", "moveTo", "smartTag", "sdt", "sdtContent", "fldSimple", "customXml", "dir", "bdo", "Choice"}
)
_MOST_IN_CELL = 40  #: paragraphs


def rows_of(table: _Element) -> list[_Element]:
    """The rows of a table, deleted ones too."""
    rows: list[_Element] = []
    for inner in table:
        if local(inner) == "tr":
            rows.append(inner)
        elif local(inner) in TRANSPARENT:
            rows += rows_of(inner)
    return rows


def cells_of(row: _Element) -> list[_Element]:
    """The cells of a row."""
    cells: list[_Element] = []
    for inner in row:
        if local(inner) == "tc":
            cells.append(inner)
        elif local(inner) in TRANSPARENT:
            cells += cells_of(inner)
    return cells


def is_page(cell: _Element) -> bool:
    """Whether a cell holds more than any table's does: a page, or all pages, of a document laid out by a table."""
    return sum(1 for _ in islice(cell.iter("{*}p"), _MOST_IN_CELL + 1)) > _MOST_IN_CELL


def is_deleted(row: _Element) -> bool:
    """Whether a row is left out where all changes are accepted."""
    return child(row, "trPr", "del") is not None


def span_of(columns: _Element | None) -> int:
    """How many columns an element says, 64 at most; 0 where it is missing or says no number."""
    said = attribute(columns)
    return min(int(said), 64) if said.isdecimal() and len(said) < 9 else 0


def written_rows(grid: list[list[str]]) -> list[str]:
    """The lines of a table: its rows, and the rule below the first.

    All rows get as many cells as the widest has: where the first has fewer columns than the rule, no reader of Markdown
    sees a table.
    """
    columns = max(map(len, grid))
    rows = ["| " + " | ".join([*texts, *[""] * (columns - len(texts))]) + " |" for texts in grid]
    return [rows[0], "|" + " --- |" * columns, *rows[1:]]
