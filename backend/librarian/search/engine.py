"""The search engine: one query in, one page of explained hits out.

It asks both retrievers within one catalog read transaction, ranks what they found as the mode says, and makes hits of
the best. Whatever fails on the way is reported in `retrievers` and `degraded`; the answer names the mode that ran.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Condition
from typing import Literal, TypeVar, get_args

import numpy as np

from ..embeddings.base import Embedder, LazyModel, Reranker, Rewrite
from ..errors import CallerError, LibrarianError
from ..models import (
    AnalyzedQuery,
    Answerable,
    Deadline,
    Filters,
    Fusion,
    Hit,
    Ids,
    Mode,
    Query,
    Ranking,
    RetrieverStatus,
    SearchOutcome,
    Selection,
)
from ..schemas import DEFAULT_TOKENS
from ..storage.base import Catalog, CatalogReader, Columns, KeywordIndex
from ..text.analyzer import StandardAnalyzer
from ..text.cross_references import key_of, names_asked
from ..vector_stores.base import VectorStore
from ..vector_stores.exact import ExactStore
from . import pagination, ranking, retrievers, suggestions
from .candidates import NO_IDS, NO_SCORES, OFF, Candidates, Floats, nan_to_zero, required_identifiers
from .missing_words import Missing, MissingWords
from .query_expansion import (
    QUOTES,
    REWRITTEN,
    QueryExpansion,
    QueryForm,
    answer_from_template,
    described,
    why_no_answer,
)
from .ranker import GIVEN, LinearRanker, shipped
from .ranking import SHIPPED, Calibration, Ranked, answerability
from .retrievers import QueryAdapter, VectorQuery, VectorRetriever, since
from .router import QueryRouter, Routing
from .snippets import Excerpts
from .spelling import QueryWords
from .suggestions import NO_CROSS_ENCODER, Suggestion
from .word_forms import IndexedWords


class FairSemaphore:
    """A context manager: its body is one of at most `at_once` that run. Not to be entered twice by one thread.

    With `threading.Semaphore`, a thread that has just left may enter again before a waiting one is awake: background
    queries, one after another, would keep others out for seconds.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once  #: below 0 where a thread that came back without a place is still to leave
        self._changed = Condition()
        self.waiting: deque[object] = deque()  #: one for each that waits, or is about to enter

    def __enter__(self) -> None:
        own = object()
        with self._changed:
            self.waiting.append(own)
            try:
                while self._free <= 0 or self.waiting[0] is not own:
                    self._changed.wait()
                self._free -= 1
            finally:  # Ctrl-C, too
                self.waiting.remove(own)
                self._changed.notify_all()

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._free += 1
            self._changed.notify_all()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Within the semaphore: let another thread run while the body waits for something that isn't Python's."""
        self.__exit__()
        try:
            yield
        finally:
            try:
                self.__enter__()
            except BaseException:  # Ctrl-C: the place that is left now wasn't taken again
                with self._changed:
                    self._free -= 1
                raise


log = logging.getLogger(__name__)

T = TypeVar("T")

TRIES = 3  #: of a search that meets the moment in which a change is committed
OUTDATED = "keyword: the index changed under the search, passages may be missing; ask again"

MOST_SECTIONS = 20  #: chunks of a document whose sections may be shown of it
NOISE = 0.05  #: relevance below which a hit is noise
FEWEST_SECTIONS = 3  #: of a document that are read for a query; others only where they are relevant
SECTION_SHARE = 0.2  #: of the best section's relevance, which these need

NO_FILTERS = Filters()
ABOUT = 0.5  #: relevance, at least, of a hit whose title or heading holds all of a query's words, or that it names
FEW_WORDS = 2  #: words of which the shipped curves, made of questions in sentences, don't tell `unlikely`
BODIES = 2000  #: chunks whose score by the text alone is read; that of others counts as none
NEAREST = 10  #: chunks by meaning that say how near a query is to the library

#: Of the chunks need vectors for the learned sum; the keyword order is better until then (docs: search-modes.md).
EMBEDDED_SHARE = 0.9

HYDE_QUERY_SHARE = 0.4  #: of the combined embedding; the rest is the hypothetical answer's
SOON_MS = 25.0  #: an embedder is waited for this long before another query may run


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How queries are answered. Scores and weights are in 0–1, lengths in characters. Defaults measured best."""

    mode: Mode = "auto"  #: the mode that runs where a query names none
    fusion: Fusion = "learned"
    rrf_k: int = 10  #: RRF's constant; 10 was better than the paper's 60 on every judged set tried
    keyword_weight: float = 0.5  #: of `weighted` fusion
    semantic_weight: float = 0.5
    candidates: int = 100  #: chunks that one answer may page through
    depth: int = 200  #: chunks read per retriever, so that a document's further ones count
    similarity_threshold: float = 0.05  #: cosines up to this don't count as a match
    routing: Routing = "measured"
    #: `auto`: a cross-encoder where one can be loaded, the keyword stage where not
    reranker: Literal["auto", "cross-encoder", "keyword-stage", "none"] = "auto"
    rerank_timeout_ms: float = 350.0  #: the cross-encoder's; what it doesn't get to stays behind what it has read
    rerank_candidates: int = 50
    rerank_multiplier: int = 5  #: rerank reads at least this many times `max_results`
    rerank_keyword_threshold: float = 0.1  #: below this keyword score the model-free stage drops a candidate
    snippet_length: int = 320  #: a target; a snippet never exceeds 600
    context_lines: int = 3  #: on each side of the match, at most
    at_once: int = 1  #: queries worked on at once: two at once take more processor time each, and are slower together
    semantic_timeout_ms: float = 10_000.0  #: longest wait for a vector look-up before the answer goes out without it


@dataclass(slots=True)
class SearchContext:
    """One query on its way: what every stage may read, and what it adds to the response."""

    query: Query
    deadline: Deadline
    words: QueryWords
    analyzed: AnalyzedQuery  #: as it is searched
    reader: CatalogReader
    columns: Columns
    selection: Selection
    mode: Mode
    embedded: int | None  #: chunks with vectors in the catalog, whether or not the store holds them; None where all
    routing: dict[str, object] | None = None
    forms: list[QueryForm] = field(default_factory=list)  #: of the query
    rewrite: Rewrite | None = None
    vector: VectorQuery | None = None
    body: tuple[Ids, Floats] = (NO_IDS, NO_SCORES)  #: the best chunks by the text alone, by rising id
    retrievers: dict[str, RetrieverStatus] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    named: Ids = field(default_factory=NO_IDS.copy)  #: a chunk of each document whose path, name or title the query is

    def report(self, retriever: str, found: Ranking) -> None:
        self.retrievers[retriever] = RetrieverStatus(found.status, found.reason, round(found.ms, 3))

    def degrade(self, reason: str) -> None:
        if reason not in self.degraded:
            self.degraded.append(reason)


class HybridSearchEngine:
    """Answers queries. Safe to use from several threads; `close` ends its worker threads.

    `embedded` gives the number of chunks that have vectors; None means all of them.
    """

    def __init__(
        self,
        catalog: Catalog,
        lexical: KeywordIndex,
        analyzer: StandardAnalyzer,
        *,
        vectors: Callable[[], VectorStore | None] = lambda: None,
        embedded: Callable[[CatalogReader], int] | None = None,
        embedder: LazyModel[Embedder] | None = None,
        options: SearchOptions = SearchOptions(),
        reranker: LazyModel[Reranker] | None = None,
        rewriting: QueryExpansion | None = None,
        ranker: LinearRanker | None = None,
        calibration: Calibration = Calibration(),
    ) -> None:
        self._catalog = catalog
        self._lexical = lexical
        self._embedded = embedded
        threshold = options.similarity_threshold
        self._semantic = VectorRetriever(embedder, vectors, threshold=threshold)
        self._analyzer = analyzer
        self._options = options
        self._reranker = reranker
        self._rewriting = rewriting
        self._ranker = ranker or shipped()
        self._calibration = calibration
        self._versions = itertools.count(1)
        self.ranker_version = 0  #: another number after each `use`: answers of different ones were ranked differently
        self.router = QueryRouter(analyzer, semantic=self._semantic.configured, routing=options.routing)
        self._indexed = IndexedWords(analyzer, lexical)
        self._threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="retriever")
        self._running = FairSemaphore(options.at_once)

    def close(self) -> None:
        """Wait for running look-ups and end their threads."""
        self._threads.shutdown()
        if self._rewriting is not None:
            self._rewriting.close()

    # -- what can be asked -----------------------------------------------------------------------------------------

    def search(self, query: Query, deadline: Deadline | None = None) -> SearchOutcome:
        """Answer a query. Raises `CallerError` for an unknown mode, and after the deadline."""
        started, deadline = time.perf_counter(), deadline or Deadline()
        answers = (self._answer(query, deadline, started, last=tries + 1 == TRIES) for tries in range(TRIES))
        return next(found for found in answers if found is not None)

    def sections(self, query: Query, deadline: Deadline | None = None) -> tuple[Hit, ...]:
        """The sections of one document that answer, in the document's order, within `max_tokens`.

        The query's filters let that document through alone.
        """
        query = replace(query, packed=True, max_per_document=0)
        with self._running, self._catalog.read() as reader:
            context = self._begin(query, deadline or Deadline(), reader)
            found = self._ranked(context)
            context.deadline.check()
            entries, _ = self.deduplicated(found, query, context.columns)
            curve = partial(self._calibration.relevance, found.scale)
            shown = entries[:MOST_SECTIONS]
            hits = pagination.hits(shown, found, reader, lambda place: curve(found.sums[place]))
            enough = max((hit.relevance for hit in hits), default=0.0) * SECTION_SHARE
            hits = [hit for number, hit in enumerate(hits) if number < FEWEST_SECTIONS or hit.relevance >= enough]
            groups = self._groups(context, [], found, hits)
            space = pagination.CHARACTERS * (query.max_tokens or DEFAULT_TOKENS)
            return tuple(pagination.sections(groups, Excerpts(self._analyzer, context.analyzed), reader, space))

    def rank(self, query: Query, reader: CatalogReader, deadline: Deadline | None = None) -> Ranked:
        """All candidates in order with everything known about them: for explaining an absence and for measuring."""
        with self._running:
            return self._ranked(self._begin(query, deadline or Deadline(), reader))

    def not_mentioned(self, query: Query, reader: CatalogReader) -> tuple[str, ...]:
        """Names and rare words of a query that no document holds, as typed."""
        context = self._begin(query, Deadline(), reader)
        words = MissingWords(context.words, context.analyzed, context.selection)
        return () if len(context.named) else words.find().words

    def deduplicated(self, found: Ranked, query: Query, columns: Columns) -> tuple[list[pagination.PageEntry], bool]:
        """What of the candidates may be shown, in order, all pages of the answer; and whether more of them might."""
        limit = self._options.candidates
        return pagination.deduplicate(found, columns, limit=limit, per_group=query.max_per_document)

    def strong(self, found: Ranked, entries: Sequence[pagination.PageEntry]) -> int:
        """How many of the first chunks are above the noise level of the calibration; the best one always counts."""
        if not found.scale or not entries:
            return len(entries)
        least = self._calibration.curves[found.scale].total(NOISE)
        weak = (number for number, one in enumerate(entries) if number and found.sums[one.place] < least)
        return next(weak, len(entries))

    @property
    def weights(self) -> Mapping[str, float]:
        """Those of the learned fusion, with what isn't learned."""
        return {**GIVEN, **self._ranker.weights}

    def use(
        self,
        *,
        ranker: LinearRanker | None = None,
        calibration: Calibration | None = None,
        adapters: Collection[QueryAdapter] | None = None,
    ) -> None:
        """Use other weights, another calibration or other query adapters from the next query on."""
        self._ranker = ranker or self._ranker
        self._calibration = calibration or self._calibration
        if adapters is not None:
            self._semantic.adapters = tuple(adapters)
        self.ranker_version = next(self._versions)  # last: no query of the new version may meet what was in use before

    # -- the response ----------------------------------------------------------------------------------------------

    def _answer(self, query: Query, deadline: Deadline, started: float, *, last: bool) -> SearchOutcome | None:
        """None where a change was committed meanwhile, unless this is the last try."""
        with self._running, self._catalog.read() as reader:
            context = self._begin(query, deadline, reader)
            columns, found = context.columns, self._ranked(context)
            deadline.check()
            if found.candidates.outdated or columns.generation != reader.generation:
                if not last:
                    return None
                context.degrade(OUTDATED)
            entries, more = self.deduplicated(found, query, columns)
            words = MissingWords(context.words, context.analyzed, context.selection)
            keyword_failed = context.retrievers["keyword"].status == "failed"
            missing = Missing() if keyword_failed or len(context.named) else words.find()
            provisional = columns.select(NO_FILTERS).count >= self._calibration.provisional_from
            # so that no hit is taken for an answer where that is unlikely, nor for a sure one where it is doubtful
            share = self._calibration.yes_from if missing.doubtful or provisional else 1.0
            share = self._calibration.unlikely_below if missing.unlikely else share
            # relevance that isn't calibrated says nothing about noise
            strong = len(entries) if query.include_weak or provisional else self.strong(found, entries)
            shown = pagination.grouped(entries[:strong], found, query)
            page = shown[query.offset : query.offset + query.max_results]
            replies = pagination.replies_to(page, found, columns, reader) if query.max_per_document == 1 else {}
            asked_by = {reply.place: place for place, reply in replies.items()}
            page = [[replies.get(group[0].place, group[0]), *group[1:]] for group in page]
            excerpts = Excerpts(self._analyzer, context.analyzed, highlights=query.explain or not query.packed)

            def relevance(place: int) -> float:
                return share * self._calibration.relevance(found.scale, found.sums[asked_by.get(place, place)])

            hits = pagination.hits([group[0] for group in page], found, reader, relevance, explain=query.explain)
            doubted = hits and hits[0].relevance < ABOUT and not query.offset and not missing.words
            about = self._about(context, words, hits) if doubted else []
            hits[: len(about)] = about
            best = self._calibration.relevance(found.scale, found.sums[entries[0].place]) if entries else None
            answerable = answerability(self._calibration, best, context.query, found.candidates, reader)
            if missing.unlikely:
                answerable = "unlikely"
            elif hits and (
                provisional
                or (answerable == "unlikely" and not missing.words and (about or self._says_little(found, words)))
                or (missing.doubtful and answerable == "yes")
            ):
                answerable = "unknown"
            seen = found.candidates
            outcome = SearchOutcome(
                query=query,
                mode=context.mode,
                hits=tuple(hits),
                total=len(shown),
                capped=more or seen.keyword.more or seen.semantic.more or seen.hyde.more,
                next_offset=None,
                retrievers=context.retrievers,
                generation=reader.generation,
                took_ms=0.0,
                count=reader.count(),
                answerable=answerable,
                degraded=tuple(context.degraded),
                routing=context.routing,
                rewritten=described(context.forms) if context.forms else None,
                suggestions=tuple(self._suggestions(context, query, bool(hits), answerable)),
                not_mentioned=missing.words,
                not_mentioned_in=suggestions.within(query.filters) if missing.words else "",
                calibrated=not provisional,
                weak_hidden=len(pagination.grouped(entries, found, query)) - len(shown),
                found=tuple(sorted({found.doc_ids[group[0].place] for group in shown})),
            )
            if query.packed:
                hits = pagination.pack(self._groups(context, page, found, hits), excerpts, reader, outcome)
            else:
                length, lines = self._options.snippet_length, self._options.context_lines
                texts = [(hit.chunk.chunk, hit.document.document.language) for hit in hits]
                snippets = [excerpts.snippet(chunk, language, length, lines) for chunk, language in texts]
                hits = [replace(hit, snippet=snippet) for hit, snippet in zip(hits, snippets, strict=True)]
            end = query.offset + len(hits)
            outcome = replace(
                outcome,
                hits=tuple(hits),
                next_offset=end if hits and end < len(shown) else None,
                took_ms=since(started),
            )
            return pagination.fitted(outcome)

    def _groups(
        self, context: SearchContext, page: Sequence[Sequence[pagination.PageEntry]], found: Ranked, hits: Sequence[Hit]
    ) -> list[pagination.Group]:
        """The hits with the further chunks of their documents, and where the part of each lies that is nearest."""
        ids, semantic = found.chunk_ids, found.candidates.semantic
        further = {ids[group[0].place]: [ids[one.place] for one in group[1:]] for group in page}
        chunks = context.reader.chunks([chunk for some in further.values() for chunk in some])
        size = context.vector.model.window_limit * retrievers.WINDOW_CHARACTERS if context.vector is not None else 0
        ordinals = dict(zip(semantic.ids, semantic.windows, strict=False)) if size else {}
        groups = []
        for hit in hits:
            chunk_id = hit.candidate.chunk_id
            others = tuple(chunks[one].chunk for one in further.get(chunk_id, ()) if one in chunks)
            ordinal = ordinals.get(chunk_id)
            nearest = None if ordinal is None else (ordinal * size, (ordinal + 1) * size)
            groups.append(pagination.Group(hit, others, nearest))
        return groups

    def _about(self, context: SearchContext, words: MissingWords, hits: Sequence[Hit]) -> list[Hit]:
        """The first hits that the query names, or whose title or heading holds all of its words, with a relevance of at
        least `ABOUT`."""
        found: list[Hit] = []
        for hit in hits:
            document = hit.document.document
            heading = " ".join([document.title, *hit.chunk.chunk.heading_path])
            named = len(context.named) and hit.candidate.identifier
            if hit.relevance >= ABOUT or not (named or words.are_in_heading(heading, document.language)):
                break
            found.append(replace(hit, relevance=ABOUT))
        return found

    def _says_little(self, found: Ranked, words: MissingWords) -> bool:
        """Whether the shipped curve tells nothing: the library holds a query's words, which are few or stand in one
        passage."""
        if self._calibration.curves.get(found.scale) != SHIPPED.get(found.scale):
            return False
        best = float(nan_to_zero(found.candidates.keyword_scores()).max(initial=0.0))
        if self._calibration.answerable(self._calibration.relevance("keyword", best)) == "yes":
            return True
        held = words.held()
        return 0 < len(held) <= FEW_WORDS and all(held.values())

    def _suggestions(
        self, context: SearchContext, asked: Query, shown: bool, answerable: Answerable
    ) -> Sequence[Suggestion]:
        """What was taken otherwise than typed, and what else to try where nothing is shown; of this only the nearest
        words where what is shown is unlikely to answer."""
        query, analyzed, retrievers = context.query, context.analyzed, context.retrievers
        found = suggestions.remarks(asked, query, retrievers["rerank"].reason, analyzed, context.words.corrected)
        if shown and (answerable != "unlikely" or retrievers["keyword"].status == "failed"):
            return found
        try:
            found += suggestions.terms(context.words.nearest())
        except Exception as error:
            self._keyword_failed(context, error)
        if shown:
            return found
        left = retrievers["semantic"].status == "off" and self._semantic.configured
        return found + suggestions.suggest(query, analyzed, context.reader, context.columns, semantic_left=left)

    # -- the stages ------------------------------------------------------------------------------------------------

    def _begin(self, query: Query, deadline: Deadline, reader: CatalogReader) -> SearchContext:
        if query.mode not in get_args(Mode):
            raise CallerError(f"Unknown mode {query.mode!r}.", hint=f"Use one of {', '.join(get_args(Mode))}.")
        deadline.check()
        columns = reader.columns()
        words = QueryWords(self._indexed, query, columns, reader)
        words.normalize()
        selection = columns.select(query.filters)
        embedded = None if self._embedded is None else self._embedded(reader)
        context = SearchContext(
            query, deadline, words, words.analyzed, reader, columns, selection, query.mode, embedded
        )
        context.forms = [*words.forms]
        context.retrievers = {
            retriever: RetrieverStatus("off", OFF.reason) for retriever in ("keyword", "semantic", "rerank", "hyde")
        }
        if query.mode == "auto":
            analysis = self.router.judge(context.analyzed)
            fields = {"query_type", "recommended_mode", "confidence", "reasons"}
            context.mode, context.routing = analysis.recommended_mode, analysis.model_dump(include=fields)
            if query.hypothetical_answer:
                context.mode = "hyde"
            if query.semantic_weight is not None:
                context.mode = "hybrid"
        if query.semantic_weight is not None or query.hypothetical_answer is not None:
            context.query = suggestions.without_ignored(query, context.mode)
        if context.mode != "semantic":
            titles, files = names_asked(query.text)
            context.named = columns.named(map(key_of, titles), selection)
            if not len(context.named):
                context.named = columns.named(map(key_of, files), selection)
        return context

    def _ranked(self, context: SearchContext) -> Ranked:
        candidates = self._candidates(context)
        context.deadline.check()
        weight = context.query.semantic_weight
        if context.mode == "keyword":
            return ranking.by_keyword(candidates)
        if context.mode == "semantic":
            return ranking.by_cosine(candidates)
        if context.mode == "hybrid" and weight is not None:
            return ranking.by_weight(candidates, weight)
        options, embedded = self._options, context.embedded
        fusion, chunks = options.fusion, context.columns.select(NO_FILTERS).count
        incomplete = fusion == "learned" and embedded is not None and embedded < EMBEDDED_SHARE * chunks
        if incomplete and candidates.keyword.ids:
            fused = ranking.by_keyword(candidates)
        elif incomplete or fusion == "rrf":
            fused = ranking.by_rrf(candidates, options.rrf_k)
        elif fusion == "weighted":
            fused = ranking.by_scores(candidates, options.keyword_weight, options.semantic_weight)
        else:
            fused = ranking.learned(candidates, self._ranker.answering(candidates))
        return self._reranked(context, fused) if context.mode == "rerank" else fused

    def _reranked(self, context: SearchContext, first: Ranked) -> Ranked:
        """The first stage's candidates judged again; its own order where that isn't possible, which is reported."""
        options, query, started = self._options, context.query, time.perf_counter()
        count = max(options.rerank_candidates, options.rerank_multiplier * query.max_results)
        status, reason, result = "off", "no reranker is set: search.reranker", None
        if options.reranker in ("auto", "cross-encoder") and self._reranker is not None:
            with self._running.released():
                status, reason, result = self._by_model(context, first, count, self._reranker)
        if options.reranker == "keyword-stage" or (
            options.reranker == "auto" and status == "off" and first.scale != "keyword"
        ):
            result = ranking.keyword_stage(first, count, options.rerank_keyword_threshold)
            outcome = (
                f"{len(result)} candidates were scored" if result else "no candidate reaches the keyword threshold"
            )
            if options.reranker == "keyword-stage":
                status, reason = "ok" if result else "skipped", outcome
            else:
                reason = f"{NO_CROSS_ENCODER}; {outcome}. {reason}"
        elif status in ("failed", "skipped"):
            context.degrade(f"rerank: {reason}")
        took_ms = round(since(started), 3)
        context.retrievers["rerank"] = RetrieverStatus(status, reason, took_ms)  # type: ignore[arg-type]
        if result is None:
            context.mode = "hybrid"
        return result or first

    def _by_model(
        self, context: SearchContext, first: Ranked, count: int, model: LazyModel[Reranker]
    ) -> tuple[str, str, Ranked | None]:
        """The status of the cross-encoder, the reason for it, and the order of the `count` best by its judgement, or of
        as many of them as there is time for, where that is enough for the page."""
        options, deadline = self._options, context.deadline
        try:
            encoder = model.get()
        except LibrarianError as error:
            return "off" if options.reranker == "auto" else "failed", str(error), None
        texts = context.reader.texts(first.chunk_ids[:count])
        read = [place for place, chunk in enumerate(first.chunk_ids[:count]) if chunk in texts]
        allowed_ms = min(options.rerank_timeout_ms, deadline.remaining_ms())
        timed = Deadline(deadline=time.monotonic() + allowed_ms / 1000, cancelled=deadline.cancelled)
        try:
            scores = encoder.score(context.analyzed.wanted, [texts[first.chunk_ids[place]] for place in read], timed)
        except LibrarianError as error:
            deadline.check()
            return "failed", str(error), None
        logits = np.full(len(first.candidates.chunk_ids), np.nan)
        logits[first.rows[read]] = np.array(scores, dtype=np.float64)  # None is NaN: it wasn't read
        scored = len(logits) - int(np.count_nonzero(np.isnan(logits)))
        reason = f"{scored} of {len(read)} candidates were scored within {allowed_ms:.0f} ms"
        if scored < min(len(read), context.query.offset + context.query.max_results):
            return "skipped", reason, None
        reason = reason if scored < len(read) else f"{scored} candidates were scored"
        return "ok", reason, ranking.by_model(first, logits, partial(self._calibration.relevance, first.scale))

    # -- candidates ------------------------------------------------------------------------------------------------

    def _candidates(self, context: SearchContext) -> Candidates:
        """The chunks of both retrievers, with what each says of the other's. If one fails, the other answers alone."""
        keyword, semantic, hyde = self._retrieved(context)
        context.deadline.check()
        query, columns = context.analyzed, context.columns
        union = np.unique(np.array([*keyword.ids, *semantic.ids, *hyde.ids, *context.named], dtype=np.int64))
        docs = columns.doc_of(union) if len(union) else union  # 0 where this state of the catalog doesn't know it
        found = Candidates.of(keyword, semantic, hyde, union[docs != 0], docs[docs != 0])
        found.outdated = bool(np.isin(union[docs == 0], keyword.ids).any())
        both = "ok" in (semantic.status, hyde.status)
        vector, names = context.vector, required_identifiers(query, self._analyzer)
        if vector is not None and semantic.status == "ok" and keyword.ids:
            # the cosines of chunks that only the words found, and that of the query before it was adapted
            unknown = np.isnan(found.cosine)
            given = found.chunk_ids[unknown], semantic.ids[:NEAREST], columns
            try:
                if isinstance(vector.store, ExactStore):  # in memory: there is nothing to wait for
                    cosines, found.best_cosine = vector.cosines(*given)
                else:
                    cosines, found.best_cosine = self._in_time(context, self._threads.submit(vector.cosines, *given))
                found.cosine[unknown] = np.clip(cosines, 0.0, 1.0)
            except Exception as error:
                log.exception("the second vector look-up failed")
                context.degrade(f"semantic: {error}")
        if keyword.status == "ok" and len(found.chunk_ids):
            try:
                if both:  # a retriever alone knows what its own order needs
                    self._add_words(context, found)
                if names:
                    asked = replace(query, terms=(), phrases=(), identifiers=names)
                    holds = self._lexical.scores(asked, found.chunk_ids) > 0
                    found.holds_identifier, found.asks_identifier = holds, True
            except Exception as error:
                self._keyword_failed(context, error)
        if both:
            found.unsupported_language = vector is not None and not vector.model.knows(query.language or "en")
            found.survey(query, columns)
        if len(context.named):
            found.holds_identifier = np.isin(found.doc_ids, columns.doc_of(context.named))
            found.asks_identifier = True
        if context.mode != "semantic" and (query.excluded or query.excluded_phrases or query.phrases):
            self._drop_excluded(context, found)
        return found

    def _add_words(self, context: SearchContext, found: Candidates) -> None:
        """Add the scores by words of chunks that only the meaning found, and of all chunks by their text alone."""
        ids, scores = context.body
        if len(ids):
            place = np.minimum(np.searchsorted(ids, found.chunk_ids), len(ids) - 1)
            found.body = np.where(ids[place] == found.chunk_ids, scores[place], 0.0)
        rows = np.isnan(found.bm25)
        if found.keyword.more and rows.any():  # others may hold the words, too
            bm25 = self._lexical.scores(context.analyzed, found.chunk_ids[rows])
            found.bm25[rows] = np.where(bm25 > 0, bm25, np.nan)

    def _drop_excluded(self, context: SearchContext, found: Candidates) -> None:
        """Drop chunks that hold an excluded word or lack a quoted one (the keyword retriever minds its own).

        The keyword index judges them, so that each is read by its own language's stems, with its title and headings.
        """
        allowed = found.places(found.keyword) > 0
        others = found.chunk_ids[~allowed]
        if not len(others):
            return
        try:
            if found.keyword.status == "failed":
                raise LookupError("it failed before")
            allowed[~allowed] = np.isin(others, self._lexical.admitted(context.analyzed, others))
        except Exception as error:
            if found.keyword.status != "failed":
                self._keyword_failed(context, error)
            context.degrade("keyword: quoted and excluded words were ignored because the keyword index failed.")
        else:
            found.keep(allowed | (found.holds_identifier & bool(len(context.named))))  # a file's name in quotes

    def _keyword_failed(self, context: SearchContext, error: Exception) -> None:
        """Report the failure of a further look-up in the keyword index, which must not cost the answer."""
        log.error("a look-up in the keyword index failed", exc_info=error)
        context.degrade(f"keyword: {self._lexical.damage or error}")

    # -- the retrievers --------------------------------------------------------------------------------------------

    def _retrieved(self, context: SearchContext) -> tuple[Ranking, Ranking, Ranking]:
        """Keyword, semantic and HyDE rankings. Without vectors, the words answer alone, which is reported."""
        if self._rewriting is not None:
            self._rewrite(context, self._rewriting)
        if context.mode == "keyword":
            keyword = self._by_words(context)
            context.report("keyword", keyword)
            return keyword, OFF, OFF
        answer, form, reason = self._hypothetical_answer(context)
        # A vector knows no "not": the word after the minus would draw in what is to be left out.
        text = context.analyzed.text if context.mode == "semantic" else context.analyzed.wanted
        adapted = context.query.filters.kind != "email"  # the adapter learns nothing from mails
        future = self._threads.submit(
            self._by_vectors, text, answer, context.selection, adapted=adapted, embedded=context.embedded or 0
        )
        keyword = self._by_words(context) if context.mode != "semantic" else OFF
        if keyword.ids and self._options.fusion == "learned":
            try:  # while the other retriever is at work, which takes as long
                context.body = self._lexical.body_scores(context.analyzed, context.selection, BODIES)
            except Exception as error:
                self._keyword_failed(context, error)
        try:
            semantic, hyde, context.vector = self._in_time(context, future)
        except TimeoutError as error:
            semantic, hyde = Ranking("semantic", (), (), (), "skipped", str(error)), OFF
        if reason and semantic.status == "ok":
            hyde = Ranking("hyde", (), (), (), "skipped", reason)
        context.forms += [form] if form is not None and hyde.status == "ok" else []
        context.report("hyde", hyde)
        context.report("semantic", semantic)
        if semantic.status != "ok":
            context.degrade(f"semantic: {semantic.reason}")
            if context.mode == "semantic":
                keyword = self._by_words(context)
            context.mode = "keyword" if context.query.semantic_weight is None else context.mode
        elif context.mode == "hyde" and hyde.status != "ok":
            context.mode = "hybrid"
        context.report("keyword", keyword)
        return keyword, semantic, hyde

    def _by_words(self, context: SearchContext) -> Ranking:
        """The best chunks by BM25. Quotes are ignored in a paragraph, and in a sentence where they leave nothing."""
        query = context.analyzed
        try:
            found = self._by_bm25(context, query)
            text = query.text
            by_the_way = retrievers.QUOTING_PARAGRAPH if found.ids else retrievers.QUOTING_SENTENCE
            if query.phrases and len(query.terms) >= by_the_way:
                text = retrievers.QUOTE_MARKS.sub(lambda mark: mark[0] if mark[0].startswith("-") else "", text)
                context.forms.append(QueryForm(text, "", QUOTES))
                query = context.analyzed = replace(query, phrases=())
                found = self._by_bm25(context, query)
            if context.rewrite is not None and context.rewrite.search_terms:
                text = f"{text} {context.rewrite.search_terms}"
                expanded = self._by_bm25(context, self._analyzer.query(text, context.columns.languages()))
                found = retrievers.better_of(found, expanded)
            return found
        except Exception as error:
            # Whatever breaks inside the index must not cost the answer that the other retriever can give.
            if isinstance(error, LibrarianError) and not self._lexical.damage:
                raise
            self._keyword_failed(context, error)
            return Ranking("keyword", (), (), (), "failed", self._lexical.damage or str(error))

    def _by_bm25(self, context: SearchContext, query: AnalyzedQuery) -> Ranking:
        """The best chunks for a query. Stop words are searched where there is nothing else: they may be words in pages
        of another language."""
        started, depth = time.perf_counter(), self._options.depth
        if not (query.terms or query.identifiers or query.phrases):
            return Ranking("keyword", (), (), (), "skipped", "no word to look for")
        found = self._lexical.search(query, context.selection, depth)
        if query.common and not found.ids:
            return Ranking("keyword", (), (), (), "skipped", "only words that every text holds", since(started))
        return replace(found, ms=since(started), more=len(found.ids) >= depth)

    def _by_vectors(
        self, text: str, answer: str, selection: Selection, *, adapted: bool, embedded: int
    ) -> tuple[Ranking, Ranking, VectorQuery | None]:
        """The semantic and HyDE rankings, and the query's vector; asked in a thread of its own."""
        started, hyde, depth = time.perf_counter(), OFF, self._options.depth
        try:
            vector = self._semantic.query(text, adapted=adapted, embedded=embedded)
            if answer:
                toward = vector.toward(self._semantic.query(answer, adapted=False), HYDE_QUERY_SHARE)
                hyde = replace(toward.rank("hyde", selection, depth), ms=since(started))
            return replace(vector.rank("semantic", selection, depth), ms=since(started)), hyde, vector
        except Exception as error:
            if not isinstance(error, LibrarianError):
                log.exception("the vector retriever failed")
            off = isinstance(error, LibrarianError) and not self._semantic.configured
            return Ranking("semantic", (), (), (), "off" if off else "failed", str(error)), OFF, None

    def _hypothetical_answer(self, context: SearchContext) -> tuple[str, QueryForm | None, str]:
        """The answer that HyDE searches with, its form where the language model didn't write it, and why there is
        none."""
        if context.rewrite is not None and context.rewrite.hypothetical_answer:
            return context.rewrite.hypothetical_answer, None, ""
        if context.mode != "hyde":
            return "", None, ""
        if answer := context.query.hypothetical_answer:
            return answer, QueryForm("", answer, "caller"), ""
        query = context.analyzed
        if reason := why_no_answer(query, fewest=1):
            return "", None, reason
        if query.language != "en":
            return "", None, "the templates are English: pass a hypothetical_answer, or set a language model"
        answer = answer_from_template(query.wanted, self.router.judge(query).query_type)
        return answer, QueryForm("", answer, "template"), ""

    def _rewrite(self, context: SearchContext, rewriting: QueryExpansion) -> None:
        """Ask the language model, if the query is one for it; without it all goes on."""
        query = context.query
        by_caller = query.hypothetical_answer or query.semantic_weight is not None or not query.ask_llm
        if context.mode not in REWRITTEN or by_caller or why_no_answer(context.analyzed):
            return
        try:
            with self._running.released():
                answer = context.rewrite = rewriting.of(query.text, context.deadline)
            context.forms.append(QueryForm(answer.search_terms, answer.hypothetical_answer, answer.model))
        except LibrarianError as error:
            context.degrade(f"llm: {error}")

    def _in_time(self, context: SearchContext, future: Future[T]) -> T:
        """A future's result. Raises `TimeoutError` where it takes too long."""
        wait_ms = min(self._options.semantic_timeout_ms, max(0.0, context.deadline.remaining_ms()))
        try:
            with contextlib.suppress(TimeoutError):  # a model on this machine is soon done
                return future.result(timeout=min(SOON_MS, wait_ms) / 1000)
            with self._running.released():
                return future.result(timeout=max(0.0, wait_ms - SOON_MS) / 1000)
        except TimeoutError:
            future.cancel()
            raise TimeoutError(f"no answer within {wait_ms:.0f} ms") from None
