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
#: How letters are written where a keyboard lacks them, in both directions.
_SPELT = (("ä", "ae"), ("ö", "oe"), ("ø", "oe"), ("ü", "ue"), ("å", "aa"))


OTHERWISE = re.compile(r"\*|ae|oe|ue|aa|[äöøüå]", re.IGNORECASE)  #: what may be spelt in another way


class WordForms:
    """Finds the forms of words in one library. Safe to use from several threads."""

    def __init__(self, analyzer: StandardAnalyzer, lexical: KeywordIndex) -> None:
        self._analyzer = analyzer
        self._lexical = lexical
        self._terms = lru_cache(1)(lambda generation: self._read_terms())

    def of(self, text: str, language: str, languages: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Words of a query in that language, in lower case, with indexed words that are forms of them; `languages` are
        the library's."""
        languages = languages or ("",)
        found: dict[str, tuple[str, ...]] = {}
        matches = list(_WORD.finditer(text))[:WORDS]
        compounding = language in COMPOUNDING and len(matches) <= _FEW
        for match in matches:
            word = normal(match.group())
            if word.endswith("*"):
                forms = self._lexical.terms(fold_accents(word[:-1]), FORMS * 2)
            else:
                spellings = {spelling: self._stems(spelling, languages) for spelling in (word, *_spelt(word))}
                stems = spellings.pop(word)
                others = set().union(*spellings.values())
                forms = sorted(self._lexical.frequencies(others)) if others else []
                wanted = not COMPOUNDING.isdisjoint(languages) or not self._analyzer.is_word(word)
                if compounding or (wanted and not self._lexical.frequencies(stems)):
                    forms += self._compounds((word, *spellings), languages)
                forms = [form for form in forms if form not in stems]
            if forms:
                found[match.group().lower().rstrip("*")] = tuple(dict.fromkeys(forms))
        return found

    def _stems(self, word: str, languages: Sequence[str]) -> set[str]:
        return {token for language in languages for token in self._analyzer.tokens(word, language)}

    def _compounds(self, spellings: Sequence[str], languages: Sequence[str]) -> list[str]:
        """Indexed words that a word, in one of its spellings, is a part of; most frequent first."""
        found: dict[str, None] = {}
        for word in spellings:
            typed = fold_accents(word)
            behind = (self._analyzer.stem(_LONG_WORD + word, one) for one in languages if one in COMPOUNDING)
            stems = self._stems(word, languages).union(one.removeprefix(_LONG_WORD) for one in behind) - {typed}
            for part in (typed, *sorted(stems)):
                if len(part) >= _REST and len(typed) >= _SHORTEST:
                    terms = self._holding(part)
                    found |= dict.fromkeys(term for term in terms if _is_compound(term, part, stemmed=part != typed))
        return list(found)[:FORMS]

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


def _spelt(word: str) -> set[str]:
    """A word with letters in place of two that stand for them, or the other way round: one kind of them, or all."""
    found = {word.replace(*pair) for pair in _SPELT} | {word.replace(two, one) for one, two in _SPELT}
    plain = whole = word
    for letter, two in _SPELT:
        plain, whole = plain.replace(letter, two), whole.replace(two, letter)
    return (found | {plain, whole}) - {word}


def _is_compound(term: str, part: str, *, stemmed: bool) -> bool:
    """Whether an indexed word holds a part, as typed or as its stem, and another word before or behind it.

    >>> [_is_compound(term, "fehl", stemmed=True) for term in ("schreibfehl", "empfehl", "fehlend")]
    [True, False, False]
    """
    before, _, behind = term.partition(part)
    if not before:
        return len(behind) >= _REST and (not stemmed or len(part) >= _LONG)
    if behind or len(part) >= _LONG:
        return len(part) >= _LONG and len(before) >= _REST - 1
    return len(before) > _REST
