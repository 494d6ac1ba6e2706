"""Names and rare words of a query that no document holds: where one is missing, other words' hits answer little.

An ordinary word may well be missing from the page that answers ("how do I get rid of ..."). What a question is about is
rather a name (in capitals, an identifier) or a word that English texts rarely hold. `benchmarks/answerable.py` measures
these rules (docs: quality.md).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..models import AnalyzedQuery, Selection
from .spelling import QueryWords
from .word_forms import EVERYTHING

log = logging.getLogger(__name__)

MOST, LONGEST = 4, 60  #: words that are named, and characters of each
SHORTEST = 3  #: letters of a word in lower case or capitals that may be a name
MANY = 500  #: chunks from which on a missing rare word means that nothing answers; in smaller libraries something may
ABBREVIATED = 4  #: capitals that a text may have spelt out (`RAM`, `HPA`), so that they tell no more than a rare word
LONG_QUESTION = 10  #: words, without stop words, beyond which no single word decides whether a text answers
_HALF = 3  #: letters of each half, at least, where a word may be written as two
#: Languages in which capitals don't tell names, and those without Latin letters, in which Latin words are names.
_CAPITAL_NOUNS = frozenset({"de", "lb"})
_NOT_LATIN = frozenset({"ja", "zh", "ko", "th", "ru", "uk", "be", "bg", "sr", "mk", "el", "he", "ar", "fa", "hi", "ne"})
#: What stands before a name that the asker gives to something, and before and behind a key with its value.
_GIVEN = re.compile(
    r"(?:\b(?:named?|names|called|labell?ed|labels?|entitled)(?: (?:is|it|of|to|be))*:? ['\"`‘“]?|=['\"`‘“]?)$"
)
_BEGINNING = re.compile(r"(?:^|[.?!:;\n])\s*[-*>]*\s*[\"'“‘(\[]*$")
#: A number, an example of its like (`nginx2`), a numeronym (`k8s`).
_NO_NAME = re.compile(r"\d.*|[\W\d_]*|[a-z]+\d{1,2}|[a-zA-Z](?:[5-9]|\d\d)[a-zA-Z]")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9]+s?")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-rt-z]")
#: What makes other words of common ones: `reinstall`, `uncaught`.
_PREFIX = re.compile(r"^(?:anti|auto|co|de|dis|inter|mis|multi|non|over|post|pre|re|sub|super|un|under)-?(?=[a-z]{4})")
_PLACE = re.compile(r"[/\\@]|^\.|\.\w{2,5}$")


@dataclass(frozen=True, slots=True)
class Missing:
    """The telling words of a query that no document holds, and what follows from that."""

    words: tuple[str, ...] = ()  #: as typed
    unlikely: bool = False  #: that the other words' hits answer
    doubtful: bool = False  #: whether they do


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a query, with what it and its parts are indexed as."""

    text: str
    before: str  #: what stands before it
    after: str  #: the character behind it
    whole: frozenset[str]
    parts: tuple[tuple[str, frozenset[str]], ...] = ()  #: of a compound, none of which holds another

    def missing(self, held: Mapping[str, int]) -> tuple[str, ...]:
        """The word if it isn't held, or of a compound in prose its parts that aren't."""
        if not self.whole.isdisjoint(held):
            return ()
        if self.text.isalnum() or "_" in self.text or _INNER_CAPITAL.search(self.text):
            return (self.text,)
        return tuple(text for text, tokens in self.parts if tokens.isdisjoint(held))


class MissingWords:
    """Tells the telling words of a query that the selected documents don't hold."""

    def __init__(self, words: QueryWords, query: AnalyzedQuery, selection: Selection) -> None:
        """`query` is the one that `words` were read of, as it was searched."""
        self._asked, self._query, self._selection = words, query, selection
        self._analyzer, self._lexical = words.analyzer, words.lexical
        self._languages = tuple(words.languages) or ("",)

    def find(self) -> Missing:
        """Names and rare words that no selected document holds, as typed.

        Of the words that were corrected, one that was taken apart may be a name (`teamcity`), and is unless a document
        writes it so.
        """
        if self._query.common or self._query.excludes_alone or not self._selection.count:
            return Missing()
        try:
            apart = (typed for typed, intended in self._asked.corrected if " " in intended)
            found = {typed: "rare" for typed in apart if not self._is_apart(typed, EVERYTHING)}
            found |= self._missing()
        except Exception:
            # A keyword index that fails is reported by its retriever; the meaning may answer all the same.
            log.exception("missing words couldn't be looked for")
            return Missing()
        named = tuple(found)[:MOST]
        if not named or len(self._words) > LONG_QUESTION:
            return Missing(named)
        kinds = set(found.values())
        return Missing(named, "name" in kinds or ("rare" in kinds and self._selection.count >= MANY), True)

    def are_in_heading(self, heading: str, language: str) -> bool:
        """Whether a title or heading in that language holds all words of the query."""
        if not self._words or self._query.excluded or self._query.excluded_phrases:
            return False
        held = set(self._analyzer.tokens(heading, language))
        return all(not word.whole.isdisjoint(held) for word in self._words)

    def held(self) -> dict[str, bool]:
        """Words of the query, each with whether the library holds it."""
        found = self._lexical.frequencies({token for word in self._words for token in word.whole})
        return {
            word.text: not word.whole.isdisjoint(found) or word.text.lower() in self._asked.in_other_forms
            for word in self._words
        }

    def _missing(self) -> dict[str, str]:
        """Missing words, each with its kind (`_kind`)."""
        words = self._words
        held = self._lexical.frequencies(
            {token for word in words for own in (word.whole, *(own for _, own in word.parts)) for token in own}
        )
        titled = all(word.text[:1].isupper() for word in words if word.text.isalpha())
        shouted = titled and all(word.text.isupper() for word in words if word.text.isalpha())
        missing: dict[str, str] = {}
        for at, word in enumerate(words):
            absent = word.missing(held)
            if not absent and self._selection.mask is None:
                continue
            kinds = (self._kind(word, text, titled, shouted) for text in absent or (word.text,))
            kind = min(filter(None, kinds), default="")
            near = [*words[max(0, at - 1) : at], *words[at + 1 : at + 2]]
            if kind and not self._is_held_otherwise(word, near):
                missing.setdefault(word.text[:LONGEST], kind)
        return missing

    @cached_property
    def _words(self) -> list[_Word]:
        """The query's words in order, compounds as wholes."""
        text = self._query.wanted or self._query.text
        terms = {*self._query.terms, *self._query.identifiers}
        spans: dict[tuple[int, int], set[str]] = {}
        for language in self._languages:
            for span in self._analyzer.spans(text, language):
                if span.token in terms:
                    spans.setdefault((span.start, span.end), set()).add(span.token)
        words: list[_Word] = []
        ordered = sorted(spans, key=lambda place: (place[0], -place[1]))
        while ordered:
            first, last = ordered[0]
            count = next((at for at, place in enumerate(ordered) if place[0] >= last), len(ordered))
            inside, ordered = ordered[1:count], ordered[count:]
            leaves = [
                place
                for place in inside
                if not any(place[0] <= other[0] and other[1] <= place[1] and other != place for other in inside)
            ]
            parts = tuple((text[slice(*place)], frozenset(spans[place])) for place in leaves)
            word = text[first:last], text[:first], text[last : last + 1]
            words.append(_Word(*word, frozenset(spans[first, last]), parts))
        return words

    def _kind(self, word: _Word, text: str, titled: bool, shouted: bool) -> str:
        """`name` or `rare` for a word that a question is likely about, as a part of it (`text`) shows; empty for
        others, and for names that the asker gives to something."""
        if len(text) < SHORTEST or word.after == "=" or _GIVEN.search(word.before) or _PLACE.search(word.text):
            return ""
        if _NO_NAME.fullmatch(text) or _NO_NAME.fullmatch(word.text):
            return ""
        if _CAPITALS.fullmatch(text) and not shouted:
            return "name" if len(text) > ABBREVIATED else "rare"
        if _INNER_CAPITAL.search(text):
            return "name"
        language = self._query.language
        capitals_tell = not titled and language not in _CAPITAL_NOUNS
        if text[:1].isupper() and capitals_tell and not _BEGINNING.search(word.before):
            return "name"
        if language in _NOT_LATIN:
            return "name" if text.isascii() else ""
        if language != "en":
            return ""
        lower = text.lower()
        common = any(self._analyzer.is_common(form, self._languages) for form in {lower, _PREFIX.sub("", lower)})
        return "" if common else "rare"

    def _is_held_otherwise(self, word: _Word, near: Sequence[_Word]) -> bool:
        """Whether a document holds a word: as such, as a part of a longer name, joined with a neighbour, in another
        form, or apart; or the library has that name."""
        tokens, lower = tuple(sorted(word.whole)), word.text.lower()
        if self._lexical.search(AnalyzedQuery(word.text, tokens, tokens), self._selection, 1).ids:
            return True
        pairs = [one.text.lower() + lower if one.before < word.before else lower + one.text.lower() for one in near]
        joined = {token for pair in pairs for one in self._languages for token in self._analyzer.tokens(pair, one)[:1]}
        return (
            bool(self._lexical.frequencies(joined))
            or self._is_apart(word.text, self._selection)
            or lower in self._asked.in_other_forms
            or self._asked.is_name(word.text)
        )

    def _is_apart(self, text: str, selection: Selection) -> bool:
        """Whether a document writes a word as two or more."""
        if _INNER_CAPITAL.search(text):
            splits = [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).split()]
        else:
            splits = [[text[:at], text[at:]] for at in range(_HALF, len(text) - _HALF + 1)]
        language = self._languages[0]
        phrases = [
            tuple(token for part in split for token in self._analyzer.tokens(part, language)) for split in splits
        ]
        held = self._lexical.frequencies({token for phrase in phrases for token in phrase})
        return any(
            len(phrase) >= max(2, len(split))
            and all(token in held for token in phrase)
            and self._lexical.search(AnalyzedQuery(" ".join(split), phrase, (), phrases=(phrase,)), selection, 1).ids
            for split, phrase in zip(splits, phrases, strict=True)
        )
