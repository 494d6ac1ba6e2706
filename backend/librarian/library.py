"""`Librarian`: an open library. An operation is a method whose arguments are the fields of its request model."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast, get_args

from . import schemas
from .documents import addresses, listing, queries, rag, responses
from .documents.dependencies import Dependencies
from .documents.reader import (
    HEAD_TOKENS,
    SIMILAR,
    answering,
    beginning,
    conversation,
    document_at,
    linked_documents,
    passage,
    read,
    resolve_document,
    resolve_thread,
    tokens_in,
)
from .documents.responses import Checked, Files, checked, has_changed, present
from .documents.status import StatusReport, layout_notes, skipped, unread, unreadable
from .errors import CallerError, NotFound, one_of, shortened
from .files.paths import Paths
from .models import DEADLINE, DRAFT, Count, Filters, IndexReport, Query, SearchOutcome, StoredDocument
from .schemas import EntityType, RequestModel, known_name, validated
from .search.pagination import fitted, parent_context

if TYPE_CHECKING:
    from .files.lock import FolderLock

P = ParamSpec("P")
Q = TypeVar("Q", bound=RequestModel)
R = TypeVar("R")

FIRST_TEXT_S = 10.0  #: how long the first search of a new library waits for the first files
#: Reasons of a degraded state without which an index run hasn't done its work, by how they begin.
_NEEDED = ("root: ", "index: ", "catalog: ", "embeddings")
#: What a program may do whose library another process owns.
_INSTEAD = "Ask it instead (`librarian search`, REST), end it (`librarian serve`, hosts), or use another index."
_SEE_PRODUCTS = "Use list_products to see what is indexed."
_MEASURING: ContextVar[bool] = ContextVar("measuring", default=False)  #: searches that no user asked for
_ASK_LLM: ContextVar[bool] = ContextVar("ask_llm", default=True)


@contextmanager
def _measuring(llm: bool) -> Iterator[None]:
    """Searches within are not logged as questions, and use no language model unless `llm`."""
    measuring, asks_llm = _MEASURING.set(True), _ASK_LLM.set(llm)
    try:
        yield
    finally:
        _MEASURING.reset(measuring)
        _ASK_LLM.reset(asks_llm)


def operation(request: Callable[P, Q]) -> Callable[[Callable[[Any, Q], R]], Callable[Concatenate[Any, P], R]]:
    """Make a method take the fields of a request model as arguments, the first also by position, and validate them."""
    model = cast(type[Q], request)
    positional = [name for name, field in model.model_fields.items() if field.kw_only is False]
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD if name in positional else inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.is_required() else field.default,
            annotation=field.annotation,
        )
        for name, field in model.model_fields.items()
    ]

    def decorate(run: Callable[[Any, Q], R]) -> Callable[Concatenate[Any, P], R]:
        @functools.wraps(run)
        def method(self: Any, *given: Any, **arguments: Any) -> R:
            if len(given) > len(positional):
                raise TypeError(f"{run.__name__} takes {len(positional)} positional arguments.")
            arguments |= dict(zip(positional, given, strict=False))
            return run(self, validated(model, arguments, run.__name__))

        this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        vars(method).update(run=run, __signature__=inspect.Signature([this, *parameters]))
        return cast("Callable[Concatenate[Any, P], R]", method)

    return decorate


class Librarian:
    """A library, open. Use it as a context manager or call `close`. Safe to call from several threads.

    Every operation raises `CallerError` for wrong arguments and once its deadline has passed, `NotFound` among them for
    what isn't there, and `Unavailable` where a part that it needs doesn't work.
    """

    def __init__(self, parts: Dependencies) -> None:
        self._parts = parts
        self._state = StatusReport(parts)
        self._files = Files(Paths(parts.settings.docs.root_path), parts.indexing.changed, parts.indexing.missing_reason)
        self._closed = threading.Event()
        self._started = False
        self._has_text = False  #: whether anything was ever indexed
        self._lock: FolderLock | None = None  #: held where this object owns the index folder

    # -- opening and closing

    @classmethod
    def open(
        cls,
        config: str | os.PathLike[str] | None = None,
        *,
        root: str | os.PathLike[str] | None = None,
        index: str | os.PathLike[str] | None = None,
        start: bool = True,
        wait: bool = True,
        **overrides: object,
    ) -> Self:
        """Open the library that `config` describes in this process and bring it up to date.

        `overrides` are settings by dotted key. With `wait` the call returns once everything is read and embedded.
        Without `start` it answers from what is there and changes nothing. A library that isn't closed is closed when
        the interpreter ends. Raises `SetupError` where the configuration is wrong or, with `start`, another process
        owns the index.
        """
        from .bootstrap import build
        from .daemon.client import acquire_index
        from .settings import Settings

        given: dict[str, object] = dict(overrides)
        given |= {key: str(value) for key, value in {"docs.root_path": root, "index.path": index}.items() if value}
        settings = Settings.load(Path(config) if config else None, overrides=given)
        settings.require_library()
        with ExitStack() as undone:
            lock = acquire_index(settings.index.path, if_idle=True, hint=_INSTEAD) if start else None
            if lock is not None:
                undone.callback(lock.release)
            library = cls(build(settings))
            undone.callback(library.close)
            if start:
                library.start()
                if wait:
                    library.wait_until_ready()
            undone.pop_all()
        library._lock = lock
        # registered later than the standard library's handler that waits for child processes, so it runs before
        atexit.register(library.close)
        return library

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Begin indexing, embedding and watching in the background. Safe to call twice."""
        if self._started:
            return
        self._started = True
        try:
            self._parts.start()
        except BaseException:
            self._started = False
            raise

    def wait_until_ready(self, timeout_s: float | None = None) -> bool:
        """Block until nothing is left to read, to embed or to learn; False where the time ran out first."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._parts.indexing.wait_until_ready(timeout_s):
            return False
        return self._parts.learning.wait(None if until is None else max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Stop all background work, close every store and release the index folder. Safe to call twice."""
        atexit.unregister(self.close)
        if not self._closed.is_set():
            self._closed.set()
            self._parts.close()
        if self._lock is not None:
            self._lock.release()

    @property
    def root(self) -> Path:
        """The folder that is indexed."""
        return self._parts.settings.docs.root_path

    @property
    def index(self) -> Path:
        """The folder that holds the index."""
        return self._parts.settings.index.path

    @property
    def damage(self) -> str:
        """What of the catalog was found damaged since it was opened; opening it again repairs that."""
        return self._parts.catalog.damage or self._parts.keyword_index.damage

    # -- operations by name

    def call(self, name: str, arguments: Mapping[str, object]) -> schemas.ResponseModel | Mapping[str, object]:
        """Validate `arguments` and run the operation that outsiders call `name` (see `schemas.OPERATIONS`)."""
        operation = schemas.OPERATIONS.get(name)
        if operation is None:
            hint = one_of(tuple(schemas.OPERATIONS), name)
            raise CallerError(f"There is no operation {shortened(name)}.", hint=hint)
        request = validated(operation.request, arguments, name)
        run: Callable[..., schemas.ResponseModel | Mapping[str, object]] = getattr(type(self), operation.method).run
        return run(self, request)

    # -- searching

    @operation(schemas.SearchRequest)
    def search(self, request: schemas.SearchRequest) -> schemas.SearchResponse:
        """Documents that answer `query`, best first; with `brief` single passages.

        `schemas.SearchRequest` describes the arguments.
        """
        self._await_text()
        query = queries.document_query(request, self._parts.settings, self._products)
        query = replace(query, ask_llm=_ASK_LLM.get())
        outcome, fields = self._answer(request, query)
        if not query.offset and not _MEASURING.get() and not DRAFT.get():
            self._parts.questions.note(query.text, outcome.total, outcome.answerable, query.filters.product)
        return schemas.SearchResponse.model_validate(fields, from_attributes=True)

    @operation(schemas.EmailSearchRequest)
    def search_emails(self, request: schemas.EmailSearchRequest) -> schemas.EmailSearchResponse:
        """Emails that answer `query` or, where it is empty, the newest that pass the filters."""
        self._await_text()
        settings, catalog = self._parts.settings, self._parts.catalog
        query = replace(queries.email_query(request, settings, self._products), ask_llm=_ASK_LLM.get())
        if thread := query.filters.thread_id:
            with catalog.read() as reader:
                query = replace(query, filters=replace(query.filters, thread_id=resolve_thread(reader, thread)))
        _, fields = self._answer(request, query)
        size = catalog.columns().thread_size
        fields["query"] = request.query
        fields["results"] = [one.model_copy(update={"thread_size": size(one.file_path)}) for one in fields["results"]]
        return schemas.EmailSearchResponse.model_validate(fields, from_attributes=True)

    def _answer(
        self, request: schemas.SearchRequest | schemas.EmailSearchRequest, query: Query
    ) -> tuple[SearchOutcome, dict[str, Any]]:
        """The outcome of a search, checked against the files, and the fields of the response to it."""
        settings, catalog, mail = self._parts.settings, self._parts.catalog, query.filters.kind == "email"
        newest = partial(listing.list_recent_emails, catalog)
        search = partial(self._parts.engine.search, deadline=DEADLINE.get()) if query.text else newest
        with self._parts.indexing.answering():
            answer = checked(search, query, self._files)
        outcome = answer.outcome
        if outcome.count.embedded_chunks < outcome.count.chunks:
            self._parts.indexing.embed_first(hit.candidate.doc_id for hit in outcome.hits)
        semantic = outcome.retrievers.get("semantic")
        embedded = semantic is not None and semantic.status == "ok"
        extra = self._degraded(outcome.degraded, outcome.count, semantic=embedded, root_missing=answer.root_missing)
        full = replace(outcome, degraded=(*outcome.degraded, *extra), tokens_used=0) if extra else outcome
        outcome = full if full.tokens_used else fitted(full)
        queries.log(outcome, settings.logging.slow_query_ms)
        return outcome, {
            **responses.envelope(outcome, query.mode, explain=request.explain),
            "notes": queries.result_notes(request, settings),
            "results": self._results(replace(answer, outcome=outcome), mail=mail, explain=request.explain),
            "facets": listing.facets(catalog, "emails" if mail else "documents", outcome.found)
            if request.facets
            else None,
        }

    @operation(schemas.KnowledgeRequest)
    def search_knowledge_base(self, request: schemas.KnowledgeRequest) -> schemas.KnowledgeResponse:
        """Passages of documents and emails as a RAG service returns them."""
        self._await_text()
        settings, engine = self._parts.settings, self._parts.engine
        product = known_name("source_id", request.source_id, list(self._products()), hint=_SEE_PRODUCTS)
        paths: tuple[str, ...] = ()
        if request.document_id is not None:
            with self._parts.catalog.read() as reader:
                paths = (document_at(reader, addresses.parse(request.document_id).file_path).document.file_path,)
        query = rag.knowledge_query(request, settings, product, paths)
        answer = checked(lambda query: engine.search(query, DEADLINE.get()), query, self._files)
        outcome = answer.outcome
        self._parts.questions.note(query.text, outcome.total, outcome.answerable, product)
        response = rag.response(outcome, rag.search_type(request, settings), rag.semantic_weight(settings))
        embedded = outcome.retrievers["semantic"].status == "ok"
        missing = self._degraded(outcome.degraded, outcome.count, semantic=embedded, root_missing=answer.root_missing)
        return response.model_copy(update={"degraded": [*response.degraded, *missing]})

    @operation(schemas.RegistryRequest)
    def search_registry(self, request: schemas.RegistryRequest) -> schemas.RegistryResponse:
        """Servers, agents and tools of the library's registry files, the best `max_results` of each."""
        self._await_text()
        most = queries.limited("max_results", request.max_results, 3, self._parts.settings.search.max_results)
        wanted = tuple(dict.fromkeys(request.entity_types or get_args(EntityType)))
        return self._parts.registry.search(request.query, wanted, most, DEADLINE.get())

    @operation(schemas.SiteSearchRequest)
    def search_doc(self, request: schemas.SiteSearchRequest) -> schemas.SiteSearchResponse:
        """Documents of crawled sites and products, with the sections that match."""
        self._await_text()
        settings = self._parts.settings
        most = queries.limited("limit", request.limit, 5, settings.search.max_results)
        query = Query(
            text=request.query, mode=settings.search.mode, filters=Filters(product=self._project(request.project))
        )
        response = self._parts.sites.search_doc(query, request.category, most, DEADLINE.get())
        self._parts.questions.note(query.text, len(response.results), "unknown", query.filters.product)
        missing = self._degraded(response.degraded, semantic=response.mode != "keyword")
        return response.model_copy(update={"degraded": [*response.degraded, *missing]})

    @operation(schemas.AnalyzeRequest)
    def analyze(self, request: schemas.AnalyzeRequest) -> schemas.AnalyzeResponse:
        """How a question is understood, which mode suits it, and with `path` why that document isn't found."""
        analysis = self._parts.analyst.analyze(request.query)
        if request.path is None:
            return analysis
        search = schemas.SearchRequest.model_construct(query=request.query)
        query, kind = queries.document_query(search, self._parts.settings, self._products), "document"
        try:
            with self._parts.catalog.read() as reader:
                document = resolve_document(reader, request.path)[1].document
            file_path, kind = document.file_path, document.kind
        except NotFound:  # `why_not` says why
            file_path = addresses.parse(request.path).file_path
        if kind == "email":
            query = replace(query, filters=Filters(kind="email"), max_per_document=1)
        return analysis.model_copy(update={"why_not": self._parts.analyst.why_not(query, file_path, DEADLINE.get())})

    @operation(schemas.ClearCacheRequest)
    def clear_cache(self, request: schemas.ClearCacheRequest) -> schemas.ClearCacheResponse:
        """Forget cached answers. Query embeddings stay: they don't depend on the library."""
        return schemas.ClearCacheResponse(
            cleared=sum(cache.clear() for name, cache in self._parts.caches.items() if name != "query_embedding")
        )

    # -- reading

    @operation(schemas.DocumentRequest)
    def get_document(self, request: schemas.DocumentRequest) -> schemas.DocumentResponse:
        """A document, or one section with its sub-sections, or some of its lines, or what of it answers `query`.

        `path` is a file path, a result's id or uri, or a citation such as `path:10-20`. A long document comes as its
        outline and its beginning unless a part or a number of characters is asked for.
        """
        first, last, section = request.line_start, request.line_end, request.section
        column, max_chars = request.column_start or 1, request.max_chars
        limit = schemas.DEFAULT_DOCUMENT_CHARS if max_chars is None else max_chars
        with self._parts.catalog.read() as reader:
            place, stored = resolve_document(reader, self._inside_root(request.path))
            chunk = None if place.ordinal is None else passage(reader.chunks_of(stored.doc_id), place)
            outgoing, incoming = self._parts.catalog.columns().links_of(stored.doc_id)
            linked = {
                "links": linked_documents(reader, outgoing.tolist()),
                "linked_from": linked_documents(reader, incoming.tolist()),
            }
        if request.similar:
            linked["similar"] = self._similar(stored)
        self._parts.indexing.embed_first([stored.doc_id])
        stale = has_changed(stored, self._files)
        lines = partial(
            read, stored, line_start=first, line_end=last, max_chars=limit, column=column, stale=stale, linked=linked
        )
        if request.query:
            return self._relevant_sections(stored, request.query, request.max_tokens, lines)
        named_part = section or place.anchor or chunk or first or last or column > 1
        if not named_part and max_chars is None:
            return beginning(stored, lines(section=None, anchor=None, chunk=None, max_chars=0))
        if section or not place.anchor:
            return lines(section=section, anchor=None, chunk=chunk)
        try:
            return lines(section=None, anchor=place.anchor, chunk=chunk)
        except NotFound:  # of a uri whose anchor the document has lost: the document itself still answers
            if (cited := addresses.lines_at(place.anchor)) and first is last is None:
                return lines(section=None, anchor=None, chunk=None, line_start=cited[0], line_end=cited[1])
            outlined = max_chars is None and first is last is None
            whole = lines(section=None, anchor=None, chunk=None, max_chars=0 if outlined else limit)
            whole = beginning(stored, whole) if outlined else whole
            return whole.model_copy(update={"missing_section": place.anchor})

    def _inside_root(self, path: object) -> object:
        """A path on disk below the root as the document's own; anything else as it is."""
        root = self._parts.settings.docs.root_path
        text = str(path).strip().removeprefix("file://")
        for folder in (root.as_posix(), root.resolve().as_posix()):
            if text.startswith(f"{folder}/"):
                return text[len(folder) + 1 :]
        return path

    def _similar(self, stored: StoredDocument) -> list[schemas.LinkedDocument]:
        """Documents that are near in meaning to what a document says of itself, the nearest first."""
        document = stored.document
        query = Query(
            text=f"{document.title}. {document.summary}"[: schemas.MAX_QUERY_LENGTH],
            mode="semantic",
            filters=Filters(kind=document.kind),
            max_results=SIMILAR + 1,
            max_per_document=1,
            ask_llm=False,
        )
        hits = self._parts.search_engine.search(query, DEADLINE.get()).hits
        others = (hit.document.document for hit in hits if hit.document.doc_id != stored.doc_id)
        return [
            schemas.LinkedDocument(file_path=one.file_path, title=one.title, tokens=tokens_in(one.size))
            for one in list(others)[:SIMILAR]
        ]

    def _relevant_sections(
        self, stored: StoredDocument, text: str, tokens: int, lines: Callable[..., schemas.DocumentResponse]
    ) -> schemas.DocumentResponse:
        """The sections of a document that answer a question; its beginning where none does."""
        query = Query(
            text=text,
            mode=self._parts.settings.search.mode,
            filters=Filters(file_paths=(stored.document.file_path,)),
            max_tokens=max(1, tokens - HEAD_TOKENS),
            ask_llm=_ASK_LLM.get(),
        )
        whole = lines(section=None, anchor=None, chunk=None, max_chars=0)
        if found := self._parts.search_engine.sections(query, DEADLINE.get()):
            return answering(whole, found)
        note = f"No passage of it answers {shortened(text)}: this is its beginning."
        return beginning(stored, whole).model_copy(update={"notes": [note]})

    @operation(schemas.ThreadRequest)
    def get_thread(self, request: schemas.ThreadRequest) -> schemas.ThreadResponse:
        """An email thread, oldest first; a long one in parts of up to `max_chars` characters (0: all)."""
        with self._parts.catalog.read() as reader:
            thread_id = resolve_thread(reader, request.thread_id)
            mails = reader.thread(thread_id)
            emails = reader.count().emails
        if not mails:
            hint = "Take it from a result of search_emails." if emails else "No email is indexed in this library."
            raise NotFound(f"No thread {shortened(thread_id)}.", hint=hint)
        if not (mails := present(mails, self._files)):
            raise NotFound(f"The mails of thread {shortened(thread_id)} were deleted or moved since they were indexed.")
        return conversation(thread_id, mails, offset=request.offset, max_chars=request.max_chars)

    @operation(schemas.SiteDocumentsRequest)
    def load_doc(self, request: schemas.SiteDocumentsRequest) -> schemas.SiteDocumentsResponse:
        """Whole documents by slug."""
        return self._parts.sites.load_doc(request.slug, request.include_sections, request.include_metadata)

    # -- listing

    @operation(schemas.ProductsRequest)
    def list_products(self, request: schemas.ProductsRequest) -> schemas.ProductsResponse:
        """Products with the number of their components and documents."""
        products = self._products()
        return schemas.ProductsResponse(
            products=[
                schemas.ProductItem(name=name, component_count=len(inside), document_count=sum(inside.values()))
                for name, inside in sorted(products.items())
            ],
            total=len(products),
        )

    @operation(schemas.ComponentsRequest)
    def list_components(self, request: schemas.ComponentsRequest) -> schemas.ComponentsResponse:
        """The components of one product."""
        products = self._products()
        name = known_name("product", request.product, list(products), hint=_SEE_PRODUCTS) or ""
        components = [
            schemas.ComponentItem(name=component, document_count=count)
            for component, count in sorted(products[name].items())
        ]
        return schemas.ComponentsResponse(product=name, components=components, total=len(components))

    @operation(schemas.FacetsRequest)
    def list_facets(self, request: schemas.FacetsRequest) -> schemas.FacetsResponse:
        """What the filters of a search may choose from, with numbers of documents."""
        return listing.facets(self._parts.catalog, request.type)

    @operation(schemas.SiteListRequest)
    def list_doc(self, request: schemas.SiteListRequest) -> schemas.SiteListResponse:
        """Documents of crawled sites and products, by category."""
        project = self._project(request.project)
        return self._parts.sites.list_doc(project, request.category, request.content_type, request.sort_by)

    def resources(self, cursor: str | None = None) -> tuple[list[listing.ResourceRow], str | None]:
        """A page of documents, and the next page's cursor: the last path of this one."""
        with self._parts.catalog.read() as reader:
            return listing.resources(reader, cursor)

    def browse(self, product: str = "", component: str = "", after: str = "") -> listing.DocumentPage:
        """Documents of a product or component by path, a part at a time; all where none is named."""
        with self._parts.catalog.read() as reader:
            return listing.documents(reader, product or None, component or None, after)

    def recent(self, count: int = 8) -> list[listing.DocumentItem]:
        """The documents that changed last, newest first."""
        return listing.recent(self._parts.catalog, count)

    def example_questions(self) -> list[str]:
        """Up to three questions that headings of the library answer."""
        return listing.example_questions(self._parts.catalog)

    def original(self, path: str) -> listing.Original:
        """The file that a document was read from, and where on the web it is from, if it says so."""
        with self._parts.catalog.read() as reader:
            return listing.original(resolve_document(reader, path)[1].document, self.root)

    def complete(self, kind: str, value: str, context: Mapping[str, str] | None = None) -> list[str]:
        """Names that continue `value`, nearest first; `kind` is product, component, path, heading or thread."""
        with self._parts.catalog.read() as reader:
            return listing.completions(reader, kind, value, context or {})

    def instructions(self) -> str:
        """When to use this library and what it holds, for a model."""
        with self._parts.catalog.read() as reader:
            return listing.instructions(reader)

    @operation(schemas.GapsRequest)
    def gaps(self, request: schemas.GapsRequest) -> schemas.GapsResponse:
        """Questions that found nothing or little, where `analytics.enabled` keeps them."""
        return self._parts.questions.gaps(request.limit)

    # -- the library itself

    @operation(schemas.StatusRequest)
    def status(self, request: schemas.StatusRequest) -> schemas.StatusResponse:
        """What is indexed, what isn't and why, and how far work has come."""
        return self._state.status()

    @operation(schemas.HealthRequest)
    def health(self, request: schemas.HealthRequest) -> schemas.HealthResponse:
        """Whether all is well. Quick at any time."""
        return self._state.health()

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call `callback` with the new generation after each change of the index; returns what ends it."""
        return self._parts.indexing.on_generation(callback)

    @operation(schemas.RefreshRequest)
    def refresh(self, request: schemas.RefreshRequest) -> schemas.RefreshResponse:
        """Bring the index up to date with the folder; with `wait`, vectors included. What failed is tried again."""
        self._forget_failures()
        indexing, began = self._parts.indexing, time.monotonic()
        report = indexing.update(rebuild=request.rebuild, prune=request.prune)
        if request.wait:
            while not self.wait_until_ready(0.25):
                DEADLINE.get().check()
        return self._refreshed(report, time.monotonic() - began)

    def _refreshed(self, report: IndexReport, took_s: float) -> schemas.RefreshResponse:
        with self._parts.catalog.read() as reader:
            count, generation, failures = reader.count(), reader.generation, reader.failures()
        return schemas.RefreshResponse.model_validate(
            {
                **{name: getattr(report, name) for name in ("added", "changed", "removed", "moved", "unchanged")},
                "failed": unreadable(report.failed),
                "skipped": skipped(report.skipped),
                "documents": count.documents,
                "emails": count.emails,
                "chunks": count.chunks,
                "embedded": count.embedded_chunks,
                "generation": generation,
                "took_ms": round(took_s * 1000, 1),
                "notes": [*report.notes, *layout_notes(count, failures)],
                "reasons": [item for item in self._state.reasons() if item.startswith(_NEEDED)],
            }
        )

    @operation(schemas.CheckRequest)
    def check(self, request: schemas.CheckRequest) -> schemas.CheckResponse:
        """Compare catalog, keyword index, vectors and folder; with `repair`, fix what differs."""
        return self._parts.indexing.verify(request.repair)

    @operation(schemas.EvaluateRequest)
    def evaluate(self, request: schemas.EvaluateRequest) -> Mapping[str, object]:
        """Measure the ranking on judged questions; with `llm` a language model rewrites them, if one is configured."""
        with _measuring(request.llm):
            return self._parts.evaluate(self, deadline=DEADLINE.get(), **request.model_dump())

    @operation(schemas.BenchRequest)
    def bench(self, request: schemas.BenchRequest) -> schemas.SearchResponse:
        """A search that is only timed: it isn't logged as a question; `llm` as for `evaluate`."""
        with _measuring(request.llm):
            return self.search(request.query, mode=request.mode)

    # -- what several operations share

    def _forget_failures(self) -> None:
        for part in (self._parts.embedder, self._parts.language_model, self._parts.reranker):
            if part is not None:
                part.reset()

    def _await_text(self) -> None:
        """Wait until a library that is read for the very first time holds something, or for a while."""
        if not self._has_text:
            with self._parts.catalog.read() as reader:
                self._has_text = reader.generation > 0
        if self._has_text:
            return
        indexing, changed = self._parts.indexing, threading.Event()
        until = time.monotonic() + FIRST_TEXT_S
        forget = indexing.on_generation(lambda _: changed.set())
        try:
            while not changed.wait(0.05) and self._started and time.monotonic() < until:
                DEADLINE.get().check()
                if indexing.last_indexed_at is not None or indexing.errors():
                    return
        finally:
            forget()

    def _degraded(
        self, reported: Sequence[str], count: Count | None = None, *, semantic: bool, root_missing: str = ""
    ) -> list[str]:
        """What a response lacks besides what it has `reported`. `root_missing`: why its files couldn't be checked."""
        extra = [item for item in self._state.reasons() if not any(one.startswith(item) for one in reported)]
        indexing, count = self._parts.indexing, count or self._count()
        if root_missing and not any(item.startswith("root: ") for item in extra):
            extra.append(f"root: {root_missing}")
            indexing.changed([str(self.root)])  # the indexer doesn't know yet
        if (progress := indexing.progress()).phase == "reading":
            extra += unread(progress, first_look=indexing.last_indexed_at is None)
        if semantic and count.embedded_chunks < count.chunks:
            extra.append(f"semantic: {count.embedded_chunks:,} of {count.chunks:,} passages are embedded so far.")
        return extra

    def _results(self, answer: Checked, *, mail: bool, explain: bool) -> Sequence[schemas.Result]:
        """Hits as results; those of changed files are marked stale."""
        query, hits = answer.outcome.query, answer.outcome.hits
        if not (answer.changed or query.include_parent_context):
            return responses.results(responses.Same(hits), query.offset + 1, mail, explain)
        contexts: dict[int, Mapping[str, object]] = {}
        if query.include_parent_context:
            with self._parts.catalog.read() as reader:
                for hit in hits:
                    siblings = reader.chunks_of(hit.document.doc_id)
                    contexts[hit.chunk.chunk_id] = parent_context(hit.chunk, hit.document, siblings)
        return [
            responses.result(
                hit,
                rank,
                stale=hit.document.doc_id in answer.changed,
                context=contexts.get(hit.chunk.chunk_id),
                mail=mail,
                explain=explain,
            )
            for rank, hit in enumerate(hits, query.offset + 1)
        ]

    def _products(self) -> dict[str, dict[str, int]]:
        """Product → component → documents."""
        with self._parts.catalog.read() as reader:
            return reader.products()

    def _count(self) -> Count:
        with self._parts.catalog.read() as reader:
            return reader.count()

    def _project(self, name: str | None) -> str | None:
        hint = "Use list_products or listDoc to see what there is."
        return known_name("project", name, list(self._products()), hint=hint)


class FileIndexer:
    """Builds the index of a folder from Python, without answering, watching or serving.

    >>> FileIndexer("docs").index_all_documents().documents  # doctest: +SKIP
    33

    The arguments are those of `Librarian.open`; another process may not own the index meanwhile.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        config: str | os.PathLike[str] | None = None,
        index: str | os.PathLike[str] | None = None,
        **overrides: Any,
    ) -> None:
        self._config = config
        self._given: dict[str, Any] = {"docs.watch_for_changes": False, **overrides, "root": root, "index": index}

    def index_all_documents(self) -> schemas.RefreshResponse:
        """Read and embed what is new or changed, drop what is gone; returns what was found, and what it holds now."""
        with Librarian.open(self._config, wait=False, **self._given) as library:
            return library.refresh()
