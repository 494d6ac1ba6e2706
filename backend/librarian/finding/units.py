"""A passage taken apart into what may be shown or left out as a whole: sentences, lines of code, rows of a table.

A sentence of prose that was wrapped at some width runs over line ends; lines that end where there was room for more,
as verses and settings do, are by themselves.

Offsets are characters into the passage's text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from librarian.vocabulary.types import Chunk, Frame

#: A unit longer than this is cut between words.
LONGEST = 240

#: A line is wrapped where its end and the next one's first word would have come so near to the width that texts are
#: wrapped at: that of the paragraph's longest line, at least 50 and at most 78 characters.
_RAGGED, _NARROWEST, _WIDTH = 8, 50, 78

_LINE = re.compile(r"[^\n]+")
_SENTENCE_END = re.compile(r"[.!?…؟۔।॥](?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)[\"'”’)\]»]*\s+|[。！？．｡][」』）】”’]*")
_ADORNMENT = re.compile(r"[ \t>]*([^\w\s])\1*[ \t]*$")
_MARGIN = re.compile(r"[ \t>]*")
#: Begins a list's item, a row, a directive, a definition or a dated entry: never the next line of a sentence.
_ITEM = re.compile(r"[-*+•‣–—]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s")
_APART = re.compile(rf"{_ITEM.pattern}|[#|:=~^@%$&]|\.\.|>>>|\[[^\]\n]+\]:|[\w-]+:\s|\d+[-/:.]\d+[-/:.]\d")
#: A line's last character that says it is over, whatever comes.
_OVER = frozenset(".!?…:;|\\。！？．｡؟۔।॥")


class Unit(NamedTuple):
    """A piece that is shown whole. `line` and `line_end` are its lines in the document, 1-based."""

    start: int
    end: int
    line: int
    line_end: int
    frame: Frame | None = None
    heading: bool = False


#: Start, end and number of a line of prose.
_Line = tuple[int, int, int]


def units(chunk: Chunk) -> list[Unit]:
    """The passage's pieces in order. Blank lines are in none, nor are the rules above and below titles: shown without
    their title they say nothing, and a reader of Markdown takes one of tildes for a fence.
    """
    text, frames, titles = chunk.text, chunk.frames, chunk.titles
    found: list[Unit] = []
    paragraph: list[_Line] = []
    line, behind, coming = chunk.line_start, 0, 0
    for match in _LINE.finditer(text):
        first, last = match.span()
        line += first - behind  # between two lines that hold something stand line ends alone
        if paragraph and first > behind + 1:
            found += _sentences(text, paragraph)
            paragraph = []
        behind = last
        content = match.group()
        if content.isspace():
            continue
        while coming < len(frames) and frames[coming].end <= first:
            coming += 1
        in_frame = coming < len(frames) and frames[coming].start <= first
        is_heading = not in_frame and bool(titles) and any(start <= first < end for start, end in titles)
        if not in_frame and not is_heading:
            paragraph.append((first, last, line))
            continue
        if paragraph:
            found += _sentences(text, paragraph)
            paragraph = []
        if in_frame:
            found.append(Unit(first, last, line, line, frames[coming]))
        elif not _ADORNMENT.match(content):
            cuts = [first, *_sentence_ends(text, first, last), last]
            found += [Unit(a, b, line, line, None, True) for a, b in pairwise(cuts)]
    return found + _sentences(text, paragraph) if paragraph else found


def _sentences(text: str, lines: Sequence[_Line]) -> list[Unit]:
    """What a run of lines of prose is shown by."""
    found: list[Unit] = []
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
    return found


def _add(found: list[Unit], text: str, first: _Line, last: _Line) -> None:
    """Add the sentences of the lines from the first to the last."""
    (start, _, number), (_, over, to) = first, last
    cuts = _sentence_ends(text, start, over)
    if number == to:
        for end in (*cuts, over):
            found.append(Unit(start, end, number, number))
            start = end
        return
    for end in (*cuts, over):
        behind = start + len(text[start:end].rstrip())
        to = number + text.count("\n", start, behind)
        found.append(Unit(start, behind, number, to))
        number = to + text.count("\n", behind, end)
        start = text.rfind("\n", behind, end) + 1 or end


def _goes_on(text: str, line: _Line, following: _Line, full: int) -> bool:
    """Whether a line ends where it does only because it was full."""
    (start, end, _), (below, last, _) = line, following
    margin, own = _margin(text, start, end), _margin(text, below, last)
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
    if text[start] not in " \t>":
        return ""
    match = _MARGIN.match(text, start, end)
    return match.group() if match else ""


def _sentence_ends(text: str, start: int, end: int) -> list[int]:
    """Where prose is cut: behind each sentence but the last; very long ones between words."""
    cuts = [match.end() for match in _SENTENCE_END.finditer(text, start, end) if match.end() < end]
    if cuts and text[start : cuts[0]].strip(" \t>.").isdigit():  # the number of an item belongs to it
        del cuts[0]
    if end - start <= LONGEST:
        return cuts
    all_cuts = []
    for last in (*cuts, end):
        while last - start > LONGEST:
            cut = max(text.rfind(blank, start + LONGEST // 2, start + LONGEST) for blank in " \n")
            start = cut + 1 if cut > 0 else start + LONGEST
            all_cuts.append(start)
        if last < end:
            all_cuts.append(last)
        start = last
    return all_cuts
