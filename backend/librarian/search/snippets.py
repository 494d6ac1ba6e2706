"""What is shown of a hit: a coherent piece of its chunk, or of the section around it, with the match in it.

The spans that carry most of the query's words are chosen, then what surrounds them while there is space. A fence or a
table is shown whole where it fits, else by whole lines around the match. A chunk that was found by its meaning may hold
no word of the query: its best sentence then is the one with words that begin like the query's, or hold one of these; of
several, and where there is none, the first in the part of the chunk whose vector is nearest.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..models import AnalyzedQuery, Chunk, Frame, Snippet
from ..text.analyzer import StandardAnalyzer
from ..text.characters import spelt
from ..text.sanitizing import without_hidden
from .truncation import Place, Span, cut_to, heaviest, rendered, spans_of

CEILING = 600  #: characters that no snippet exceeds
CORE = 320  #: characters of the sentences that an excerpt is built around

#: An identifier counts as much as this many words; a word that only begins alike, or holds one, this share of one.
_IDENTIFIER, _ALIKE, _ALIKE_LETTERS = 3.0, 0.3, 5

#: What a sentence gains for standing in the part of its chunk that is nearest to the query, as a share of what a word
#: of the query brings that a single sentence holds.
_NEAREST = 0.6
_DEEPEST = 40  #: blanks before a chunk that are taken for its indentation; more stand in place of text left out

_PIECE = re.compile(r"\S+")
_BLANK, _BEFORE = re.compile(r"\s"), re.compile(r"\S*\Z")  #: what ends a piece, and what a piece has before a place
_WORD = re.compile(r"\w(?:.*\w)?", re.DOTALL)
#: Tokens that their words don't begin with; of others words have all letters but the last.
_IRREGULAR = {"die", "lie", "tie"}
#: What isn't ASCII, spells letters as HTML does, or joins one or two letters to a word: `e-mail` is `email`.
_ODD = re.compile(r"[-&<\x80-\U0010ffff](?:(?<!-)|(?<=[a-zA-Z]-)(?<![a-zA-Z]{3}-))")

#: Number of a span → the query's words in it with their weight; the numbers ascend.
Weights = dict[int, dict[str, float]]
#: First and last offset of each piece of a part of a text, which stand between two blanks.
Pieces = Callable[[str, int, int], list[tuple[int, int]]]


# -- where the query's words stand ---------------------------------------------------------------------------------


def all_pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Every piece of `text[start:end]`, which stands between two blanks."""
    return [piece.span() for piece in _PIECE.finditer(text, start, end)]


def english_prefilter(tokens: Collection[str]) -> Pieces:
    """What lets every piece through with one of the tokens in English, or with a token that begins like one; of others
    few. It only looks for letters, which is far quicker than taking every piece apart."""
    beginnings = {one[: 1 if one in _IRREGULAR else min(_ALIKE_LETTERS, max(len(one) - 1, 2))] for one in tokens}

    def pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
        lower = text[start:end].lower()
        if len(lower) != end - start:  # some letters have no small form of their length
            return all_pieces(text, start, end)
        places = [odd.start() for odd in _ODD.finditer(text, start, end)]
        for beginning in beginnings:
            at = lower.find(beginning)
            while at >= 0:
                places.append(start + at)
                at = lower.find(beginning, at + 1)
        found: list[tuple[int, int]] = []
        behind = start
        for at in sorted(places):
            if at >= behind:
                before = _BEFORE.search(text, text.rfind(" ", behind, at) + 1 or behind, at)
                blank = _BLANK.search(text, at, end)
                behind = blank.start() if blank else end
                if before and behind > at:  # not at a blank that isn't ASCII
                    found.append((before.start(), behind))
        return found

    return pieces


class MatchFinder(dict[str, Sequence[Place]]):
    """Piece → what of the query it says, and where, computed on first use. For one query and one language.

    Chunks of one answer share most of their words: each piece is taken apart once, for all of them.
    """

    def __init__(self, analyzer: StandardAnalyzer, wanted: Mapping[str, float], language: str) -> None:
        super().__init__()
        self._wanted = wanted
        self._beginnings = {token[:_ALIKE_LETTERS]: token for token in wanted if len(token) > _ALIKE_LETTERS}
        self._by_piece = analyzer.by_piece(language)
        self._pieces = english_prefilter(wanted) if language in ("", "en") and wanted else all_pieces

    def __missing__(self, piece: str) -> Sequence[Place]:
        every = self._by_piece[piece]
        if ("&" in piece or "<" in piece) and (read := spelt(piece)) != piece and (word := _WORD.search(piece)):
            every = [*every, *((token, *word.span(), name) for token, _, _, name in self._by_piece[read])]
        found = []
        for token, start, end, _ in every:
            if token in self._wanted:
                found.append(Place(start, end, token, self._wanted[token], exact=True))
            elif (alike := self._beginnings.get(token[:_ALIKE_LETTERS])) is not None:
                found.append(Place(start, end, alike, _ALIKE * self._wanted[alike], exact=False))
        self[piece] = sorted(found)
        return self[piece]

    def places(self, text: str, start: int = 0, end: int | None = None) -> list[Place]:
        """In order, the words of `text[start:end]` that are the query's, or only begin like them."""
        return [
            Place(first + begin, first + behind, token, weight, exact)
            for first, last in self._pieces(text, start, len(text) if end is None else end)
            for begin, behind, token, weight, exact in self[text[first:last]]
        ]

    def weights(self, text: str, spans: Sequence[Span]) -> Weights:
        """By the words in each span, those in few spans more; where there are none, by the words that hold one."""
        found: dict[int, dict[str, float]] = {}
        starts = [span.start for span in spans]
        for place in self.places(text, spans[0].start, spans[-1].end):
            number = bisect_right(starts, place.start) - 1
            if place.start < spans[number].end:
                here = found.setdefault(number, {})
                here[place.token] = max(place.weight, here.get(place.token, 0.0))
        for number, span in enumerate(spans) if not found else ():
            letters = "" if span.heading else text[span.start : span.end].lower()
            held = {token: _ALIKE for token in self._wanted if len(token) >= _ALIKE_LETTERS and token in letters}
            found |= {number: held} if held else {}
        spread = Counter(token for here in found.values() for token in here)
        for number, here in found.items():
            share = 0.5 if spans[number].heading else 1.0  # headings are shown beside the snippet anyway
            for token in here:
                here[token] *= share * math.log(1 + len(spans) / spread[token])
        return found

    def highlights(self, text: str) -> tuple[tuple[int, int], ...]:
        """Where words of the query stand, those that overlap taken together: a name stands where its parts do."""
        merged: list[tuple[int, int]] = []
        for start, end, *_ in (place for place in self.places(text) if place.exact):
            if merged and start < merged[-1][1]:
                start, end = merged[-1][0], max(merged.pop()[1], end)
            merged.append((start, end))
        return tuple(merged)


# -- which spans are shown -----------------------------------------------------------------------------------------


def _core(spans: Sequence[Span], weights: Weights, space: int) -> tuple[int, int]:
    """First and last of the spans that say most within so many characters; without any weight the first that is no
    heading."""
    numbers = list(weights)
    best = heaviest([(spans[number].start, spans[number].end, weights[number]) for number in numbers], space)
    if best is not None:
        return numbers[best[0]], numbers[best[1]]
    first = next((number for number, span in enumerate(spans) if not span.heading), 0)
    return first, first


def section_at(limits: Sequence[int], offset: int) -> tuple[int, int]:
    """First and last offset of the section at an offset, the last one not in it. A section reaches up to the next
    heading of whatever level; `limits` are 0, where the headings begin, and where the document ends."""
    number = min(bisect_right(limits, offset), len(limits) - 1)
    return limits[number - 1], limits[number]


class Excerpt(NamedTuple):
    """What is shown of a chunk, or of several that were joined."""

    snippet: Snippet
    at: int  #: offset in the document of the sentences that answer
    whole: bool  #: whether it is the whole section, as far as the chunks hold it


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Chunks of one document, in order, as one.

    What lies between them is blank: as many line ends as the document has there, and blanks in place of text that is
    not indexed, so that lines and offsets stay the document's.
    """
    first = chunks[0]
    parts, end, line = [first.text], first.end, first.line_end
    frames = {frame.start + first.start: frame for frame in first.frames}
    titles, unseen = [*first.titles], [*first.unseen]
    for chunk in chunks[1:]:
        shift = chunk.start - first.start
        frames |= {frame.start + chunk.start: _moved(frame, shift) for frame in chunk.frames}
        titles += [(start + shift, stop + shift) for start, stop in chunk.titles]
        unseen += [(start + shift, stop + shift) for start, stop in chunk.unseen]
        if chunk.end <= end:
            continue
        if (gap := chunk.start - end) > 0:
            breaks = min(gap, max(0, chunk.line_start - line))
            blanks = gap - breaks
            indents = breaks > 0 and blanks <= _DEEPEST
            parts.append("\n" * breaks + " " * blanks if indents else " " * blanks + "\n" * breaks)
        parts.append(chunk.text[max(0, -gap) :])
        end, line = chunk.end, chunk.line_end
    return replace(
        first,
        end=end,
        text="".join(parts),
        line_end=line,
        frames=tuple(frames[start] for start in sorted(frames)),
        titles=tuple(sorted(set(titles))),
        unseen=tuple(sorted(set(unseen))),
    )


def _moved(frame: Frame, by: int) -> Frame:
    offsets = ("start", "end", "opening_end", "closing_start")
    return replace(frame, **{name: getattr(frame, name) + by for name in offsets})


class Excerpts:
    """Cuts what is shown of chunks for one query. For one thread. Without `highlights` it comes without.

    An excerpt begins and ends where a sentence, a row or a line of code does, and at the border of a block where it
    can. It always holds the sentences that say most of the query, in the part of the chunk whose vector is nearest.
    """

    def __init__(self, analyzer: StandardAnalyzer, query: AnalyzedQuery, *, highlights: bool = True) -> None:
        self._highlights = highlights
        self._analyzer = analyzer
        self._wanted = dict.fromkeys((*query.terms, *(token for phrase in query.phrases for token in phrase)), 1.0)
        self._wanted.update(dict.fromkeys(query.identifiers, _IDENTIFIER))
        self._finders: dict[str, MatchFinder] = {}

    def snippet(self, chunk: Chunk, language: str = "", target: int = CORE, context_lines: int = 3) -> Snippet:
        """About `target` characters of a chunk, with up to `context_lines` lines on each side of the match. A fence or
        table with the match in it is whole where it fits, however many lines it has."""
        text, spans = chunk.text, spans_of(chunk)
        if not spans:
            return Snippet(without_hidden(text.strip())[:CEILING], chunk.line_start, chunk.line_end)
        weights = self._finder(language).weights(text, spans)
        core = _core(spans, weights, target)
        for container in filter(None, (spans[core[0]].container, spans[core[1]].container)):
            members = [number for number, span in enumerate(spans) if span.container is container]
            whole = min(core[0], members[0]), max(core[1], members[-1])
            core = whole if len(rendered(text, spans[whole[0] : whole[1] + 1])) <= CEILING else core
        window = _grown(spans, core, _nearby(spans, core, context_lines), target)
        return self._cut(text, spans, window, core, weights, language, CEILING)[0]

    def excerpt(
        self,
        chunk: Chunk,
        best: tuple[int, int],
        language: str,
        space: int,
        limits: Sequence[int],
        nearest: tuple[int, int] | None = None,
        *,
        least: int = 0,
    ) -> Excerpt:
        """At most `space` characters of the section that holds the sentences which answer, all of it if it fits.

        `chunk` is the best one, or several with it, joined; `best` is where that lies in the document, and `limits` are
        the document's sections (`section_at`). A single sentence is cut only where it has more than `least` characters,
        too. `nearest` is where in the best chunk the part lies whose vector is nearest to the query's, where that is
        known.
        """
        text, spans = chunk.text, spans_of(chunk)
        if not spans:
            nothing = without_hidden(text.strip())[:space].rstrip()
            return Excerpt(Snippet(nothing, chunk.line_start, chunk.line_end), chunk.start, whole=True)
        base = best[0] - chunk.start
        start, end = _among(spans, base, best[1] - chunk.start)
        own = spans[start : end + 1]
        weights = self._finder(language).weights(text, own)
        if nearest is not None:
            matched = frozenset(weights)
            for number, span in enumerate(own):
                if nearest[0] <= (span.start + span.end) // 2 - base < nearest[1] and (
                    number in matched or not matched
                ):
                    weights[number] = {**weights.get(number, {}), "": _NEAREST}
        first, last = _core(own, weights, min(space, CORE))
        while first < last and _is_label(own[first]):  # headings are named above the excerpt, a table's in any case
            first += 1
        while _is_label(own[first]) and first + 1 < len(own):
            first = last = first + 1
        core = first + start, last + start
        weights = {number + start: here for number, here in weights.items()}
        low, high = section_at(limits, spans[core[0]].start + chunk.start)
        section = _among(spans, low - chunk.start, high - chunk.start)
        while section[0] < core[0] and spans[section[0]].heading:  # it is named above the excerpt
            section = section[0] + 1, section[1]
        window = _grown(spans, core, section, space)
        snippet, (first, last) = self._cut(text, spans, window, core, weights, language, space, least)
        whole = first <= section[0] and last >= section[1] and len(snippet.text) <= space
        return Excerpt(snippet, spans[core[0]].start + chunk.start, whole)

    def _finder(self, language: str) -> MatchFinder:
        if language not in self._finders:
            self._finders[language] = MatchFinder(self._analyzer, self._wanted, language)
        return self._finders[language]

    def _cut(
        self,
        text: str,
        spans: Sequence[Span],
        window: tuple[int, int],
        core: tuple[int, int],
        weights: Weights,
        language: str,
        space: int,
        least: int = 0,
    ) -> tuple[Snippet, tuple[int, int]]:
        """The window as it is shown within `space` characters, and what is left of it: what isn't of the core goes
        first, then whichever end says less; a single span is cut, unless it has at most `least` characters."""
        first, last = window
        while True:
            shown = without_hidden(rendered(text, spans[first : last + 1]))
            if len(shown) <= space or first == last:
                break
            ends = (math.fsum(weights.get(end, {}).values()) for end in (first, last))
            if last > core[1] or (first >= core[0] and next(ends) >= next(ends)):
                last -= 1
            else:
                first += 1
        if len(shown) > max(space, least):
            line = without_hidden(text[spans[first].start : spans[first].end]).rstrip()
            places = self._finder(language).places(shown)
            shown = cut_to(shown, line, spans[first].container, places, max(space, least))
        highlights = self._finder(language).highlights(shown) if self._highlights else ()
        return Snippet(shown, spans[first].line, spans[last].line_end, highlights), (first, last)


def _is_label(span: Span) -> bool:
    """Whether a span only says what stands below it: a heading, or a header row of a table."""
    container = span.container
    return span.heading or (container is not None and container.kind == "table" and span.end <= container.opening_end)


def _among(spans: Sequence[Span], low: int, high: int) -> tuple[int, int]:
    """First and last of the spans that begin within some characters; the nearest where none does."""
    inside = [number for number, span in enumerate(spans) if low <= span.start < high]
    if inside:
        return inside[0], inside[-1]
    nearest = min(range(len(spans)), key=lambda number: abs(spans[number].start - low))
    return nearest, nearest


def _nearby(spans: Sequence[Span], core: tuple[int, int], lines: int) -> tuple[int, int]:
    """First and last of the spans up to so many lines before and behind the core, but for headings before it; blank
    lines don't count."""
    numbers = sorted({number for span in spans for number in (span.line, span.line_end)})
    above = bisect_left(numbers, spans[core[0]].line) - lines
    below = bisect_left(numbers, spans[core[1]].line_end) + lines
    first, last = core
    while first and numbers.index(spans[first - 1].line) >= above and not spans[first - 1].heading:
        first -= 1
    while last + 1 < len(spans) and numbers.index(spans[last + 1].line_end) <= below:
        last += 1
    return first, last


def _grown(spans: Sequence[Span], core: tuple[int, int], section: tuple[int, int], space: int) -> tuple[int, int]:
    """The core with what surrounds it: the section if it fits, else from its start on, or span by span."""
    low, high = min(section[0], core[0]), max(section[1], core[1])
    if _length(spans, low, high) <= space:
        return low, high
    first, last = core
    if _length(spans, low, last) <= space:
        first = low
    while last < high and _length(spans, first, last + 1) <= space:
        last += 1
    while first > low and _length(spans, first - 1, last) <= space:
        first -= 1
    while last > core[1] and _is_label(spans[last]):
        last -= 1
    return first, last


def _length(spans: Sequence[Span], first: int, last: int) -> int:
    """Characters that some spans take as they are shown, about: with what their fences and tables need around them."""
    length = spans[last].end - spans[first].start
    container = spans[first].container
    if container is not None and spans[first].start > container.start:
        length += len(container.opening) + 3
    container = spans[last].container
    if container is not None and spans[last].end < container.end:
        length += len(container.closing) + 3
    return length
