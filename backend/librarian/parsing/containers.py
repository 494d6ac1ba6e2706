"""Fences and tables of a document, and which of them stand around each chunk, which may begin inside one."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from ..models import NOT_INCLUDED, Document, Frame
from ..text.cross_references import SHORTCODE
from .spans import SourceSpan

#: The line that opens a fence, perhaps in an item or a quote.
_OPENING = re.compile(r"(?P<lead>[ \t>]*+(?:(?:[-*+]|\d+[.)])[ \t]++)?)(?P<marks>`{3,}|~{3,})[^\n]*")
_REST = re.compile(r"[^\S\n]*(?=\n|\Z)")  #: of a line, where it is blank
_MARGIN = " \t>"  #: before a line's text, in quotes too


def touching(spans: Sequence[SourceSpan], start: int, end: int) -> range:
    """The places of those that have a part between two offsets; they come in order and don't overlap."""
    return range(bisect_right(spans, start, key=itemgetter(1)), bisect_left(spans, end, key=itemgetter(0)))


def shifted(spans: Sequence[SourceSpan], start: int, end: int) -> tuple[SourceSpan, ...]:
    """Those that have a part between two offsets, seen from the first."""
    return tuple([(spans[place][0] - start, spans[place][1] - start) for place in touching(spans, start, end)])


def seen_from(frame: Frame, start: int) -> Frame:
    """A frame with its offsets counted from `start`."""
    first, end, closing = frame.start - start, frame.end - start, frame.closing_start - start
    return Frame(frame.kind, first, end, frame.opening, frame.opening_end - start, frame.closing, closing)


def unseen_in(document: Document) -> Iterator[SourceSpan]:
    """The lines that are left out of a document: those of tags, of statements, of shortcodes; of the line that opens
    a directive, what stands before its title.
    """
    text = document.text
    runs: list[tuple[int, int, bool]] = []  # start, end, whether a title follows on the same line
    for span in document.excluded if document.kind == "document" else ():
        if span.reason == NOT_INCLUDED or SHORTCODE.match(text, span.start):
            continue  # such a line names a file that isn't there
        titled = span.reason == "admonition" and text[span.start] in "`~" and blank_behind(text, span.end) is None
        if runs and not titled and not runs[-1][2] and not text[runs[-1][1] : span.start].strip():
            runs[-1] = runs[-1][0], max(runs[-1][1], span.end), False
        else:
            runs.append((span.start, span.end, titled))
    for start, end, titled in runs:
        first, last = start, end
        if not titled:
            is_first = blank_before(text, start, _MARGIN)
            first = text.rfind("\n", 0, start) + 1 if is_first else text.find("\n", start, end) + 1 or end
            behind = blank_behind(text, end)
            last = text.rfind("\n", start, end) if behind is None else behind
        if first < last:
            yield first, last


def blank_before(text: str, end: int, blanks: str | None = None) -> bool:
    """Whether nothing but blanks (or these characters) stands on a line before `end`.

    Looks no further than to the first that is none: one line may hold any number of spans.
    """
    place = end
    while place and (char := text[place - 1]) != "\n":
        if not (char.isspace() if blanks is None else char in blanks):
            return False
        place -= 1
    return True


def blank_behind(text: str, start: int) -> int | None:
    """Where the line ends on which nothing but blanks stands from `start` on; None where something else does."""
    match = _REST.match(text, start)
    return match.end() if match else None


def frames_in(document: Document) -> Iterator[Frame]:
    """In order, without overlap."""
    text = document.text
    for block in document.blocks:
        behind = block.start if block.header_end is None else block.header_end
        opening = text[block.start : behind].rstrip("\n")
        if block.kind == "table":
            yield Frame("table", block.start, block.end, opening, behind, "", block.end)
        elif block.kind == "fence" and (opened := _OPENING.fullmatch(opening)):
            last = text.rfind("\n", behind, block.end) + 1 or behind
            marks = text[last : block.end].strip(_MARGIN)
            is_closed = marks.startswith(opened["marks"]) and not marks.strip(marks[0])
            closing = re.sub(r"[^ \t>]", " ", opened["lead"]) + opened["marks"]
            yield Frame("fence", block.start, block.end, opening, behind, closing, last if is_closed else block.end)
