"""The piece of a passage that is shown: coherent, short, and with the match in it.

The units that carry most of the question's words are chosen, then what surrounds them while there is room. A fence or
a table is shown whole where it fits, else by whole lines around the match: its opening line or header rows are
repeated, a cut is marked by a line of its own, and a fence is closed.

A passage that was found by its meaning may hold no word of the question. Its best sentence then is the one with words
that begin like the question's; where there is none, the one whose words look most like them by their letters; where
nothing looks alike, the first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from librarian.vocabulary.protocols import Analyzer
from librarian.vocabulary.types import AnalyzedQuery, Chunk, Frame, Snippet

from .cutting import CUT, Place, cut_to
from .hidden_characters import without_hidden
from .units import Unit, units

CEILING = 600  #: characters that no snippet exceeds

#: An identifier counts as much as this many words; a word that only begins alike counts this share of one.
_IDENTIFIER, _ALIKE, _ALIKE_LETTERS = 3.0, 0.3, 5

#: Two words look alike from this Dice coefficient of their runs of three letters on (Dice 1945): `scaling` and
#: `autoscaler` have 0.31, words that share a syllable by chance less.
_RESEMBLING = 0.3

#: The question's tokens in a piece, and those of which a word in it only has the beginning.
_Mark = tuple[tuple[str, ...], tuple[str, ...]]
_NOTHING: _Mark = ((), ())
_WORD = re.compile(r"[^\W\d_]{3,}")


class Marked(NamedTuple):
    """A piece of a text that says something of the question: where it stands, and what it says."""

    start: int
    end: int
    mark: _Mark


class Marks:
    """Finds the pieces of a text that say something of the question.

    Passages of one answer share most of their words: each is taken apart once. `tokens` are those of a piece, `places`
    finds the pieces that may hold one of `wanted` (`Analyzer.sieve`), which are the question's tokens with their
    weights.
    """

    def __init__(
        self,
        tokens: Mapping[str, Sequence[str]],
        places: Callable[[str, int, int], Sequence[tuple[int, int]]],
        wanted: Mapping[str, float],
    ) -> None:
        self._tokens, self._places, self._wanted = tokens, places, wanted
        self._beginnings = {token[:_ALIKE_LETTERS]: token for token in wanted if len(token) > _ALIKE_LETTERS}
        self._known: dict[str, _Mark] = {}

    def within(self, text: str, start: int, end: int) -> list[Marked]:
        """In order, those of `text[start:end]`."""
        found = []
        for first, last in self._places(text, start, end):
            mark = self.of(text[first:last])
            if mark is not _NOTHING:
                found.append(Marked(first, last, mark))
        return found

    def of(self, piece: str) -> _Mark:
        """What a piece says."""
        mark = self._known.get(piece)
        if mark is None:
            mark = self._known[piece] = self._mark(self._tokens[piece])
        return mark

    def _mark(self, tokens: Sequence[str]) -> _Mark:
        exact = tuple([token for token in tokens if token in self._wanted])
        starts = [token[:_ALIKE_LETTERS] for token in tokens if token not in self._wanted]
        alike = tuple([self._beginnings[start] for start in starts if start in self._beginnings])
        return (exact, alike) if exact or alike else _NOTHING


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
        wanted = _wanted(query)
        marks: dict[str, Marks] = {}

        def cut(chunk: Chunk, language: str) -> Snippet:
            if language not in marks:
                marks[language] = Marks(
                    self._analyzer.by_piece(language), self._analyzer.sieve(wanted, language), wanted
                )
            return self._cut(chunk, language, wanted, marks[language])

        return cut

    def _cut(self, chunk: Chunk, language: str, wanted: Mapping[str, float], marks: Marks) -> Snippet:
        text, pieces = chunk.text, units(chunk)
        if not pieces:
            return Snippet(without_hidden(chunk.text.strip())[:CEILING], chunk.line_start, chunk.line_end)
        weights = _weights(text, pieces, wanted, marks)
        if not any(weights):
            weights = _resembling(text, pieces, wanted)
        first, last = self._window(text, pieces, weights)
        while True:
            shown = without_hidden(_rendered(text, pieces[first : last + 1]))
            if len(shown) <= CEILING or first == last:
                break
            first, last = _narrower(first, last, weights)
        if len(shown) > CEILING:
            only = pieces[first]
            line = without_hidden(text[only.start : only.end]).rstrip()
            shown = cut_to(shown, line, only.frame, self._places(shown, wanted, marks, language), CEILING)
        highlights = self._highlights(shown, marks, language)
        return Snippet(shown, pieces[first].line, pieces[last].line_end, highlights)

    # -- choosing ----------------------------------------------------------------------------------------------

    def _window(self, text: str, pieces: Sequence[Unit], weights: Sequence[Mapping[str, float]]) -> tuple[int, int]:
        """First and last unit: most weight within the target, shortest such window, then grown."""
        best, place = (0.0, 0), (0, 0)
        telling = [i for i, here in enumerate(weights) if here]
        for number, first in enumerate(telling):
            seen: dict[str, float] = {}
            total = repeated = 0.0
            for last in telling[number:]:
                length = pieces[last].end - pieces[first].start
                if last > first and length > self._target:
                    break
                for token, weight in weights[last].items():
                    before = seen.get(token, 0.0)
                    repeated += weight if before else 0.0
                    if weight > before:
                        seen[token] = weight
                        total += weight - before
                rank = (round(total + 0.1 * repeated, 9), -length)
                if rank > best:
                    best, place = rank, (first, last)
        if best[0] == 0.0:
            opening = next((i for i, piece in enumerate(pieces) if not piece.heading), 0)
            place = (opening, opening)
        return self._grown(text, pieces, *place)

    def _grown(self, text: str, pieces: Sequence[Unit], first: int, last: int) -> tuple[int, int]:
        """Take in the rest of a fence or table that fits; then what follows and what goes before, up to the target."""
        for frame in dict.fromkeys((pieces[first].frame, pieces[last].frame)):
            if frame is None:
                continue
            members = [i for i, piece in enumerate(pieces) if piece.frame is frame]
            low, high = min(first, members[0]), max(last, members[-1])
            if len(_rendered(text, pieces[low : high + 1])) <= CEILING:
                first, last = low, high
        lines = sorted({number for piece in pieces for number in range(piece.line, piece.line_end + 1)})  # none blank
        top = lines[max(0, lines.index(pieces[first].line) - self._context_lines)]
        bottom = lines[: lines.index(pieces[last].line_end) + 1 + self._context_lines][-1]
        grew = True
        while grew:
            grew = False
            for low, high in (self._step(pieces, first, last, 1), self._step(pieces, first, last, -1)):
                if (low, high) == (first, last) or pieces[low].line < top or pieces[high].line_end > bottom:
                    continue
                if len(_rendered(text, pieces[low : high + 1])) <= self._target:
                    first, last, grew = low, high, True
                    break
        return first, last

    @staticmethod
    def _step(pieces: Sequence[Unit], first: int, last: int, direction: int) -> tuple[int, int]:
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

    # -- showing -----------------------------------------------------------------------------------------------

    def _places(self, shown: str, wanted: Mapping[str, float], marks: Marks, language: str) -> Iterator[Place]:
        """Where a text says something of the question: at words that do, or at pieces that only begin alike."""
        for piece in marks.within(shown, 0, len(shown)):
            for start, end, token in self._words(shown, piece, language):
                yield Place(start, end, {token: wanted[token]})
            if not piece.mark[0]:
                yield Place(piece.start, piece.end, _said(piece.mark, wanted))

    def _words(self, shown: str, piece: Marked, language: str) -> Iterator[tuple[int, int, str]]:
        """Where in a text's piece the question's words stand, and which they are."""
        exact, _ = piece.mark
        for span in self._analyzer.spans(shown[piece.start : piece.end], language) if exact else ():
            if span.token in exact:
                yield piece.start + span.start, piece.start + span.end, span.token

    def _highlights(self, shown: str, marks: Marks, language: str) -> tuple[tuple[int, int], ...]:
        places = [
            (start, end)
            for piece in marks.within(shown, 0, len(shown))
            for start, end, _ in self._words(shown, piece, language)
        ]
        merged: list[tuple[int, int]] = []
        for start, end in sorted(places):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        return tuple(merged)


def _weights(text: str, pieces: Sequence[Unit], wanted: Mapping[str, float], marks: Marks) -> list[dict[str, float]]:
    """Per unit, the question's words in it with their weight; words that are in few units weigh more."""
    found: list[dict[str, float]] = [{} for _ in pieces]
    number = 0
    for start, end, mark in marks.within(text, pieces[0].start, pieces[-1].end):
        while number < len(pieces) and pieces[number].start < end:
            unit = pieces[number]
            if unit.end > start:
                if unit.start > start or unit.end < end:  # units may end where no blank is
                    mark = marks.of(text[max(start, unit.start) : min(end, unit.end)])
                here = found[number]
                for token, weight in _said(mark, wanted).items():
                    here[token] = max(weight, here.get(token, 0.0))
                if unit.end >= end:
                    break
            number += 1
    for number, here in enumerate(found):
        if here and pieces[number].heading:  # headings are shown anyway, beside the snippet
            found[number] = {token: weight / 2 for token, weight in here.items()}
    spread = Counter(chain.from_iterable(found))
    rarity = {token: math.log(1 + len(pieces) / count) for token, count in spread.items()}
    return [{token: weight * rarity[token] for token, weight in here.items()} if here else here for here in found]


def _said(mark: _Mark, wanted: Mapping[str, float]) -> dict[str, float]:
    """The question's words that a piece holds or begins like, with their weight."""
    exact, alike = mark
    said = {token: _ALIKE * wanted[token] for token in alike}
    said.update({token: wanted[token] for token in exact})
    return said


def _resembling(text: str, pieces: Sequence[Unit], wanted: Mapping[str, float]) -> list[dict[str, float]]:
    """Per unit, the question's words that a word in it looks like, with their weight times their likeness (0–1)."""
    asked = {token: _runs(token) for token in wanted}
    telling = frozenset[str]().union(*asked.values())
    found: list[dict[str, float]] = []
    for unit in pieces:
        here: dict[str, float] = {}
        words = [] if unit.heading else _WORD.findall(text, unit.start, unit.end)
        for word in dict.fromkeys(word.casefold() for word in words):  # in order: their weights are added up
            runs = _runs(word)
            if runs.isdisjoint(telling):
                continue
            for token, own in asked.items():
                alike = 2 * len(runs & own) / (len(runs) + len(own)) if own else 0.0
                if alike >= _RESEMBLING:
                    here[token] = max(here.get(token, 0.0), wanted[token] * alike)
        found.append(here)
    return found


def _runs(word: str) -> frozenset[str]:
    """All runs of three letters in a word."""
    return frozenset([word[start : start + 3] for start in range(len(word) - 2)])


def _wanted(query: AnalyzedQuery) -> dict[str, float]:
    wanted = dict.fromkeys((*query.terms, *(token for phrase in query.phrases for token in phrase)), 1.0)
    wanted.update(dict.fromkeys(query.identifiers, _IDENTIFIER))
    return wanted


def _rendered(text: str, shown: Sequence[Unit]) -> str:
    """The units as they stand in the text, with what their fences and tables need around them."""
    parts: list[str] = []
    end: int | None = None
    frame: Frame | None = None
    for piece in shown:
        if piece.frame is not frame:
            parts += _left(frame, end)
            parts += _entered(piece)
            frame = piece.frame
        elif end is not None and "\n" not in text[end : piece.start]:
            parts[-1] += text[end : piece.start] + text[piece.start : piece.end]
            end = piece.end
            continue
        elif end is not None and frame is None and "\n\n" in text[end : piece.start]:
            parts.append("")
        parts.append(text[piece.start : piece.end])
        end = piece.end
    parts += _left(frame, end)
    return "\n".join(part.rstrip() for part in parts).strip("\n")


def _entered(piece: Unit) -> list[str]:
    """What goes before a fence's or table's first shown unit."""
    frame = piece.frame
    if frame is None or not frame.opening:
        return []
    if piece.start < frame.opening_end:  # of the opening only what goes before it
        return frame.opening[: max(0, piece.start - frame.start)].rstrip("\n").splitlines()
    skipped = piece.start > frame.opening_end + 1
    return [*frame.opening.splitlines(), *([_mark(frame)] if skipped else [])]


def _left(frame: Frame | None, end: int | None) -> list[str]:
    """What goes after a fence's or table's last shown unit."""
    if frame is None or end is None:
        return []
    parts = []
    if frame.kind == "table" and end < frame.opening_end:  # a header is one by the rule below it
        parts += frame.opening[end - frame.start :].strip("\n").splitlines()
        end = frame.opening_end
    if end < frame.closing_start - 1:
        parts.append(_mark(frame))
    if frame.closing and end <= frame.closing_start:
        parts.append(frame.closing)
    return parts


def _mark(frame: Frame) -> str:
    piped = frame.kind == "table" and frame.opening.lstrip().startswith(("|", "+"))
    return f"| {CUT} |" if piped or (frame.kind == "table" and not frame.opening) else CUT


def _narrower(first: int, last: int, weights: Sequence[Mapping[str, float]]) -> tuple[int, int]:
    """The window without whichever of its ends says less."""
    if math.fsum(weights[first].values()) < math.fsum(weights[last].values()):
        return first + 1, last
    return first, last - 1
