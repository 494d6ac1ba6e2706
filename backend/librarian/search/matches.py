"""What the pieces of a passage say of the question. A piece is what stands between two blanks.

Passages of one answer share most of their words: each piece is taken apart once, for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from ..models import AnalyzedQuery
from ..text.base import Analyzer
from ..text.characters import is_spelt, spelt_with_places

#: An identifier counts as much as this many words; a word that only begins alike counts this share of one.
_IDENTIFIER, _ALIKE, _ALIKE_LETTERS = 3.0, 0.3, 5

#: Two words look alike from this Dice coefficient of their runs of three letters on (Dice 1945): `scaling` and
#: `autoscaler` have 0.31, words that share a syllable by chance less.
_RESEMBLING = 0.3

_PIECE = re.compile(r"\S+")
_WORD = re.compile(r"[^\W\d_]{3,}")


def wanted_by(query: AnalyzedQuery) -> dict[str, float]:
    """The question's tokens with their weights."""
    wanted = dict.fromkeys((*query.terms, *(token for phrase in query.phrases for token in phrase)), 1.0)
    wanted.update(dict.fromkeys(query.identifiers, _IDENTIFIER))
    return wanted


#: A token in a piece, with where it begins and ends there and whether it is a whole identifier.
Word = tuple[str, int, int, bool]


class Match(NamedTuple):
    """What a piece says of the question."""

    weights: Mapping[str, float]  #: the question's tokens that it holds or begins like, with their weight in it
    words: Sequence[Word]  #: those that it holds
    highlights: Sequence[tuple[int, int]]  #: where they stand, in order and without overlap


#: A piece of a text that says something: where it stands, and what it says.
Marked = tuple[int, int, Match]


class MatchFinder(dict[str, Match | None]):
    """Piece → what it says of the question, worked out when first asked for. For one answer and one language."""

    def __init__(self, analyzer: Analyzer, wanted: Mapping[str, float], language: str) -> None:
        super().__init__()
        self._wanted = wanted
        self._beginnings = {token[:_ALIKE_LETTERS]: token for token in wanted if len(token) > _ALIKE_LETTERS}
        self._by_piece, self._places = analyzer.by_piece(language), analyzer.sieve(wanted, language)
        self._lines: dict[str, list[Marked]] = {}

    def __missing__(self, piece: str) -> Match | None:
        wanted, beginnings = self._wanted, self._beginnings
        weights: dict[str, float] = {}
        words: list[Word] = []
        for word in self._words_of(piece):
            token = word[0]
            if token in wanted:
                weights[token] = wanted[token]
                words.append(word)
            elif (alike := beginnings.get(token[:_ALIKE_LETTERS])) is not None and alike not in weights:
                weights[alike] = _ALIKE * wanted[alike]
        said = self[piece] = Match(weights, words, _without_overlap(words)) if weights else None
        return said

    def _words_of(self, piece: str) -> Sequence[Word]:
        """Those of a piece, also as it is read where it spells letters as entities, as the index has them."""
        words = self._by_piece[piece]
        if not is_spelt(piece, 0, len(piece)):
            return words
        read, places = spelt_with_places(piece)
        known = {word[0] for word in words}
        found = [word for word in self._by_piece[read] if word[0] not in known]
        return [*words, *((token, places[start][0], places[end - 1][1], name) for token, start, end, name in found)]

    def _pieces(self, text: str, start: int, end: int) -> Sequence[tuple[int, int]]:
        """Those that may say something: the sieve knows words by the letters that stand there."""
        places = self._places(text, start, end)
        if not is_spelt(text, start, end):
            return places
        spelt = [piece.span() for piece in _PIECE.finditer(text, start, end) if is_spelt(text, *piece.span())]
        return sorted({*places, *spelt})

    def within(self, text: str, start: int, end: int) -> list[Marked]:
        """In order, the pieces of `text[start:end]` that say something."""
        return [
            (first, last, said)
            for first, last in self._pieces(text, start, end)
            if (said := self[text[first:last]]) is not None
        ]

    def in_line(self, line: str) -> list[Marked]:
        """Those of a line that may come with many passages, as the mark of a cut and the end of a fence do."""
        found = self._lines.get(line)
        if found is None:
            found = self._lines[line] = self.within(line, 0, len(line))
        return found


def _without_overlap(words: Sequence[Word]) -> list[tuple[int, int]]:
    """The places of words, those that overlap taken together: a name stands where its parts do."""
    if len(words) < 2:
        return [(start, end) for _, start, end, _ in words]
    merged: list[tuple[int, int]] = []
    for start, end in sorted([(start, end) for _, start, end, _ in words]):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


class TrigramMatcher(dict[str, Mapping[str, float]]):
    """Word → the question's tokens that it looks like, with their weight times their likeness (0–1). For one answer."""

    def __init__(self, wanted: Mapping[str, float]) -> None:
        super().__init__()
        self._wanted = wanted

    @cached_property
    def _asked(self) -> Mapping[str, frozenset[str]]:
        return {token: frozenset(runs) for token in self._wanted if (runs := _runs(token))}

    @cached_property
    def _telling(self) -> frozenset[str]:
        return frozenset().union(*self._asked.values())

    def __missing__(self, word: str) -> Mapping[str, float]:
        found: dict[str, float] = {}
        if not self._telling.isdisjoint(runs := _runs(word.casefold())):
            held = frozenset(runs)
            for token, own in self._asked.items():
                alike = 2 * len(held & own) / (len(held) + len(own))
                if alike >= _RESEMBLING:
                    found[token] = self._wanted[token] * alike
        self[word] = found
        return found

    def within(self, text: str, start: int, end: int) -> dict[str, float]:
        """Those that words in `text[start:end]` look like."""
        found: dict[str, float] = {}
        for word in _WORD.findall(text, start, end):
            if alike := self[word]:
                for token, weight in alike.items():
                    found[token] = max(weight, found.get(token, 0.0))
        return found


def _runs(word: str) -> list[str]:
    """All runs of three letters in a word."""
    return [word[start : start + 3] for start in range(len(word) - 2)]
