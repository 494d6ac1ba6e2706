"""Where a mail's history begins: attribution lines, dividers, and blocks of copied headers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from . import phrases

ATTRIBUTION = "quote header"  #: what introduces history: "On … wrote:", copied headers
FORWARDED = "forwarded header"  #: the same above a message that is forwarded
DIVIDER = "divider"  #: what everything below is history of, whatever it looks like

_TRIM = ">* \t\xa0\u202a-_"
_LONGEST_LINE = 500
_LONGEST_ATTRIBUTION = 400
_ATTRIBUTION_LINES = 5  #: an attribution is wrapped into at most so many
_BLOCK_LINES = 40  #: that copied headers take at most
_WRAPPED = 3  #: lines from a header to the next one, if it isn't one of recipients
_BLANK = 2  #: blank lines between a divider and the headers below it

_FIELDS = {name.casefold(): field for field, names in phrases.HEADER_NAMES.items() for name in names}
_HEADER = re.compile(
    rf"[>\s*_]*+(?P<name>{'|'.join(map(re.escape, sorted(_FIELDS, key=len, reverse=True)))})\s*\*?\s*[:：]", re.I
)
_RULE = re.compile(r"[>\s*]*[-_=]{5,}\s*$")
_DIVIDER = re.compile(
    rf"[>\s*_=-]*+(?:(?P<original>(?:{phrases.any_of('original_message')})[\s*:：_=-]*$)"
    rf"|(?:{phrases.any_of('forwarded_message')})\b.{{0,120}}$)",
    re.I,
)
_DIVIDERS_BEGIN = frozenset(word[:4].lower() for word in phrases.words("original_message", "forwarded_message"))

_EMAIL = r"[\w.+=&'/-]+@[\w.-]+"
_BRACKETED = rf"<\s*(?:mailto:)?(?:{_EMAIL}|[\w.+=-]+ at [\w.-]+)\s*>"  #: " at " as Mailman's archives write it
_WROTE_WORDS = phrases.any_of("wrote", "wrote_cjk")
_WROTE = re.compile(rf"(?<![\w-])(?:{phrases.any_of('wrote')})(?!\w)|>wrote\b|{phrases.any_of('wrote_cjk')}", re.I)
_ENDS = re.compile(rf"(?:[:：]|(?:{_WROTE_WORDS})\s*[:：]?)$", re.I)
_ENDINGS = (":", "：", *(word.lower() for word in phrases.words("wrote", "wrote_cjk")))
_OPENED = re.compile(rf"(?:{phrases.any_of('openings')})(?:(?<=[在於于])|\s)(?=.*\d)")
_DATED = re.compile(r"\d{1,2}[:.]\d{2}|\d{4}\s*(?:г|р)\.|\d{4}-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}年")
_ADDRESS = re.compile(rf"{_EMAIL}|<[^<>]{{0,80}} at [\w.-]+>")
#: No attribution begins so: what stands in front was wrapped.
_TORN = re.compile(rf"<|{_EMAIL}\s*>|(?:\d\d?:\d\d\s*)?(?:{_WROTE_WORDS})(?!\w)", re.I)
#: A date with a year and a time, and an address at the end, without a verb.
_DATE_TO_ADDRESS = re.compile(
    r"(?=.{0,60}\b(?:19|20)\d\d\b)(?=.{0,60}\b\d{1,2}[:.]\d\d\b)(?:[^\W\d_]{2,12}[.,]*\s+){0,2}\d{1,4}\b.{0,160}"
    rf"{_BRACKETED}\s*[:：]$"
)
#: The same for dates of digits from the year on: then the time may be missing, or with a zone the address.
_YEAR_FIRST = re.compile(
    r"\d{4}(?:[-/]\d{1,2}[-/]\d{1,2}|年\d{1,2}月\d{1,2}日)(?:\s*\([^)]{1,4}\))?(?:,?\s+\d{1,2}:\d{2}(?::\d{2})?)?"
    rf"(?:\s+(?:GMT|UTC)(?:[+-]\d{{1,2}}:?\d{{2}})?\s+\S.{{0,160}}(?<!<)$|\s+\S.{{0,160}}{_BRACKETED}\s*[:：]?$)"
)
_BETWEEN_DASHES = re.compile(r"--.{1,200}\bwrote\s*--+$")
#: The last line of an attribution that a program tears apart: "On …, Ann <", "mailto:…", "> wrote:".
_TORN_APART = re.compile(r"\s*>\s*(?:wrote\s*)?:")
_LATE = re.compile(r"(?:-{2,}\s*)?(?<!\w)On (?:[A-Z][a-z]{2,8},?|\d{1,2})\s(?=.*\d).{0,200}\bwrote:\s*$")


class Span(NamedTuple):
    """Lines [start, end) and what they are; of the first one only what stands from `column` on."""

    start: int
    end: int
    kind: str
    column: int = 0


def is_quoted(line: str) -> bool:
    """Whether the line carries a quote mark."""
    return line.lstrip(" \t\xa0").startswith(">")


def next_words(lines: Sequence[str], place: int) -> int:
    """The next line that isn't blank."""
    while place < len(lines) and not lines[place].strip():
        place += 1
    return place


def find(lines: Sequence[str]) -> list[Span]:
    """All that introduce history, in order; they don't overlap. Linear in the text."""
    found: list[Span | None] = []
    for place, line in enumerate(lines):
        if not line.strip() or len(line) > _LONGEST_LINE:
            continue
        bare = line.strip(_TRIM).lower()
        if bare.endswith(_ENDINGS) or bare[:4].isdigit():
            found.append(_attribution(lines, place))
        if bare[:4] in _DIVIDERS_BEGIN:
            found.append(_divider(lines, place))
        if ":" in line or "：" in line or _RULE.match(line):
            found.append(_headers(lines, place))
    chosen: list[Span] = []
    for span in sorted((one for one in found if one), key=lambda one: (one.start, -one.end)):
        if not chosen or span.start >= chosen[-1].end:
            chosen.append(span)
    return chosen


def _attribution(lines: Sequence[str], last: int) -> Span | None:
    """The attribution that ends with the line `last`; perhaps behind the reply's last words on the same line."""
    late = _LATE.search(lines[last]) if "On " in lines[last][1:] else None
    if late and any(map(str.isalnum, lines[last][: late.start()])):
        return Span(last, last + 1, ATTRIBUTION, late.start())
    if _TORN_APART.match(lines[last]):
        above = range(last - 1, max(-1, last - 7), -1)
        first = next((at for at in above if _OPENED.match(lines[at].lstrip(_TRIM))), last)
        return Span(first, last + 1, ATTRIBUTION) if "<" in "".join(lines[first:last]) else None
    nearest: int | None = None
    for first in range(last, max(-1, last - _ATTRIBUTION_LINES), -1):
        if not lines[first].strip() or is_quoted(lines[first]) != is_quoted(lines[last]):
            break
        opened = _OPENED.match(lines[first].lstrip(_TRIM)) is not None
        if _reads_as_attribution(lines[first : last + 1], opened=opened):
            if opened:
                return Span(first, last + 1, ATTRIBUTION)
            nearest = first if nearest is None else nearest
    if nearest is None and _introduces(lines, last):
        return Span(last, last + 1, ATTRIBUTION)
    return None if nearest is None else Span(nearest, last + 1, ATTRIBUTION)


def _reads_as_attribution(lines: Sequence[str], *, opened: bool) -> bool:
    joined = " ".join(line.lstrip(" \t>|*").strip() for line in lines)
    text = joined.strip(_TRIM)
    if len(text) > _LONGEST_ATTRIBUTION or _TORN.match(text):
        return False
    if _DATE_TO_ADDRESS.match(joined) or _YEAR_FIRST.match(joined) or _BETWEEN_DASHES.match(joined):
        return True
    if not _ENDS.search(text) or not _WROTE.search(text):
        return False
    return opened or (text.endswith((":", "：")) and bool(_ADDRESS.search(text) or _DATED.search(text)))


def _introduces(lines: Sequence[str], place: int) -> bool:
    """Whether a short line that ends with the verb and a colon stands right above quoted lines."""
    line = lines[place].strip(_TRIM)
    below = next_words(lines, place + 1)
    above_quote = below < min(len(lines), place + 4) and is_quoted(lines[below]) and not is_quoted(lines[place])
    return above_quote and len(line.split()) <= 12 and line.endswith((":", "：")) and bool(_WROTE.search(line))


def block(lines: Sequence[str], start: int) -> tuple[int, list[str]]:
    """(the line after the headers that begin at `start`, what each of them means); (`start`, []) where none does."""
    fields: list[str] = []
    place = end = start
    while place < min(len(lines), start + _BLOCK_LINES) and (header := _HEADER.match(lines[place][:_LONGEST_LINE])):
        fields.append(_FIELDS[header["name"].casefold()])
        end = place = place + 1
        reach = _BLOCK_LINES if fields[-1] in ("to", "cc") else _WRAPPED
        while place < min(len(lines), end + reach) and not _HEADER.match(lines[place][:_LONGEST_LINE]):
            place += 1 if reach == _WRAPPED or not lines[place].strip() or re.search("[@;,]", lines[place]) else reach
    return end, fields


def _headers(lines: Sequence[str], start: int) -> Span | None:
    """A block of at least two different headers with a date or subject among them, and a rule above it if any."""
    place = next_words(lines, start + 1) if _RULE.match(lines[start]) else start
    if place >= min(len(lines), start + _BLANK + 2):
        return None
    end, fields = block(lines, place)
    if len(set(fields)) < 2 or not {"date", "subject"}.intersection(fields):
        return None
    return Span(start, end, DIVIDER) if "from" in fields or fields[0] == "date" else None


def _divider(lines: Sequence[str], place: int) -> Span | None:
    line = lines[place].strip("> \t*")
    found = _DIVIDER.match(line)
    end, fields = block(lines, min(next_words(lines, place + 1), place + _BLANK + 1))
    if found is None or not (fields or line.startswith(("--", "__", "==")) or line.endswith((":", "："))):
        return None
    return Span(place, end if fields else place + 1, DIVIDER if found["original"] else FORWARDED)
