"""Lists of words: those too common to tell one passage from another, and dictionaries that tell a rare word from a
typo, with the spellings one edit away from it.

Stop words are articles, pronouns, prepositions, conjunctions, auxiliary verbs, question words and the remains of
contractions that a split at the apostrophe leaves ("don", "qu"), or that are typed without one ("dont"). Dictionaries
are pyspellchecker's, for a dozen languages; of their words only the hashes stay in memory (8 bytes a word; two of
300,000 words share one with a chance of one in 400 million), and the frequent ones as one string.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .scripts import fold_accents, normal

LETTERS = "abcdefghijklmnopqrstuvwxyz"
#: How often pyspellchecker's texts (for English 1.6 billion words) have a word that counts as frequent.
FREQUENT = 2000
_STOP_WORDS: dict[str, str] = json.loads(files(__package__).joinpath("stop_words.json").read_text("utf-8"))
#: Languages (ISO 639-1) that have stop words, in the order that breaks ties when a text fits two.
LANGUAGES: tuple[str, ...] = tuple(_STOP_WORDS)

READ = 2  #: languages of a library whose dictionaries are asked, the most frequent first; English always is


@cache
def raw_stop_words(language: str) -> frozenset[str]:
    """The list as written, lower case, with accents; empty for a language without one."""
    return frozenset(_STOP_WORDS.get(language, "").split())


@cache
def stop_words(language: str) -> frozenset[str]:
    """Stop words as the index writes words, with and without their accents: a hurried "fur" counts as "für"."""
    words = {normal(word) for word in raw_stop_words(language)}
    return frozenset(words | {fold_accents(word) for word in words})


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The words of a language, lower case."""

    hashes: array[int]  #: of its words, rising
    letters: str  #: that its words are made of, without accents
    frequent: str = ""  #: its frequent words, joined by spaces

    @classmethod
    def of(cls, words: Iterable[str], letters: Iterable[str], frequent: Iterable[str] = ()) -> Dictionary:
        return cls(
            array("q", sorted(map(hash, words))),
            # stems have their accents folded: a spelling with one is indexed as that without
            "".join(sorted(letter for letter in letters if letter.isalpha() and fold_accents(letter) == letter)),
            " ".join(frequent),
        )

    def __contains__(self, word: str) -> bool:
        at = bisect_left(self.hashes, hash(word))
        return at < len(self.hashes) and self.hashes[at] == hash(word)


#: British endings and the American ones, which pyspellchecker's English dictionary has alone.
_BRITISH = (
    (re.compile(r"our(?=$|s$|ed$|ing$|ite|able|ful|al|er)"), "or"),
    (re.compile(r"is(?=(?:es?|ed|ing|ers?|able|ations?)$)"), "iz"),
    (re.compile(r"ys(?=(?:es?|ed|ing|ers?)$)"), "yz"),
    (re.compile(r"tre(?=s?$)"), "ter"),
    (re.compile(r"ogue(?=s?$)"), "og"),
    (re.compile(r"ence$"), "ense"),
    (re.compile(r"ll(?=(?:ed|ing|ers?)$)"), "l"),
)


def american(word: str) -> str:
    """A word in lower case with an American ending in place of a British one."""
    for british, own in _BRITISH:
        word = british.sub(own, word)
    return word


@cache
def dictionary(language: str) -> Dictionary | None:
    """That of an ISO 639-1 code, read when first asked for (English 0.2 s); None where there is none."""
    from spellchecker import SpellChecker  # takes as long as the rest of this package together

    if language not in SpellChecker.languages():
        return None
    words = SpellChecker(language=language).word_frequency
    frequent = (word for word, count in words.items() if count >= FREQUENT)
    return Dictionary.of(words.keys(), words.letters, frequent)


def dictionaries(languages: Sequence[str]) -> list[Dictionary]:
    """Those that tell the words of a library in these languages."""
    asked = dict.fromkeys((*(language or "en" for language in languages[:READ]), "en"))
    return [found for language in asked if (found := dictionary(language)) is not None]


def edits(word: str, letters: str = LETTERS) -> set[str]:
    """Every spelling from which one letter too few, too many or wrong, or two swapped, make this one.

    >>> sorted(edits("ab", "ab"))
    ['a', 'aa', 'aab', 'aba', 'abb', 'b', 'ba', 'bab', 'bb']
    """
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    found = {front + back[1:] for front, back in cuts if back}
    found |= {front + back[1] + back[0] + back[2:] for front, back in cuts if len(back) > 1}
    found |= {front + letter + back[1:] for front, back in cuts if back for letter in letters}
    found |= {front + letter + back for front, back in cuts for letter in letters}
    return found - {word, ""}
