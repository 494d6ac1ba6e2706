"""Interfaces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from ..models import (
    AnalyzedQuery,
    TokenSpan,
)


class Analyzer(Protocol):
    """One notion of words, stems and identifiers for index, query, snippet and guard."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would give other tokens."""

    def tokens(self, text: str, language: str = "") -> list[str]:
        """Tokens as indexed: stems without stop words, identifiers whole and split, CJK as bigrams."""

    def sieve(
        self, tokens: Collection[str], language: str = ""
    ) -> Callable[[str, int, int], Sequence[tuple[int, int]]]:
        """A quick look at `text[start:end]`: first and last offset of each of its pieces, in order, but for such as
        hold none of the tokens nor one that begins like one."""

    def spans(self, text: str, language: str = "") -> list[TokenSpan]:
        """The same tokens with their places, for highlighting."""

    def by_piece(self, language: str = "") -> Mapping[str, Sequence[tuple[str, int, int, bool]]]:
        """Piece, which is what stands between two blanks, → its tokens, each with where it begins and ends in it and
        whether it is a whole identifier; `spans` gives these, one after another."""

    def entry(self, text: str, language: str = "") -> tuple[str, list[str]]:
        """The same joined by single spaces, and whole identifiers: names with `_ . - / :`, inner capitals, versions."""

    def query(self, text: str, languages: Sequence[str] = ()) -> AnalyzedQuery:
        """A question analysed for all `languages` that the library holds; never raises."""

    def is_word(self, word: str, languages: Sequence[str] = ()) -> bool:
        """Whether a dictionary of one of these languages, or of English, has a word in lower case. False is weak: names
        and new words are in none."""

    def is_common(self, word: str, languages: Sequence[str] = ()) -> bool:
        """Whether a word in lower case, or a form of it, is frequent in one of these languages or in English, or a
        common word of computing."""

    def slips(self, word: str, languages: Sequence[str] = ()) -> Mapping[str, tuple[str, ...]]:
        """Every spelling that is one letter left out, added, changed or swapped away from a word in lower case, with
        the tokens that it is indexed as in any of these languages; none, where it is a stop word."""

    def detect(self, text: str) -> str:
        """ISO 639-1 code of the text's language, empty where unsure."""
