"""What a model can do: the operations as tools, each answer in two complete halves, fields and text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import SetupError
from ..schemas import (
    TOOLSETS,
    EmailSearchResponse,
    Operation,
    ResponseModel,
    Result,
    ResultLimits,
    SearchResponse,
    input_schema,
    output_schema,
)
from ..text.sanitizing import inline
from .library_handle import LibraryHandle
from .model_text import cleaned, render

MOST_LINKS = 10  #: each costs the client some 200 bytes and the server some 9 µs


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """Both halves of an answer, without hidden characters; a host may show a model only one of them."""

    text: str
    structured: dict[str, Any]
    links: tuple[dict[str, Any], ...] = ()  #: `ResourceLink`s as JSON has them


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as every transport offers it; `call` is synchronous and raises `LibrarianError`s."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object] | None
    call: Callable[[Mapping[str, object]], ToolAnswer] = field(repr=False)
    read_only: bool = True


def build_tools(
    handle: LibraryHandle, toolsets: Sequence[str] = (), limits: ResultLimits = ResultLimits()
) -> tuple[Tool, ...]:
    """The nine tools of every library, then those of `toolsets`, in an order that never changes.

    Their schemas say how many results `limits` allows. Raises `SetupError` for a toolset that doesn't exist.
    """
    further = [name for name in TOOLSETS if name != "default"]
    chosen = ["default", *(further if "all" in toolsets else dict.fromkeys(toolsets))]
    if unknown := [name for name in chosen if name not in TOOLSETS]:
        known = ", ".join(["all", *further])
        raise SetupError(f"No toolset {unknown[0]!r}.", hint=f"Set toolsets (MCP_TOOLSETS) to any of: {known}.")
    return tuple(_tool(handle, operation, limits) for name in chosen for operation in TOOLSETS[name])


def _tool(handle: LibraryHandle, operation: Operation, limits: ResultLimits) -> Tool:
    def call(arguments: Mapping[str, object]) -> ToolAnswer:
        response = handle.call(operation.name, arguments)
        assert isinstance(response, ResponseModel)
        response = cleaned(response)
        return ToolAnswer(render(response), response.as_fields(exclude=_details(response)), links_of(response))

    return Tool(
        name=operation.name,
        title=operation.title,
        description=operation.description,
        input_schema=input_schema(operation.request, limits),
        output_schema=output_schema(operation.response) if operation.response else None,
        call=call,
        read_only=operation.read_only,
    )


def _details(answer: ResponseModel) -> dict[str, Any] | None:
    """Fields of results that a model has no use for, unless it has asked for reasons: they cost it a tenth more."""
    if not isinstance(answer, SearchResponse | EmailSearchResponse) or any(item.why for item in answer.results):
        return None
    return {"results": {"__all__": {"file_name", "summary", "match_type", "language"}}}


def links_of(answer: ResponseModel) -> tuple[dict[str, Any], ...]:
    """One link per document found, best first, at most `MOST_LINKS`."""
    if not isinstance(answer, SearchResponse | EmailSearchResponse):
        return ()
    found: dict[str, Result] = {}
    for item in answer.results:
        found.setdefault(item.uri, item)
    return tuple(
        {
            "type": "resource_link",
            "uri": item.uri,
            "name": inline(item.file_path),
            "title": inline(item.title),
            "mimeType": mime_type(item.file_type),
            "annotations": {
                "audience": ["user", "assistant"],
                "priority": min(max(item.relevance_score or 0.0, 0.0), 1.0),
                "lastModified": item.last_modified,
            },
        }
        for item in list(found.values())[:MOST_LINKS]
    )


def mime_type(file_type: str) -> str:
    """What a resource read of such a file gives: its text, as Markdown where it is that."""
    return "text/markdown" if file_type in {".md", ".markdown", ".mkd", ".mdx", ".qmd", ".rmd"} else "text/plain"
