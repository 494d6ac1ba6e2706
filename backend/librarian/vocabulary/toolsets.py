"""The verbs of the extra toolsets, off unless asked for, so that a model's tool list stays short."""

from __future__ import annotations

from .arguments import Argument
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

REGISTRY: tuple[Verb, ...] = (SEARCH_REGISTRY,)
