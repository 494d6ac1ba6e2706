"""The piece of a passage that is shown: coherent, short, and with the match in it.

The units that carry most of the question's words are chosen, then what surrounds them while there is room. A fence or
a table is shown whole where it fits, else by whole lines around the match.

A passage that was found by its meaning may hold no word of the question. Its best sentence then is the one with words
that begin like the question's; where there is none, the one whose words look most like them by their letters; where
nothing looks alike, the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..models import AnalyzedQuery, Chunk, Snippet
from ..text.base import Analyzer
from ..text.sanitizing import without_hidden
from .matches import Marked, Match, MatchFinder, TrigramMatcher, wanted_by
from .spans import Span, units
from .truncation import ADDED, Part, Place, Renderings, cut_to

CEILING = 600  #: characters that no snippet exceeds

#: Windows whose ranks don't differ in so many digits behind the point differ by the order of adding alone. What is
#: lower than the best by more than a hair need not be rounded, which takes long.
_DIGITS, _HAIR = 9, 1e-8

#: Number of a unit that says something → the question's words in it with their weight; the numbers ascend.
Weights = Mapping[int, Mapping[str, float]]


class Snippets:
    """Cuts snippets of about `target` characters, with up to `context_lines` lines on each side of the match.

    A fence or table with the match in it is shown whole where it fits, however many lines it has.
    """

    def __init__(self, analyzer: Analyzer, *, target: int = 320, context_lines: int = 3) -> None:
        self._analyzer = analyzer
        self._target = min(max(target, 80), CEILING)
        self._context_lines = context_lines

    def of(self, chunk: Chunk, query: AnalyzedQuery, language: str = "") -> Snippet:
        """The best window of the passage, with the places of the question's words in it."""
        return self.answering(query)(chunk, language)

    def answering(self, query: AnalyzedQuery) -> Callable[[Chunk, str], Snippet]:
        """What cuts the passages of one answer, each of a document in some language. For one thread."""
        wanted = wanted_by(query)
        likenesses = TrigramMatcher(wanted)
        marks: dict[str, MatchFinder] = {}

        def cut(chunk: Chunk, language: str) -> Snippet:
            if language not in marks:
                marks[language] = MatchFinder(self._analyzer, wanted, language)
            return self._cut(chunk, marks[language], likenesses)

        return cut

    def _cut(self, chunk: Chunk, marks: MatchFinder, likenesses: TrigramMatcher) -> Snippet:
        text, pieces = chunk.text, units(chunk)
        if not pieces:
            return Snippet(without_hidden(text.strip())[:CEILING], chunk.line_start, chunk.line_end)
        marked = marks.within(text, pieces[0].start, pieces[-1].end)
        weights = weights_of(text, pieces, marked, marks) or resembling(text, pieces, likenesses)
        renderings = Renderings(text, pieces)
        first, last = self._grown(pieces, renderings, *self._window(pieces, weights))
        while True:
            shown, parts = renderings[first, last]
            if shown != (visible := without_hidden(shown)):
                shown, parts = visible, [(ADDED, visible)]
            if len(shown) <= CEILING or first == last:
                break
            first, last = narrower(first, last, weights)
        if len(shown) > CEILING:
            only = pieces[first]
            line = without_hidden(text[only.start : only.end]).rstrip()
            shown = cut_to(shown, line, only.frame, places_in(shown, marks), CEILING)
            parts = [(ADDED, shown)]
        return Snippet(shown, pieces[first].line, pieces[last].line_end, highlights_of(parts, text, marked, marks))

    def _window(self, pieces: Sequence[Span], weights: Weights) -> tuple[int, int]:
        """First and last unit: most weight within the target, shortest such window."""
        best, length_of_best, place = 0.0, 0, None
        telling = [(number, pieces[number].start, pieces[number].end, here) for number, here in weights.items()]
        for nth, (first, start, _, _) in enumerate(telling):
            seen: dict[str, float] = {}
            total = repeated = 0.0
            for last, _, end, here in telling[nth:]:
                length = end - start
                if length > self._target and last > first:
                    break
                for token, weight in here.items():
                    before = seen.get(token)
                    if before is None:
                        seen[token] = weight
                        total += weight
                    else:
                        repeated += weight
                        if weight > before:
                            seen[token] = weight
                            total += weight - before
                rank = total + 0.1 * repeated
                if rank < best - _HAIR:
                    continue
                rank = round(rank, _DIGITS)
                if rank > best or (rank == best and length < length_of_best):
                    best, length_of_best, place = rank, length, (first, last)
        if place is None:
            opening = next((i for i, piece in enumerate(pieces) if not piece.heading), 0)
            place = (opening, opening)
        return place

    def _grown(self, pieces: Sequence[Span], renderings: Renderings, first: int, last: int) -> tuple[int, int]:
        """Take in the rest of a fence or table that fits; then what follows and what goes before, up to the target."""
        for frame in (pieces[first].frame, pieces[last].frame):
            if frame is None:
                continue
            members = [i for i, piece in enumerate(pieces) if piece.frame is frame]
            low, high = min(first, members[0]), max(last, members[-1])
            if len(renderings[low, high].text) <= CEILING:
                first, last = low, high
        room = {1: self._context_lines, -1: self._context_lines}
        while True:
            for direction in (1, -1):
                low, high = _step(pieces, first, last, direction)
                if (low, high) == (first, last):
                    continue
                left = room[direction] - _more_lines(pieces, first, last, low, high)
                if left >= 0 and len(renderings[low, high].text) <= self._target:
                    first, last, room[direction] = low, high, left
                    break
            else:
                return first, last


def weights_of(text: str, pieces: Sequence[Span], marked: Sequence[Marked], marks: MatchFinder) -> Weights:
    """By the marked pieces of the text. Words that are in few units weigh more."""
    found: dict[int, dict[str, float]] = {}
    spread: dict[str, int] = {}
    number = 0
    for start, end, mark in marked:
        while number < len(pieces) and (unit := pieces[number]).start < end:
            if unit.end > start:
                said: Match | None = mark
                if unit.start > start or unit.end < end:  # units may end where no blank is
                    said = marks[text[max(start, unit.start) : min(end, unit.end)]]
                if said is not None:
                    here = found.setdefault(number, {})
                    for token, weight in said.weights.items():
                        if token not in here:
                            here[token] = weight
                            spread[token] = spread.get(token, 0) + 1
                        elif weight > here[token]:
                            here[token] = weight
                if unit.end >= end:
                    break
            number += 1
    rarity = {token: math.log(1 + len(pieces) / count) for token, count in spread.items()}
    for number, here in found.items():
        share = 0.5 if pieces[number].heading else 1.0  # headings are shown anyway, beside the snippet
        for token in here:
            here[token] *= share * rarity[token]
    return found


def resembling(text: str, pieces: Sequence[Span], likenesses: TrigramMatcher) -> Weights:
    """By the words in each unit that look like one of the question's."""
    found = {}
    for number, unit in enumerate(pieces):
        if not unit.heading and (here := likenesses.within(text, unit.start, unit.end)):
            found[number] = here
    return found


def _step(pieces: Sequence[Span], first: int, last: int, direction: int) -> tuple[int, int]:
    """One unit more, a whole fence or table at once."""
    edge = last + 1 if direction > 0 else first - 1
    if not 0 <= edge < len(pieces) or (direction < 0 and pieces[edge].heading):
        return first, last  # headings are shown anyway, beside the snippet
    frame = pieces[edge].frame
    while frame is not None and 0 <= edge + direction < len(pieces) and pieces[edge + direction].frame is frame:
        if pieces[first].frame is frame or pieces[last].frame is frame:
            break  # inside a fence too long to be shown whole: line by line
        edge += direction
    return (first, edge) if direction > 0 else (edge, last)


def _more_lines(pieces: Sequence[Span], first: int, last: int, low: int, high: int) -> int:
    """How many lines a window has more that grew at one end by a unit, or by a fence or table with a unit a line.

    Sentences may share a line; blank lines are in no unit, and don't count.
    """
    if high > last:
        unit = pieces[high]
        return high - last + unit.line_end - max(unit.line, pieces[last].line_end + 1)
    unit = pieces[low]
    return first - low + min(unit.line_end, pieces[first].line - 1) - unit.line


def narrower(first: int, last: int, weights: Weights) -> tuple[int, int]:
    """The window without whichever of its ends says less."""
    if math.fsum(weights.get(first, {}).values()) < math.fsum(weights.get(last, {}).values()):
        return first + 1, last
    return first, last - 1


def places_in(shown: str, marks: MatchFinder) -> Iterator[Place]:
    """Where a text says something of the question: at words that do, or at pieces that only begin alike."""
    for first, last, said in marks.within(shown, 0, len(shown)):
        for token, start, end, _ in said.words:
            yield Place(first + start, first + end, {token: said.weights[token]})
        if not said.words:
            yield Place(first, last, said.weights)


def highlights_of(
    parts: Sequence[Part], text: str, marked: Sequence[Marked], marks: MatchFinder
) -> tuple[tuple[int, int], ...]:
    """Where the question's words stand in what is shown.

    A part that stands in the passage between blanks holds the pieces that were found there.
    """
    found: list[tuple[int, int]] = []
    shift = 0
    for origin, part in parts:
        end = origin + len(part)
        if origin != ADDED and _between_blanks(text, origin, end):
            here = [piece for piece in marked if origin <= piece[0] < end]
        else:
            here = marks.in_line(part)
            origin = 0
        for place, _, said in here:
            place += shift - origin
            found += [(place + start, place + end) for start, end in said.highlights]
        shift += len(part) + 1
    return tuple(found)


def _between_blanks(text: str, start: int, end: int) -> bool:
    return (start == 0 or text[start - 1].isspace()) and (end >= len(text) or text[end].isspace())
