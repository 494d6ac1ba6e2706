"""Reading a document, whole or by section or by lines."""

from __future__ import annotations

from collections.abc import Sequence

from ..vocabulary import wire
from ..vocabulary.errors import CallerError, NotFound
from ..vocabulary.types import Heading, StoredChunk, StoredDocument
from . import addresses
from .arguments import nearest


def _lines(text: str) -> list[str]:
    return text.split("\n")


def find_section(headings: Sequence[Heading], wanted: str) -> int | None:
    """Index of the heading that `wanted` names: its text (any case), `Parent > Child`, or its anchor."""
    key = wanted.strip().lstrip("#").strip()
    last = key.split(" > ")[-1].strip().lower()
    for matches in (
        lambda heading: heading.text.lower() == last,
        lambda heading: addresses.anchor(heading.text) == last,
        lambda heading: addresses.anchor(heading.text) == addresses.anchor(last),
    ):
        for index, heading in enumerate(headings):
            if matches(heading):
                return index
    return None


def section_lines(headings: Sequence[Heading], index: int, last_line: int) -> tuple[int, int]:
    """First and last line of a section with its sub-sections."""
    heading = headings[index]
    for later in headings[index + 1 :]:
        if later.level <= heading.level:
            return heading.line, max(heading.line, later.line - 1)
    return heading.line, last_line


def read(
    stored: StoredDocument,
    *,
    section: str | None,
    ordinal_chunk: StoredChunk | None,
    line_start: int | None,
    line_end: int | None,
    max_chars: int,
) -> wire.DocumentAnswer:
    """The wanted lines of a document, cut at a line border after `max_chars` characters (0 = no limit).

    Raises `NotFound` for an unknown section and `CallerError` for lines outside the document.
    """
    document = stored.document
    lines = _lines(document.text)
    first, last, name = 1, len(lines), None
    if section:
        index = find_section(document.headings, section)
        if index is None:
            titles = [heading.text for heading in document.headings]
            near = nearest(section, titles) or titles[:5]
            hint = f"It has: {', '.join(repr(title) for title in near)}." if near else "It has no headings."
            raise NotFound(f"No section {section!r} in {document.file_path!r}.", hint=hint)
        first, last = section_lines(document.headings, index, len(lines))
        name = document.headings[index].text
    elif ordinal_chunk is not None and line_start is None and line_end is None:
        first, last = ordinal_chunk.chunk.line_start, ordinal_chunk.chunk.line_end
        name = ordinal_chunk.chunk.heading_path[-1] if ordinal_chunk.chunk.heading_path else None
    if line_start is not None or line_end is not None:
        if line_start is not None and line_start > len(lines):
            raise CallerError(
                f"line_start is {line_start}; {document.file_path!r} has {len(lines)} lines.",
                hint=f"Use 1 to {len(lines)}.",
            )
        if line_start is not None and line_end is not None and line_end < line_start:
            raise CallerError(f"line_end {line_end} lies before line_start {line_start}.", hint="Swap them.")
        first = max(first, line_start or 1)
        last = min(last, line_end or len(lines))
    last = max(first, last)
    kept: list[str] = []
    used, end = 0, first - 1
    for number in range(first, last + 1):
        line = lines[number - 1]
        if max_chars and used + len(line) + 1 > max_chars and kept:
            break
        if max_chars and not kept and len(line) > max_chars:
            line = line[:max_chars]
        kept.append(line)
        used += len(line) + 1
        end = number
    truncated = end < last or (bool(max_chars) and bool(kept) and len(kept[-1]) < len(lines[end - 1]))
    return wire.DocumentAnswer(
        file_path=document.file_path,
        title=document.title,
        product=document.product,
        component=document.component,
        doc_type=document.doc_type,
        tags=list(document.tags),
        language=document.language,
        encoding=document.encoding,
        headings=[
            wire.HeadingItem(level=heading.level, text=heading.text, line=heading.line, page=heading.page)
            for heading in document.headings
        ],
        section=name,
        content="\n".join(kept),
        line_start=first,
        line_end=max(first, end),
        truncated=truncated,
        next_line=end + 1 if end < last else None,
        last_modified=document.last_modified,
        indexed_at=stored.indexed_at,
    )
