"""Which chunks hold which words: a keyword index over analysed tokens, by tantivy.

Scores are BM25 (Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework", with Lucene's idf), summed over
weighted fields. A projection of the catalog: it holds no text, and can be deleted and made again.
"""

from __future__ import annotations

import functools
import logging
import math
import textwrap
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, get_args

import numpy as np
import tantivy

from ..errors import Damaged, Unavailable
from ..models import AnalyzedQuery, Document, Ids, KeywordEntry, Kind, Ranking, Selection, Vector
from .base import KeywordIndex, Scores
from .keyword_schema import (
    FIELDS,
    FORMAT,
    MUST,
    WORD_FIELDS,
    FieldWeights,
    Query,
    QueryBuilder,
    damaged,
    discard,
    entry_of,
    is_failure,
    joined,
    open_index,
    save_state,
)

log = logging.getLogger(__name__)

_NO_IDS, _NO_SCORES = np.empty(0, dtype=np.int64), np.empty(0)

K1 = 1.2  #: tantivy's; it can't be set

_SPARE = 1.25  # how many more than expected are ranked, so that enough of them pass a filter

_REMEMBERED = 10_000  # document frequencies
_HEAP = 50_000_000  # bytes of postings that the writer collects before it writes a segment; grows as needed


def idf(containing: int, entries: int) -> float:
    """Inverse document frequency as tantivy and Lucene have it: ln(1 + (N − n + ½) / (n + ½)).

    >>> round(idf(1, 10), 4)
    1.9924
    """
    return math.log(1 + (entries - containing + 0.5) / (containing + 0.5))


class TantivyIndex(KeywordIndex):
    """A `KeywordIndex` in a folder, or in memory where `path` is None.

    `identity` names the catalog that this is a projection of: an index made for another one is emptied when opened.
    Where a selection lets through at least `dense_share` of all entries, search ranks first and filters then: on
    107,308 entries, all of which pass, that takes less than a third of the time.
    Raises `Damaged` where the folder can't be read: `keyword_schema.discard` it and open again. Where reading fails
    later, `damage` says so, and the next opening raises `Damaged`.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        weights: FieldWeights = FieldWeights(),
        identity: str = "",
        dense_share: float = 0.25,
    ) -> None:
        self._path = path
        self._dense_share = dense_share
        self._index, self._state = open_index(path)
        self._build = QueryBuilder(weights)
        self._lock = RLock()
        self._writer: Any = None
        self._closed = False
        try:
            self._renew()
        except BaseException as error:
            raise damaged(path, error) from error
        if identity != self._state.identity:
            if identity and self._state.identity:
                log.info("keyword index: made for another catalog, emptied")
                self.clear()
            self._state = replace(self._state, identity=identity or self._state.identity)
            save_state(path, self._state)

    @classmethod
    def sound(cls, path: Path, *, identity: str = "") -> TantivyIndex:
        """The index in that folder; an empty one, to be filled from the catalog, where it is damaged."""
        try:
            return cls(path, identity=identity)
        except Damaged as error:
            log.warning("%s It is made again.", error.message)
            discard(path)
            return cls(path, identity=identity)

    # -- writing ---------------------------------------------------------------------------------------------------

    def put(self, items: Iterable[tuple[int, int, Document, KeywordEntry]]) -> None:
        with self._writing() as writer:
            for item in items:
                writer.add_document(entry_of(*item))

    def delete(self, doc_ids: Iterable[int]) -> None:
        self._delete("doc", doc_ids)

    def delete_chunks(self, chunk_ids: Iterable[int]) -> None:
        self._delete("chunk", chunk_ids)

    def _delete(self, field: str, ids: Iterable[int]) -> None:
        with self._writing() as writer:
            for number in ids:
                writer.delete_documents_by_term(field, int(number))

    def commit(self, generation: int) -> None:
        """Make what was put and deleted visible, and remember the catalog's generation.

        Raises `Unavailable` where it can't be written; searches go on with what was committed before.
        """
        with self._writing() as writer:
            writer.commit()
            state = replace(self._state, generation=generation)
            save_state(self._path, state)
            self._renew()
            self._state = state

    def clear(self) -> None:
        with self._writing() as writer:
            writer.delete_all_documents()
            self.damage, self._state = "", replace(self._state, format=FORMAT)
            self.commit(0)

    def rollback(self) -> None:
        with self._lock:
            if self._writer is not None:
                self._writer.rollback()

    def close(self) -> None:
        """Release the folder; what isn't committed is lost. Waits for merges under way."""
        with self._lock:
            self._closed = True
            writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.rollback()
                writer.wait_merging_threads()
            except (OSError, ValueError, RuntimeError) as error:  # the folder is gone, say; nothing of it is needed
                log.warning("keyword: its writer ended with an error: %s", error)

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        """The writer, made over what was committed where there is none.

        Raises `Unavailable` where it fails: it never writes again then, and all that isn't committed is lost.
        """
        with self._lock:
            self._require_open()
            try:
                if self._writer is None:
                    self._writer = self._index.writer(heap_size=_HEAP, num_threads=1)
                    self._writer.garbage_collect_files()  # those that a killed one left behind would be in its way
                yield self._writer
            except BaseException as error:
                if isinstance(error, Unavailable) or not is_failure(error):
                    raise
                self._writer = None
                raise Unavailable(
                    f"The keyword index {self._path} can't be written: {str(error).rstrip('.')}.",
                    hint="Check free space and permissions, and that no other program writes there.",
                ) from error

    # -- searching -------------------------------------------------------------------------------------------------

    def search(self, query: AnalyzedQuery, selection: Selection, limit: int) -> Ranking:
        """Best chunks by BM25 over weighted fields, ties by id.

        An entry's raw score is Σ over fields f and terms t of
        ``weight(f) · idf(t, f) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / mean length))``;
        `scores` divide it by the most that it could be.
        """
        with self._reading() as searcher:
            started = time.perf_counter()
            scored = self._build.scored(query, FIELDS)
            ids, raw = _NO_IDS, _NO_SCORES
            if scored is not None and limit > 0 and (selection.mask is None or selection.count > 0):
                ids, raw = self._passing(searcher, [(MUST, scored), *self._build.demanded(query)], selection, limit)
                order = np.lexsort((ids, -raw))
                ids, raw = ids[order], raw[order]
            reach = self._reach(searcher, query) if len(raw) else 1.0
            return Ranking(
                source="keyword",
                ids=tuple(ids.tolist()),
                raw=tuple(raw.tolist()),
                scores=tuple(np.minimum(raw / reach, 1.0).tolist()),
                ms=(time.perf_counter() - started) * 1000,
            )

    def body_scores(self, query: AnalyzedQuery, selection: Selection, limit: int) -> tuple[Ids, Scores]:
        with self._reading() as searcher:
            scored = self._build.scored(query, ("body",))
            if scored is None or (selection.mask is not None and not selection.count):
                return _NO_IDS, _NO_SCORES
            ids, raw = self._passing(searcher, [(MUST, scored)], selection, limit)
            order = np.argsort(ids)
            return ids[order], raw[order] / self._reach(searcher, query)

    def scores(self, query: AnalyzedQuery, chunk_ids: Ids) -> Vector:
        """One search over these chunks only, which takes longer than one over all does."""
        with self._reading() as searcher:
            order = np.asarray(chunk_ids, dtype=np.int64)
            found = np.zeros(len(order), dtype=np.float32)
            scored = self._build.scored(query, FIELDS)
            if scored is not None and len(order):
                among = self._build.among("chunk", order)
                known = dict(zip(*_best(searcher, joined([(MUST, among), (MUST, scored)]), len(order)), strict=True))
                found[:] = [known.get(number, 0.0) for number in order]
                np.minimum(found / self._reach(searcher, query), np.float32(1.0), out=found, casting="same_kind")
            return found

    def admitted(self, query: AnalyzedQuery, chunk_ids: Ids) -> Ids:
        with self._reading() as searcher:
            if not len(chunk_ids):
                return np.empty(0, dtype=np.int64)
            asked = joined([(MUST, self._build.among("chunk", chunk_ids)), *self._build.demanded(query)])
            return np.sort(_best(searcher, asked, len(chunk_ids))[0])

    # -- looking around --------------------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        return self._state.generation

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """How many bodies hold each, or else titles, headings or paths; a deleted one may count until a merge."""
        with self._reading():
            found = {}
            for term in terms:
                if count := next(filter(None, (self._frequency(field, term) for field in WORD_FIELDS)), 0):
                    found[term] = int(count)
            return found

    def terms(self, prefix: str, limit: int, *, identifiers: bool = False) -> list[str]:
        with self._reading() as searcher:
            field = "identifiers" if identifiers else "body"
            found = searcher.terms_with_prefix(field, prefix, limit=limit)
            return [term for term, _ in found]

    def count(self) -> int:
        with self._reading() as searcher:
            return int(searcher.num_docs)

    def entry_counts(self) -> dict[int, int]:
        with self._reading() as searcher:
            number = int(searcher.num_docs)
            if number == 0:
                return {}
            hits = searcher.search(tantivy.Query.all_query(), number, count=False).hits
            return Counter(searcher.fast_field_values("doc", [address for _, address in hits]))

    def give_up(self, error: BaseException) -> None:
        """Remember that its files can't be read, so that the next opening begins with an empty index."""
        with self._lock:
            if self._path is None or self.damage:
                return
            self.damage = f"the keyword index {self._path} is damaged: {textwrap.shorten(str(error), 200)}"
            log.error("%s. It is made again when the library is opened.", self.damage)
            self._state = replace(self._state, format=0)
            with suppress(OSError):
                save_state(self._path, self._state)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _passing(
        self, searcher: Any, clauses: list[tuple[Any, Query]], selection: Selection, limit: int
    ) -> tuple[Ids, Scores]:
        """The best entries that the selection lets through."""
        mask = selection.mask
        if mask is None:
            return _best(searcher, joined(clauses), limit)
        share = selection.count / max(1, int(searcher.num_docs))
        if share >= self._dense_share:
            # Ranking without a filter skips most postings; where most of what it finds passes, that is the shorter way.
            more = int(_SPARE * limit / share) + limit
            numbers, scores = _best(searcher, joined(clauses), more)
            passing = np.flatnonzero(numbers < len(mask))
            passing = passing[mask[numbers[passing]]]
            if len(passing) >= limit or len(numbers) < more:
                return numbers[passing[:limit]], scores[passing[:limit]]
        return _best(searcher, joined([*clauses, *self._build.selected(selection)]), limit)

    def _reach(self, searcher: Any, query: AnalyzedQuery) -> float:
        """The most that any text could score.

        As tf grows, a term's score approaches weight · idf · (k1 + 1) from below; so the sum of that over all terms, in
        each field where they occur, bounds every score. A term that occurs nowhere counts as one of the body.
        """
        absent, parts, entries = self._build.shares(query), [], _entries(searcher)
        for field, term, weight in self._build.weighted(query, self._build.weights):
            if containing := self._frequency(field, term):
                absent.pop(term, None)
                parts.append(weight * idf(containing, entries))
        parts += [self._build.weights["body"] * share * idf(0, entries) for share in absent.values()]
        return (K1 + 1) * math.fsum(parts) or 1.0

    def _renew(self) -> None:
        """Search what was committed last. Document frequencies are remembered, since questions share most words."""
        self._index.reload()
        searcher = self._index.searcher()
        self._searcher, self._frequency = searcher, functools.lru_cache(_REMEMBERED)(searcher.doc_freq)

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        """What searches. Where tantivy can't read its files, `damage` says so from then on, and `Damaged` is raised."""
        self._require_open()
        try:
            yield self._searcher
        except BaseException as error:
            if not is_failure(error):
                raise
            self.give_up(error)
            raise damaged(self._path, error) from error

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable(f"The keyword index {self._path} is closed.", hint="Open the library again.")


def _entries(searcher: Any) -> int:
    """All entries, with deleted ones that await merging: tantivy's own scores count these too, in N as in n."""
    return sum(int(searcher.doc_freq("kind", kind)) for kind in get_args(Kind))


def _best(searcher: Any, query: Query, limit: int) -> tuple[Ids, Scores]:
    """Chunk ids and scores of the best entries, each of shape (at most limit,)."""
    hits = searcher.search(query, limit, count=False).hits
    numbers = searcher.fast_field_values("chunk", [address for _, address in hits])
    if None in numbers:
        raise ValueError("an entry has lost its number")
    return np.array(numbers, dtype=np.int64), np.array([score for score, _ in hits], dtype=np.float64)
