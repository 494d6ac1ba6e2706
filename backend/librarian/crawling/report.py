"""What a crawl did, does, or would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class CrawlReport:
    """Counts of pages; `errors` and `javascript` name addresses, `skipped` counts those left out, by reason."""

    project: str
    root_url: str
    folder: str
    resumed: bool = False
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    duplicates: int = 0
    overviews: int = 0
    summarized: int = 0  #: pages whose summary a language model wrote
    summary_problem: str = ""  #: why it didn't write the others
    ignored_model: str = ""  #: that an embedding model which the project asks for has no effect
    pages: int = 0  #: of the project that have a file now
    requests: int = 0
    bytes: int = 0
    took_s: float = 0.0
    errors: list[dict[str, str]] = field(default_factory=list)
    javascript: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)  #: for each reason in `skipped` one address

    def skip(self, url: str, reason: str) -> None:
        """One more address left out."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        self.examples.setdefault(reason, url)


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """What a crawl would begin with: addresses known before any page but the first is read."""

    project: str
    root_url: str
    folder: str
    pages: list[str]
    by_source: dict[str, int]
    categories: dict[str, int]
    skipped: dict[str, int]
    delay_s: float
    seconds: float  #: for these pages at that delay; links inside them come on top


@dataclass(frozen=True, slots=True)
class CrawlProgress:
    """How far a crawl is."""

    done: int
    queued: int
    bytes: int
    errors: int
    url: str


OnProgress = Callable[[CrawlProgress], None]
