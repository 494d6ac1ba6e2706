"""What a model can do: the verbs as tools, each answer in two complete halves, fields and text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..vocabulary.arguments import Counts, schema_of
from ..vocabulary.desk_protocol import Desk
from ..vocabulary.errors import SetupError
from ..vocabulary.fencing import inline
from ..vocabulary.protocols import Budget
from ..vocabulary.toolsets import RAG, REGISTRY, SITES
from ..vocabulary.verbs import CLEAR_CACHE, VERBS, Verb, ask
from ..vocabulary.wire import EmailSearchAnswer, SearchAnswer, Wire
from .rendering import cleaned, render
from .schemas import compact_schema

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
    call: Callable[[Mapping[str, object], Budget], ToolAnswer] = field(repr=False)
    read_only: bool = True


TOOLSETS: dict[str, tuple[Verb, ...]] = {"rag": RAG, "registry": REGISTRY, "sites": SITES}
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


def _tool(desk: Desk, verb: Verb, counts: Counts) -> Tool:
    def call(given: Mapping[str, object], budget: Budget) -> ToolAnswer:
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
