"""Documents as sites know them: by project, category and slug, in sections with their scores."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import CallerError, NotFound, nearest, shortened, some_of
from ..models import Deadline, Document, Filters, Hit, Query, SearchOutcome, StoredDocument
from ..parsing.front_matter import read_front_matter
from ..schemas import (
    SectionMatch,
    SiteCategory,
    SiteDocument,
    SiteDocumentsResponse,
    SiteListItem,
    SiteListResponse,
    SiteResult,
    SiteSearchResponse,
    SiteSection,
)
from ..storage.base import Catalog
from . import digest
from .pages import slug_of

GENERAL = "general"
SECTIONS_PER_DOCUMENT = 5
MOST_HITS = 50  #: passages that one search is asked for
MOST_DOCUMENTS = 20  #: that one call may load


@dataclass(frozen=True, slots=True)
class _Entry:
    slug: str
    stored: StoredDocument  # without its text

    @property
    def document(self) -> Document:
        return self.stored.document

    @property
    def category(self) -> str:
        return self.document.file_path.removeprefix(f"{self.document.product}/").rpartition("/")[0] or GENERAL

    @property
    def named(self) -> dict[str, str]:
        return {"slug": self.slug, "title": self.document.title, "project": self.document.product}


class Sites:
    """Thread-safe. `search` is the library's own engine, so that scores and modes are the same everywhere."""

    def __init__(self, catalog: Catalog, search: Callable[[Query, Deadline], SearchOutcome]) -> None:
        self._catalog = catalog
        self._search = search
        self._lock = threading.Lock()
        self._known: tuple[int, dict[str, _Entry]] = (-1, {})

    def search_doc(self, query: Query, category: str | None, limit: int, deadline: Deadline) -> SiteSearchResponse:
        """The best `limit` documents, each with the sections that match. `query.filters.product` is the project."""
        project = query.filters.product
        by_path = {entry.document.file_path: entry for entry in _within(self._entries().values(), project, category)}
        filters = Filters(kind="document", product=project)
        if category is not None:
            filters = replace(filters, file_paths=tuple(by_path))
        each = max(1, min(SECTIONS_PER_DOCUMENT, MOST_HITS // limit))  # so that many documents get a place each
        most = min(MOST_HITS, limit * (each + 1))
        outcome = self._search(
            Query(text=query.text, mode=query.mode, filters=filters, max_results=most, max_per_document=each), deadline
        )
        groups: dict[str, list[Hit]] = {}
        for hit in outcome.hits:
            paths = (hit.document.document.file_path, *hit.document.also_in)
            if path := next((path for path in paths if path in by_path), ""):
                groups.setdefault(path, []).append(hit)
        return SiteSearchResponse(
            query=query.text,
            mode=outcome.mode,
            results=[_result(by_path[path], hits) for path, hits in list(groups.items())[:limit]],
            suggestions=[str(item.get("text", "")) for item in outcome.suggestions],
            degraded=list(outcome.degraded),
        )

    def load_doc(self, wanted: Sequence[str], include_sections: bool, include_metadata: bool) -> SiteDocumentsResponse:
        """Documents by slug (or file path, or section id), in the order asked. Raises `NotFound` with the nearest."""
        if not wanted:
            raise CallerError("slug is empty.", hint="Take it from searchDoc or listDoc.")
        if len(wanted) > MOST_DOCUMENTS:
            raise CallerError(f"slug names {len(wanted)} documents.", hint=f"Load {MOST_DOCUMENTS} at a time.")
        entries = self._entries()
        paths = {entry.document.file_path: entry for entry in entries.values()}
        found = []
        for name in dict.fromkeys(text.strip().partition("#")[0] for text in wanted):
            entry = entries.get(name.lower()) or paths.get(name)
            if entry is None:
                near = ", ".join(map(repr, nearest(name, entries)))
                hint = f"Nearest: {near}." if near else "Use searchDoc or listDoc."
                raise NotFound(f"No document {shortened(name)}.", hint=hint)
            found.append(entry)
        with self._catalog.read() as reader:
            full = reader.documents([entry.stored.doc_id for entry in found], text=True)
        return SiteDocumentsResponse(
            documents=[
                _document(entry, full[entry.stored.doc_id].document, include_sections)
                for entry in found
                if entry.stored.doc_id in full
            ],
            include_sections=include_sections,
            include_metadata=include_metadata,
        )

    def list_doc(
        self, project: str | None, category: str | None, content_type: str | None, sort_by: str
    ) -> SiteListResponse:
        """All documents by category. `content_type` is a document's type (guide) or its file's (.md).

        Raises `NotFound` for a category or type that isn't there.
        """
        entries = _within(self._entries().values(), project, category)
        if content_type is not None:
            entries = _of_type(entries, content_type)
        entries.sort(key=lambda entry: (entry.document.title.lower(), entry.slug))
        if sort_by == "date":
            entries.sort(key=lambda entry: entry.document.last_modified, reverse=True)
        groups: dict[str, list[_Entry]] = {}
        for entry in entries:
            groups.setdefault(entry.category, []).append(entry)
        names = sorted(groups, key=str.lower) if sort_by == "category" else list(groups)
        return SiteListResponse(
            total_documents=len(entries),
            categories=[
                SiteCategory(name=name, document_count=len(groups[name]), documents=list(map(_item, groups[name])))
                for name in names
            ],
        )

    def _entries(self) -> Mapping[str, _Entry]:
        """Slug → document, for the catalog's present generation."""
        with self._catalog.read() as reader, self._lock:
            if self._known[0] != reader.generation:
                listed = reader.iter_documents(Filters(kind="document"))
                documents = {stored.document.file_path: stored for stored in listed}
                named = ((slug, documents[path]) for path, slug in slugs(documents).items())
                self._known = (reader.generation, {slug: _Entry(slug, stored) for slug, stored in named})
            return self._known[1]


def slugs(file_paths: Iterable[str]) -> dict[str, str]:
    """Path → slug, each slug once. Of paths with equal slugs all but the first by name get a suffix of their own.

    >>> slugs(["kube/Getting Started/Install.md"])
    {'kube/Getting Started/Install.md': 'kube-getting-started-install'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for path in sorted(file_paths):
        parts = map(slug_of, re.sub(r"\.[A-Za-z0-9]{1,8}$", "", path).split("/"))
        slug = "-".join(filter(None, parts)) or "document"
        if slug in taken:
            slug = f"{slug}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"
        taken.add(slug)
        found[path] = slug
    return found


def _within(entries: Iterable[_Entry], project: str | None, category: str | None) -> list[_Entry]:
    every = [entry for entry in entries if project in (None, entry.document.product)]
    if category is None:
        return every
    wanted = "/".join(part.strip() for part in category.split("/")).strip("/").lower()
    found = [entry for entry in every if f"{entry.category.lower()}/".startswith(f"{wanted}/")]
    if not found:
        names = sorted({entry.category for entry in every})
        raise NotFound(
            f"No category {shortened(category)}.", hint=f"{some_of(names, category, 'categories')} Use listDoc."
        )
    return found


def _of_type(entries: list[_Entry], wanted: str) -> list[_Entry]:
    low = wanted.strip().lower().lstrip(".")
    types = [(entry, (entry.document.doc_type, entry.document.file_type)) for entry in entries]
    found = [entry for entry, names in types if low in (name.lower().lstrip(".") for name in names)]
    if not found and entries:
        known = sorted({name for _, names in types for name in names})
        raise NotFound(f"No document of content_type {shortened(wanted)}.", hint=f"There are: {', '.join(known)}.")
    return found


def _item(entry: _Entry) -> SiteListItem:
    document = entry.document
    return SiteListItem(description=document.summary, last_updated=document.last_modified, **entry.named)


def _result(entry: _Entry, hits: Sequence[Hit]) -> SiteResult:
    document = entry.document
    sections: dict[str, SectionMatch] = {}
    for hit in sorted(hits, key=lambda hit: -hit.relevance):
        chunk = hit.chunk.chunk
        title = chunk.heading_path[-1] if chunk.heading_path else document.title
        above = (place for place, heading in enumerate(document.headings, 1) if heading.line <= chunk.line_end)
        number = max((place for place in above if document.headings[place - 1].text == title), default=0)
        section = f"{entry.slug}#{number}"
        match = SectionMatch(
            section_id=section, section_title=title, content_snippet=hit.snippet.text, relevance_score=hit.relevance
        )
        sections.setdefault(section, match)
    return SiteResult(
        category=entry.category,
        relevance_score=max(hit.relevance for hit in hits),
        content_preview=document.summary or hits[0].snippet.text[:300],
        section_matches=list(sections.values()),
        **entry.named,
    )


def _document(entry: _Entry, document: Document, include_sections: bool) -> SiteDocument:
    matter = document.front_matter
    sources = matter.get("source_urls") or matter.get("source_url") or []
    keywords = matter.get("keywords")
    return SiteDocument(
        category=str(matter.get("category") or entry.category),
        file_path=document.file_path,
        sources=list(map(str, sources if isinstance(sources, list) else [sources])),
        last_updated=document.last_modified,
        keywords=list(map(str, keywords if isinstance(keywords, list) else digest.keywords(document))),
        summary=document.summary,
        sections=sections_of(entry.slug, document) if include_sections else [],
        **entry.named,
    )


def sections_of(slug: str, document: Document) -> list[SiteSection]:
    """The document from heading to heading; together the sections hold all of its text but front matter.

    A section's id is the slug and the number of its heading; 0 is what stands before the first.
    """
    text = document.text
    body = read_front_matter(text).end if document.front_matter else 0
    parts = [(body, 0, document.title), *((one.start, one.level, one.text) for one in document.headings)]
    ends = [*(start for start, _, _ in parts[1:]), len(text)]
    found = []
    for number, ((start, level, title), end) in enumerate(zip(parts, ends, strict=True)):
        content = text[start:end].strip("\n")
        if number or content.strip():
            words = list(digest.keywords(document, start, end, 5))
            found.append(
                SiteSection(section_id=f"{slug}#{number}", title=title, level=level, content=content, keywords=words)
            )
    return found
