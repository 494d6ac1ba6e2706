"""Queries as they are searched: misspelt words corrected, flags of commands told apart from exclusions.

A word is corrected where it occurs nowhere, no dictionary has it, and one edit leads to a word that does occur. Where
the query's language has no dictionary, nothing tells typos from forms of a word, and nothing is corrected. Quoted words
are never corrected.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..models import AnalyzedQuery, Filters, Query
from .query_expansion import EXCLUSIONS, FLAGS, SPELLING, QueryForm
from .word_forms import COMPOUNDING, EVERYTHING, OTHERWISE, IndexedWords, alike

if TYPE_CHECKING:  # the command line reads this page without numpy
    from ..storage.base import CatalogReader, Columns

log = logging.getLogger(__name__)

#: Words that are suggested, and how like one as it is written the word must be: `foobar` and `football` 0.71, `receive`
#: and `recieve` 0.86.
MOST, WRITTEN = 3, 0.75
WORDS_READ = 16  #: of a query, for suggestions
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

#: A word between blanks, but for brackets around it and marks behind it.
_PLAIN = re.compile(rf"(?<!\S)\(*([^\W\d_]{{{SHORTEST},40}})\)*[,;:?!.]*(?!\S)")
_MINUS = re.compile(r"(?<!\S)-([^\W\d_][\w-]*)")
_EXCLUDING = re.compile(r'(?<!\S)-(?=[^\W\d_]|["“])')
_READ = 100  #: passages with a word, the best first, that are read to see whether one writes it as a flag
_EXCLUDED = 8  #: words that are excluded at most: a query with more minuses is a pasted command


class QueryWords:
    """The words of one query as one library has them. For one thread.

    Once it is `normalize`d, `analyzed` is the query as it is searched, and `forms` say what was changed of it.
    """

    def __init__(self, indexed: IndexedWords, asked: Query, columns: Columns, reader: CatalogReader) -> None:
        self.indexed, self.analyzer, self.lexical = indexed, indexed.analyzer, indexed.lexical
        self.asked, self.columns, self.reader = asked, columns, reader
        self.languages = columns.languages()
        self.analyzed = self.analyzer.query(asked.text, self.languages)
        self.forms: list[QueryForm] = []
        self.corrected: list[tuple[str, str]] = []  #: misspelt words, as typed and as they were taken
        #: Words in lower case that the library holds in another form, with these forms.
        self.in_other_forms: dict[str, tuple[str, ...]] = {}

    def normalize(self) -> None:
        """Tell what the query says to the library. A keyword index that fails is reported by its retriever: here it
        only leaves the query as it is."""
        typed = self.analyzed
        try:
            if typed.excluded and self.asked.filters.kind != "email":  # people sign mails `-Ann`
                self.take_flags()
            if self.analyzed.excludes_alone:
                self.forms.append(QueryForm(_EXCLUDING.sub("", self.asked.text), "", EXCLUSIONS))
            query = self.analyzed
            complete = len(self.lexical.frequencies(query.terms)) == len(query.terms)
            if not query.common and (not complete or query.language in COMPOUNDING or OTHERWISE.search(query.wanted)):
                self.in_other_forms = self.indexed.forms(query.wanted, query.language, self.languages)
            self.correct()
            others = (form for forms in self.in_other_forms.values() for form in forms)
            if further := tuple(dict.fromkeys(form for form in others if form not in self.analyzed.terms)):
                terms = self.analyzed.terms + further
                self.analyzed = replace(self.analyzed, terms=terms, other_forms=further)
        except Exception:
            log.exception("misspelt words and flags couldn't be looked for")
            self.analyzed, self.forms, self.corrected, self.in_other_forms = typed, [], [], {}

    def take_flags(self) -> None:
        """Take flags for plain words: words that some passage writes with a minus before them."""
        documents, text = self.columns.select(Filters(kind="document")), self.asked.text
        words = dict.fromkeys(_MINUS.findall(text))

        def is_flag(word: str) -> bool:
            written = re.compile(rf"(?<![\w-])-{re.escape(word)}(?![\w-])")
            chunks = self.reader.texts(self.lexical.search(self.analyzer.query(word), documents, _READ).ids)
            return any(written.search(passage) for passage in chunks.values())

        flags = {word for word in words if len(words) > _EXCLUDED or is_flag(word)}
        if flags:
            text = _MINUS.sub(lambda found: found.group(1 if found.group(1) in flags else 0), text)
            self.analyzed = self.analyzer.query(text, self.languages)
            self.forms.append(QueryForm(text, "", FLAGS))

    # -- correcting ------------------------------------------------------------------------------------------------

    def correct(self) -> None:
        """Correct the misspelt words."""
        query, moved = self.analyzed, 0
        text = query.text
        missing = set(query.terms).difference(self.lexical.frequencies(query.terms))
        missing.difference_update(query.identifiers, *query.phrases)
        if query.common or not missing:
            return
        for found in _PLAIN.finditer(query.text):
            word = found.group(1)
            if len(self.corrected) == CORRECTED or not (word.islower() or word.istitle()):  # no names in capitals
                continue
            forms = self.indexed.stems(word, self.languages)
            if not forms or not forms <= missing:
                continue
            named = word.istitle() and query.text[: found.start()].strip()[-1:] not in {"", *".?!:"}
            intended = self._intended(word.lower(), named=named)
            if intended and word.lower() not in self.in_other_forms and not self.is_sender(word):
                start, end = found.start(1) + moved, found.end(1) + moved
                text = text[:start] + intended + text[end:]
                moved += len(intended) - len(word)
                self.corrected.append((word, intended))
        if self.corrected:
            self.analyzed = self.analyzer.query(text, self.languages)
            self.forms = [*(replace(form, search_terms="") for form in self.forms), QueryForm(text, "", SPELLING)]

    def _intended(self, word: str, *, named: bool) -> str:
        """What a word in lower case that occurs nowhere was likely meant as; empty where that isn't known.

        `named` says that capitals make it a name, which is no stop word (`Dhall`, `shall`).
        """
        languages = tuple(filter(None, dict.fromkeys((self.analyzed.language, *self.languages))))
        if self.analyzer.is_word(word, languages) or self.analyzer.is_common(word, languages):
            return ""
        edits = self.analyzer.edits(word, languages)
        common = sorted(spelling for spelling, stems in edits.items() if not stems)
        if common and not named:
            return common[0]
        held = self.lexical.frequencies({stem for stems in edits.values() for stem in stems})
        weights = {
            spelling: _likelihood(word, spelling) * math.sqrt(max(held.get(stem, 0) for stem in stems))
            for spelling, stems in edits.items()
            if not held.keys().isdisjoint(stems)
        }
        looked_for = 0
        for spelling in sorted(filter(weights.get, weights), key=lambda spelling: (-weights[spelling], spelling)):
            known = self.analyzer.is_word(spelling, languages[:1])  # another's may be a stem's odd form in this one
            if known and (languages[:1] != ("en",) or self.analyzer.is_common(spelling)):
                return spelling  # a rare one may share but its stem with words that are held: `minim`, `minimal`
            if looked_for < _LOOKED_FOR:
                looked_for += 1
                if self._is_written(spelling, [stem for stem in edits[spelling] if stem in held]):
                    return spelling
        # a blank was left out: two words, the rarer of which is as frequent as can be
        halves = [(word[:at], word[at:]) for at in range(_PART, len(word) - _PART + 1)]
        halves = [pair for pair in halves if all(self.analyzer.is_word(half, languages) for half in pair)]
        stems = {half: self.analyzer.tokens(half, (languages or ("",))[0]) for pair in halves for half in pair}
        held = self.lexical.frequencies({stem for own in stems.values() for stem in own})
        most = {half: max((held.get(stem, 0) for stem in own), default=0) for half, own in stems.items()}
        best = max(((min(most[first], most[second]), f"{first} {second}") for first, second in halves), default=(0, ""))
        return best[1] if best[0] else ""

    def _is_written(self, word: str, stems: Sequence[str]) -> bool:
        """Whether some passage holds a word as it is spelt here."""
        asked = AnalyzedQuery(word, tuple(stems), ())
        pattern = re.compile(rf"(?<![^\W\d_]){re.escape(word)}(?![^\W\d_])", re.IGNORECASE)
        chunks = self.reader.texts(self.lexical.search(asked, EVERYTHING, _SEEN_IN).ids)
        return any(pattern.search(text) for text in chunks.values())

    # -- suggesting ------------------------------------------------------------------------------------------------

    def nearest(self) -> list[tuple[str, str]]:
        """(word as typed, nearest one as the library writes it) for words of the query that occur nowhere in it."""
        query, terms = self.analyzed, set(self.analyzed.terms)
        words: dict[str, set[str]] = {}
        for language in () if query.common else self.languages or ("",):  # stop words occur, and aren't indexed
            for span in self.analyzer.spans(query.text, language):
                if span.token in terms:
                    words.setdefault(query.text[span.start : span.end], set()).add(span.token)
        words = dict(list(words.items())[:WORDS_READ])
        occurring = self.lexical.frequencies({stem for stems in words.values() for stem in stems})
        found: list[tuple[str, str]] = []
        for word, stems in words.items():
            if any(word in typed for typed, _ in found):
                continue  # of `config.jsn` the nearest is suggested, and of its `jsn` needn't be
            if len(found) < MOST and stems.isdisjoint(occurring) and not self.is_sender(word):
                written = self.indexed.near(word, stems, self.languages, self.reader.texts)
                if alike(word, written) >= WRITTEN:
                    found.append((word, written))
        return found

    # -- names -----------------------------------------------------------------------------------------------------

    def is_name(self, word: str) -> bool:
        """Whether a word is a name in this library although no text may hold it: a product's, a component's, a
        sender's, or a compound in a file's path, which is indexed by its parts."""
        folded = word.casefold()
        listed = (name for product, inside in self.reader.products().items() for name in (product, *inside))
        if any(folded in re.split(r"[\W_]+", name.casefold()) for name in listed) or self.is_sender(word):
            return True
        plain = word.isalpha() and (word.islower() or word.isupper() or word.istitle())
        return not plain and any(folded in path.casefold() for path, _ in self.reader.names("", NAMES_READ))

    def is_sender(self, word: str) -> bool:
        """Whether mails are asked for and somebody has that name who wrote or got some: few are signed with it."""
        filters = Filters(kind="email", sender=word), Filters(kind="email", recipients=(word,))
        return self.asked.filters.kind == "email" and any(self.columns.select(one).count for one in filters)


def _likelihood(word: str, spelling: str) -> float:
    """How likely one who meant a spelling types a word, beside other typos."""
    if len(spelling) == len(word):
        kind = _SWAPPED if sorted(spelling) == sorted(word) else 1.0
    else:
        kind = _LEFT_OUT if len(spelling) > len(word) else 1.0
    if spelling[0] == word[0] or kind == _SWAPPED:
        return kind
    return kind * _AT_THE_BEGINNING if len(word) >= _LONG else 0.0
