"""Settings in, a Librarian out: the only place where stores, models and engines are built and joined."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from . import __version__, desk
from .assembly_vectors import EXACT_UP_TO, embedded_stores
from .config.settings import Settings
from .finding.explain import Analyst
from .finding.hybrid_search import HybridSearchEngine
from .finding.options import SearchOptions
from .finding.parent_context import parent_context
from .finding.query_router import QueryRouter
from .finding.result_cache import ResultCache
from .gathering.registry import Registry
from .gathering.registry_files import RegistryFiles
from .language.analyzer import StandardAnalyzer
from .models.loading import Retrying, load_embedder
from .models.query_cache import CachedEmbedder, QueryEmbeddings
from .models.table import spec_of
from .reading.chunking import StructureChunker
from .reading.parsers import PARSERS
from .reading.reader import FileReader
from .reading.scanner import FolderScanner
from .shelving.cache import LruCache
from .shelving.catalog import SqliteCatalog
from .shelving.indexer import FileIndexer, IndexerOptions
from .shelving.lexical_index import TantivyIndex
from .shelving.upkeep import Listeners, Tally, Upkeep
from .shelving.vectors.archive import SqliteVectorArchive
from .shelving.vectors.store_set import StoreSet
from .shelving.watcher import FileWatcher
from .vocabulary.errors import SetupError
from .vocabulary.protocols import Budget, Embedder
from .vocabulary.types import Query, SearchOutcome

QUERY_BATCH = 8  #: the session that answers never sees more: onnxruntime keeps the memory of its largest batch
QUERY_EMBEDDINGS_KEPT = 10_000


class Librarian(desk.Librarian):
    """A library, open: every verb of the desk, and how to get one."""

    @classmethod
    def open(
        cls,
        config: str | os.PathLike[str] | None = None,
        *,
        root: str | os.PathLike[str] | None = None,
        index: str | os.PathLike[str] | None = None,
        start: bool = True,
        wait: bool = True,
        **overrides: object,
    ) -> Self:
        """Open the library that `config` describes in this process and bring it up to date.

        `overrides` are settings by dotted key. With `wait` the call returns once everything is read and embedded.
        Raises `SetupError` where the configuration is wrong or another process owns the index.
        """
        given: dict[str, object] = dict(overrides)
        given |= {key: str(value) for key, value in {"docs.root_path": root, "index.path": index}.items() if value}
        library = cls(build(Settings.load(Path(config) if config else None, overrides=given)))
        if start:
            library.start()
            if wait:
                library.wait_until_ready()
        return library


def build(settings: Settings) -> desk.Parts:
    """All parts, joined. Nothing is read from the library's folder and no model is loaded yet."""
    index = settings.index.path
    try:
        index.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            f"The index folder {index} can't be made: {error.strerror}.", hint="Set index.path (INDEX_PATH)."
        ) from error
    analyzer = StandardAnalyzer(settings.search.min_keyword_length)
    catalog = SqliteCatalog.sound(index / "catalog.sqlite", shared_products=settings.docs.shared_products)
    lexical = TantivyIndex.sound(index / "keyword", identity=catalog.identity)
    archive = SqliteVectorArchive(index / "vectors.sqlite")
    stores = StoreSet(partial(embedded_stores, settings), exact_up_to=EXACT_UP_TO)
    embedder = _embedder(settings)
    listeners, tally = Listeners(), Tally()
    indexer = FileIndexer(
        settings.docs.root_path,
        _scanner(settings),
        reader(settings),
        catalog,
        lexical,
        archive,
        stores_for=stores,
        embedder=embedding_child(settings) if embedder else None,
        model_key=model_key(settings),
        options=_indexer_options(settings),
        observer=tally,
        on_generation=[listeners],
    )
    engine = HybridSearchEngine(
        catalog,
        lexical,
        analyzer,
        vectors=lambda: stores.answering(indexer.model()),
        embedder=embedder,
        options=_search_options(settings),
    )
    answers: LruCache[Any, SearchOutcome] = LruCache(
        settings.search.cache.max_entries if settings.search.cache.exact else 0, settings.search.cache.ttl_s
    )
    cached = ResultCache(
        engine, answers, generation=partial(_generation, catalog), complete=partial(_complete, catalog, settings)
    )
    upkeep = Upkeep(
        indexer,
        catalog,
        archive,
        _watcher(settings),
        listeners=listeners,
        tally=tally,
        look_at_start=settings.docs.index_on_startup,
    )
    return desk.Parts(
        options=_desk_options(settings, catalog.rescued),
        catalog=catalog,
        engine=cached,
        analyst=Analyst(QueryRouter(analyzer, semantic=embedder is not None), engine, catalog),
        analyzer=analyzer,
        context=parent_context,
        indexing=upkeep,
        embedder=embedder,
        caches={"exact": cached, "query_embedding": QueryEmbeddings(embedder)},
        check=upkeep.check,
        evaluate=_evaluate,
        registry=Registry(RegistryFiles(catalog, settings.docs.root_path).entities, embedder, archive),
        start=partial(_start, upkeep, embedder),
        close=partial(_close, upkeep, engine, stores, lexical, archive, catalog, embedder),
    )


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
    )


def _scanner(settings: Settings) -> FolderScanner:
    docs = settings.docs
    return FolderScanner(
        docs.root_path,
        layout=docs.layout,
        extensions=docs.file_extensions,
        max_file_size_mb=docs.max_file_size_mb,
        include=docs.include,
        exclude=docs.exclude,
        known_extensions=frozenset(PARSERS),
    )


def _watcher(
    settings: Settings,
) -> Callable[[Callable[[frozenset[str]], None], Callable[[str], None]], FileWatcher] | None:
    if not settings.docs.watch_for_changes:
        return None

    def watch(on_change: Callable[[frozenset[str]], None], on_lost: Callable[[str], None]) -> FileWatcher:
        return FileWatcher(
            settings.docs.root_path, on_change, debounce_ms=settings.docs.watch_debounce_ms, on_lost=on_lost
        )

    return watch


def _indexer_options(settings: Settings) -> IndexerOptions:
    index = settings.index
    return IndexerOptions(
        processes=index.workers,
        file_timeout_s=index.file_timeout_s,
        file_memory_mb=index.file_memory_mb or None,
        reconcile_s=settings.docs.rescan_s or float("inf"),
    )


# -- models and vectors ----------------------------------------------------------------------------------------------


def _load(settings: Settings, *, threads: int, max_batch: int) -> Embedder:
    embeddings = settings.embeddings
    embedder = load_embedder(
        embeddings.model,
        provider=embeddings.provider,
        base_url=embeddings.base_url,
        api_key=embeddings.api_key.get_secret_value() if embeddings.api_key else None,
        threads=threads,
        max_batch=max_batch,
    )
    if embeddings.dimension is not None and embeddings.dimension != embedder.spec.dimension:
        embedder.close()
        raise _wrong_dimension(settings, embedder.spec.dimension)
    return embedder


def _wrong_dimension(settings: Settings, dimension: int) -> SetupError:
    return SetupError(
        f"embeddings.dimension is {settings.embeddings.dimension}; {settings.embeddings.model} has {dimension}.",
        hint=f"Set it to {dimension}, or leave it out.",
    )


def _embedder(settings: Settings) -> Retrying[Embedder] | None:
    """The model that embeds questions, loaded at first use."""
    if not settings.embeddings.enabled:
        return None
    known = spec_of(settings.embeddings.model)
    if settings.embeddings.dimension not in (None, 0, known.dimension) and known.dimension:
        raise _wrong_dimension(settings, known.dimension)

    def load() -> Embedder:
        threads = settings.embeddings.threads
        return CachedEmbedder(_load(settings, threads=threads, max_batch=QUERY_BATCH), QUERY_EMBEDDINGS_KEPT)

    return Retrying(load)


def embedding_child(settings: Settings) -> Callable[[], Embedder]:
    """What builds the model inside an embedding child."""
    return partial(_load, settings, threads=settings.embeddings.threads, max_batch=settings.embeddings.batch_size)


def model_key(settings: Settings) -> str:
    """Names what would be loaded: while it stays the same, so does the model's fingerprint."""
    embeddings = settings.embeddings
    return "|".join((embeddings.provider, embeddings.model, embeddings.base_url or "", __version__))


# -- finding ---------------------------------------------------------------------------------------------------------


def _search_options(settings: Settings) -> SearchOptions:
    search, weight = settings.search, settings.embeddings.semantic_weight
    return SearchOptions(
        mode=search.mode,
        fusion=search.fusion,
        rrf_k=search.rrf_k,
        keyword_weight=1 - weight,
        semantic_weight=weight,
        candidates=search.candidates,
        similarity_threshold=search.similarity_threshold,
        rerank_candidates=search.rerank_candidates,
        rerank_multiplier=search.rerank_multiplier,
        rerank_keyword_threshold=search.rerank_keyword_threshold,
        snippet_length=search.snippet_length,
    )


def _generation(catalog: SqliteCatalog) -> int:
    with catalog.read() as reading:
        return reading.generation


def _complete(catalog: SqliteCatalog, settings: Settings) -> bool:
    with catalog.read() as reading:
        count = reading.count()
    return not settings.embeddings.enabled or count.embedded_chunks >= count.chunks


def _desk_options(settings: Settings, rescued: str) -> desk.DeskOptions:
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
        storage=("sqlite", "tantivy", "exact" if settings.vector_db.store == "auto" else settings.vector_db.store),
        shared_products=settings.docs.shared_products,
        features={
            "embeddings": settings.embeddings.enabled,
            "watching": settings.docs.watch_for_changes,
            "exact_cache": search.cache.exact,
            "semantic_cache": search.cache.semantic,
            "document_limiting": search.enable_document_limiting,
            "analytics": settings.analytics.enabled,
        },
        notes=(*settings.notices, *filter(None, [rescued])),
        layout=settings.docs.layout,
        slow_query_ms=settings.logging.slow_query_ms,
    )


# -- life ------------------------------------------------------------------------------------------------------------


def _start(upkeep: Upkeep, embedder: Retrying[Embedder] | None) -> None:
    upkeep.start()
    if embedder is not None:  # so that the first question needn't wait; a failure is remembered and shown
        threading.Thread(target=_warm, args=(embedder,), name="load-model", daemon=True).start()


def _warm(embedder: Retrying[Embedder]) -> None:
    from .vocabulary.errors import LibrarianError

    try:
        embedder.get()
    except LibrarianError:
        return  # `problem()` has it


def _close(*parts: Any) -> None:
    for part in parts:
        if isinstance(part, Retrying):
            part = part.peek()
        if part is not None:
            part.close()


def _evaluate(
    library: desk.Librarian,
    *,
    budget: Budget,
    queries: str,
    qrels: str,
    modes: Sequence[str] = ("keyword", "semantic", "hybrid"),
    product: str | None = None,
) -> Mapping[str, object]:
    """Judged questions through the desk, fifty results of one document each; shapes as `evaluation.as_dict`."""
    from .evaluation.evaluate import as_dict, evaluate
    from .evaluation.judgments import load

    def search(text: str, mode: str) -> Sequence[str]:
        budget.check()
        answer = library.search(text, mode=mode, max_results=50, max_per_document=1, product=product, budget=budget)
        return [result.file_path for result in answer.results]

    return as_dict(evaluate(load(Path(queries), Path(qrels)), search, list(modes)))


__all__ = ["Librarian", "Query", "build"]
