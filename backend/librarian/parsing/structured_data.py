"""JSON and YAML: `.json`, `.yaml`, `.yml`. Descriptions of HTTP interfaces are written out by operation."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from ..models import Block, Document, SourceFile
from .document_builder import DocumentBuilder, new_document
from .encoding import decode
from .front_matter import nested_too_deep
from .metadata import doc_type_of, title_from_name
from .open_api import write_open_api

_OPEN_API = re.compile(r"^[^\S\n]*[\"']?(?:openapi|swagger)[\"']?\s*:\s*[\"']?[23]\.", re.M)
_COMPACT_OPEN_API = re.compile(r"^\s*\{[^{}]{0,200}\"(?:openapi|swagger)\"\s*:\s*\"[23]\.")
_SAMPLE = 200_000  #: characters in which a description of an interface says that it is one
_BOUNDARY = re.compile(r"^(?:---[ \t]*(?:#[^\n]*)?$|(?=[^\s#{}\[\]\-][^\n]*:))", re.M)
_LONGEST = 2_000  #: characters of a top-level entry that is kept in one piece


class StructuredDataParser:
    """OpenAPI and Swagger by operation and schema; any other file as its lines, cut between top-level entries."""

    extensions: tuple[str, ...] = (".json", ".yaml", ".yml")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        text, file_type = decoded.text, source.extension
        notes: tuple[str, ...] = ()
        if _OPEN_API.search(text[:_SAMPLE]) or _COMPACT_OPEN_API.match(text):
            try:
                builder = DocumentBuilder()
                write_open_api(builder, _loaded(text, file_type))
                if not builder.is_empty:
                    return replace(builder.document(source, file_type), doc_type="api")
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
