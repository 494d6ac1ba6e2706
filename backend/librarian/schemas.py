"""What every verb answers, once: the only serializer, and the source of output schemas and of OpenAPI.

All doors hand out `as_fields` or `as_json`. Fields are in the order in which people read them. A field that a format
lacks is null (or an empty list), never missing; answers to searches leave such fields out.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, get_args

from pydantic import BaseModel, ConfigDict, Field

from .errors import CallerError
from .models import Answerable, Deadline, MatchType, Mode, RetrieverState


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
    model_config = ConfigDict(from_attributes=True)  # made of a `ScorePart`

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
    status: RetrieverState
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


class ExpandedQuery(Wire):
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
    rewritten: ExpandedQuery | None = None
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


SEARCH_TYPES = ("hybrid", "vector", "rerank")


class KnowledgeItem(Wire):
    id: str
    content: str
    metadata: dict[str, Any]
    similarity: float
    text_rank: float
    combined_score: float
    rerank_score: float | None = None
    original_combined_score: float | None = None
    match_type: Literal["vector", "text", "both"]


class KnowledgeAnswer(Wire):
    """`search_mode` is the strategy that ran; where it isn't the one asked for, `degraded` says why."""

    results: list[KnowledgeItem]
    total_found: int
    capped: bool = False
    search_mode: Literal["hybrid", "vector", "rerank", "text"]
    degraded: list[str]


SORTINGS = ("title", "category", "date")


class SectionMatch(Wire):
    section_id: str
    section_title: str
    content_snippet: str
    relevance_score: float


class SiteResult(Wire):
    slug: str
    title: str
    project: str
    category: str
    relevance_score: float
    content_preview: str
    section_matches: list[SectionMatch]


class SiteSearchAnswer(Wire):
    query: str
    mode: str
    results: list[SiteResult]
    suggestions: list[str]
    degraded: list[str]


class SiteSection(Wire):
    section_id: str
    title: str
    level: int
    content: str
    keywords: list[str]


class SiteDocument(Wire):
    slug: str
    title: str
    project: str
    category: str
    file_path: str
    sources: list[str]
    last_updated: str
    keywords: list[str]
    summary: str
    sections: list[SiteSection]


class SiteDocumentsAnswer(Wire):
    documents: list[SiteDocument]
    include_sections: bool
    include_metadata: bool


class SiteListItem(Wire):
    slug: str
    title: str
    project: str
    description: str
    last_updated: str


class SiteCategory(Wire):
    name: str
    document_count: int
    documents: list[SiteListItem]


class SiteListAnswer(Wire):
    total_documents: int
    categories: list[SiteCategory]


class GapItem(Wire):
    query: str
    times: int
    results: int
    last_asked: str


class GapsAnswer(Wire):
    """Questions that found nothing, or nothing that seemed to answer them, the most frequent first."""

    enabled: bool
    questions: int
    gaps: list[GapItem]


ENTITY_TYPES = ("mcp_server", "a2a_agent", "tool")


class MatchingTool(Wire):
    tool_name: str
    description: str = ""


class ServerItem(Wire):
    path: str
    server_name: str
    description: str = ""
    tags: list[str]
    relevance_score: float
    matching_tools: list[MatchingTool]
    file_path: str = ""


class SkillItem(Wire):
    name: str
    description: str = ""


class AgentItem(Wire):
    path: str
    agent_name: str
    description: str = ""
    tags: list[str]
    capabilities: list[str]
    skills: list[SkillItem]
    relevance_score: float
    file_path: str = ""


class ToolItem(Wire):
    server_path: str
    tool_name: str
    description: str = ""
    inputSchema: dict[str, Any]  # noqa: N815 (MCP's own spelling)
    relevance_score: float


class RegistryAnswer(Wire):
    query: str
    search_mode: Literal["hybrid", "lexical-only"]
    servers: list[ServerItem]
    agents: list[AgentItem]
    tools: list[ToolItem]
    total_entities: int = 0


Kind = Literal["text", "whole", "number", "flag", "texts"]

ALIASES: Mapping[str, str] = {"search_mode": "mode", "hybrid_weight": "semantic_weight"}
"""Names from older documents that are still understood, though no schema shows them."""

#: What other systems call it, by the names here: whoever guesses one is told.
_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "query": ("q", "question", "text", "search", "keywords"),
    "max_results": ("limit", "top_k", "topk", "k", "n", "num_results", "page_size"),
    "offset": ("skip", "start", "cursor"),
    "path": ("file_path", "file", "uri", "document", "doc_id", "id"),
}

_WANTED: Mapping[Kind, str] = {
    "text": "a string",
    "whole": "a whole number",
    "number": "a number",
    "flag": "true or false",
    "texts": "a list of strings",
}
_JSON: Mapping[Kind, dict[str, object]] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
}


SHOWN = 8  #: names that an error lists where none resembles what was asked for
USUAL = 10  #: results where neither the caller nor the settings say
USUAL_TOKENS = 1500  #: of an answer as text where the caller doesn't say, a token being four characters
LONGEST_QUERY = 2000  #: characters
LONGEST_TEXT = 20_000  #: characters of any other argument: it is looked for, or embedded
LONGEST_PATH = 4096  #: characters of a document's path: no system takes more
LONG_DOCUMENT = 20_000  #: characters of a part of a document that are given at once where the caller doesn't say
WHOLE_DOCUMENT = 2_000  #: tokens up to which a document comes whole where the caller names no part of it
#: The same of a conversation, headers included: some 250 usual mails, half of what models read at once.
LONG_THREAD = 400_000


@dataclass(frozen=True, slots=True)
class Counts:
    """How many results a caller gets that doesn't say, and at most: what settings allow of a tool's own numbers."""

    usual: int = USUAL
    most: int = 50


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a verb; `limits` are JSON Schema keywords (minimum, enum, default …) shown to callers.

    `results` is set where it says how many are wanted: those that come where it is left out, `USUAL` standing for the
    settings'. `for_models` is off where the argument serves people and programs alone: models' schemas leave it out.
    """

    name: str
    kind: Kind = "text"
    description: str = ""
    required: bool = False
    limits: Mapping[str, object] = field(default_factory=dict)
    results: int = 0
    for_models: bool = True

    def schema(self, counts: Counts = Counts()) -> dict[str, object]:
        """The argument as JSON Schema, without title and without a null-union: what may be null may be left out."""
        described = {"description": self.description} if self.description else {}
        some = {"minLength": 1} if self.required and self.kind == "text" else {}
        limits = dict(self.limits)
        if self.results:
            default = counts.usual if self.results == USUAL else self.results
            limits = {"minimum": 1, "maximum": counts.most, "default": min(default, counts.most)}
        return {**_JSON[self.kind], **some, **limits, **described}


def schema_of(arguments: Sequence[Argument], counts: Counts = Counts()) -> dict[str, object]:
    """All arguments of a verb as one JSON Schema object that allows no others."""
    properties = {item.name: item.schema(counts) for item in arguments}
    schema: dict[str, object] = {"type": "object", "properties": properties}
    if required := [item.name for item in arguments if item.required]:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def checked(verb: str, arguments: Sequence[Argument], given: Mapping[str, object]) -> dict[str, object]:
    """`given` under real names with usable types; null is left out, and what is blank and not required.

    Raises `CallerError` for an argument that doesn't exist (with the nearest name), is missing, is given under two
    names or can't be of its kind.

    >>> takes = [Argument("query", required=True), Argument("mode")]
    >>> checked("search", takes, {"query": "a", "search_mode": "keyword"})
    {'query': 'a', 'mode': 'keyword'}
    """
    known = {item.name: item for item in arguments}
    taken = {
        name: _converted(known[name], value)
        for name, value in named(verb, arguments, given).items()
        if value is not None and (known[name].required or not _blank(value))
    }
    for item in arguments:
        if item.required and item.name not in taken:
            raise CallerError(
                f"{verb} needs the argument {item.name} ({_WANTED[item.kind]}).",
                hint=item.description.rstrip(".") + ".",
            )
    return taken


def named(verb: str, arguments: Sequence[Argument], given: Mapping[str, object]) -> dict[str, object]:
    """`given` under real names, values untouched: what Python callers need, whose values have types already.

    Raises `CallerError` for an argument that doesn't exist (with the nearest name) or is given under two names.

    >>> named("search", [Argument("query"), Argument("mode")], {"query": "a", "search_mode": "keyword"})
    {'query': 'a', 'mode': 'keyword'}
    """
    known = [item.name for item in arguments]
    taken: dict[str, object] = {}
    names: dict[str, str] = {}
    for name, value in given.items():
        real = name if name in known else ALIASES.get(name, name)
        if real not in known:
            raise _unknown(verb, name, value, known)
        if real in taken:
            raise CallerError(f"{verb} was given {real} twice: {names[real]} and {name}.", hint=f"Pass {real} only.")
        taken[real] = value
        names[real] = name
    return taken


_REPR = reprlib.Repr()
_REPR.fillvalue = "…"
_REPR.maxlevel = 4
_REPR.maxlist = _REPR.maxtuple = _REPR.maxset = _REPR.maxdict = 40
_REPR.maxlong = _REPR.maxother = 78


def shortened(value: object) -> str:
    """A value as it may stand in an error message: at most 80 characters, however large or deep it is."""
    text = repr(value[:100]) if isinstance(value, str) else _REPR.repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def nearest(word: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The names most like `word`, best first (difflib ratio ≥ 0.5, any case)."""
    by_lower = {name.lower(): name for name in names}
    return [by_lower[found] for found in difflib.get_close_matches(word.lower(), list(by_lower), count, 0.5)]


def some_of(names: Sequence[str], wanted: str, what: str) -> str:
    """A sentence with the names that `wanted` may have meant, else the first; few are never told as if they were all.

    >>> some_of(["Install", "Use"], "Instal", "headings"), some_of(["a", "b"], "zzz", "categories")
    ("Nearest of 2 headings: 'Install'.", "All categories: 'a', 'b'.")
    """
    near = nearest(wanted, names)
    shown = ", ".join(map(repr, near or names[:SHOWN]))
    if near:
        return f"Nearest of {len(names)} {what}: {shown}."
    return f"All {what}: {shown}." if len(names) <= SHOWN else f"The first of {len(names)} {what}: {shown}."


def _unknown(verb: str, name: str, value: object, names: list[str]) -> CallerError:
    message = f"{verb} has no argument {shortened(name)} (given: {shortened(value)})."
    near = [own for own, others in _ELSEWHERE.items() if own in names and name.lower() in others]
    near = near or nearest(name, [*names, *(alias for alias, real in ALIASES.items() if real in names)], 1)
    hint = f"Did you mean {ALIASES.get(near[0], near[0])!r}?" if near else ""
    takes = f"It takes {', '.join(names)}." if names else "It takes no arguments."
    return CallerError(message, hint=f"{hint} {takes}".strip())


def _blank(value: object) -> bool:
    """Whether a form's or a model's empty field: it asks for nothing."""
    return isinstance(value, str) and not value.strip()


def _converted(argument: Argument, value: object) -> object:
    if argument.kind != "texts" and isinstance(value, list) and len(value) == 1:
        value = value[0]
    match argument.kind:
        case "text":
            if isinstance(value, str):
                return _of_enumeration(argument.limits, _encodable(value))
            if isinstance(value, int | float) and not isinstance(value, bool):
                return str(value)
        case "whole":
            if (whole := _whole(value)) is not None:
                return whole
        case "number":
            if (number := _number(value)) is not None:
                return number
        case "flag":
            if isinstance(value, int | float) and value in (0, 1):
                return bool(value)
            if isinstance(value, str) and value.strip().lower() in FLAGS:
                return FLAGS[value.strip().lower()]
        case "texts":
            if (texts := _texts(value)) is not None:
                items = argument.limits.get("items")
                return [_of_enumeration(items, text) for text in texts] if isinstance(items, Mapping) else texts
    raise CallerError(
        f"{argument.name} must be {_WANTED[argument.kind]}, not {shortened(value)}.",
        hint=argument.description.rstrip(".") + "." if argument.description else "",
    )


def _of_enumeration(limits: Mapping[str, object], text: str) -> str:
    """The word of `enum` that `text` is in another case; `text` itself where there is none."""
    words = limits.get("enum")
    if not isinstance(words, Sequence) or text in words:
        return text
    return next((str(word) for word in words if str(word).lower() == text.strip().lower()), text)


def _encodable(text: str) -> str:
    """Half characters, as scripts send them that cut an emoji in two, can't be written anywhere: they are replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


#: Words that callers write for yes and no.
FLAGS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def _whole(value: object) -> int | None:
    """A whole number of any size, exactly: whether it is too large is the desk's to say."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _number(value: object) -> float | None:
    """A number that is neither infinite nor NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _texts(value: object) -> list[str] | None:
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                return None
        else:
            return [part.strip() for part in _encodable(text).split(",") if part.strip()]
    if isinstance(value, Sequence) and all(isinstance(item, str) for item in value):
        return [_encodable(item) for item in value]
    return None


LONGEST_INSTRUCTIONS = 2047  #: characters; hosts cut behind them
ResourceRow = tuple[str, str, str, str]  #: uri, title, file type with its dot, last modified (ISO 8601)


class Desk(Protocol):
    """What `librarian.LibraryFacade` does for the doors. Safe to call from several threads at once."""

    def search(
        self,
        query: str,
        *,
        product: str | None = None,
        component: str | None = None,
        file_types: Sequence[str] | None = None,
        max_results: int | None = None,
        offset: int = 0,
        mode: str | None = None,
        semantic_weight: float | None = None,
        include_parent_context: bool = False,
        doc_type: str | None = None,
        tags: Sequence[str] | None = None,
        language: str | None = None,
        modified_after: str | None = None,
        modified_before: str | None = None,
        max_per_document: int | None = None,
        max_tokens: int | None = None,
        hypothetical_answer: str | None = None,
        include_weak: bool = False,
        explain: bool = False,
        brief: bool = False,
        budget: Deadline | None = None,
    ) -> SearchAnswer:
        """Documents that answer `query`, best first, or passages where it is to be `brief`."""

    def search_emails(
        self,
        query: str = "",
        *,
        sender: str | None = None,
        thread_id: str | None = None,
        subject_contains: str | None = None,
        has_attachments: bool | None = None,
        date_after: str | None = None,
        date_before: str | None = None,
        product: str | None = None,
        component: str | None = None,
        max_results: int | None = None,
        offset: int = 0,
        mode: str | None = None,
        semantic_weight: float | None = None,
        max_per_thread: int = 1,
        max_tokens: int | None = None,
        explain: bool = False,
        brief: bool = False,
        budget: Deadline | None = None,
    ) -> EmailSearchAnswer:
        """Mails that answer `query`, or, where it is empty, the newest that pass the filters."""

    def get_thread(
        self, thread_id: str, *, offset: int = 0, max_chars: int = LONG_THREAD, budget: Deadline | None = None
    ) -> ThreadAnswer:
        """A conversation, oldest mail first, or as many of its mails as `max_chars` has room for."""

    def get_document(
        self,
        path: str,
        *,
        section: str | None = None,
        line_start: int | None = None,
        line_end: int | None = None,
        max_chars: int | None = None,
        column_start: int | None = None,
        query: str | None = None,
        max_tokens: int | None = None,
        budget: Deadline | None = None,
    ) -> DocumentAnswer:
        """A document or a part of it. `path` is a file path, a result's id or its uri, or a citation."""

    def list_products(self, *, budget: Deadline | None = None) -> ProductsAnswer: ...

    def list_components(self, product: str, *, budget: Deadline | None = None) -> ComponentsAnswer: ...

    def list_facets(self, type: str = "documents", *, budget: Deadline | None = None) -> FacetsAnswer:
        """What the filters of a search may choose from."""

    def status(self, *, budget: Deadline | None = None) -> StatusAnswer: ...

    def health(self, *, budget: Deadline | None = None) -> HealthAnswer:
        """Quick at any time; never waits for the index."""

    def analyze(self, query: str, *, path: str | None = None, budget: Deadline | None = None) -> AnalyzeAnswer: ...

    def search_knowledge_base(
        self,
        query: str,
        *,
        source_id: str | None = None,
        document_id: str | None = None,
        document_type: str | None = None,
        match_count: int | None = None,
        search_type: str | None = None,
        budget: Deadline | None = None,
    ) -> KnowledgeAnswer:
        """Passages as a RAG service gives them; `search_type`: hybrid | vector | rerank."""

    def search_registry(
        self,
        query: str,
        *,
        entity_types: Sequence[str] | None = None,
        max_results: int = 3,
        budget: Deadline | None = None,
    ) -> RegistryAnswer:
        """Servers, agents and tools of the library's registry files, the best `max_results` of each."""

    def clear_cache(self, *, budget: Deadline | None = None) -> ClearedAnswer: ...

    def resources(
        self, cursor: str | None = None, *, budget: Deadline | None = None
    ) -> tuple[list[ResourceRow], str | None]:
        """One page of documents by path, and the cursor of the next; None after the last."""

    def complete(
        self, kind: str, value: str, context: Mapping[str, str] | None = None, *, budget: Deadline | None = None
    ) -> list[str]:
        """Values that go on from `value`, nearest first.

        `kind`: product | component | path | heading | thread. `context`: arguments already filled in.
        """

    def instructions(self) -> str:
        """When to use this library and what it holds, for a model: at most `LONGEST_INSTRUCTIONS` characters."""

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None] | None:
        """Call `callback` with the new generation after each refresh, from whatever thread; returns what ends it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A verb of the desk: `method` is its name there, `name` what outsiders call it."""

    name: str
    method: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    answer: type[Wire]


QUERY_LIMITS = {"minLength": 1, "maxLength": LONGEST_QUERY}
QUESTION = Argument("query", description="The question", required=True, limits=QUERY_LIMITS)
_PRODUCT = Argument("product", description="Only this product (list_products)")
_COMPONENT = Argument("component", description="Only this component (list_components)")
_MAX_RESULTS = Argument("max_results", "whole", results=USUAL)
_OFFSET = Argument("offset", "whole", "next_offset of the page before", limits={"minimum": 0, "default": 0})
_MODE = Argument("mode", limits={"enum": list(get_args(Mode))}, description="Leave out for the library's default")
_WEIGHT = Argument("semantic_weight", "number", "0 = words only, 1 = meaning only", limits={"minimum": 0, "maximum": 1})
_MAX_TOKENS = Argument(
    "max_tokens", "whole", "Size of the answer at most", limits={"minimum": 1, "default": USUAL_TOKENS}
)
_EXPLAIN = Argument("explain", "flag", "Add why, highlights and scores of each source", limits={"default": False})
_WEAK = Argument("include_weak", "flag", "Show hits of hardly any relevance too", limits={"default": False})
_BRIEF = Argument(
    "brief",
    "flag",
    "A short snippet for each passage in place of documents",
    limits={"default": False},
    for_models=False,
)

SEARCH = Operation(
    "search_documentation",
    "search",
    "Search the documentation",
    "Find the pages of the indexed documentation that answer a question, best first, with the sections that answer, "
    "lines to cite, and further passages. Ask in plain words or with exact identifiers; read on with get_document and "
    "the same query.",
    (
        Argument(
            "query",
            description='The question. "quoted words" must occur, -word excludes',
            required=True,
            limits=QUERY_LIMITS,
        ),
        _PRODUCT,
        _COMPONENT,
        Argument("file_types", "texts", 'Such as [".md", ".pdf"]'),
        _MAX_RESULTS,
        _OFFSET,
        _MODE,
        _WEIGHT,
        Argument("include_parent_context", "flag", "Add summary, headings and neighbours", limits={"default": False}),
        Argument("doc_type", description="api, guide, architecture, reference, readme or documentation"),
        Argument("tags", "texts", "Any of these"),
        Argument("language", description="ISO 639-1, such as en"),
        Argument("modified_after", description="ISO 8601, inclusive"),
        Argument("modified_before", description="ISO 8601, inclusive"),
        Argument("max_per_document", "whole", "Passages of each, 0 = no limit", limits={"minimum": 0}),
        _MAX_TOKENS,
        Argument("hypothetical_answer", description="A passage as the answer might read, for mode hyde"),
        _WEAK,
        _EXPLAIN,
        _BRIEF,
    ),
    SearchAnswer,
)
SEARCH_EMAILS = Operation(
    "search_emails",
    "search_emails",
    "Search the emails",
    "Find indexed emails by question, sender, subject, date or thread. Without a query: the newest that pass the "
    "filters.",
    (
        Argument("query", description="The question; may be empty with a filter", limits={"maxLength": LONGEST_QUERY}),
        Argument("sender", description="Part of name or address"),
        Argument("thread_id"),
        Argument("subject_contains"),
        Argument("has_attachments", "flag"),
        Argument("date_after", description="ISO 8601, inclusive"),
        Argument("date_before", description="ISO 8601, inclusive"),
        _PRODUCT,
        _COMPONENT,
        _MAX_RESULTS,
        _OFFSET,
        _MODE,
        _WEIGHT,
        Argument("max_per_thread", "whole", "0 = no limit", limits={"minimum": 0, "default": 1}),
        _MAX_TOKENS,
        replace(_EXPLAIN, for_models=False),
        _BRIEF,
    ),
    EmailSearchAnswer,
)
THREAD = Operation(
    "get_email_thread",
    "get_thread",
    "Read an email thread",
    "A conversation, oldest mail first, quotes folded. Goes on at next_offset.",
    (
        Argument("thread_id", description="thread_id of a result of search_emails", required=True),
        Argument("offset", "whole", limits={"minimum": 0, "default": 0}),
        Argument("max_chars", "whole", "0 = all", limits={"minimum": 0, "default": LONG_THREAD}),
    ),
    ThreadAnswer,
)
DOCUMENT = Operation(
    "get_document",
    "get_document",
    "Read a document",
    "The text of an indexed document: with query the sections that answer it, else by section or by lines. A long one "
    "comes as outline with its beginning. Goes on at next_line if truncated.",
    (
        Argument("path", description="file_path, id or uri of a result, or path:10-20", required=True),
        Argument("query", description="The question: its answer in this document", limits={"maxLength": LONGEST_QUERY}),
        Argument("section", description="A heading or its anchor, with its sub-sections"),
        Argument("line_start", "whole", limits={"minimum": 1}),
        Argument("line_end", "whole", limits={"minimum": 1}),
        Argument("column_start", "whole", "next_column of a cut line, its line as line_start", limits={"minimum": 1}),
        Argument("max_chars", "whole", "0 = the whole document", limits={"minimum": 0}),
        Argument("max_tokens", "whole", "With query: size at most", limits={"minimum": 1, "default": USUAL_TOKENS}),
    ),
    DocumentAnswer,
)
PRODUCTS = Operation(
    "list_products",
    "list_products",
    "List products",
    "The products that the library holds; mails count as documents.",
    (),
    ProductsAnswer,
)
COMPONENTS = Operation(
    "list_components",
    "list_components",
    "List components",
    "The components of a product, with their number of documents.",
    (Argument("product", description="A name from list_products", required=True),),
    ComponentsAnswer,
)
STATUS = Operation(
    "get_index_status",
    "status",
    "Index status",
    "What is indexed, how far indexing is, what failed or was skipped and why, which models answer.",
    (),
    StatusAnswer,
)
ANALYZE = Operation(
    "analyze_query",
    "analyze",
    "Analyze a query",
    "How a question is understood and which mode suits it; with path, why that document is not found for it.",
    (
        QUESTION,
        Argument("path", description="A document that ought to be found"),
    ),
    AnalyzeAnswer,
)
CLEAR_CACHE = Operation(
    "clear_search_cache",
    "clear_cache",
    "Clear the search cache",
    "Forget cached answers; the index is untouched.",
    (),
    ClearedAnswer,
)

FACETS = Operation(
    "list_facets",
    "list_facets",
    "List filter values",
    "What a search may be filtered by: products with components, file types, kinds, languages, tags and dates.",
    (Argument("type", description="Of what", limits={"enum": ["documents", "emails"], "default": "documents"}),),
    FacetsAnswer,
)
"""For people who choose from lists; models ask list_products."""

VERBS: tuple[Operation, ...] = (
    SEARCH,
    SEARCH_EMAILS,
    THREAD,
    DOCUMENT,
    PRODUCTS,
    COMPONENTS,
    STATUS,
    ANALYZE,
    CLEAR_CACHE,
)

#: Methods of the desk that commands alone ask, by their Python arguments.
OF_COMMANDS = frozenset(("bench", "check", "evaluate", "gaps", "health", "refresh"))


def ask(desk: Desk, verb: Operation, given: Mapping[str, object], budget: Deadline) -> Wire:
    """Do `verb` at `desk` with arguments as a caller gave them.

    Raises `CallerError` for unknown or unusable arguments, and whatever the desk raises.
    """
    answer: Wire = getattr(desk, verb.method)(**checked(verb.name, verb.arguments, given), budget=budget)
    return answer


SEARCH_REGISTRY = Operation(
    "search_registry",
    "search_registry",
    "Search the registry",
    "Find MCP servers, their tools and A2A agents by what they do or by name, among the registry files of the library.",
    (
        Argument("query", description="What is wanted, or a name", required=True, limits=QUERY_LIMITS),
        Argument(
            "entity_types",
            "texts",
            "Leave out for all",
            limits={"items": {"type": "string", "enum": list(ENTITY_TYPES)}},
        ),
        Argument("max_results", "whole", "Of each type", results=3),
    ),
    RegistryAnswer,
)

SEARCH_KNOWLEDGE_BASE = Operation(
    "search_knowledge_base",
    "search_knowledge_base",
    "Search the knowledge base",
    "Find passages by meaning (vector), by meaning and words (hybrid), or read again by a cross-encoder (rerank).",
    (
        Argument("query", description="A question in plain words", required=True, limits=QUERY_LIMITS),
        Argument("source_id", description="Only this product or crawled project"),
        Argument("document_id", description="Only this document: a result's document_id"),
        Argument("document_type", description="pdf, html, markdown, … or a doc_type"),
        Argument("match_count", "whole", results=USUAL),
        Argument("search_type", limits={"enum": list(SEARCH_TYPES), "default": "hybrid"}),
    ),
    KnowledgeAnswer,
)

RAG: tuple[Operation, ...] = (SEARCH_KNOWLEDGE_BASE,)
REGISTRY: tuple[Operation, ...] = (SEARCH_REGISTRY,)

_PROJECT = Argument("project", description="Only this crawled site or product")
_CATEGORY = Argument("category", description="Only this category and those below it; a/b where nested (listDoc)")

SEARCH_DOC = Operation(
    "searchDoc",
    "search_doc",
    "Search documents",
    "Find documents that answer a question, with the sections that match. Read one with loadDoc(slug).",
    (
        QUESTION,
        _PROJECT,
        _CATEGORY,
        Argument("limit", "whole", "Documents", results=5),
    ),
    SiteSearchAnswer,
)
LOAD_DOC = Operation(
    "loadDoc",
    "load_doc",
    "Load documents",
    "Read whole documents by slug: summary, sections, keywords and sources.",
    (
        Argument("slug", "texts", "One or several, from searchDoc or listDoc", required=True),
        Argument("include_sections", "flag", limits={"default": True}),
        Argument("include_metadata", "flag", limits={"default": True}),
    ),
    SiteDocumentsAnswer,
)
LIST_DOC = Operation(
    "listDoc",
    "list_doc",
    "List documents",
    "All documents by category, with what each is about.",
    (
        _PROJECT,
        _CATEGORY,
        Argument("content_type", description="guide, api, reference … or .md"),
        Argument("sort_by", limits={"enum": list(SORTINGS), "default": "title"}),
    ),
    SiteListAnswer,
)

SITES: tuple[Operation, ...] = (SEARCH_DOC, LOAD_DOC, LIST_DOC)
