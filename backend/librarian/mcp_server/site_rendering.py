"""Documents of the toolset `sites` as the Markdown that a model reads."""

from __future__ import annotations

from ..schemas import SiteDocument, SiteDocumentsResponse, SiteListResponse, SiteSearchResponse
from ..vocabulary.counted import counted
from ..vocabulary.fencing import fenced, inline


def documents(answer: SiteDocumentsResponse) -> str:
    """Title, category, sources and date, summary, sections; several documents with a rule between them."""
    parts = [_document(item, answer.include_sections, answer.include_metadata) for item in answer.documents]
    return fenced("documents", "\n\n---\n\n".join(parts))


def _document(item: SiteDocument, sections: bool, metadata: bool) -> str:
    parts = [f"# {item.title}"]
    if metadata:
        facts = [f"**Category:** {item.category}", f"**Sources:** [{', '.join(item.sources or [item.file_path])}]"]
        facts += [f"**Last Updated:** {item.last_updated[:10]}"]
        parts.append("\n".join([*facts, *([f"**Keywords:** {', '.join(item.keywords)}"] if item.keywords else [])]))
    parts += ["## Summary", item.summary or "(none)"]
    if sections and item.sections:
        parts.append("## Sections")
        for section in item.sections:
            first, _, rest = section.content.partition("\n")
            text = rest.strip("\n") if first.lstrip().startswith("#") else section.content
            parts += [f"### {section.title}", *([text] if text.strip() else [])]
    return "\n\n".join(parts)


def found(answer: SiteSearchResponse) -> str:
    """Documents with the sections that match."""
    if not answer.results:
        nearest = fenced("documents", "\n".join(answer.suggestions)) if answer.suggestions else ""
        return "\n".join(filter(None, [f"Nothing found for {inline(repr(answer.query))}.", nearest]))
    parts = []
    for place, item in enumerate(answer.results, 1):
        lines = [
            f"{place}. {item.title}",
            f"slug {item.slug} · {item.project}/{item.category} · score {item.relevance_score:.2f}",
            item.content_preview,
        ]
        for match in item.section_matches:
            snippet = " ".join(match.content_snippet.split())
            lines.append(f"- {match.section_title} ({match.section_id}, {match.relevance_score:.2f}): {snippet[:300]}")
        parts.append("\n".join(line for line in lines if line))
    degraded = [f"Degraded: {inline(reason)}" for reason in answer.degraded]
    return "\n\n".join([*degraded, fenced("passages", "\n\n".join(parts))])


def listed(answer: SiteListResponse) -> str:
    """Categories with their documents, a line each."""
    parts = []
    for category in answer.categories:
        lines = [f"## {category.name} ({category.document_count})"]
        for item in category.documents:
            lines.append(
                f"- {item.title} [{item.slug}] {item.last_updated[:10]}: {item.description[:160]}".rstrip(": ")
            )
        parts.append("\n".join(lines))
    head = counted(answer.total_documents, "document")
    return "\n\n".join([head, fenced("documents", "\n\n".join(parts))]) if parts else head
