"""One question on its way: what its stages may read of it, and what they have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..embeddings.base import Rewrite
from ..models import AnalyzedQuery, Candidate, Deadline, Mode, Query, Ranking, RetrieverStatus, Selection
from ..storage.base import CatalogReader, Columns
from .candidates import Candidates, KeywordFeatures
from .query_expansion import QueryVariant
from .retrievers import VectorQuery

OFF = Ranking("", (), (), (), "off", "not part of this mode")

#: Modes that read each leg. `auto` has become another mode before this is asked.
BY_WORDS = frozenset({"keyword", "hybrid", "rerank", "hyde"})
BY_MEANING = frozenset({"semantic", "hybrid", "rerank", "hyde"})


@dataclass(slots=True)
class SearchContext:
    """One question on its way: what every stage may read, and what it adds to the answer's account of itself."""

    query: Query
    budget: Deadline
    analyzed: AnalyzedQuery
    reader: CatalogReader
    columns: Columns
    selection: Selection
    mode: Mode
    routing: dict[str, object] | None = None
    variants: list[QueryVariant] = field(default_factory=list)  #: of the question
    corrected: tuple[tuple[str, str], ...] = ()  #: misspelt words, as typed and as they were taken
    rewrite: Rewrite | None = None
    meaning: VectorQuery | None = None
    names: tuple[str, ...] = ()  #: identifiers that decide the order
    told: KeywordFeatures | None = None  #: of the keyword leg's passages
    retrievers: dict[str, RetrieverStatus] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)

    def report(self, retriever: str, ranking: Ranking) -> None:
        self.retrievers[retriever] = RetrieverStatus(ranking.status, ranking.reason, round(ranking.ms, 3))


@dataclass(frozen=True, slots=True)
class VectorResult:
    """What the meaning led to. Made by a thread of its own, which changes nothing of its run."""

    semantic: Ranking
    hyde: Ranking = OFF
    meaning: VectorQuery | None = None
    hypothesis: QueryVariant | None = None


@dataclass(frozen=True, slots=True)
class RankedCandidates:
    """All candidates of a question in order, before they are cut to a page."""

    pool: Candidates
    candidates: Sequence[Candidate]
    scale: str  #: the calibration curve of these sums; empty where relevance is the plain sum
