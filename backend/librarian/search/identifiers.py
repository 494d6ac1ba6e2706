"""Which of a question's identifiers decide the order: what holds none of them comes after what holds one.

A question looks an identifier up, or it asks something about what many pages name so: `looks_up` tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..models import AnalyzedQuery, Selection
from ..storage.base import KeywordIndex
from ..text.base import Analyzer
from .candidates import Candidates

#: Names that are told from their like by a small number: `v2`, `nginx1`. Questions hold them as examples.
_NUMBERED = re.compile(r"v?\d+|[a-z]+\d{1,2}")
#: A version of something, or so many seconds: the library's headings tell.
_DECIMAL = re.compile(r"\d+\.\d+")
#: A host in the domains that are kept for examples (RFC 2606), which stand for the asker's own.
_EXAMPLE_HOST = re.compile(r"(?:[\w-]+\.)*example\.(?:com|net|org)(?![\w.-])")
#: `kube-proxy` is a name and `boundary-layer` is English; their shape doesn't tell.
_HYPHENATED = re.compile(r"[a-z]+(?:-[a-z]+)+")
#: Content words from which a question is a sentence, whose words stand there as words.
_SENTENCE = 6
#: Passages looked at for a hyphenated word, and the share of them that write it apart from which it is English.
_LOOKED_AT, _APART = 200, 0.2

#: Content words beside its identifiers from which a question asks about them rather than looks them up.
_BESIDE = 3

#: A library's most frequent identifiers, and the share of them that is shaped like code unless the library is of prose.
FREQUENT, _CODE_SHARE = 300, 0.1
GROWN = 0.1  #: share of a library's entries that come or go before it is judged again
_OF_CODE = re.compile(r"[_=:(){}<>$@\\]|[a-z0-9]\.[a-z]|^\.|^--|^/|/.*/")


class Names:
    """Tells the names in questions on one library. Safe to use from several threads."""

    def __init__(self, analyzer: Analyzer, lexical: KeywordIndex) -> None:
        self._analyzer = analyzer
        self._lexical = lexical
        self._judged = (-1, 0, False)  # generation, entries and whether it is of prose

    def decisive(self, query: AnalyzedQuery, selection: Selection) -> tuple[str, ...]:
        """The question's identifiers that a hit must hold to come first.

        Words with a small number count as words only: on the Kubernetes tasks (`label app=v1`, `pod 'nginx2'`) putting
        their holders first costs 0.06 of nDCG@10. In capitals they are codes (`E42`) and count.

        So do hyphenated words of a sentence that the library also writes apart, unless they are marked as code: whoever
        asks about boundary-layer separation must not first be shown whatever has the hyphen. On Cranfield's questions
        about abstracts of aerodynamics this gives hybrid 0.411 where 0.399 comes of the shape alone (p = 0.0025 over
        225 questions), on Ray and Kubernetes it changes nothing. Two small searches, for such questions only.

        And where a library `is_prose`, so does whatever in a sentence isn't shaped or marked as code: `BCL2`,
        `MicroRNA` and `AMP-activated` are its field's words.
        """
        named = tuple(name for name in query.identifiers if not _is_example(name, query.text))
        named = tuple(
            name for name in named if not _DECIMAL.fullmatch(name) or self._is_version(name, query, selection)
        )
        if len(query.terms) < _SENTENCE or not named:
            return named
        return tuple(name for name in named if _marked(name, query.text) or not self._is_word(name, selection))

    def looks_up(self, query: AnalyzedQuery) -> bool:
        """Whether a question is after its identifiers: it says little beside them, or marks one; True without any."""
        if not query.identifiers or any(_marked(name, query.text) for name in query.identifiers):
            return True
        spans = self._analyzer.spans(query.text, query.language)
        named = [(span.start, span.end) for span in spans if span.token in query.identifiers]
        beside = {
            span.token
            for span in spans
            if span.token in query.terms and not any(start <= span.start and span.end <= end for start, end in named)
        }
        return len(beside) < _BESIDE

    def _is_word(self, name: str, selection: Selection) -> bool:
        if not _OF_CODE.search(name) and self._prose():
            return True
        return bool(_HYPHENATED.fullmatch(name)) and english(name, self._analyzer, self._lexical, selection)

    def _is_version(self, name: str, query: AnalyzedQuery, selection: Selection) -> bool:
        """Whether a number with a point is marked as a name, or a heading or path holds it.

        A document of one passage has its title in its text, which doesn't tell.
        """
        if _marked(name, query.text):
            return True
        asked = AnalyzedQuery(name, (name,), (name,))
        found = np.array(self._lexical.search(asked, selection, _LOOKED_AT).ids, dtype=np.int64)
        told = self._lexical.features(asked, found, ("title", "headings", "path")) if len(found) else {}
        return any(bool((scores > 0).any()) for scores in told.values())

    def _prose(self) -> bool:
        """Whether the library is of prose, judged again once a tenth of it has come or gone.

        Counting all names of 54,000 entries takes 0.1 s, too long to be done at each change.
        """
        generation, entries, prose = self._judged
        if generation != self._lexical.generation:
            generation, now = self._lexical.generation, self._lexical.count()
            if not entries or abs(now - entries) > GROWN * entries:
                entries, prose = now, is_prose(self._lexical.vocabulary("", FREQUENT, identifiers=True))
            self._judged = (generation, entries, prose)
        return prose


def is_prose(names: Sequence[str]) -> bool:
    """Whether a library's most frequent identifiers show that it is of prose, not on software.

    Of the 300 most frequent ones 0.3 to 0.6 are shaped like code in the manuals of Ray, Kubernetes, FastAPI and
    Prometheus, and 0.003 to 0.023 in abstracts of medicine, computing and library science. With fewer it isn't told.
    """
    return len(names) == FREQUENT and sum(bool(_OF_CODE.search(name)) for name in names) < _CODE_SHARE * FREQUENT


def _is_example(name: str, text: str) -> bool:
    """Whether a name of a question stands there as an example of its like, so that pages with it say no more.

    >>> [_is_example(name, name) for name in ("v2", "v1.28", "sub.example.com/shop", "max_age")]
    [True, False, True, False]
    """
    return bool(_NUMBERED.fullmatch(name) and name in text) or _EXAMPLE_HOST.match(name) is not None


def _marked(name: str, text: str) -> bool:
    """Whether a name is quoted or set as code."""
    return re.search(rf"[`'\"“‘«]{re.escape(name)}\b", text, re.IGNORECASE) is not None


def english(name: str, analyzer: Analyzer, lexical: KeywordIndex, selection: Selection) -> bool:
    """Whether a hyphenated word is one of the language rather than a name of something: the library writes it apart.

    Of the passages with its parts side by side 2 in 100 write `kube-proxy` apart, none `kube-scheduler`, and 7 in 10
    `control-plane` or `boundary-layer`.
    """
    apart = analyzer.query(f'"{name.replace("-", " ")}"')
    together = replace(apart, identifiers=(name,), phrases=())
    found = np.array(lexical.search(apart, selection, _LOOKED_AT).ids, dtype=np.int64)
    if not len(found):
        return False
    holds = lexical.features(together, found, ("identifiers",))["identifiers"] > 0
    return float(np.mean(~holds)) >= _APART


def without_excluded(pool: Candidates, query: AnalyzedQuery, lexical: KeywordIndex, degraded: list[str]) -> Candidates:
    """The pool without passages that hold an excluded word or lack a quoted one (the keyword leg minds its own).

    The keyword index judges them, so that each is read by its own language's stems, with its title and headings.
    Where that leg failed nothing can be judged, and `degraded` is told.
    """
    if not (query.excluded or query.excluded_phrases or query.phrases):
        return pool
    if pool.keyword.status == "failed":
        degraded.append("keyword: neither quoted nor excluded words could be minded.")
        return pool
    passages = pool.passages
    kept = pool.places(pool.keyword) > 0
    kept[~kept] = np.isin(passages.chunk_ids[~kept], lexical.admitted(query, passages.chunk_ids[~kept]))
    return replace(pool, passages=passages.only(kept))
