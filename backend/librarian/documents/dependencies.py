"""What the library works with: its parts, and the options that shape its responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..models import Deadline, Hit, Mode, Query, SearchOutcome, StoredChunk, StoredDocument

if TYPE_CHECKING:
    from ..crawling.sites import Sites
    from ..embeddings.base import Embedder, LazyModel, Reranker
    from ..evaluation.unanswered_queries import QueryLog
    from ..indexing.scheduler import IndexScheduler
    from ..registry.search import Registry
    from ..schemas import CheckResponse
    from ..search.answer_cache import ResultCache
    from ..search.explain import Analyst
    from ..search.query_expansion import QueryExpansion
    from ..storage.base import Catalog
    from ..text.base import Analyzer
    from ..tuning.background import BackgroundLearning


class CacheControl(Protocol):
    """A cache as the status shows it and `clear_cache` empties it."""

    def stats(self) -> tuple[int, int, int]:
        """(entries, hits, misses)."""

    def clear(self) -> int:
        """Forget everything; returns how many entries there were."""


Evaluate = Callable[..., Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class LibraryOptions:
    """What the settings say about answers."""

    version: str
    root: Path
    index: Path
    default_mode: Mode = "auto"
    default_max_results: int = 10
    max_results: int = 50
    max_per_document: int = 3
    model: str = ""
    knowledge_weight: float = 0.7  #: the meaning's share in hybrid `search_knowledge_base`
    embeddings_enabled: bool = True
    reranker: str = ""
    storage: tuple[str, str, str] = ("sqlite", "tantivy", "exact")
    shared_products: tuple[str, ...] = ()
    features: Mapping[str, bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    layout: str = "product/component"
    llm_provider: str = ""
    llm_model: str = ""
    sent_to: tuple[str, ...] = ()  #: hosts that text is sent to, each with what goes there
    slow_query_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Everything the library needs, already built. `start` and `close` are for all of it."""

    options: LibraryOptions
    catalog: Catalog
    engine: ResultCache
    analyst: Analyst
    analyzer: Analyzer
    context: Callable[[StoredChunk, StoredDocument, Sequence[StoredChunk]], Mapping[str, object]]
    sections: Callable[[Query, Deadline], Sequence[Hit]]  #: of the one document that the question's filters let through
    fitted: Callable[[SearchOutcome], SearchOutcome]  #: packed into what its question allows, with its size as text
    indexing: IndexScheduler
    embedder: LazyModel[Embedder] | None
    caches: Mapping[str, CacheControl]
    check: Callable[[bool], CheckResponse]
    evaluate: Evaluate
    registry: Registry
    sites: Sites
    questions: QueryLog
    language_model: QueryExpansion | None
    start: Callable[[], None]
    close: Callable[[], None]
    keyword_damage: Callable[[], str] = str  #: why the keyword index can't be read; empty where it can
    notes: Callable[[], Sequence[str]] = tuple  #: sentences for the status that change with the library
    learning: BackgroundLearning | None = None
    reranker: LazyModel[Reranker] | None = None  #: the cross-encoder, where one is demanded
