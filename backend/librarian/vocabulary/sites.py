"""What the toolset `sites` answers: documents by slug, their sections, and the categories that they stand in."""

from __future__ import annotations

from .wire import Wire

SORTINGS = ("title", "category", "date")


class SectionMatch(Wire):
    section_id: str
    section_title: str
    content_snippet: str
    relevance_score: float


class SiteResult(Wire):
    slug: str
    title: str
    project: str
    category: str
    relevance_score: float
    content_preview: str
    section_matches: list[SectionMatch]


class SiteSearchAnswer(Wire):
    query: str
    mode: str
    results: list[SiteResult]
    suggestions: list[str]
    degraded: list[str]


class SiteSection(Wire):
    section_id: str
    title: str
    level: int
    content: str
    keywords: list[str]


class SiteDocument(Wire):
    slug: str
    title: str
    project: str
    category: str
    file_path: str
    sources: list[str]
    last_updated: str
    keywords: list[str]
    summary: str
    sections: list[SiteSection]


class SiteDocumentsAnswer(Wire):
    documents: list[SiteDocument]
    include_sections: bool
    include_metadata: bool


class SiteListItem(Wire):
    slug: str
    title: str
    project: str
    description: str
    last_updated: str


class SiteCategory(Wire):
    name: str
    document_count: int
    documents: list[SiteListItem]


class SiteListAnswer(Wire):
    total_documents: int
    categories: list[SiteCategory]


class GapItem(Wire):
    query: str
    times: int
    results: int
    last_asked: str


class GapsAnswer(Wire):
    """Questions that found nothing, or nothing that seemed to answer them, the most frequent first."""

    enabled: bool
    questions: int
    gaps: list[GapItem]
