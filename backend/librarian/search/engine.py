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
    Chunk,
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
    Snippet,
)
from ..schemas import DEFAULT_TOKENS
from ..storage.base import Catalog, CatalogReader, Columns, KeywordIndex
from ..text.analyzer import StandardAnalyzer
from ..text.cross_references import key_of, names_asked
from ..vector_stores.base import VectorStore
from ..vector_stores.exact import ExactStore
from . import pagination, ranking, suggestions
from .candidates import NO_IDS, NO_SCORES, OFF, Candidates, Floats, joined, nan_to_zero, required_identifiers, surveyed
from .missing_words import Missing, MissingWords
from .query_expansion import REWRITTEN, QueryExpansion, QueryForm, answer_from_template, described, why_no_answer
from .ranker import GIVEN, LinearRanker, shipped
from .ranking import Calibration, Ranked, answerability
from .replies import replies_to
from .retrievers import (
    WINDOW_CHARACTERS,
    QueryAdapter,
    VectorQuery,
    VectorRetriever,
    by_words,
    keyword_stage,
    rerank,
    since,
)
from .router import QueryRouter, Routing
from .snippets import Excerpts
from .spelling import QueryNormalizer, is_name
from .suggestions import NO_CROSS_ENCODER, Suggestion


class FairSemaphore:
    """A context manager: its body is one of at most `at_once` that run. Not to be entered twice by one thread.

    With `threading.Semaphore`, a thread that has just left may enter again before a waiting one is awake: background
    queries, one after another, would keep others out for seconds.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once  #: below 0 where a thread that came back without a place is still to leave
        self._changed = Condition()
        self._waiting: deque[object] = deque()  #: one for each that waits, or is about to enter

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def __enter__(self) -> None:
        own = object()
        with self._changed:
            self._waiting.append(own)
            try:
                while self._free <= 0 or self._waiting[0] is not own:
                    self._changed.wait()
                self._free -= 1
            finally:  # Ctrl-C, too
                self._waiting.remove(own)
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
UNLIKELY_SHARE = 0.4  #: of the usual token budget, for an answer that most likely isn't one

NO_FILTERS = Filters()
_OPERATORS = frozenset("*?:")  #: signs of what other search engines take for operators
ABOUT = 0.5  #: relevance, at least, of a hit whose title or heading holds all of a query's words, or that it names
FEW_WORDS = 2  #: words of which the shipped curves, made of questions in sentences, don't tell `unlikely`
BODIES = 2000  #: chunks whose score by the text alone is read; that of others counts as none
NEAREST = 10  #: chunks by meaning that say how near a query is to the library

#: Modes that use each retriever. `auto` has become another mode before this is asked.
BY_WORDS = frozenset({"keyword", "hybrid", "rerank", "hyde"})
BY_VECTORS = frozenset({"semantic", "hybrid", "rerank", "hyde"})

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
    analyzed: AnalyzedQuery
    reader: CatalogReader
    columns: Columns
    selection: Selection
    mode: Mode
    embedded: int | None  #: chunks with vectors in the catalog, whether or not the store holds them; None where all
    routing: dict[str, object] | None = None
    forms: list[QueryForm] = field(default_factory=list)  #: of the query
    corrected: tuple[tuple[str, str], ...] = ()  #: misspelt words, as typed and as they were taken
    in_other_forms: frozenset[str] = frozenset()  #: words in lower case that the library holds in another form
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


@dataclass(frozen=True, slots=True)
class VectorResult:
    """Result of the vector retriever. Made in its own thread, which does not modify the search context."""

    semantic: Ranking
    hyde: Ranking = OFF
    vector: VectorQuery | None = None
    answer: QueryForm | None = None  #: the hypothetical answer, where the language model didn't write it


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
        self._version = 0
        self.router = QueryRouter(analyzer, semantic=self._semantic.configured, routing=options.routing)
        self._normalizer = QueryNormalizer(analyzer, lexical)
        self._missing_words = MissingWords(analyzer, lexical, self._normalizer)
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
        for tries in range(TRIES, 0, -1):
            found = self._answer(query, deadline, started, last=tries == 1)
            if found is not None:
                break
        assert found is not None
        return found

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
            relevance = partial(self._calibration.relevance, found.scale)
            hits = pagination.hits(entries[:MOST_SECTIONS], found, reader, None, relevance)
            enough = max((hit.relevance for hit in hits), default=0.0) * SECTION_SHARE
            hits = [hit for number, hit in enumerate(hits) if number < FEWEST_SECTIONS or hit.relevance >= enough]
            groups = [pagination.Group(hit, (), _nearest_part(context, found, hit)) for hit in hits]
            space = pagination.CHARACTERS * (query.max_tokens or DEFAULT_TOKENS)
            return tuple(pagination.sections(groups, Excerpts(self._analyzer, context.analyzed), reader, space))

    def rank(self, query: Query, reader: CatalogReader, deadline: Deadline | None = None) -> Ranked:
        """All candidates in order with everything known about them: for explaining an absence and for measuring."""
        with self._running:
            return self._ranked(self._begin(query, deadline or Deadline(), reader))

    def not_mentioned(self, query: Query, reader: CatalogReader) -> tuple[str, ...]:
        """Names and rare words of a query that no document holds, as typed."""
        return self._missing(self._begin(query, Deadline(), reader)).words

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
        self._version = next(self._versions)  # last: no query of the new version may meet what was in use before

    @property
    def ranker_version(self) -> int:
        """Another number after each `use`: answers of different versions were ranked or judged differently."""
        return self._version

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
            relevance = partial(self._calibration.relevance, found.scale)
            best = relevance(found.sums[entries[0].place]) if entries else None
            missing = self._missing(context)
            provisional = self._calibration.is_provisional(columns.select(NO_FILTERS).count)
            doubtful = provisional or missing.doubtful
            # so that no hit is taken for an answer where that is unlikely, nor for a sure one where it is doubtful
            most = self._calibration.unlikely_below if missing.unlikely else self._calibration.yes_from
            share = most if missing.unlikely or doubtful else 1.0
            # relevance that isn't calibrated says nothing about noise
            strong = len(entries) if query.include_weak or provisional else self.strong(found, entries)
            shown = pagination.grouped(entries[:strong], found, columns, query)
            groups = len(shown) if strong == len(entries) else len(pagination.grouped(entries, found, columns, query))
            page = shown[query.offset : query.offset + query.max_results]
            replies = replies_to(page, found, columns, reader) if query.max_per_document == 1 else {}
            asked = {found.chunk_ids[one.place]: place for place, one in replies.items()}
            page = [[replies.get(group[0].place, group[0]), *group[1:]] for group in page]
            cut = None if query.packed else self._snippets(context)
            firsts = [group[0] for group in page]
            hits = pagination.hits(
                firsts, found, reader, cut, lambda total: share * relevance(total), explain=query.explain
            )
            hits = [
                replace(hit, relevance=share * relevance(found.sums[asked[hit.candidate.chunk_id]]))
                if hit.candidate.chunk_id in asked
                else hit
                for hit in hits
            ]
            doubted = hits and hits[0].relevance < ABOUT and not query.offset and not missing.words
            about = self._about(context, hits) if doubted else []
            hits[: len(about)] = about
            answerable = answerability(self._calibration, best, context.query, found.candidates, reader)
            if missing.unlikely:
                answerable = "unlikely"
            elif hits and (
                provisional
                or (answerable == "unlikely" and (about or self._says_little(context, found, missing)))
                or (doubtful and answerable == "yes")
            ):
                answerable = "unknown"
            ids = np.array([found.chunk_ids[group[0].place] for group in shown], dtype=np.int64)
            reranking, seen = context.retrievers["rerank"], found.candidates
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
                suggestions=(
                    *(suggestions.ignored(query, context.query) if context.query is not query else ()),
                    *(suggestions.without_cross_encoder(reranking.reason) if reranking.reason != OFF.reason else ()),
                    *(suggestions.unsupported(query) if not _OPERATORS.isdisjoint(query.text) else ()),
                    *self._suggestions(context, bool(hits), answerable),
                ),
                not_mentioned=missing.words,
                not_mentioned_in=suggestions.within(query.filters) if missing.words else "",
                calibrated=not provisional,
                weak_hidden=groups - len(shown),
                found=tuple(np.unique(columns.doc_of(ids)).tolist()),
            )
            hits = self._packed(context, page, found, outcome) if query.packed else hits
            end = query.offset + len(hits)
            outcome = replace(
                outcome,
                hits=tuple(hits),
                next_offset=end if hits and end < len(shown) else None,
                took_ms=(time.perf_counter() - started) * 1000,
            )
            return pagination.fitted(outcome)

    def _snippets(self, context: SearchContext) -> Callable[[Chunk, str], Snippet]:
        """What cuts snippets of chunks, each of a document in some language."""
        target, lines = self._options.snippet_length, self._options.context_lines
        excerpts = Excerpts(self._analyzer, context.analyzed)
        return lambda chunk, language: excerpts.snippet(chunk, language, target, lines)

    def _packed(
        self,
        context: SearchContext,
        page: Sequence[Sequence[pagination.PageEntry]],
        found: Ranked,
        outcome: SearchOutcome,
    ) -> list[Hit]:
        """The hits, as many as fit into the token budget, with what is shown of their documents."""
        ids = found.chunk_ids
        further = {ids[group[0].place]: [ids[one.place] for one in group[1:]] for group in page}
        chunks = context.reader.chunks([chunk for some in further.values() for chunk in some])
        groups = []
        for hit in outcome.hits:
            chunk_id = hit.candidate.chunk_id
            others = [chunks[one] for one in further[chunk_id] if one in chunks]
            listed = pagination.listed(hit, others) if others else ()
            groups.append(pagination.Group(hit, listed, _nearest_part(context, found, hit)))
        share = UNLIKELY_SHARE if outcome.answerable == "unlikely" else 1.0
        space = int(share * pagination.space_for(outcome))
        excerpts = Excerpts(self._analyzer, context.analyzed, highlights=context.query.explain)
        return pagination.pack(groups, excerpts, context.reader, space, context.query)

    def _missing(self, context: SearchContext) -> Missing:
        """Names and rare words of a query that no document holds which the filters let through."""
        if context.retrievers["keyword"].status == "failed" or len(context.named):
            return Missing()
        is_named = is_name(context.query, context.columns, context.reader)

        def names(word: str) -> bool:
            return word.lower() in context.in_other_forms or is_named(word)

        return self._missing_words.of(
            context.analyzed,
            context.selection,
            context.columns.languages(),
            context.reader.texts,
            names,
            context.corrected,
        )

    def _about(self, context: SearchContext, hits: Sequence[Hit]) -> list[Hit]:
        """The first hits that the query names, or whose title or heading holds all of its words, with a relevance of at
        least `ABOUT`."""
        found: list[Hit] = []
        languages = context.columns.languages()
        for hit in hits:
            document = hit.document.document
            heading = " ".join([document.title, *hit.chunk.chunk.heading_path])
            named = len(context.named) and hit.candidate.identifier
            if hit.relevance >= ABOUT or not (
                named or self._missing_words.in_heading(context.analyzed, languages, heading, document.language)
            ):
                break
            found.append(replace(hit, relevance=ABOUT))
        return found

    def _says_little(self, context: SearchContext, found: Ranked, missing: Missing) -> bool:
        """Whether the shipped curve tells nothing: the library holds a query's words, which are few or stand in one
        passage."""
        if missing.words or not self._calibration.is_shipped(found.scale):
            return False
        best = float(nan_to_zero(found.candidates.keyword_scores()).max(initial=0.0))
        if self._calibration.answerable(self._calibration.relevance("keyword", best)) == "yes":
            return True
        words = self._missing_words.held(context.analyzed, context.columns.languages())
        return 0 < len(words) <= FEW_WORDS and all(
            held or word.lower() in context.in_other_forms for word, held in words.items()
        )

    def _suggestions(self, context: SearchContext, shown: bool, answerable: Answerable) -> Sequence[Suggestion]:
        """What was taken otherwise than typed, and what else to try where nothing is shown; of this only the nearest
        words where what is shown is unlikely to answer."""
        analyzed, corrected = context.analyzed, suggestions.corrected(context.corrected) if context.corrected else ()
        if analyzed.excludes_alone:
            corrected = (*suggestions.excluding_alone(analyzed), *corrected)
        failed = context.retrievers["keyword"].status == "failed"
        if shown and (answerable != "unlikely" or failed):
            return corrected
        nearest = corrected
        try:
            words = self._normalizer.nearest(context.query, analyzed, context.columns, context.reader.texts)
            nearest = (*corrected, *suggestions.terms(words))
        except Exception as error:
            self._keyword_failed(context, error)
        if shown:
            return nearest
        left = context.retrievers["semantic"].status == "off" and self._semantic.configured
        return suggestions.suggest(
            context.query, context.analyzed, nearest, context.reader, context.columns, semantic_left=left
        )

    # -- the stages ------------------------------------------------------------------------------------------------

    def _begin(self, query: Query, deadline: Deadline, reader: CatalogReader) -> SearchContext:
        if query.mode not in get_args(Mode):
            raise CallerError(f"Unknown mode {query.mode!r}.", hint=f"Use one of {', '.join(get_args(Mode))}.")
        deadline.check()
        columns = reader.columns()
        normal = self._normalizer.normalize(query, columns, reader.texts)
        selection = columns.select(query.filters)
        embedded = None if self._embedded is None else self._embedded(reader)
        context = SearchContext(query, deadline, normal.query, reader, columns, selection, query.mode, embedded)
        context.forms, context.corrected = [*normal.forms], normal.corrected
        context.in_other_forms = normal.in_other_forms
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
        fusion: str = options.fusion
        if fusion == "learned" and embedded is not None:
            complete = embedded >= EMBEDDED_SHARE * context.columns.select(NO_FILTERS).count
            fusion = "learned" if complete else "words" if candidates.keyword.ids else "rrf"
        if fusion == "words":
            fused = ranking.by_keyword(candidates)
        elif fusion == "rrf":
            fused = ranking.by_rrf(candidates, options.rrf_k)
        elif fusion == "weighted":
            fused = ranking.by_scores(candidates, options.keyword_weight, options.semantic_weight)
        else:
            fused = ranking.learned(candidates, self._ranker.answering(candidates))
        return self._reranked(context, fused) if context.mode == "rerank" else fused

    def _reranked(self, context: SearchContext, first: Ranked) -> Ranked:
        """The first stage's candidates judged again; its own order where that isn't possible, which is reported."""
        options, query = self._options, context.query
        count = max(options.rerank_candidates, options.rerank_multiplier * query.max_results)
        if by_formula := options.reranker == "keyword-stage":
            result = keyword_stage(first, count, options.rerank_keyword_threshold)
        else:
            with self._running.released():
                result = rerank(
                    None if options.reranker == "none" else self._reranker,
                    context.analyzed.wanted,
                    first,
                    count,
                    query.offset + query.max_results,
                    context.reader.texts,
                    partial(self._calibration.relevance, first.scale),
                    context.deadline,
                    timeout_ms=options.rerank_timeout_ms,
                    optional=options.reranker == "auto",
                )
            if result.status.status == "off" and options.reranker == "auto" and first.scale != "keyword":
                why, by_formula = result.status.reason, True
                result = keyword_stage(first, count, options.rerank_keyword_threshold)
                reason = f"{NO_CROSS_ENCODER}; {result.status.reason}. {why}"
                result = replace(result, status=replace(result.status, status="off", reason=reason))
        context.retrievers["rerank"] = result.status
        if result.ranked is None:
            context.mode = "hybrid"
            if result.status.status in ("failed", "skipped") and not by_formula:
                context.degrade(f"rerank: {result.status.reason}")
        return result.ranked or first

    # -- candidates ------------------------------------------------------------------------------------------------

    def _candidates(self, context: SearchContext) -> Candidates:
        """The chunks of both retrievers, with what each says of the other's. If one fails, the other answers alone."""
        keyword, semantic, hyde = self._retrieved(context)
        context.deadline.check()
        candidates = joined(context.columns, keyword, semantic, hyde, context.named)
        both = "ok" in (semantic.status, hyde.status)
        if context.vector is not None and semantic.status == "ok" and keyword.ids:
            candidates = self._with_cosines(context, candidates)
        if keyword.status == "ok":
            candidates = self._with_words(context, candidates, both=both)
        if both:
            model = context.vector.model if context.vector is not None else None
            supported = model is None or model.knows(context.analyzed.language or "en")
            candidates = surveyed(candidates, context.analyzed, context.columns, supported=supported)
        query, chunks = context.analyzed, candidates.chunks
        if len(context.named):
            holds = np.isin(chunks.doc_ids, context.columns.doc_of(context.named))
            candidates = replace(candidates, chunks=replace(chunks, holds_identifier=holds), asks_identifier=True)
        demanding = context.mode != "semantic" and (query.excluded or query.excluded_phrases or query.phrases)
        return self._without_excluded(context, candidates) if demanding else candidates

    def _with_words(self, context: SearchContext, candidates: Candidates, *, both: bool) -> Candidates:
        """With what the keyword index says of the candidates; a retriever alone knows what its own order needs."""
        query, chunks = context.analyzed, candidates.chunks
        names = required_identifiers(query, self._analyzer)
        if not len(chunks) or not (names or both):
            return candidates
        try:
            if both:
                rows = np.isnan(chunks.bm25)
                chunks = replace(chunks, body=chunks.looked_up(*context.body))
                if candidates.keyword.more and rows.any():  # others may hold the words, too
                    found, bm25 = self._lexical.features(query, chunks.chunk_ids[rows], ("bm25",)), chunks.bm25.copy()
                    bm25[rows] = np.where(found["bm25"] > 0, found["bm25"], np.nan)
                    chunks = replace(chunks, bm25=bm25)
            if names:
                asked = replace(query, terms=(), phrases=(), identifiers=names)
                holds = self._lexical.features(asked, chunks.chunk_ids, ("identifiers",))["identifiers"] > 0
                chunks = replace(chunks, holds_identifier=holds)
                candidates = replace(candidates, asks_identifier=True)
        except Exception as error:
            self._keyword_failed(context, error)
        return replace(candidates, chunks=chunks)

    def _with_cosines(self, context: SearchContext, candidates: Candidates) -> Candidates:
        """With the cosines of chunks that only the words found, and that of the query before it was adapted."""
        vector, chunks, columns = context.vector, candidates.chunks, context.columns
        assert vector is not None
        unknown = np.isnan(chunks.semantic)
        given = chunks.chunk_ids[unknown], candidates.semantic.ids[:NEAREST], columns
        try:
            if isinstance(vector.store, ExactStore):  # in memory: there is nothing to wait for
                cosines, best = vector.cosines(*given)
            else:
                cosines, best = self._in_time(context, self._threads.submit(vector.cosines, *given))
        except Exception as error:
            log.exception("the second vector look-up failed")
            context.degrade(f"semantic: {error}")
            return candidates
        semantic = chunks.semantic.copy()
        semantic[unknown] = np.clip(cosines, 0.0, 1.0)
        return replace(candidates, chunks=replace(chunks, semantic=semantic), best_cosine=best)

    def _without_excluded(self, context: SearchContext, candidates: Candidates) -> Candidates:
        """Without chunks that hold an excluded word or lack a quoted one (the keyword retriever minds its own).

        The keyword index judges them, so that each is read by its own language's stems, with its title and headings.
        """
        query, chunks = context.analyzed, candidates.chunks
        allowed = candidates.places(candidates.keyword) > 0
        others = chunks.chunk_ids[~allowed]
        if not len(others):
            return candidates
        admitted = None
        if candidates.keyword.status != "failed":
            try:
                admitted = self._lexical.admitted(query, others)
            except Exception as error:
                self._keyword_failed(context, error)
        if admitted is None:
            context.degrade("keyword: quoted and excluded words were ignored because the keyword index failed.")
            return candidates
        allowed[~allowed] = np.isin(others, admitted)
        allowed |= chunks.holds_identifier & bool(len(context.named))  # a file's name in quotes
        in_links = candidates.in_links[allowed] if len(candidates.in_links) else candidates.in_links
        return replace(candidates, chunks=chunks.only(allowed), in_links=in_links)

    def _keyword_failed(self, context: SearchContext, error: Exception) -> None:
        """Report the failure of a further look-up in the keyword index, which must not cost the answer."""
        log.error("a look-up in the keyword index failed", exc_info=error)
        context.degrade(f"keyword: {self._lexical.damage or error}")

    # -- the retrievers --------------------------------------------------------------------------------------------

    def _retrieved(self, context: SearchContext) -> tuple[Ranking, Ranking, Ranking]:
        """Keyword, semantic and HyDE rankings. Without vectors, the words answer alone, which is reported."""
        future: Future[VectorResult] | None = None
        if self._rewriting is not None:
            self._rewrite(context, self._rewriting)
        if context.mode in BY_VECTORS:
            future = self._threads.submit(
                self._by_vectors,
                context.query,
                context.mode,
                context.analyzed,
                context.rewrite,
                context.selection,
                context.embedded or 0,
            )
        keyword = self._by_words(context) if context.mode in BY_WORDS else OFF
        if future is not None and keyword.ids and self._options.fusion == "learned":
            try:  # while the other retriever is at work, which takes as long
                context.body = self._lexical.body_scores(context.analyzed, context.selection, BODIES)
            except Exception as error:
                self._keyword_failed(context, error)
        if future is None:
            context.report("keyword", keyword)
            return keyword, OFF, OFF
        try:
            found = self._in_time(context, future)
        except TimeoutError as error:
            found = VectorResult(Ranking("semantic", (), (), (), "skipped", str(error)))
        semantic, hyde, context.vector = found.semantic, found.hyde, found.vector
        context.forms += [found.answer] if found.answer is not None else []
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
        try:
            further = context.rewrite.search_terms if context.rewrite is not None else ""
            languages, depth = context.columns.languages(), self._options.depth
            found, context.analyzed, form = by_words(
                self._lexical, self._analyzer, context.analyzed, further, context.selection, languages, depth
            )
        except Exception as error:
            # Whatever breaks inside the index must not cost the answer that the other retriever can give.
            damage = self._lexical.damage
            if isinstance(error, LibrarianError) and not damage:
                raise
            log.exception("the keyword retriever failed")
            context.degrade(f"keyword: {damage or error}")
            return Ranking("keyword", (), (), (), "failed", damage or str(error))
        context.forms += [form] if form is not None else []
        return found

    def _by_vectors(
        self,
        query: Query,
        mode: Mode,
        analyzed: AnalyzedQuery,
        rewrite: Rewrite | None,
        selection: Selection,
        embedded: int,
    ) -> VectorResult:
        started = time.perf_counter()
        # A vector knows no "not": the word after the minus would draw in what is to be left out.
        text = analyzed.text if mode == "semantic" else analyzed.wanted
        adapted = query.filters.kind != "email"  # the adapter learns nothing from mails
        try:
            vector = self._semantic.query(text, adapted=adapted, embedded=embedded)
            hyde, answer = OFF, None
            if mode == "hyde" or rewrite is not None:
                hyde, answer = self._by_answer(query, mode, analyzed, rewrite, selection, vector)
            found = vector.rank("semantic", selection, self._options.depth)
        except Exception as error:
            if not isinstance(error, LibrarianError):
                log.exception("the vector retriever failed")
            off = isinstance(error, LibrarianError) and not self._semantic.configured
            return VectorResult(Ranking("semantic", (), (), (), "off" if off else "failed", str(error)))
        return VectorResult(replace(found, ms=since(started)), hyde, vector, answer)

    def _by_answer(
        self,
        query: Query,
        mode: Mode,
        analyzed: AnalyzedQuery,
        rewrite: Rewrite | None,
        selection: Selection,
        vector: VectorQuery,
    ) -> tuple[Ranking, QueryForm | None]:
        """HyDE's ranking, and the hypothetical answer where the language model didn't write it."""
        started, form = time.perf_counter(), None
        answer = rewrite.hypothetical_answer if rewrite is not None else ""
        if not answer and mode != "hyde":
            return OFF, None
        if not answer:
            form = QueryForm("", query.hypothetical_answer or "", "caller")
            if not form.hypothetical_answer:
                reason = why_no_answer(analyzed, fewest=1)
                if reason or analyzed.language != "en":
                    reason = reason or "the templates are English: pass a hypothetical_answer, or set a language model"
                    return Ranking("hyde", (), (), (), "skipped", reason), None
                query_type = self.router.judge(analyzed).query_type
                form = QueryForm("", answer_from_template(analyzed.wanted, query_type), "template")
            answer = form.hypothetical_answer
        toward = vector.toward(self._semantic.query(answer, adapted=False), HYDE_QUERY_SHARE)
        return replace(toward.rank("hyde", selection, self._options.depth), ms=since(started)), form

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


def _nearest_part(context: SearchContext, found: Ranked, hit: Hit) -> tuple[int, int] | None:
    """Where in a hit's chunk the window lies that is nearest to the query, in characters, about."""
    semantic, chunk_id = found.candidates.semantic, hit.candidate.chunk_id
    if context.vector is None or not semantic.windows or chunk_id not in semantic.ids:
        return None
    size = context.vector.model.window_limit * WINDOW_CHARACTERS
    ordinal = semantic.windows[semantic.ids.index(chunk_id)]
    return (ordinal * size, (ordinal + 1) * size) if size else None
