"""A library with known answers, for tests of what the APIs add to it. Three documents, one thread, no index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from librarian import schemas
from librarian.documents import listing
from librarian.errors import CallerError, NotFound
from librarian.models import DEADLINE, Attachment, Progress
from librarian.schemas import KnowledgeResponse, RegistryResponse, ServerItem

DOCUMENTS = {
    "ray/core/config.md": "# Config\n\nSet the token.\n\n## Tokens\n\nRotate tokens with `ray token rotate`.\n",
    "ray/core/install.md": "# Install\n\npip install ray\n",
    "prom/server/größe & maß.txt": "Size\n\nThe size is 3 µm.\n",
}


def uri(path: str) -> str:
    from urllib.parse import quote

    return f"librarian://docs/{quote(path)}"


def result(rank: int = 1, path: str = "ray/core/config.md", **changes: Any) -> schemas.Result:
    """A hit; `changes` replace fields."""
    fields: dict[str, Any] = {
        "rank": rank,
        "id": f"{path}#chunk-{rank}@0a1b2c3d",
        "file_path": path,
        "file_name": path.rsplit("/", 1)[-1],
        "file_type": "." + path.rsplit(".", 1)[-1],
        "product": path.split("/")[0],
        "component": path.split("/")[1],
        "title": "Config",
        "heading_path": ["Config", "Tokens"],
        "line_start": 5,
        "line_end": 7,
        "snippet": "Rotate tokens with `ray token rotate`.",
        "tokens": 10,
        "uri": uri(path) + "#tokens",
        "relevance_score": 0.83,
        "keyword_score": 0.71,
        "match_type": "keyword",
        "doc_type": "guide",
        "language": "en",
        "last_modified": "2026-01-02T03:04:05Z",
        "highlights": [(0, 6)],
        "why": [schemas.WhyItem(source="keyword", rank=rank, raw=7.5, points=0.71)],
    }
    return schemas.Result(**{**fields, **changes})


def search_answer(results: Sequence[schemas.Result], **changes: Any) -> schemas.SearchResponse:
    fields: dict[str, Any] = {
        "query": "tokens",
        "mode": "keyword",
        "requested_mode": "auto",
        "total": len(results),
        "results": list(results),
        "answerable": "yes",
        "retrievers": schemas.Retrievers(
            keyword=schemas.RetrieverStatus(status="ok", ms=1.0),
            semantic=schemas.RetrieverStatus(status="off", reason="embeddings are off"),
            rerank=schemas.RetrieverStatus(status="off"),
            hyde=schemas.RetrieverStatus(status="off"),
        ),
        "coverage": schemas.Coverage(documents=3, chunks=4, embedded_chunks=0),
        "took_ms": 1.5,
        "tokens_used": 20,
        "generation": 7,
    }
    return schemas.SearchResponse(**{**fields, **changes})


class FakeLibrary:
    """Answers at once; `search("block")` waits until it is released or cancelled, `search("bug")` raises."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.blocking = threading.Event()
        self.cancelled = threading.Event()
        self.release = threading.Event()
        self.indexed_at = "2026-01-01T00:00:00Z"
        self.first = ""  #: why it isn't ready
        self.listeners: list[Callable[[int], None]] = []

    def call(self, name: str, arguments: Mapping[str, object]) -> schemas.ResponseModel:
        operation = schemas.OPERATIONS[name]
        request = schemas.validated(operation.request, arguments, name)
        given = request.model_dump(mode="json", exclude_unset=True)
        response: schemas.ResponseModel = getattr(self, operation.method)(**given)
        return response

    def _note(self, verb: str, given: Mapping[str, Any]) -> None:
        self.asked.append((verb, dict(given)))

    def search(self, query: str, **given: Any) -> schemas.SearchResponse:
        self._note("search", {"query": query, **given})
        if query == "block":
            self.blocking.set()
            while not self.release.wait(0.01):  # the two events can't be waited for at once
                if DEADLINE.get().cancelled.is_set():
                    self.cancelled.set()
                DEADLINE.get().check()
        if query == "bug":
            raise ZeroDivisionError("a bug, on purpose")
        if not query.strip():
            raise CallerError("query is empty.", hint="Ask with at least one word.")
        if given.get("product") not in (None, "ray", "prom"):
            raise NotFound(f"No product {given['product']!r}.", hint="Did you mean 'ray'?")
        if query == "nothing":
            suggestion = schemas.Suggestion(kind="term", value="token", text="Nearest indexed word: token")
            return search_answer([], query=query, answerable="unlikely", suggestions=[suggestion])
        count = given.get("max_results") or 1
        return search_answer([result(rank) for rank in range(1, count + 1)], query=query)

    def search_emails(self, query: str = "", **given: Any) -> schemas.EmailSearchResponse:
        self._note("search_emails", {"query": query, **given})
        mail = schemas.EmailResult(
            **result(1, "ray/mail/one.eml").model_dump(),
            subject="Release on Friday",
            sender="Ann <ann@example.org>",
            to=["ben@example.org"],
            date="2026-02-01T09:00:00Z",
            attachments=[Attachment(filename="plan.pdf", content_type="application/pdf", size=12)],
            thread_id="t1",
            message_id="m1@example.org",
        )
        if given.get("subject_contains") not in (None, "Release"):
            return schemas.EmailSearchResponse(**{**search_answer([]).model_dump(), "query": query})
        return schemas.EmailSearchResponse(
            **{**search_answer([]).model_dump(), "query": query, "results": [mail], "total": 1}
        )

    def get_thread(self, thread_id: str, *, offset: int = 0, max_chars: int = 400_000) -> schemas.ThreadResponse:
        self._note("get_thread", {"thread_id": thread_id})
        if thread_id != "t1":
            raise NotFound(f"No thread {thread_id!r}.", hint="Take it from a result of search_emails.")
        mail = schemas.ThreadEmail(
            subject="Release on Friday",
            sender="Ann <ann@example.org>",
            date="2026-02-01T09:00:00Z",
            message_id="m1@example.org",
            body="Shall we release on Friday?",
            quoted=["> earlier"],
            file_path="ray/mail/one.eml",
        )
        return schemas.ThreadResponse(
            thread_id="t1", subject="Release on Friday", participants=["Ann <ann@example.org>"], emails=[mail], total=1
        )

    def get_document(
        self,
        path: str,
        *,
        section: str | None = None,
        line_start: int | None = None,
        line_end: int | None = None,
        max_chars: int | None = None,
        query: str | None = None,
    ) -> schemas.DocumentResponse:
        from urllib.parse import unquote

        self._note("get_document", {"path": path, "section": section, "max_chars": max_chars})
        name = unquote(path.removeprefix("librarian://docs/")).partition("#")[0]
        if name not in DOCUMENTS:
            raise NotFound(f"No document {name!r}.", hint="Nearest: 'ray/core/config.md'.")
        text = DOCUMENTS[name]
        content = text[: max_chars or None]
        return schemas.DocumentResponse(
            file_path=name,
            title=text.split("\n")[0].lstrip("# "),
            product=name.split("/")[0],
            component=name.split("/")[1],
            doc_type="guide",
            encoding="utf-8",
            headings=[schemas.HeadingItem(level=1, text="Config", line=1)],
            section=section,
            content=content,
            line_start=1,
            line_end=content.count("\n") + 1,
            truncated=len(content) < len(text),
            next_line=2 if len(content) < len(text) else None,
            last_modified="2026-01-02T03:04:05Z",
            indexed_at=self.indexed_at,
        )

    def list_products(self) -> schemas.ProductsResponse:
        rows = [
            schemas.ProductItem(name="prom", component_count=1, document_count=1),
            schemas.ProductItem(name="ray", component_count=1, document_count=2),
        ]
        return schemas.ProductsResponse(products=rows, total=2)

    def list_components(self, product: str) -> schemas.ComponentsResponse:
        return schemas.ComponentsResponse(
            product=product, components=[schemas.ComponentItem(name="core", document_count=2)], total=1
        )

    def list_facets(self, type: str = "documents") -> schemas.FacetsResponse:
        self._note("list_facets", {"type": type})
        if type not in ("documents", "emails"):
            raise CallerError(f"type {type!r} is unknown.", hint="Use documents or emails.")
        core = schemas.FacetItem(name="core", count=2)
        ray = schemas.ProductFacet(name="ray", count=2, components=[core])
        return schemas.FacetsResponse(type="documents", total=2, products=[ray], tags=[core], generation=7)

    def status(self) -> schemas.StatusResponse:
        return schemas.StatusResponse(
            status="ready",
            documents=3,
            chunks=4,
            embedded_chunks=0,
            emails=1,
            products=2,
            generation=7,
            embeddings=schemas.EmbeddingsStatus(enabled=False),
            failures=schemas.FailuresStatus(total=1, items=[schemas.FailureItem(path="ray/x.docx", reason="damaged")]),
            skipped=schemas.SkippedStatus(total=1, by_reason={"binary": 1}),
            progress=Progress(phase="embedding", chunks_total=4, eta_s=2),
            features={"watching": True},
            caches=schemas.CachesStatus(exact=schemas.CacheStatus(entries=2, hits=3, misses=4)),
            index_path="/index",
            storage=schemas.StorageStatus(catalog="sqlite", keyword="tantivy", vectors="exact", disk_bytes=1000),
            notes=["max_text_length has no effect"],
        )

    def health(self) -> schemas.HealthResponse:
        return schemas.HealthResponse(
            status="indexing" if self.first else "ok",
            ready=not self.first,
            reasons=[self.first] if self.first else [],
            version="1.2.3",
            documents=3,
            chunks=4,
            embedded_chunks=0,
            uptime_s=1.0,
        )

    def analyze(self, query: str, *, path: str | None = None) -> schemas.AnalyzeResponse:
        self._note("analyze", {"query": query, "path": path})
        why = (
            schemas.WhyNot(
                file_path=path,
                stage="below_cut",
                explanation="It ranks 61st.",
                retrievers=[schemas.RetrieverRank(retriever="keyword", rank=61)],
            )
            if path
            else None
        )
        return schemas.AnalyzeResponse(
            query=query,
            query_type="factual",
            complexity=0.2,
            word_count=len(query.split()),
            technical_terms=["token"],
            recommended_mode="hybrid",
            confidence=0.7,
            reasons=["short"],
            why_not=why,
        )

    def search_knowledge_base(self, query: str, **given: Any) -> KnowledgeResponse:
        self._note("search_knowledge_base", {"query": query, **given})
        return KnowledgeResponse(results=[], total_found=0, search_mode="hybrid", degraded=[])

    def search_registry(self, query: str, **given: Any) -> RegistryResponse:
        self._note("search_registry", {"query": query, **given})
        server = ServerItem(path="/w", server_name="Weather", tags=[], relevance_score=0.9, matching_tools=[])
        return RegistryResponse(query=query, search_mode="hybrid", servers=[server], agents=[], tools=[])

    def clear_cache(self) -> schemas.ClearCacheResponse:
        return schemas.ClearCacheResponse(cleared=2)

    def resources(self, cursor: str | None = None) -> tuple[list[tuple[str, str, str, str]], str | None]:
        """Two a page."""
        paths = [path for path in sorted(DOCUMENTS) if path > (cursor or "")]
        page = [(uri(path), path, "." + path.rsplit(".", 1)[-1], "2026-01-02T03:04:05Z") for path in paths[:2]]
        return page, paths[1] if len(paths) > 2 else None

    def complete(self, kind: str, value: str, context: Mapping[str, str] | None = None) -> list[str]:
        self._note("complete", {"kind": kind, "value": value, "context": dict(context or {})})
        names = {"product": ["prom", "ray"], "path": sorted(DOCUMENTS), "thread": ["t1"]}.get(kind, [])
        if value == "many":
            return [f"many{number}" for number in range(150)]
        return [name for name in names if name.startswith(value)]

    def instructions(self) -> str:
        return f"Ask about ray and prom. Indexed {self.indexed_at}."

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        self.listeners.append(callback)
        return lambda: self.listeners.remove(callback)

    def refreshed(self, indexed_at: str) -> None:
        """As if all documents had been indexed anew."""
        self.indexed_at = indexed_at
        for listener in self.listeners:
            listener(8)

    def browse(self, product: str = "", component: str = "", after: str = "") -> listing.DocumentPage:
        return listing.DocumentPage(
            [listing.DocumentItem("ray/core/config.md", "Config", "ray", "core", "", "2026-01-02")]
        )

    def recent(self, count: int = 8) -> list[listing.DocumentItem]:
        return list(self.browse().documents)

    def example_questions(self) -> list[str]:
        return ["How do I rotate a token?"]

    def original(self, path: str) -> listing.Original:
        return listing.Original(Path("/nowhere"), path, ["https://example.org/config"])
