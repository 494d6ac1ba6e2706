"""The verbs by which doors that take arguments by name know the desk: tool name, arguments, answer.

MCP's input schemas, REST's bodies and query strings, and OpenAPI are all made from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from .arguments import LONG_THREAD, LONGEST_QUERY, USUAL, USUAL_TOKENS, Argument, checked
from .desk_protocol import Desk
from .protocols import Budget
from .types import Mode
from .wire import (
    AnalyzeAnswer,
    ClearedAnswer,
    ComponentsAnswer,
    DocumentAnswer,
    EmailSearchAnswer,
    FacetsAnswer,
    ProductsAnswer,
    SearchAnswer,
    StatusAnswer,
    ThreadAnswer,
    Wire,
)


@dataclass(frozen=True, slots=True)
class Verb:
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

SEARCH = Verb(
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
SEARCH_EMAILS = Verb(
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
THREAD = Verb(
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
DOCUMENT = Verb(
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
PRODUCTS = Verb(
    "list_products",
    "list_products",
    "List products",
    "The products that the library holds; mails count as documents.",
    (),
    ProductsAnswer,
)
COMPONENTS = Verb(
    "list_components",
    "list_components",
    "List components",
    "The components of a product, with their number of documents.",
    (Argument("product", description="A name from list_products", required=True),),
    ComponentsAnswer,
)
STATUS = Verb(
    "get_index_status",
    "status",
    "Index status",
    "What is indexed, how far indexing is, what failed or was skipped and why, which models answer.",
    (),
    StatusAnswer,
)
ANALYZE = Verb(
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
CLEAR_CACHE = Verb(
    "clear_search_cache",
    "clear_cache",
    "Clear the search cache",
    "Forget cached answers; the index is untouched.",
    (),
    ClearedAnswer,
)

FACETS = Verb(
    "list_facets",
    "list_facets",
    "List filter values",
    "What a search may be filtered by: products with components, file types, kinds, languages, tags and dates.",
    (Argument("type", description="Of what", limits={"enum": ["documents", "emails"], "default": "documents"}),),
    FacetsAnswer,
)
"""For people who choose from lists; models ask list_products."""

VERBS: tuple[Verb, ...] = (
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


def ask(desk: Desk, verb: Verb, given: Mapping[str, object], budget: Budget) -> Wire:
    """Do `verb` at `desk` with arguments as a caller gave them.

    Raises `CallerError` for unknown or unusable arguments, and whatever the desk raises.
    """
    answer: Wire = getattr(desk, verb.method)(**checked(verb.name, verb.arguments, given), budget=budget)
    return answer
