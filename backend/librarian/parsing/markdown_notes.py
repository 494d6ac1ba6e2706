"""What is indented below the line of a note, a tab or a definition, as site generators have them: text, not code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..models import Block
from .markdown_blocks import DELIMITER_ROW, cells
from .spans import INDENTED

_TAB = 4
#: What indented text belongs to: admonitions, tabs, footnotes, definitions.
_OWNER = re.compile(r"^([ \t]{0,64})(?:!!!|\?\?\?|===[!+]?[ \t]+\"|\[\^[^\[\]\n]+\]:|:[ \t])", re.M)
#: The rule below a table's header.
_RULE = re.compile(r"^[ \t]+(?:\|[ \t]*)?:?-+:?[ \t]*(?:\||$)", re.M)


def told_apart(text: str, blocks: Sequence[Block]) -> list[Block]:
    """The blocks, where what is indented as part of a note, a tab or a definition is a paragraph or a table."""
    told: list[Block] = []
    above: Block | None = None
    owned: bool | None = False  # whether what is indented belongs to `above`; None where nobody has asked
    for block in blocks:
        if text[block.start] not in " \t":
            above, owned = block, None
        elif block.kind == "other" and INDENTED.match(text, block.start):
            if owned is None and above is not None:
                owned = _OWNER.search(text, above.start, above.end) is not None
            if owned:
                told += _parted(replace(block, kind="paragraph"), _tables(text, block.start, block.end, _TAB), text)
                continue
        if block.kind in ("paragraph", "list") and _RULE.search(text, block.start, block.end):
            told += _parted(block, _in_notes(text, block), text)
        else:
            told.append(block)
    return told


def _parted(block: Block, tables: Iterable[Block], text: str) -> Iterator[Block]:
    """A block without the tables in it, and these."""
    reached = block.start
    for table in tables:
        if before := len(text[reached : table.start].rstrip()):
            yield replace(block, start=reached, end=reached + before)
        yield table
        reached = min(table.end + 1, block.end)
    if text[reached : block.end].strip():
        yield replace(block, start=reached)


def _in_notes(text: str, block: Block) -> Iterator[Block]:
    reached = block.start
    for owner in _OWNER.finditer(text, block.start, block.end):
        start = text.find("\n", owner.end(), block.end) + 1
        if start and owner.start() >= reached:
            for table in _tables(text, start, block.end, _width(owner.group(1)) + _TAB):
                if table.start >= reached:
                    yield table
                    reached = table.end


def _tables(text: str, start: int, end: int, column: int) -> Iterator[Block]:
    """Rows, the second a rule with as many cells as the first, in lines indented up to a column, until one isn't."""
    header: tuple[int, int] | None = None
    table: Block | None = None
    for first, last in _lines(text, start, end):
        line = text[first:last]
        if line.strip() and _width(line[: len(line) - len(line.lstrip())]) < column:
            break
        if table:
            if line.strip():
                table = replace(table, end=last)
                continue
            yield table
            header = table = None
        elif header and DELIMITER_ROW.fullmatch(line.strip()) and cells(text[slice(*header)]) == cells(line):
            table = Block("table", header[0], last, last)
        else:
            header = (first, last) if "|" in line else None
    if table:
        yield table


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        stop = text.find("\n", start, end)
        if stop < 0:
            stop = end
        yield start, stop
        start = stop + 1


def _width(blanks: str) -> int:
    return len(blanks.expandtabs(_TAB))
