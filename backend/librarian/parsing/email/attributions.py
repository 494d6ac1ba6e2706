"""Where a mail's history begins: attribution lines, dividers, and blocks of copied headers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from . import phrases

_TRIM = ">* \t\xa0\u202a-_"
_NAMES = sorted((name for names in phrases.HEADER_NAMES.values() for name in names), key=len, reverse=True)
_FIELDS = {name.casefold(): field for field, names in phrases.HEADER_NAMES.items() for name in names}
HEADER = re.compile(rf"^[>\s*_]*(?P<name>{'|'.join(map(re.escape, _NAMES))})\s*\*?\s*[:：]", re.I)
_LONGEST_LINE = 500
_header = lru_cache(maxsize=2_048)(HEADER.match)  #: each line is asked several times, and attacks repeat theirs
_BLOCK_LINES = 40  #: that copied headers take at most
_WRAPPED = 2  #: lines that a header's value may take besides its first, if it isn't one of recipients
_BLANK = 2  #: lines between headers that are paragraphs of their own
_RECIPIENT = re.compile(r"[@;,]")


def block(lines: Sequence[str], start: int) -> tuple[int, list[str]]:
    """(the line after the headers that begin at `start`, what each of them means); (`start`, []) where none does."""
    fields: list[str] = []
    place, wrapped, end = start, 0, start
    while place < min(len(lines), start + _BLOCK_LINES):
        line = lines[place]
        colon = ":" in line or "：" in line
        match = _header(line) if colon and len(line) <= 2_000 else None
        if match is not None:
            fields.append(_FIELDS[match["name"].casefold()])
            wrapped, end = 0, place + 1
        elif not line.strip() and place - end < _BLANK and _goes_on(lines, place, fields):
            pass
        elif fields and fields[-1] in ("to", "cc") and _recipients_go_on(lines, place, fields):
            end = place + 1
        elif not line.strip(_TRIM) or wrapped >= _WRAPPED or not fields:
            break
        else:
            wrapped += 1
            following = lines[place + 1 : place + 1 + _WRAPPED]
            if not any(_header(later[:_LONGEST_LINE]) for later in following) and not line.startswith((" ", "\t")):
                if fields[-1] == "subject" and wrapped == 1 and place + 1 < len(lines) and not lines[place + 1].strip():
                    end = place + 1
                break
            end = place + 1
        place += 1
    return end, fields


def end_below(lines: Sequence[str], start: int) -> int:
    """The first line after headers that begin at `start` or after blank lines; `start` where none do."""
    place = start
    while place < len(lines) and place < start + 3 and not lines[place].strip(_TRIM):
        place += 1
    end, fields = block(lines, place)
    return end if fields else start


def _goes_on(lines: Sequence[str], place: int, fields: Sequence[str]) -> bool:
    """Whether below blank lines another header follows: some programs write each as a paragraph."""
    line = next((one for one in lines[place : place + _BLANK + 1] if one.strip()), "")
    match = _header(line[:_LONGEST_LINE]) if fields else None
    return match is not None and _FIELDS[match["name"].casefold()] not in fields


def _recipients_go_on(lines: Sequence[str], place: int, fields: Sequence[str]) -> bool:
    """Whether the lines from `place` up to the next header name recipients: there may be hundreds."""
    for at, line in enumerate(lines[place : place + _BLOCK_LINES], place):
        if not line.strip():
            return at > place and _goes_on(lines, at, fields)
        colon = ":" in line or "：" in line  # without one, no expression needs to be asked
        if colon and _header(line[:_LONGEST_LINE]):
            return True
        if len(line) > _LONGEST_LINE or not _RECIPIENT.search(line):
            return False
    return False


_LONGEST_ATTRIBUTION = 400
_LINES_BEFORE = 4  #: an attribution is wrapped into at most so many lines before its verb's
_LINES_AFTER = 2

_EMAIL = r"[\w.+=&'/-]+@[\w.-]+"
_BRACKETED = rf"<\s*(?:mailto:)?(?:{_EMAIL}|[\w.+=-]+ at [\w.-]+)\s*>"  #: " at " as Mailman's archives write it


def _any(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_WROTE = re.compile(rf"(?<![\w]|-)(?:{_any(phrases.WROTE)})(?!\w)|>(?:wrote|writes)\b|{_any(phrases.WROTE_CJK)}", re.I)
_OPENED = re.compile(rf"(?:{_any([word for word in phrases.OPENINGS if word < '一'])})\s+(?=.*\d)|[在於于]\s*(?=.*\d)")
_ENDS = re.compile(rf"(?:[:：]|(?:{_any(phrases.WROTE)}|{_any(phrases.WROTE_CJK)})\s*[:：]?)$", re.I)
_DATED = re.compile(r"\d{1,2}[:.]\d{2}|\d{4}\s*(?:г|р)\.|\d{4}-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}年")
_ADDRESS = re.compile(rf"<\s*(?:mailto:)?[^<>]{{0,80}}{_EMAIL}|{_EMAIL}|&lt;{_EMAIL}")
_DATE_FIRST = re.compile(
    r"\d{4}(?:[-/]\d{1,2}[-/]\d{1,2}|年\d{1,2}月\d{1,2}日)(?:\s*\([^)]{1,4}\))?(?:,?\s+\d{1,2}:\d{2}(?::\d{2})?)?"
    r"(?P<zone>\s+(?:GMT|UTC)(?:[+-]\d{1,2}:?\d{2})?)?\s+\S.{0,160}$"
)
_LATE = re.compile(
    r"(?:-{2,}\s*)?(?<!\w)(?:On (?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?|\d{1,2}|(?:Jan|Feb|Mar|Apr|May|Jun|"
    r"Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*)\s.{0,200}\bwrote:\s*$)"
)
#: A date in any form, with a year and a time, to begin with; a name and an address at the end.
_DATE_TO_ADDRESS = re.compile(
    r"(?=.{0,60}\b(?:19|20)\d\d\b)(?=.{0,60}\b\d{1,2}[:.]\d\d\b)(?:[^\W\d_]{2,12}[.,]*\s+){0,2}\d{1,4}\b.{0,160}"
    rf"{_BRACKETED}\s*[:：]$"
)
_BETWEEN_DASHES = re.compile(r"^\s*[>\s*]*-{3,}\s*(?P<words>[^-].{0,120}?)\s*-{3,}[\s*]*$")
_ORIGINAL = re.compile(rf"^[>\s*_=-]*(?:{_any(phrases.ORIGINAL_MESSAGE)})[\s*:：_=-]*$", re.I)
_FORWARDED = re.compile(rf"^[>\s*_=-]*(?:{_any(phrases.FORWARDED_MESSAGE)})\b.{{0,120}}$", re.I)
_DIVIDER = re.compile(r"^[>\s*]*[-_=]{5,}\s*$")
#: A divider, in whichever language, with the first header, or with all of them, behind it on the line, as Samsung's and
#: Yahoo's programs write.
_DIVIDER_AND_HEADER = re.compile(
    rf"^[>\s*]*-{{3,}}\s*(?:(?P<original>{_any(phrases.ORIGINAL_MESSAGE)})|[^-\s][^-]{{2,60}}?)\s*-{{3,}}\s*"
    rf"(?:{_any(phrases.HEADER_NAMES['from'])})\s*[:：]",
    re.I,
)
#: An attribution with the quote's first words behind it, as Yahoo's programs for phones write.
_CONTINUED = re.compile(
    rf"\s*(?:{_any(phrases.OPENINGS)})\s(?=.{{0,80}}\d)[^<>]{{0,160}}{_BRACKETED}\)?,?\s*(?:{_any(phrases.WROTE)})?\s*[:：]\s+\S"
)
_TORN = re.compile(
    rf"<?\s*(?:mailto:)?{_EMAIL}\s*>|<|(?:{_any(phrases.WROTE)})(?!\w)", re.I
)  #: no attribution begins so
_NAMED = re.compile(rf"(?:[^\s<>]+\s+){{1,6}}<\s*(?:mailto:)?{_EMAIL}\s*>.{{0,40}}$")
_AROUND = "> \t\xa0\u3000\u202a*_=-"  #: what stands around the words of a header
_QUOTING = "> \t\xa0*"
_DIVIDERS_BEGIN = frozenset(words[:4].lower() for words in (*phrases.ORIGINAL_MESSAGE, *phrases.FORWARDED_MESSAGE))
_HEADERS_BEGIN = frozenset(name.lower()[:2] for names in phrases.HEADER_NAMES.values() for name in names)
_OPENINGS = tuple(word.lower() for word in phrases.OPENINGS)
_WROTE_WORDS = tuple(word.lower() for word in (*phrases.WROTE, *phrases.WROTE_CJK))
_WROTE_STARTS = tuple({f" {word.split()[0]}" for word in _WROTE_WORDS if " " in word})
_ATTRIBUTION_ENDS = (":", "：", *_WROTE_WORDS)
_RULE_ENDS = ("-", "_", "=")


@dataclass(frozen=True, slots=True)
class QuoteHeader:
    """Lines [start, end) that introduce history. `column` is where the first of them begins to."""

    kind: Literal["attribution", "divider", "headers", "forwarded"]
    start: int
    end: int
    column: int = 0


def margin_of(line: str) -> bool:
    """Whether the line carries a quote mark."""
    return line.lstrip(" \t\xa0").startswith(">")


def find(lines: Sequence[str]) -> list[QuoteHeader]:
    """All headers in order; they don't overlap. Linear in the text.

    Hardly any line is near a header, so each is first held against what a header can't do without: its first letters
    or its end. Only what is left meets the expressions, which are costly.
    """
    found: dict[int, QuoteHeader] = {}
    suspects: set[int] = set()  # lines that may hold the verb of an attribution, or its date
    for place, line in enumerate(lines):
        if len(line) > _LONGEST_LINE or not line:
            continue
        bare = line.strip(_AROUND).lower()
        dashed = ":" in bare and line.lstrip(_QUOTING).startswith("---")
        header = _divider(lines, place) if dashed or bare[:4] in _DIVIDERS_BEGIN else None
        if header is None and (_may_be_header(bare) if bare else line.rstrip().endswith(_RULE_ENDS)):
            header = _headers(lines, place)
        if header is not None:
            found.setdefault(header.start, header)
        if "@" in bare and bare.startswith(_OPENINGS) and _CONTINUED.match(line) and _says_wrote(line):
            found.setdefault(place, QuoteHeader("attribution", place, place))
        elif bare.endswith(_ATTRIBUTION_ENDS) or "wrote" in bare:
            suspects.update(range(max(0, place - _LINES_AFTER), place + 1))
        elif bare[:4].isdigit():
            suspects.add(place)
    for place in sorted(suspects):
        line = lines[place]
        if len(line) > _LONGEST_LINE:
            continue
        above = lines[place - 1] if place and line.strip() else ""
        torn = above.rstrip().lower().endswith(_WROTE_STARTS)  # "ha scritto" and "a écrit" may stand on two lines
        attributed = _says_wrote(line) or (torn and _says_wrote(_joined((above, line))))
        header = _attribution(lines, place) if attributed else None
        header = header or _dated(lines, place)
        if header is not None:
            found.setdefault(header.start, header)
    chosen: list[QuoteHeader] = []
    for header in sorted(found.values(), key=lambda one: (one.start, -one.end)):
        if not chosen or header.start >= chosen[-1].end:
            chosen.append(header)
    return chosen


def _may_be_header(bare: str) -> bool:
    return (":" in bare or "：" in bare) and (bare[:2] in _HEADERS_BEGIN or bare[0] in _HEADERS_BEGIN)


def _says_wrote(line: str) -> bool:
    lowered = line.lower()
    return any(word in lowered for word in _WROTE_WORDS) and bool(_WROTE.search(line))


# -- attributions ------------------------------------------------------------------------------------------------------


def _attribution(lines: Sequence[str], number: int) -> QuoteHeader | None:
    header = _sentence(lines, number)
    return header and _completed(lines, header)


def _completed(lines: Sequence[str], header: QuoteHeader) -> QuoteHeader:
    """With what wrapping has torn off: the end of the sentence below, the name above."""
    start, end = header.start, header.end
    whole = _joined(lines[start:end])
    if not whole.endswith((":", "：")) or whole.count("(") > whole.count(")"):
        for last in range(end, min(len(lines), end + _LINES_AFTER)):
            if not lines[last].strip() or margin_of(lines[last]) != margin_of(lines[start]):
                break
            rest = _joined(lines[end : last + 1])
            if rest.endswith((":", "：")):
                if len(rest) < 3 or _ADDRESS.search(rest) or _DATED.search(rest):
                    end = last + 1
                break
    while (
        start > 0 and header.start - start < 2 and not header.column and _tears(lines, start, _joined(lines[start:end]))
    ):
        start -= 1
    return QuoteHeader(header.kind, start, end, header.column)


def _tears(lines: Sequence[str], start: int, below: str) -> bool:
    """Whether the line above `start` holds the name that an attribution `below` begins with."""
    above = lines[start - 1].strip(_TRIM)
    if not above or len(above) > 80 or _OPENED.match(below) or margin_of(lines[start - 1]) != margin_of(lines[start]):
        return False
    if above.endswith("<"):
        return True
    first = start == 1 or not lines[start - 2].strip()
    named = len(above.split()) <= 6 and above[-1] not in ".?!:," and _TORN.match(below)
    return first and bool(named or _NAMED.match(above))


def _sentence(lines: Sequence[str], number: int) -> QuoteHeader | None:
    """The run of lines around the one with the verb that reads as "On … wrote:"."""
    if header := _late(lines, number) or _apart(lines, number):
        return header
    if _OPENED.match(lines[number].lstrip(_TRIM)) and _reads_as_attribution(_joined(lines[number : number + 1]), True):
        return QuoteHeader("attribution", number, number + 1)
    above = number
    while above > 0 and number - above < _LINES_BEFORE and lines[above - 1].strip():
        above -= 1
    opened = [first for first in range(number, above - 1, -1) if _OPENED.match(lines[first].lstrip(_TRIM))]
    dated = [first for first in range(number, above - 1, -1) if _DATED.search(lines[first])]
    others = dated[:1] if dated[:1] and dated[0] >= number - 1 else []
    for first in (*opened[:1], *others, number):
        for last in range(number, min(len(lines), number + _LINES_AFTER + 1)):
            if last > number and not lines[last].strip():
                break
            if _reads_as_attribution(_joined(lines[first : last + 1]), first in opened):
                return QuoteHeader("attribution", first, last + 1)
    return QuoteHeader("attribution", number, number + 1) if _introduces(lines, number) else None


def _introduces(lines: Sequence[str], number: int) -> bool:
    """Whether a short line that ends with the verb and a colon stands right above quoted lines."""
    line = lines[number].strip(_TRIM)
    if len(line.split()) > 12 or not line.endswith((":", "：")) or not _ENDS.search(line):
        return False
    below = next((text for text in lines[number + 1 : number + 4] if text.strip()), "")
    return margin_of(below) and not margin_of(lines[number])


def _joined(lines: Sequence[str]) -> str:
    return " ".join(line.lstrip(" \t>|*").strip() for line in lines)


def _reads_as_attribution(joined: str, opened: bool) -> bool:
    dashed = joined.startswith("--") and joined.rstrip().endswith("--")
    text = joined.strip(_TRIM)
    if len(text) > _LONGEST_ATTRIBUTION or not _WROTE.search(text):
        return False
    if dashed:
        return bool(re.search(r"\bwrote$", text))
    if not _ENDS.search(text):
        return False
    if opened and re.search(r"\d", text):
        return True
    ends_so = text.endswith((":", "："))
    has_address = bool(_ADDRESS.search(text))
    return ends_so and (has_address or (bool(_DATED.search(text)) and len(text) < 200))


def _apart(lines: Sequence[str], number: int) -> QuoteHeader | None:
    """An attribution torn into lines with blank ones between: a date and name, `<`, `mailto:…`, `> wrote:`."""
    if not re.match(r"\s*>\s*wrote\s*:", lines[number]):
        return None
    for first in range(number - 1, max(-1, number - 7), -1):
        if _OPENED.match(lines[first].lstrip(_TRIM)) and re.search(r"\d", lines[first]):
            between = "".join(lines[first + 1 : number])
            return QuoteHeader("attribution", first, number + 1) if "<" in between else None
    return None


def _late(lines: Sequence[str], place: int) -> QuoteHeader | None:
    """An attribution behind the reply's last words on the same line."""
    match = _LATE.search(lines[place]) if "On " in lines[place][1:] else None
    if match is None or not any(char.isalnum() for char in lines[place][: match.start()]):
        return None
    return QuoteHeader("attribution", place, place + 1, match.start())


def _dated(lines: Sequence[str], place: int) -> QuoteHeader | None:
    """A date and an address without a verb; the address perhaps on the next line.

    `2016-10-24 15:36 GMT+02:00 Name <address>:` or `Пн, 24 окт. 2016 г. в 15:36, Name <address>:`
    """
    for last in range(place, place + 1 + _LINES_AFTER):
        if last >= len(lines) or not lines[last].strip():
            return None
        joined = _joined(lines[place : last + 1])
        to_address = joined.rstrip(" :：").endswith(">")
        if to_address and _DATE_TO_ADDRESS.match(joined):
            return QuoteHeader("attribution", place, last + 1)
        match = _DATE_FIRST.match(joined)
        if match is None:
            continue
        addressed = re.search(rf"{_BRACKETED}\s*[:：]?$", joined)
        if addressed or (match["zone"] and last == place and not joined.endswith("<")):
            return QuoteHeader("attribution", place, last + 1)
    return None


# -- dividers and copied headers ---------------------------------------------------------------------------------------


def _divider(lines: Sequence[str], place: int) -> QuoteHeader | None:
    line = lines[place]
    if glued := _DIVIDER_AND_HEADER.match(line):
        end, _ = block(lines, place + 1)
        return QuoteHeader("divider" if glued["original"] else "forwarded", place, end)
    if _ORIGINAL.match(line) and (line.strip(_TRIM) != line.strip() or _has_headers_below(lines, place)):
        return QuoteHeader("divider", place, end_below(lines, place + 1))
    if not _FORWARDED.match(line):
        return None
    if _BETWEEN_DASHES.match(line) or line.rstrip().endswith((":", "：")) or _has_headers_below(lines, place):
        return QuoteHeader("forwarded", place, end_below(lines, place + 1))
    return None


def _has_headers_below(lines: Sequence[str], place: int) -> bool:
    return any(HEADER.match(line) for line in lines[place + 1 : place + 4])


def _headers(lines: Sequence[str], place: int) -> QuoteHeader | None:
    """A block of at least two different headers with a date or subject among them, and a rule above it if any."""
    start = place
    if _DIVIDER.match(lines[place]):
        place += 1
        while place < len(lines) and place < start + 3 and not lines[place].strip():
            place += 1
    if place >= len(lines) or not HEADER.match(lines[place]):
        return None
    end, fields = block(lines, place)
    if len(set(fields)) < 2 or not {"date", "subject"}.intersection(fields):
        return None
    if "from" not in fields and fields[0] != "date":
        return None
    above = place - 1
    while above > 0 and place - above < 3 and not lines[above].strip():
        above -= 1
    if above >= 0 and _BETWEEN_DASHES.match(lines[above]):
        start = above  # whatever is said between the dashes, in whichever language
    return QuoteHeader("headers", start, end)
