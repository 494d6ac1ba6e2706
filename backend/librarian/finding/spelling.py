"""The nearest indexed word for each of a question's words that the library doesn't hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache

from librarian.vocabulary.protocols import Analyzer, LexicalIndex
from librarian.vocabulary.types import AnalyzedQuery, Filters, Selection

#: How like a word's stem an indexed one must be (difflib's ratio), and how many words are told of.
CLOSENESS, MOST = 0.7, 3
#: How like the word itself one must be as it is written: `foobar` and `football` 0.71, `receive` and `recieve` 0.86.
WRITTEN = 0.75
#: Words of a question that are looked at, and indexed ones that each is compared with: the most frequent of those with
#: the same first two letters. Reading these takes 8 ms where an index of 27,000 passages has many, so some are kept.
WORDS_READ, COMPARED, PREFIXES_KEPT = 16, 500, 64
PASSAGES_READ = 5  #: to see how a stem's words are written

_EVERYTHING = Selection(Filters(), None, 0)


class Spelling:
    """Tells misspelt words. Safe to use from several threads."""

    def __init__(self, lexical: LexicalIndex, analyzer: Analyzer) -> None:
        self._lexical = lexical
        self._analyzer = analyzer
        self._beginning = lru_cache(PREFIXES_KEPT)(lambda prefix, generation: lexical.vocabulary(prefix, COMPARED))

    def nearest(
        self, query: AnalyzedQuery, languages: Sequence[str], texts: Callable[[Sequence[int]], Mapping[int, str]]
    ) -> list[tuple[str, str]]:
        """(word as typed, nearest one as the library writes it) for words that occur nowhere in it.

        `languages` are the library's, `texts` gives passages by id.
        """
        words = {} if query.common else self._words(query, languages)  # stop words occur, and aren't indexed
        occurring = self._lexical.occurring({stem for stems in words.values() for stem in stems})
        generation = self._lexical.generation
        found: list[tuple[str, str]] = []
        for word, stems in words.items():
            if len(found) < MOST and occurring.isdisjoint(stems):
                near = [
                    (SequenceMatcher(None, close, stem).ratio(), close)
                    for stem in stems
                    for close in get_close_matches(stem, self._beginning(stem[:2], generation), 1, CLOSENESS)
                ]
                written = self._written(word, max(near)[1], languages, texts) if near else ""
                if _alike(word, written) >= WRITTEN:
                    found.append((word, written))
        return found

    def _written(
        self, word: str, stem: str, languages: Sequence[str], texts: Callable[[Sequence[int]], Mapping[int, str]]
    ) -> str:
        """Of the words with this stem, as some passages write them, the most like; the stem where none is at hand."""
        passages = texts(self._lexical.search(AnalyzedQuery(stem, (stem,), ()), _EVERYTHING, PASSAGES_READ).ids)
        forms = {
            text[span.start : span.end]
            for text in passages.values()
            for language in languages or ("",)
            for span in self._analyzer.spans(text, language)
            if span.token == stem
        }
        return max(sorted(forms), key=lambda form: _alike(word, form), default=stem)

    def _words(self, query: AnalyzedQuery, languages: Sequence[str]) -> dict[str, set[str]]:
        """The question's words as typed, each with what it is indexed as in any of the languages."""
        terms = set(query.terms)
        words: dict[str, set[str]] = {}
        for language in languages or ("",):
            for span in self._analyzer.spans(query.text, language):
                if span.token in terms:
                    words.setdefault(query.text[span.start : span.end], set()).add(span.token)
        return dict(list(words.items())[:WORDS_READ])


def _alike(typed: str, written: str) -> float:
    return SequenceMatcher(None, typed.casefold(), written.casefold()).ratio()
