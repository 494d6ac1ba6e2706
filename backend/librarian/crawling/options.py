"""What may be said about a crawl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Summarize = Callable[[str, str], str]  #: title and Markdown → a summary; raises `Unavailable`


@dataclass(frozen=True, slots=True)
class ProjectModel:
    """The library's embedding model. `dimension` 0: known once the model has been loaded."""

    name: str = ""
    dimension: int = 0


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """`per_second` 0 means no pause; a site's own Crawl-delay holds all the same."""

    allow_private: bool = False
    per_second: float = 5.0
    timeout_s: float = 20.0
    most_bytes: int = 8 * 1024 * 1024
    most_pages: int = 5_000
    most_depth: int = 15  #: links from the first page; lists of pages count as one
    most_queries: int = 5  #: addresses that differ only behind the question mark
    group_by: Literal["", "navigation"] = ""
    save_every: int = 20  #: pages between two saves of the state
    summarize: Summarize | None = None
