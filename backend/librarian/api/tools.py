"""What a model can do: the verbs as tools, each answer in two complete halves, fields and text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import SetupError
from ..models import Deadline
from ..schemas import (
    CLEAR_CACHE,
    RAG,
    REGISTRY,
    SITES,
    VERBS,
    Counts,
    Desk,
    EmailSearchAnswer,
    Operation,
    SearchAnswer,
    Wire,
    ask,
    schema_of,
)
from ..text.sanitizing import inline
from .model_text import cleaned, render

_ON_REQUEST = frozenset({"why", "parent_context", "routing", "rewritten"})  #: whose parts are left out
_DROPPED = frozenset({"title", "default", "required", "additionalProperties"})
_PREFIX = "#/$defs/"


def compact_schema(model: type[Wire]) -> dict[str, Any]:
    """The JSON Schema of what `model` serializes to.

    Every answer that pydantic's own schema accepts is accepted by this one too.
    """
    full = model.model_json_schema(mode="serialization")
    if model.sparse:
        full = _without_null(full)
    definitions: dict[str, Any] = full.pop("$defs", {})
    uses: dict[str, int] = {}
    _count(full, uses)
    for name in _needed(full, definitions):
        _count(definitions[name], uses)
    nullable = {name for part in [full, *definitions.values()] for name in _nullable(part)}
    inlined = {name for name, count in uses.items() if count == 1 or name in nullable}
    schema: dict[str, Any] = _compacted(full, definitions, inlined)
    schema["required"] = full.get("required", [])
    if kept := {name: value for name, value in definitions.items() if uses.get(name) and name not in inlined}:
        schema["$defs"] = {name: _compacted(value, definitions, inlined) for name, value in kept.items()}
    return schema


def _without_null(node: Any) -> Any:
    """The schema with unions of one kind and null as that kind, and of what comes on request the kind alone."""
    if isinstance(node, list):
        return [_without_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    union = node.get("anyOf")
    if isinstance(union, list) and {"type": "null"} in union and len(union) == 2:
        other = next(item for item in union if item != {"type": "null"})
        return _without_null({**other, **{key: value for key, value in node.items() if key != "anyOf"}})
    found = {key: _without_null(value) for key, value in node.items()}
    if isinstance(properties := found.get("properties"), dict):
        for name in _ON_REQUEST & properties.keys():
            properties[name] = {"type": "array" if "items" in properties[name] else "object"}
    return found


def _needed(node: Any, definitions: dict[str, Any]) -> set[str]:
    """Definitions that a schema leads to."""
    needed: set[str] = set()
    waiting = [node]
    while waiting:
        found: dict[str, int] = {}
        _count(waiting.pop(), found)
        waiting += [definitions[name] for name in found.keys() - needed]
        needed |= found.keys()
    return needed


def _count(node: Any, uses: dict[str, int]) -> None:
    if isinstance(node, dict):
        if isinstance(reference := node.get("$ref"), str):
            name = reference.removeprefix(_PREFIX)
            uses[name] = uses.get(name, 0) + 1
        for value in node.values():
            _count(value, uses)
    elif isinstance(node, list):
        for value in node:
            _count(value, uses)


def _nullable(node: Any) -> set[str]:
    """Definitions that occur in a union with null: only in place can they say so in one type."""
    found: set[str] = set()
    if isinstance(node, dict):
        union = node.get("anyOf")
        if isinstance(union, list) and {"type": "null"} in union:
            found |= {item["$ref"].removeprefix(_PREFIX) for item in union if "$ref" in item}
        for value in node.values():
            found |= _nullable(value)
    elif isinstance(node, list):
        for value in node:
            found |= _nullable(value)
    return found


def _compacted(node: Any, definitions: dict[str, Any], inlined: set[str]) -> Any:
    if isinstance(node, list):
        return [_compacted(value, definitions, inlined) for value in node]
    if not isinstance(node, dict):
        return node
    if isinstance(reference := node.get("$ref"), str):
        name = reference.removeprefix(_PREFIX)
        return _compacted(definitions[name], definitions, inlined) if name in inlined else {"$ref": reference}
    union = node.get("anyOf")
    if isinstance(union, list) and {"type": "null"} in union and len(union) == 2:
        rest = next(item for item in union if item != {"type": "null"})
        other = {key: value for key, value in node.items() if key != "anyOf"}
        return _or_null(_compacted({**rest, **other}, definitions, inlined))
    if "prefixItems" in node:  # a pair such as [start, end]: the one spelling that all validators know
        items = node["prefixItems"]
        return {"type": "array", "items": {"type": items[0]["type"]}, "minItems": len(items), "maxItems": len(items)}
    compacted: dict[str, Any] = {}
    for key, value in node.items():
        if key in _DROPPED or (key == "description" and "properties" in node):
            continue
        if key == "properties":
            compacted[key] = {name: _compacted(item, definitions, inlined) for name, item in value.items()}
        else:
            compacted[key] = _compacted(value, definitions, inlined)
    if "enum" in compacted:
        compacted.pop("type", None)
    return compacted


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]}


MOST_LINKS = 10  #: each costs the client some 200 bytes and the server some 9 µs


@dataclass(frozen=True, slots=True)
class Link:
    """A document that an answer speaks of; `priority` in 0–1."""

    uri: str
    name: str
    title: str
    mime_type: str
    priority: float
    last_modified: str


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """Both halves of an answer, without hidden characters; a host may show a model only one of them."""

    text: str
    structured: dict[str, Any]
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as every transport offers it; `call` is synchronous and raises the vocabulary's errors."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object] | None
    call: Callable[[Mapping[str, object], Deadline], ToolAnswer] = field(repr=False)
    read_only: bool = True


TOOLSETS: dict[str, tuple[Operation, ...]] = {"rag": RAG, "registry": REGISTRY, "sites": SITES}
"""Further sets of tools by name, off unless asked for, so that a model's tool list stays short."""


def build_tools(desk: Desk, toolsets: Sequence[str] = (), counts: Counts = Counts()) -> tuple[Tool, ...]:
    """The nine tools of every library, then those of `toolsets`, in an order that never changes.

    Their schemas say how many results `counts` allows.

    Raises `SetupError` for a toolset that doesn't exist.
    """
    tools = [_tool(desk, verb, counts) for verb in VERBS]
    for name in TOOLSETS if "all" in toolsets else dict.fromkeys(toolsets):
        if name not in TOOLSETS:
            known = ", ".join(["all", *TOOLSETS])
            raise SetupError(f"No toolset {name!r}.", hint=f"Set toolsets (MCP_TOOLSETS) to any of: {known}.")
        tools += [_tool(desk, verb, counts) for verb in TOOLSETS[name]]
    return tuple(tools)


def _tool(desk: Desk, verb: Operation, counts: Counts) -> Tool:
    def call(given: Mapping[str, object], budget: Deadline) -> ToolAnswer:
        answer = cleaned(ask(desk, verb, given, budget))
        return ToolAnswer(render(answer), answer.as_fields(exclude=_details(answer)), links_of(answer))

    return Tool(
        name=verb.name,
        title=verb.title,
        description=verb.description,
        input_schema=schema_of([item for item in verb.arguments if item.for_models], counts),
        output_schema=compact_schema(verb.answer),
        call=call,
        read_only=verb is not CLEAR_CACHE,
    )


def _details(answer: Wire) -> dict[str, Any] | None:
    """Fields of results that a model has no use for, unless it has asked for reasons: they cost it a tenth more."""
    if not isinstance(answer, SearchAnswer | EmailSearchAnswer) or any(item.why for item in answer.results):
        return None
    return {"results": {"__all__": {"file_name", "summary", "match_type", "language"}}}


def links_of(answer: Wire) -> tuple[Link, ...]:
    """One link per document found, best first, at most `MOST_LINKS`."""
    if not isinstance(answer, SearchAnswer | EmailSearchAnswer):
        return ()
    links: dict[str, Link] = {}
    for item in answer.results:
        links.setdefault(
            item.uri,
            Link(
                uri=item.uri,
                name=inline(item.file_path),
                title=inline(item.title),
                mime_type=mime_type(item.file_type),
                priority=min(max(item.relevance_score or 0.0, 0.0), 1.0),
                last_modified=item.last_modified,
            ),
        )
    return tuple(links.values())[:MOST_LINKS]


def mime_type(file_type: str) -> str:
    """What a resource read of such a file gives: its text, as Markdown where it is that."""
    return "text/markdown" if file_type in {".md", ".markdown", ".mkd", ".mdx", ".qmd", ".rmd"} else "text/plain"
