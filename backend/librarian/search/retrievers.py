"""The two legs: which passages the words lead to, and which the meaning."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..embeddings.base import Embedder, LazyModel
from ..errors import Unavailable
from ..models import WINDOWS_PER_CHUNK, AnalyzedQuery, Ids, ModelSpec, Ranking, Selection, Vector
from ..storage.base import Columns, KeywordIndex
from ..text.base import Analyzer
from ..vector_stores.base import VectorStore
from . import hyde
from .query_adapter import QueryAdapter
from .query_expansion import PHRASAL, QUOTES, QueryVariant, better_of

Floats = npt.NDArray[np.float64]

#: What stands behind the verb in a phrasal one, and is written together with it in its noun.
_PARTICLES = frozenset({"up", "in", "out", "on", "off", "down", "back", "over"})

#: Characters between the beginnings of two windows, for each token of a window's limit: of 128 tokens a title with
#: headings takes some 15 and the overlap 16.
WINDOW_CHARACTERS = 3

#: Windows read per wanted passage: passages of about 200 tokens have two or three windows of 128.
WINDOWS_READ = 3

#: A question of so many content words that quotes what occurs nowhere quotes by the way, as prose does.
QUOTING_SENTENCE = 6
#: A paragraph, which quotes by the way also where fewer documents hold the quotes than a page has room for. Keyword
#: nDCG@10 with and without that: CACM 0.459 and 0.403, Ray 0.536 and 0.530, Kubernetes tasks 0.737 and 0.717.
#: Single words it quotes as a manner of speaking (`that a module "matches" its contexts`) or as a name that ranks first
#: in any case. Left aside, hybrid has 0.571 on CACM and 0.733 on the tasks, where demanding them gives 0.548 and 0.723;
#: CISI 0.455 and 0.447, Ray the same.
QUOTING_PARAGRAPH, FEW_DOCUMENTS = 12, 10
#: Quotes, and what is excluded in them, which keeps its own.
_QUOTES = re.compile(r'(?<!\S)-(?:"[^"]*"|“[^“”]*”)|["“”]')


def quotes_by_the_way(query: AnalyzedQuery, found: Ranking, columns: Columns) -> bool:
    """Whether the question's quotes should be left aside: it is prose, and they are words of it or leave too little."""
    if not query.phrases or len(query.terms) < QUOTING_SENTENCE:
        return False
    if len(query.terms) >= QUOTING_PARAGRAPH and all(len(phrase) == 1 for phrase in query.phrases):
        return True
    if len(query.terms) < QUOTING_PARAGRAPH or len(found.ids) >= 10 * FEW_DOCUMENTS:
        return not found.ids
    return len(set(columns.doc_of(np.array(found.ids, dtype=np.int64)).tolist())) < FEW_DOCUMENTS


@dataclass(frozen=True, slots=True)
class KeywordResult:
    """What the words led to, and the question as they were taken."""

    ranking: Ranking
    query: AnalyzedQuery
    variants: tuple[QueryVariant, ...] = ()  #: what was searched in place of what was typed, or beside it


class KeywordRetriever:
    """Passages by BM25, at most `depth`."""

    def __init__(self, lexical: KeywordIndex, analyzer: Analyzer, depth: int) -> None:
        self._lexical = lexical
        self._analyzer = analyzer
        self._depth = depth

    def rank(self, query: AnalyzedQuery, selection: Selection) -> Ranking:
        """What the question's words lead to. Its status is `skipped` where it holds no word to look for.

        Stop words are looked for where there is nothing else: in pages of another language they may be words.
        """
        started = time.perf_counter()
        if not (query.terms or query.identifiers or query.phrases):
            return Ranking("keyword", (), (), (), "skipped", "no word to look for")
        found = self._lexical.search(query, selection, self._depth)
        if query.common and not found.ids:
            return Ranking("keyword", (), (), (), "skipped", "only words that every text holds", _since(started))
        return replace(found, ms=_since(started), more=len(found.ids) >= self._depth)

    def ask(self, query: AnalyzedQuery, further: str, selection: Selection, columns: Columns) -> KeywordResult:
        """Likewise, with quotes left aside where a question quotes by the way, and beside them `further` terms."""
        nouns = self._nouns_of(query)
        query = replace(query, terms=(*query.terms, *nouns)) if nouns else query
        found, without_quotes = self.rank(query, selection), _unquoted(query) if query.unheeded else ""
        if quotes_by_the_way(query, found, columns):
            query, without_quotes = (
                replace(query, phrases=()),
                _QUOTES.sub(lambda found: found.group() if found.group()[0] == "-" else "", query.text),
            )
            found = self.rank(query, selection)
        if further:
            expanded = self._analyzer.query(f"{without_quotes or query.text} {further}", columns.languages())
            found = better_of(found, self.rank(expanded, selection))
        variants = [QueryVariant(" ".join(nouns), "", PHRASAL)] if nouns else []
        variants += [QueryVariant(without_quotes, "", QUOTES)] if without_quotes else []
        return KeywordResult(found, query, tuple(variants))

    def _nouns_of(self, query: AnalyzedQuery) -> tuple[str, ...]:
        """The nouns that the library has for the question's phrasal verbs: `backup` for *back up*, *backing up*.

        The 184 link texts and headings of eight manuals with such a noun, asked with the verb, go from 0.725 to 0.896
        by words and from 0.822 to 0.873 in hybrid.
        """
        made: set[str] = set()
        for verb, particle in pairwise(query.words):
            stems = self._analyzer.tokens(verb, "en") if particle in _PARTICLES and verb.isalpha() else ()
            if stems and stems[0] in query.terms:
                nouns = self._analyzer.tokens(stems[0] + particle, "en")
                made.update(noun for noun in nouns if noun.startswith(stems[0]) and noun != stems[0])  # emphasi|s on
        return tuple(sorted(self._lexical.frequencies(made.difference(query.terms)))) if made else ()


def _unquoted(query: AnalyzedQuery) -> str:
    """The question without the quotes that no index can look for, and without what they were to exclude."""
    text = query.text
    for quoted in query.unheeded:
        for written in (f'"{quoted}"', f"“{quoted}”"):
            text = re.sub(rf"(?<!\S)-{re.escape(written)}", "", text).replace(written, quoted)
    return text.strip()


class VectorRequest(NamedTuple):
    """A question as a vector, and the model that made it."""

    vector: Vector
    model: ModelSpec
    plain: Vector | None = None  #: as the model embeds it, where the vector is adapted to the library


class VectorRetriever:
    """Passages by cosine. A passage's cosine is its best window's.

    `embedded` says how many passages have vectors in the catalog, whether or not the store holds them yet. Of
    `adapters` the one that was learned for the model is applied to questions.
    """

    def __init__(
        self,
        embedder: LazyModel[Embedder] | None,
        vectors: Callable[[], VectorStore | None],
        *,
        threshold: float = 0.05,
        embedded: Callable[[], int] = lambda: 0,
    ) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._threshold = threshold
        self._embedded = embedded
        self.adapters: tuple[QueryAdapter, ...] = ()

    @property
    def configured(self) -> bool:
        """False where embeddings are switched off."""
        return self._embedder is not None

    def of(self, text: str, selection: Selection, *, as_passage: bool = False) -> VectorQuery:
        """The vector query of a question, or of a text that would answer it.

        Questions to mails aren't adapted, as nothing was learned from them. Raises `Unavailable`.
        """
        return VectorQuery(self, self.ask(text, adapted=not as_passage and selection.filters.kind != "email"))

    def ask(self, text: str, *, adapted: bool = True) -> VectorRequest:
        """The question's vector, adapted to the library where it is `adapted`.

        Raises `Unavailable` with the reason where no model is at hand.
        """
        if self._embedder is None:
            raise Unavailable("Embeddings are switched off.", hint="Set embeddings.enabled to search by meaning.")
        embedder = self._embedder.get()
        vector = embedder.embed_query(text)
        for adapter in self.adapters if adapted else ():
            if adapter.model == embedder.fingerprint:
                return VectorRequest(adapter(vector), embedder.spec, vector)
        return VectorRequest(vector, embedder.spec)

    def store(self) -> VectorStore:
        """The store that answers. Raises `Unavailable` where there is none, or nothing in it yet."""
        store = self._vectors()
        if store is None or store.count() == 0:
            raise self._nothing_yet()
        return store

    def rank(self, source: str, store: VectorStore, vector: Vector, selection: Selection, limit: int) -> Ranking:
        """The best passages of the store above the threshold. Raises `Unavailable`."""
        started = time.perf_counter()
        windows, cosines = store.search(vector, limit * WINDOWS_READ, selection)
        chunks, best, nearest = _by_chunk(windows, cosines)
        near = np.count_nonzero(best > self._threshold)
        kept = np.lexsort((chunks, -best))[:near][:limit]
        more = near > limit or (near == len(chunks) and len(windows) >= limit * WINDOWS_READ)
        raw = best[kept]
        own = np.clip(raw, 0.0, 1.0)
        ids = tuple(chunks[kept].tolist())
        return Ranking(
            source,
            ids,
            tuple(raw.tolist()),
            tuple(own.tolist()),
            ms=_since(started),
            more=bool(more),
            windows=tuple(nearest[kept].tolist()),
        )

    def cosines(self, store: VectorStore, vector: Vector, chunk_ids: Ids, columns: Columns) -> Floats:
        """Cosines of given passages in their order, 0 where not above the threshold, NaN where there is no vector."""
        found = np.full(len(chunk_ids), np.nan)
        if not len(chunk_ids):
            return found
        limit = len(chunk_ids) * WINDOWS_READ * 2
        chunks, best, _ = _by_chunk(*store.search(vector, limit, columns.only(chunk_ids)))
        order = np.argsort(chunks)
        chunks, best = chunks[order], best[order]
        if not len(chunks):
            return found
        at = np.minimum(np.searchsorted(chunks, chunk_ids), len(chunks) - 1)
        there = chunks[at] == chunk_ids
        found[there] = np.where(best > self._threshold, best, 0.0)[at[there]]
        return found

    def _nothing_yet(self) -> Unavailable:
        """Why the store is empty: a start reads what earlier ones embedded, and a first one has nothing to read."""
        kept = self._embedded()
        if kept:
            what = f"The vectors of {kept:,} passages are still to be read from where they are kept."
        else:
            what = "No passage is embedded yet."
        return Unavailable(what, hint="Keyword search works meanwhile.")


class VectorQuery:
    """One question as a vector, asked of one store. For one thread."""

    def __init__(self, retriever: VectorRetriever, asked: VectorRequest) -> None:
        self._leg = retriever
        self._asked = asked
        self._store: VectorStore | None = None

    def knows(self, language: str) -> bool:
        """Whether the model was trained on a language (ISO 639-1)."""
        return self._asked.model.knows(language)

    @property
    def window_characters(self) -> int:
        """About how far apart in a passage the model's windows begin."""
        return self._asked.model.window_limit * WINDOW_CHARACTERS

    def rank(self, source: str, selection: Selection, limit: int) -> Ranking:
        """The best passages above the threshold. Raises `Unavailable`."""
        return self._leg.rank(source, self._answering(), self._asked.vector, selection, limit)

    def cosines(self, chunk_ids: Ids, columns: Columns) -> Floats:
        """Cosines of given passages in their order, 0 where not above the threshold, NaN where there is no vector."""
        return self._leg.cosines(self._answering(), self._asked.vector, chunk_ids, columns)

    def nearness(self, chunk_ids: Ids, columns: Columns) -> float | None:
        """The best cosine of given passages with the question before it was adapted; None where it wasn't.

        Adapting brings a question that the library doesn't answer nearer to its passages too.
        """
        if self._asked.plain is None:
            return None
        cosines = self._leg.cosines(self._answering(), self._asked.plain, chunk_ids, columns)
        return float(np.nan_to_num(cosines).max(initial=0.0))

    def toward(self, answer: VectorQuery, own_share: float) -> VectorQuery:
        """The vector query between this one and a hypothetical answer's."""
        mixed = hyde.combined(self._asked.vector, answer._asked.vector, own_share)
        return VectorQuery(self._leg, self._asked._replace(vector=mixed))

    def _answering(self) -> VectorStore:
        """The store that answers, the same one for all of this question."""
        if self._store is None:
            self._store = self._leg.store()
        return self._store


def _by_chunk(windows: Ids, cosines: Vector) -> tuple[Ids, Floats, Ids]:
    """Passages with the cosines and ordinals of their best windows. Windows come best first, so the first of a passage
    is its best."""
    windows = np.asarray(windows)
    chunks, first = np.unique(windows // WINDOWS_PER_CHUNK, return_index=True)
    return chunks, np.asarray(cosines)[first].astype(np.float64), windows[first] % WINDOWS_PER_CHUNK


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
