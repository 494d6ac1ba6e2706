"""A library's own indexed words: other forms under which it holds a word of a query, and the nearest word to one.

Forms are compounds that a word is a part of, umlauts spelt as two letters, and words that begin with what stands before
a `*`. They are looked for among the indexed words, so that no dictionary of a language is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from ..models import AnalyzedQuery, Filters, Selection
from ..text.analyzer import StandardAnalyzer
from ..text.scripts import fold_accents, normal

if TYPE_CHECKING:  # the command line reads this page without numpy
    from ..storage.base import KeywordIndex

#: Languages that write compounds as one word.
COMPOUNDING = frozenset({"de", "nl", "sv", "da", "no", "nb", "nn", "is", "fi", "et", "hu", "lb", "af"})
WORDS, FORMS = 8, 5  #: words of a query that are looked at, and forms that each may have
_FEW = 4  #: words of a query from which on compounds are looked for of those alone that the library doesn't hold
_TERMS = 300_000  #: most frequent indexed words that are looked through
_SHORTEST, _REST, _LONG = 4, 3, 5  #: letters of a part, of the rest of its compound, and of a part inside or a stem
_LONG_WORD = "bankbank"  #: a word's stem may be another one where it ends a long word
_WORD = re.compile(r"[^\W\d_]{2,40}(?:\*|(?![\w*]))")
#: How letters are written where a keyboard lacks them, in both directions, and what shows that they may be.
_SPELT = (("ä", "ae"), ("ö", "oe"), ("ø", "oe"), ("ü", "ue"), ("å", "aa"))
OTHERWISE = re.compile(r"\*|ae|oe|ue|aa|[äöøüå]", re.IGNORECASE)

CLOSENESS = 0.7  #: how like a word's stem (difflib's ratio) an indexed one must be
#: The most frequent indexed words with the same first two letters are compared, and passages read to see how a stem's
#: words are written.
COMPARED, CHUNKS_READ = 500, 5
EVERYTHING = Selection(Filters(), None, 0)

Texts = Callable[[Sequence[int]], Mapping[int, str]]  #: passages by id


class IndexedWords:
    """The indexed words of one library. Safe to use from several threads."""

    def __init__(self, analyzer: StandardAnalyzer, lexical: KeywordIndex) -> None:
        self.analyzer = analyzer
        self.lexical = lexical
        self._beginning = lru_cache(64)(lambda prefix, generation: lexical.terms(prefix, COMPARED))
        #: indexed words, most frequent first, each between line breaks
        self._terms = lru_cache(1)(lambda generation: "\n".join(("", *lexical.terms("", _TERMS), "")))

    def stems(self, word: str, languages: Sequence[str]) -> set[str]:
        """What a word is indexed as in any of these languages."""
        return {token for language in languages or ("",) for token in self.analyzer.tokens(word, language)}

    def forms(self, text: str, language: str, languages: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Words of a query in that language, in lower case, with indexed words that are forms of them; `languages` are
        the library's."""
        found: dict[str, tuple[str, ...]] = {}
        matches = list(_WORD.finditer(text))[:WORDS]
        compounding = language in COMPOUNDING and len(matches) <= _FEW
        for match in matches:
            word = normal(match.group())
            if word.endswith("*"):
                forms = self.lexical.terms(fold_accents(word[:-1]), FORMS * 2)
            else:
                spellings, stems = _spelt(word), self.stems(word, languages)
                others = {stem for spelling in spellings for stem in self.stems(spelling, languages)}
                forms = sorted(self.lexical.frequencies(others)) if others else []
                wanted = not COMPOUNDING.isdisjoint(languages) or not self.analyzer.is_word(word)
                if compounding or (wanted and not self.lexical.frequencies(stems)):
                    forms += self._compounds((word, *spellings), languages)
                forms = [form for form in forms if form not in stems]
            if forms:
                found[match.group().lower().rstrip("*")] = tuple(dict.fromkeys(forms))
        return found

    def near(self, word: str, stems: Collection[str], languages: Sequence[str], texts: Texts) -> str:
        """The nearest word as the library writes it to one that it doesn't hold, by its stems; empty where none is."""
        near = [
            (SequenceMatcher(None, close, stem).ratio(), close)
            for stem in stems
            for close in get_close_matches(stem, self._beginning(stem[:2], self.lexical.generation), 1, CLOSENESS)
        ]
        if not near:
            return ""
        stem = max(near)[1]
        chunks = texts(self.lexical.search(AnalyzedQuery(stem, (stem,), ()), EVERYTHING, CHUNKS_READ).ids)
        words = {found for text in chunks.values() for found in re.findall(r"\w+", text)}
        forms = [one for one in words if fold_accents(one.lower()).startswith(stem[:2])]
        forms = [one for one in forms if stem in self.stems(one, languages)]
        return max(sorted(forms), key=partial(alike, word), default=stem)

    def _compounds(self, spellings: Sequence[str], languages: Sequence[str]) -> list[str]:
        """Indexed words that a word, in one of its spellings, is a part of; most frequent first."""
        found: dict[str, None] = {}
        for word in spellings:
            typed = fold_accents(word)
            behind = (self.analyzer.stem(_LONG_WORD + word, one) for one in languages if one in COMPOUNDING)
            stems = self.stems(word, languages).union(one.removeprefix(_LONG_WORD) for one in behind) - {typed}
            for part in (typed, *sorted(stems)):
                if len(part) >= _REST and len(typed) >= _SHORTEST:
                    found |= dict.fromkeys(self._holding(part, stemmed=part != typed))
        return list(found)[:FORMS]

    def _holding(self, part: str, *, stemmed: bool) -> Iterator[str]:
        """Indexed words that hold a part, as typed or as its stem, and another word before or behind it."""
        words = self._terms(self.lexical.generation)
        for match in re.finditer(re.escape(part), words):
            term = words[words.rindex("\n", 0, match.start()) + 1 : words.index("\n", match.end())]
            before, _, behind = term.partition(part)
            if len(term) <= _SHORTEST or not term.isalpha():
                continue
            if not before:
                is_compound = len(behind) >= _REST and (not stemmed or len(part) >= _LONG)
            elif behind or len(part) >= _LONG:
                is_compound = len(part) >= _LONG and len(before) >= _REST - 1
            else:
                is_compound = len(before) > _REST
            if is_compound:
                yield term


def _spelt(word: str) -> list[str]:
    """A word with letters in place of two that stand for them, or the other way round: one kind of them, or all."""
    found = {word.replace(*pair) for pair in _SPELT} | {word.replace(two, one) for one, two in _SPELT}
    plain = whole = word
    for letter, two in _SPELT:
        plain, whole = plain.replace(letter, two), whole.replace(two, letter)
    return sorted((found | {plain, whole}) - {word})


def alike(typed: str, written: str) -> float:
    """How alike two words are, from 0 to 1, whatever their case."""
    return SequenceMatcher(None, typed.casefold(), written.casefold()).ratio()
