"""Which words of a mail are its own: everything but quoted history, signatures and footers. Nothing is deleted.

Spans are reported with a reason. `FOLDED` ones are history and trimmings, shown only on demand; the others are not
indexed either, but stay in what a reader sees: an answer between quoted lines makes no sense without them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby

from ...models import FOLDED, Document, Excluded
from . import phrases, signatures
from .attributions import ATTRIBUTION, DIVIDER, FORWARDED, Span, find, is_quoted, next_words
from .signatures import CLOSING, FOOTER

__all__ = ["ATTRIBUTION", "CLOSING", "FORWARDED", "QUOTE", "excluded_of", "not_indexed", "own_words", "quoted_blocks"]

QUOTE = "quote"  #: history
INLINE_QUOTE = "inline quote"  #: quoted lines that are answered between
PGP = "pgp"

_WRAPPED_WIDTH = 70  #: characters to which programs wrap lines, at least
_LONGEST_LINE = 8_000  #: characters of a line that are looked at
#: What stands for words that were cut out of a quote.
_CUT = re.compile(rf"\s*[\[(<{{*-]+\s*(?:{phrases.any_of('snips')})\b.{{0,30}}$", re.I)
_LINK = re.compile(r"[(<]?https?://\S+[)>]?\s*>?$")
_ARMOUR_HEADER = re.compile(r"[A-Z][\w-]*: ")


def excluded_of(text: str) -> tuple[Excluded, ...]:
    """The spans of a mail's text that aren't its own words, in order, not overlapping.

    A mail that has no words of its own keeps its quotes: nothing but its trimmings is excluded.
    """
    lines = text.split("\n")
    # no line of a mail is so long; the expressions that go through it cost too much there
    kinds, columns = _kinds([line[:_LONGEST_LINE] for line in lines])
    for reasons in (set(kinds), {PGP, FORWARDED, FOOTER}, set[str]()):
        kinds = [kind if kind in reasons else "" for kind in kinds]
        if columns or any(not kind and _is_word(line) for line, kind in zip(lines, kinds, strict=True)):
            break
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    found = []
    for kind, group in groupby(range(len(lines)), kinds.__getitem__):
        places = list(group)
        start = starts[places[0]] + columns.get(places[0], 0)
        end = min(len(text), starts[places[-1] + 1] - 1)
        if kind and start < end:
            found.append(Excluded(start, end, kind))
    return tuple(found)


def own_words(text: str, excluded: Iterable[Excluded], reasons: Iterable[str] = FOLDED) -> str:
    """The text without the spans excluded for one of the reasons."""
    pieces, reached, wanted = [], 0, frozenset(reasons)
    for span in excluded:
        if span.reason in wanted:
            pieces.append(text[reached : span.start])
            reached = span.end
    return "".join([*pieces, text[reached:]]).strip("\n")


def _kinds(lines: Sequence[str]) -> tuple[list[str], dict[int, int]]:
    """(why each line is excluded, empty for own words; the lines of which only what follows a column is)."""
    end = signatures.footer_start(lines)
    footer, lines = [FOOTER] * (len(lines) - end), lines[:end]
    kinds = _armour(lines)
    columns: dict[int, int] = {}
    headers = {header.start: header for header in find(lines) if not kinds[header.start]}
    runs: list[tuple[int, int, int]] = []  # where quoted lines are introduced, begin and end
    place, own = 0, False
    while place < end:
        header = headers.get(place)
        if header is None and (kinds[place] or not is_quoted(lines[place])):
            own = own or (not kinds[place] and _is_word(lines[place]))
            place += 1
            continue
        header = header or Span(place, place, ATTRIBUTION)
        if header.column:
            columns[place], own = header.column, True
        below = next_words(lines, header.end)
        while below < end and not is_quoted(lines[below]) and not _is_word(lines[below]):
            below = next_words(lines, below + 1)
        quoted_below = below < end and is_quoted(lines[below])
        alone = header.kind == DIVIDER or (header.kind == FORWARDED and not quoted_below)
        if is_quoted(lines[place]) or (quoted_below and not alone):
            stop = _end_of_run(lines, below if quoted_below and not alone else header.end, headers)
            runs.append((place, header.end, stop))
            _mark(kinds, place, header.end, ATTRIBUTION)
            _mark(kinds, header.end, stop, QUOTE)
            place = stop
        elif own:
            _mark(kinds, place, header.end, ATTRIBUTION)
            _mark(kinds, header.end, end, QUOTE)
            end = place
        else:
            _mark(kinds, place, header.end, FORWARDED if alone else ATTRIBUTION)
            place = header.end
    for span in signatures.find(lines, end, [bool(kind) for kind in kinds]):
        _mark(kinds, span.start, span.end, span.kind)
    for number, (introduced, start, stop) in enumerate(runs):
        following, quoted = runs[number + 1][:2] if number + 1 < len(runs) else (end, end + 1)
        is_answered = any(not kinds[at] and _is_word(lines[at]) for at in range(stop, following))
        if is_answered and (introduced == start or following == quoted):
            _mark(kinds, start, stop, INLINE_QUOTE)
    return kinds + footer, columns


def _mark(kinds: list[str], start: int, end: int, kind: str) -> None:
    kinds[start:end] = [kind] * (end - start)


def _is_word(line: str) -> bool:
    return any(map(str.isalnum, line)) and not _CUT.match(line)


def _end_of_run(lines: Sequence[str], start: int, headers: dict[int, Span]) -> int:
    """The line after the last quoted line of a run: blank lines, cuts and wrapped links inside belong to it."""
    place = end = start
    while place < len(lines):
        line = lines[place]
        if is_quoted(line):
            end = place + 1
        elif _is_word(line) and (place in headers or not _is_wrapped_link(lines, place)):
            break
        place += 1
    return end


def _is_wrapped_link(lines: Sequence[str], place: int) -> bool:
    """Whether an unmarked line between quoted ones is the rest of a link that a program wrapped."""
    line, below = lines[place].strip(), next_words(lines, place + 1)
    if place == 0 or below == len(lines) or not is_quoted(lines[place - 1]) or not is_quoted(lines[below]):
        return False
    if _LINK.match(line):
        return below == place + 1 or len(lines[place - 1].rstrip()) + len(line) >= _WRAPPED_WIDTH
    return " " not in line and line.endswith((")", ">")) and "(" not in line and "<" not in line


def _armour(lines: Sequence[str]) -> list[str]:
    """PGP for the lines of signatures, keys and encrypted text, and for those above a signed text."""
    kinds = []
    inside = signed = False
    for line in lines:
        if line.startswith("-----BEGIN PGP "):
            inside, signed = True, "SIGNED MESSAGE" in line
        elif signed and not _ARMOUR_HEADER.match(line):
            inside = signed = False
        kinds.append(PGP if inside else "")
        if line.startswith("-----END PGP "):
            inside = False
    return kinds


# -- quoted blocks -----------------------------------------------------------------------------------------------------

_SHORTEST = 5  #: words of a quoted block that are worth finding; of fewer nobody can tell where they come from
_WORD = re.compile(r"[\u2e80-\u9fff]|[^\W\u2e80-\u9fff]+")  # ideographs are written without spaces


def quoted_blocks(document: Document) -> Iterator[Document]:
    """The mail once for each block that it quotes, with everything else excluded.

    A block is what one person said in one go: quoted lines of one depth, without the lines that introduce them. The
    text is the same, so that passages of a block have their place in the mail.
    """
    text, blocks = document.text, document.blocks
    starts = [block.start for block in blocks]
    ends = [block.end for block in blocks]
    following = [*(span.start for span in document.excluded[1:]), len(text)]
    for span, below in zip(document.excluded, following, strict=False):
        if span.reason not in (QUOTE, INLINE_QUOTE):
            continue
        is_answered = span.reason == QUOTE and any(map(str.isalnum, text[span.end : below]))
        for start, end in _runs(text, span):
            short = len(_WORD.findall(text, start, end)) < _SHORTEST
            if short and not is_answered:
                continue
            # Whole lines without the breaks beside the block: what is shorter than a line would stay in a passage.
            rest = (Excluded(0, start - 1, "elsewhere"), Excluded(end + 1, len(text), "elsewhere"))
            inside = blocks[bisect_right(ends, start) : bisect_left(starts, end)]
            yield replace(document, blocks=inside, headings=(), excluded=tuple(x for x in rest if x.end > x.start))


def not_indexed(document: Document) -> list[Excluded]:
    """The excluded spans but short quotes between answers: these are found with the mail's own words."""
    text = document.text
    return [
        span
        for span in document.excluded
        if span.reason != INLINE_QUOTE or len(_WORD.findall(text, span.start, span.end)) >= _SHORTEST
    ]


def _runs(text: str, span: Excluded) -> Iterator[tuple[int, int]]:
    """Runs of lines of one depth between headers, as (start, end) in the text; blank lines belong to any depth."""
    lines = text[span.start : span.end].split("\n")
    introducing = {place for header in find(lines) for place in range(header.start, header.end)}
    offset, start, end, depth = span.start, -1, 0, 0
    for place, line in enumerate(lines):
        bare = line.lstrip("> \t\xa0")
        here = line.count(">", 0, len(line) - len(bare)) if is_quoted(line) else 0
        if start >= 0 and (place in introducing or (bare and here != depth)):
            yield start, end
            start = -1
        if bare and place not in introducing:
            if start < 0:
                start, depth = offset, here
            end = offset + len(line)
        offset += len(line) + 1
    if start >= 0:
        yield start, end
