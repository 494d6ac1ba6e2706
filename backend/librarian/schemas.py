"""Every operation once: its name, what it takes and what it returns. All interfaces are made from `OPERATIONS`.

Request models are lenient about form: `"7"` is 7, `'["md"]'` and `"md,txt"` are lists, null or blank is "not given".
"""

from __future__ import annotations

import calendar
import datetime as dt
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from .errors import CallerError, NotFound, did_you_mean, nearest, one_of, shortened
from .files.paths import name_of
from .models import Answerable, Attachment, Further, MatchType, Mode, Progress, RetrieverStatus
from .text.sanitizing import visible

DEFAULT_RESULTS: Final = 10  #: where neither the caller nor the settings say
DEFAULT_TOKENS: Final = 1500  #: size of a response as text; a token is four characters
MAX_QUERY_LENGTH: Final = 2000  #: characters
MAX_TEXT_LENGTH: Final = 20_000  #: characters of any other argument
MAX_PATH_LENGTH: Final = 4096  #: characters; no file system takes more
MAX_NUMBER: Final = 10**15 - 1  #: every program holds integers up to here exactly, and so does a database
DEFAULT_DOCUMENT_CHARS: Final = 20_000  #: of a part of a document
WHOLE_DOCUMENT_TOKENS: Final = 2_000  #: up to which a document comes whole where no part of it is named
DEFAULT_THREAD_CHARS: Final = 400_000  #: some 250 usual mails, headers included

ALIASES: Final[Mapping[str, str]] = {"search_mode": "mode", "hybrid_weight": "semantic_weight"}
"""Older names of arguments, still accepted but in no schema."""

#: What other systems call an argument; only used for "Did you mean …?".
_ELSEWHERE: Final[Mapping[str, tuple[str, ...]]] = {
    "query": ("q", "question", "text", "search", "keywords"),
    "max_results": ("limit", "top_k", "topk", "k", "n", "num_results", "page_size"),
    "offset": ("skip", "start", "cursor"),
    "path": ("file_path", "file", "uri", "document", "doc_id", "id"),
}
_WANTED: Final[Mapping[str, str]] = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list of strings",
}

DocType = Literal["api", "guide", "architecture", "reference", "readme", "documentation"]
EntityType = Literal["mcp_server", "a2a_agent", "tool"]
SearchType = Literal["hybrid", "vector", "rerank"]
SortBy = Literal["title", "category", "date"]
ContentType = Literal["documents", "emails"]

# -- leniency of single arguments


def _single(value: object) -> object:
    """The one element of a list, where one value is wanted."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced: they can't be encoded."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _text(value: object) -> object:
    value = _single(value)
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _line(value: object) -> object:
    """Text with single spaces, as mail headers are stored."""
    value = _text(value)
    return " ".join(value.split()) if isinstance(value, str) else value


def _word(value: object) -> object:
    value = _text(value)
    return value.strip().lower() if isinstance(value, str) else value


def _number(value: object) -> object:
    value = _single(value)
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "a boolean is no number")
    return value


def _flag(value: object) -> object:
    value = _single(value)
    return value.strip() if isinstance(value, str) else value


def _strings(value: object) -> object:
    """A list from a list, from JSON as text, or from a comma-separated string; without blank items."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    elif isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple | set | frozenset):
        return value
    items = [_encodable(item).strip() if isinstance(item, str) else item for item in value]
    return tuple(item for item in items if item != "")


def _words(value: object) -> object:
    found = _strings(value)
    return tuple(_word(item) for item in found) if isinstance(found, tuple) else found


def _file_types(value: object) -> object:
    """File types as `.md`, from `md`, `.MD` or `*.md`."""
    found = _strings(value)
    if not isinstance(found, tuple) or not all(isinstance(item, str) for item in found):
        return found
    return tuple(dict.fromkeys("." + item.lower().lstrip("*.") for item in found))


def _language(value: object, info: ValidationInfo) -> object:
    """An ISO 639-1 code without its region."""
    if not isinstance(value := _word(value), str):
        return value
    code = re.split(r"[-_]", value)[0]
    if not re.fullmatch("[a-z]{2,3}", code):
        raise CallerError(f"{info.field_name} {shortened(value)} is not a code.", hint="Use ISO 639-1, such as en.")
    return code


def timestamp(name: str, value: object, *, end: bool) -> str:
    """A date or time in ISO 8601 as UTC; a bare day, month or year is its first moment, or its last where `end`.

    >>> timestamp("date_after", "2025-03", end=True)
    '2025-03-31T23:59:59.999999Z'
    """
    wrong = CallerError(
        f"{name} {shortened(value)} is not a date.",
        hint="Use ISO 8601, for example 2025-03-01 or 2025-03-01T12:00:00Z.",
    )
    if isinstance(value := _single(value), dt.date):
        value = value.isoformat()
    if not isinstance(value, str):
        raise wrong
    text = re.sub(r"(:\d\d(?:\.\d+)?) (\d\d:?\d\d)$", r"\1+\2", value.strip())  # in a URL a bare + is a space
    try:
        if period := re.fullmatch(r"(\d{4})(?:-(\d{2}))?", text):
            year, month = int(period[1]), int(period[2] or (12 if end else 1))
            text = f"{year:04}-{month:02}-{calendar.monthrange(year, month)[1] if end else 1:02}"
        parsed = dt.datetime.fromisoformat(text)
        if parsed.tzinfo is None:
            parsed = parsed.replace(tzinfo=dt.UTC)
        if end and len(text) <= 10:
            parsed = parsed.replace(hour=23, minute=59, second=59, microsecond=999999)
        return parsed.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError):
        raise wrong from None


def check_order(names: tuple[str, str], first: str | None, last: str | None) -> None:
    """Raise `CallerError` where a period ends before it begins."""
    if first and last and dt.datetime.fromisoformat(first) > dt.datetime.fromisoformat(last):
        raise CallerError(f"{names[0]} {first} lies after {names[1]} {last}.", hint="Swap them.")


def _from(value: object, info: ValidationInfo) -> str:
    return timestamp(str(info.field_name), value, end=False)


def _until(value: object, info: ValidationInfo) -> str:
    return timestamp(str(info.field_name), value, end=True)


# `BeforeValidator` stands last, so that it runs before the constraints
_STRIPPED = StringConstraints(strip_whitespace=True, max_length=MAX_TEXT_LENGTH)
_REQUIRED = StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT_LENGTH)
_QUESTION = StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUERY_LENGTH)
_OPTIONAL_QUESTION = StringConstraints(strip_whitespace=True, max_length=MAX_QUERY_LENGTH)
Text = Annotated[str, _STRIPPED, BeforeValidator(_text)]
RequiredText = Annotated[str, _REQUIRED, BeforeValidator(_text)]
Line = Annotated[str, _STRIPPED, BeforeValidator(_line)]
DocumentPath = Annotated[str, StringConstraints(min_length=1), BeforeValidator(_text)]
Question = Annotated[str, _QUESTION, BeforeValidator(_text)]
OptionalQuestion = Annotated[str, _OPTIONAL_QUESTION, BeforeValidator(_text)]
Natural = Annotated[int, Field(ge=0, le=MAX_NUMBER), BeforeValidator(_number)]
Positive = Annotated[int, Field(ge=1, le=MAX_NUMBER), BeforeValidator(_number)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(_number)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Strings = Annotated[Sequence[str], BeforeValidator(_strings)]
FileTypes = Annotated[Sequence[str], BeforeValidator(_file_types)]
Language = Annotated[str, BeforeValidator(_language)]
From = Annotated[str, BeforeValidator(_from)]
Until = Annotated[str, BeforeValidator(_until)]
ModeName = Annotated[Mode, BeforeValidator(_word)]
DocTypeName = Annotated[DocType, BeforeValidator(_word)]

_PEOPLE: Final[dict[str, Any]] = {"for_models": False}  #: of arguments that models' schemas leave out
_TOKENS: Final[dict[str, Any]] = {"default": DEFAULT_TOKENS}


def _results(default: int = DEFAULT_RESULTS) -> dict[str, Any]:
    """Marks how many results are wanted: schemas show what the settings allow."""
    return {"results": default}


# -- requests


class RequestModel(BaseModel):
    """Arguments of one operation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_absent(cls, given: Mapping[str, object]) -> dict[str, object]:
        """The arguments that say something: null is "not given", and so is blank text that isn't required."""
        required = {name: field.is_required() for name, field in cls.model_fields.items()}

        def absent(name: str, value: object) -> bool:
            real = name if name in required else ALIASES.get(name, name)
            blank = isinstance(value, str) and not value.strip()
            return real in required and (value is None or (blank and not required[real]))

        return {name: value for name, value in given.items() if not absent(name, value)}


class _Search(RequestModel):
    """What searches of documents and of emails take."""

    query: OptionalQuestion = Field(default="", kw_only=False)
    product: Text | None = Field(default=None, description="Only this product (list_products)")
    component: Text | None = Field(default=None, description="Only this component (list_components)")
    max_results: Positive | None = Field(default=None, json_schema_extra=_results())
    offset: Natural = Field(default=0, description="next_offset of the page before")
    mode: ModeName | None = Field(default=None, validation_alias=AliasChoices("mode", "search_mode"))
    semantic_weight: Fraction | None = Field(
        default=None,
        description="0 = words only, 1 = meaning only",
        validation_alias=AliasChoices("semantic_weight", "hybrid_weight"),
    )
    max_tokens: Positive | None = Field(
        default=None, description="Size of the answer at most", json_schema_extra=_TOKENS
    )
    brief: Flag = Field(
        default=False, description="A short snippet for each passage in place of documents", json_schema_extra=_PEOPLE
    )
    facets: Flag = Field(
        default=False, description="Add the filter values of all found documents", json_schema_extra=_PEOPLE
    )


class SearchRequest(_Search):
    """Search the documentation and find the passages that answer a question: manuals, guides, handbooks, wiki pages,
    runbooks, articles and other internal docs (Markdown, PDF, Word). Use it first when the answer may be in the docs:
    how to install, set up, configure or fix a product, what a term, setting or error means, where it is explained.
    Pass the question in plain words, or an exact name. Returns the best documents with text to quote and its
    reference, path:lines."""

    query: Question = Field(description='The question. "quoted words" must occur, -word excludes', kw_only=False)
    file_types: FileTypes = Field(default=(), description='Such as [".md", ".pdf"]')
    include_parent_context: Flag = Field(default=False, description="Add summary and neighbours")
    doc_type: DocTypeName | None = None
    tags: Strings = Field(default=(), description="Any of these")
    language: Language | None = Field(default=None, description="ISO 639-1, such as en")
    modified_after: From | None = Field(default=None, description="ISO 8601")
    modified_before: Until | None = Field(default=None, description="ISO 8601")
    max_per_document: Natural | None = Field(default=None, description="Passages of each, 0 = no limit")
    hypothetical_answer: Text | None = Field(default=None, description="A draft of the answer, for mode hyde")
    include_weak: Flag = Field(default=False, description="Show weak hits too")
    explain: Flag = Field(default=False, description="Add why, highlights and scores of each source")

    @model_validator(mode="after")
    def _in_order(self) -> SearchRequest:
        check_order(("modified_after", "modified_before"), self.modified_after, self.modified_before)
        return self


class EmailSearchRequest(_Search):
    """Search the mailbox: emails of an inbox, archive or mailing list, by topic, sender, subject or date, with or
    without attachments. Use it to look up who wrote, asked, answered, announced, agreed or decided something by mail,
    and when. Without query it gives the most recent messages. Returns mails with sender, date, text and thread_id."""

    query: OptionalQuestion = Field(default="", description="The question; may be empty with a filter", kw_only=False)
    sender: Line | None = Field(default=None, description="Part of name or address")
    thread_id: Text | None = None
    subject_contains: Line | None = None
    has_attachments: Flag | None = None
    date_after: From | None = Field(default=None, description="ISO 8601")
    date_before: Until | None = Field(default=None, description="ISO 8601")
    max_per_thread: Natural = Field(default=1, description="0 = no limit")
    include_weak: Flag = Field(
        default=False, description="Show hits of hardly any relevance too", json_schema_extra=_PEOPLE
    )
    explain: Flag = Field(
        default=False, description="Add why, highlights and scores of each source", json_schema_extra=_PEOPLE
    )


class ThreadRequest(RequestModel):
    """Read one conversation from its first message on, by the thread_id that search_emails gives."""

    thread_id: RequiredText = Field(description="From search_emails", kw_only=False)
    offset: Natural = 0
    max_chars: Natural = Field(default=DEFAULT_THREAD_CHARS, description="0 = all")


class DocumentRequest(RequestModel):
    """Open a document and read its content: the full page or file, a section or chapter, some lines, or with query
    only the parts that answer it. Use it to view the text around a citation or search hit, to show a file by its path,
    and to continue where text was truncated (next_line). Pass path, such as guide/setup.md or guide/setup.md:9-11.
    Returns the text; of a long document its outline first."""

    path: DocumentPath = Field(description="file_path, id or uri of a result, or path:10-20", kw_only=False)
    query: OptionalQuestion = Field(default="", description="A question")
    section: Text | None = Field(default=None, description="A heading or its anchor")
    line_start: Positive | None = None
    line_end: Positive | None = None
    column_start: Positive | None = Field(default=None, description="next_column of a cut line")
    max_chars: Natural | None = Field(default=None, description="0 = the whole document")
    max_tokens: Positive = Field(default=DEFAULT_TOKENS, description="With query: size at most")
    similar: Flag = Field(default=False, description="List similar documents too")

    @model_validator(mode="after")
    def _one_part(self) -> DocumentRequest:
        """A question names the part itself."""
        named = {"section": self.section, "line_start": self.line_start, "line_end": self.line_end}
        limits = {"max_chars": self.max_chars, "column_start": (self.column_start or 1) > 1 or None}
        for arguments, hint in (
            (named, "Give the one or the other."),
            (limits, "With query, max_tokens limits the answer."),
        ):
            for name, value in arguments.items():
                if self.query and value is not None:
                    raise CallerError(f"query and {name} are both given.", hint=hint)
        return self


class ProductsRequest(RequestModel):
    """Overview of what this library covers: lists the products, systems, projects and software that have documentation
    in the knowledge base, with document counts. Use it to see which topics and collections are available to ask about,
    and for names to narrow a search to one product."""


class StatusRequest(RequestModel):
    """For diagnosis: whether the index is complete, how far indexing is, which files failed or were skipped and why,
    which models run."""


class HealthRequest(RequestModel):
    """Whether all is well."""


class ClearCacheRequest(RequestModel):
    """For diagnosis: forget cached answers. The index stays as it is."""


class ComponentsRequest(RequestModel):
    """The components of one product, with document counts: names for the component argument of a search."""

    product: RequiredText = Field(description="A name from list_products", kw_only=False)


class FacetsRequest(RequestModel):
    """What a search may be filtered by: products with components, file types, kinds, languages, tags and dates."""

    type: Annotated[ContentType, BeforeValidator(_word)] = Field(
        default="documents", description="Of what", kw_only=False
    )


class AnalyzeRequest(RequestModel):
    """For diagnosis: how the search understands a question and which mode suits it; with path, why it misses that
    file."""

    query: Question = Field(description="The question", kw_only=False)
    path: DocumentPath | None = Field(default=None, description="A document it should find")


class KnowledgeRequest(RequestModel):
    """Find passages by meaning (vector), by meaning and words (hybrid), or read again by a cross-encoder (rerank)."""

    query: Question = Field(description="A question in plain words", kw_only=False)
    source_id: Text | None = Field(default=None, description="Only this product or crawled project")
    document_id: DocumentPath | None = Field(default=None, description="Only this document: a result's document_id")
    document_type: Text | None = Field(default=None, description="pdf, html, markdown, … or a doc_type")
    match_count: Positive | None = Field(default=None, json_schema_extra=_results())
    search_type: Annotated[SearchType, BeforeValidator(_word)] | None = Field(
        default=None, json_schema_extra={"default": "hybrid"}
    )


class RegistryRequest(RequestModel):
    """Find MCP servers, their tools and A2A agents by what they do or by name, among the registry files of the
    library."""

    query: Question = Field(description="What is wanted, or a name", kw_only=False)
    entity_types: Annotated[Sequence[EntityType], BeforeValidator(_words)] = Field(
        default=(), description="Leave out for all"
    )
    max_results: Positive | None = Field(default=None, description="Of each type", json_schema_extra=_results(3))


Project = Annotated[Text | None, Field(description="Only this crawled site or product")]
Category = Annotated[
    Text | None, Field(description="Only this category and those below it; a/b where nested (listDoc)")
]


class SiteSearchRequest(RequestModel):
    """Find documents that answer a question, with the sections that match. Read one with loadDoc(slug)."""

    query: Question = Field(description="The question", kw_only=False)
    project: Project = None
    category: Category = None
    limit: Positive | None = Field(default=None, description="Documents", json_schema_extra=_results(5))


class SiteDocumentsRequest(RequestModel):
    """Read whole documents by slug: summary, sections, keywords and sources."""

    slug: Annotated[Sequence[str], Field(min_length=1), BeforeValidator(_strings)] = Field(
        kw_only=False, description="One or several, from searchDoc or listDoc"
    )
    include_sections: Flag = True
    include_metadata: Flag = True


class SiteListRequest(RequestModel):
    """All documents by category, with what each is about."""

    project: Project = None
    category: Category = None
    content_type: Text | None = Field(default=None, description="guide, api, reference … or .md")
    sort_by: Annotated[SortBy, BeforeValidator(_word)] = "title"


class RefreshRequest(RequestModel):
    """Bring the index up to date."""

    rebuild: Flag = False
    prune: Flag = False
    wait: Flag = True


class CheckRequest(RequestModel):
    """Compare the stores with the files."""

    repair: Flag = False


class EvaluateRequest(RequestModel):
    """Measure the ranking on judged questions."""

    queries: Text = ""
    qrels: Text = ""
    modes: Annotated[Sequence[Mode], Field(min_length=1), BeforeValidator(_words)] = ("keyword", "semantic", "hybrid")
    product: Text | None = None
    own: Flag = False
    llm: Flag = False


class BenchRequest(RequestModel):
    """A search that is only timed."""

    query: Question = Field(description="The question", kw_only=False)
    mode: ModeName = Field(description="How to search")
    llm: Flag = False


class GapsRequest(RequestModel):
    """Questions that found nothing or little."""

    limit: Positive = 50


# -- responses


class ResponseModel(BaseModel):
    """Base of all responses: immutable, and strict about unknown fields.

    Fields are in the order in which people read them. A field that a format lacks is null or empty, never missing;
    `sparse` responses leave such fields out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    sparse: ClassVar[bool] = False  #: whether fields that are null, empty or false are left out

    def as_fields(self) -> dict[str, Any]:
        """The response as JSON values."""
        return self.model_dump(mode="json", exclude_defaults=self.sparse)

    def as_json(self) -> str:
        """The same as JSON."""
        return self.model_dump_json(exclude_defaults=self.sparse)


class WhyItem(ResponseModel):
    model_config = ConfigDict(from_attributes=True)  # made of a `ScorePart`

    source: str
    rank: int | None = None
    raw: float | None = None
    points: float


class ContextNeighbour(ResponseModel):
    id: str
    heading_path: list[str] = []
    text: str


class ParentContext(ResponseModel):
    title: str
    summary: str
    headings: list[str] = []
    breadcrumb: str
    previous: ContextNeighbour | None = None
    next: ContextNeighbour | None = None


class Result(ResponseModel):
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
    more: list[Further] = []
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
    attachments: list[Attachment] = []
    thread_id: str
    thread_size: int = 1
    message_id: str


class Retrievers(ResponseModel):
    keyword: RetrieverStatus
    semantic: RetrieverStatus
    rerank: RetrieverStatus
    hyde: RetrieverStatus


class Coverage(ResponseModel):
    documents: int
    chunks: int
    embedded_chunks: int


class Routing(ResponseModel):
    """Why `auto` chose the mode that ran."""

    query_type: str
    recommended_mode: Mode
    confidence: float
    reasons: list[str] = []


class ExpandedQuery(ResponseModel):
    search_terms: str = ""
    hypothetical_answer: str = ""
    source: str = ""


class Suggestion(ResponseModel):
    """What to try when little was found: a term, a mode, a filter to drop."""

    kind: Literal["term", "mode", "filter", "index"]
    value: str
    text: str


class FacetItem(ResponseModel):
    name: str
    count: int


class ProductFacet(FacetItem):
    components: list[FacetItem] = []


class FacetsResponse(ResponseModel):
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


class SearchResponseBase(ResponseModel):
    """All of a search response but its results."""

    sparse = True

    query: str
    mode: Mode
    requested_mode: Mode
    semantic_weight: float | None = None
    total: int
    capped: bool = False
    next_offset: int | None = None
    answerable: Answerable
    calibrated: bool = True
    not_mentioned: list[str] = []
    not_mentioned_in: str = ""
    retrievers: Retrievers
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
    facets: FacetsResponse | None = None
    notes: list[str] = []


class SearchResponse(SearchResponseBase):
    results: list[Result]


class EmailSearchResponse(SearchResponseBase):
    results: list[EmailResult]


class ThreadEmail(ResponseModel):
    subject: str
    sender: str
    to: list[str] = []
    cc: list[str] = []
    date: str | None = None
    message_id: str
    body: str
    quoted: list[str] = []
    attachments: list[Attachment] = []
    file_path: str


class ThreadResponse(ResponseModel):
    thread_id: str
    subject: str
    participants: list[str]
    emails: list[ThreadEmail]
    total: int
    next_offset: int | None = None


class HeadingItem(ResponseModel):
    level: int
    text: str
    line: int
    page: int | None = None
    tokens: int = 0


class MailHeaders(ResponseModel):
    """Of a mail that is read as a document, what a result of `search_emails` says of it; its subject is the title."""

    sender: str
    to: list[str] = []
    cc: list[str] = []
    date: str | None = None
    thread_id: str
    message_id: str


class OutlineItem(ResponseModel):
    """A section of a document up to the next heading, and what it takes to read."""

    level: int
    text: str
    line_start: int
    line_end: int
    tokens: int


class LinkedDocument(ResponseModel):
    file_path: str
    title: str
    tokens: int


class DocumentResponse(ResponseModel):
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
    sections: list[Further] = []
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
    links: list[LinkedDocument] = []
    linked_from: list[LinkedDocument] = []
    similar: list[LinkedDocument] = []
    email: MailHeaders | None = None


class ProductItem(ResponseModel):
    name: str
    component_count: int
    document_count: int


class ProductsResponse(ResponseModel):
    products: list[ProductItem]
    total: int


class ComponentItem(ResponseModel):
    name: str
    document_count: int


class ComponentsResponse(ResponseModel):
    product: str
    components: list[ComponentItem]
    total: int


class EmbeddingsStatus(ResponseModel):
    enabled: bool
    model: str = ""
    dimension: int = 0
    backend: str = ""
    device: str = ""
    models: list[str] = []


class CacheStatus(ResponseModel):
    entries: int = 0
    hits: int = 0
    misses: int = 0


class CachesStatus(ResponseModel):
    query_embedding: CacheStatus = CacheStatus()
    exact: CacheStatus = CacheStatus()
    semantic: CacheStatus = CacheStatus()


class FailureItem(ResponseModel):
    path: str
    reason: str


class FailuresStatus(ResponseModel):
    total: int = 0
    items: list[FailureItem] = []


class SkippedStatus(ResponseModel):
    total: int = 0
    by_reason: dict[str, int] = {}
    examples: list[FailureItem] = []


class StorageStatus(ResponseModel):
    catalog: str
    keyword: str
    vectors: str
    disk_bytes: int = 0


class LlmStatus(ResponseModel):
    enabled: bool = False
    provider: str = ""
    model: str = ""
    connected: bool | None = None


class StatusResponse(ResponseModel):
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
    progress: Progress = Progress("idle")
    failures: FailuresStatus = FailuresStatus()
    skipped: SkippedStatus = SkippedStatus()
    last_indexed_at: str | None = None
    index_path: str
    root_path: str = ""
    storage: StorageStatus
    version: str = ""
    notes: list[str] = []


class HealthResponse(ResponseModel):
    status: Literal["ok", "indexing", "degraded"]
    ready: bool = True
    reasons: list[str] = []
    version: str
    documents: int
    chunks: int
    embedded_chunks: int
    uptime_s: float


class RetrieverRank(ResponseModel):
    retriever: str
    rank: int | None = None
    score: float | None = None
    reason: str = ""


class WhyNot(ResponseModel):
    """Where a document falls out of an answer."""

    file_path: str
    stage: Literal["not_indexed", "filtered", "not_found", "below_cut", "found"]
    explanation: str
    retrievers: list[RetrieverRank] = []
    rank: int | None = None


class AnalyzeResponse(ResponseModel):
    query: str
    query_type: Literal["factual", "conceptual", "troubleshooting", "navigational"]
    complexity: float
    word_count: int
    technical_terms: list[str] = []
    recommended_mode: Mode
    confidence: float
    reasons: list[str] = []
    why_not: WhyNot | None = None


class ClearCacheResponse(ResponseModel):
    cleared: int


class RefreshResponse(ResponseModel):
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


class CheckResponse(ResponseModel):
    """Catalog, keyword index, vectors and folder held against each other."""

    ok: bool
    problems: list[str] = []
    repaired: list[str] = []
    documents: int = 0
    chunks: int = 0
    vectors: int = 0


class ErrorBody(ResponseModel):
    code: str
    message: str
    hint: str = ""


class ErrorResponse(ResponseModel):
    error: ErrorBody


# -- responses of the toolsets


class KnowledgeItem(ResponseModel):
    id: str
    content: str
    metadata: dict[str, Any]
    similarity: float
    text_rank: float
    combined_score: float
    rerank_score: float | None = None
    original_combined_score: float | None = None
    match_type: Literal["vector", "text", "both"]


class KnowledgeResponse(ResponseModel):
    """`search_mode` is the strategy that ran; where it isn't the one asked for, `degraded` says why."""

    results: list[KnowledgeItem]
    total_found: int
    capped: bool = False
    search_mode: Literal["hybrid", "vector", "rerank", "text"]
    degraded: list[str]


class SectionMatch(ResponseModel):
    section_id: str
    section_title: str
    content_snippet: str
    relevance_score: float


class SiteResult(ResponseModel):
    slug: str
    title: str
    project: str
    category: str
    relevance_score: float
    content_preview: str
    section_matches: list[SectionMatch]


class SiteSearchResponse(ResponseModel):
    query: str
    mode: str
    results: list[SiteResult]
    suggestions: list[str]
    degraded: list[str]


class SiteSection(ResponseModel):
    section_id: str
    title: str
    level: int
    content: str
    keywords: list[str]


class SiteDocument(ResponseModel):
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


class SiteDocumentsResponse(ResponseModel):
    documents: list[SiteDocument]
    include_sections: bool
    include_metadata: bool


class SiteListItem(ResponseModel):
    slug: str
    title: str
    project: str
    description: str
    last_updated: str


class SiteCategory(ResponseModel):
    name: str
    document_count: int
    documents: list[SiteListItem]


class SiteListResponse(ResponseModel):
    total_documents: int
    categories: list[SiteCategory]


class GapItem(ResponseModel):
    query: str
    times: int
    results: int
    last_asked: str


class GapsResponse(ResponseModel):
    """Questions that found nothing, or nothing that seemed to answer them, the most frequent first."""

    enabled: bool
    questions: int
    gaps: list[GapItem]


class MatchingTool(ResponseModel):
    tool_name: str
    description: str = ""


class ServerItem(ResponseModel):
    path: str
    server_name: str
    description: str = ""
    tags: list[str]
    relevance_score: float
    matching_tools: list[MatchingTool]
    file_path: str = ""


class SkillItem(ResponseModel):
    name: str
    description: str = ""


class AgentItem(ResponseModel):
    path: str
    agent_name: str
    description: str = ""
    tags: list[str]
    capabilities: list[str]
    skills: list[SkillItem]
    relevance_score: float
    file_path: str = ""


class ToolItem(ResponseModel):
    server_path: str
    tool_name: str
    description: str = ""
    inputSchema: dict[str, Any]  # noqa: N815 (MCP's own spelling)
    relevance_score: float


class RegistryResponse(ResponseModel):
    query: str
    search_mode: Literal["hybrid", "lexical-only"]
    servers: list[ServerItem]
    agents: list[AgentItem]
    tools: list[ToolItem]
    total_entities: int = 0


# -- operations


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: `name` is what outsiders call it, `method` the method of `Librarian`."""

    name: str
    method: str
    title: str
    request: type[RequestModel]
    response: type[ResponseModel] | None
    toolset: str = "default"  #: `default`, `rag`, `sites`, `registry`; empty for what is no MCP tool
    read_only: bool = True

    @property
    def description(self) -> str:
        """What it does, in the words that a model reads."""
        return " ".join((self.request.__doc__ or "").split())


_OPERATIONS = (
    Operation("search_documentation", "search", "Search the documentation", SearchRequest, SearchResponse),
    Operation("search_emails", "search_emails", "Search the emails", EmailSearchRequest, EmailSearchResponse),
    Operation("get_email_thread", "get_thread", "Read an email thread", ThreadRequest, ThreadResponse),
    Operation("get_document", "get_document", "Read a document", DocumentRequest, DocumentResponse),
    Operation("list_products", "list_products", "List products", ProductsRequest, ProductsResponse),
    Operation("list_components", "list_components", "List components", ComponentsRequest, ComponentsResponse),
    Operation("get_index_status", "status", "Index status", StatusRequest, StatusResponse),
    Operation("analyze_query", "analyze", "Analyze a query", AnalyzeRequest, AnalyzeResponse),
    Operation(
        "clear_search_cache",
        "clear_cache",
        "Clear the search cache",
        ClearCacheRequest,
        ClearCacheResponse,
        read_only=False,
    ),
    Operation(
        "search_knowledge_base",
        "search_knowledge_base",
        "Search the knowledge base",
        KnowledgeRequest,
        KnowledgeResponse,
        "rag",
    ),
    Operation(
        "search_registry", "search_registry", "Search the registry", RegistryRequest, RegistryResponse, "registry"
    ),
    Operation("searchDoc", "search_doc", "Search documents", SiteSearchRequest, SiteSearchResponse, toolset="sites"),
    Operation("loadDoc", "load_doc", "Load documents", SiteDocumentsRequest, SiteDocumentsResponse, toolset="sites"),
    Operation("listDoc", "list_doc", "List documents", SiteListRequest, SiteListResponse, toolset="sites"),
    Operation("list_facets", "list_facets", "List filter values", FacetsRequest, FacetsResponse, toolset=""),
    Operation("health", "health", "Health", HealthRequest, HealthResponse, toolset=""),
    Operation("refresh", "refresh", "Refresh", RefreshRequest, RefreshResponse, toolset="", read_only=False),
    Operation("check", "check", "Check", CheckRequest, CheckResponse, toolset="", read_only=False),
    Operation("evaluate", "evaluate", "Evaluate", EvaluateRequest, None, toolset=""),
    Operation("bench", "bench", "Bench", BenchRequest, SearchResponse, toolset=""),
    Operation("gaps", "gaps", "Gaps", GapsRequest, GapsResponse, toolset=""),
)
OPERATIONS: Final[Mapping[str, Operation]] = {operation.name: operation for operation in _OPERATIONS}
"""Every operation by the name that outsiders use."""

TOOLSETS: Final[Mapping[str, tuple[Operation, ...]]] = {
    name: tuple(operation for operation in _OPERATIONS if operation.toolset == name)
    for name in ("default", "rag", "registry", "sites")
}
"""The MCP tools by toolset; all but `default` are off unless the settings name them."""

# -- validation

Request = TypeVar("Request", bound=RequestModel)


def validated(model: type[Request], arguments: Mapping[str, object], operation: str) -> Request:
    """The request that `arguments` describe.

    Raises `CallerError` that names the argument, its value and what would be right.
    """
    try:
        return model.model_validate({_encodable(name): value for name, value in arguments.items()})
    except ValidationError as error:
        raise caller_error(error, model, arguments, operation) from None


def caller_error(
    error: ValidationError, model: type[RequestModel], arguments: Mapping[str, object], operation: str
) -> CallerError:
    """The message for a failed validation: an unknown argument first of all."""
    errors = error.errors(include_url=False)
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    given, kind, names = str(first["loc"][0]), first["type"], list(model.model_fields)
    name = ALIASES.get(given, given)
    if kind == "extra_forbidden":
        return unknown_argument(operation, given, arguments, names)
    properties: Any = input_schema(model, for_models=False)["properties"]
    schema, value = properties[name], arguments.get(name, arguments.get(given, first["input"]))
    about = f"{schema['description'].rstrip('.')}." if "description" in schema else ""
    wanted = _WANTED[schema.get("type", "string")]
    if kind == "missing":
        return CallerError(f"{operation} needs the argument {name} ({wanted}).", hint=about)
    if kind == "literal_error":
        if len(first["loc"]) > 1:
            schema, value = schema["items"], first["input"]
            return CallerError(
                f"{name} holds {shortened(value)}, which is unknown.", hint=one_of(schema["enum"], value)
            )
        return CallerError(f"{name} {shortened(value)} is unknown.", hint=one_of(schema["enum"], value))
    if kind in ("string_too_short", "too_short"):
        advice = "Ask with at least one word, for example 'how to rotate a token'."
        return CallerError(f"{name} is empty.", hint=advice if name == "query" else about)
    if kind == "string_too_long":
        shorten = "Shorten it to the question itself; pass a draft of the answer as hypothetical_answer."
        return CallerError(
            f"{name} has {len(str(value))} characters; at most {first['ctx']['max_length']} are allowed.",
            hint=shorten if name == "query" else "Shorten it.",
        )
    if kind in ("greater_than_equal", "less_than_equal"):
        open_ended = kind == "greater_than_equal" and schema["type"] == "integer"
        upper = " or more" if open_ended else f" to {MAX_NUMBER if schema['type'] == 'integer' else schema['maximum']}"
        return CallerError(f"{name} is {shortened(_plain(value))}; it must be {schema['minimum']}{upper}.", hint=about)
    return CallerError(f"{name} must be {wanted}, not {shortened(value)}.", hint=about)


def _plain(value: object) -> object:
    """A whole number that came as text or with a fraction of 0, as such."""
    value = _single(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,4000}", value.strip()) else value


def unknown_argument(operation: str, name: str, arguments: Mapping[str, object], names: Sequence[str]) -> CallerError:
    """The message for an argument that isn't one of `names`: the nearest of them."""
    if (real := ALIASES.get(name)) in arguments:
        return CallerError(f"{operation} was given {real} twice: {name} and {real}.", hint=f"Pass {real} only.")
    message = f"{operation} has no argument {shortened(name)} (given: {shortened(arguments.get(name))})."
    near = [own for own, others in _ELSEWHERE.items() if own in names and name.lower() in others]
    near = near or nearest(name, [*names, *(alias for alias, real in ALIASES.items() if real in names)], 1)
    hint = f"Did you mean {ALIASES.get(near[0], near[0])!r}?" if near else ""
    takes = f"It takes {', '.join(names)}." if names else "It takes no arguments."
    return CallerError(message, hint=f"{hint} {takes}".strip())


def known_name(kind: str, value: str | None, known: Sequence[str], *, hint: str) -> str | None:
    """A product, component or project that exists, in its own spelling. Raises `NotFound` for another."""
    if value is None:
        return None
    text = name_of(value)
    for name in known:
        if text == name or text.lower() in (name.lower(), visible(name).lower()):  # `visible`: as responses show it
            return name
    raise NotFound(f"No {kind} {shortened(text)}.", hint=f"{did_you_mean(text, known)} {hint}".strip())


# -- JSON Schema


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """How many results the settings allow: by default and at most."""

    default: int = DEFAULT_RESULTS
    maximum: int = 50


_DROPPED: Final = frozenset({"title", "additionalProperties", "for_models", "results", "$defs"})
_ON_REQUEST: Final = frozenset(
    {
        "why",
        "parent_context",
        "routing",
        "rewritten",
        "highlights",
        "links",
        "linked_from",
        "similar",
        "email",
        "facets",
    }
)  #: whose parts schemas leave out


@lru_cache(128)
def input_schema(
    model: type[RequestModel], limits: ResultLimits = ResultLimits(), *, for_models: bool = True
) -> dict[str, Any]:
    """The arguments as compact JSON Schema; `for_models` leaves out what only people use."""
    schema = model.model_json_schema()
    found: dict[str, Any] = _compact(schema, schema.get("$defs", {}))
    for name, full in schema["properties"].items():
        own = found["properties"][name]
        if for_models and full.get("for_models") is False:
            del found["properties"][name]
        if (default := full.get("results")) is not None:
            default = limits.default if default == DEFAULT_RESULTS else default
            own |= {"minimum": 1, "maximum": limits.maximum, "default": min(default, limits.maximum)}
        if own.get("maximum") == MAX_NUMBER:
            del own["maximum"]
        if for_models:  # what a wrong value is refused for anyway, in better words
            own.pop("minLength", None)
            if "maximum" not in own:
                own.pop("minimum", None)
            if own.get("default") in (False, 0):
                del own["default"]
        if own.get("maxLength") == MAX_TEXT_LENGTH:
            del own["maxLength"]
    return {**found, "additionalProperties": False}


@lru_cache(128)
def output_schema(model: type[ResponseModel], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What `model` serializes to, as compact JSON Schema, where null fields and `optional` ones may be left out."""
    schema = model.model_json_schema(mode="serialization")
    found: dict[str, Any] = _compact(schema, schema.get("$defs", {}), output=True)
    required = [
        name
        for name in schema.get("required", [])
        if name not in optional and found["properties"][name].get("type") not in ("array", "string")
    ]
    return {**found, "required": required}


def _compact(schema: Any, definitions: Mapping[str, Any], *, output: bool = False) -> Any:
    """A schema without titles and null unions.

    In an `output` schema what is used several times stays a reference, and defaults are left out.
    """
    text = json.dumps(schema)
    shared = {f"#/$defs/{name}": name for name in definitions if output and text.count(f'"#/$defs/{name}"') > 1}

    def compact(node: Any) -> Any:
        if isinstance(node, list):
            return [compact(value) for value in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            if node["$ref"] in shared:
                return {"$ref": node["$ref"]}
            return compact({**definitions[node["$ref"].rpartition("/")[2]], **_without(node, "$ref")})
        if "anyOf" in node:
            (other,) = (each for each in node["anyOf"] if each != {"type": "null"})
            return compact({**other, **_without(node, "anyOf")})
        if "prefixItems" in node:  # a pair such as [start, end]
            count = len(node["prefixItems"])
            return {"type": "array", "items": compact(node["prefixItems"][0]), "minItems": count, "maxItems": count}
        found: dict[str, Any] = {}
        for key, value in node.items():
            if key == "properties":
                found[key] = {name: _detail(name, compact(item), output) for name, item in value.items()}
            elif not (key in _DROPPED or (key == "description" and "properties" in node)):
                found[key] = compact(value)
        superfluous = {
            "default": output or found.get("default", 0) in (None, [], ""),
            "required": output,
            "type": "enum" in found,
        }
        return {key: value for key, value in found.items() if not superfluous.get(key)}

    compacted: dict[str, Any] = compact(schema)
    text = json.dumps(compacted)
    if used := {name: compact(definitions[name]) for reference, name in shared.items() if reference in text}:
        compacted["$defs"] = used
    return compacted


def _detail(name: str, schema: dict[str, Any], output: bool) -> dict[str, Any]:
    return schema if not output or name not in _ON_REQUEST else {"type": schema.get("type", "object")}


def _without(node: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name != key}
