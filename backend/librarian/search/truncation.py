"""Chunks taken apart into spans, which are shown or left out as a whole, and windows of these rendered and cut.

A span is a sentence, a line of code or a row of a table. A sentence of prose that was wrapped at some width runs over
line ends; lines that end where there was space for more, as verses and settings do, are spans of their own. A span that
is too long to be shown is cut around its match and marked: a sentence or a line of code keeps what surrounds the match;
a row of a wide table its first column, the cell with the match, and the cells beside it.

Offsets are characters into the chunk's text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ..models import Chunk, Frame
from ..text.characters import ENDS_ALONE, ENDS_BEFORE_BLANK, whole_from, whole_until

#: A line is wrapped where its end and the next one's first word would have come so near to the width that texts are
#: wrapped at: that of the paragraph's longest line, at least 50 and at most 78 characters.
_RAGGED, _NARROWEST, _WIDTH = 8, 50, 78

#: Its first letter is told apart only behind the set of all: by that set `re` skips what can't begin an end.
_SENTENCE_END = re.compile(
    rf"[{ENDS_BEFORE_BLANK}…{ENDS_ALONE}](?:"
    rf"(?<=[{ENDS_BEFORE_BLANK}…])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)[\"'”’)\]»]*\s+"
    rf"|(?<=[{ENDS_ALONE}])[」』）】”’]*)"
)
_ADORNMENT = re.compile(r"[ \t>]*([^\w\s])\1*[ \t]*$")
#: Begins a list's item, a row, a directive, a definition or a dated entry: never the next line of a sentence.
_ITEM = re.compile(r"[-*+•‣–—]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s")
_APART = re.compile(rf"{_ITEM.pattern}|[#|:=~^@%$&]|\.\.|>>>|\[[^\]\n]+\]:|[\w-]+:\s|\d+[-/:.]\d+[-/:.]\d")
#: A line's last character that says it is over, whatever comes.
_OVER = frozenset(f"…:;|\\{ENDS_BEFORE_BLANK}{ENDS_ALONE}")


@dataclass(slots=True)
class Span:
    """A piece that is shown whole. `line` and `line_end` are its lines in the document. Not frozen, for speed."""

    start: int
    end: int
    line: int
    line_end: int
    container: Frame | None = None  #: the fence or table that it stands in
    heading: bool = False


#: Start, end and number of a line of prose.
_Line = tuple[int, int, int]


@lru_cache(512)  # the same passages answer many questions
def spans_of(chunk: Chunk) -> Sequence[Span]:
    """The chunk's spans in order. Blank lines are in none, nor are lines that show nothing, such as tags, nor the rules
    above and below titles.
    """
    text, first = chunk.text, 0
    found: list[Span] = []
    paragraph: list[_Line] = []
    for number, line in enumerate(text.split("\n"), chunk.line_start):
        last = first + len(line)
        container = next((frame for frame in chunk.frames if frame.start <= first < frame.end), None)
        shown_from = first
        if container is None:  # of a line that is hidden in part, the rest is shown
            shown_from = next((end for start, end in chunk.unseen if start <= first < end), first)
        is_shown = bool(line.strip()) and (shown_from < last)
        is_title = any(start <= first < end for start, end in chunk.titles)
        if is_shown and container is None and not is_title:
            paragraph.append((shown_from, last, number))
        else:
            if paragraph:
                _add_paragraph(found, text, paragraph)
                paragraph = []
            if is_shown and container is not None:
                found.append(Span(first, last, number, number, container))
            elif is_shown and not _ADORNMENT.match(line):
                _add(found, text, (shown_from, last, number), (shown_from, last, number), heading=True)
        first = last + 1
    if paragraph:
        _add_paragraph(found, text, paragraph)
    return found


def _add_paragraph(found: list[Span], text: str, lines: Sequence[_Line]) -> None:
    """Add what a run of lines of prose is shown by."""
    first = last = lines[0]
    if len(lines) > 1:
        width = max([end - start for start, end, _ in lines])
        full = min(width, _WIDTH) - _RAGGED if width >= _NARROWEST else width * 2
        for line in lines[1:]:
            if text[last[1] - 1] in _OVER or not _goes_on(text, last, line, full):
                _add(found, text, first, last)
                first = line
            last = line
    _add(found, text, first, last)


def _add(found: list[Span], text: str, first: _Line, last: _Line, *, heading: bool = False) -> None:
    """Add the sentences of the lines from the first to the last."""
    (start, _, number), (_, over, _) = first, last
    ends = [cut for match in _SENTENCE_END.finditer(text, start, over) if (cut := match.end()) < over]
    if ends and text[start : ends[0]].strip(" \t>.").isdigit():  # the number of an item belongs to it
        del ends[0]
    for end in (*ends, over):
        behind = start + len(text[start:end].rstrip())
        line_end = number + text.count("\n", start, behind)
        found.append(Span(start, behind, number, line_end, None, heading))
        number = line_end + text.count("\n", behind, end)
        start = text.rfind("\n", behind, end) + 1 or end


def _goes_on(text: str, line: _Line, following: _Line, full: int) -> bool:
    """Whether a line ends where it does only because it was full."""
    (start, end, _), (below, last, _) = line, following
    # the blanks and marks of quotes before a line's text
    margin, own = (line[: len(line) - len(line.lstrip(" \t>"))] for line in (text[start:end], text[below:last]))
    begins = below + len(own)
    word = text.find(" ", begins, last)
    if end - start + 1 + (last if word < 0 else word) - begins <= full or text.endswith("  ", start, end):
        return False
    if own != margin and not (
        len(own) > len(margin) and own.startswith(margin) and _ITEM.match(text, start + len(margin), end)
    ):
        return False
    return not _APART.match(text, begins, last)


CUT = "…"  #: marks what is left out of a sentence, a fence or a table

_BAR = re.compile(r"(?<!\\)\|")
_DELIMITER = re.compile(r"\s*:?-+:?\s*")
_DELIMITING = " --- "
_FENCE_MARKS = "`~ \n"
_CELL = 60  #: characters that a cell may take beside or above the one with the match


def rendered(text: str, shown: Sequence[Span]) -> str:
    """Spans that follow each other as they are shown: with what their fences and tables need around them, and without
    blanks at the ends of lines."""
    first, last = shown[0], shown[-1]
    lines = [text[first.start : first.end]]
    for before, span in pairwise(shown):
        piece, between = text[span.start : span.end], text[before.end : span.start]
        if span.container is before.container and "\n" not in between:
            lines[-1] += between + piece
        else:
            apart = span.container is before.container is None and "\n\n" in between
            lines += ["", piece] if apart else [piece]
    if (container := first.container) is not None and container.opening:
        opening = container.opening
        if first.start < container.opening_end:  # of the opening only what goes before it
            opening = opening[: max(0, first.start - container.start)].rstrip("\n")
        skipped = [_mark(container)] if first.start > container.opening_end + 1 else []
        lines = [*opening.splitlines(), *skipped, *lines]
    if (container := last.container) is not None:
        end = last.end
        if container.kind == "table" and end < container.opening_end:  # a header is one by the rule below it
            lines += container.opening[end - container.start :].strip("\n").splitlines()
            end = container.opening_end
        lines += [_mark(container)] if end < container.closing_start - 1 else []
        lines += [container.closing] if container.closing and end <= container.closing_start else []
    return "\n".join([line.rstrip() for line in lines]).strip("\n")


def _mark(container: Frame) -> str:
    piped = container.kind == "table" and container.opening.lstrip().startswith(("|", "+"))
    return f"| {CUT} |" if piped or (container.kind == "table" and not container.opening) else CUT


class Place(NamedTuple):
    """Where a text says a word of the query, or with less weight one that begins like it."""

    start: int
    end: int
    token: str
    weight: float
    exact: bool


def heaviest(pieces: Sequence[tuple[int, int, Mapping[str, float]]], space: int) -> tuple[int, int] | None:
    """First and last of those pieces that together weigh most within `space` characters, the shortest such run; each
    has its start, its end and the weights of its tokens. None where nothing weighs anything."""
    best, shortest, found = 0.0, 0, None
    for first, (start, _, _) in enumerate(pieces):
        seen: dict[str, float] = {}
        total = repeated = 0.0
        for last, (_, end, weights) in enumerate(pieces[first:], first):
            if end - start > space and last > first:
                break
            for token, weight in weights.items():
                before = seen.get(token, 0.0)
                repeated += min(before, weight)
                total += max(0.0, weight - before)
                seen[token] = max(before, weight)
            rank = round(total + 0.1 * repeated, 9)
            if rank > best or (rank == best and end - start < shortest):
                best, shortest, found = rank, end - start, (first, last)
    return found


def cut_to(shown: str, line: str, container: Frame | None, places: Sequence[Place], ceiling: int) -> str:
    """At most `ceiling` characters of a rendered span: of its line those around the places that together weigh most.

    `shown` is the line with what its fence or table puts around it, `places` are where it says something.
    """
    if container is None:
        return _around(shown, ceiling, _focus(places, ceiling // 2))
    rows = shown.splitlines()
    middle = rows.index(line) if line in rows else max(range(len(rows)), key=lambda number: len(rows[number]))
    start = _length(rows[:middle]) + 1 if middle else 0
    own = [place for place in places if start <= place.start < start + len(rows[middle])]
    focus = _focus([place._replace(start=place.start - start, end=place.end - start) for place in own], ceiling // 2)
    if container.kind == "fence":
        rest = len(shown) - len(rows[middle])
        rows[middle] = _around(rows[middle], max(ceiling - rest, ceiling // 2), focus).rstrip(_FENCE_MARKS)
    elif all(_BAR.search(row) for row in rows):
        rows = _columns(rows, middle, focus, ceiling)
    if _length(rows) > ceiling:
        width = max(1, ceiling // len(rows) - 2 * len(CUT) - 3)
        first = _beginning(max(map(len, rows)), width, focus)
        rows = [_marked(row, first, first + width) for row in rows]
    return "\n".join(rows)[:ceiling]


def _focus(places: Sequence[Place], space: int) -> tuple[int, int]:
    """First and last character of the places that together weigh most among those that fit into the space."""
    best = heaviest([(place.start, place.end, {place.token: place.weight}) for place in places], space)
    return (places[best[0]].start, places[best[1]].end) if best else (0, 0)


def _beginning(length: int, space: int, focus: tuple[int, int]) -> int:
    """Where a window of `space` characters begins: at the front where the focus is in it, else around the focus."""
    if focus[1] <= space:
        return 0
    return max(0, min(focus[0], (focus[0] + focus[1] - space) // 2, length - space))


def _around(text: str, space: int, focus: tuple[int, int]) -> str:
    """The space's worth of text around the focus, cut between words where there are some."""
    if len(text) <= space:
        return text
    space -= 2 * (len(CUT) + 1)
    first = _beginning(len(text), space, focus)
    last = min(len(text), first + space)
    if first and 0 <= (blank := text.find(" ", first, max(first, focus[0]))) < first + space // 2:
        first = blank + 1
    if last < len(text) and (blank := text.rfind(" ", max(first + space // 2, focus[1]), last)) > 0:
        last = blank
    return _marked(text, first, last)


def _marked(text: str, first: int, last: int) -> str:
    """The characters from `first` to `last`, marked where something goes before or after them."""
    first, last = whole_from(text, first), whole_until(text, last)
    piece = text[first:last]
    before = f"{CUT} " if first and text[:first].strip() else ""
    after = f" {CUT}" if text[last:].strip() else ""
    return f"{before}{piece.strip() if before else piece.rstrip()}{after}"


def _columns(rows: Sequence[str], middle: int, focus: tuple[int, int], ceiling: int) -> list[str]:
    """The same columns of every row: that of the focus, the first, and those beside it while there is space."""
    table = [_BAR.split(row.strip().removeprefix("|").removesuffix("|")) for row in rows]
    bars = [bar.end() for bar in _BAR.finditer(rows[middle], 0, focus[0])]
    column = min(len(bars) - rows[middle].lstrip().startswith("|"), len(table[middle]) - 1) if bars else 0
    for number, cells in enumerate(table):
        for at, cell in enumerate(cells):
            if len(cell) > _CELL and (number, at) != (middle, column):
                cells[at] = _DELIMITING if _DELIMITER.fullmatch(cell) else f" {_around(cell.strip(), _CELL, (0, 0))} "
    chosen = {column}
    spare = ceiling - _length(_laid(table, chosen))
    if spare < 0:
        start, cell = bars[-1] if bars else 0, table[middle][column]
        within = max(0, focus[0] - start), max(0, focus[1] - start)
        table[middle][column] = f" {_around(cell, max(20, len(cell) + spare - 2), within).strip()} "
    for other in sorted(range(max(map(len, table))), key=lambda number: (number > 0, abs(number - column))):
        if _length(_laid(table, chosen | {other})) <= ceiling:
            chosen.add(other)
    return _laid(table, chosen)


def _laid(table: Sequence[Sequence[str]], chosen: set[int]) -> list[str]:
    """Each row with the columns that are chosen, and a mark for each run of others."""
    rows = []
    for cells in table:
        mark = _DELIMITING if all(map(_DELIMITER.fullmatch, cells)) else f" {CUT} "
        shown = [
            cell if number in chosen else mark
            for number, cell in enumerate(cells)
            if not number or not chosen.isdisjoint((number, number - 1))
        ]
        rows.append(f"|{'|'.join(shown)}|")
    return rows


def _length(rows: Sequence[str]) -> int:
    return sum(map(len, rows)) + len(rows) - 1
