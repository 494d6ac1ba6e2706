"""What the settings say, as the rooms want to hear it: their options, and the parts that need nothing but options."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from . import __version__, desk
from .finding.options import SearchOptions
from .finding.rewriting import Rewriting
from .language.analyzer import StandardAnalyzer
from .models.answering import AnsweringModel
from .models.cross_encoder import full_name, load_reranker
from .models.loading import Provider, Retrying
from .models.order import EmbedderOrder, wrong_dimension
from .models.query_cache import CachedEmbedder
from .models.score_cache import CachedReranker
from .models.store import ModelStore, state_of
from .models.table import spec_of
from .reading.chunking import StructureChunker
from .reading.including import IncludeRoots
from .reading.parsers import READABLE
from .reading.reader import FileReader
from .reading.scanner import FolderScanner
from .settings import Settings, revealed
from .shelving.indexer import FileIndexer, IndexerOptions
from .shelving.watcher import FileWatcher, FileWatchers
from .vocabulary.errors import SetupError, Unavailable
from .vocabulary.protocols import Embedder, Reranker

if TYPE_CHECKING:
    from .models.summarizer import LlmSummarizer

QUERY_BATCH = 8  #: the session that answers never sees more: onnxruntime keeps the memory of its largest batch
QUERY_EMBEDDINGS_KEPT = 10_000
RERANK_SCORES_KEPT = 50_000
SUMMARY_S = 30.0  #: a language model on this machine reads a page for several seconds

# -- reading ---------------------------------------------------------------------------------------------------------


def reader(settings: Settings) -> FileReader:
    """How files become documents and passages."""
    embeddings, metadata = settings.embeddings, settings.metadata
    chunker = StructureChunker(
        target_tokens=embeddings.chunk_size,
        ceiling_tokens=embeddings.chunk_ceiling,
        overlap_tokens=embeddings.chunk_overlap,
        respect_boundaries=settings.chunking.respect_boundaries,
        enabled=settings.chunking.enabled,
    )
    return FileReader(
        StandardAnalyzer(settings.search.min_keyword_length),
        chunker,
        extract_tags=metadata.extract_tags,
        infer_doc_type=metadata.infer_doc_type,
        track_modifications=metadata.track_modifications,
        includes=IncludeRoots(str(settings.docs.root_path), settings.docs.include_roots),
        shelved=f"flat as {settings.docs.root_path.name}" if settings.docs.layout == "flat" else "",
    )


def scanner(settings: Settings) -> FolderScanner:
    """What looks for files below the root."""
    docs = settings.docs
    return FolderScanner(
        docs.root_path,
        layout=docs.layout,
        extensions=docs.file_extensions,
        max_file_size_mb=docs.max_file_size_mb,
        size_limits=docs.size_limits,
        include=docs.include,
        exclude=docs.exclude,
        known_extensions=READABLE,
    )


def _unparsed(settings: Settings) -> list[str]:
    """A note where formats are wanted that nothing reads."""
    strange = sorted({*(settings.docs.file_extensions or ())} - READABLE)
    if not strange:
        return []
    return [f"docs.file_extensions names {', '.join(strange)}, for which there is no parser."]


def watcher(
    settings: Settings,
) -> Callable[[Callable[[frozenset[str]], None], Callable[[str], None]], FileWatchers] | None:
    """What makes a watcher from its callbacks, when the indexer starts; None where nothing is watched."""
    docs = settings.docs
    if not docs.watch_for_changes:
        return None

    def watch(on_change: Callable[[frozenset[str]], None], on_lost: Callable[[str], None]) -> FileWatchers:
        return FileWatchers(
            [
                FileWatcher(folder, on_change, debounce_ms=docs.watch_debounce_ms, on_lost=on_lost)
                for folder in (str(docs.root_path), *docs.include_roots)
            ]
        )

    return watch


def indexer_options(settings: Settings) -> IndexerOptions:
    """The indexer's options; a setting of 0 means no limit, and for the look at everything never."""
    index = settings.index
    return IndexerOptions(
        folder=str(index.path),
        processes=index.workers,
        file_timeout_s=index.file_timeout_s,
        file_memory_mb=index.file_memory_mb or None,
        reconcile_s=settings.docs.rescan_s or float("inf"),
    )


# -- models ----------------------------------------------------------------------------------------------------------


def _order(settings: Settings, *, threads: int, max_batch: int) -> EmbedderOrder:
    """The library's model."""
    embeddings = settings.embeddings
    return EmbedderOrder(
        embeddings.model,
        embeddings.provider,
        embeddings.base_url,
        revealed(embeddings.api_key),
        threads,
        max_batch,
        embeddings.timeout_s,
        dimension=embeddings.dimension,
    )


def embedder_of(settings: Settings) -> Retrying[Embedder] | None:
    """The model that embeds questions, loaded at first use. Raises `SetupError` where the settings give it another
    dimension."""
    if not settings.embeddings.enabled:
        return None
    if settings.embeddings.provider == "local":  # a service may call its models what it likes
        known = spec_of(settings.embeddings.model)
        if settings.embeddings.dimension not in (None, 0, known.dimension) and known.dimension:
            raise wrong_dimension(settings.embeddings.model, settings.embeddings.dimension, known.dimension)
    return embedder_for_questions(settings)


def query_threads(settings: Settings) -> int:
    """Half of the threads that embedding may use, at least one.

    A question is a few tokens, and threads that share so little wait for each other: of 8 tokens 1.3 ms on one thread
    and 2.2 on two, of 17 tokens 2.3 and 3.4, of 256 tokens 37 and 30, with 1.6 to 2.5 times the processor's time.
    """
    return max(1, settings.embeddings.threads // 2)


def embedder_for_questions(settings: Settings) -> Retrying[Embedder]:
    """The library's model, loaded at first use and remembering what it was asked."""

    def load() -> Embedder:
        order = _order(settings, threads=query_threads(settings), max_batch=QUERY_BATCH)
        return CachedEmbedder(order(), QUERY_EMBEDDINGS_KEPT)

    return Retrying(load)


def answering_model(settings: Settings, current: Retrying[Embedder], indexer: FileIndexer) -> AnsweringModel:
    """What questions are embedded with: the configured model, or while that fills its stores the one before."""

    configured = model_key(settings).rpartition("|")[0]

    def before() -> str:
        """What names the model before; empty where the configured one answers."""
        named = indexer.answering_key().rpartition("|")[0]
        return "" if named == configured else named

    def load() -> Embedder:
        provider, rest = before().split("|", 1)
        name, base_url = rest.rsplit("|", 1)
        embeddings = settings.embeddings
        if provider != "local" and (provider, base_url or None) != (embeddings.provider, embeddings.base_url):
            raise SetupError(
                f"Passages are being embedded anew. The model before, {name}, is at a service that the settings no "
                "longer name, and no question is sent there.",
                hint="Wait until all passages are embedded.",
            )
        order = EmbedderOrder(
            name,
            cast(Provider, provider),
            base_url or None,
            revealed(embeddings.api_key),
            query_threads(settings),
            QUERY_BATCH,
            embeddings.timeout_s,
        )
        return order()

    return AnsweringModel(current, Retrying(load), changing=lambda: bool(before()), answering=indexer.model)


def reranker_of(settings: Settings) -> Retrying[Reranker] | None:
    """The cross-encoder, loaded at first use; with `auto` only where it is on this machine already."""
    search = settings.search
    if search.reranker not in ("auto", "cross-encoder"):
        return None

    def load() -> Reranker:
        if search.reranker == "auto" and ModelStore().locate(full_name(search.reranker_model)) is None:
            raise Unavailable(
                f"The cross-encoder {search.reranker_model} isn't on this machine.",
                hint=f"Fetch it with `librarian models fetch {search.reranker_model}`.",
            )
        model = load_reranker(
            search.reranker_model, threads=settings.embeddings.threads, max_length=search.reranker_max_length
        )
        return CachedReranker(model, RERANK_SCORES_KEPT)

    return Retrying(load)


def rewriting_of(settings: Settings) -> Rewriting | None:
    """The language model that rewrites questions, where one may. Its key goes nowhere else."""
    llm = settings.llm
    if not llm.enabled:
        return None
    from .models.llm import LlmRewriter  # httpx, for those alone who use it

    rewriter = LlmRewriter(
        llm.model_name,
        provider=llm.provider,
        base_url=llm.address,
        api_key=revealed(llm.api_key),
        timeout_s=llm.timeout_s,
    )
    return Rewriting(rewriter, timeout_s=llm.timeout_s)


def summarizer_of(settings: Settings) -> LlmSummarizer | None:
    """The language model that summarises crawled pages, where one may. A page takes longer than a question."""
    llm = settings.llm
    if not llm.enabled:
        return None
    from .models.chat import Chat
    from .models.summarizer import LlmSummarizer

    chat = Chat(llm.model_name, provider=llm.provider, base_url=llm.address, api_key=revealed(llm.api_key))
    return LlmSummarizer(chat, timeout_s=max(SUMMARY_S, llm.timeout_s))


def embedding_child(settings: Settings) -> Callable[[], Embedder]:
    """What builds the library's model inside an embedding child."""
    return _order(settings, threads=settings.embeddings.threads, max_batch=settings.embeddings.batch_size)


def model_key(settings: Settings) -> str:
    """Names what would be loaded: while it stays the same, so does the model's fingerprint."""
    embeddings = settings.embeddings
    build = f"{__version__} {state_of(embeddings.model)}".strip()  # a folder may hold another model by now
    return "|".join((embeddings.provider, embeddings.model, embeddings.base_url or "", build))


# -- finding ---------------------------------------------------------------------------------------------------------


def search_options(settings: Settings, *, bm25: bool = True) -> SearchOptions:
    """The engine's options; without `bm25` (PostgreSQL) legs are joined by rank, where `learned` was asked for."""
    search, weight = settings.search, settings.embeddings.semantic_weight
    return SearchOptions(
        mode=search.mode,
        # the learned ranker reads BM25 per field
        fusion=search.fusion if bm25 or search.fusion != "learned" else "rrf",
        rrf_k=search.rrf_k,
        keyword_weight=1 - weight,
        semantic_weight=weight,
        candidates=search.candidates,
        depth=max(SearchOptions().depth, search.candidates),
        similarity_threshold=search.similarity_threshold,
        reranker=search.reranker,
        rerank_timeout_ms=search.rerank_timeout_ms,
        rerank_candidates=search.rerank_candidates,
        rerank_multiplier=search.rerank_multiplier,
        rerank_keyword_threshold=search.rerank_keyword_threshold,
        snippet_length=search.snippet_length,
        context_lines=search.context_lines,
        at_once=_questions_at_once(settings),
    )


def _questions_at_once(settings: Settings) -> int:
    """One where two processors share the work; two where others work too, or where answers wait for another server."""
    elsewhere = settings.storage.catalog == "postgres" or settings.storage.qdrant_url is not None
    return 2 if elsewhere or (os.cpu_count() or 1) > 2 else 1


def reranker_word(settings: Settings) -> str:
    """What rerank mode works with, for the status."""
    search = settings.search
    if search.reranker != "auto":
        return search.reranker_model if search.reranker == "cross-encoder" else search.reranker
    here = ModelStore().locate(full_name(search.reranker_model)) is not None
    return search.reranker_model if here else "none"


def _knowledge_weight(settings: Settings) -> float:
    """0.7 of a RAG service's hybrid score is the vectors' (spec of the search pipeline), where no weight is given."""
    weight = settings.provenance("embeddings.semantic_weight")
    return 0.7 if weight.source == "default" else settings.embeddings.semantic_weight


def desk_options(settings: Settings, storage: tuple[str, str, str], rescued: str) -> desk.DeskOptions:
    """The desk's options; `rescued` says what was set aside at the start, empty where nothing."""
    search = settings.search
    return desk.DeskOptions(
        version=__version__,
        root=settings.docs.root_path,
        index=settings.index.path,
        default_mode=search.mode,
        default_max_results=search.default_results,
        max_results=search.max_results,
        max_per_document=search.passages_per_document,
        model=settings.embeddings.model,
        embeddings_enabled=settings.embeddings.enabled,
        reranker=reranker_word(settings),
        storage=storage,
        knowledge_weight=_knowledge_weight(settings),
        shared_products=settings.docs.shared_products,
        features={
            "embeddings": settings.embeddings.enabled,
            "watching": settings.docs.watch_for_changes,
            "exact_cache": search.cache.exact,
            "semantic_cache": search.cache.semantic,
            "document_limiting": search.enable_document_limiting,
            "analytics": settings.analytics.enabled,
        },
        notes=(*settings.notices, *_unparsed(settings), *filter(None, [rescued])),
        layout=settings.docs.layout,
        slow_query_ms=settings.logging.slow_query_ms,
        sent_to=tuple(f"{host} ({text})" for _, host, text in settings.destinations()),
        llm_provider=settings.llm.provider if settings.llm.enabled else "",
        llm_model=settings.llm.model_name if settings.llm.enabled else "",
    )
