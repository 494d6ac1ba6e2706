"""Answers kept by meaning: a question much like an earlier one is answered from memory.

Nearness alone confuses questions that differ in one telling word ("1.28 to 1.29" and "1.27 to 1.28" have a cosine of
0.947), so both must name the same identifiers, numbers in the same order, names, quoted and excluded words, and turn
the same way: who asks how to disable something isn't told how to enable it. Nor may each have a word of its own, for
vectors don't tell a word's opposite or its neighbour (high, low; Java, Python) from its synonym.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np

from ..embeddings.base import Embedder, LazyModel
from ..errors import LibrarianError
from ..models import AnalyzedQuery, Deadline, Mode, Query, SearchOutcome, Vector
from ..text.base import Analyzer
from .answer_cache import Engine, is_whole

#: Modes in which a question costs enough for a neighbour's answer to be worth it.
COSTLY: frozenset[Mode] = frozenset({"rerank", "hyde"})

_NUMBER = re.compile(r"\d+(?:[.:,]\d+)*")
_NAME = re.compile(r"(?<=[^\s.?!:] )[A-Z][\w+#-]*")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
#: Words that turn a question round.
_TURNS = frozenset(
    re.findall(
        r"\w+",
        """no not never none nothing neither nor without cannot except unless instead rather only
        enable disable enabled disabled enabling disabling start stop starting stopping allow deny forbid block permit
        add remove adding removing create delete creating deleting install uninstall mount unmount attach detach
        before after above below first last min max minimum maximum increase decrease more less fewer up down upgrade
        downgrade encrypt decrypt encode decode import export read write input output push pull open close lock unlock
        grant revoke include exclude show hide from to into old new newest oldest latest earliest local remote public
        private one two three four five six seven eight nine ten once twice second seconds minute minutes hour hours
        day days week weeks month months year years but
        nicht kein keine keinen ohne nie niemals ne pas sans jamais non senza mai sin nunca nem sem não нет не без""",
    )
)

#: What turns a word into its opposite by standing in front of it: `unschedulable`, `disallow`, `non-root`.
_OPPOSITE = re.compile(r"(?:(?:un|non|dis|anti)[a-z]{4}|de[a-z]{5})")
#: What stands behind one of these is what it is about: from here to there isn't from there to here.
_TOWARD = re.compile(r"\b(?:from|to|into|before|after|than|without|instead of)\s+(?:(?:a|an|the|my|our)\s+)?(\w+)")
#: Here `to` says nothing: how to do it is how one does it.
_INFINITIVE = re.compile(
    r"\b(?:how|what|where|when|whether|wants?|needs?|like|ha[sv]e?|try(?:ing)?|able|possible|easy|hard|ways?|best|order|going)"
    r"\s+to\b"
)
#: The unit of a number: `10ms` isn't `10mb`.
_COUNTED = re.compile(r"\d+\s*([a-z]{1,3})\b")

Guard = tuple[tuple[str, ...], ...]
Key = tuple[str, Query, int, int, Guard]


def guard(query: AnalyzedQuery) -> Guard:
    """What two questions must share, besides their meaning, to share an answer.

    >>> def asked(text): return guard(AnalyzedQuery(text, (), ()))
    >>> asked("upgrade from 1.27 to 1.28") == asked("upgrade from 1.28 to 1.29")
    False
    >>> asked("how to mount a disk") == asked("how can a disk be mounted to a pod")
    False
    """
    text = _INFINITIVE.sub(" ", query.text.lower())
    words = (word.replace("’", "'") for word in _WORD.findall(text))
    plain = ("not" if word.endswith("n't") else word for word in words)
    turns = tuple(sorted(word for word in plain if word in _TURNS or _OPPOSITE.match(word)))
    numbers = (*_NUMBER.findall(query.text), *_COUNTED.findall(query.text.lower()))
    toward = tuple(_TOWARD.findall(text))
    names = tuple(sorted({name.lower() for name in _NAME.findall(query.text)} - {"i"}))
    phrases = tuple(" ".join(phrase) for phrase in query.phrases)
    excluded = (*sorted(query.excluded), *sorted(" ".join(phrase) for phrase in query.excluded_phrases))
    return tuple(sorted(query.identifiers)), numbers, turns, toward, names, phrases, excluded


@dataclass(frozen=True, slots=True)
class _Kept:
    vector: Vector
    terms: frozenset[str]
    outcome: SearchOutcome


class SemanticCache:
    """Wraps an engine. Answers are kept by generation, epoch of the weights, filters and `guard`, and found by cosine.

    Args:
        threshold: cosine from which two questions count as one.
        modes: only questions that ask for one of these are kept and answered.
        held: those of some terms that the library holds. Two questions share no answer unless the same of their terms
            are missing, since the answer names these.
    """

    def __init__(
        self,
        engine: Engine,
        embedder: LazyModel[Embedder],
        analyzer: Analyzer,
        *,
        generation: Callable[[], int],
        epoch: Callable[[], int],
        complete: Callable[[], bool],
        threshold: float = 0.92,
        ttl_s: float = 300.0,
        max_entries: int = 1000,
        modes: frozenset[Mode] = COSTLY,
        held: Callable[[Collection[str]], Collection[str]] = lambda terms: terms,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._embedder = embedder
        self._analyzer = analyzer
        self._generation = generation
        self._epoch = epoch
        self._complete = complete
        self._threshold = threshold
        self._ttl_s = ttl_s
        self._max_entries = max_entries
        self._modes = modes
        self._held = held
        self._clock = clock
        self._lock = Lock()
        self._kept: OrderedDict[int, tuple[Key, _Kept]] = OrderedDict()  # by use
        self._expires: OrderedDict[int, float] = OrderedDict()  # by age: seconds of the clock
        self._by_key: dict[Key, set[int]] = {}
        self._next = self._hits = self._misses = 0

    def search(self, query: Query, budget: Deadline) -> SearchOutcome:
        """A near question's answer, with `cache` saying so, or the engine's."""
        began = time.perf_counter()
        asked = self._asked(query) if query.mode in self._modes else None
        if asked is None:
            return self._engine.search(query, budget)
        model, vector = asked
        generation, analyzed = self._generation(), self._analyzer.query(query.text)
        terms = set(analyzed.terms)
        shared = (*guard(analyzed), self._missing(terms))
        key = (model, replace(query, text=""), generation, self._epoch(), shared)
        kept = self._nearest(key, vector, terms)
        if kept is not None:
            return replace(kept, query=query, cache="semantic", took_ms=(time.perf_counter() - began) * 1000)
        outcome = self._engine.search(query, budget)
        if outcome.generation == generation and is_whole(outcome) and self._complete():
            self._put(key, _Kept(vector, frozenset(terms), outcome))
        return outcome

    def stats(self) -> tuple[int, int, int]:
        """(entries, hits, misses)."""
        with self._lock:
            self._expire()
            return len(self._kept), self._hits, self._misses

    def clear(self) -> int:
        """Forget everything; returns how many answers there were."""
        with self._lock:
            entries = len(self._kept)
            self._kept.clear()
            self._expires.clear()
            self._by_key.clear()
            self._hits = self._misses = 0
            return entries

    def _asked(self, query: Query) -> tuple[str, Vector] | None:
        """The model and the question's vector; without, nothing is near anything, and the engine says what is wrong."""
        try:
            embedder = self._embedder.get()
            return embedder.fingerprint, embedder.embed_query(query.text)
        except LibrarianError:
            return None

    def _missing(self, terms: set[str]) -> tuple[str, ...]:
        try:
            return tuple(sorted(terms.difference(self._held(terms))))
        except LibrarianError:  # the engine says what is wrong with the keyword index
            return ()

    def _nearest(self, key: Key, vector: Vector, terms: set[str]) -> SearchOutcome | None:
        with self._lock:
            self._expire()
            best, cosine = None, self._threshold
            for number in sorted(self._by_key.get(key, ())):
                kept = self._kept[number][1]
                if kept.terms - terms and terms - kept.terms:
                    continue
                if len(kept.vector) == len(vector) and (near := float(np.dot(kept.vector, vector))) >= cosine:
                    best, cosine = number, near
            if best is None:
                self._misses += 1
                return None
            self._hits += 1
            self._kept.move_to_end(best)
            return self._kept[best][1].outcome

    def _put(self, key: Key, kept: _Kept) -> None:
        with self._lock:
            self._expire()
            self._kept[self._next] = (key, kept)
            self._expires[self._next] = self._clock() + self._ttl_s
            self._by_key.setdefault(key, set()).add(self._next)
            self._next += 1
            while len(self._kept) > self._max_entries:
                self._drop(next(iter(self._kept)))

    def _expire(self) -> None:
        """Forget what is too old, though nobody asked for it; all live equally long, so the oldest expire first."""
        while self._expires and next(iter(self._expires.values())) <= self._clock():
            self._drop(next(iter(self._expires)))

    def _drop(self, number: int) -> None:
        key, _ = self._kept.pop(number)
        del self._expires[number]
        numbers = self._by_key[key]
        numbers.discard(number)
        if not numbers:
            del self._by_key[key]
