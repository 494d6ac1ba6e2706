"""What the lines of a PDF's pages are: headings, paragraphs, items, tables, code, or heads repeated on each page.

Nothing in a PDF says so; it is read from type sizes, weights, gaps and positions, and from the outline where there is
one. Words parted by a hyphen at a line's end are joined, paragraphs go on over columns and pages.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from statistics import median

from .document_builder import DocumentBuilder, one_line
from .pdf_layout import Line
from .visual_headings import NUMBERED, VisualHeadings

Outline = dict[int, list[tuple[str, int]]]  #: page (from 0) → titles with their levels

_TITLE = 1.5  #: times the size of the text: a heading that may have more lines than others
_NEW_PARAGRAPH = 1.3  #: times the usual distance of lines
_INDENT = 0.8  #: of the type size
_REPEATED_SHARE = 0.4  #: of the pages (and at least three), on which a line at the edge is a running head
_EDGE_LINES = 3
_EDGE_GAP = 0.5  #: of the type size
_ITEM = re.compile(r"(?:[•▪◦‣·●○■□–➢✓*\uf0b7]|-(?=\s)|\(?(?:\d{1,3}|[a-zA-Z])[.)](?=\s))\s*(?=\S)")
_BULLET = re.compile(r"[•▪◦‣·●○■□–➢✓*\uf0b7-]\s*")
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_LEADERS = re.compile(r"(?:\s?\.){4,}\s?")
_ENDS = (".", "!", "?", ":", "。", "！", "？", "”", '"', ";")
_SOFT = "\ufffe"


@dataclass(slots=True)
class Page:
    """The lines of a page by column in reading order, words that aren't upright, and what was filled in or noted."""

    regions: list[list[Line]] = field(default_factory=list)
    turned: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    readable: int = 0  #: characters
    unreadable: int = 0  #: characters of which their fonts don't say which they are
    holds_objects: bool = False
    is_broken: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.regions or self.turned or self.remarks)

    @property
    def lines(self) -> list[Line]:
        return [line for region in self.regions for line in region]


def _edges(page: Page) -> set[Line]:
    """The first and last lines of a page by position, as far as white space parts them from the others."""
    lines = sorted(page.lines, key=lambda line: line.top)
    found: set[Line] = set()
    for order in (lines, lines[::-1]):
        for place, (line, inner) in enumerate(pairwise(order[: _EDGE_LINES + 1]), start=1):
            if max(inner.top - line.bottom, line.top - inner.bottom) > _EDGE_GAP * line.size:
                found.update(order[:place])
    return found


def _shape(line: Line) -> str:
    return _DIGITS.sub("#", line.text.lower())


class PageWriter:
    """Writes all pages; running heads are left out, which is noted.

    An outline leaves the title out: unless the file says it (`is_titled`), the largest words of the first page are one.
    """

    def __init__(self, out: DocumentBuilder, pages: Sequence[Page], outline: Outline, *, is_titled: bool) -> None:
        self._out, self._pages, self._outline = out, pages, outline
        lines = [line for page in pages for line in page.lines]
        self._looks = VisualHeadings((line.size, line.bold, len(line.text)) for line in lines)
        words = (word.text for line in lines for word in line.words if "-" in word.text[1:-1] and len(word.text) < 60)
        self._compounds = {word.strip(".,;:()").lower() for word in words}  # written with a hyphen inside a line
        first = pages[0].lines if pages and not is_titled else []
        self._cover = max((line.size for line in first), default=0.0)  # the size of a title on the first page
        # The title of an article is the head of its further pages; titles of chapters are none.
        self._largest_head = math.inf if is_titled else self._looks.larger
        self._edges = list(map(_edges, pages))
        counts: Counter[str] = Counter()
        for edges in self._edges:
            counts.update({_shape(line) for line in edges if line.size < self._looks.larger})
        self._heads = {shape for shape, count in counts.items() if count >= max(3.0, _REPEATED_SHARE * len(pages))}
        if self._heads:
            out.notes.append("lines repeated at the edges of pages are left out")
        self._open = ""  # a paragraph that may go on in the next column or page
        self._pages_due = 0
        self._shift = 0  # of the outline's levels, where a title stands above them

    def write(self) -> None:
        """Write the pages."""
        for number, page in enumerate(self._pages):
            self._page(number, page)
        self._end_paragraph()

    def _page(self, number: int, page: Page) -> None:
        titles = {_key(title): level for title, level in self._outline.get(number, ())}
        if self._open:
            self._pages_due += 1
        else:
            self._out.page()
        self._cover = 0.0 if number else self._cover
        edges = self._edges[number]
        heads = {line for line in edges if line.size < self._largest_head and _shape(line) in self._heads}
        for region in page.regions:
            if lines := [line for line in region if line not in heads]:
                self._region(lines, titles)
        for words in (" ".join(page.turned), *page.remarks):
            if words:
                self._end_paragraph()
                self._out.paragraph(words)

    def _end_paragraph(self, words: str = "") -> None:
        """Write the open paragraph; `words` opens the next."""
        if self._open:
            self._out.paragraph(_LEADERS.sub(" … ", self._open))
        for _ in range(self._pages_due):
            self._out.page()
        self._pages_due = 0
        self._open = words

    def _region(self, lines: list[Line], titles: dict[str, int]) -> None:
        step = median([after.top - before.top for before, after in pairwise(lines) if after.top > before.top] or [0.0])
        edge = min(line.left for line in lines)
        place = 0
        while place < len(lines):
            end, rows = _table(lines, place)
            if rows:
                self._end_paragraph()
                self._out.table(rows)
            elif (end := self._heading(lines, place, titles)) > place:
                pass
            elif lines[place].mono and lines[place].text.strip():
                self._end_paragraph()
                for line in takewhile(lambda line: line.mono, lines[place:]):
                    self._out.code_line(_code_line(line, edge))
                    end += 1
            else:
                end = self._paragraph(lines, place, step)
            place = end

    def _heading(self, lines: list[Line], place: int, titles: dict[str, int]) -> int:
        """Write the heading that begins at `place`; the line after it, or `place` where there is none."""
        line, end = lines[place], place + 1
        longest = 5 if line.size >= _TITLE * self._looks.text_size else 3
        while (
            end < len(lines) and end - place < longest and lines[end].size == line.size and lines[end].bold == line.bold
            and lines[end].top - lines[end - 1].bottom < 0.6 * line.size
        ):  # fmt: skip
            end += 1
        for last in range(end, place, -1):
            words = self._joined(lines[place:last])
            if level := titles.get(_key(words)) or titles.get(_key(NUMBERED.sub("", words))):
                return self._write_heading(level + self._shift, words, last)
        words = self._joined(lines[place:end])
        is_bold = line.bold and end - place <= 2 and not self._outline
        is_apart = place == 0 or line.top - lines[place - 1].bottom > 0.3 * line.size
        level = self._looks.level(words, line.size, is_bold=is_bold, is_apart=is_apart)
        if level and self._outline:  # which leaves the title out
            level = int(not self._out.has_headings and (level == 1 or line.size == self._cover))
            self._shift = max(self._shift, level)
        return self._write_heading(level, words, end) if level else place

    def _write_heading(self, level: int, words: str, end: int) -> int:
        self._end_paragraph()
        self._out.heading(level, _LEADERS.sub(" … ", words))
        return end

    def _paragraph(self, lines: list[Line], place: int, step: float) -> int:
        """Take the lines of the paragraph that begins at `place`."""
        end = place + 1
        while end < len(lines) and not _breaks(lines, end, step):
            end += 1
        words = self._joined(lines[place:end])
        if place == 0 and self._open and not self._open.endswith(_ENDS) and words[:1].islower():
            self._open = self._join(self._open, words)  # goes on from the column or page before
        elif (mark := _ITEM.match(words)) and len(words) > mark.end():
            self._end_paragraph()
            bullet = _BULLET.match(mark.group())
            self._out.item(words[mark.end() :], 0, "-" if bullet else mark.group().strip())
        else:
            self._end_paragraph(words)
        return end

    def _joined(self, lines: Sequence[Line]) -> str:
        words = lines[0].text
        for line in lines[1:]:
            words = self._join(words, line.text)
        return words.rstrip(_SOFT) + ("-" if words.endswith(_SOFT) else "")

    def _join(self, before: str, after: str) -> str:
        """Two lines as one, a word that was parted made whole."""
        if before.endswith((_SOFT, "-", "\xad", "‐")) and len(before) > 1 and before[-2].isalpha():
            head, tail = before[:-1].rpartition(" ")[2], after.partition(" ")[0]
            is_whole = tail[:1].islower() and f"{head}-{tail}".strip(".,;:()").lower() not in self._compounds
            return f"{before[:-1]}{'' if is_whole else '-'}{after}"
        if before and after and _is_spaceless(before[-1]) and _is_spaceless(after[0]):
            return before + after
        return f"{before.replace(_SOFT, '-')} {after}"


def _breaks(lines: list[Line], place: int, step: float) -> bool:
    """Whether a new paragraph begins with the line at `place`."""
    before, line = lines[place - 1], lines[place]
    return (
        line.top - before.top > _NEW_PARAGRAPH * step + 0.1
        or abs(line.size - before.size) > 0.1 * before.size
        or line.mono != before.mono
        or (line.bold and not before.bold)
        or _ITEM.match(line.text) is not None
        or (line.left - before.left > _INDENT * line.size and before.text.endswith(_ENDS))
        or bool(_table(lines, place)[1])
    )


def _is_spaceless(char: str) -> bool:
    return "\u3000" <= char <= "\u9fff" or "\uff00" <= char <= "\uffef"


def _key(words: str) -> str:
    """Words as compared with the outline: letters and digits alone."""
    return "".join(char for char in words.lower() if char.isalnum())


def _table(lines: Sequence[Line], place: int) -> tuple[int, list[list[str]]]:
    """The line behind the table that begins at `place`, and its rows; none where it isn't one.

    It has rows of several cells that stand in columns. A line of one cell right of the first column goes on with it.
    """
    found: list[list[Line]] = []
    end, first_end = place, 0.0
    while end < len(lines) and not lines[place].mono:
        line, gap = lines[end], lines[end].top - lines[end - 1].bottom if found else 0.0
        cells = line.parted()
        goes_on = found and line.left > first_end and gap < 0.5 * line.size
        if gap > 2.5 * line.size or not (len(cells) > 1 or goes_on):
            break
        if len(cells) > 1:
            first_end = max(first_end, cells[0].right)
        found.append(cells)
        end += 1
    rows = [cells for cells in found if len(cells) > 1]
    if len(rows) < 2 or _ITEM.match(found[0][0].text + " x"):
        return place, []
    columns = _columns(rows)
    table: list[list[str]] = []
    for cells in found:
        row = table[-1] if table and len(cells) == 1 else [""] * len(columns)
        for cell in cells:
            column = next((n for n, right in enumerate(columns) if cell.left <= right), len(columns) - 1)
            row[column] = one_line(f"{row[column]} {cell.text.replace(_SOFT, '-')}")
        if len(cells) > 1:
            table.append(row)
    return (end, table) if len(columns) > 1 else (place, [])


def _columns(rows: Sequence[Sequence[Line]]) -> list[float]:
    """Where the stretches end that the cells of some rows cover together."""
    ends: list[float] = []
    for left, right in sorted((cell.left, cell.right) for row in rows for cell in row):
        if ends and left <= ends[-1]:
            ends[-1] = max(ends[-1], right)
        else:
            ends.append(right)
    return ends


def _code_line(line: Line, edge: float) -> str:
    """A line of code with its indentation, from the width of its characters."""
    first = line.words[0]
    width = (first.right - first.left) / max(1, len(first.text)) or 1.0
    pieces = [" " * min(80, max(0, round((first.left - edge) / width)))]
    reached = first.left
    for word in line.words:
        if word is not first:
            pieces.append(" " * min(80, max(1, round((word.left - reached) / width))))
        pieces.append(word.text)
        reached = word.right
    return "".join(pieces).replace(_SOFT, "-")
