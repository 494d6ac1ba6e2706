"""A unit that is too long to be shown, cut around its match and marked where something is left out.

A line of prose or of minified code keeps what surrounds the match; a row of a wide table its first column, the cell
with the match, and the cells beside it, under the same columns of its header.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..models import Frame
from ..text.characters import whole_from, whole_until
from .spans import Span

CUT = "…"  #: marks what is left out of a sentence, a fence or a table

_BAR = re.compile(r"(?<!\\)\|")
_DELIMITER = re.compile(r"\s*:?-+:?\s*")
_DELIMITING = " --- "
_FENCE_MARKS = "`~ \n"

#: Characters that a cell of the header may take above a cell that is itself too wide.
_HEADER_CELL = 60


class Place(NamedTuple):
    """Where a text says something of the question, and with which weight per token."""

    start: int
    end: int
    tokens: Mapping[str, float]


def cut_to(shown: str, line: str, frame: Frame | None, places: Iterable[Place], ceiling: int) -> str:
    """At most `ceiling` characters of a rendered unit: of its line those around the places that together weigh most.

    `shown` is the line with what its fence or table puts around it, `places` are where it says something.
    """
    rows = shown.splitlines()
    told = rows.index(line) if line in rows else max(range(len(rows)), key=lambda number: len(rows[number]))
    start = _length(rows[:told]) + 1 if told else 0
    own = sorted((place for place in places if start <= place.start < start + len(rows[told])), key=_span)
    focus = _focus([Place(place.start - start, place.end - start, place.tokens) for place in own], ceiling // 2)
    if frame is None:
        return _around(shown, ceiling, focus)
    if frame.kind == "fence":
        rest = len(shown) - len(rows[told])
        rows[told] = _around(rows[told], max(ceiling - rest, ceiling // 2), focus).rstrip(_FENCE_MARKS)
    elif all(_BAR.search(row) for row in rows):
        rows = _columns(rows, told, focus, ceiling)
    else:
        width = max(20, ceiling // len(rows) - 2 * len(CUT) - 3)
        first = _beginning(max(map(len, rows)), width, focus)
        rows = [_marked(row, first, first + width) for row in rows]
    return "\n".join(rows) if _length(rows) <= ceiling else _evenly(rows, ceiling)


def _span(place: Place) -> tuple[int, int]:
    return place.start, place.end


def _focus(places: Sequence[Place], room: int) -> tuple[int, int]:
    """First and last character of the places that together weigh most among those that fit into the room."""
    best, found = 0.0, (0, 0)
    for number, first in enumerate(places):
        seen: dict[str, float] = {}
        for place in places[number:]:
            if place.end - first.start > max(room, first.end - first.start):
                break
            seen.update({token: max(weight, seen.get(token, 0.0)) for token, weight in place.tokens.items()})
            weight = sum(seen.values())
            if weight > best:
                best, found = weight, (first.start, place.end)
    return found


def _beginning(length: int, room: int, focus: tuple[int, int]) -> int:
    """Where a window of `room` characters begins: at the front where the focus is in it, else around the focus."""
    if focus[1] <= room:
        return 0
    return max(0, min(focus[0], (focus[0] + focus[1] - room) // 2, length - room))


def _around(text: str, room: int, focus: tuple[int, int]) -> str:
    """The room's worth of text around the focus, cut between words where there are some."""
    if len(text) <= room:
        return text
    room -= 2 * (len(CUT) + 1)
    first = _beginning(len(text), room, focus)
    last = min(len(text), first + room)
    if first and 0 <= (blank := text.find(" ", first, max(first, focus[0]))) < first + room // 2:
        first = blank + 1
    if last < len(text) and (blank := text.rfind(" ", max(first + room // 2, focus[1]), last)) > 0:
        last = blank
    return _marked(text, first, last)


def _marked(text: str, first: int, last: int) -> str:
    """The characters from `first` to `last`, marked where something goes before or after them."""
    first, last = whole_from(text, first), whole_until(text, last)
    kept = text[first:last]
    before = f"{CUT} " if first and text[:first].strip() else ""
    after = f" {CUT}" if text[last:].strip() else ""
    return f"{before}{kept.strip() if before else kept.rstrip()}{after}"


def _columns(rows: Sequence[str], told: int, focus: tuple[int, int], ceiling: int) -> list[str]:
    """The same columns of every row: that of the focus, the first, and those beside it while there is room."""
    spans = _cells(rows[told])
    column = next((number for number, (_, end) in enumerate(spans) if end > focus[0]), len(spans) - 1)
    table = [[row[start:end] for start, end in _cells(row)] for row in rows]
    for number, cells in enumerate(table):
        if number == told or column >= len(cells):
            continue
        if _DELIMITER.fullmatch(cells[column]):
            cells[column] = _DELIMITING
        elif len(cells[column]) > _HEADER_CELL:
            cells[column] = f" {_around(cells[column].strip(), _HEADER_CELL, (0, 0))} "
    kept = {column}
    spare = ceiling - _length(_laid(table, kept))
    if spare < 0:
        start, end = spans[column]
        within = (max(0, focus[0] - start), max(0, focus[1] - start))
        table[told][column] = f" {_around(rows[told][start:end], max(20, end - start + spare - 2), within).strip()} "
    width = max(map(len, table))
    for other in (0, *(side for step in range(1, width) for side in (column + step, column - step))):
        if 0 <= other < width and _length(_laid(table, kept | {other})) <= ceiling:
            kept.add(other)
    return _laid(table, kept)


def _cells(row: str) -> list[tuple[int, int]]:
    """Where a row's cells begin and end, without the bars around them."""
    inner = row.strip()
    first = row.index(inner) + inner.startswith("|")
    last = len(row.rstrip()) - (inner.endswith("|") and not inner.endswith("\\|"))
    bars = [bar.start() for bar in _BAR.finditer(row, first, last)]
    return list(zip([first, *(bar + 1 for bar in bars)], [*bars, last], strict=True))


def _length(rows: Sequence[str]) -> int:
    return sum(map(len, rows)) + len(rows) - 1


def _laid(table: Sequence[Sequence[str]], kept: set[int]) -> list[str]:
    """Each row with the columns that are kept, and a mark for each run of others."""
    width = max(map(len, table))
    rows = []
    for cells in table:
        if [cell.strip() for cell in cells] == [CUT]:
            rows.append(f"| {CUT} |")
            continue
        delimiting = all(_DELIMITER.fullmatch(cell) for cell in cells)
        shown, left_out = [], False
        for column in range(width):
            if column in kept:
                shown.append(cells[column] if column < len(cells) else " ")
            elif not left_out:
                shown.append(_DELIMITING if delimiting else f" {CUT} ")
            left_out = column not in kept
        rows.append(f"|{'|'.join(shown)}|")
    return rows


def _evenly(rows: Sequence[str], ceiling: int) -> str:
    """What is left where the rows around the match take all the room: the front of each."""
    width = max(1, ceiling // len(rows) - len(CUT) - 2)
    return "\n".join(_marked(row, 0, width) for row in rows)[:ceiling]


#: In place of where in the passage a part begins: it isn't from there, but was added.
ADDED = -1

#: A run of what is shown that stands so in the passage, or a line that was added: where it begins there, and its text.
Part = tuple[int, str]

#: What stands between two lines of a fence or table, or of prose, and is shown as it is.
_BETWEEN_ROWS, _BETWEEN_LINES = ("\n",), ("\n", "\n\n")


class Rendering(NamedTuple):
    """What is shown, and the parts which that is, one below the other."""

    text: str
    parts: Sequence[Part]


class Renderings(dict[tuple[int, int], Rendering]):
    """First and last unit of a passage's window → how it is shown, worked out when first asked for."""

    def __init__(self, text: str, pieces: Sequence[Span]) -> None:
        super().__init__()
        self._text, self._pieces = text, pieces

    def __missing__(self, window: tuple[int, int]) -> Rendering:
        first, last = window
        parts = _parts(self._text, self._pieces[first : last + 1])
        while parts and not parts[0][1]:
            del parts[0]
        shown = parts[0][1] if len(parts) == 1 else "\n".join([part for _, part in parts]).rstrip("\n")
        rendering = self[window] = Rendering(shown, parts)
        return rendering


def _parts(text: str, shown: Sequence[Span]) -> list[Part]:
    """The units with what their fences and tables need around them, without blanks at the ends of lines."""
    parts: list[Part] = []
    start = end = shown[0].start
    while text.startswith("\n", start):  # what is very long is cut anywhere
        start += 1
    frame: Frame | None = None
    for piece in shown:
        between = text[end : piece.start]
        if piece.frame is frame and (
            "\n" not in between
            or (between in (_BETWEEN_LINES if frame is None else _BETWEEN_ROWS) and not text[end - 1].isspace())
        ):
            end = piece.end
            continue
        if end > start:
            parts.append((start, text[start:end].rstrip()))
        if piece.frame is not frame:
            parts += [(ADDED, line.rstrip()) for line in (*_left(frame, end), *_entered(piece))]
            frame = piece.frame
        elif frame is None and "\n\n" in between:
            parts.append((ADDED, ""))
        start, end = piece.start, piece.end
    parts.append((start, text[start:end].rstrip()))
    parts += [(ADDED, line.rstrip()) for line in _left(frame, end)]
    return parts


def _entered(piece: Span) -> list[str]:
    """What goes before a fence's or table's first shown unit."""
    frame = piece.frame
    if frame is None or not frame.opening:
        return []
    if piece.start < frame.opening_end:  # of the opening only what goes before it
        return frame.opening[: max(0, piece.start - frame.start)].rstrip("\n").splitlines()
    skipped = piece.start > frame.opening_end + 1
    return [*frame.opening.splitlines(), *([_mark(frame)] if skipped else [])]


def _left(frame: Frame | None, end: int) -> list[str]:
    """What goes after a fence's or table's last shown unit."""
    if frame is None:
        return []
    parts = []
    if frame.kind == "table" and end < frame.opening_end:  # a header is one by the rule below it
        parts += frame.opening[end - frame.start :].strip("\n").splitlines()
        end = frame.opening_end
    if end < frame.closing_start - 1:
        parts.append(_mark(frame))
    if frame.closing and end <= frame.closing_start:
        parts.append(frame.closing)
    return parts


def _mark(frame: Frame) -> str:
    piped = frame.kind == "table" and frame.opening.lstrip().startswith(("|", "+"))
    return f"| {CUT} |" if piped or (frame.kind == "table" and not frame.opening) else CUT
