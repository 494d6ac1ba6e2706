"""Settings in, a Librarian out: the only place where stores, models and engines are built and joined."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast
from urllib.parse import urlsplit

from . import __version__
from .crawling.sites import Sites
from .documents.dependencies import Dependencies
from .embeddings.base import Embedder, LazyModel, Reranker
from .embeddings.cross_encoder import CachedReranker, full_name, load_reranker
from .embeddings.loading import AnsweringModel, CachedEmbedder, EmbedderSpec, Provider, QueryVectors, wrong_dimension
from .embeddings.model_files import ModelStore
from .embeddings.model_table import dimension_of, spec_of, state_of
from .errors import LibrarianError, SetupError, Unavailable
from .evaluation.evaluate import QueryLog
from .evaluation.service import EvaluationService
from .files.owned_folder import claim_index, require_own
from .indexing.chroma_worker import ChildStore
from .indexing.indexer import Indexer, IndexerOptions, Listeners
from .indexing.scanner import FolderScanner
from .indexing.watcher import FileWatcher
from .models import ModelSpec, SearchOutcome
from .parsing.chunking import StructureChunker
from .parsing.includes.files import IncludeRoots
from .parsing.reader import READABLE, FileReader
from .registry.entities import RegistryFiles
from .registry.search import Registry
from .search.answer_cache import ResultCache, SemanticQueryCache
from .search.engine import HybridSearchEngine, SearchOptions
from .search.explain import Analyst
from .search.query_expansion import QueryExpansion
from .search.ranking import Calibration
from .search.suggestions import NO_CROSS_ENCODER
from .settings import Settings, revealed
from .storage.base import Catalog, EmbeddingCache, KeywordIndex
from .storage.catalog import SqliteCatalog
from .storage.embedding_cache import SqliteEmbeddingCache
from .storage.keyword_index import TantivyIndex
from .text.analyzer import StandardAnalyzer
from .tuning.background import BackgroundLearning
from .tuning.calibration import MIN_CHUNKS, CalibrationTraining
from .tuning.query_adapter import AdapterTraining
from .vector_stores import chroma
from .vector_stores.base import Hnsw, StoreSet, VectorStore
from .vector_stores.chroma import ChromaStore
from .vector_stores.exact import ExactStore
from .vector_stores.qdrant import QdrantStore
from .vector_stores.sqlite_vec import SqliteVecStore

if TYPE_CHECKING:
    from .embeddings.language_models import LlmSummarizer
    from .storage.postgres.database import Database
    from .storage.postgres.leader import LeaderLock

QUERY_BATCH = 8  #: the session that answers never sees more: onnxruntime keeps the memory of its largest batch
MAX_QUERY_EMBEDDINGS = 10_000
MAX_RERANK_SCORES = 50_000
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


def _unknown_extensions(settings: Settings) -> list[str]:
    """A note where formats are wanted that nothing reads."""
    strange = sorted({*(settings.docs.file_extensions or ())} - READABLE)
    return [f"docs.file_extensions names {', '.join(strange)}, for which there is no parser."] if strange else []


def indexer_options(settings: Settings) -> IndexerOptions:
    """The indexer's options; a setting of 0 means no limit, and for the look at everything never."""
    index = settings.index
    return IndexerOptions(
        processes=index.workers,
        file_timeout_s=index.file_timeout_s,
        file_memory_mb=index.file_memory_mb or None,
        scan_at_start=settings.docs.index_on_startup,
        reconcile_s=settings.docs.rescan_s or float("inf"),
    )


# -- models ----------------------------------------------------------------------------------------------------------


def _spec(settings: Settings, *, threads: int, max_batch: int) -> EmbedderSpec:
    """The library's model."""
    embeddings = settings.embeddings
    return EmbedderSpec(
        embeddings.model,
        embeddings.provider,
        embeddings.base_url,
        revealed(embeddings.api_key),
        threads,
        max_batch,
        embeddings.timeout_s,
        dimension=embeddings.dimension,
        backend=embeddings.backend,
    )


def embedder_of(settings: Settings, query_vectors: QueryVectors | None = None) -> LazyModel[Embedder] | None:
    """The model that embeds questions, loaded at first use and remembering what it was asked.

    Raises `SetupError` where the settings give it another dimension.
    """
    embeddings = settings.embeddings
    if not embeddings.enabled:
        return None
    if embeddings.provider == "local":  # a service may call its models what it likes
        known = ModelSpec(embeddings.model, 0, 0)
        with contextlib.suppress(SetupError):  # of an unknown model: words answer, and the status says why
            known = spec_of(embeddings.model)
        if embeddings.dimension not in (None, 0, known.dimension) and known.dimension:
            raise wrong_dimension(embeddings.model, embeddings.dimension, known.dimension)
    spec = _spec(settings, threads=query_threads(settings), max_batch=QUERY_BATCH)
    vectors = QueryVectors(MAX_QUERY_EMBEDDINGS) if query_vectors is None else query_vectors
    return LazyModel(lambda: CachedEmbedder(spec(), vectors))


def query_threads(settings: Settings) -> int:
    """Half of the threads that embedding may use, at least one: on two a short question is slower than on one."""
    return max(1, settings.embeddings.threads // 2)


def answering_model(settings: Settings, current: LazyModel[Embedder], indexer: Indexer) -> AnsweringModel:
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
        spec = _spec(settings, threads=query_threads(settings), max_batch=QUERY_BATCH)
        return replace(spec, name=name, provider=cast(Provider, provider), base_url=base_url or None, dimension=None)()

    return AnsweringModel(current, LazyModel(load), changing=lambda: bool(before()), answering=indexer.model)


def reranker_of(settings: Settings) -> LazyModel[Reranker] | None:
    """The cross-encoder, loaded at first use; with `auto` only where it is on this machine already."""
    search = settings.search
    if search.reranker not in ("auto", "cross-encoder"):
        return None

    def load() -> Reranker:
        if search.reranker == "auto" and not has_cross_encoder(settings):
            raise Unavailable(
                f"The cross-encoder {search.reranker_model} isn't on this machine.",
                hint=f"Fetch it with `librarian models fetch {search.reranker_model}`.",
            )
        model = load_reranker(
            search.reranker_model,
            threads=settings.embeddings.threads,
            max_length=search.reranker_max_length,
            backend=settings.embeddings.backend,
        )
        return CachedReranker(model, MAX_RERANK_SCORES)

    return LazyModel(load)


def has_cross_encoder(settings: Settings) -> bool:
    """Whether the cross-encoder is on this machine: fetched, or a folder that the settings name."""
    name = settings.search.reranker_model
    return Path(name).expanduser().is_dir() or ModelStore().locate(full_name(name)) is not None


def _rerank_notes(settings: Settings) -> tuple[str, ...]:
    """What the status says where rerank mode was configured and has no cross-encoder."""
    search = settings.search
    if search.mode != "rerank" or search.reranker != "auto" or has_cross_encoder(settings):
        return ()
    return (f"search.mode: {NO_CROSS_ENCODER}; `librarian models fetch {search.reranker_model}` brings one.",)


def rewriting_of(settings: Settings) -> QueryExpansion | None:
    """The language model that rewrites questions, where one may. Its key goes nowhere else."""
    if not settings.llm.enabled:
        return None
    from .embeddings.language_models import Chat, LlmRewriter  # httpx, for those alone who use it

    timeout_s = settings.llm.timeout_s
    return QueryExpansion(LlmRewriter(Chat(**_llm(settings)), timeout_s=timeout_s), timeout_s=timeout_s)


def summarizer_of(settings: Settings) -> LlmSummarizer | None:
    """The language model that summarises crawled pages, where one may. A page takes longer than a question."""
    if not settings.llm.enabled:
        return None
    from .embeddings.language_models import Chat, LlmSummarizer

    return LlmSummarizer(Chat(**_llm(settings)), timeout_s=max(SUMMARY_S, settings.llm.timeout_s))


def _llm(settings: Settings) -> dict[str, Any]:
    llm = settings.llm
    key = revealed(llm.api_key)
    return {"model": llm.model_name, "provider": llm.provider, "base_url": llm.address, "api_key": key}


def embedding_child(settings: Settings) -> Callable[[], Embedder]:
    """What builds the library's model inside an embedding child."""
    return _spec(settings, threads=settings.embeddings.threads, max_batch=settings.embeddings.batch_size)


def model_key(settings: Settings) -> str:
    """Names what would be loaded: while it stays the same, so does the model's fingerprint."""
    embeddings = settings.embeddings
    build = f"{__version__} {embeddings.backend} {state_of(embeddings.model)}"  # a folder may hold another model by now
    return "|".join((embeddings.provider, embeddings.model, embeddings.base_url or "", build.strip()))


# -- finding ---------------------------------------------------------------------------------------------------------


def search_options(settings: Settings, *, bm25: bool = True) -> SearchOptions:
    """The engine's options; without `bm25` (PostgreSQL) `learned` fusion becomes fusion by rank."""
    search, weight = settings.search, settings.embeddings.semantic_weight
    same = {field.name: getattr(search, field.name) for field in fields(SearchOptions) if hasattr(search, field.name)}
    return replace(
        SearchOptions(**same),
        # the learned ranker reads BM25 per field
        fusion=search.fusion if bm25 or search.fusion != "learned" else "rrf",
        keyword_weight=1 - weight,
        semantic_weight=weight,
        depth=max(SearchOptions().depth, search.candidates),
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
    return search.reranker_model if has_cross_encoder(settings) else "keyword-stage"


EXACT_UP_TO = 1_000_000  #: windows; above, a graph index answers (decisions page)


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a library lies. `names` are those of catalog, keyword index and vector store, for the status."""

    catalog: Catalog
    lexical: KeywordIndex
    archive: EmbeddingCache
    stores: StoreSet
    names: tuple[str, str, str]
    rescued: str = ""  #: a sentence, where a damaged file was set aside
    database: Database | None = None  #: PostgreSQL, where several servers may use the library

    def close(self) -> None:
        """Close everything, though some of it may fail."""
        with ExitStack() as closing:  # which ends with what it was given first
            for part in (self.catalog, self.archive, self.lexical, self.stores):
                closing.callback(part.close)


def storage(settings: Settings) -> Storage:
    """What `storage.catalog` and `vector_db.store` name. Raises `SetupError`, naming the extra that is missing."""
    return _postgres(settings) if settings.storage.catalog == "postgres" else _embedded_storage(settings)


def _embedded_storage(settings: Settings) -> Storage:
    index, chosen = settings.index.path, settings.vector_db.store
    if chosen == "pgvector":
        raise SetupError(
            "vector_db.store is pgvector, and storage.catalog isn't postgres.",
            hint="Set storage.catalog to postgres too, or choose another store.",
        )
    if settings.embeddings.enabled and chosen in ("auto", "chroma"):
        with suppress(OSError):  # who opens it says so
            require_own(settings.chroma_path, chroma.FOLDER)
    with ExitStack() as undone:
        catalog = SqliteCatalog.sound(index / "catalog.sqlite", shared_products=settings.docs.shared_products)
        undone.callback(catalog.close)
        lexical = TantivyIndex.sound(index / "keyword", identity=catalog.identity)
        undone.callback(lexical.close)
        archive = SqliteEmbeddingCache(index / "vectors.sqlite")
        undone.pop_all()
    return Storage(
        catalog,
        lexical,
        archive,
        StoreSet(partial(embedded_stores, settings), exact_up_to=EXACT_UP_TO),
        ("sqlite", "tantivy", "exact" if chosen == "auto" else chosen),
        rescued=catalog.rescued,
    )


def database(settings: Settings) -> Database:
    """The PostgreSQL database of `storage.database_url`. Raises `SetupError` where there is no address."""
    from .storage.postgres.database import Database

    if settings.storage.database_url is None:
        raise SetupError(
            "storage.catalog is postgres, and no PostgreSQL database is named.",
            hint="Set storage.database_url (DATABASE_URL) to postgresql://user:password@host/name.",
        )
    return Database(
        settings.storage.database_url.get_secret_value(),
        schema=settings.storage.database_schema,
        text_search=settings.storage.text_search,
    )


def _postgres(settings: Settings) -> Storage:
    chosen = settings.vector_db.store
    if chosen not in ("auto", "pgvector", "qdrant"):
        raise SetupError(
            f"vector_db.store is {chosen}, which lies on one machine; servers that share PostgreSQL can't share it.",
            hint="Set it to auto, pgvector or qdrant.",
        )
    from .storage.postgres.keyword_index import PostgresKeywordIndex

    with ExitStack() as undone:
        opened = database(settings)
        undone.callback(opened.close)
        catalog = Catalog(opened, shared_products=settings.docs.shared_products)
        lexical = PostgresKeywordIndex(opened, note=_ranking(settings))
        undone.pop_all()
        return Storage(
            catalog,
            lexical,
            EmbeddingCache(opened),
            StoreSet(partial(_shared_stores, settings, opened), exact_up_to=EXACT_UP_TO),
            ("postgres", "postgres", "qdrant" if chosen == "qdrant" else "pgvector"),
            database=opened,
        )


def _ranking(settings: Settings) -> str:
    """How PostgreSQL ranks, for `retrievers` in the answer."""
    joined = (
        " and joined by weight" if settings.search.fusion == "weighted" else " and joined by reciprocal rank fusion"
    )
    return f"ranked by PostgreSQL's ts_rank{joined}"


def _shared_stores(settings: Settings, opened: Database, fingerprint: str) -> Iterator[VectorStore]:
    if settings.vector_db.store == "qdrant":
        yield qdrant(settings, fingerprint)
        return
    from .vector_stores.pgvector import PgVectorStore

    yield PgVectorStore(opened, fingerprint, dimension_of(fingerprint), _hnsw(settings))


def embedded_stores(settings: Settings, fingerprint: str) -> Iterator[VectorStore]:
    """A model's vector stores, the one that answers first (decisions page: an exact scan answers small libraries)."""
    chosen, dimension = settings.vector_db.store, dimension_of(fingerprint)
    if chosen in ("auto", "exact"):
        yield ExactStore(dimension, settings.index.path)
    if chosen in ("auto", "chroma"):
        yield ChildStore("chroma", dimension, chroma_child(settings, fingerprint, dimension))
    if chosen == "sqlite-vec":
        yield SqliteVecStore(settings.index.path / "sqlite-vec" / f"{_of(fingerprint)}.sqlite", dimension)
    if chosen == "qdrant":
        yield qdrant(settings, fingerprint)


def qdrant(settings: Settings, fingerprint: str) -> QdrantStore:
    """A model's collection on the server at `storage.qdrant_url`, or in the index folder where there is no address."""
    address = revealed(settings.storage.qdrant_url)
    parts = urlsplit(address or "")
    key = parts.username if parts.username and not parts.password else parts.password
    collection = f"{settings.vector_db.collection_name}-{_of(fingerprint)}"
    return QdrantStore(
        _without_key(address) if address else settings.index.path / "qdrant" / collection,
        collection,
        dimension_of(fingerprint),
        hnsw=_hnsw(settings),
        quantization=settings.vector_db.quantization,
        api_key=key,
    )


def chroma_child(settings: Settings, fingerprint: str, dimension: int) -> Callable[[], VectorStore]:
    """What opens a model's Chroma collection inside a child."""
    return partial(
        ChromaStore,
        settings.chroma_path,
        settings.vector_db.collection_name,
        dimension,
        model=_of(fingerprint),
        distance=settings.vector_db.distance_metric,
        hnsw=_hnsw(settings),
    )


def _hnsw(settings: Settings) -> Hnsw:
    return Hnsw(**settings.vector_db.hnsw_config.model_dump())


def _of(fingerprint: str) -> str:
    return hashlib.sha256(fingerprint.encode()).hexdigest()[:8]


def _without_key(address: str) -> str:
    """The address without what stands before `@`, which is the key (`https://KEY@host:6333`)."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


LOADING_S = 5.0  #: that closing a library waits for a model


def build(settings: Settings) -> Dependencies:
    """All parts, joined. Nothing is read from the library's folder and no model is loaded yet.

    Raises `SetupError` where the settings can't be met, with everything closed that was opened until then.
    """
    _make_folder(settings.index.path)
    with ExitStack() as undone:
        held = storage(settings)
        undone.callback(held.close)
        parts = _joined(settings, held)
        undone.pop_all()
    return parts


def _make_folder(index: Path) -> None:
    try:
        claim_index(index)
    except OSError as error:
        raise SetupError(
            f"The index folder {index} can't be made: {error.strerror}.", hint="Set index.path (INDEX_PATH)."
        ) from error


def _joined(settings: Settings, held: Storage) -> Dependencies:
    """Everything above the storage, from the writing side to what the library is given."""
    catalog, analyzer, docs = held.catalog, StandardAnalyzer(settings.search.min_keyword_length), settings.docs
    listeners = Listeners()
    indexer = Indexer(
        settings.docs.root_path,
        scanner(settings),
        reader(settings),
        catalog,
        held.lexical,
        held.archive,
        stores_for=held.stores,
        embedder=embedding_child(settings) if settings.embeddings.enabled else None,
        model_key=model_key(settings),
        options=indexer_options(settings),
        watcher=partial(FileWatcher, docs.root_path, debounce_ms=docs.watch_debounce_ms)
        if docs.watch_for_changes
        else None,
        listeners=listeners,
        leader=_leader_lock(held, listeners),
    )
    query_vectors = QueryVectors(MAX_QUERY_EMBEDDINGS)
    embedder = embedder_of(settings, query_vectors)
    reranker, rewriting = reranker_of(settings), rewriting_of(settings)
    query_embedder = answering_model(settings, embedder, indexer) if embedder is not None else None
    options = search_options(settings, bm25=held.database is None)
    engine = HybridSearchEngine(
        catalog,
        held.lexical,
        analyzer,
        vectors=lambda: held.stores.answering(indexer.model()),
        embedded=lambda reader: reader.count(indexer.model()).embedded_chunks,
        embedder=query_embedder,
        options=options,
        reranker=reranker,
        rewriting=rewriting,
        calibration=Calibration(provisional_from=MIN_CHUNKS),
    )
    cache = settings.search.cache
    fresh: _Fresh = {
        "generation": partial(_generation, catalog),
        "version": lambda: engine.ranker_version,
        "complete": lambda outcome: indexer.is_complete(outcome.count),
    }
    similar = None
    if cache.semantic and query_embedder is not None:
        similar = SemanticQueryCache(
            engine,
            query_embedder,
            analyzer,
            threshold=cache.threshold,
            ttl_s=cache.ttl_s,
            max_entries=cache.max_entries,
            **fresh,
        )
    entries = cache.max_entries if cache.exact else 0
    cached = ResultCache(similar or engine, max_entries=entries, ttl_s=cache.ttl_s, **fresh)
    ended = threading.Event()
    adapter_training = AdapterTraining(
        engine,
        catalog,
        held.archive,
        store=lambda: held.stores.answering(indexer.model()),
        embedder=query_embedder if settings.search.query_adapter and settings.embeddings.provider == "local" else None,
        model=indexer.model,
        complete=indexer.is_complete,
        ended=ended,
    )
    calibration_training = CalibrationTraining(
        engine,
        catalog,
        complete=indexer.is_complete,
        fingerprint=lambda: "|".join(
            [indexer.model(), options.fusion, str(engine.weights), __version__, *adapter_training.fingerprints()]
        ),
        scale=options.fusion,
        semantic=settings.embeddings.enabled,
        adapted=lambda: adapter_training.in_use,
        ended=ended,
    )
    learning = BackgroundLearning(
        [adapter_training, calibration_training], awaited=[adapter_training], complete=indexer.is_complete, ended=ended
    )
    listeners.add(learning.look)
    notes = (*settings.notices, *_unknown_extensions(settings), *filter(None, [held.rescued]))
    warming = threading.Thread(target=_load, args=(embedder,), name="load-model", daemon=True)
    reading = threading.Thread(target=_read_dictionaries, args=(analyzer, catalog), name="dictionaries", daemon=True)

    def start() -> None:
        indexer.start()
        learning.start()
        if rewriting is not None:
            threading.Thread(target=rewriting.look, name="look-for-llm", daemon=True).start()
        if embedder is not None:
            warming.start()
        reading.start()

    def close() -> None:
        with ExitStack() as closing:  # which ends with what it was given first
            closing.callback(close_models)
            for part in (held.close, engine.close, indexer.stop, learning.close):
                closing.callback(part)

    def close_models() -> None:
        if warming.is_alive():  # a program that ends meanwhile is aborted by ONNX Runtime's threads
            warming.join(LOADING_S)
        if query_embedder is not None:
            query_embedder.close()
        if embedder is not None and (loaded := embedder.loaded()) is not None:
            loaded.close()

    return Dependencies(
        version=__version__,
        settings=settings,
        storage=held.names,
        reranker_name=reranker_word(settings),
        catalog=catalog,
        keyword_index=held.lexical,
        search_engine=engine,
        engine=cached,
        analyst=Analyst(engine.router, engine, catalog),
        analyzer=analyzer,
        indexing=indexer,
        embedder=embedder,
        caches={"exact": cached, "query_embedding": query_vectors, **({"semantic": similar} if similar else {})},
        evaluate=EvaluationService(
            catalog,
            most=settings.search.max_results,
            rewriter=rewriting is not None,
            adapted=lambda: adapter_training.in_use,
        ),
        registry=Registry(RegistryFiles(catalog, settings.docs.root_path).entities, embedder, held.archive),
        sites=Sites(catalog, cached.search),
        questions=QueryLog(settings.index.path / "questions.jsonl", enabled=settings.analytics.enabled),
        language_model=rewriting,
        notes=lambda: (*notes, *_rerank_notes(settings), *learning.notes(), *indexer.notes()),
        learning=learning,
        reranker=reranker if settings.search.reranker == "cross-encoder" else None,
        start=start,
        close=close,
    )


class _Fresh(TypedDict):
    """What tells caches whether an answer is still good, and may be kept."""

    generation: Callable[[], int]
    version: Callable[[], int]
    complete: Callable[[SearchOutcome], bool]


def _load(embedder: LazyModel[Embedder]) -> None:
    """Load the model, so that the first question needn't wait; a failure is remembered and shown."""
    with suppress(LibrarianError):
        embedder.get()


def _read_dictionaries(analyzer: StandardAnalyzer, catalog: Catalog) -> None:
    """Read the dictionaries of the library's languages, which the first question with an unknown word needs."""
    with suppress(LibrarianError):
        analyzer.is_common("", catalog.columns().languages())


def _leader_lock(held: Storage, listeners: Listeners) -> LeaderLock | None:
    """The lock of the server that indexes, where the library is in PostgreSQL."""
    if held.database is None:
        return None
    from .storage.postgres.leader import LeaderLock

    return LeaderLock(held.database, on_generation=listeners)


def _generation(catalog: Catalog) -> int:
    with catalog.read() as reading:
        return reading.generation
