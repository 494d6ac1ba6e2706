"""A passage taken apart into what may be shown or left out as a whole: sentences, lines of code, rows of a table.

A sentence of prose that was wrapped at some width runs over line ends; lines that end where there was room for more,
as verses and settings do, are by themselves.

Offsets are characters into the passage's text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..models import Chunk, Frame
from ..text.characters import ENDS_ALONE, ENDS_BEFORE_BLANK, whole_until

#: A unit longer than this is cut between words.
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
    """A piece that is shown whole. `line` and `line_end` are its lines in the document, 1-based.

    Not frozen, nor a tuple: a passage has a dozen, and those take longer to make and to read.
    """

    start: int
    end: int
    line: int
    line_end: int
    frame: Frame | None = None
    heading: bool = False


#: Start, end and number of a line of prose.
_Line = tuple[int, int, int]


def units(chunk: Chunk) -> list[Span]:
    """The passage's pieces in order. Blank lines are in none, nor are those that show nothing, such as tags, nor the
    rules above and below titles: shown without their title they say nothing, and a reader of Markdown takes one of
    tildes for a fence.
    """
    text = chunk.text
    found: list[Span] = []
    paragraph: list[_Line] = []
    frames, titles, never = iter(chunk.frames), iter(chunk.titles), (len(text), len(text) + 1)
    hidden = iter(chunk.unseen)
    frame, title, unseen = next(frames, None), next(titles, never), next(hidden, never)
    first = 0
    for number, line in enumerate(text.split("\n"), chunk.line_start):
        last = first + len(line)
        kind = "nothing"
        if line and not line.isspace():
            while frame is not None and frame.end <= first:
                frame = next(frames, None)
            while title[1] <= first:
                title = next(titles, never)
            while unseen[1] <= first:
                unseen = next(hidden, never)
            if frame is not None and frame.start <= first:
                kind = "frame"
            elif unseen[0] > first or last > unseen[1]:
                kind = "prose" if title[0] > first else "title"
        if kind == "prose":
            paragraph.append((first, last, number))
        else:
            if paragraph:
                _add_paragraph(found, text, paragraph)
                paragraph = []
            if kind == "frame":
                found.append(Span(first, last, number, number, frame))
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
