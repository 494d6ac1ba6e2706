"""Descriptions of HTTP interfaces (OpenAPI 3, Swagger 2), written out as a reader would want them: by operation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ..models import Block, Document, SourceFile
from .document_builder import DocumentBuilder, new_document, one_line
from .encoding import decode
from .front_matter import nested_too_deep
from .metadata import doc_type_of, title_from_name

_OPEN_API = re.compile(r"(?:^|\A\s*\{[^{}]{0,200})[^\S\n]*[\"']?(?:openapi|swagger)[\"']?\s*:\s*[\"']?[23]\.", re.M)
_SAMPLE = 200_000  #: characters in which a description of an interface says that it is one
_BOUNDARY = re.compile(r"^(?:---[ \t]*(?:#[^\n]*)?$|(?=[^\s#{}\[\]\-][^\n]*:))", re.M)
_LONGEST = 2_000  #: characters of a top-level entry that is kept in one piece


class StructuredDataParser:
    """OpenAPI and Swagger by operation and schema; any other file as its lines, cut between top-level entries."""

    extensions: tuple[str, ...] = (".json", ".yaml", ".yml")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        text = decoded.text
        notes: tuple[str, ...] = ()
        if _OPEN_API.search(text[:_SAMPLE]):
            try:
                builder = DocumentBuilder()
                _Description(builder, _loaded(text, source.extension)).write()
                if not builder.is_empty:
                    return builder.document(source, doc_type="api")
            except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
                notes = (f"not a readable OpenAPI description: {str(error)[:200]}",)
        title = title_from_name(source.file_path)
        return new_document(
            source,
            title,
            text,
            decoded,
            blocks=_entries(text),
            doc_type=doc_type_of(source.file_path, title, ""),
            title_in_text=False,
            notes=notes,
        )


def _loaded(text: str, file_type: str) -> Any:
    if file_type == ".json" or text.lstrip().startswith("{"):
        return json.loads(text)
    if nested_too_deep(text):
        raise ValueError("it is nested too deep")
    import yaml

    try:
        # Aliases are shared, never copied, and nothing but plain data is built.
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _entries(text: str) -> tuple[Block, ...]:
    """Top-level entries of YAML, and stretches of lines of anything else, as blocks that are cut between lines."""
    starts = sorted({0, *(match.start() for match in _BOUNDARY.finditer(text))})
    blocks: list[Block] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        stop = start + len(text[start:end].rstrip())
        if stop <= start:
            continue
        last = blocks[-1] if blocks else None
        # Short entries (kind: Pod, apiVersion: v1) say little alone; a document of their own isn't joined.
        if last and stop - last.start <= _LONGEST and not text.startswith("---", start):
            blocks[-1] = Block("fence", last.start, stop)
        else:
            blocks.append(Block("fence", start, stop))
    return tuple(blocks)


_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_MAX_DEPTH = 3  #: of properties inside properties
_PARTS = ("allOf", "oneOf", "anyOf")
_MAX_PROPERTIES = 400  #: of one schema
_MAX_ENUM = 30
_MAX_EXAMPLES = 3  #: of one body or schema
_MAX_EXAMPLE = 1_000  #: characters; YAML's references can make a short example endless


class _Description:
    """Writes a description: title and servers; then each operation, schema and security scheme under a heading.

    Raises what strange shapes raise (TypeError, AttributeError, KeyError, ValueError).
    """

    def __init__(self, builder: DocumentBuilder, root: Any) -> None:
        self._out = builder
        self._root = root

    def write(self) -> None:
        root, out, components = self._root, self._out, _at(self._root, "components")
        info = _at(root, "info")
        out.heading(1, f"{info.get('title') or 'API'} {info.get('version') or ''}")
        self._texts(info, "description")
        hosts = [{"url": f"{root['host']}{root.get('basePath') or ''}"}] if root.get("host") else []
        for server in [*(root.get("servers") or ()), *hosts]:
            out.item(f"Server: {server.get('url', '')} {_described(server)}")
        for tag in map(_mapping, root.get("tags") or ()):
            out.item(f"{tag.get('name') or ''}: {_described(tag)}")
        self._texts(root)
        for path, item in _at(root, "paths").items():
            self._path(str(path), item)
        for name, item in _at(root, "webhooks").items():
            self._path(f"{name} (webhook)", item)
        for name, schema in {**_at(root, "definitions"), **_at(components, "schemas")}.items():
            out.heading(2, f"Schema {name}")
            self._schema(_mapping(schema))
        for name, scheme in {**_at(root, "securityDefinitions"), **_at(components, "securitySchemes")}.items():
            out.heading(2, f"Security scheme {name}")
            held = self._resolved(scheme)
            facts = ("type", "scheme", "bearerFormat", "in", "name", "flow")
            out.paragraph(", ".join(str(held[key]) for key in facts if held.get(key)))
            self._texts(held, "description")
            for flow in (held, *_at(held, "flows").values()):
                for scope, words in _at(_mapping(flow), "scopes").items():
                    out.item(f"{scope}: {one_line(str(words or ''))}")

    def _path(self, path: str, given: Any, *, called_back: bool = False) -> None:
        item = self._resolved(given)
        for method in _METHODS:
            operation = item.get(method)
            if isinstance(operation, dict):
                self._operation(f"{method.upper()} {path}", operation, item)
                for name, callback in ({} if called_back else _at(operation, "callbacks")).items():
                    for address, inner in self._resolved(callback).items():
                        self._path(f"{address} (callback {name})", inner, called_back=True)

    def _operation(self, head: str, operation: Mapping[str, Any], item: Mapping[str, Any]) -> None:
        out = self._out
        out.heading(2, head)
        summary, name = operation.get("summary") or "", operation.get("operationId") or ""
        out.paragraph(f"{summary}{' (deprecated)' if operation.get('deprecated') else ''}")
        if name:
            out.paragraph(f"Operation `{name}`, {', '.join(map(str, operation.get('tags') or ('untagged',)))}")
        self._texts(operation, "description")
        self._texts(item, "summary", "description")
        rows = [["Parameter", "In", "Type", "Required", "Description"]]
        for given in [*(item.get("parameters") or []), *(operation.get("parameters") or [])]:
            parameter = self._resolved(given)
            schema = _at(parameter, "schema") or parameter
            needed = "yes" if parameter.get("required") else "no"
            words = _described(parameter) or _described_by_parts(self._resolved(schema))
            rows.append([str(parameter.get("name")), str(parameter.get("in")), _type(schema), needed, words])
        if len(rows) > 1:
            out.table(rows)
        if body := self._resolved(operation.get("requestBody")):
            out.paragraph(f"Request body: {_described(body)} {_media(body)}")
            self._content(body)
        for code, given in _at(operation, "responses").items():
            response = self._resolved(given)
            out.item(f"{code}: {_described(response)} {_media(response)}")
            for header, value in _at(response, "headers").items():
                held = self._resolved(value)
                out.item(f"Header {header} ({_type(_at(held, 'schema') or held)}): {_described(held)}", 1)
            self._content(response)

    def _content(self, body: Mapping[str, Any]) -> None:
        """The schema of a body where it has no name, and examples; several media types hold the same."""
        contents: Sequence[Any] = list(islice(_at(body, "content").values(), 1)) or [body]
        for media in map(_mapping, contents):
            schema = _at(media, "schema")
            if "$ref" not in schema:
                self._schema(schema, named=False)
            self._examples(media)

    def _schema(self, schema: Mapping[str, Any], *, named: bool = True) -> None:
        """`named` if nothing else has shown the schema's type."""
        for holder in (schema, *_parts(schema)):
            self._texts(holder, "description")
        items = _at(schema, "items") if schema.get("type") == "array" else {}
        found = self._properties(schema if "$ref" in items or not items else items, "", 0)
        unique = dict.fromkeys(map(tuple, islice(found, _MAX_PROPERTIES)))  # alternatives share properties
        rows: list[Sequence[str]] = [["Property", "Type", "Required", "Description"], *unique]
        if len(rows) > 1:
            self._out.table(rows)
        elif named and (words := _type(schema)):
            self._out.paragraph(f"Type: {words}")
        self._examples(schema)

    def _properties(self, schema: Mapping[str, Any], lead: str, depth: int) -> Iterator[list[str]]:
        for key in _PARTS:
            for part in schema.get(key) or ():
                # Alternatives with names are shown under these, and so is what a property is made of.
                named = "$ref" in _mapping(part)
                if depth < _MAX_DEPTH and (not named or (key == "allOf" and not lead)):
                    yield from self._properties(self._resolved(part), lead, depth + 1)
        required = schema.get("required")
        needed = set(map(str, required)) if isinstance(required, list) else set()
        for name, given in _at(schema, "properties").items():
            inner = _mapping(given)
            yield [f"{lead}{name}", _type(inner), "yes" if str(name) in needed else "no", _described_by_parts(inner)]
            nested = _at(inner, "items") if inner.get("type") == "array" else inner
            if depth < _MAX_DEPTH and not nested.keys().isdisjoint(("properties", *_PARTS)):
                yield from self._properties(nested, f"{lead}{name}.", depth + 1)

    def _examples(self, holder: Mapping[str, Any]) -> None:
        """`example` and `examples` of a body or schema."""
        given = holder.get("examples")
        shown: list[Any] = [holder["example"]] if "example" in holder else []
        if isinstance(given, list):
            shown += given
        for example in islice(_mapping(given).values(), _MAX_EXAMPLES):
            resolved = self._resolved(example)
            self._texts(resolved, "summary")
            shown.append(resolved.get("value", resolved or example))
        encoder = json.JSONEncoder(indent=2, skipkeys=True, ensure_ascii=False, default=str)
        for value in shown[:_MAX_EXAMPLES]:
            is_text = isinstance(value, str)
            written = value if is_text else "".join(islice(encoder.iterencode(value), _MAX_EXAMPLE))
            self._out.fence(written[:_MAX_EXAMPLE], "" if is_text else "json")

    def _texts(self, holder: Mapping[str, Any], *keys: str) -> None:
        """The texts under some keys as paragraphs, and where more is said."""
        for paragraph in (part for key in keys for part in str(holder.get(key) or "").split("\n\n")):
            self._out.paragraph(paragraph)
        given = _at(holder, "externalDocs")
        if url := str(given.get("url") or ""):
            words = _described(given) or url
            self._out.paragraph(f"See also: {words}", [(words, url)])

    def _resolved(self, given: Any) -> Mapping[str, Any]:
        """A mapping, through one reference within the file."""
        reference = _mapping(given).get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return _mapping(given)
        place = self._root
        for name in reference[2:].split("/"):
            place = _mapping(place).get(name.replace("~1", "/").replace("~0", "~"))
        return _mapping(place)


def _described(*holders: Mapping[str, Any]) -> str:
    return one_line(" ".join(dict.fromkeys(str(holder.get("description") or "") for holder in holders)))


def _parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a schema is made of, as far as it has no name of its own."""
    return [part for key in _PARTS for part in map(_mapping, schema.get(key) or ()) if "$ref" not in part]


def _described_by_parts(schema: Mapping[str, Any]) -> str:
    return _described(schema, *_parts(schema), _at(schema, "items"))


def _media(content: Mapping[str, Any]) -> str:
    """The media types of a body and the names of their schemas."""
    held = [(f"{kind} ", media) for kind, media in _at(content, "content").items()]
    held += [("", content)] if "schema" in content else []
    shown = ", ".join(one_line(kind + _type(_mapping(_mapping(media).get("schema")))) for kind, media in held)
    return f"({shown})" if held else ""


def _type(schema: Mapping[str, Any]) -> str:
    """`string (date-time)`, `array of Pet`, `one of: cat, dog`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    for key, words in (("oneOf", "one of"), ("anyOf", "any of"), ("allOf", "all of")):
        if isinstance(schema.get(key), list):
            shown = ", ".join(filter(None, (_type(_mapping(part)) for part in schema[key][:_MAX_ENUM])))
            return shown if key == "allOf" and "," not in shown else f"{words}: {shown or 'object'}"
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


def _at(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return _mapping(holder.get(key))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
