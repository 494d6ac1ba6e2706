"""Output schemas for models' eyes: pydantic's JSON Schema without what costs tokens and says nothing.

No titles, no defaults, no class docstrings, `required` only at the root; `anyOf [X, null]` becomes a type with null in
it, or without where answers leave such fields out; a definition that is used once stands where it is used; where the
values are listed, their type isn't. What comes only on request is named, its parts aren't.
"""

from __future__ import annotations

from typing import Any

from ..vocabulary.wire import Wire

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
