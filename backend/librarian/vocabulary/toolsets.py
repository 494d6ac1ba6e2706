"""The verbs of the extra toolsets, off unless asked for, so that a model's tool list stays short."""

from __future__ import annotations

from .arguments import Argument
from .knowledge import SEARCH_TYPES, KnowledgeAnswer
from .registry import ENTITY_TYPES, RegistryAnswer
from .verbs import Verb

SEARCH_REGISTRY = Verb(
    "search_registry",
    "search_registry",
    "Search the registry",
    "Find MCP servers, their tools and A2A agents by what they do or by name, among the registry files of the library.",
    (
        Argument("query", description="What is wanted, or a name", required=True, limits={"minLength": 1}),
        Argument(
            "entity_types",
            "texts",
            "Leave out for all",
            limits={"items": {"type": "string", "enum": list(ENTITY_TYPES)}},
        ),
        Argument("max_results", "whole", "Of each type", limits={"minimum": 1, "maximum": 50, "default": 3}),
    ),
    RegistryAnswer,
)

SEARCH_KNOWLEDGE_BASE = Verb(
    "search_knowledge_base",
    "search_knowledge_base",
    "Search the knowledge base",
    "Find passages by meaning (vector), by meaning and words (hybrid), or read again by a cross-encoder (rerank).",
    (
        Argument("query", description="A question in plain words", required=True, limits={"minLength": 1}),
        Argument("source_id", description="Only this product or crawled project"),
        Argument("document_id", description="Only this document: a result's document_id"),
        Argument("document_type", description="pdf, html, markdown, … or a doc_type"),
        Argument("match_count", "whole", limits={"minimum": 1, "maximum": 50, "default": 10}),
        Argument("search_type", limits={"enum": list(SEARCH_TYPES), "default": "hybrid"}),
    ),
    KnowledgeAnswer,
)

RAG: tuple[Verb, ...] = (SEARCH_KNOWLEDGE_BASE,)
REGISTRY: tuple[Verb, ...] = (SEARCH_REGISTRY,)
