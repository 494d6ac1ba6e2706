"""Other forms under which a library holds a word of a query: compounds that it is a part of, umlauts spelt as two
letters, and words that begin with what stands before a `*`.

Forms are looked for among the library's own indexed words, so that no dictionary of a language is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ..text.analyzer import StandardAnalyzer
from ..text.dictionaries import dictionary
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
_LINKS = ("", "s", "es", "n", "en", "e", "er")  #: letters between the parts of a compound
#: How letters are written where a keyboard lacks them, in both directions.
_SPELT = (("ä", "ae"), ("ö", "oe"), ("ø", "oe"), ("ü", "ue"), ("å", "aa"))


_OTHERWISE = re.compile(r"\*|ae|oe|ue|aa|[äöøüå]", re.IGNORECASE)  #: what may be spelt in another way


class WordForms:
    """Finds the forms of words in one library. Safe to use from several threads."""

    def __init__(self, analyzer: StandardAnalyzer, lexical: KeywordIndex) -> None:
        self._analyzer = analyzer
        self._lexical = lexical
        self._terms = lru_cache(1)(lambda generation: self._read_terms())

    def of(self, text: str, language: str, languages: Sequence[str], *, held: bool) -> dict[str, tuple[str, ...]]:
        """Words of a query in that language, in lower case, with indexed words that are forms of them; `languages` are
        the library's. `held`: it holds all of the words."""
        if held and language not in COMPOUNDING and not _OTHERWISE.search(text):
            return {}
        languages = languages or ("",)
        found: dict[str, tuple[str, ...]] = {}
        matches = list(_WORD.finditer(text))[:WORDS]
        compounding = language in COMPOUNDING and len(matches) <= _FEW
        for match in matches:
            word = normal(match.group())
            if word.endswith("*"):
                forms = self._lexical.terms(fold_accents(word[:-1]), FORMS * 2)
            else:
                stems = {token for one in languages for token in self._analyzer.tokens(word, one)}
                forms = [*self._spelt(word, languages), *self._compounds(word, stems, languages, compounding)]
                forms = [form for form in forms if form not in stems]
            if forms:
                found[match.group().lower().rstrip("*")] = tuple(dict.fromkeys(forms))
        return found

    def _spelt(self, word: str, languages: Sequence[str]) -> list[str]:
        """Indexed stems of a word with its umlauts spelt in the other way."""
        spellings = {word.replace(*pair) for pair in _SPELT} | {word.replace(two, one) for one, two in _SPELT}
        plain = whole = word
        for letter, two in _SPELT:
            plain, whole = plain.replace(letter, two), whole.replace(two, letter)
        stems = {
            token
            for spelling in spellings.union((plain, whole)) - {word}
            for language in languages
            for token in self._analyzer.tokens(spelling, language)
        }
        return sorted(self._lexical.frequencies(stems)) if stems else []

    def _compounds(self, word: str, stems: set[str], languages: Sequence[str], compounding: bool) -> list[str]:
        """Indexed words that a word is a part of, most frequent first; unless `compounding`, of a word that is neither
        held nor English alone."""
        if len(word) < _SHORTEST or not stems:
            return []
        if not compounding and (self._lexical.frequencies(stems) or self._analyzer.is_word(word)):
            return []
        behind = (self._analyzer.stem(_LONG_WORD + word, one) for one in languages if one in COMPOUNDING)
        stems = stems.union(one.removeprefix(_LONG_WORD) for one in behind)
        found: dict[str, None] = {}
        for part in {fold_accents(word), *stems}:
            found |= dict.fromkeys(
                term for term in self._holding(part) if self._is_compound(term, part, part in stems, languages)
            )
        return list(found)[:FORMS]

    def _is_compound(self, term: str, part: str, stemmed: bool, languages: Sequence[str]) -> bool:
        """Whether a part, as typed or as its stem, and other words make an indexed word."""
        before, _, behind = term.partition(part)
        if not before:
            return len(behind) >= _REST and (not stemmed or len(part) >= _LONG)
        if len(before) < _REST - 1 or len(part) < _REST:
            return False
        if behind or len(part) >= _LONG:
            return len(part) >= _LONG
        parts = (before[at:] for at in range(len(before) - 1))
        known = (one.removesuffix(link) for one in parts for link in _LINKS if one.endswith(link))
        has_dictionary = any(dictionary(language) for language in COMPOUNDING.intersection(languages))
        return not has_dictionary or any(len(one) > 1 and self._analyzer.is_word(one, languages) for one in known)

    def _holding(self, part: str) -> Iterator[str]:
        words = self._terms(self._lexical.generation)
        at = words.find(part)
        while at >= 0:
            end = words.index("\n", at)
            yield words[words.rindex("\n", 0, at) + 1 : end]
            at = words.find(part, end)

    def _read_terms(self) -> str:
        """Indexed words, most frequent first, each between line breaks."""
        words = (word for word in self._lexical.terms("", _TERMS) if len(word) > _SHORTEST and word.isalpha())
        return "\n".join(("", *words, ""))
