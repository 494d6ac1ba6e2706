"""What every verb answers, once: the only serializer, and the source of output schemas and of OpenAPI.

All doors hand out `as_fields` or `as_json`. Fields are in the order in which people read them. A field that a format
lacks is null (or an empty list), never missing; answers to searches leave such fields out.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from .types import Answerable, LegStatus, MatchType, Mode


class Wire(BaseModel):
    """Base of all answers: immutable, and strict about unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    sparse: ClassVar[bool] = False  #: whether fields that are null, empty or false are left out

    def as_fields(self, include: set[str] | None = None, exclude: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer as JSON values; of `include` those fields alone, without those of `exclude`."""
        return self.model_dump(mode="json", exclude_defaults=self.sparse, include=include, exclude=exclude)

    def as_json(self) -> str:
        """The same as JSON."""
        return self.model_dump_json(exclude_defaults=self.sparse)


class WhyItem(Wire):
    model_config = ConfigDict(from_attributes=True)  # made of a `Contribution`

    source: str
    rank: int | None = None
    raw: float | None = None
    points: float


class ContextNeighbour(Wire):
    id: str
    heading_path: list[str] = []
    text: str


class ParentContext(Wire):
    title: str
    summary: str
    headings: list[str] = []
    breadcrumb: str
    previous: ContextNeighbour | None = None
    next: ContextNeighbour | None = None


class AttachmentItem(Wire):
    filename: str
    content_type: str
    size: int


class MoreItem(Wire):
    """A passage of a document that isn't shown, or a section that is: where it stands, and what it takes to read."""

    model_config = ConfigDict(from_attributes=True)  # made of a `Further`

    line_start: int
    line_end: int
    tokens: int
    heading: str = ""


class Result(Wire):
    """A document with the part of it that answers, or one passage. Scores are in 0–1, or null where that source didn't
    speak."""

    rank: int
    id: str
    file_path: str
    file_name: str = ""
    file_type: str
    product: str
    component: str
    title: str
    heading_path: list[str] = []
    headings: list[str] = []
    summary: str = ""
    page: int | None = None
    line_start: int
    line_end: int
    snippet: str
    tokens: int = 0
    section_lines: tuple[int, int] | None = None
    more: list[MoreItem] = []
    uri: str
    relevance_score: float | None = None
    keyword_score: float | None = None
    semantic_score: float | None = None
    rerank_score: float | None = None
    match_type: MatchType | None = None
    doc_type: str
    tags: list[str] = []
    language: str = ""
    last_modified: str
    stale: bool = False
    highlights: list[tuple[int, int]] = []
    also_in: list[str] = []
    why: list[WhyItem] = []
    parent_context: ParentContext | None = None


class EmailResult(Result):
    parent_context: None = Field(default=None, exclude=True)  # of documents alone
    subject: str
    sender: str
    to: list[str] = []
    cc: list[str] = []
    date: str | None = None
    attachments: list[AttachmentItem] = []
    thread_id: str
    message_id: str


class Leg(Wire):
    status: LegStatus
    reason: str = ""
    ms: float = 0.0


class Legs(Wire):
    keyword: Leg
    semantic: Leg
    rerank: Leg
    hyde: Leg


class Coverage(Wire):
    documents: int
    chunks: int
    embedded_chunks: int


class Routing(Wire):
    """Why `auto` chose the mode that ran."""

    query_type: str
    recommended_mode: Mode
    confidence: float
    reasons: list[str] = []


class Rewritten(Wire):
    search_terms: str = ""
    hypothetical_answer: str = ""
    source: str = ""


class Suggestion(Wire):
    """What to try when little was found: a term, a mode, a filter to drop, a near document."""

    kind: Literal["term", "mode", "filter", "document", "index"]
    value: str
    text: str


class SearchAnswerBase(Wire):
    sparse = True

    query: str
    mode: Mode
    requested_mode: Mode
    semantic_weight: float | None = None
    total: int
    capped: bool = False
    next_offset: int | None = None


class SearchAnswerTail(Wire):
    answerable: Answerable
    calibrated: bool = True
    not_mentioned: list[str] = []
    not_mentioned_in: str = ""
    legs: Legs
    coverage: Coverage
    cache: Literal["exact", "semantic"] | None = None
    rewritten: Rewritten | None = None
    took_ms: float
    tokens_used: int
    generation: int
    degraded: list[str] = []
    routing: Routing | None = None
    suggestions: list[Suggestion] = []
    weak_hidden: int = 0
    notes: list[str] = []


class SearchAnswer(SearchAnswerTail, SearchAnswerBase):
    results: list[Result]


class EmailSearchAnswer(SearchAnswerTail, SearchAnswerBase):
    results: list[EmailResult]


class ThreadEmail(Wire):
    subject: str
    sender: str
    to: list[str] = []
    cc: list[str] = []
    date: str | None = None
    message_id: str
    body: str
    quoted: list[str] = []
    attachments: list[AttachmentItem] = []
    file_path: str


class ThreadAnswer(Wire):
    thread_id: str
    subject: str
    participants: list[str]
    emails: list[ThreadEmail]
    total: int
    next_offset: int | None = None


class HeadingItem(Wire):
    level: int
    text: str
    line: int
    page: int | None = None


class MailHeaders(Wire):
    """Of a mail that is read as a document, what a result of `search_emails` says of it; its subject is the title."""

    sender: str
    to: list[str] = []
    cc: list[str] = []
    date: str | None = None
    thread_id: str
    message_id: str


class OutlineItem(Wire):
    """A section of a document up to the next heading, and what it takes to read."""

    level: int
    text: str
    line_start: int
    line_end: int
    tokens: int


class DocumentAnswer(Wire):
    file_path: str
    title: str
    product: str
    component: str
    doc_type: str
    tags: list[str] = []
    language: str = ""
    encoding: str
    headings: list[HeadingItem] = []
    heading_count: int = 0
    section: str | None = None
    missing_section: str | None = None
    notes: list[str] = []
    outline: list[OutlineItem] = []
    sections: list[MoreItem] = []
    tokens: int = 0
    content: str
    line_start: int
    line_end: int
    truncated: bool
    next_line: int | None = None
    next_column: int | None = None
    last_modified: str
    indexed_at: str
    stale: bool = False
    email: MailHeaders | None = None


class ProductItem(Wire):
    name: str
    component_count: int
    document_count: int


class ProductsAnswer(Wire):
    products: list[ProductItem]
    total: int


class ComponentItem(Wire):
    name: str
    document_count: int


class ComponentsAnswer(Wire):
    product: str
    components: list[ComponentItem]
    total: int


class FacetItem(Wire):
    name: str
    count: int


class ProductFacet(FacetItem):
    components: list[FacetItem] = []


class FacetsAnswer(Wire):
    """What the filters of a search may choose from, with numbers of documents; most frequent first."""

    type: Literal["documents", "emails"]
    total: int
    products: list[ProductFacet] = []
    file_types: list[FacetItem] = []
    doc_types: list[FacetItem] = []
    languages: list[FacetItem] = []
    tags: list[FacetItem] = []
    oldest: str | None = None
    newest: str | None = None
    generation: int = 0


class EmbeddingsStatus(Wire):
    enabled: bool
    model: str = ""
    dimension: int = 0
    backend: str = ""
    device: str = ""
    models: list[str] = []


class CacheStatus(Wire):
    entries: int = 0
    hits: int = 0
    misses: int = 0


class CachesStatus(Wire):
    query_embedding: CacheStatus = CacheStatus()
    exact: CacheStatus = CacheStatus()
    semantic: CacheStatus = CacheStatus()


class FailureItem(Wire):
    path: str
    reason: str


class FailuresStatus(Wire):
    total: int = 0
    items: list[FailureItem] = []


class SkippedStatus(Wire):
    total: int = 0
    by_reason: dict[str, int] = {}
    examples: list[FailureItem] = []


class ProgressStatus(Wire):
    phase: Literal["idle", "scanning", "reading", "embedding", "learning"] = "idle"
    files_done: int = 0
    files_total: int = 0
    chunks_embedded: int = 0
    chunks_total: int = 0
    files_per_s: float = 0.0
    chunks_per_s: float = 0.0
    eta_s: float | None = None


class StorageStatus(Wire):
    catalog: str
    keyword: str
    vectors: str
    disk_bytes: int = 0


class LlmStatus(Wire):
    enabled: bool = False
    provider: str = ""
    model: str = ""
    connected: bool | None = None


class StatusAnswer(Wire):
    status: Literal["ready", "indexing", "degraded"]
    reasons: list[str] = []
    documents: int
    chunks: int
    embedded_chunks: int
    emails: int
    products: int
    generation: int
    embeddings: EmbeddingsStatus
    reranker: str = ""
    llm: LlmStatus = LlmStatus()
    sent_to: list[str] = []
    caches: CachesStatus = CachesStatus()
    features: dict[str, bool] = {}
    watching: bool = False
    progress: ProgressStatus = ProgressStatus()
    failures: FailuresStatus = FailuresStatus()
    skipped: SkippedStatus = SkippedStatus()
    last_indexed_at: str | None = None
    index_path: str
    root_path: str = ""
    storage: StorageStatus
    version: str = ""
    notes: list[str] = []


class HealthAnswer(Wire):
    status: Literal["ok", "indexing", "degraded"]
    ready: bool = True
    reasons: list[str] = []
    version: str
    documents: int
    chunks: int
    embedded_chunks: int
    uptime_s: float


class LegPlace(Wire):
    leg: str
    rank: int | None = None
    score: float | None = None
    reason: str = ""


class WhyNot(Wire):
    """Where a document falls out of an answer."""

    file_path: str
    stage: Literal["not_indexed", "filtered", "not_found", "below_cut", "found"]
    explanation: str
    legs: list[LegPlace] = []
    rank: int | None = None


class AnalyzeAnswer(Wire):
    query: str
    query_type: Literal["factual", "conceptual", "troubleshooting", "navigational"]
    complexity: float
    word_count: int
    technical_terms: list[str] = []
    recommended_mode: Mode
    confidence: float
    reasons: list[str] = []
    why_not: WhyNot | None = None


class ClearedAnswer(Wire):
    cleared: int


class RefreshAnswer(Wire):
    """What an index run did."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    moved: int = 0
    unchanged: int = 0
    failed: list[FailureItem] = []
    skipped: SkippedStatus = SkippedStatus()
    documents: int = 0
    emails: int = 0
    chunks: int = 0
    embedded: int = 0
    generation: int = 0
    took_ms: float = 0.0
    notes: list[str] = []
    reasons: list[str] = []  #: what kept it from being whole, as in the status


class CheckAnswer(Wire):
    """Catalog, keyword index, vectors and folder held against each other."""

    ok: bool
    problems: list[str] = []
    repaired: list[str] = []
    documents: int = 0
    chunks: int = 0
    vectors: int = 0


class ErrorBody(Wire):
    code: str
    message: str
    hint: str = ""


class ErrorAnswer(Wire):
    error: ErrorBody
