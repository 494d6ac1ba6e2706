"""The desk as its doors see it: every verb once, synchronous, with the tools' argument names.

A door translates between its wire and these verbs and knows nothing behind them. Values (ranges, modes, dates, names)
are checked by the desk, so that every door gives the same sentence; an argument left out has the desk's default.
Every verb raises `CallerError`, `NotFound`, `Busy`, `SetupError` or `Unavailable`; anything else is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from .arguments import LONG_THREAD
from .knowledge import KnowledgeAnswer
from .protocols import Budget
from .registry import RegistryAnswer
from .wire import (
    AnalyzeAnswer,
    ClearedAnswer,
    ComponentsAnswer,
    DocumentAnswer,
    EmailSearchAnswer,
    FacetsAnswer,
    HealthAnswer,
    ProductsAnswer,
    SearchAnswer,
    StatusAnswer,
    ThreadAnswer,
)

LONGEST_INSTRUCTIONS = 2047  #: characters; hosts cut behind them
ResourceRow = tuple[str, str, str, str]  #: uri, title, file type with its dot, last modified (ISO 8601)


class Desk(Protocol):
    """What `librarian.desk.Librarian` does for the doors. Safe to call from several threads at once."""

    def search(
        self,
        query: str,
        *,
        product: str | None = None,
        component: str | None = None,
        file_types: Sequence[str] | None = None,
        max_results: int | None = None,
        offset: int = 0,
        mode: str | None = None,
        semantic_weight: float | None = None,
        include_parent_context: bool = False,
        doc_type: str | None = None,
        tags: Sequence[str] | None = None,
        language: str | None = None,
        modified_after: str | None = None,
        modified_before: str | None = None,
        max_per_document: int | None = None,
        max_tokens: int | None = None,
        hypothetical_answer: str | None = None,
        include_weak: bool = False,
        explain: bool = False,
        brief: bool = False,
        budget: Budget | None = None,
    ) -> SearchAnswer:
        """Documents that answer `query`, best first, or passages where it is to be `brief`."""

    def search_emails(
        self,
        query: str = "",
        *,
        sender: str | None = None,
        thread_id: str | None = None,
        subject_contains: str | None = None,
        has_attachments: bool | None = None,
        date_after: str | None = None,
        date_before: str | None = None,
        product: str | None = None,
        component: str | None = None,
        max_results: int | None = None,
        offset: int = 0,
        mode: str | None = None,
        semantic_weight: float | None = None,
        max_per_thread: int = 1,
        max_tokens: int | None = None,
        explain: bool = False,
        brief: bool = False,
        budget: Budget | None = None,
    ) -> EmailSearchAnswer:
        """Mails that answer `query`, or, where it is empty, the newest that pass the filters."""

    def get_thread(
        self, thread_id: str, *, offset: int = 0, max_chars: int = LONG_THREAD, budget: Budget | None = None
    ) -> ThreadAnswer:
        """A conversation, oldest mail first, or as many of its mails as `max_chars` has room for."""

    def get_document(
        self,
        path: str,
        *,
        section: str | None = None,
        line_start: int | None = None,
        line_end: int | None = None,
        max_chars: int | None = None,
        column_start: int | None = None,
        query: str | None = None,
        max_tokens: int | None = None,
        budget: Budget | None = None,
    ) -> DocumentAnswer:
        """A document or a part of it. `path` is a file path, a result's id or its uri, or a citation."""

    def list_products(self, *, budget: Budget | None = None) -> ProductsAnswer: ...

    def list_components(self, product: str, *, budget: Budget | None = None) -> ComponentsAnswer: ...

    def list_facets(self, type: str = "documents", *, budget: Budget | None = None) -> FacetsAnswer:
        """What the filters of a search may choose from."""

    def status(self, *, budget: Budget | None = None) -> StatusAnswer: ...

    def health(self, *, budget: Budget | None = None) -> HealthAnswer:
        """Quick at any time; never waits for the index."""

    def analyze(self, query: str, *, path: str | None = None, budget: Budget | None = None) -> AnalyzeAnswer: ...

    def search_knowledge_base(
        self,
        query: str,
        *,
        source_id: str | None = None,
        document_id: str | None = None,
        document_type: str | None = None,
        match_count: int | None = None,
        search_type: str | None = None,
        budget: Budget | None = None,
    ) -> KnowledgeAnswer:
        """Passages as a RAG service gives them; `search_type`: hybrid | vector | rerank."""

    def search_registry(
        self,
        query: str,
        *,
        entity_types: Sequence[str] | None = None,
        max_results: int = 3,
        budget: Budget | None = None,
    ) -> RegistryAnswer:
        """Servers, agents and tools of the library's registry files, the best `max_results` of each."""

    def clear_cache(self, *, budget: Budget | None = None) -> ClearedAnswer: ...

    def resources(
        self, cursor: str | None = None, *, budget: Budget | None = None
    ) -> tuple[list[ResourceRow], str | None]:
        """One page of documents by path, and the cursor of the next; None after the last."""

    def complete(
        self, kind: str, value: str, context: Mapping[str, str] | None = None, *, budget: Budget | None = None
    ) -> list[str]:
        """Values that go on from `value`, nearest first.

        `kind`: product | component | path | heading | thread. `context`: arguments already filled in.
        """

    def instructions(self) -> str:
        """When to use this library and what it holds, for a model: at most `LONGEST_INSTRUCTIONS` characters."""

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None] | None:
        """Call `callback` with the new generation after each refresh, from whatever thread; returns what ends it."""
