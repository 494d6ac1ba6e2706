"""The search engine: one question in, one page of explained hits out.

It asks the legs side by side within one catalog read transaction, lets the mode weigh what they found, and makes hits
of the best. What a mode needs and can't have is said in `legs` and `degraded`; the answer names the mode that ran.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import get_args

import numpy as np

from ..embeddings.base import Embedder, LazyModel, Reranker
from ..errors import CallerError, LibrarianError
from ..models import (
    AnalyzedQuery,
    Answerable,
    Candidate,
    Deadline,
    Filters,
    Hit,
    Mode,
    Query,
    Ranking,
    RetrieverState,
    RetrieverStatus,
    SearchOutcome,
)
from ..schemas import DEFAULT_TOKENS
from ..storage.base import Catalog, CatalogReader, Columns, KeywordIndex
from ..text.base import Analyzer
from ..vector_stores.base import VectorStore
from . import hyde, modes, pagination, suggestions
from .candidates import Candidates, gather, told
from .confidence import Calibration, verdict
from .context import BY_MEANING, BY_WORDS, OFF, RankedCandidates, SearchContext, VectorResult
from .excerpts import Excerpts
from .fair_semaphore import FairSemaphore
from .fusion import score
from .identifiers import Names, without_excluded
from .lazy_ranking import ids_of, sums_of
from .missing_words import Missing, MissingWords
from .normalizer import QueryNormalizer
from .options import SearchOptions
from .packing import CHARACTERS, Group, pack, sections
from .query_adapter import QueryAdapter
from .query_expansion import REWRITTEN, QueryExpansion, QueryVariant, as_told
from .ranker import GIVEN, LinearRanker, shipped
from .reranker import RerankStage
from .retrievers import KeywordRetriever, VectorQuery, VectorRetriever
from .router import QueryRouter
from .snippets import Snippets
from .spelling import Spelling

log = logging.getLogger(__name__)

TRIES = 3  #: of a search that meets the moment in which a change is committed
OUTRUN = "keyword: the index changed under the search, passages may be missing; ask again"

MOST_SECTIONS = 20  #: passages of a document whose sections may be shown of it
NOISE = 0.05  #: relevance below which a hit is noise
FEWEST_SECTIONS = 3  #: of a document that are read for a question; others only where they are relevant
SECTION_SHARE = 0.2  #: of the best section's relevance, which these need
UNLIKELY_SHARE = 0.4  #: of the usual budget for an answer that most likely isn't one

NO_FILTERS = Filters()
ABOUT = 0.5  #: relevance, at least, of a hit whose title or heading holds all of a short question's words
HOLDERS = 50  #: passages of which is told where a word is mentioned that the filters leave out

#: The groups of passages that one page of an answer shows.
Page = Sequence[Sequence[pagination.PageEntry]]

#: Of the chunks need vectors for the learned sum; the keyword order is better until then (docs: search-modes.md).
EMBEDDED_SHARE = 0.9

SOON_MS = 25.0  #: an embedder is waited for so long before another question has its turn


class HybridSearchEngine:
    """Answers questions. Safe to use from several threads; `close` ends its worker threads.

    `embedded` gives the number of chunks that have vectors; None means all of them.
    """

    def __init__(
        self,
        catalog: Catalog,
        lexical: KeywordIndex,
        analyzer: Analyzer,
        *,
        vectors: Callable[[], VectorStore | None] = lambda: None,
        embedded: Callable[[], int] | None = None,
        embedder: LazyModel[Embedder] | None = None,
        options: SearchOptions = SearchOptions(),
        reranker: LazyModel[Reranker] | None = None,
        rewriting: QueryExpansion | None = None,
        ranker: LinearRanker | None = None,
        calibration: Calibration = Calibration(),
    ) -> None:
        self._catalog = catalog
        self._lexical = lexical
        self._words = KeywordRetriever(lexical, analyzer, options.depth)
        self._embedded = embedded
        threshold = options.similarity_threshold
        self._semantic = VectorRetriever(embedder, vectors, threshold=threshold, embedded=embedded or (lambda: 0))
        self._analyzer = analyzer
        self._options = options
        self._second_look = RerankStage(reranker, options)
        self._rewriting = rewriting
        self._ranker = ranker or shipped()
        self._calibration = calibration
        self._epochs = itertools.count(1)
        self._epoch = 0
        self._router = QueryRouter(analyzer, semantic=self._semantic.configured)
        self._snippets = Snippets(analyzer, target=options.snippet_length, context_lines=options.context_lines)
        spelling = Spelling(lexical, analyzer)
        self._hearing = QueryNormalizer(analyzer, lexical, spelling)
        self._missing_words = MissingWords(analyzer, lexical, spelling)
        self._names = Names(analyzer, lexical)
        self._threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="leg")
        self._turns = FairSemaphore(options.at_once)

    def close(self) -> None:
        """Wait for running legs and end their threads."""
        self._threads.shutdown()
        if self._rewriting is not None:
            self._rewriting.close()

    def search(self, query: Query, budget: Deadline | None = None) -> SearchOutcome:
        """Answer a question. Raises `CallerError` for an unknown mode, and once the budget is spent."""
        started = time.perf_counter()
        budget, tries = budget or Deadline(), TRIES
        while (found := self._answer(query, budget, started, tries)) is None:
            tries -= 1
        return found

    def _answer(self, query: Query, budget: Deadline, started: float, tries: int) -> SearchOutcome | None:
        """None where a change was committed meanwhile and there is another try."""
        with self._turns, self._catalog.read() as reader:
            run = self._begin(query, budget, reader)
            judged = self._judge(run)
            budget.check()
            if judged.pool.outrun or run.columns.generation != reader.generation:
                if tries > 1:
                    return None
                run.degraded.append(OUTRUN)
            kept, cut = self.kept(judged, query, run.columns)
            best = self._relevance(judged, judged.candidates[kept[0].place]) if kept else None
            missing = self._missing(run)
            provisional = self._calibration.is_provisional(run.columns.select(NO_FILTERS).count)
            doubtful = provisional or missing.doubtful
            share = self._calibration.share(unlikely=missing.unlikely, doubtful=doubtful)
            every = query.include_weak or provisional  # relevance that isn't calibrated tells no noise
            groups = pagination.grouped(kept, judged.candidates, run.columns, query)
            strong = kept if every else kept[: self.strong(judged, kept)]
            shown = groups if strong is kept else pagination.grouped(strong, judged.candidates, run.columns, query)
            page = shown[query.offset : query.offset + query.max_results]
            hits = self._hits(run, page, judged, lambda candidate: share * self._relevance(judged, candidate))
            about = [] if query.offset or missing.words else self._about(run, hits)
            hits[: len(about)] = about
            answerable = verdict(self._calibration, best, run.query, judged.pool, reader)
            if missing.unlikely:
                answerable = "unlikely"
            elif hits and (provisional or (about and answerable == "unlikely") or (doubtful and answerable == "yes")):
                answerable = "unknown"
            unheard = suggestions.unheard(query, run.query)
            further = (*unheard, *self._elsewhere(run, missing.words), *self._suggestions(run, bool(hits), answerable))
            found = SearchOutcome(
                query=query,
                mode=run.mode,
                hits=tuple(hits),
                total=len(shown),
                capped=cut or judged.pool.more,
                next_offset=None,
                retrievers=run.retrievers,
                generation=reader.generation,
                took_ms=0.0,
                answerable=answerable,
                degraded=tuple(run.degraded),
                routing=run.routing,
                rewritten=as_told(run.variants),
                suggestions=further,
                not_mentioned=missing.words,
                not_mentioned_in=suggestions.within(query.filters) if missing.words else "",
                calibrated=not provisional,
                weak_hidden=len(groups) - len(shown),
            )
            hits = self._packed(run, page, judged, found) if query.packed else hits
            end = query.offset + len(hits)
            return pagination.fitted(
                replace(
                    found,
                    hits=tuple(hits),
                    next_offset=end if hits and end < len(shown) else None,
                    took_ms=(time.perf_counter() - started) * 1000,
                )
            )

    def strong(self, judged: RankedCandidates, kept: Sequence[pagination.PageEntry]) -> int:
        """How many of the first passages are above the noise level of the calibration; the best one always counts."""
        if not judged.scale or not kept:
            return len(kept)
        sums = sums_of(judged.candidates)
        noise = (number for number, one in enumerate(kept)
                 if number and self._calibration.relevance(judged.scale, sums[one.place]) < NOISE)  # fmt: skip
        return next(noise, len(kept))

    def _hits(
        self, run: SearchContext, page: Page, judged: RankedCandidates, relevance: Callable[[Candidate], float]
    ) -> list[Hit]:
        """The best passage of each group of a page, with its snippet where the hits aren't to be packed."""
        best = [group[0] for group in page]
        cut = pagination.unseen if run.query.packed else self._snippets.answering(run.analyzed)
        return pagination.hits(best, judged.candidates, run.reader, cut, relevance)

    def _packed(self, run: SearchContext, page: Page, judged: RankedCandidates, found: SearchOutcome) -> list[Hit]:
        """The hits found, as many as fit into the budget, with what is shown of their documents."""
        ids = ids_of(judged.candidates)
        further = {ids[group[0].place]: [ids[one.place] for one in group[1:]] for group in page}
        chunks = run.reader.chunks([chunk for some in further.values() for chunk in some])
        nearest = self._nearest_parts(run, judged)
        groups = [
            Group(
                hit,
                [chunks[chunk] for chunk in further[hit.candidate.chunk_id] if chunk in chunks],
                nearest(hit.candidate.chunk_id),
            )
            for hit in found.hits
        ]
        excerpts, room = Excerpts(self._analyzer, run.analyzed), pagination.room(found)
        if found.answerable == "unlikely":
            room = int(room * UNLIKELY_SHARE)
        wanted = run.query.max_results if run.query.counted else None
        return pack(groups, excerpts, run.reader, room, pagination.heads(run.query), wanted)

    def sections(self, query: Query, budget: Deadline | None = None) -> tuple[Hit, ...]:
        """The sections of one document that answer, in the document's order, within `max_tokens`.

        The question's filters let that document through alone.
        """
        query = replace(query, packed=True, max_per_document=0)
        with self._turns, self._catalog.read() as reader:
            run = self._begin(query, budget or Deadline(), reader)
            judged = self._judge(run)
            run.budget.check()
            kept, _ = self.kept(judged, query, run.columns)
            relevance, nearest = partial(self._relevance, judged), self._nearest_parts(run, judged)
            hits = pagination.hits(kept[:MOST_SECTIONS], judged.candidates, reader, pagination.unseen, relevance)
            enough = max((hit.relevance for hit in hits), default=0.0) * SECTION_SHARE
            hits = [hit for number, hit in enumerate(hits) if number < FEWEST_SECTIONS or hit.relevance >= enough]
            groups = [Group(hit, (), nearest(hit.candidate.chunk_id)) for hit in hits]
            room = CHARACTERS * (query.max_tokens or DEFAULT_TOKENS)
            return tuple(sections(groups, Excerpts(self._analyzer, run.analyzed), reader, room))

    def _nearest_parts(self, run: SearchContext, judged: RankedCandidates) -> Callable[[int], tuple[int, int] | None]:
        """Where in a passage its window lies that is nearest to the question, in characters, about."""
        semantic = judged.pool.semantic
        windows = dict(zip(semantic.ids, semantic.windows, strict=False))
        size = run.meaning.window_characters if run.meaning is not None else 0

        def nearest(chunk_id: int) -> tuple[int, int] | None:
            ordinal = windows.get(chunk_id)
            return None if ordinal is None or not size else (ordinal * size, (ordinal + 1) * size)

        return nearest

    def _missing(self, run: SearchContext) -> Missing:
        """Names and rare words of a question that no document holds which the filters let through."""
        if run.retrievers["keyword"].status == "failed":
            return Missing()
        names = self._hearing.names(run.query, run.columns, run.reader)
        languages, texts = run.columns.languages(), run.reader.texts
        return self._missing_words.of(run.analyzed, run.selection, languages, texts, names, run.corrected)

    def _elsewhere(self, run: SearchContext, missing: Sequence[str]) -> tuple[suggestions.Suggestion, ...]:
        """Where words are mentioned that nothing mentions which the filters let through."""
        if run.selection.mask is None:
            return ()
        languages, everything = run.columns.languages(), run.columns.select(NO_FILTERS)
        found = []
        for word in missing:
            chunks = np.array(self._missing_words.holders(word, languages, everything, HOLDERS), dtype=np.int64)
            documents = run.reader.documents(np.unique(run.columns.doc_of(chunks)).tolist()) if len(chunks) else {}
            found += suggestions.elsewhere(word, run.query.filters, [one.document for one in documents.values()])
        return tuple(found)

    def _about(self, run: SearchContext, hits: Sequence[Hit]) -> list[Hit]:
        """The first hits, made good ones, whose title or heading is what was asked for whatever their sums."""
        found: list[Hit] = []
        languages = run.columns.languages()
        for hit in hits:
            heading = " ".join([hit.document.document.title, *hit.chunk.chunk.heading_path])
            language = hit.document.document.language
            if hit.relevance >= ABOUT or not self._missing_words.in_heading(run.analyzed, languages, heading, language):
                break
            found.append(replace(hit, relevance=ABOUT))
        return found

    def _suggestions(
        self, run: SearchContext, shown: bool, answerable: Answerable
    ) -> tuple[suggestions.Suggestion, ...]:
        """What was taken otherwise than typed, and what else to try where nothing is shown; of this only the nearest
        words where what is shown is unlikely to answer."""
        corrected = (*suggestions.excluding_alone(run.analyzed), *suggestions.corrected(run.corrected))
        if shown and (answerable != "unlikely" or run.retrievers["keyword"].status == "failed"):
            return corrected
        nearest = suggestions.terms(self._hearing.nearest(run.query, run.analyzed, run.columns, run.reader.texts))
        nearest = (*corrected, *nearest)
        if shown:
            return nearest
        left = run.retrievers["semantic"].status == "off" and self._semantic.configured
        return suggestions.suggest(run.query, run.analyzed, nearest, run.reader, run.columns, meaning_left=left)

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
        """Weigh, judge relevance, or turn questions of an adapter's model otherwise from the next question on."""
        self._ranker = ranker or self._ranker
        self._calibration = calibration or self._calibration
        if adapters is not None:
            self._semantic.adapters = tuple(adapters)
        self._epoch = next(self._epochs)  # last: no question of the new epoch may meet what was in use before

    @property
    def epoch(self) -> int:
        """Another number after each `use`: answers of different epochs were weighed or judged differently."""
        return self._epoch

    def judge(self, query: Query, reader: CatalogReader, budget: Deadline | None = None) -> RankedCandidates:
        """All candidates in order with everything known about them: for explaining an absence and for measuring."""
        with self._turns:
            return self._judge(self._begin(query, budget or Deadline(), reader))

    def not_mentioned(self, query: Query, reader: CatalogReader) -> tuple[str, ...]:
        """Names and rare words of a question that no document holds, as typed."""
        return self._missing(self._begin(query, Deadline(), reader)).words

    def kept(self, judged: RankedCandidates, query: Query, columns: Columns) -> tuple[list[pagination.PageEntry], bool]:
        """What of the candidates may be shown, in order, all pages of the answer; and whether more of them might."""
        limit = self._options.candidates
        return pagination.keep(judged.candidates, columns, limit=limit, per_group=query.max_per_document)

    # -- the stages --------------------------------------------------------------------------------------------

    def _begin(self, query: Query, budget: Deadline, reader: CatalogReader) -> SearchContext:
        if query.mode not in get_args(Mode):
            raise CallerError(f"Unknown mode {query.mode!r}.", hint=f"Use one of {', '.join(get_args(Mode))}.")
        budget.check()
        columns = self._catalog.columns()
        heard = self._hearing.of(query, columns, reader.texts)
        run = SearchContext(query, budget, heard.query, reader, columns, columns.select(query.filters), query.mode)
        run.variants, run.corrected = [*heard.variants], heard.corrected
        run.retrievers = {
            retriever: RetrieverStatus("off", OFF.reason) for retriever in ("keyword", "semantic", "rerank", "hyde")
        }
        if query.mode == "auto":
            analysis = self._router.judge(run.analyzed)
            run.mode = analysis.recommended_mode
            run.routing = analysis.routing()
            given = "hyde" if query.hypothetical_answer else run.mode
            run.mode = "hybrid" if query.semantic_weight is not None else given
        run.query = suggestions.heard(query, run.mode)
        return run

    def _judge(self, run: SearchContext) -> RankedCandidates:
        keyword, semantic, hypothetical = self._ask(run)
        run.budget.check()
        pool = gather(
            run.analyzed,
            run.columns,
            self._lexical,
            keyword=keyword,
            semantic=semantic,
            hyde=hypothetical,
            meaning=run.meaning,
            names=run.names,
            known=run.told,
            threads=self._threads,
        )
        pool = pool if self._names.looks_up(run.analyzed) else pool.asking_about()
        if run.mode != "semantic":
            pool = without_excluded(pool, run.analyzed, self._lexical, run.degraded)
        run.budget.check()
        if run.mode == "keyword":
            return RankedCandidates(pool, modes.keyword(pool), "keyword")
        if run.mode == "semantic":
            return RankedCandidates(pool, modes.semantic(pool), "semantic")
        if run.mode == "hybrid" and run.query.semantic_weight is not None:
            return RankedCandidates(pool, modes.by_weight(pool, run.query.semantic_weight), "")
        fused = self._fused(pool, run.columns)
        return self._reranked(run, fused) if run.mode == "rerank" else fused

    def _fused(self, pool: Candidates, columns: Columns) -> RankedCandidates:
        learned = self._options.fusion == "learned"
        partly = learned and not self._embedded_mostly(columns)
        if partly and pool.keyword.ids:
            return RankedCandidates(pool, modes.keyword(pool), "keyword")
        if self._options.fusion == "rrf" or partly:
            return RankedCandidates(pool, modes.by_rrf(pool, self._options.rrf_k), "rrf")
        if self._options.fusion == "weighted":
            return RankedCandidates(pool, modes.by_scores(pool, self._options), "weighted")
        return RankedCandidates(pool, modes.learned(pool, self._ranker.answering(pool)), "learned")

    def _embedded_mostly(self, columns: Columns) -> bool:
        """Whether enough chunks have vectors for the learned sum, which needs the vectors of nearly all candidates."""
        if self._embedded is None:
            return True
        return self._embedded() >= EMBEDDED_SHARE * columns.select(NO_FILTERS).count

    # -- the legs ----------------------------------------------------------------------------------------------

    def _ask(self, run: SearchContext) -> tuple[Ranking, Ranking, Ranking]:
        """Keyword, semantic and HyDE rankings. Without the meaning, the words answer alone and it is said so."""
        future: Future[VectorResult] | None = None
        self._rewrite(run)
        if run.mode in BY_MEANING:
            future = self._threads.submit(self._by_meaning, run, run.analyzed)
        keyword, semantic, hypothetical = self._by_words(run) if run.mode in BY_WORDS else OFF, OFF, OFF
        run.names = self._names.decisive(run.analyzed, run.selection)
        if future is not None:
            if keyword.ids:  # the meaning takes longer than the words
                run.told = told(run.analyzed, self._lexical, np.array(keyword.ids), run.names)
            meant = self._await(run, future)
            semantic, hypothetical, run.meaning = meant.semantic, meant.hyde, meant.meaning
            run.variants += [meant.hypothesis] if meant.hypothesis is not None else []
            run.report("hyde", hypothetical)
            run.report("semantic", semantic)
            if semantic.status != "ok":
                run.degraded.append(f"semantic: {semantic.reason}")
                if run.mode == "semantic":
                    keyword = self._by_words(run)
                run.mode = "keyword" if run.query.semantic_weight is None else run.mode
            elif run.mode == "hyde" and hypothetical.status != "ok":
                run.mode = "hybrid"
        run.report("keyword", keyword)
        return keyword, semantic, hypothetical

    def _by_words(self, run: SearchContext) -> Ranking:
        try:
            further = run.rewrite.search_terms if run.rewrite is not None else ""
            found = self._words.ask(run.analyzed, further, run.selection, run.columns)
            run.analyzed = found.query
            run.variants += found.variants
            return found.ranking
        except Exception as error:
            # Whatever breaks inside the index must not cost the answer that the other leg can give.
            damage = self._lexical.damage
            if isinstance(error, LibrarianError) and not damage:
                raise
            log.exception("the keyword leg failed")
            run.degraded.append(f"keyword: {damage or error}")
            return Ranking("keyword", (), (), (), "failed", damage or str(error))

    def _by_meaning(self, run: SearchContext, asked: AnalyzedQuery) -> VectorResult:
        """`asked` is the question as it was typed: the words' thread may take it otherwise meanwhile."""
        started = time.perf_counter()
        # A vector knows no "not": the word after the minus would draw in what is to be left out.
        text = asked.asked if run.mode == "semantic" else asked.wanted
        try:
            meaning = self._semantic.of(text, run.selection)
            hypothetical, hypothesis = self._by_hypothesis(run, asked, meaning)
            found = meaning.rank("semantic", run.selection, self._options.depth)
        except LibrarianError as error:
            status: RetrieverState = "failed" if self._semantic.configured else "off"
            return VectorResult(Ranking("semantic", (), (), (), status, str(error)))
        except Exception as error:
            log.exception("the semantic leg failed")
            return VectorResult(Ranking("semantic", (), (), (), "failed", str(error)))
        return VectorResult(
            replace(found, ms=(time.perf_counter() - started) * 1000), hypothetical, meaning, hypothesis
        )

    def _by_hypothesis(
        self, run: SearchContext, asked: AnalyzedQuery, meaning: VectorQuery
    ) -> tuple[Ranking, QueryVariant | None]:
        """HyDE's ranking, and the answer that it is of where that isn't the language model's."""
        started, hypothesis = time.perf_counter(), None
        answer = run.rewrite.hypothetical_answer if run.rewrite is not None else ""
        if not answer:
            if run.mode != "hyde":
                return OFF, None
            hypothesis = QueryVariant("", run.query.hypothetical_answer or "", "caller")
            if not hypothesis.hypothetical_answer:
                if reason := hyde.applies(asked, hyde.FEWEST_FOR_TEMPLATE):
                    return Ranking("hyde", (), (), (), "skipped", reason), None
                query_type = self._router.judge(asked).query_type
                hypothesis = QueryVariant("", hyde.from_template(asked.wanted, query_type), "template")
            answer = hypothesis.hypothetical_answer
        passage = self._semantic.of(answer, run.selection, as_passage=True)
        found = meaning.toward(passage, self._options.hyde_query_share).rank("hyde", run.selection, self._options.depth)
        return replace(found, ms=(time.perf_counter() - started) * 1000), hypothesis

    def _rewrite(self, run: SearchContext) -> None:
        """Ask the language model, where there is one and the question is one for it; without it all goes on."""
        query = run.query
        by_caller = query.hypothetical_answer or query.semantic_weight is not None or not query.ask_llm
        if self._rewriting is None or run.mode not in REWRITTEN or by_caller or hyde.applies(run.analyzed):
            return
        try:
            with self._turns.aside():
                run.rewrite = said = self._rewriting.of(query.text, run.budget)
            run.variants.append(QueryVariant(said.search_terms, said.hypothetical_answer, said.model))
        except LibrarianError as error:
            run.degraded.append(f"llm: {error}")

    def _await(self, run: SearchContext, future: Future[VectorResult]) -> VectorResult:
        wait_ms = min(self._options.semantic_timeout_ms, max(0.0, run.budget.remaining_ms()))
        try:
            with contextlib.suppress(TimeoutError):  # a model on this machine is soon done
                return future.result(timeout=min(SOON_MS, wait_ms) / 1000)
            with self._turns.aside():
                return future.result(timeout=max(0.0, wait_ms - SOON_MS) / 1000)
        except TimeoutError:
            future.cancel()
            return VectorResult(
                Ranking("semantic", (), (), (), "skipped", f"no answer within {wait_ms:.0f} ms", wait_ms)
            )

    # -- the second look ---------------------------------------------------------------------------------------

    def _reranked(self, run: SearchContext, first: RankedCandidates) -> RankedCandidates:
        """The first stage's candidates judged again; its own order where that isn't possible, which is said."""
        count = max(self._options.rerank_candidates, self._options.rerank_multiplier * run.query.max_results)
        with self._turns.aside():
            second = self._second_look.rerank(
                run.analyzed.wanted,
                first.pool,
                first.candidates,
                count,
                run.query.offset + run.query.max_results,
                run.reader.texts,
                lambda candidate: self._relevance(first, candidate),
                run.budget,
            )
        run.retrievers["rerank"] = second.retriever
        run.degraded += second.degraded
        if second.retriever.status != "ok":
            run.mode = "hybrid"
            return first
        return RankedCandidates(first.pool, second.candidates, second.scale)

    # -- the answer --------------------------------------------------------------------------------------------

    def _relevance(self, judged: RankedCandidates, candidate: Candidate) -> float:
        total = score(candidate.why)
        return self._calibration.relevance(judged.scale, total) if judged.scale else min(1.0, max(0.0, total))
