"""The verbs of the extra toolsets, off unless asked for, so that a model's tool list stays short."""

from __future__ import annotations

from .arguments import USUAL, Argument
from .knowledge import SEARCH_TYPES, KnowledgeAnswer
from .registry import ENTITY_TYPES, RegistryAnswer
from .sites import SORTINGS, SiteDocumentsAnswer, SiteListAnswer, SiteSearchAnswer
from .verbs import QUERY_LIMITS, QUESTION, Verb

SEARCH_REGISTRY = Verb(
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

SEARCH_KNOWLEDGE_BASE = Verb(
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

RAG: tuple[Verb, ...] = (SEARCH_KNOWLEDGE_BASE,)
REGISTRY: tuple[Verb, ...] = (SEARCH_REGISTRY,)

_PROJECT = Argument("project", description="Only this crawled site or product")
_CATEGORY = Argument("category", description="Only this category and those below it; a/b where nested (listDoc)")

SEARCH_DOC = Verb(
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
LOAD_DOC = Verb(
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
LIST_DOC = Verb(
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

SITES: tuple[Verb, ...] = (SEARCH_DOC, LOAD_DOC, LIST_DOC)
