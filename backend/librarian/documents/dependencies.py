"""What the library works with: its parts, and the options that shape its responses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..embeddings.base import Embedder, LazyModel, Reranker
from ..models import Deadline, Hit, IndexReport, Mode, Progress, Query, SearchOutcome, StoredChunk, StoredDocument
from ..schemas import (
    AnalyzeResponse,
    CheckResponse,
    GapsResponse,
    RegistryResponse,
    SiteDocumentsResponse,
    SiteListResponse,
    SiteSearchResponse,
    WhyNot,
)
from ..storage.base import Catalog
from ..text.base import Analyzer


class SearchEngine(Protocol):
    """Answers questions."""

    def search(self, query: Query, budget: Deadline) -> SearchOutcome: ...


class QueryAnalyst(Protocol):
    """Says what kind of question it is, and where a document falls out of the answer."""

    def analyze(self, text: str) -> AnalyzeResponse: ...

    def why_not(self, query: Query, file_path: str, budget: Deadline) -> WhyNot: ...


class ContextSource(Protocol):
    """Title, summary, outline and neighbours of a hit."""

    def __call__(
        self, chunk: StoredChunk, document: StoredDocument, siblings: Sequence[StoredChunk]
    ) -> Mapping[str, object]: ...


class Indexing(Protocol):
    """The writing side."""

    def refresh(self, paths: Sequence[str] | None = None) -> IndexReport: ...

    def rebuild(self) -> IndexReport: ...

    def prune(self) -> IndexReport: ...

    def notice(self, paths: Sequence[str]) -> None:
        """Paths that may have changed: look at them soon, in the background."""

    def look_again(self) -> None:
        """Look at the whole folder soon, and try again what failed."""

    def progress(self) -> Progress: ...

    def problems(self) -> Sequence[str]:
        """What doesn't work now: `root: …`, `embeddings: …`, `watcher: …`."""

    def away(self) -> str:
        """Why the folder of documents isn't there, in a sentence; empty where it is. Asked once a file is missing."""

    def wait_until_idle(self, timeout_s: float | None = None) -> bool:
        """True once nothing is left to read or to embed; False where the time ran out first."""

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call `callback` with each new generation, from whatever thread; returns what ends it."""

    @property
    def last_indexed_at(self) -> float | None:
        """When this process last finished a look at the folder (seconds since the epoch); None before."""

    @property
    def watching(self) -> bool: ...


class Learning(Protocol):
    """What the library learns from itself once everything is embedded."""

    def pending(self) -> bool:
        """Whether something is to be learned that answers gain from."""

    def wait(self, timeout_s: float | None = None) -> bool:
        """True once that is learned, or can't be; False where the time ran out first."""


class CacheControl(Protocol):
    """A cache as the status shows it and `clear_cache` empties it."""

    def stats(self) -> tuple[int, int, int]:
        """(entries, hits, misses)."""

    def clear(self) -> int:
        """Forget everything; returns how many entries there were."""


class RegistrySearch(Protocol):
    """Answers questions for servers, agents and tools."""

    def search(
        self, query: str, entity_types: Collection[str], max_results: int, budget: Deadline
    ) -> RegistryResponse: ...


class LanguageModel(Protocol):
    """What rewrites questions."""

    @property
    def connected(self) -> bool | None:
        """Whether it answered when it was last asked anything; None before that."""

    def reset(self) -> None:
        """Forget what it said, and that it failed."""


class SiteDocuments(Protocol):
    """Documents by project, category and slug."""

    def search_doc(self, query: Query, category: str | None, limit: int, budget: Deadline) -> SiteSearchResponse: ...

    def load_doc(
        self, wanted: Sequence[str], include_sections: bool, include_metadata: bool
    ) -> SiteDocumentsResponse: ...

    def list_doc(
        self, project: str | None, category: str | None, content_type: str | None, sort_by: str
    ) -> SiteListResponse: ...


class QuestionLog(Protocol):
    """What was asked and how much it found, where the user wants that kept."""

    @property
    def enabled(self) -> bool: ...

    def note(self, query: str, results: int, answerable: str, product: str | None) -> None: ...

    def gaps(self, limit: int) -> GapsResponse: ...


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
    engine: SearchEngine
    analyst: QueryAnalyst
    analyzer: Analyzer
    context: ContextSource
    sections: Callable[[Query, Deadline], Sequence[Hit]]  #: of the one document that the question's filters let through
    fitted: Callable[[SearchOutcome], SearchOutcome]  #: packed into what its question allows, with its size as text
    indexing: Indexing
    embedder: LazyModel[Embedder] | None
    caches: Mapping[str, CacheControl]
    check: Callable[[bool], CheckResponse]
    evaluate: Evaluate
    registry: RegistrySearch
    sites: SiteDocuments
    questions: QuestionLog
    language_model: LanguageModel | None
    start: Callable[[], None]
    close: Callable[[], None]
    keyword_damage: Callable[[], str] = str  #: why the keyword index can't be read; empty where it can
    notes: Callable[[], Sequence[str]] = tuple  #: sentences for the status that change with the library
    learning: Learning | None = None
    reranker: LazyModel[Reranker] | None = None  #: the cross-encoder, where one is demanded
