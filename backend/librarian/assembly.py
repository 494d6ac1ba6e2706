"""Settings in, a Librarian out: the only place where stores, models and engines are built and joined."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from . import __version__, desk
from .assembly_adapting import Adapting
from .assembly_calibration import FEWEST_PASSAGES, Calibrating
from .assembly_fitting import Fitting
from .assembly_parts import (
    answering_model,
    desk_options,
    embedder_of,
    embedding_child,
    indexer_options,
    model_key,
    reader,
    reranker_of,
    rewriting_of,
    scanner,
    search_options,
    watcher,
)
from .assembly_storage import Storage, storage
from .assembly_study import Study
from .evaluation.question_log import QuestionLog
from .finding.calibration import Calibration
from .finding.explain import Analyst
from .finding.hybrid_search import HybridSearchEngine
from .finding.paging import fitted
from .finding.parent_context import parent_context
from .finding.query_router import QueryRouter
from .finding.result_cache import Key, ResultCache
from .finding.rewriting import Rewriting
from .finding.semantic_cache import COSTLY, SemanticCache
from .gathering.crawl_state import chosen_models, other_model_note
from .gathering.registry import Registry
from .gathering.registry_files import RegistryFiles
from .gathering.sites import Sites
from .language.analyzer import StandardAnalyzer
from .models.answering import AnsweringModel
from .models.loading import Retrying
from .models.query_cache import QueryEmbeddings
from .models.table import canonical
from .settings import Settings
from .shelving.cache import LruCache
from .shelving.indexer import FileIndexer
from .shelving.upkeep import Listeners, Tally, Upkeep
from .vocabulary.errors import LibrarianError, SetupError
from .vocabulary.index_folder import claim_index
from .vocabulary.protocols import Catalog, Embedder, LexicalIndex
from .vocabulary.types import Fusion, SearchOutcome

LOADING_S = 5.0  #: that closing a library waits for a model

if TYPE_CHECKING:
    from .shelving.postgres.leader import LeaderLock


def build(settings: Settings) -> desk.Parts:
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


def _joined(settings: Settings, held: Storage) -> desk.Parts:
    """Everything above the storage, from the writing side to what the desk is handed."""
    catalog, analyzer = held.catalog, StandardAnalyzer(settings.search.min_keyword_length)
    embedder = embedder_of(settings)
    writing = _writing(settings, held)
    indexer, keeping = writing.indexer, writing.keeping
    rewriting, reranker = rewriting_of(settings), reranker_of(settings)
    asking = answering_model(settings, embedder, indexer) if embedder is not None else None
    options = search_options(settings, bm25=held.database is None)
    engine = HybridSearchEngine(
        catalog,
        held.lexical,
        analyzer,
        vectors=lambda: held.stores.answering(indexer.model()),
        embedded=lambda: _embedded(catalog, indexer.model()),
        embedder=asking,
        options=options,
        reranker=reranker,
        rewriting=rewriting,
        calibration=Calibration(provisional_from=FEWEST_PASSAGES),
    )
    complete = partial(_complete, catalog, settings, indexer)
    cached, similar = _cached(settings, engine, catalog, held.lexical, analyzer, asking, complete)
    adapting, fitting = _fitting(settings, options.fusion, engine, held, asking, indexer, complete)
    writing.listeners.add(fitting.look)
    study = Study(
        catalog,
        most=settings.search.max_results,
        rewriter=rewriting is not None,
        adapted=lambda: adapting.in_use,
    )
    ignored_models = cache(partial(_ignored_models, settings))
    warming = _Warming(embedder) if embedder is not None else None
    return desk.Parts(
        options=desk_options(settings, held.names, held.rescued),
        catalog=catalog,
        engine=cached,
        analyst=Analyst(QueryRouter(analyzer, semantic=embedder is not None), engine, catalog),
        analyzer=analyzer,
        context=parent_context,
        sections=engine.sections,
        fitted=fitted,
        indexing=keeping,
        embedder=embedder,
        caches={
            "exact": cached,
            "query_embedding": QueryEmbeddings(embedder),
            **({"semantic": similar} if similar else {}),
        },
        check=keeping.check,
        evaluate=study,
        registry=Registry(RegistryFiles(catalog, settings.docs.root_path).entities, embedder, held.archive),
        sites=Sites(catalog, cached.search),
        questions=QuestionLog(settings.index.path / "questions.jsonl", enabled=settings.analytics.enabled),
        language_model=rewriting,
        keyword_damage=lambda: held.lexical.damage,
        notes=lambda: (*fitting.notes(), *keeping.notes(), *ignored_models()),
        learning=fitting,
        reranker=reranker if settings.search.reranker == "cross-encoder" else None,
        start=partial(_start, keeping, warming, rewriting, fitting),
        close=partial(_close, fitting, keeping, engine, held, warming, asking, embedder),
    )


# -- parts of several ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Writing:
    """The side that writes: what makes the index, what keeps it true, and who hears of new generations."""

    indexer: FileIndexer
    keeping: Upkeep
    listeners: Listeners


def _writing(settings: Settings, held: Storage) -> _Writing:
    listeners, tally = Listeners(), Tally()
    leader = _leader_lock(held, listeners)
    indexer = FileIndexer(
        settings.docs.root_path,
        scanner(settings),
        reader(settings),
        held.catalog,
        held.lexical,
        held.archive,
        stores_for=held.stores,
        embedder=embedding_child(settings) if settings.embeddings.enabled else None,
        model_key=model_key(settings),
        options=indexer_options(settings),
        observer=tally,
        on_generation=[leader.announce if leader else listeners],
    )
    upkeep = Upkeep(
        indexer,
        held.catalog,
        held.archive,
        watcher(settings),
        listeners=listeners,
        tally=tally,
        look_at_start=settings.docs.index_on_startup,
        leader=leader,
    )
    return _Writing(indexer, upkeep, listeners)


def _leader_lock(held: Storage, listeners: Listeners) -> LeaderLock | None:
    """The lock of the server that indexes, where the library is in PostgreSQL."""
    if held.database is None:
        return None
    from .shelving.postgres.leader import LeaderLock

    return LeaderLock(held.database, on_generation=listeners)


def _cached(
    settings: Settings,
    engine: HybridSearchEngine,
    catalog: Catalog,
    lexical: LexicalIndex,
    analyzer: StandardAnalyzer,
    asking: AnsweringModel | None,
    complete: Callable[[], bool],
) -> tuple[ResultCache, SemanticCache | None]:
    """The engine behind its caches: that of equal questions outside, within it that of near ones where it is wanted."""
    generation, epoch, cache = partial(_generation, catalog), lambda: engine.epoch, settings.search.cache
    similar = None
    if cache.semantic and asking is not None:
        similar = SemanticCache(
            engine,
            asking,
            analyzer,
            generation=generation,
            epoch=epoch,
            complete=complete,
            threshold=cache.threshold,
            ttl_s=cache.ttl_s,
            max_entries=cache.max_entries,
            modes=COSTLY | {"hybrid", "auto"} if settings.llm.enabled else COSTLY,
            held=lexical.frequencies,
        )
    answers: LruCache[Key, SearchOutcome] = LruCache(cache.max_entries if cache.exact else 0, cache.ttl_s)
    return ResultCache(similar or engine, answers, generation=generation, epoch=epoch, complete=complete), similar


def _fitting(
    settings: Settings,
    fusion: Fusion,
    engine: HybridSearchEngine,
    held: Storage,
    asking: AnsweringModel | None,
    indexer: FileIndexer,
    complete: Callable[[], bool],
) -> tuple[Adapting, Fitting]:
    """What is learned from the library itself, one after the other: how questions are turned, and what sums mean."""
    ended = threading.Event()
    adapting = Adapting(
        engine,
        held.catalog,
        held.archive,
        store=lambda: held.stores.answering(indexer.model()),
        embedder=asking if settings.search.query_adapter and settings.embeddings.provider == "local" else None,
        model=indexer.model,
        complete=complete,
        ended=ended,
    )
    calibrating = Calibrating(
        engine,
        held.catalog,
        complete=complete,
        basis=lambda: "|".join([indexer.model(), fusion, str(engine.weights), __version__, *adapting.stamps()]),
        scale=fusion,
        by_meaning=settings.embeddings.enabled,
        adapted=lambda: adapting.in_use,
        ended=ended,
    )
    return adapting, Fitting([adapting, calibrating], awaited=[adapting], complete=complete, ended=ended)


def _generation(catalog: Catalog) -> int:
    with catalog.read() as reading:
        return reading.generation


def _embedded(catalog: Catalog, model: str) -> int:
    with catalog.read() as reading:
        return reading.count(model).embedded_chunks


def _ignored_models(settings: Settings) -> list[str]:
    """A note for each crawled project whose crawl asked for another embedding model than the library's."""
    model = canonical(settings.embeddings.model)
    return [
        other_model_note(project, asked)
        for project, asked in chosen_models(settings.index.path).items()
        if canonical(asked) != model
    ]


def _complete(catalog: Catalog, settings: Settings, indexer: FileIndexer) -> bool:
    """Whether an answer may be kept: nothing that it rests on is still being embedded or read into memory."""
    if not settings.embeddings.enabled:
        return True
    with catalog.read() as reading:
        count = reading.count()
    return count.embedded_chunks >= count.chunks and "vectors" not in indexer.problems()


# -- life ------------------------------------------------------------------------------------------------------------


def _start(
    upkeep: Upkeep,
    warming: _Warming | None,
    rewriting: Rewriting | None,
    fitting: Fitting,
) -> None:
    upkeep.start()
    fitting.start()
    if rewriting is not None:
        threading.Thread(target=rewriting.look, name="look-for-llm", daemon=True).start()
    if warming is not None:
        warming.start()


class _Warming:
    """Loads the model, so that the first question needn't wait; a failure is remembered and shown."""

    def __init__(self, embedder: Retrying[Embedder]) -> None:
        self._embedder = embedder
        self._thread = threading.Thread(target=self._run, name="load-model", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Wait for a model that is being loaded: a program that ends meanwhile is aborted by ONNX Runtime's threads."""
        if self._thread.is_alive():
            self._thread.join(LOADING_S)

    def _run(self) -> None:
        with suppress(LibrarianError):  # `problem()` has it
            self._embedder.get()


class _Closable(Protocol):
    def close(self) -> None: ...


def _close(*parts: _Closable | Retrying[Embedder] | None) -> None:
    """In this order, all of them though one may fail; models only where they are loaded."""
    with ExitStack() as closing:
        for part in reversed(parts):
            closing.callback(_close_one, part)


def _close_one(part: _Closable | Retrying[Embedder] | None) -> None:
    loaded = part.peek() if isinstance(part, Retrying) else part
    if loaded is not None:
        loaded.close()
