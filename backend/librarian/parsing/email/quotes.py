"""Which words of a mail are its own: everything but quoted history, signatures and footers. Nothing is deleted.

Spans are reported with a reason. `FOLDED` ones are history and trimmings, shown only on demand; the others are not
indexed either, but stay in what a reader sees: an answer between quoted lines makes no sense without them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...models import FOLDED, Document, Excluded
from . import phrases, signatures
from .attributions import QuoteHeader, find, margin_of
from .signatures import FOOTER, FOOTER_LINES, SIGNATURE, is_list_page, may_open, opens

QUOTE = "quote"  #: history
INLINE_QUOTE = "inline quote"  #: quoted lines that are answered between
ATTRIBUTION = "quote header"  #: what introduces it: "On … wrote:", copied headers
FORWARDED = "forwarded header"
CLOSING = "closing"  #: "Thanks, Ann"
PGP = "pgp"

QUOTED = frozenset({QUOTE, INLINE_QUOTE})

_WRAPPED_WIDTH = 70  #: characters to which programs wrap lines, at least
_SENT_FROM = re.compile(rf"^[\s*_<(]*(?:{'|'.join(phrases.SENT_FROM)})$", re.I)
_PROSE = re.compile(r"\b(?:is|are|was|were|will|would|have|had|because)\b", re.I)
_SENT_FROM_LONGEST = 120
_LONGEST_LINE = 8_000  #: characters of a line that are looked at
_SNIP = rf"[\[(<{{*-]+\s*(?:{'|'.join(phrases.SNIPS)})\b[^\])>}}*-]{{0,30}}[\])>}}*-]+"
_LEFT_OUT = re.compile(rf"^\s*+(?:[\[(<{{*-]*+\s*+(?:\.{{3,}}|…)\s*[\])>}}*-]*|{_SNIP})\s*$", re.I)  #: out of a quote
_RULE = re.compile(r"^\s*(?:[-_=*#~+—–ᐧ]\s*)+$")
_PGP_BEGIN = re.compile(r"^-----BEGIN PGP (?P<what>[A-Z ]+)-----\s*$")
_PGP_END = "-----END PGP "


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines [start, end), the first from `column` on."""

    start: int
    end: int
    reason: str
    column: int = 0


def excluded_of(text: str) -> tuple[Excluded, ...]:
    """The spans of a mail's text that aren't its own words, in order, not overlapping.

    A mail that has no words of its own keeps its quotes: nothing but its trimmings is excluded.
    """
    whole = text.split("\n")
    # no line of a mail is so long; the expressions that go through it cost too much there
    lines = [line[:_LONGEST_LINE] for line in whole]
    spans = _spans(lines)
    if not _has_words(lines, spans):
        spans = [span for span in spans if span.reason in (PGP, FORWARDED, FOOTER)]
        if not _has_words(lines, spans):
            spans = []
    starts = [0]
    for line in whole:
        starts.append(starts[-1] + len(line) + 1)
    return tuple(
        Excluded(starts[span.start] + span.column, min(len(text), starts[span.end] - 1), span.reason)
        for span in _merged(spans)
        if starts[span.start] + span.column < min(len(text), starts[span.end] - 1)
    )


def own_words(text: str, excluded: Iterable[Excluded], reasons: Iterable[str] = FOLDED) -> str:
    """The text without the spans excluded for one of the reasons."""
    pieces, reached, wanted = [], 0, frozenset(reasons)
    for span in excluded:
        if span.reason in wanted:
            pieces.append(text[reached : span.start])
            reached = span.end
    return "".join([*pieces, text[reached:]]).strip("\n")


# -- quotes ------------------------------------------------------------------------------------------------------------


def _spans(lines: Sequence[str]) -> list[_Span]:
    """All spans; they may overlap. What a list adds at the very end is nobody's quote, whatever stands above it."""
    footer = _footer_below(lines)
    return [*_spans_above(lines[: footer.start]), footer] if footer else _spans_above(lines)


def _footer_below(lines: Sequence[str]) -> _Span | None:
    end = len(lines)
    while end > 0 and not lines[end - 1].strip():
        end -= 1
    if end > 1 and is_list_page(lines[end - 1]) and not lines[end - 2].strip():
        above = next((line for line in reversed(lines[: end - 1]) if line.strip()), "")
        if not above.rstrip().endswith((":", "：")):  # else somebody says where it is
            return _Span(end - 1, end, FOOTER)
    for place in range(end - 1, max(-1, end - 2 - FOOTER_LINES), -1):
        if margin_of(lines[place]):
            return None
        if may_open(lines[place]) and any(map(_is_word, lines[place + 1 : end])):  # else a rule that closes it
            return _Span(place, end, FOOTER) if opens(lines, place, end) == FOOTER else None
    return None


def _spans_above(lines: Sequence[str]) -> list[_Span]:
    spans = list(_pgp(lines))
    covered = _covered(len(lines), spans)
    end = len(lines)
    headers = {header.start: header for header in find(lines) if not covered[header.start]}
    runs: list[tuple[_Span, int]] = []  # quoted lines, and where their attribution ends
    place, own = 0, False
    while place < end:
        header = headers.get(place)
        if header is None:
            if margin_of(lines[place]) and not covered[place] and "<<<" not in lines[place]:
                stop = _end_of_run(lines, place, headers)
                runs.append((_Span(place, stop, QUOTE), place))
                place = stop
            else:
                own = own or _is_word(lines[place])
                place += 1
            continue
        own = own or header.column > 0
        following = _next_words(lines, header.end, left_out=True)
        quoted_below = following < end and margin_of(lines[following])
        alone = header.kind in ("divider", "headers") or (header.kind == "forwarded" and not quoted_below)
        if margin_of(lines[place]) or (quoted_below and not alone):
            stop = _end_of_run(lines, following if quoted_below and not alone else header.end, headers)
            runs.append((_Span(place, stop, QUOTE, header.column), header.end))
            place = stop
        elif own:
            spans += _introduced(header, end)
            end = place + (1 if header.column else 0)
            break
        else:
            stop = max(header.end, place + 1)
            spans.append(_Span(place, stop, FORWARDED if alone else ATTRIBUTION))
            place = stop
    spans += _trimmings(lines, end, [span for span, _ in runs] + spans)
    return spans + _classified_runs(lines, runs, end, spans)


def _classified_runs(
    lines: Sequence[str], runs: Sequence[tuple[_Span, int]], end: int, others: Sequence[_Span]
) -> list[_Span]:
    """Runs of quoted lines as history where they are introduced or come last, else as context of what follows."""
    spans: list[_Span] = []
    covered = _covered(len(lines), [*others, *(span for span, _ in runs)])
    for number, (span, after_header) in enumerate(runs):
        later = runs[number + 1][0] if number + 1 < len(runs) else None
        words_below = any(
            _is_word(lines[place]) and not covered[place] for place in range(span.end, later.start if later else end)
        )
        introduced = after_header > span.start
        answered_between = words_below and later is not None and runs[number + 1][1] == later.start
        if answered_between or (words_below and not introduced):
            if introduced:
                spans.append(_Span(span.start, after_header, ATTRIBUTION, span.column))
            spans.append(_Span(after_header, span.end, INLINE_QUOTE))
        else:
            spans += _introduced(QuoteHeader("attribution", span.start, after_header, span.column), span.end)
    return spans


def _introduced(header: QuoteHeader, end: int) -> list[_Span]:
    """History up to `end`: the lines that introduce it, and itself."""
    intro = [_Span(header.start, header.end, ATTRIBUTION, header.column)] if header.end > header.start else []
    return intro + ([_Span(header.end, end, QUOTE)] if end > header.end else [])


def _end_of_run(lines: Sequence[str], start: int, headers: dict[int, QuoteHeader]) -> int:
    """The line after the last quoted line of a run: blank lines, cuts and wrapped links inside belong to it."""
    place = end = start
    while place < len(lines):
        line = lines[place]
        if margin_of(line):
            end = place + 1
        elif line.strip() and not _LEFT_OUT.match(line):
            header = headers.get(place)
            if header is not None or not _is_wrapped_link(lines, place):
                break
        place += 1
    return end


def _is_wrapped_link(lines: Sequence[str], place: int) -> bool:
    """Whether an unmarked line between quoted ones is the rest of a link that a program wrapped."""
    line = lines[place].strip()
    if place == 0 or place + 1 >= len(lines) or not margin_of(lines[place - 1]):
        return False
    below = _next_words(lines, place + 1)
    if below >= len(lines) or not margin_of(lines[below]):
        return False
    if re.match(r"[(<]?https?://\S+[)>]?\s*>?$", line):
        return below == place + 1 or len(lines[place - 1].rstrip()) + len(line) >= _WRAPPED_WIDTH
    return " " not in line and line.endswith((")", ">")) and "(" not in line and "<" not in line


def _next_words(lines: Sequence[str], place: int, *, left_out: bool = False) -> int:
    """The next line that isn't blank, nor with `left_out` a mark for what was cut out of a quote."""
    while place < len(lines) and (not lines[place].strip() or (left_out and _LEFT_OUT.match(lines[place]))):
        place += 1
    return place


# -- trimmings ---------------------------------------------------------------------------------------------------------


def _trimmings(lines: Sequence[str], end: int, taken: Sequence[_Span]) -> list[_Span]:
    """Signatures, footers and closings of the lines before `end` that aren't taken yet."""
    covered = _covered(len(lines), taken)
    found: list[_Span] = []
    place = stop = 0
    while place < end:
        if not covered[place] and may_open(lines[place]):
            stop = stop if place < stop else _stop(place, end, covered)
            if reason := opens(lines, place, stop):
                last = signatures.postscript(lines, place, stop) if reason == SIGNATURE else stop
                found.append(_Span(place, last, reason))
                place = last
                continue
        place += 1
    for one in found:
        _mark(covered, one)
    last = _above_devices(lines, end, covered, found)
    if (start := signatures.start(lines, last, covered)) is not None:
        found.append(_Span(start, last, SIGNATURE))
        _mark(covered, found[-1])
        last = _above_devices(lines, start, covered, found)
    found += [_Span(start, stop, CLOSING) for start, stop in signatures.find_closings(lines, last, covered)]
    return found


def _above_devices(lines: Sequence[str], last: int, covered: list[bool], found: list[_Span]) -> int:
    """From below: above lines that devices add, and rules without anything under them, which are `found`."""
    while last > 0:
        line = lines[last - 1]
        if covered[last - 1] or not line.strip():
            last -= 1
        elif _RULE.match(line) or _is_sent_from(line):
            found.append(_Span(last - 1, last, SIGNATURE))
            covered[last - 1] = True
            last -= 1
        else:
            break
    return last


def _stop(place: int, end: int, covered: Sequence[bool]) -> int:
    while place < end and not covered[place]:
        place += 1
    return place


def _is_sent_from(line: str) -> bool:
    return len(line) <= _SENT_FROM_LONGEST and bool(_SENT_FROM.match(line.strip())) and not _PROSE.search(line)


def _pgp(lines: Sequence[str]) -> Iterable[_Span]:
    place = 0
    while place < len(lines):
        match = _PGP_BEGIN.match(lines[place]) if lines[place].startswith("-----") else None
        if match is None:
            place += 1
            continue
        if match["what"] == "SIGNED MESSAGE":
            stop = place + 1
            while stop < len(lines) and re.match(r"[A-Z][\w-]*: ", lines[stop]):
                stop += 1
            yield _Span(place, stop, PGP)
        else:
            stop = place + 1
            while stop < len(lines) and not lines[stop].startswith(_PGP_END):
                stop += 1
            if stop == len(lines) and match["what"] == "PUBLIC KEY BLOCK":
                place += 1
                continue
            stop = min(stop + 1, len(lines))
            yield _Span(place, stop, PGP)
        place = stop


# -- lines -------------------------------------------------------------------------------------------------------------


def _is_word(line: str) -> bool:
    return any(char.isalnum() for char in line) and not _LEFT_OUT.match(line)


def _mark(covered: list[bool], span: _Span) -> None:
    first = span.start + (1 if span.column else 0)
    for place in range(first, min(span.end, len(covered))):
        covered[place] = True


def _covered(length: int, spans: Iterable[_Span]) -> list[bool]:
    covered = [False] * length
    for span in spans:
        _mark(covered, span)
    return covered


def _has_words(lines: Sequence[str], spans: Sequence[_Span]) -> bool:
    """Whether anything is left to read: a closing alone isn't."""
    covered = _covered(len(lines), spans)
    heads = {span.start: span.column for span in spans if span.column}
    return any(
        _is_word(line[: heads[place]] if place in heads else line)
        for place, line in enumerate(lines)
        if not covered[place]
    )


def _merged(spans: Sequence[_Span]) -> list[_Span]:
    """In order, without overlaps: what begins first wins, of two that begin together the longer one."""
    merged: list[_Span] = []
    for span in sorted(spans, key=lambda one: (one.start, one.column, -one.end)):
        start = max(span.start, merged[-1].end) if merged else span.start
        if start < span.end:
            merged.append(_Span(start, span.end, span.reason, span.column if start == span.start else 0))
    return merged


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
    for span in document.excluded:
        if span.reason not in QUOTED:
            continue
        for start, end in _runs(text, span):
            short = len(_WORD.findall(text, start, end)) < _SHORTEST
            if short and (span.reason == INLINE_QUOTE or not _is_answered(document, span)):
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


def _is_answered(document: Document, span: Excluded) -> bool:
    """Whether words of the mail's own follow a quoted span."""
    below = next((one.start for one in document.excluded if one.start >= span.end), len(document.text))
    return any(map(str.isalnum, document.text[span.end : below]))


def _runs(text: str, span: Excluded) -> Iterator[tuple[int, int]]:
    """Runs of lines of one depth between headers, as (start, end) in the text; blank lines belong to any depth."""
    lines = text[span.start : span.end].split("\n")
    introducing = {place for header in find(lines) for place in range(header.start, header.end)}
    offset, start, end, depth = span.start, -1, 0, 0
    for place, line in enumerate(lines):
        bare = line.lstrip("> \t\xa0")
        here = line.count(">", 0, len(line) - len(bare)) if margin_of(line) else 0
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
