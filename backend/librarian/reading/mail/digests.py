"""Digests of mailing lists in one text (RFC 1153): many mails below each other, none of them anybody's history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

_FIRST = "-" * 70  #: below what the list says itself
_RULES = frozenset({_FIRST, "-" * 30})  #: between mails
_END = re.compile(r"End of \S.{0,100}$")
_LAST = 12  #: lines among which the end is told, with what another program adds
#: Mailman's first words: above them stands only what somebody wrote who answers.
_BEGIN = re.compile(r"Send \S.{0,80} mailing list submissions to$")
_HEADER = re.compile(r"[A-Z][\w-]{1,30}: ")


def is_digest(lines: Sequence[str]) -> bool:
    """Whether a mail is one; an answer that holds a whole digest is none."""
    if _FIRST not in lines or not any(map(_END.match, lines[-_LAST:])):
        return False
    begin = next((place for place, line in enumerate(lines) if _BEGIN.match(line)), 0)
    return not any(map(str.strip, lines[:begin]))


def parts(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Lines [start, stop) of what the list says and of each mail, without its headers and the rule above them."""
    rules = [place for place, line in enumerate(lines) if line in _RULES]
    for rule, stop in pairwise([-1, *rules, len(lines)]):
        start = rule + 1
        while start < stop and not lines[start].strip():
            start += 1
        if start < stop and _HEADER.match(lines[start]):
            while start < stop and lines[start].strip():
                start += 1
        yield start, stop
