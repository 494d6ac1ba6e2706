"""Descriptions of HTTP interfaces (OpenAPI 3, Swagger 2), written out as a reader would want them: by operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .manuscript import Manuscript, one_line

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_MAX_DEPTH = 3  #: of properties inside properties
_MAX_PROPERTIES = 400  #: of one schema
_MAX_ENUM = 30


def write_open_api(manuscript: Manuscript, description: Any) -> None:
    """Title, description and servers; then each operation and each schema under a heading of its own.

    Raises what strange shapes raise (TypeError, AttributeError, KeyError, ValueError).
    """
    info = _mapping(description.get("info"))
    manuscript.heading(1, f"{info.get('title') or 'API'} {info.get('version') or ''}")
    _text(manuscript, info.get("description"))
    servers = [f"{one.get('url', '')} {one.get('description', '')}" for one in description.get("servers") or ()]
    if host := description.get("host"):
        servers.append(f"{host}{description.get('basePath') or ''}")
    for server in servers:
        manuscript.item(f"Server: {one_line(server)}")
    for tag in description.get("tags") or ():
        manuscript.item(f"{_mapping(tag).get('name') or ''}: {one_line(str(_mapping(tag).get('description') or ''))}")
    for path, item in _mapping(description.get("paths")).items():
        shared = _mapping(item).get("parameters") or []
        for method in _METHODS:
            operation = _mapping(item).get(method)
            if isinstance(operation, dict):
                _operation(manuscript, description, f"{method.upper()} {path}", operation, shared)
    components = _mapping(description.get("components"))
    for name, schema in {**_mapping(description.get("definitions")), **_mapping(components.get("schemas"))}.items():
        manuscript.heading(2, f"Schema {name}")
        _schema(manuscript, description, _mapping(schema))


def _operation(
    manuscript: Manuscript,
    root: Any,
    head: str,
    operation: Mapping[str, Any],
    shared: list[Any],
) -> None:
    manuscript.heading(2, head)
    summary, name = operation.get("summary") or "", operation.get("operationId") or ""
    manuscript.paragraph(f"{summary}{' (deprecated)' if operation.get('deprecated') else ''}")
    if name:
        manuscript.paragraph(f"Operation `{name}`, {', '.join(map(str, operation.get('tags') or ('untagged',)))}")
    _text(manuscript, operation.get("description"))
    rows = [["Parameter", "In", "Type", "Required", "Description"]]
    for given in [*shared, *(operation.get("parameters") or [])]:
        parameter = _resolved(root, given)
        schema = _mapping(parameter.get("schema")) or parameter
        rows.append(
            [
                str(parameter.get("name") or ""), str(parameter.get("in") or ""), _type(schema),
                "yes" if parameter.get("required") else "no", one_line(str(parameter.get("description") or "")),
            ]
        )  # fmt: skip
    if len(rows) > 1:
        manuscript.table(rows)
    body = _resolved(root, operation.get("requestBody"))
    if body:
        manuscript.paragraph(f"Request body: {one_line(str(body.get('description') or ''))} {_media(body)}")
        for media in _mapping(body.get("content")).values():
            schema = _mapping(_mapping(media).get("schema"))
            if "$ref" not in schema:
                _schema(manuscript, root, schema)
            break
    for code, given in _mapping(operation.get("responses")).items():
        response = _resolved(root, given)
        manuscript.item(f"{code}: {one_line(str(response.get('description') or ''))} {_media(response)}")


def _media(content: Mapping[str, Any]) -> str:
    """The media types of a body and the names of their schemas."""
    shown = [
        f"{kind} {_type(_mapping(_mapping(media).get('schema')))}"
        for kind, media in _mapping(content.get("content")).items()
    ]
    if "schema" in content:
        shown.append(_type(_mapping(content["schema"])))
    return f"({', '.join(one_line(words) for words in shown)})" if shown else ""


def _schema(manuscript: Manuscript, root: Any, schema: Mapping[str, Any]) -> None:
    _text(manuscript, schema.get("description"))
    rows = [["Property", "Type", "Required", "Description"]]
    for row in _properties(root, schema, "", 0):
        rows.append(row)
        if len(rows) > _MAX_PROPERTIES:
            break
    if len(rows) > 1:
        manuscript.table(rows)
    elif words := _type(schema):
        manuscript.paragraph(f"Type: {words}")


def _properties(root: Any, schema: Mapping[str, Any], lead: str, depth: int) -> Iterator[list[str]]:
    for part in schema.get("allOf") or ():
        if depth < _MAX_DEPTH:
            yield from _properties(root, _resolved(root, part), lead, depth + 1)
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set()
    for name, given in _mapping(schema.get("properties")).items():
        inner = _mapping(given)
        words = one_line(str(inner.get("description") or ""))
        yield [f"{lead}{name}", _type(inner), "yes" if str(name) in needed else "no", words]
        nested = _mapping(inner.get("items")) if inner.get("type") == "array" else inner
        if "properties" in nested and depth < _MAX_DEPTH:
            yield from _properties(root, nested, f"{lead}{name}.", depth + 1)


def _type(schema: Mapping[str, Any]) -> str:
    """`string (date-time)`, `array of Pet`, `one of: cat, dog`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    for key, words in (("oneOf", "one of"), ("anyOf", "any of"), ("allOf", "all of")):
        if isinstance(schema.get(key), list):
            return f"{words}: {', '.join(_type(_mapping(part)) for part in schema[key][:_MAX_ENUM])}"
    kind = schema.get("type")
    shown = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind or "")
    if shown == "array":
        shown = f"array of {_type(_mapping(schema.get('items'))) or 'anything'}"
    if schema.get("format"):
        shown += f" ({schema['format']})"
    if isinstance(schema.get("enum"), list):
        shown += f", one of: {', '.join(map(str, schema['enum'][:_MAX_ENUM]))}"
    if "default" in schema:
        shown += f", default {schema['default']}"
    return one_line(shown)[:500]


def _resolved(root: Any, given: Any) -> Mapping[str, Any]:
    """A mapping, through one reference within the file."""
    reference = _mapping(given).get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return _mapping(given)
    place = root
    for name in reference[2:].split("/"):
        place = _mapping(place).get(name.replace("~1", "/").replace("~0", "~"))
    return _mapping(place)


def _text(manuscript: Manuscript, words: Any) -> None:
    for paragraph in str(words or "").split("\n\n"):
        manuscript.paragraph(paragraph)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
