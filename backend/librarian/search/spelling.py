"""Words of a question that the library doesn't hold: misspelt ones are corrected, of others the nearest are told.

A word is corrected where it occurs nowhere, no dictionary has it, and one slip leads to a word that does occur. Where
the question's language has no dictionary, nothing tells slips from forms of a word, and nothing is corrected. Its
correction is what people who mistype, and models that pass on what they typed, mean nearly always; a quoted word is
never touched.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache

from ..models import AnalyzedQuery, Filters, Selection
from ..storage.base import KeywordIndex
from ..text.base import Analyzer

log = logging.getLogger(__name__)

#: How like a word's stem an indexed one must be (difflib's ratio), and how many words are told of.
CLOSENESS, MOST = 0.7, 3
#: How like the word itself one must be as it is written: `foobar` and `football` 0.71, `receive` and `recieve` 0.86.
WRITTEN = 0.75
#: Words of a question that are looked at, and indexed ones that each is compared with: the most frequent of those with
#: the same first two letters. Reading these takes 8 ms where an index of 27,000 passages has many, so some are kept.
WORDS_READ, COMPARED, PREFIXES_KEPT = 16, 500, 64
PASSAGES_READ = 5  #: to see how a stem's words are written

#: Words of a question that are corrected at most, and the letters that such a word has at least: shorter ones have a
#: neighbour in any case.
CORRECTED, SHORTEST = 5, 5
#: Passages that are read to see whether a word that no dictionary has is written so in the library, and words looked
#: for there before a slip is left as it is.
_SEEN_IN, _LOOKED_FOR = 20, 3
#: How likely slips are beside one letter too many or a wrong one: two swapped, one left out, and one at the beginning.
#: Of 4,682 and 4,964 slips of codespell's list that lead to words of Ray's and Kubernetes' pages 98.3% and 98.2% are
#: taken back rightly with these and the root of a word's frequency, 97.0% and 96.9% by the frequency alone.
_SWAPPED, _LEFT_OUT, _AT_THE_BEGINNING = 10.0, 3.0, 0.1
#: Letters from which on a word may begin otherwise: a short one, a name say, has neighbours that do (`flink`, `link`).
_LONG = 7
_PART = 4  #: letters of each half, at least, where the slip is a blank left out

EVERYTHING = Selection(Filters(), None, 0)
#: A word between blanks, but for brackets around it and marks behind it.
_PLAIN = re.compile(rf"(?<!\S)\(*([^\W\d_]{{{SHORTEST},40}})\)*[,;:?!.]*(?!\S)")

Texts = Callable[[Sequence[int]], Mapping[int, str]]  #: passages by id
Naming = Callable[[str], bool]  #: whether a word is a name that no passage need hold, such as a sender's


@dataclass(frozen=True, slots=True)
class Correction:
    """A question without its misspelt words."""

    text: str
    words: tuple[tuple[str, str], ...]  #: as typed, and as corrected


class Spelling:
    """Tells misspelt words. Safe to use from several threads."""

    def __init__(self, lexical: KeywordIndex, analyzer: Analyzer) -> None:
        self._lexical = lexical
        self._analyzer = analyzer
        self._beginning = lru_cache(PREFIXES_KEPT)(lambda prefix, generation: lexical.vocabulary(prefix, COMPARED))

    def corrected(
        self, query: AnalyzedQuery, languages: Sequence[str], texts: Texts, names: Naming = lambda word: False
    ) -> Correction | None:
        """The question with its misspelt words corrected; None where it has none, or none can be looked for.

        `languages` are the library's, `texts` gives passages by id, `names` tells words that are right.
        """
        try:
            return self._corrected(query, languages, texts, names)
        except Exception:
            # A keyword index that fails is told of by its leg; the meaning may answer all the same.
            log.exception("misspelt words couldn't be looked for")
            return None

    def _corrected(
        self, query: AnalyzedQuery, languages: Sequence[str], texts: Texts, names: Naming
    ) -> Correction | None:
        missing = set(query.terms).difference(self._lexical.frequencies(query.terms))
        if not missing or query.common:
            return None
        missing.difference_update(query.identifiers, *query.phrases)
        asked = tuple(filter(None, dict.fromkeys((query.language, *languages))))
        text, moved = query.text, 0
        words: list[tuple[str, str]] = []
        for found in _PLAIN.finditer(query.text) if missing else ():
            word = found.group(1)
            if len(words) == CORRECTED or not self._is_missing(word, missing, languages):
                continue
            named = word.istitle() and query.text[: found.start()].strip()[-1:] not in {"", *".?!:"}
            meant = self._meant(word.lower(), asked, texts, named=named)
            if meant and not names(word):
                start, end = found.start(1) + moved, found.end(1) + moved
                text = text[:start] + meant + text[end:]
                moved += len(meant) - len(word)
                words.append((word, meant))
        return Correction(text, tuple(words)) if words else None

    def nearest(
        self, query: AnalyzedQuery, languages: Sequence[str], texts: Texts, names: Naming = lambda word: False
    ) -> list[tuple[str, str]]:
        """(word as typed, nearest one as the library writes it) for words that occur nowhere in it.

        `languages` are the library's, `texts` gives passages by id, `names` tells words that are right.
        """
        words = {} if query.common else self._words(query, languages)  # stop words occur, and aren't indexed
        occurring = self._lexical.frequencies({stem for stems in words.values() for stem in stems})
        found: list[tuple[str, str]] = []
        for word, stems in words.items():
            if any(word in told for told, _ in found):
                continue  # of `config.jsn` the nearest is told, and of its `jsn` needn't be
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
        return self._written(word, max(near)[1], languages, texts) if near else ""

    # -- correcting --------------------------------------------------------------------------------------------

    def _is_missing(self, word: str, missing: AbstractSet[str], languages: Sequence[str]) -> bool:
        """Whether the library holds a word in none of its languages' forms. Names in capitals are left alone."""
        if not (word.islower() or word.istitle()):
            return False
        forms = {token for language in languages or ("",) for token in self._analyzer.tokens(word, language)}
        return bool(forms) and forms <= missing

    def _meant(self, word: str, languages: Sequence[str], texts: Texts, *, named: bool = False) -> str:
        """What a word in lower case that occurs nowhere was likely meant as; empty where that can't be told.

        `named` says that capitals make it a name, which is no stop word (`Dhall`, `shall`).
        """
        if self._analyzer.is_word(word, languages) or self._analyzer.is_common(word, languages):
            return ""
        slips = self._analyzer.slips(word, languages)
        common = sorted(spelling for spelling, stems in slips.items() if not stems)
        if common and not named:
            return common[0]
        held = self._lexical.frequencies({stem for stems in slips.values() for stem in stems})
        weights = {
            spelling: _likelihood(word, spelling) * math.sqrt(max(held.get(stem, 0) for stem in stems))
            for spelling, stems in slips.items()
            if not held.keys().isdisjoint(stems)
        }
        looked_for = 0
        for spelling in sorted(filter(weights.get, weights), key=lambda spelling: (-weights[spelling], spelling)):
            known = self._analyzer.is_word(spelling, languages[:1])  # another's may be a stem's odd form in this one
            if known and (languages[:1] != ("en",) or self._analyzer.is_common(spelling)):
                return spelling  # a rare one may share but its stem with words that are held: `minim`, `minimal`
            if looked_for < _LOOKED_FOR:
                looked_for += 1
                if self._is_written(spelling, [stem for stem in slips[spelling] if stem in held], texts):
                    return spelling
        return self._apart(word, languages)

    def _is_written(self, word: str, stems: Sequence[str], texts: Texts) -> bool:
        """Whether some passage holds a word as it is spelt here."""
        asked = AnalyzedQuery(word, tuple(stems), ())
        pattern = re.compile(rf"(?<![^\W\d_]){re.escape(word)}(?![^\W\d_])", re.IGNORECASE)
        return any(
            pattern.search(text) for text in texts(self._lexical.search(asked, EVERYTHING, _SEEN_IN).ids).values()
        )

    def _apart(self, word: str, languages: Sequence[str]) -> str:
        """A word as two, the rarer of which is as frequent as can be; empty where no two words make it."""
        halves = [(word[:at], word[at:]) for at in range(_PART, len(word) - _PART + 1)]
        halves = [pair for pair in halves if all(self._analyzer.is_word(half, languages) for half in pair)]
        stems = {half: self._analyzer.tokens(half, (languages or ("",))[0]) for pair in halves for half in pair}
        held = self._lexical.frequencies({stem for own in stems.values() for stem in own})
        best = max(
            (
                (min(max((held.get(stem, 0) for stem in stems[half]), default=0) for half in pair), pair)
                for pair in halves
            ),
            default=(0, ("", "")),
        )
        return " ".join(best[1]) if best[0] else ""

    # -- telling -----------------------------------------------------------------------------------------------

    def _written(self, word: str, stem: str, languages: Sequence[str], texts: Texts) -> str:
        """Of the words with this stem, as some passages write them, the most like; the stem where none is at hand."""
        passages = texts(self._lexical.search(AnalyzedQuery(stem, (stem,), ()), EVERYTHING, PASSAGES_READ).ids)
        forms = {
            text[span.start : span.end]
            for text in passages.values()
            for language in languages or ("",)
            for span in self._analyzer.spans(text, language)
            if span.token == stem
        }
        return max(sorted(forms), key=lambda form: alike(word, form), default=stem)

    def _words(self, query: AnalyzedQuery, languages: Sequence[str]) -> dict[str, set[str]]:
        """The question's words as typed, each with what it is indexed as in any of the languages."""
        terms = set(query.terms)
        words: dict[str, set[str]] = {}
        for language in languages or ("",):
            for span in self._analyzer.spans(query.text, language):
                if span.token in terms:
                    words.setdefault(query.text[span.start : span.end], set()).add(span.token)
        return dict(list(words.items())[:WORDS_READ])


def _likelihood(word: str, spelling: str) -> float:
    """How likely one who meant a spelling types a word, beside other slips."""
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
