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
from itertools import pairwise
from statistics import median

from .document_builder import DocumentBuilder, one_line
from .pdf_layout import Line, Word, joined

Outline = dict[int, list[tuple[str, int]]]  #: page (from 0) → titles with their levels

_LARGER = 1.12  #: times the size of the text: a heading
_LONGEST_HEADING = 200  #: characters
_LONGEST_BOLD = 90
_TITLE = 1.5  #: times the size of the text: a heading that may have more lines than others
_MAX_SIZES = 4  #: levels told apart by size
_NEW_PARAGRAPH = 1.3  #: times the usual distance of lines
_INDENT = 0.8  #: of the type size
_REPEATED_SHARE = 0.4  #: of the pages (and at least three), on which a line at the edge is a running head
_EDGE_LINES = 3
_EDGE_GAP = 0.5  #: of the type size
_ITEM = re.compile(r"(?:[•▪◦‣·●○■□–➢✓*\uf0b7]|-(?=\s)|\(?(?:\d{1,3}|[a-zA-Z])[.)](?=\s))\s*(?=\S)")
_BULLET = re.compile(r"[•▪◦‣·●○■□–➢✓*\uf0b7-]\s*")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s+(?=[^\W\d_])")
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_LEADERS = re.compile(r"(?:\s?\.){4,}\s?")
_ENDS = (".", "!", "?", ":", "。", "！", "？", "”", '"', ";")
_SOFT = "\ufffe"


@dataclass(slots=True)
class Page:
    """The lines of a page by column in reading order, words that aren't upright, and what was filled in or noted."""

    regions: list[list[Line]]
    turned: list[str]
    remarks: list[str] = field(default_factory=list)
    readable: int = 0  #: characters
    unreadable: int = 0  #: characters of which their fonts don't say which they are

    @property
    def is_empty(self) -> bool:
        return not (self.regions or self.turned or self.remarks)


@dataclass(slots=True)
class _Sizes:
    """The size of the text, and the sizes of headings with their levels."""

    body: float
    levels: dict[float, int] = field(default_factory=dict)


def write_pages(builder: DocumentBuilder, pages: Sequence[Page], outline: Outline, *, is_titled: bool = False) -> None:
    """Write all pages; running heads are left out, which is noted.

    An outline leaves the title out: unless the file says it (`is_titled`), the largest words of the first page are one.
    """
    sizes = _sizes(pages)
    largest = _LARGER * sizes.body
    repeated = _running_heads(pages, largest)
    spared = math.inf if is_titled else largest  # the title of an article is the head of its further pages
    if repeated:
        builder.notes.append("lines repeated at the edges of pages are left out")
    first = [line.size for region in pages[0].regions for line in region] if pages and not is_titled else []
    writer = _Writer(builder, sizes, outline, _compounds(pages), max(first, default=0.0))
    for number, page in enumerate(pages):
        edges = _edges(page)
        lines = [
            [line for line in region if line.size >= spared or id(line) not in edges or _shape(line) not in repeated]
            for region in page.regions
        ]
        writer.page(number, [region for region in lines if region], page)
    writer.close()


def _edges(page: Page) -> set[int]:
    """The first and last lines of a page by position, as far as white space parts them from the others."""
    lines = sorted((line for region in page.regions for line in region), key=lambda line: line.top)
    found: set[int] = set()
    for order in (lines, lines[::-1]):
        for place, (line, inner) in enumerate(pairwise(order[: _EDGE_LINES + 1]), start=1):
            if max(inner.top - line.bottom, line.top - inner.bottom) > _EDGE_GAP * line.size:
                found.update(map(id, order[:place]))
    return found


def _shape(line: Line) -> str:
    return _DIGITS.sub("#", line.text.lower())


def _running_heads(pages: Sequence[Page], largest: float) -> frozenset[str]:
    """What stands at the edge of many pages, in type no larger than `largest`: chapters' titles aren't meant."""
    counts: Counter[str] = Counter()
    for page in pages:
        edges = _edges(page)
        counts.update(
            {_shape(line) for region in page.regions for line in region if id(line) in edges and line.size < largest}
        )
    least = max(3.0, _REPEATED_SHARE * len(pages))
    return frozenset(shape for shape, count in counts.items() if count >= least)


def _sizes(pages: Sequence[Page]) -> _Sizes:
    characters: Counter[float] = Counter()
    for page in pages:
        for region in page.regions:
            for line in region:
                characters[line.size] += len(line.text)
    body = max(characters, key=lambda size: characters[size], default=10.0)
    levels: dict[float, int] = {}
    before = level = 0.0
    for size in sorted((size for size in characters if size >= _LARGER * body), reverse=True):
        if not before or size < before * 0.93:
            level, before = min(level + 1, _MAX_SIZES), size
        levels[size] = int(level)
    return _Sizes(body, levels)


def _compounds(pages: Sequence[Page]) -> frozenset[str]:
    """Words that are written with a hyphen inside a line."""
    found: set[str] = set()
    for page in pages:
        for region in page.regions:
            for line in region:
                found.update(
                    word.text.strip(".,;:()").lower()
                    for word in line.words
                    if "-" in word.text[1:-1] and len(word.text) < 60
                )
    return frozenset(found)


class _Writer:
    def __init__(
        self, builder: DocumentBuilder, sizes: _Sizes, outline: Outline, compounds: frozenset[str], cover: float
    ) -> None:
        self._out = builder
        self._sizes = sizes
        self._outline = outline
        self._compounds = compounds
        self._cover = cover  # the size of a title on the first page
        self._open = ""  # a paragraph that may go on in the next column or page
        self._pages_due = 0
        self._shift = 0  # of the outline's levels, where a title stands above them

    def page(self, number: int, regions: list[list[Line]], page: Page) -> None:
        titles = {_key(title): level for title, level in self._outline.get(number, ())}
        if self._open:
            self._pages_due += 1
        else:
            self._out.page()
        self._cover = 0.0 if number else self._cover
        for region in regions:
            self._region(region, titles)
        if page.turned:
            self._end()
            self._out.paragraph(" ".join(page.turned))
        for words in page.remarks:
            self._end()
            self._out.paragraph(words)

    def close(self) -> None:
        self._end()

    def _end(self, words: str = "") -> None:
        """Write the open paragraph; `words` opens the next."""
        if self._open:
            self._out.paragraph(_LEADERS.sub(" … ", self._open))
        for _ in range(self._pages_due):
            self._out.page()
        self._pages_due = 0
        self._open = words

    def _region(self, lines: list[Line], titles: dict[str, int]) -> None:
        steps = [after.top - before.top for before, after in pairwise(lines)]
        step = median([value for value in steps if value > 0] or [0.0])
        edge = min(line.left for line in lines)
        place = 0
        while place < len(lines):
            if (end := _table_end(lines, place)) > place:
                self._end()
                self._out.table(_table(lines[place:end]))
            elif (end := self._heading(lines, place, titles)) > place:
                pass
            elif lines[place].mono and lines[place].text.strip():
                end = place + 1
                while end < len(lines) and lines[end].mono:
                    end += 1
                self._end()
                self._out.fence("\n".join(_code_line(line, edge) for line in lines[place:end]))
            else:
                end = self._paragraph(lines, place, step)
            place = end

    def _heading(self, lines: list[Line], place: int, titles: dict[str, int]) -> int:
        """Write the heading that begins at `place`; the line after it, or `place` where there is none."""
        line = lines[place]
        end = place + 1
        longest = 5 if line.size >= _TITLE * self._sizes.body else 3
        while (
            end < len(lines) and end - place < longest and lines[end].size == line.size and lines[end].bold == line.bold
            and lines[end].top - lines[end - 1].bottom < 0.6 * line.size
        ):  # fmt: skip
            end += 1
        for last in range(end, place, -1):
            words = self._joined(lines[place:last])
            level = titles.get(_key(words), 0)
            if not level and (numbered := _NUMBERED.match(words)):
                level = titles.get(_key(words[numbered.end() :]), 0)
            if level:
                return self._write_heading(level + self._shift, words, last)
        words = self._joined(lines[place:end])
        if not any(char.isalpha() for char in words):
            return place
        level = self._sizes.levels.get(line.size, 0)
        is_title = self._outline and not self._out.has_headings and (level == 1 or (level and line.size == self._cover))
        if is_title and len(words) <= _LONGEST_HEADING:
            self._shift = 1  # a title, which outlines leave out
            return self._write_heading(1, words, end)
        if level and not self._outline and len(words) <= _LONGEST_HEADING:
            return self._write_heading(level, words, end)
        if line.bold and not self._outline and end - place <= 2 and len(words) <= _LONGEST_BOLD:
            numbered = _NUMBERED.match(words)
            deepest = max(self._sizes.levels.values(), default=0)
            if numbered:
                return self._write_heading(max(deepest, 1) + numbered.group(1).count("."), words, end)
            alone = place == 0 or line.top - lines[place - 1].bottom > 0.3 * line.size
            if alone and not words.endswith((".", ",", ";", ":")) and line.size >= self._sizes.body:
                return self._write_heading(deepest + 1, words, end)
        return place

    def _write_heading(self, level: int, words: str, end: int) -> int:
        self._end()
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
            self._end()
            bullet = _BULLET.match(mark.group())
            self._out.item(words[mark.end() :], 0, "-" if bullet else mark.group().strip())
        else:
            self._end(words)
        return end

    def _joined(self, lines: Sequence[Line]) -> str:
        words = ""
        for line in lines:
            words = self._join(words, line.text) if words else line.text
        return words.rstrip(_SOFT) + ("-" if words.endswith(_SOFT) else "")

    def _join(self, before: str, after: str) -> str:
        """Two lines as one, a word that was parted made whole."""
        if before.endswith((_SOFT, "-", "\xad", "‐")) and len(before) > 1 and before[-2].isalpha():
            head, tail = before[:-1].rpartition(" ")[2], after.partition(" ")[0]
            if tail[:1].islower() and f"{head}-{tail}".strip(".,;:()").lower() not in self._compounds:
                return before[:-1] + after
            return before[:-1] + "-" + after
        if before and after and _is_spaceless(before[-1]) and _is_spaceless(after[0]):
            return before + after
        return f"{before.replace(_SOFT, '-')} {after}"


def _breaks(lines: list[Line], place: int, step: float) -> bool:
    """Whether a new paragraph begins with the line at `place`."""
    before, line = lines[place - 1], lines[place]
    if line.top - before.top > _NEW_PARAGRAPH * step + 0.1:
        return True
    return (
        abs(line.size - before.size) > 0.1 * before.size
        or line.mono != before.mono
        or (line.bold and not before.bold)
        or _ITEM.match(line.text) is not None
        or (line.left - before.left > _INDENT * line.size and before.text.endswith(_ENDS))
        or _table_end(lines, place) > place
    )


def _is_spaceless(char: str) -> bool:
    return "\u3000" <= char <= "\u9fff" or "\uff00" <= char <= "\uffef"


def _key(words: str) -> str:
    """Words as compared with the outline: letters and digits alone."""
    return "".join(char for char in words.lower() if char.isalnum())


def _table_end(lines: Sequence[Line], place: int) -> int:
    """The line after the table that begins at `place`, or `place`: rows of several cells that stand in columns."""
    if len(lines[place].words) < 2 or len(lines[place].cells()) < 2 or lines[place].mono:
        return place
    end = place
    while end < len(lines):
        line = lines[end]
        if end > place and line.top - lines[end - 1].bottom > 2.5 * line.size:
            break
        if len(line.cells()) < 2 and not (end > place and _continues_cell(lines[place:end], line)):
            break
        end += 1
    rows = [line for line in lines[place:end] if len(line.cells()) > 1]
    if len(rows) < 2 or _ITEM.match(lines[place].cells()[0][0].text + " x"):
        return place
    columns = _columns(rows)
    return end if len(columns) > 1 else place


def _continues_cell(above: Sequence[Line], line: Line) -> bool:
    """Whether a line of one cell is the rest of a cell to the right of the first column."""
    first_end = max(_span(row.cells()[0])[1] for row in above if len(row.cells()) > 1)
    return line.left > first_end and line.top - above[-1].bottom < 0.5 * line.size


def _columns(rows: Sequence[Line]) -> list[tuple[float, float]]:
    """The stretches that the cells of some rows cover together."""
    spans = sorted(_span(cell) for row in rows for cell in row.cells())
    columns = [spans[0]]
    for left, right in spans[1:]:
        if left <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    return columns


def _span(cell: Sequence[Word]) -> tuple[float, float]:
    return min(word.left for word in cell), max(word.right for word in cell)


def _table(lines: Sequence[Line]) -> list[list[str]]:
    columns = _columns([line for line in lines if len(line.cells()) > 1])
    rows: list[list[str]] = []
    for line in lines:
        cells = [""] * len(columns)
        for cell in line.cells():
            place = next((n for n, (_, right) in enumerate(columns) if _span(cell)[0] <= right), len(columns) - 1)
            cells[place] = one_line(f"{cells[place]} {_text(cell)}")
        if rows and len(line.cells()) == 1:
            rows[-1] = [one_line(f"{above} {cell}") for above, cell in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    return rows


def _text(words: Sequence[Word]) -> str:
    return joined(words).replace(_SOFT, "-")


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
