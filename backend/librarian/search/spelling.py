"""Queries as they are searched: misspelt words corrected, flags of commands told apart from exclusions.

A word is corrected where it occurs nowhere, no dictionary has it, and one edit leads to a word that does occur. Where
the query's language has no dictionary, nothing tells typos from forms of a word, and nothing is corrected. Quoted words
are never corrected.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from ..models import AnalyzedQuery, Filters, Query, Selection
from ..text.analyzer import StandardAnalyzer
from ..text.scripts import fold_accents
from .query_expansion import EXCLUSIONS, FLAGS, SPELLING, QueryForm
from .word_forms import COMPOUNDING, OTHERWISE, WordForms

if TYPE_CHECKING:  # the command line reads this page without numpy
    from ..storage.base import CatalogReader, Columns, KeywordIndex

log = logging.getLogger(__name__)

#: How like a word's stem an indexed one must be (difflib's ratio), and how many words are suggested.
CLOSENESS, MOST = 0.7, 3
#: How like the word itself one must be as it is written: `foobar` and `football` 0.71, `receive` and `recieve` 0.86.
WRITTEN = 0.75
#: Words of a query that are looked at, the most frequent indexed ones with the same first two letters, cached prefixes.
WORDS_READ, COMPARED, PREFIXES_CACHED = 16, 500, 64
CHUNKS_READ = 5  #: to see how a stem's words are written
NAMES_READ = 5000  #: documents whose names are compared, in order of their paths

#: Words of a query that are corrected at most, and the letters that such a word has at least: shorter ones have a
#: neighbour in any case.
CORRECTED, SHORTEST = 5, 5
#: Passages that are read to see whether a word that no dictionary has is written so in the library, and words looked
#: for there before a typo is left as it is.
_SEEN_IN, _LOOKED_FOR = 20, 3
#: How likely typos are beside one letter too many or a wrong one: two swapped, one left out, one at the beginning.
_SWAPPED, _LEFT_OUT, _AT_THE_BEGINNING = 10.0, 3.0, 0.1
#: Letters from which on a word may begin otherwise: a short one, a name say, has neighbours that do (`flink`, `link`).
_LONG = 7
_PART = 4  #: letters of each half, at least, where a blank was left out

EVERYTHING = Selection(Filters(), None, 0)
#: A word between blanks, but for brackets around it and marks behind it.
_PLAIN = re.compile(rf"(?<!\S)\(*([^\W\d_]{{{SHORTEST},40}})\)*[,;:?!.]*(?!\S)")

_DOCUMENTS = Filters(kind="document")
_MINUS = re.compile(r"(?<!\S)-([^\W\d_][\w-]*)")
_EXCLUDING = re.compile(r'(?<!\S)-(?=[^\W\d_]|["“])')
_READ = 100  #: passages with a word, the best first, that are read to see whether one writes it as a flag
_EXCLUDED = 8  #: words that are excluded at most: a query with more minuses is a pasted command

Texts = Callable[[Sequence[int]], Mapping[int, str]]  #: passages by id
Naming = Callable[[str], bool]  #: whether a word is a name that no passage need hold, such as a sender's


class NormalizedQuery(NamedTuple):
    """A query as it is searched, and what was changed of it."""

    query: AnalyzedQuery
    forms: tuple[QueryForm, ...] = ()
    corrected: tuple[tuple[str, str], ...] = ()  #: misspelt words, as typed and as they were taken
    in_other_forms: frozenset[str] = frozenset()  #: words in lower case that the library holds in another form


class QueryNormalizer:
    """Reads queries on one library. Safe to use from several threads."""

    def __init__(self, analyzer: StandardAnalyzer, lexical: KeywordIndex) -> None:
        self._analyzer = analyzer
        self._lexical = lexical
        self._forms = WordForms(analyzer, lexical)
        self._beginning = lru_cache(PREFIXES_CACHED)(lambda prefix, generation: lexical.terms(prefix, COMPARED))

    def normalize(self, asked: Query, columns: Columns, texts: Texts) -> NormalizedQuery:
        """What a query says to the library of these columns; `texts` gives passages by id.

        A keyword index that fails is reported by its retriever: here it only leaves the query as it is.
        """
        languages = columns.languages()
        query = self._analyzer.query(asked.text, languages)
        try:
            return self._normalized(asked, query, languages, columns, texts)
        except Exception:
            log.exception("misspelt words and flags couldn't be looked for")
            return NormalizedQuery(query)

    def _normalized(
        self, asked: Query, query: AnalyzedQuery, languages: Sequence[str], columns: Columns, texts: Texts
    ) -> NormalizedQuery:
        forms: list[QueryForm] = []
        if query.excluded and asked.filters.kind != "email":  # people sign mails `-Ann`
            text = self._without_flags(asked.text, columns.select(_DOCUMENTS), texts)
            if text != asked.text:
                query = self._analyzer.query(text, languages)
                forms.append(QueryForm(text, "", FLAGS))
        if query.excludes_alone:
            forms.append(QueryForm(_EXCLUDING.sub("", asked.text), "", EXCLUSIONS))
        held = self._lexical.frequencies(query.terms)
        others: dict[str, tuple[str, ...]] = {}
        complete = len(held) == len(query.terms) and query.language not in COMPOUNDING
        if not query.common and (not complete or OTHERWISE.search(query.wanted)):
            others = self._forms.of(query.wanted, query.language, languages)
        is_sender = senders(asked, columns)
        text, words = self.corrected(
            query, languages, texts, lambda word: word.lower() in others or is_sender(word), held
        )
        if words:
            forms = [*(replace(form, search_terms="") for form in forms), QueryForm(text, "", SPELLING)]
            query = self._analyzer.query(text, languages)
        if further := tuple(
            dict.fromkeys(form for some in others.values() for form in some if form not in query.terms)
        ):
            query = replace(query, terms=query.terms + further, other_forms=further)
        return NormalizedQuery(query, tuple(forms), words, frozenset(others))

    def _without_flags(self, text: str, documents: Selection, texts: Texts) -> str:
        """A query with its flags as plain words: words that some passage writes with a minus before them."""
        words = dict.fromkeys(_MINUS.findall(text))

        def is_flag(word: str) -> bool:
            written = re.compile(rf"(?<![\w-])-{re.escape(word)}(?![\w-])")
            chunks = texts(self._lexical.search(self._analyzer.query(word), documents, _READ).ids)
            return any(written.search(passage) for passage in chunks.values())

        flags = {word for word in words if len(words) > _EXCLUDED or is_flag(word)}
        return _MINUS.sub(lambda found: found.group(1 if found.group(1) in flags else 0), text)

    # -- correcting ------------------------------------------------------------------------------------------------

    def corrected(
        self,
        query: AnalyzedQuery,
        languages: Sequence[str],
        texts: Texts,
        names: Naming = lambda word: False,
        held: Collection[str] | None = None,
    ) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The query's text with its misspelt words corrected, and these as typed and as corrected.

        `languages` are the library's, `texts` gives passages by id, `names` tells words that are right, and `held` are
        the query's terms that occur.
        """
        text, moved = query.text, 0
        words: list[tuple[str, str]] = []
        missing = set(query.terms).difference(self._lexical.frequencies(query.terms) if held is None else held)
        missing.difference_update(query.identifiers, *query.phrases)
        if query.common or not missing:
            return text, ()
        asked = tuple(filter(None, dict.fromkeys((query.language, *languages))))
        for found in _PLAIN.finditer(query.text):
            word = found.group(1)
            if len(words) == CORRECTED or not (word.islower() or word.istitle()):  # names in capitals are left alone
                continue
            forms = {token for language in languages or ("",) for token in self._analyzer.tokens(word, language)}
            if not forms or not forms <= missing:
                continue
            named = word.istitle() and query.text[: found.start()].strip()[-1:] not in {"", *".?!:"}
            intended = self._intended(word.lower(), asked, texts, named=named)
            if intended and not names(word):
                start, end = found.start(1) + moved, found.end(1) + moved
                text = text[:start] + intended + text[end:]
                moved += len(intended) - len(word)
                words.append((word, intended))
        return text, tuple(words)

    def _intended(self, word: str, languages: Sequence[str], texts: Texts, *, named: bool = False) -> str:
        """What a word in lower case that occurs nowhere was likely meant as; empty where that isn't known.

        `named` says that capitals make it a name, which is no stop word (`Dhall`, `shall`).
        """
        if self._analyzer.is_word(word, languages) or self._analyzer.is_common(word, languages):
            return ""
        edits = self._analyzer.edits(word, languages)
        common = sorted(spelling for spelling, stems in edits.items() if not stems)
        if common and not named:
            return common[0]
        held = self._lexical.frequencies({stem for stems in edits.values() for stem in stems})
        weights = {
            spelling: _likelihood(word, spelling) * math.sqrt(max(held.get(stem, 0) for stem in stems))
            for spelling, stems in edits.items()
            if not held.keys().isdisjoint(stems)
        }
        looked_for = 0
        for spelling in sorted(filter(weights.get, weights), key=lambda spelling: (-weights[spelling], spelling)):
            known = self._analyzer.is_word(spelling, languages[:1])  # another's may be a stem's odd form in this one
            if known and (languages[:1] != ("en",) or self._analyzer.is_common(spelling)):
                return spelling  # a rare one may share but its stem with words that are held: `minim`, `minimal`
            if looked_for < _LOOKED_FOR:
                looked_for += 1
                if self._is_written(spelling, [stem for stem in edits[spelling] if stem in held], texts):
                    return spelling
        return self._as_two(word, languages)

    def _is_written(self, word: str, stems: Sequence[str], texts: Texts) -> bool:
        """Whether some passage holds a word as it is spelt here."""
        asked = AnalyzedQuery(word, tuple(stems), ())
        pattern = re.compile(rf"(?<![^\W\d_]){re.escape(word)}(?![^\W\d_])", re.IGNORECASE)
        chunks = texts(self._lexical.search(asked, EVERYTHING, _SEEN_IN).ids)
        return any(pattern.search(text) for text in chunks.values())

    def _as_two(self, word: str, languages: Sequence[str]) -> str:
        """A word as two, the rarer of which is as frequent as can be; empty where no two words make it."""
        halves = [(word[:at], word[at:]) for at in range(_PART, len(word) - _PART + 1)]
        halves = [pair for pair in halves if all(self._analyzer.is_word(half, languages) for half in pair)]
        stems = {half: self._analyzer.tokens(half, (languages or ("",))[0]) for pair in halves for half in pair}
        held = self._lexical.frequencies({stem for own in stems.values() for stem in own})

        def rarest(pair: tuple[str, str]) -> int:
            return min(max((held.get(stem, 0) for stem in stems[half]), default=0) for half in pair)

        best = max(((rarest(pair), pair) for pair in halves), default=(0, ("", "")))
        return " ".join(best[1]) if best[0] else ""

    # -- suggesting ------------------------------------------------------------------------------------------------

    def nearest(self, asked: Query, query: AnalyzedQuery, columns: Columns, texts: Texts) -> list[tuple[str, str]]:
        """(word as typed, nearest one as the library writes it) for words of a query that occur nowhere in it."""
        languages, names = columns.languages() or ("",), senders(asked, columns)
        terms = set(query.terms)
        words: dict[str, set[str]] = {}
        for language in () if query.common else languages:  # stop words occur, and aren't indexed
            for span in self._analyzer.spans(query.text, language):
                if span.token in terms:
                    words.setdefault(query.text[span.start : span.end], set()).add(span.token)
        words = dict(list(words.items())[:WORDS_READ])
        occurring = self._lexical.frequencies({stem for stems in words.values() for stem in stems})
        found: list[tuple[str, str]] = []
        for word, stems in words.items():
            if any(word in typed for typed, _ in found):
                continue  # of `config.jsn` the nearest is suggested, and of its `jsn` needn't be
            if len(found) < MOST and stems.isdisjoint(occurring) and not names(word):
                written = self.near(word, stems, languages, texts)
                if alike(word, written) >= WRITTEN:
                    found.append((word, written))
        return found

    def near(self, word: str, stems: Collection[str], languages: Sequence[str], texts: Texts) -> str:
        """The nearest word as the library writes it to one that it doesn't hold, by its stems; empty where none is."""
        generation = self._lexical.generation
        near = [
            (SequenceMatcher(None, close, stem).ratio(), close)
            for stem in stems
            for close in get_close_matches(stem, self._beginning(stem[:2], generation), 1, CLOSENESS)
        ]
        if not near:
            return ""
        stem = max(near)[1]
        chunks = texts(self._lexical.search(AnalyzedQuery(stem, (stem,), ()), EVERYTHING, CHUNKS_READ).ids)
        words = {found for text in chunks.values() for found in re.findall(r"\w+", text)}
        forms = [
            one
            for one in words
            if fold_accents(one.lower()).startswith(stem[:2])
            and any(stem in self._analyzer.tokens(one, language) for language in languages or ("",))
        ]
        return max(sorted(forms), key=partial(alike, word), default=stem)


def is_name(asked: Query, columns: Columns, reader: CatalogReader) -> Naming:
    """Tells words that are names in this library although no text may hold them: products, components, senders, and
    compounds in the files' paths, which are indexed by their parts."""
    people = senders(asked, columns)

    def named(word: str) -> bool:
        folded = word.casefold()
        listed = (name for product, inside in reader.products().items() for name in (product, *inside))
        if any(folded in re.split(r"[\W_]+", name.casefold()) for name in listed) or people(word):
            return True
        plain = word.isalpha() and (word.islower() or word.isupper() or word.istitle())
        return not plain and any(folded in path.casefold() for path, _ in reader.names("", NAMES_READ))

    return named


def senders(asked: Query, columns: Columns) -> Naming:
    """Tells the names of those who wrote or got mails: few mails are signed with the name that the header has."""
    if asked.filters.kind != "email":
        return lambda word: False
    return lambda word: any(
        columns.select(who).count > 0
        for who in (Filters(kind="email", sender=word), Filters(kind="email", recipients=(word,)))
    )


def _likelihood(word: str, spelling: str) -> float:
    """How likely one who meant a spelling types a word, beside other typos."""
    if len(spelling) == len(word):
        kind = _SWAPPED if sorted(spelling) == sorted(word) else 1.0
    else:
        kind = _LEFT_OUT if len(spelling) > len(word) else 1.0
    if spelling[0] == word[0] or kind == _SWAPPED:
        return kind
    return kind * _AT_THE_BEGINNING if len(word) >= _LONG else 0.0


def alike(typed: str, written: str) -> float:
    """How alike two words are, from 0 to 1, whatever their case."""
    return SequenceMatcher(None, typed.casefold(), written.casefold()).ratio()
