"""What the toolset `rag` answers: passages with both legs' scores, in the shape that RAG services agree on."""

from __future__ import annotations

from typing import Any, Literal

from .wire import Wire

SEARCH_TYPES = ("hybrid", "vector", "rerank")


class KnowledgeItem(Wire):
    id: str
    content: str
    metadata: dict[str, Any]
    similarity: float
    text_rank: float
    combined_score: float
    rerank_score: float | None = None
    original_combined_score: float | None = None
    match_type: Literal["vector", "text", "both"]


class KnowledgeAnswer(Wire):
    """`search_mode` is the strategy that ran; where it isn't the one asked for, `degraded` says why."""

    results: list[KnowledgeItem]
    total_found: int
    capped: bool = False
    search_mode: Literal["hybrid", "vector", "rerank", "text"]
    degraded: list[str]
