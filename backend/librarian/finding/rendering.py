"""How a window of a passage's units is shown: as they stand there, with what their fences and tables need around them.

A fence or table that is shown in part gets its opening line or header rows, a line that marks each cut, and a fence its
closing line. Of blank lines one is shown between paragraphs, none in fences and tables or beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from librarian.vocabulary.types import Frame

from .cutting import CUT
from .units import Unit

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

    def __init__(self, text: str, pieces: Sequence[Unit]) -> None:
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


def _parts(text: str, shown: Sequence[Unit]) -> list[Part]:
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


def _entered(piece: Unit) -> list[str]:
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
