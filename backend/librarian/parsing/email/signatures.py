"""What hangs below a mail's own words: signatures, footers of mailing lists and closings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from . import phrases
from .attributions import Span, is_quoted

SIGNATURE = "signature"
FOOTER = "footer"  #: of a mailing list
CLOSING = "closing"  #: "Thanks, Ann"

_FOOTER_LINES = 10
_SIGNATURE_LINES = 15
_REACH = 200  #: lines from a rule to the end of what it may open, so that a mail of nothing but rules is read fast
_OPENS = re.compile(r"[ \xa0]?(?:--|---|—|–)\s*$|\s*[-_=*#~.+]{5,}\s*$")  #: further in, dashes are comments of code
_FOOTER_WORDS = re.compile(
    r"mailing list|listinfo|unsubscri|[@/]lists?\.|/mailman|groups?\.google|google groups|yahoo! groups|list-?serv"
    r"|p\.sf\.net/sfu|abmelden|abbestellen|désinscri|desuscri|отписат|退订",
    re.I,
)
_RULE = re.compile(r"\s*(?:[-_=*#~+—–ᐧ]\s*)+$")
_SENT_FROM = re.compile(rf"[\s*_<(]*{phrases.any_pattern('sent_from')}$", re.I)
_PROSE = re.compile(r"\b(?:is|are|was|were|will|would|have|had|because)\b", re.I)
_SENT_FROM_LONGEST = 120

_CLOSING = re.compile(
    rf"\s*(?:{phrases.any_of('closings')})(?:\s+(?:again|a lot|so much|in advance|und|and|et|y|from)\b.{{0,20}})?"
    r"\s*[,.!–-]*\s*$",
    re.I,
)
_DASHED_NAME = re.compile(r"\s*(?:-{1,2}|—|–|//|~)\s?[^\W\d_][\w.'’-]*(?:\s[^\W\d_][\w.'’-]*){0,3}\s*$")
#: What follows below a closing after all: a postscript, a footnote, an item.
_NOTE = re.compile(rf"\s*(?:\W{{0,2}}(?:{phrases.any_of('postscripts')})(?!\w)|[\[(]?\d{{1,2}}[\])]|[-*•]\s)", re.I)
_NO_NAME = re.compile(r"[{}]|[;?!…:。！？]$")
_CLOSING_LINES = 6  #: with words, from the end of a mail, among which a closing is looked for
_WIDTH = 60  #: of a line of name, title or address


def find(lines: Sequence[str], end: int, covered: list[bool]) -> list[Span]:
    """What hangs below the words of the lines before `end` that aren't `covered`; they are then."""
    found = []
    for span in _under_rules(lines, end, covered):
        covered[span.start : span.end] = [True] * (span.end - span.start)
        found.append(span)
    last = _above_devices(lines, end, covered, found)
    return [*found, *_closings(lines, last, covered)]


def footer_start(lines: Sequence[str]) -> int:
    """Where what a list adds at the very end begins, whatever stands above it; behind the last line without one."""
    end = len("\n".join(lines).rstrip().split("\n"))
    for place in range(end - 1, max(-1, end - 2 - _FOOTER_LINES), -1):
        if is_quoted(lines[place]):
            break
        if _OPENS.match(lines[place]) and any(map(str.isalnum, "".join(lines[place + 1 : end]))):
            return place if _opened(lines[place].strip(), lines[place + 1 : end]) == FOOTER else len(lines)
    return len(lines)


def _under_rules(lines: Sequence[str], end: int, covered: Sequence[bool]) -> Iterator[Span]:
    stop = 0
    for place in range(end):
        if covered[place] or not _OPENS.match(lines[place]):
            continue
        if stop <= place:
            stop = next((at for at in range(place, end) if covered[at]), end)
        if kind := _opened(lines[place].strip(), lines[place + 1 : stop]):
            yield Span(place, stop, kind)


def _opened(rule: str, below: Sequence[str]) -> str:
    """What a rule opens: a signature, a footer, or nothing, which is empty."""
    if len(below) > _REACH or (rule != "--" and any(line.strip() == "--" for line in below)):
        return ""  # the signature is further down, and lists add their footers below that
    filled = [line for line in below if line.strip()]
    paragraph = "\n".join(below).strip().split("\n\n", 1)[0]
    if len(filled) <= _FOOTER_LINES and _FOOTER_WORDS.search(paragraph):
        return FOOTER
    if rule == "---":
        return SIGNATURE if 0 < len(filled) <= 3 and all(len(line) <= _WIDTH for line in filled) else ""
    return SIGNATURE if rule in ("--", "—", "–") and len(filled) <= _SIGNATURE_LINES else ""


def _above_devices(lines: Sequence[str], last: int, covered: list[bool], found: list[Span]) -> int:
    """Where the words end: above lines that devices add, and rules without anything under them, which are `found`."""
    while last > 0:
        line = lines[last - 1]
        device = len(line) <= _SENT_FROM_LONGEST and _SENT_FROM.match(line.strip()) and not _PROSE.search(line)
        if not covered[last - 1] and (device or _RULE.match(line)):
            covered[last - 1] = True
            found.append(Span(last - 1, last, SIGNATURE))
        elif not covered[last - 1] and line.strip():
            break
        last -= 1
    return last


def _closings(lines: Sequence[str], end: int, covered: Sequence[bool]) -> Iterator[Span]:
    """The closings among the last words before `end`, as far as the lines read as a name, a title or an address.

    Words that a sentence follows close nothing: "Thanks! The port is open." goes on.
    """
    own = [at for at in range(end) if lines[at].strip() and not covered[at] and not is_quoted(lines[at])]
    reached = 0
    for number in range(max(1, len(own) - _CLOSING_LINES), len(own)):
        place = own[number]
        dashed = _DASHED_NAME.match(lines[place]) and not lines[own[number - 1]].lstrip().startswith(("-", "*"))
        if place < reached or not (dashed or _CLOSING.match(lines[place])):
            continue
        last, below = place, own[number + 1 :]
        while below and not any(covered[last : below[0]]):
            named = not dashed and last == place and _DASHED_NAME.match(lines[below[0]])
            if not named and not _is_name(lines[below[0]]):
                break
            last = below.pop(0)
        if last > place or not below or (not dashed and (covered[below[0] - 1] or _NOTE.match(lines[below[0]]))):
            reached = last + 1
            yield Span(place, reached, CLOSING)


def _is_name(line: str) -> bool:
    """Whether a line under a closing reads as a name, a title or an address rather than as a sentence."""
    line = line.strip()
    if _CLOSING.match(line):
        return True
    words = line.split()
    small = sum(word[:1].islower() for word in words)
    if len(line) > _WIDTH or _NOTE.match(line) or _NO_NAME.search(line) or (line.endswith(".") and small and words[1:]):
        return False
    return len(words) <= 2 or 3 * small <= len(words)
