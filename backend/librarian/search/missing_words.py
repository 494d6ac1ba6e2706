"""Names and rare words of a question that no document holds: where one is missing, other words' hits answer little.

An ordinary word may well be missing from the page that answers ("how do I get rid of ..."). What a question is about is
rather a name (in capitals, an identifier) or a word that English texts rarely hold.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ..models import AnalyzedQuery, Selection
from ..storage.base import KeywordIndex
from ..text.base import Analyzer
from .spelling import EVERYTHING, Naming, Spelling, Texts, alike

log = logging.getLogger(__name__)

MOST = 4  #: words that are named
LONGEST = 60  #: characters of a word that is named
SHORTEST = 3  #: letters of a word in lower case or capitals that may be a name
#: Passages from which on a missing rare word means that nothing answers; smaller libraries often answer such questions.
MANY = 500
ABBREVIATED = 4  #: capitals that a text may have spelt out (`RAM`, `HPA`), so that they tell no more than a rare word
#: Words, without stop words, beyond which a question is a paragraph, in which one word decides nothing.
LONG_QUESTION = 10
FEW = 3  #: words of a question that a heading may be about as a whole
MISSPELT = 0.82  #: how like a word of the library (difflib) one is that no dictionary has and that is misspelt
_LONG = 5  #: letters from which on a word's likeness to another says something
_HALF = 3  #: letters of each half, at least, where a word may be written as two
#: Languages in which capitals don't tell names, and those without Latin letters, in which Latin words are names.
_CAPITAL_NOUNS = frozenset({"de", "lb"})
_NOT_LATIN = frozenset({"ja", "zh", "ko", "th", "ru", "uk", "be", "bg", "sr", "mk", "el", "he", "ar", "fa", "hi", "ne"})
#: What stands before a name that the asker gives to something, and before and behind a key with its value.
_GIVEN = re.compile(
    r"(?:\b(?:named?|names|called|labell?ed|labels?|entitled)(?: (?:is|it|of|to|be))*:? ['\"`‘“]?|=['\"`‘“]?)$"
)
_LISTED = re.compile(r"\s*(?:,|/|,? or)\s*")  #: what stands between words that are listed
_BEGINNING = re.compile(r"(?:^|[.?!:;\n])\s*[-*>]*\s*[\"'“‘(\[]*$")
_NUMBERED = re.compile(r"[a-z]+\d{1,2}")  #: an example of its like: `nginx2`
_NUMERONYM = re.compile(r"[a-z](?:[5-9]|\d\d)[a-z]")  #: `k8s`
_CAPITALS = re.compile(r"[A-Z][A-Z0-9]+s?")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-rt-z]")
#: What makes other words of common ones: `reinstall`, `uncaught`.
_PREFIX = re.compile(r"^(?:anti|auto|co|de|dis|inter|mis|multi|non|over|post|pre|re|sub|super|un|under)-?(?=[a-z]{4})")
_PLACE = re.compile(r"[/\\@]|^\.|\.\w{2,5}$")


@dataclass(frozen=True, slots=True)
class Missing:
    """The telling words of a question that no document holds, and what follows from that."""

    words: tuple[str, ...] = ()  #: as typed
    unlikely: bool = False  #: that the other words' hits answer
    doubtful: bool = False  #: whether they do


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a question, with what it and its parts are indexed as."""

    text: str
    before: str  #: what stands before it
    after: str  #: the character behind it
    whole: frozenset[str]
    parts: tuple[tuple[str, frozenset[str]], ...] = ()  #: of a compound, none of which holds another

    @property
    def tokens(self) -> frozenset[str]:
        return self.whole.union(*(tokens for _, tokens in self.parts))


class MissingWords:
    """Tells the telling words of questions on one library that it doesn't hold. Safe to use from several threads."""

    def __init__(self, analyzer: Analyzer, lexical: KeywordIndex, spelling: Spelling) -> None:
        self._analyzer = analyzer
        self._lexical = lexical
        self._spelling = spelling

    def of(
        self,
        query: AnalyzedQuery,
        selection: Selection,
        languages: Sequence[str],
        texts: Texts,
        names: Naming = lambda word: False,
        corrected: Sequence[tuple[str, str]] = (),
    ) -> Missing:
        """Names and rare words that no selected document holds, as typed.

        `languages` are the library's, `texts` gives passages by id; `names` tells words that count as held, such as a
        product's or a sender's. `corrected` are the words that were corrected, as typed and as they were taken: one
        that was taken apart may be a name (`teamcity`), and is unless a document writes it so.
        """
        if query.common or query.excludes_alone or not selection.count:
            return Missing()
        try:
            apart = (typed for typed, meant in corrected if " " in meant)
            found = {typed: "rare" for typed in apart if not self._is_apart(typed, EVERYTHING, languages or ("",))}
            said = self._words(query, languages or ("",))
            found |= self._of(query, said, selection, languages or ("",), texts, names)
        except Exception:
            # A keyword index that fails is told of by its leg; the meaning may answer all the same.
            log.exception("missing words couldn't be looked for")
            return Missing()
        words = tuple(found)[:MOST]
        if not words or len(said) > LONG_QUESTION:
            return Missing(words)
        kinds = set(found.values())
        return Missing(words, "name" in kinds or ("rare" in kinds and selection.count >= MANY), True)

    def in_heading(self, query: AnalyzedQuery, languages: Sequence[str], heading: str, language: str) -> bool:
        """Whether a question has few words, and a title or heading in that language holds all of them."""
        words = self._words(query, languages or ("",))
        if not 0 < len(words) <= FEW or query.excluded or query.excluded_phrases:
            return False
        held = set(self._analyzer.tokens(heading, language))
        return all(not word.whole.isdisjoint(held) for word in words)

    def holders(self, word: str, languages: Sequence[str], selection: Selection, limit: int) -> Sequence[int]:
        """Chunks of the best passages with a word."""
        tokens = {self._whole(word, language) for language in languages or ("",)}
        return self._lexical.search(_asking(word, tokens), selection, limit).ids

    def _of(
        self,
        query: AnalyzedQuery,
        words: Sequence[_Word],
        selection: Selection,
        languages: Sequence[str],
        texts: Texts,
        names: Naming,
    ) -> dict[str, str]:
        """Missing words, each with its kind (`_kind`), or `aside` for those in brackets or listed with a held one."""
        held = self._lexical.frequencies({token for word in words for token in word.tokens})
        titled = all(word.text[:1].isupper() for word in words if word.text.isalpha())
        shouted = titled and all(word.text.isupper() for word in words if word.text.isalpha())
        missing: dict[str, str] = {}
        for at, word in enumerate(words):
            lacking = _lacking(word, held)
            if not lacking and selection.mask is None:
                continue
            kind_of = partial(self._kind, word, query, languages, titled=titled, shouted=shouted)
            if not (kind := min(filter(None, map(kind_of, lacking or (word.text,))), default="")):
                continue
            near = [*words[max(0, at - 1) : at], *words[at + 1 : at + 2]]
            if self._otherwise(word, near, selection, languages) or names(word.text):
                continue
            if not (lacking and self._is_mistyped(word, languages, texts)):
                aside = _in_brackets(word) or any(_listed(word, one) and not _lacking(one, held) for one in near)
                missing.setdefault(word.text[:LONGEST], "aside" if aside else kind)
        return missing

    def _words(self, query: AnalyzedQuery, languages: Sequence[str]) -> list[_Word]:
        text = query.wanted or query.asked or query.text
        terms = {*query.terms, *query.identifiers}
        spans: dict[tuple[int, int], set[str]] = {}
        for language in languages:
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
            words.append(
                _Word(text[first:last], text[:first], text[last : last + 1], frozenset(spans[first, last]), parts)
            )
        return words

    def _kind(
        self,
        word: _Word,
        query: AnalyzedQuery,
        languages: Sequence[str],
        text: str,
        *,
        titled: bool,
        shouted: bool,
    ) -> str:
        """`name` or `rare` for a word that a question is likely about, as a part of it (`text`) shows; empty for
        others, and for names that the asker gives to something."""
        if len(text) < SHORTEST or word.after == "=" or _GIVEN.search(word.before) or _PLACE.search(word.text):
            return ""
        if (
            text[0].isdigit()
            or _NUMBERED.fullmatch(word.text)
            or _NUMERONYM.fullmatch(word.text.lower())
            or not any(map(str.isalpha, text))
        ):
            return ""
        if _CAPITALS.fullmatch(text) and not shouted:
            return "name" if len(text) > ABBREVIATED else "rare"
        if _INNER_CAPITAL.search(text):
            return "name"
        capitals_tell = not titled and query.language not in _CAPITAL_NOUNS
        if text[:1].isupper() and capitals_tell and not _BEGINNING.search(word.before):
            return "name"
        if query.language in _NOT_LATIN:
            return "name" if text.isascii() else ""
        if query.language != "en":
            return ""
        lower = text.lower()
        common = any(self._analyzer.is_common(form, languages) for form in {lower, _PREFIX.sub("", lower)})
        return "" if common else "rare"

    def _otherwise(self, word: _Word, near: Sequence[_Word], selection: Selection, languages: Sequence[str]) -> bool:
        """Whether a document holds a word: as such, as a part of a longer name, joined with a neighbour, or apart."""
        text = word.text
        if self._lexical.search(_asking(text, word.whole), selection, 1).ids:
            return True
        lower = text.lower()
        joined = [one.text.lower() + lower if one.before < word.before else lower + one.text.lower() for one in near]
        tokens = {self._whole(one, language) for one in joined for language in languages}
        if self._lexical.frequencies(tokens):
            return True
        return self._is_apart(text, selection, languages)

    def _is_mistyped(self, word: _Word, languages: Sequence[str], texts: Texts) -> bool:
        """Whether a word that no dictionary has is much like an indexed one, or a short one like a common word."""
        lower = word.text.lower()
        if _INNER_CAPITAL.search(word.text) or word.text.isupper() or not lower.isalpha():
            return False
        if self._analyzer.is_word(lower, languages):
            return False
        if len(lower) < _LONG:
            swapped = (lower[:at] + lower[at + 1] + lower[at] + lower[at + 2 :] for at in range(len(lower) - 1))
            return any(not self._analyzer.tokens(one, "en") or self._analyzer.is_common(one) for one in swapped)
        near = self._spelling.near(word.text, word.whole, languages, texts)
        if len(near) + 1 < len(lower) and lower.startswith(near.lower()):
            return False  # `circleci` is no `circle`
        return alike(word.text, near) >= MISSPELT

    def _whole(self, word: str, language: str) -> str:
        return next(iter(self._analyzer.tokens(word, language)), "")

    def _is_apart(self, text: str, selection: Selection, languages: Sequence[str]) -> bool:
        """Whether a document writes a word as two or more."""
        if _INNER_CAPITAL.search(text):
            splits = [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).split()]
        else:
            splits = [[text[:at], text[at:]] for at in range(_HALF, len(text) - _HALF + 1)]
        language = languages[0]
        tokens = [[token for part in split for token in self._analyzer.tokens(part, language)] for split in splits]
        held = self._lexical.frequencies({token for phrase in tokens for token in phrase})
        for split, phrase in zip(splits, tokens, strict=True):
            if len(phrase) < len(split) or not all(token in held for token in phrase) or len(phrase) < 2:
                continue
            asked = AnalyzedQuery(" ".join(split), tuple(phrase), (), phrases=(tuple(phrase),))
            if self._lexical.search(asked, selection, 1).ids:
                return True
        return False


def _lacking(word: _Word, held: dict[str, int]) -> tuple[str, ...]:
    """A word that isn't held, or of a compound in prose its parts that aren't; nothing where it is held."""
    if not word.whole.isdisjoint(held):
        return ()
    if word.text.isalnum() or "_" in word.text or _INNER_CAPITAL.search(word.text):
        return (word.text,)
    return tuple(text for text, tokens in word.parts if tokens.isdisjoint(held))


def _in_brackets(word: _Word) -> bool:
    return word.before.count("(") > word.before.count(")")


def _listed(word: _Word, other: _Word) -> bool:
    """Whether a question lists two words: *Redis or Memcached*, *SAML and OIDC*; not *Serve and OpenShift*."""
    first, second = sorted((word, other), key=lambda one: len(one.before))
    between = second.before[len(first.before) + len(first.text) :]
    alike_written = all(_CAPITALS.fullmatch(one.text) for one in (word, other))
    return _LISTED.fullmatch(between) is not None or (between.strip() == "and" and alike_written)


def _asking(word: str, tokens: frozenset[str] | set[str]) -> AnalyzedQuery:
    return AnalyzedQuery(word, tuple(sorted(tokens)), tuple(sorted(tokens)))
