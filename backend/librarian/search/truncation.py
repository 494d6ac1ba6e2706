"""Chunks taken apart into spans, which are shown or left out as a whole, and windows of these rendered and cut.

A span is a sentence, a line of code or a row of a table. A sentence of prose that was wrapped at some width runs over
line ends; lines that end where there was space for more, as verses and settings do, are spans of their own. A span that
is too long to be shown is cut around its match and marked: a line of prose or of minified code keeps what surrounds the
match; a row of a wide table its first column, the cell with the match, and the cells beside it.

Offsets are characters into the chunk's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ..models import Chunk, Frame
from ..text.characters import ENDS_ALONE, ENDS_BEFORE_BLANK, whole_from, whole_until

#: A span longer than this is cut between words.
LONGEST = 240

#: A line is wrapped where its end and the next one's first word would have come so near to the width that texts are
#: wrapped at: that of the paragraph's longest line, at least 50 and at most 78 characters.
_RAGGED, _NARROWEST, _WIDTH = 8, 50, 78

#: Its first letter is told apart only behind the set of all: by that set `re` skips what can't begin an end.
_SENTENCE_END = re.compile(
    rf"[{ENDS_BEFORE_BLANK}…{ENDS_ALONE}](?:"
    rf"(?<=[{ENDS_BEFORE_BLANK}…])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)[\"'”’)\]»]*\s+"
    rf"|(?<=[{ENDS_ALONE}])[」』）】”’]*)"
)
_LINK = re.compile(r"\[\[[^\[\]\n]*\]\]|\[[^\[\]]*\]\([^()\s]*\)")
_ADORNMENT = re.compile(r"[ \t>]*([^\w\s])\1*[ \t]*$")
_MARGINS = frozenset(" \t>")
_MARGIN = re.compile(r"[ \t>]*")
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
    text = chunk.text
    found: list[Span] = []
    paragraph: list[_Line] = []
    containers, titles, never = iter(chunk.frames), iter(chunk.titles), (len(text), len(text) + 1)
    hidden = iter(chunk.unseen)
    container, title, unseen = next(containers, None), next(titles, never), next(hidden, never)
    first = 0
    for number, line in enumerate(text.split("\n"), chunk.line_start):
        last = first + len(line)
        kind = "nothing"
        if line and not line.isspace():
            while container is not None and container.end <= first:
                container = next(containers, None)
            while title[1] <= first:
                title = next(titles, never)
            while unseen[1] <= first:
                unseen = next(hidden, never)
            if container is not None and container.start <= first:
                kind = "container"
            elif unseen[0] > first or last > unseen[1]:
                kind = "prose" if title[0] > first else "title"
                if unseen[0] <= first < unseen[1]:
                    first = unseen[1]
        if kind == "prose":
            paragraph.append((first, last, number))
        else:
            if paragraph:
                _add_paragraph(found, text, paragraph)
                paragraph = []
            if kind == "container":
                found.append(Span(first, last, number, number, container))
            elif kind == "title" and not _ADORNMENT.match(line):
                _add(found, text, (first, last, number), (first, last, number), heading=True)
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
    (start, _, number), (_, over, to) = first, last
    if number == to:
        for end in _sentence_ends(text, start, over):
            found.append(Span(start, end, number, number, None, heading))
            start = end
        found.append(Span(start, over, number, number, None, heading))
        return
    for end in _sentence_ends(text, start, over):
        behind = start + len(text[start:end].rstrip())
        line_end = number + text.count("\n", start, behind)
        found.append(Span(start, behind, number, line_end))
        number = line_end + text.count("\n", behind, end)
        start = text.rfind("\n", behind, end) + 1 or end
    found.append(Span(start, start + len(text[start:over].rstrip()), number, to))


def _goes_on(text: str, line: _Line, following: _Line, full: int) -> bool:
    """Whether a line ends where it does only because it was full."""
    (start, end, _), (below, last, _) = line, following
    margin = _margin(text, start, end) if text[start] in _MARGINS else ""
    own = _margin(text, below, last) if text[below] in _MARGINS else ""
    begins = below + len(own)
    word = text.find(" ", begins, last)
    if end - start + 1 + (last if word < 0 else word) - begins <= full or text.endswith("  ", start, end):
        return False
    if own != margin and not (
        len(own) > len(margin) and own.startswith(margin) and _ITEM.match(text, start + len(margin), end)
    ):
        return False
    return not _APART.match(text, begins, last)


def _margin(text: str, start: int, end: int) -> str:
    """The blanks and marks of quotes before a line's text."""
    match = _MARGIN.match(text, start, end)
    return match.group() if match else ""


def _sentence_ends(text: str, start: int, end: int) -> list[int]:
    """Where prose is cut: behind each sentence but the last; very long ones between words."""
    cuts = [cut for match in _SENTENCE_END.finditer(text, start, end) if (cut := match.end()) < end]
    if cuts and text[start : cuts[0]].strip(" \t>.").isdigit():  # the number of an item belongs to it
        del cuts[0]
    if end - start <= LONGEST:
        return cuts
    all_cuts = []
    links = [match.span() for match in _LINK.finditer(text, start, end)]
    for last in (*cuts, end):
        while last - start > LONGEST:
            cut = _blank(text, start + LONGEST // 2, start + LONGEST, links)
            start = cut + 1 if cut > 0 else max(start + 1, whole_until(text, start + LONGEST))
            all_cuts.append(start)
        if last < end:
            all_cuts.append(last)
        start = last
    return all_cuts


def _blank(text: str, first: int, last: int, links: Sequence[tuple[int, int]]) -> int:
    """The last blank between two offsets that stands in no link; where there is none, the last; else -1."""
    found = cut = max(text.rfind(blank, first, last) for blank in " \n")
    while cut >= 0:
        opening = next((start for start, end in links if start < cut < end), -1)
        if opening < 0:
            return cut
        cut = max(text.rfind(blank, first, opening) for blank in " \n") if opening > first else -1
    return found


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


def cut_to(shown: str, line: str, container: Frame | None, places: Iterable[Place], ceiling: int) -> str:
    """At most `ceiling` characters of a rendered unit: of its line those around the places that together weigh most.

    `shown` is the line with what its fence or table puts around it, `places` are where it says something.
    """
    rows = shown.splitlines()
    middle = rows.index(line) if line in rows else max(range(len(rows)), key=lambda number: len(rows[number]))
    start = _length(rows[:middle]) + 1 if middle else 0
    own = sorted((place for place in places if start <= place.start < start + len(rows[middle])), key=_place)
    focus = _focus([Place(place.start - start, place.end - start, place.tokens) for place in own], ceiling // 2)
    if container is None:
        return _around(shown, ceiling, focus)
    if container.kind == "fence":
        rest = len(shown) - len(rows[middle])
        rows[middle] = _around(rows[middle], max(ceiling - rest, ceiling // 2), focus).rstrip(_FENCE_MARKS)
    elif all(_BAR.search(row) for row in rows):
        rows = _columns(rows, middle, focus, ceiling)
    else:
        width = max(20, ceiling // len(rows) - 2 * len(CUT) - 3)
        first = _beginning(max(map(len, rows)), width, focus)
        rows = [_marked(row, first, first + width) for row in rows]
    return "\n".join(rows) if _length(rows) <= ceiling else _evenly(rows, ceiling)


def _place(place: Place) -> tuple[int, int]:
    return place.start, place.end


def _focus(places: Sequence[Place], space: int) -> tuple[int, int]:
    """First and last character of the places that together weigh most among those that fit into the space."""
    best, found = 0.0, (0, 0)
    for number, first in enumerate(places):
        seen: dict[str, float] = {}
        for place in places[number:]:
            if place.end - first.start > max(space, first.end - first.start):
                break
            seen.update({token: max(weight, seen.get(token, 0.0)) for token, weight in place.tokens.items()})
            weight = sum(seen.values())
            if weight > best:
                best, found = weight, (first.start, place.end)
    return found


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
    spans = _cells(rows[middle])
    column = next((number for number, (_, end) in enumerate(spans) if end > focus[0]), len(spans) - 1)
    table = [[row[start:end] for start, end in _cells(row)] for row in rows]
    for number, cells in enumerate(table):
        if number == middle or column >= len(cells):
            continue
        if _DELIMITER.fullmatch(cells[column]):
            cells[column] = _DELIMITING
        elif len(cells[column]) > _HEADER_CELL:
            cells[column] = f" {_around(cells[column].strip(), _HEADER_CELL, (0, 0))} "
    chosen = {column}
    spare = ceiling - _length(_laid(table, chosen))
    if spare < 0:
        start, end = spans[column]
        within = (max(0, focus[0] - start), max(0, focus[1] - start))
        table[middle][column] = (
            f" {_around(rows[middle][start:end], max(20, end - start + spare - 2), within).strip()} "
        )
    width = max(map(len, table))
    for other in (0, *(side for step in range(1, width) for side in (column + step, column - step))):
        if 0 <= other < width and _length(_laid(table, chosen | {other})) <= ceiling:
            chosen.add(other)
    return _laid(table, chosen)


def _cells(row: str) -> list[tuple[int, int]]:
    """Where a row's cells begin and end, without the bars around them."""
    inner = row.strip()
    first = row.index(inner) + inner.startswith("|")
    last = len(row.rstrip()) - (inner.endswith("|") and not inner.endswith("\\|"))
    bars = [bar.start() for bar in _BAR.finditer(row, first, last)]
    return list(zip([first, *(bar + 1 for bar in bars)], [*bars, last], strict=True))


def _length(rows: Sequence[str]) -> int:
    return sum(map(len, rows)) + len(rows) - 1


def _laid(table: Sequence[Sequence[str]], chosen: set[int]) -> list[str]:
    """Each row with the columns that are chosen, and a mark for each run of others."""
    width = max(map(len, table))
    rows = []
    for cells in table:
        if [cell.strip() for cell in cells] == [CUT]:
            rows.append(f"| {CUT} |")
            continue
        delimiting = all(_DELIMITER.fullmatch(cell) for cell in cells)
        shown, left_out = [], False
        for column in range(width):
            if column in chosen:
                shown.append(cells[column] if column < len(cells) else " ")
            elif not left_out:
                shown.append(_DELIMITING if delimiting else f" {CUT} ")
            left_out = column not in chosen
        rows.append(f"|{'|'.join(shown)}|")
    return rows


def _evenly(rows: Sequence[str], ceiling: int) -> str:
    """What is left where the rows around the match take all the space: the front of each."""
    width = max(1, ceiling // len(rows) - len(CUT) - 2)
    return "\n".join(_marked(row, 0, width) for row in rows)[:ceiling]


#: In place of where in the chunk a part begins: it isn't from there, but was added.
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
    """First and last span of a window → how it is shown, computed on first use."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        super().__init__()
        self._text, self._spans = text, spans

    def __missing__(self, window: tuple[int, int]) -> Rendering:
        first, last = window
        parts = _parts(self._text, self._spans[first : last + 1])
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
    container: Frame | None = None
    for piece in shown:
        between = text[end : piece.start]
        if piece.container is container and (
            "\n" not in between
            or (between in (_BETWEEN_LINES if container is None else _BETWEEN_ROWS) and not text[end - 1].isspace())
        ):
            end = piece.end
            continue
        if end > start:
            parts.append((start, text[start:end].rstrip()))
        if piece.container is not container:
            parts += [(ADDED, line.rstrip()) for line in (*_left(container, end), *_entered(piece))]
            container = piece.container
        elif container is None and "\n\n" in between:
            parts.append((ADDED, ""))
        start, end = piece.start, piece.end
    parts.append((start, text[start:end].rstrip()))
    parts += [(ADDED, line.rstrip()) for line in _left(container, end)]
    return parts


def _entered(piece: Span) -> list[str]:
    """What goes before a fence's or table's first shown unit."""
    container = piece.container
    if container is None or not container.opening:
        return []
    if piece.start < container.opening_end:  # of the opening only what goes before it
        return container.opening[: max(0, piece.start - container.start)].rstrip("\n").splitlines()
    skipped = piece.start > container.opening_end + 1
    return [*container.opening.splitlines(), *([_mark(container)] if skipped else [])]


def _left(container: Frame | None, end: int) -> list[str]:
    """What goes after a fence's or table's last shown unit."""
    if container is None:
        return []
    parts = []
    if container.kind == "table" and end < container.opening_end:  # a header is one by the rule below it
        parts += container.opening[end - container.start :].strip("\n").splitlines()
        end = container.opening_end
    if end < container.closing_start - 1:
        parts.append(_mark(container))
    if container.closing and end <= container.closing_start:
        parts.append(container.closing)
    return parts


def _mark(container: Frame) -> str:
    piped = container.kind == "table" and container.opening.lstrip().startswith(("|", "+"))
    return f"| {CUT} |" if piped or (container.kind == "table" and not container.opening) else CUT
