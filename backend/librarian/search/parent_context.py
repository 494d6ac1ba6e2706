"""What surrounds a hit: its document's title, summary and outline, where it stands there, and its neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..models import Document, StoredChunk, StoredDocument, passage_id
from ..text.sanitizing import without_hidden

#: Headings of the outline and characters of a neighbour that are shown.
OUTLINE, NEIGHBOUR = 20, 300


def parent_context(
    chunk: StoredChunk, document: StoredDocument, siblings: Sequence[StoredChunk]
) -> Mapping[str, object]:
    """The fields of `wire.ParentContext`. `siblings` are the document's chunks in order."""
    about = document.document
    place = next((i for i, sibling in enumerate(siblings) if sibling.chunk_id == chunk.chunk_id), None)
    before = siblings[place - 1] if place else None
    after = siblings[place + 1] if place is not None and place + 1 < len(siblings) else None
    return {
        "title": without_hidden(about.title),
        "summary": without_hidden(about.summary),
        "headings": [without_hidden(heading.text) for heading in about.headings[:OUTLINE]],
        "breadcrumb": breadcrumb(about, chunk.chunk.heading_path),
        "previous": _neighbour(before, about, from_end=True),
        "next": _neighbour(after, about, from_end=False),
    }


def breadcrumb(document: Document, heading_path: Sequence[str]) -> str:
    """Product, component, title and headings down to the passage, each said once.

    >>> document = Document("ray/core/actors.md", "ray", "core", "document", ".md", "Actors", "")
    >>> breadcrumb(document, ("Actors", "Concurrency"))
    'ray / core / Actors / Concurrency'
    """
    parts: list[str] = []
    for part in (document.product, document.component, document.title, *heading_path):
        if part and (not parts or parts[-1] != part):
            parts.append(without_hidden(part))
    return " / ".join(parts)


def _neighbour(chunk: StoredChunk | None, document: Document, *, from_end: bool) -> Mapping[str, object] | None:
    """The neighbour's side that touches the hit, cut at a word."""
    if chunk is None:
        return None
    text = without_hidden(chunk.chunk.text).strip()
    if len(text) > NEIGHBOUR:
        tail, head = text[-NEIGHBOUR:].split(" ", 1)[-1], text[:NEIGHBOUR].rsplit(" ", 1)[0]
        text = f"…{tail}" if from_end else f"{head}…"
    return {
        "id": passage_id(document.file_path, chunk.chunk),
        "heading_path": [without_hidden(heading) for heading in chunk.chunk.heading_path],
        "text": text,
    }
