"""Headers that programs copy above a mail that is answered or passed on: "From: …", "To: …", "Subject: …"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from . import phrases

_TRIM = ">* \t\xa0\u202a-_"
_NAMES = sorted((name for names in phrases.HEADER_NAMES.values() for name in names), key=len, reverse=True)
_MEANING = {name.casefold(): meaning for meaning, names in phrases.HEADER_NAMES.items() for name in names}
HEADER = re.compile(rf"^[>\s*_]*(?P<name>{'|'.join(map(re.escape, _NAMES))})\s*\*?\s*[:：]", re.I)
_LONGEST_LINE = 500
_header = lru_cache(maxsize=2_048)(HEADER.match)  #: each line is asked several times, and attacks repeat theirs
_BLOCK_LINES = 40  #: that copied headers take at most
_WRAPPED = 2  #: lines that a header's value may take besides its first, if it isn't one of recipients
_BLANK = 2  #: lines between headers that are paragraphs of their own
_RECIPIENT = re.compile(r"[@;,]")
_MARGIN = "> \t\xa0"
#: A day in digits and a time, as Notes puts them behind or below the name of who wrote.
_MOMENT = re.compile(
    r"(?<![\w./-])\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?\s+\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s*[AP]M)?(?:\s+[A-Z]{2,4})?$",
    re.I,
)
_NAME_LINES = 4  #: name, "Sent by: …", day and time, "Please respond to …"
_NAME_LONGEST = 200  #: characters of these together


def block(lines: Sequence[str], start: int) -> tuple[int, list[str]]:
    """(the line after the headers that begin at `start`, what each of them means); (`start`, []) where none does."""
    meanings: list[str] = []
    place, wrapped, end = start, 0, start
    while place < min(len(lines), start + _BLOCK_LINES):
        line = lines[place]
        colon = ":" in line or "：" in line
        match = _header(line) if colon and len(line) <= 2_000 else None
        if match is not None:
            meanings.append(_MEANING[match["name"].casefold()])
            wrapped, end = 0, place + 1
        elif not line.strip() and place - end < _BLANK and _goes_on(lines, place, meanings):
            pass
        elif meanings and meanings[-1] in ("to", "cc") and _recipients_go_on(lines, place, meanings):
            end = place + 1
        elif not line.strip(_TRIM) or wrapped >= _WRAPPED or not meanings:
            break
        else:
            wrapped += 1
            following = lines[place + 1 : place + 1 + _WRAPPED]
            if not any(_header(later[:_LONGEST_LINE]) for later in following) and not line.startswith((" ", "\t")):
                if (
                    meanings[-1] == "subject"
                    and wrapped == 1
                    and place + 1 < len(lines)
                    and not lines[place + 1].strip()
                ):
                    end = place + 1
                break
            end = place + 1
        place += 1
    return end, meanings


def end_below(lines: Sequence[str], start: int) -> int:
    """The first line after headers that begin at `start` or after blank lines; `start` where none do."""
    place = start
    while place < len(lines) and place < start + 3 and not lines[place].strip(_TRIM):
        place += 1
    end, meanings = block(lines, place)
    if meanings:
        return end
    for to in range(place + 1, min(len(lines), place + _NAME_LINES + _BLANK + 1)):
        if _header(lines[to][:_LONGEST_LINE]):
            named = written_above(lines, to)
            return block(lines, to)[0] if named is not None and named >= start else start
    return start


def written_above(lines: Sequence[str], place: int) -> int | None:
    """The line with the name of who wrote, above headers without From at `place`, as Notes has it; None without one.

    `Ann Lee/NA/Acme` above `03/02/2026 10:00 AM`, or `"Ann Lee" <ann@example.org> on 03/02/2026 10:00:00 AM`.
    """
    stop = place
    while stop > 0 and place - stop < _BLANK and not lines[stop - 1].strip(_MARGIN):
        stop -= 1
    first = stop
    while first > 0 and lines[first - 1].strip(_MARGIN):
        first -= 1
        if stop - first > _NAME_LINES:
            return None
    for last in (stop, stop - 1):
        said = " ".join(line.strip(_MARGIN) for line in lines[first:last])
        if len(said) <= _NAME_LONGEST and _MOMENT.search(said):
            return first
    return None


def _goes_on(lines: Sequence[str], place: int, meanings: Sequence[str]) -> bool:
    """Whether below blank lines another header follows: some programs write each as a paragraph."""
    line = next((one for one in lines[place : place + _BLANK + 1] if one.strip()), "")
    match = _header(line[:_LONGEST_LINE]) if meanings else None
    return match is not None and _MEANING[match["name"].casefold()] not in meanings


def _recipients_go_on(lines: Sequence[str], place: int, meanings: Sequence[str]) -> bool:
    """Whether the lines from `place` up to the next header name recipients: there may be hundreds."""
    for at, line in enumerate(lines[place : place + _BLOCK_LINES], place):
        if not line.strip():
            return at > place and _goes_on(lines, at, meanings)
        colon = ":" in line or "：" in line  # without one, no expression needs to be asked
        if colon and _header(line[:_LONGEST_LINE]):
            return True
        if len(line) > _LONGEST_LINE or not _RECIPIENT.search(line):
            return False
    return False
