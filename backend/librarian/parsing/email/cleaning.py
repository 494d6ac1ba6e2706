"""Which words of a mail are its own: everything but quoted history, signatures and footers. Nothing is deleted.

Spans are reported with a reason. `FOLDED` ones are history and trimmings, shown only on demand; the others are not
indexed either, but stay in what a reader sees: an answer between quoted lines makes no sense without them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...models import FOLDED, Excluded
from . import phrases, prompts, signatures
from .quoting import Border, find, margin_of
from .signatures import FOOTER, FOOTER_LINES, SIGNATURE, is_list_page, may_open, opens

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
#: What stands above the first of them.
_HEADER = re.compile(
    r"---\s|\+\+\+\s|diff\s|[Ii]ndex[: ]|={20,}$|(?:new|old|deleted) (?:file )?mode |(?:dis)?similarity |"
    r"(?:rename|copy) |RCS file: |retrieving "
)
_MASK = "§"  #: no word, no rule, no mark of a quote


def with_masks(lines: Sequence[str]) -> list[str]:
    """The lines with another first character where it is a patch's; as long as they were."""
    if not any(line.startswith("@@ -") for line in lines):
        return list(lines)
    inside = set(_inside(lines))
    return [_MASK + line[1:] if line and place in inside else line for place, line in enumerate(lines)]


def patch_lines(lines: Sequence[str]) -> list[tuple[int, int]]:
    """(first line with its header, first hunk) of the patches, in order; their lines may be masked."""
    found: list[tuple[int, int]] = []
    for hunk, line in enumerate(lines):
        if line.startswith("@@ -") and _HUNK.match(line):
            first = hunk
            while first > 0 and _HEADER.match(lines[first - 1]):
                first -= 1
            found.append((first, hunk))
    return found


def _inside(lines: Sequence[str]) -> Iterator[int]:
    """Places of the lines that hunks consist of, as many as their headers say, or up to what can be none of theirs."""
    place = 0
    while place < len(lines):
        header = _HUNK.match(lines[place])
        place += 1
        if header is None:
            continue
        old, new = (int(count) if count else 1 for count in header.groups())
        while place < len(lines) and (old > 0 or new > 0):
            mark = lines[place][:1]
            if mark not in ("", " ", "+", "-", "\\", "\t"):
                break
            old -= mark not in ("+", "\\")
            new -= mark not in ("-", "\\")
            yield place
            place += 1


_FIRST = "-" * 70  #: below what the list says itself
_RULES = frozenset({_FIRST, "-" * 30})  #: between mails
_END = re.compile(r"End of \S.{0,100}$")
_LAST = 12  #: lines among which the end is told, with what another program adds
#: Mailman's first words: above them stands only what somebody wrote who answers.
_BEGIN = re.compile(r"Send \S.{0,80} mailing list submissions to$")
_DIGEST_HEADER = re.compile(r"[A-Z][\w-]{1,30}: ")


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
        if start < stop and _DIGEST_HEADER.match(lines[start]):
            while start < stop and lines[start].strip():
                start += 1
        yield start, stop


_PART = r"-{14} \S.{2,38}\S -{14}"  #: in the language of the list
_ALONE = re.compile(rf"(?:{_PART}|Skipped content of type [\w./+-]+?(?:{_PART})?)\s*$")
_DELETED = re.compile(
    r"\s*\[\[alternat(?:ive|e) HTML version deleted\]\]\s*$|.{10,80}\.\.\. ?\{\{dropped(?::\d+)?\}\}\s*$"
)
_LINK = re.compile(r"\w{2,10} ?: <?\S*/attachments/\S+>?\s*$")
_FIELD = re.compile(r"[^\W\d_][\w -]{1,20} ?: ")
_FIELDS = 8  #: of a notice at most, with its first line
#: What somebody may look for: the name of a file, but of none that is there for programs.
_NAME = re.compile(r"Name ?: \S.*\.(?!(?:asc|pgp|sig|p7s|vcf)\s*$)\w{1,5}\s*$")


def find_notices(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Lines [start, stop) of the notices, in order, without the names of files in them."""
    for place, line in enumerate(lines):
        if _is_whole(line):
            yield place, place + 1
        elif "/attachments/" in line and _LINK.match(line):
            first = _first(lines, place)
            start = place if first is None else first
            for one in range(start, place):
                if _NAME.match(lines[one]):
                    yield start, one
                    start = one + 1
            if first is not None:
                yield start, place + 1


def _is_whole(line: str) -> bool:
    """Whether the line alone is a notice."""
    if line.startswith(("--------------", "Skipped content")):
        return bool(_ALONE.match(line))
    return line.rstrip().endswith(("]]", "}}")) and not margin_of(line) and bool(_DELETED.match(line))


def _first(lines: Sequence[str], link: int) -> int | None:
    """The line that says what was taken out, above the fields that end with the link; None where that is no notice."""
    for place in range(link - 1, max(-1, link - _FIELDS), -1):
        if lines[place].rstrip().endswith(("...", "…")):
            return place
        if not _FIELD.match(lines[place]):
            return None
    return None


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
_BAR = re.compile(r"(\s*)\|(?!.*\|\s*$)")  #: a quote mark of old programs; a table's row ends with one too
_INITIALS = re.compile(r"\s{0,8}([^\W\d_]{1,4})(?=>)")  #: of whom is quoted, as The Bat! and Supercite write them
_RULE = re.compile(r"^\s*(?:[-_=*#~+—–ᐧ]\s*)+$")
_SIGNATURE_MARK = "-- "  #: with the space, as programs write it
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
    lines = prompts.with_prompts(_with_arrows(with_masks(lines)))
    spans = _spans_of_digest(lines) if is_digest(lines) else _spans(lines)
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


def _with_arrows(lines: list[str]) -> list[str]:
    """The lines with `>` for `|`, and for initials in front of it, below what introduces such; none gets longer."""
    if not any(_BAR.match(line) or _INITIALS.match(line) for line in lines):
        return lines
    for border in find(lines):
        below = _next_words(lines, border.end)
        if border.kind not in ("attribution", "headers") or below == len(lines):
            continue
        if _BAR.match(lines[below]):
            return [*lines[:below], *(_BAR.sub(r"\1>", line) for line in lines[below:])]
        if initials := _INITIALS.match(lines[below]):
            mark = re.compile(rf"(\s*){initials[1]}(?=>)")
            lines = [*lines[:below], *(mark.sub(lambda found: " " * len(found[0]), line, 1) for line in lines[below:])]
    return lines


def _spans(lines: Sequence[str]) -> list[_Span]:
    """All spans; they may overlap. What a list adds at the very end is nobody's quote, whatever stands above it."""
    footer = _footer_below(lines)
    return [*_spans_above(lines[: footer.start]), footer] if footer else _spans_above(lines)


def _spans_of_digest(lines: Sequence[str]) -> list[_Span]:
    return [
        _Span(span.start + start, span.end + start, span.reason, span.column)
        for start, stop in parts(lines)
        for span in _spans(lines[start:stop])
    ]


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
    spans = [*_pgp(lines), *(_Span(start, stop, FOOTER) for start, stop in find_notices(lines))]
    covered = _covered(len(lines), spans)
    end = len(lines)
    borders = {border.start: border for border in find(lines) if not covered[border.start]}
    runs: list[tuple[_Span, int]] = []  # quoted lines, and where their attribution ends
    place, own = 0, False
    while place < end:
        border = borders.get(place)
        if border is not None and border.column:
            own = True
        if border is not None:
            following = _next_words(lines, border.end, left_out=True)
            quoted_below = following < end and margin_of(lines[following])
            if border.kind in ("divider", "headers") or (border.kind == "forwarded" and not quoted_below):
                if margin_of(lines[border.start]):
                    stop = _end_of_run(lines, border.end, borders)
                    runs.append((_Span(place, stop, QUOTE), border.end))
                    place = stop
                elif own:
                    spans += _introduced(border, end)
                    end = place
                else:
                    spans.append(_Span(border.start, border.end, FORWARDED))
                    place = border.end
            elif quoted_below or margin_of(lines[border.start]):
                stop = _end_of_run(lines, max(border.end, following if quoted_below else border.end), borders)
                runs.append((_Span(place, stop, QUOTE, border.column), border.end))
                place = stop
            elif own:
                spans += _introduced(border, end)
                end = place + (1 if border.column else 0)
                break
            else:
                place = max(border.end, border.start + 1)
                spans.append(_Span(border.start, place, ATTRIBUTION))
            continue
        if margin_of(lines[place]) and not covered[place] and not _is_banner(lines[place]):
            stop = _end_of_run(lines, place, borders)
            runs.append((_Span(place, stop, QUOTE), place))
            place = stop
            continue
        own = own or _is_word(lines[place])
        place += 1
    trimmings = _trimmings(lines, end, [span for span, _ in runs] + spans)
    spans += trimmings
    spans += _judged_runs(lines, runs, end, spans)
    return spans


def _judged_runs(
    lines: Sequence[str], runs: Sequence[tuple[_Span, int]], end: int, others: Sequence[_Span]
) -> list[_Span]:
    """Runs of quoted lines as history where they are introduced or come last, else as context of what follows."""
    judged: list[_Span] = []
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
                judged.append(_Span(span.start, after_header, ATTRIBUTION, span.column))
            judged.append(_Span(after_header, span.end, INLINE_QUOTE))
        else:
            judged += _introduced(Border("attribution", span.start, after_header, span.column), span.end)
    return judged


def _introduced(border: Border, end: int) -> list[_Span]:
    """History up to `end`: the lines that introduce it, and itself."""
    header = [_Span(border.start, border.end, ATTRIBUTION, border.column)] if border.end > border.start else []
    return header + ([_Span(border.end, end, QUOTE)] if end > border.end else [])


def _end_of_run(lines: Sequence[str], start: int, borders: dict[int, Border]) -> int:
    """The line after the last quoted line of a run: blank lines, cuts and wrapped links inside belong to it."""
    place = end = start
    while place < len(lines):
        line = lines[place]
        if margin_of(line):
            end = place + 1
        elif line.strip() and not _LEFT_OUT.match(line):
            border = borders.get(place)
            if border is not None or not (_is_wrapped_link(lines, place) or _is_wrapped_end(lines, place)):
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


def _is_wrapped_end(lines: Sequence[str], place: int) -> bool:
    """Whether an unmarked line right between quoted ones is what didn't fit on the line above, wrapped without a mark.

    It goes on in the middle of a sentence, with a word for which the line above had no room.
    """
    if place == 0 or place + 1 >= len(lines) or not margin_of(lines[place - 1]) or not margin_of(lines[place + 1]):
        return False
    above, line = lines[place - 1].rstrip(), lines[place].strip()
    word = line.split()[0] if line else ""
    full = len(above) + 1 + len(word) > _WRAPPED_WIDTH
    goes_on = line[:1].islower() and not set(word) & set("/_=<>") and not above.endswith((".", "!", "?", ":", ";"))
    remark = word.endswith(":") and word != line  # "typo: …"
    return full and goes_on and not remark and len(line) < len(above)


def _is_banner(line: str) -> bool:
    """`>>> http://… <<<`: decoration, not a quote."""
    return "<<<" in line


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
    patches = deque(patch_lines(lines[:end]))
    place = stop = 0
    while place < end:
        if not covered[place] and may_open(lines[place]):
            stop = stop if place < stop else _stop(place, end, covered)
            while patches and patches[0][1] < place:
                patches.popleft()
            last, patched = stop, bool(patches) and patches[0][1] < stop
            if patched:
                last = _end_of_paragraph(lines, place + 1, patches[0][0])
            # Other rules above a patch part it from what is said of it.
            reason = opens(lines, place, last) if not patched or lines[place] == _SIGNATURE_MARK else ""
            if reason == SIGNATURE:
                last = signatures.postscript(lines, place, last)
            if reason:
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


def _end_of_paragraph(lines: Sequence[str], place: int, end: int) -> int:
    while place < end and lines[place].strip():
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
    kept: list[_Span] = []
    for span in sorted(spans, key=lambda one: (one.start, one.column, -one.end)):
        start = max(span.start, kept[-1].end) if kept else span.start
        if start < span.end:
            kept.append(_Span(start, span.end, span.reason, span.column if start == span.start else 0))
    return kept
