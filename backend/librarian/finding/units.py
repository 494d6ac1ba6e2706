"""A passage taken apart into what may be shown or left out as a whole: sentences, lines of code, rows of a table.

Offsets are characters into the document's text, so that a fence or table that began before the passage is known.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Literal, NamedTuple

from librarian.vocabulary.types import Block, Chunk, Document

#: A unit longer than this is cut between words.
LONGEST = 240

_start, _end = attrgetter("start"), attrgetter("end")
_LINE = re.compile(r"[^\n]+")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]")
_FENCE = re.compile(r"^(?P<lead>[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?[ \t]*)(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)$")
_MARKS = ("```", "~~~")
_ADORNMENT = re.compile(r"[ \t>]*([^\w\s])\1*[ \t]*$")


@dataclass(frozen=True, slots=True)
class Frame:
    """A fence or table: what must stand around any part of it that is shown.

    `opening` is a fence's opening line or a table's header rows, `closing` a fence's closing line (tables have none).
    """

    kind: Literal["fence", "table"]
    start: int
    end: int
    opening: str
    opening_end: int  #: units that end up to here belong to the opening
    closing: str = ""
    closing_start: int = 0  #: units that start from here are the closing line


class Unit(NamedTuple):
    """A piece that is shown whole. `line` is its line in the document, 1-based."""

    start: int
    end: int
    line: int
    frame: Frame | None = None
    heading: bool = False


def units(chunk: Chunk, document: Document) -> list[Unit]:
    """The passage's pieces in order. Blank lines are in none, nor are the rules above and below titles: shown without
    their title they say nothing, and a reader of Markdown takes one of tildes for a fence.
    """
    text = document.text
    if text[chunk.start : chunk.end] != chunk.text:
        # The text wasn't at hand: the passage alone must do.
        text, start, end = chunk.text, 0, len(chunk.text)
        blocks: tuple[Block, ...] = ()
    else:
        blocks, start, end = document.blocks, chunk.start, chunk.end
    # Blocks are in order and don't overlap: those that touch the passage stand side by side.
    touching = blocks[bisect_right(blocks, start, key=_end) : bisect_left(blocks, end, key=_start)]
    frames = list(_frames(text, touching) if blocks else _fences(text, 0, end))
    headings = [block for block in touching if block.kind == "heading"]
    found: list[Unit] = []
    line, behind, coming = chunk.line_start, start, 0
    for match in _LINE.finditer(text, start, end):
        first, last = match.span()
        line += first - behind  # between two lines that hold something stand line ends alone
        behind = last
        content = match.group()
        if content.isspace():
            continue
        while coming < len(frames) and frames[coming].end <= first:
            coming += 1
        if coming < len(frames) and frames[coming].start <= first:
            found.append(Unit(first, last, line, frames[coming]))
            continue
        is_heading = bool(headings) and any(block.start <= first < block.end for block in headings)
        if is_heading and _ADORNMENT.match(content):
            continue
        cuts = [first, *_sentence_ends(text, first, last), last]
        found += [Unit(a, b, line, None, is_heading) for a, b in pairwise(cuts)]
    return found


def source(chunk: Chunk, document: Document) -> str:
    """The text that the units' offsets are of."""
    return document.text if document.text[chunk.start : chunk.end] == chunk.text else chunk.text


def _sentence_ends(text: str, start: int, end: int) -> list[int]:
    """Where a line of prose is cut: behind each sentence but the last; very long ones between words."""
    cuts = [match.end() for match in _SENTENCE_END.finditer(text, start, end) if match.end() < end]
    if end - start <= LONGEST:
        return cuts
    all_cuts = []
    for last in (*cuts, end):
        while last - start > LONGEST:
            cut = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
            start = cut + 1 if cut > 0 else start + LONGEST
            all_cuts.append(start)
        if last < end:
            all_cuts.append(last)
        start = last
    return all_cuts


def _frames(text: str, touching: Sequence[Block]) -> Iterator[Frame]:
    """Fences and tables that touch the passage, those inside lists and quotes too."""
    first, last = (touching[0].start, touching[-1].end) if touching else (0, 0)
    fenced = any(text.find(marks, first, last) >= 0 for marks in _MARKS)
    for block in touching:
        if block.kind == "table":
            opening_end = block.header_end if block.header_end is not None else block.start
            yield Frame("table", block.start, block.end, text[block.start : opening_end].rstrip("\n"), opening_end)
        elif fenced and block.kind != "heading":
            yield from _fences(text, block.start, block.end)


def _fences(text: str, start: int, end: int) -> Iterator[Frame]:
    """Fenced code between two offsets, found by its marks; one that is never closed ends with the region."""
    opened: re.Match[str] | None = None
    opened_at = opening_end = 0
    for first, last in _marked_lines(text, start, end):
        marks = _FENCE.match(text[first:last])
        if opened is None:
            if marks and "`" not in marks["info"]:
                opened, opened_at, opening_end = marks, first, last
        elif marks and _closes(opened["marks"], marks):
            yield _fence(opened, opened_at, opening_end, first, last)
            opened = None
    if opened is not None:
        yield _fence(opened, opened_at, opening_end, end, end)


def _marked_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Lines between two offsets that hold three backticks or tildes: few, where looking at every line takes long."""
    next_of = {marks: text.find(marks, start, end) for marks in _MARKS}
    while (at := min(next_of.values(), key=lambda place: place if place >= 0 else end)) >= 0:
        last = text.find("\n", at, end)
        yield text.rfind("\n", start, at) + 1 or start, last if last >= 0 else end
        if last < 0:
            return
        start = last + 1
        next_of = {marks: text.find(marks, start, end) if 0 <= at < start else at for marks, at in next_of.items()}


def _closes(opening: str, marks: re.Match[str]) -> bool:
    return marks["marks"][0] == opening[0] and len(marks["marks"]) >= len(opening) and not marks["info"].strip()


def _fence(opened: re.Match[str], start: int, opening_end: int, closing_start: int, end: int) -> Frame:
    lead = re.sub(r"[^ \t>]", " ", opened["lead"])
    return Frame("fence", start, end, opened.group(), opening_end, lead + opened["marks"], closing_start)
