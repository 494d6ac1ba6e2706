"""A passage taken apart into what may be shown or left out as a whole: sentences, lines of code, rows of a table.

Offsets are characters into the passage's text.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from librarian.vocabulary.types import Chunk, Frame

#: A unit longer than this is cut between words.
LONGEST = 240

_LINE = re.compile(r"[^\n]+")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]")
_ADORNMENT = re.compile(r"[ \t>]*([^\w\s])\1*[ \t]*$")


class Unit(NamedTuple):
    """A piece that is shown whole. `line` is its line in the document, 1-based."""

    start: int
    end: int
    line: int
    frame: Frame | None = None
    heading: bool = False


def units(chunk: Chunk) -> list[Unit]:
    """The passage's pieces in order. Blank lines are in none, nor are the rules above and below titles: shown without
    their title they say nothing, and a reader of Markdown takes one of tildes for a fence.
    """
    text, frames, titles = chunk.text, chunk.frames, chunk.titles
    found: list[Unit] = []
    line, behind, coming = chunk.line_start, 0, 0
    for match in _LINE.finditer(text):
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
        is_heading = bool(titles) and any(start <= first < end for start, end in titles)
        if is_heading and _ADORNMENT.match(content):
            continue
        cuts = [first, *_sentence_ends(text, first, last), last]
        found += [Unit(a, b, line, None, is_heading) for a, b in pairwise(cuts)]
    return found


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
