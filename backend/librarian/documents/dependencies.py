"""The parts that a library is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..crawling.sites import Sites
    from ..embeddings.base import Embedder, LazyModel, Reranker
    from ..embeddings.loading import QueryVectors
    from ..evaluation.evaluate import QueryLog
    from ..evaluation.service import EvaluationService
    from ..indexing.indexer import Indexer
    from ..registry.search import Registry
    from ..search.answer_cache import ResultCache, SemanticQueryCache
    from ..search.engine import HybridSearchEngine
    from ..search.explain import Analyst
    from ..search.query_expansion import QueryExpansion
    from ..settings import Settings
    from ..storage.base import Catalog, KeywordIndex
    from ..text.analyzer import StandardAnalyzer
    from ..tuning.background import BackgroundLearning


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Everything the library needs, already built. `start` and `close` are for all of it."""

    version: str
    settings: Settings
    storage: tuple[str, str, str]  #: names of catalog, keyword index and vector store
    reranker_name: str  #: what rerank mode works with
    catalog: Catalog
    keyword_index: KeywordIndex
    search_engine: HybridSearchEngine
    engine: ResultCache  #: the same, behind its caches
    analyst: Analyst
    analyzer: StandardAnalyzer
    indexing: Indexer
    embedder: LazyModel[Embedder] | None
    caches: Mapping[str, ResultCache | SemanticQueryCache | QueryVectors]
    evaluate: EvaluationService
    registry: Registry
    sites: Sites
    questions: QueryLog
    language_model: QueryExpansion | None
    notes: Callable[[], Sequence[str]]  #: sentences for the status
    learning: BackgroundLearning
    reranker: LazyModel[Reranker] | None  #: the cross-encoder, where one is demanded
    start: Callable[[], None]
    close: Callable[[], None]
