"""`Librarian`: an open library and everything that it can be asked.

Each operation is a public method with typed arguments, which validates them by its request model, and a private method
of the same name with an underscore, which does the work. `call` runs an operation by the name that outsiders use.
"""

from __future__ import annotations

import atexit
import datetime as dt
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

from . import schemas
from .documents import addresses, queries, query_log, rag, resources, responses
from .documents.dependencies import Dependencies
from .documents.freshness import Checked, Files, checked, has_changed, present
from .documents.listing import facets, newest_first
from .documents.reader import HEAD_TOKENS, answering, beginning, document_at, passage, read, resolve_document
from .documents.status import StatusReport, layout_notes, skipped, unread, unreadable
from .documents.threads import conversation, resolve_thread
from .errors import CallerError, NotFound, one_of, shortened
from .files.paths import Paths
from .models import DRAFT, Count, Deadline, Filters, IndexReport, Mode, Query, SearchOutcome, StoredDocument
from .schemas import ContentType, DocType, EntityType, NoArguments, SearchType, SortBy, known_name, validated

if TYPE_CHECKING:
    from .files.lock import FolderLock

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
    measuring, asking = _MEASURING.set(True), _ASK_LLM.set(llm)
    try:
        yield
    finally:
        _MEASURING.reset(measuring)
        _ASK_LLM.reset(asking)


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A method's arguments from its `locals()`."""
    return {name: value for name, value in arguments.items() if name not in ("self", "deadline")}


class Librarian:
    """A library, open. Use it as a context manager or call `close`. Safe to call from several threads.

    Every operation raises `CallerError` for wrong arguments and once its deadline has passed, `NotFound` among them for
    what isn't there, and `Unavailable` where a part that it needs doesn't work.
    """

    def __init__(self, parts: Dependencies) -> None:
        self._parts = parts
        self._state = StatusReport(parts)
        self._files = Files(Paths(parts.options.root), parts.indexing.notice, parts.indexing.missing_reason)
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
        from .daemon.launcher import owned
        from .settings import Settings

        given: dict[str, object] = dict(overrides)
        given |= {key: str(value) for key, value in {"docs.root_path": root, "index.path": index}.items() if value}
        settings = Settings.load(Path(config) if config else None, overrides=given)
        settings.require_library()
        with ExitStack() as undone:
            lock = owned(settings.index.path, hint=_INSTEAD) if start else None
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

    def reload(self) -> None:
        """Scan the whole folder again soon, and retry what failed to load."""
        self._forget_failures()
        self._parts.indexing.rescan()

    def wait_until_ready(self, timeout_s: float | None = None) -> bool:
        """Block until nothing is left to read, to embed or to learn; False where the time ran out first."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._parts.indexing.wait_until_idle(timeout_s):
            return False
        learning = self._parts.learning
        return learning is None or learning.wait(None if until is None else max(0.0, until - time.monotonic()))

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
        return self._parts.options.root

    @property
    def index(self) -> Path:
        """The folder that holds the index."""
        return self._parts.options.index

    @property
    def damage(self) -> str:
        """What of the catalog was found damaged since it was opened; opening it again repairs that."""
        return self._parts.catalog.damage or self._parts.keyword_damage()

    # -- operations by name

    def call(
        self, name: str, arguments: Mapping[str, object], deadline: Deadline | None = None
    ) -> schemas.ResponseModel | Mapping[str, object]:
        """Validate `arguments` and run the operation that outsiders call `name` (see `schemas.OPERATIONS`)."""
        operation = schemas.OPERATIONS.get(name)
        if operation is None:
            hint = one_of(tuple(schemas.OPERATIONS), name)
            raise CallerError(f"There is no operation {shortened(name)}.", hint=hint)
        request = validated(operation.request, arguments, name)
        response: schemas.ResponseModel | Mapping[str, object]
        if isinstance(request, NoArguments):
            response = getattr(self, operation.method)(deadline=deadline)
        else:
            response = getattr(self, f"_{operation.method}")(request, deadline or Deadline())
        return response

    # -- searching

    def search(
        self,
        query: str,
        *,
        product: str | None = None,
        component: str | None = None,
        file_types: Collection[str] | None = None,
        max_results: int | None = None,
        offset: int = 0,
        mode: Mode | None = None,
        semantic_weight: float | None = None,
        include_parent_context: bool = False,
        doc_type: DocType | None = None,
        tags: Collection[str] | None = None,
        language: str | None = None,
        modified_after: str | dt.date | None = None,
        modified_before: str | dt.date | None = None,
        max_per_document: int | None = None,
        max_tokens: int | None = None,
        hypothetical_answer: str | None = None,
        include_weak: bool = False,
        explain: bool = False,
        brief: bool = False,
        deadline: Deadline | None = None,
    ) -> schemas.SearchResponse:
        """Documents that answer `query`, best first; with `brief` single passages.

        Args:
            mode: how to search; by default as the settings say.
            semantic_weight: share of the semantic score, 0 to 1.
            max_per_document: passages of each document, 0 for no limit.
            max_tokens: size of the results at most.
            hypothetical_answer: how an answer might read, for mode hyde.
            explain: adds `why`, `highlights` and the scores of each retriever.
        """
        return self._search(validated(schemas.SearchRequest, _given(locals()), "search"), deadline or Deadline())

    def _search(self, request: schemas.SearchRequest, deadline: Deadline) -> schemas.SearchResponse:
        self._await_text(deadline)
        options = self._parts.options
        query = replace(queries.document_query(request, options, self._products), ask_llm=_ASK_LLM.get())
        answer, count = self._checked(lambda query: self._parts.engine.search(query, deadline), query)
        outcome = answer.outcome
        query_log.note(outcome, options.slow_query_ms)
        if not query.offset and not _MEASURING.get() and not DRAFT.get():
            self._parts.questions.note(query.text, outcome.total, outcome.answerable, query.filters.product)
        fields = responses.envelope(outcome, count, query.mode, explain=request.explain)
        fields["notes"] = queries.result_notes(request, options)
        return schemas.SearchResponse(results=self._results(answer, responses.DOCUMENTS[request.explain]), **fields)

    def search_emails(
        self,
        query: str = "",
        *,
        sender: str | None = None,
        thread_id: str | None = None,
        subject_contains: str | None = None,
        has_attachments: bool | None = None,
        date_after: str | dt.date | None = None,
        date_before: str | dt.date | None = None,
        product: str | None = None,
        component: str | None = None,
        max_results: int | None = None,
        offset: int = 0,
        mode: Mode | None = None,
        semantic_weight: float | None = None,
        max_per_thread: int = 1,
        max_tokens: int | None = None,
        explain: bool = False,
        brief: bool = False,
        deadline: Deadline | None = None,
    ) -> schemas.EmailSearchResponse:
        """Emails that answer `query` or, where it is empty, the newest that pass the filters."""
        request = validated(schemas.EmailSearchRequest, _given(locals()), "search_emails")
        return self._search_emails(request, deadline or Deadline())

    def _search_emails(self, request: schemas.EmailSearchRequest, deadline: Deadline) -> schemas.EmailSearchResponse:
        self._await_text(deadline)
        options, engine, catalog = self._parts.options, self._parts.engine, self._parts.catalog
        query = replace(queries.email_query(request, options, self._products), ask_llm=_ASK_LLM.get())
        if thread := query.filters.thread_id:
            with catalog.read() as reader:
                query = replace(query, filters=replace(query.filters, thread_id=resolve_thread(reader, thread)))
        answer, count = self._checked(
            lambda query: engine.search(query, deadline) if query.text else newest_first(catalog, query), query
        )
        outcome = answer.outcome
        query_log.note(outcome, options.slow_query_ms)
        fields = responses.envelope(outcome, count, query.mode, explain=request.explain)
        fields |= {"query": request.query, "notes": queries.result_notes(request, options)}
        return schemas.EmailSearchResponse(results=self._results(answer, responses.MAILS[request.explain]), **fields)

    def search_knowledge_base(
        self,
        query: str,
        *,
        source_id: str | None = None,
        document_id: str | None = None,
        document_type: str | None = None,
        match_count: int | None = None,
        search_type: SearchType | None = None,
        deadline: Deadline | None = None,
    ) -> schemas.KnowledgeResponse:
        """Passages of documents and emails as a RAG service returns them."""
        request = validated(schemas.KnowledgeRequest, _given(locals()), "search_knowledge_base")
        return self._search_knowledge_base(request, deadline or Deadline())

    def _search_knowledge_base(
        self, request: schemas.KnowledgeRequest, deadline: Deadline
    ) -> schemas.KnowledgeResponse:
        self._await_text(deadline)
        options, engine = self._parts.options, self._parts.engine
        product = known_name("source_id", request.source_id, list(self._products()), hint=_SEE_PRODUCTS)
        paths: tuple[str, ...] = ()
        if request.document_id is not None:
            with self._parts.catalog.read() as reader:
                paths = (document_at(reader, addresses.parse(request.document_id).file_path).document.file_path,)
        query = rag.knowledge_query(request, options, product, paths)
        answer = checked(lambda query: engine.search(query, deadline), query, self._files)
        outcome = answer.outcome
        self._parts.questions.note(query.text, outcome.total, outcome.answerable, product)
        response = rag.response(outcome, rag.search_type(request, options), options.knowledge_weight)
        embedded = outcome.retrievers["semantic"].status == "ok"
        missing = self._degraded(outcome.degraded, by_meaning=embedded, away=answer.away)
        return response.model_copy(update={"degraded": [*response.degraded, *missing]})

    def search_registry(
        self,
        query: str,
        *,
        entity_types: Collection[EntityType] | None = None,
        max_results: int | None = None,
        deadline: Deadline | None = None,
    ) -> schemas.RegistryResponse:
        """Servers, agents and tools of the library's registry files, the best `max_results` of each."""
        request = validated(schemas.RegistryRequest, _given(locals()), "search_registry")
        return self._search_registry(request, deadline or Deadline())

    def _search_registry(self, request: schemas.RegistryRequest, deadline: Deadline) -> schemas.RegistryResponse:
        self._await_text(deadline)
        most = queries.limited("max_results", request.max_results, 3, self._parts.options.max_results)
        wanted = tuple(dict.fromkeys(request.entity_types or get_args(EntityType)))
        return self._parts.registry.search(request.query, wanted, most, deadline)

    def search_doc(
        self,
        query: str,
        *,
        project: str | None = None,
        category: str | None = None,
        limit: int | None = None,
        deadline: Deadline | None = None,
    ) -> schemas.SiteSearchResponse:
        """Documents of crawled sites and products, with the sections that match."""
        return self._search_doc(
            validated(schemas.SiteSearchRequest, _given(locals()), "search_doc"), deadline or Deadline()
        )

    def _search_doc(self, request: schemas.SiteSearchRequest, deadline: Deadline) -> schemas.SiteSearchResponse:
        self._await_text(deadline)
        options = self._parts.options
        most = queries.limited("limit", request.limit, 5, options.max_results)
        query = Query(
            text=request.query, mode=options.default_mode, filters=Filters(product=self._project(request.project))
        )
        response = self._parts.sites.search_doc(query, request.category, most, deadline)
        self._parts.questions.note(query.text, len(response.results), "unknown", query.filters.product)
        missing = self._degraded(response.degraded, by_meaning=response.mode != "keyword")
        return response.model_copy(update={"degraded": [*response.degraded, *missing]})

    def analyze(
        self, query: str, *, path: str | None = None, deadline: Deadline | None = None
    ) -> schemas.AnalyzeResponse:
        """How a question is understood, which mode suits it, and with `path` why that document isn't found."""
        return self._analyze(validated(schemas.AnalyzeRequest, _given(locals()), "analyze"), deadline or Deadline())

    def _analyze(self, request: schemas.AnalyzeRequest, deadline: Deadline) -> schemas.AnalyzeResponse:
        analysis = self._parts.analyst.analyze(request.query)
        if request.path is None:
            return analysis
        search = schemas.SearchRequest.model_construct(query=request.query)
        query, kind = queries.document_query(search, self._parts.options, self._products), "document"
        try:
            with self._parts.catalog.read() as reader:
                document = resolve_document(reader, request.path)[1].document
            file_path, kind = document.file_path, document.kind
        except NotFound:  # `why_not` says why
            file_path = addresses.parse(request.path).file_path
        if kind == "email":
            query = replace(query, filters=Filters(kind="email"), max_per_document=1)
        return analysis.model_copy(update={"why_not": self._parts.analyst.why_not(query, file_path, deadline)})

    def clear_cache(self, *, deadline: Deadline | None = None) -> schemas.ClearCacheResponse:
        """Forget cached answers. Query embeddings stay: they don't depend on the library."""
        return schemas.ClearCacheResponse(
            cleared=sum(cache.clear() for name, cache in self._parts.caches.items() if name != "query_embedding")
        )

    # -- reading

    def get_document(
        self,
        path: str | PurePath,
        *,
        query: str | None = None,
        section: str | None = None,
        line_start: int | None = None,
        line_end: int | None = None,
        column_start: int | None = None,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        deadline: Deadline | None = None,
    ) -> schemas.DocumentResponse:
        """A document, or one section with its sub-sections, or some of its lines, or what of it answers `query`.

        `path` is a file path, a result's id or uri, or a citation such as `path:10-20`. A long document comes as its
        outline and its beginning unless a part or a number of characters is asked for.
        """
        request = validated(schemas.DocumentRequest, _given(locals()), "get_document")
        return self._get_document(request, deadline or Deadline())

    def _get_document(self, request: schemas.DocumentRequest, deadline: Deadline) -> schemas.DocumentResponse:
        first, last, section = request.line_start, request.line_end, request.section
        column, max_chars = request.column_start or 1, request.max_chars
        limit = schemas.DEFAULT_DOCUMENT_CHARS if max_chars is None else max_chars
        with self._parts.catalog.read() as reader:
            place, stored = resolve_document(reader, request.path)
            chunk = None if place.ordinal is None else passage(reader.chunks_of(stored.doc_id), place)
        stale = has_changed(stored, self._files)
        lines = partial(read, stored, line_start=first, line_end=last, max_chars=limit, column=column, stale=stale)
        if request.query:
            return self._relevant_sections(stored, request.query, request.max_tokens, lines, deadline)
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

    def _relevant_sections(
        self,
        stored: StoredDocument,
        text: str,
        tokens: int,
        lines: Callable[..., schemas.DocumentResponse],
        deadline: Deadline,
    ) -> schemas.DocumentResponse:
        """The sections of a document that answer a question; its beginning where none does."""
        query = Query(
            text=text,
            mode=self._parts.options.default_mode,
            filters=Filters(file_paths=(stored.document.file_path,)),
            max_tokens=max(1, tokens - HEAD_TOKENS),
            ask_llm=_ASK_LLM.get(),
        )
        whole = lines(section=None, anchor=None, chunk=None, max_chars=0)
        if found := self._parts.sections(query, deadline):
            return answering(whole, found)
        note = f"No passage of it answers {shortened(text)}: this is its beginning."
        return beginning(stored, whole).model_copy(update={"notes": [note]})

    def get_thread(
        self,
        thread_id: str,
        *,
        offset: int = 0,
        max_chars: int | None = None,
        deadline: Deadline | None = None,
    ) -> schemas.ThreadResponse:
        """An email thread, oldest first; a long one in parts of up to `max_chars` characters (0: all)."""
        return self._get_thread(
            validated(schemas.ThreadRequest, _given(locals()), "get_thread"), deadline or Deadline()
        )

    def _get_thread(self, request: schemas.ThreadRequest, deadline: Deadline) -> schemas.ThreadResponse:
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

    def load_doc(
        self,
        slug: Sequence[str] | str,
        *,
        include_sections: bool = True,
        include_metadata: bool = True,
        deadline: Deadline | None = None,
    ) -> schemas.SiteDocumentsResponse:
        """Whole documents by slug."""
        return self._load_doc(
            validated(schemas.SiteDocumentsRequest, _given(locals()), "load_doc"), deadline or Deadline()
        )

    def _load_doc(self, request: schemas.SiteDocumentsRequest, deadline: Deadline) -> schemas.SiteDocumentsResponse:
        return self._parts.sites.load_doc(request.slug, request.include_sections, request.include_metadata)

    # -- listing

    def list_products(self, *, deadline: Deadline | None = None) -> schemas.ProductsResponse:
        """Products with the number of their components and documents."""
        products = self._products()
        return schemas.ProductsResponse(
            products=[
                schemas.ProductItem(name=name, component_count=len(inside), document_count=sum(inside.values()))
                for name, inside in sorted(products.items())
            ],
            total=len(products),
        )

    def list_components(self, product: str, *, deadline: Deadline | None = None) -> schemas.ComponentsResponse:
        """The components of one product."""
        request = validated(schemas.ComponentsRequest, _given(locals()), "list_components")
        return self._list_components(request, deadline or Deadline())

    def _list_components(self, request: schemas.ComponentsRequest, deadline: Deadline) -> schemas.ComponentsResponse:
        products = self._products()
        name = known_name("product", request.product, list(products), hint=_SEE_PRODUCTS) or ""
        components = [
            schemas.ComponentItem(name=component, document_count=count)
            for component, count in sorted(products[name].items())
        ]
        return schemas.ComponentsResponse(product=name, components=components, total=len(components))

    def list_facets(
        self, type: ContentType = "documents", *, deadline: Deadline | None = None
    ) -> schemas.FacetsResponse:
        """What the filters of a search may choose from, with numbers of documents."""
        return self._list_facets(
            validated(schemas.FacetsRequest, _given(locals()), "list_facets"), deadline or Deadline()
        )

    def _list_facets(self, request: schemas.FacetsRequest, deadline: Deadline) -> schemas.FacetsResponse:
        return facets(self._parts.catalog, request.type)

    def list_doc(
        self,
        *,
        project: str | None = None,
        category: str | None = None,
        content_type: str | None = None,
        sort_by: SortBy = "title",
        deadline: Deadline | None = None,
    ) -> schemas.SiteListResponse:
        """Documents of crawled sites and products, by category."""
        return self._list_doc(validated(schemas.SiteListRequest, _given(locals()), "list_doc"), deadline or Deadline())

    def _list_doc(self, request: schemas.SiteListRequest, deadline: Deadline) -> schemas.SiteListResponse:
        project = self._project(request.project)
        return self._parts.sites.list_doc(project, request.category, request.content_type, request.sort_by)

    def resources(
        self, cursor: str | None = None, *, deadline: Deadline | None = None
    ) -> tuple[list[resources.ResourceRow], str | None]:
        """A page of documents, and the next page's cursor: the last path of this one."""
        with self._parts.catalog.read() as reader:
            return resources.resources(reader, cursor)

    def complete(
        self, kind: str, value: str, context: Mapping[str, str] | None = None, *, deadline: Deadline | None = None
    ) -> list[str]:
        """Names that continue `value`, nearest first; `kind` is product, component, path, heading or thread."""
        with self._parts.catalog.read() as reader:
            return resources.completions(reader, kind, value, context or {})

    def instructions(self) -> str:
        """When to use this library and what it holds, for a model."""
        with self._parts.catalog.read() as reader:
            return resources.instructions(reader)

    def gaps(self, *, limit: int = 50, deadline: Deadline | None = None) -> schemas.GapsResponse:
        """Questions that found nothing or little, where `analytics.enabled` keeps them."""
        return self._gaps(validated(schemas.GapsRequest, _given(locals()), "gaps"), deadline or Deadline())

    def _gaps(self, request: schemas.GapsRequest, deadline: Deadline) -> schemas.GapsResponse:
        return self._parts.questions.gaps(request.limit)

    # -- the library itself

    def status(self, *, deadline: Deadline | None = None) -> schemas.StatusResponse:
        """What is indexed, what isn't and why, and how far work has come."""
        return self._state.status()

    def health(self, *, deadline: Deadline | None = None) -> schemas.HealthResponse:
        """Whether all is well. Quick at any time."""
        return self._state.health()

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call `callback` with the new generation after each change of the index; returns what ends it."""
        return self._parts.indexing.on_generation(callback)

    def refresh(
        self, *, rebuild: bool = False, prune: bool = False, wait: bool = True, deadline: Deadline | None = None
    ) -> schemas.RefreshResponse:
        """Bring the index up to date with the folder; with `wait`, vectors included. What failed is tried again."""
        return self._refresh(validated(schemas.RefreshRequest, _given(locals()), "refresh"), deadline or Deadline())

    def _refresh(self, request: schemas.RefreshRequest, deadline: Deadline) -> schemas.RefreshResponse:
        self._forget_failures()
        indexing, began = self._parts.indexing, time.monotonic()
        report = indexing.rebuild() if request.rebuild else indexing.prune() if request.prune else indexing.refresh()
        if request.wait:
            while not self.wait_until_ready(0.25):
                deadline.check()
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

    def check(self, *, repair: bool = False, deadline: Deadline | None = None) -> schemas.CheckResponse:
        """Compare catalog, keyword index, vectors and folder; with `repair`, fix what differs."""
        return self._check(validated(schemas.CheckRequest, _given(locals()), "check"), deadline or Deadline())

    def _check(self, request: schemas.CheckRequest, deadline: Deadline) -> schemas.CheckResponse:
        return self._parts.check(request.repair)

    def evaluate(
        self,
        *,
        queries: str | PurePath = "",
        qrels: str | PurePath = "",
        modes: Sequence[Mode] = ("keyword", "semantic", "hybrid"),
        product: str | None = None,
        own: bool = False,
        llm: bool = False,
        deadline: Deadline | None = None,
    ) -> Mapping[str, object]:
        """Measure the ranking on judged questions; see `librarian evaluate --help`.

        With `llm` a language model rewrites the questions where one is configured.
        """
        return self._evaluate(validated(schemas.EvaluateRequest, _given(locals()), "evaluate"), deadline or Deadline())

    def _evaluate(self, request: schemas.EvaluateRequest, deadline: Deadline) -> Mapping[str, object]:
        with _measuring(request.llm):
            return self._parts.evaluate(self, deadline=deadline, **request.model_dump())

    def bench(
        self, query: str, *, mode: Mode, llm: bool = False, deadline: Deadline | None = None
    ) -> schemas.SearchResponse:
        """A search that is only timed: it isn't logged as a question; `llm` as for `evaluate`."""
        return self._bench(validated(schemas.BenchRequest, _given(locals()), "bench"), deadline or Deadline())

    def _bench(self, request: schemas.BenchRequest, deadline: Deadline) -> schemas.SearchResponse:
        with _measuring(request.llm):
            search = schemas.SearchRequest.model_construct(query=request.query, mode=request.mode)
            return self._search(search, deadline)

    # -- what several operations share

    def _forget_failures(self) -> None:
        for part in (self._parts.embedder, self._parts.language_model, self._parts.reranker):
            if part is not None:
                part.reset()

    def _await_text(self, deadline: Deadline) -> None:
        """Wait until a library that is read for the very first time holds something, or for a while."""
        if self._has_text:
            return
        with self._parts.catalog.read() as reader:
            self._has_text = reader.generation > 0
        if self._has_text:
            return
        indexing, changed = self._parts.indexing, threading.Event()
        until = time.monotonic() + FIRST_TEXT_S
        forget = indexing.on_generation(lambda _: changed.set())
        try:
            while not changed.wait(0.05) and self._started and time.monotonic() < until:
                deadline.check()
                if indexing.last_indexed_at is not None or indexing.errors():
                    return
        finally:
            forget()

    def _checked(self, search: Callable[[Query], SearchOutcome], query: Query) -> tuple[Checked, Count]:
        """The outcome, checked against the files, with all that is degraded; and what the library holds."""
        answer = checked(search, query, self._files)
        outcome, count = answer.outcome, self._count()
        semantic = outcome.retrievers.get("semantic")
        embedded = semantic is not None and semantic.status == "ok"
        extra = self._degraded(outcome.degraded, count, by_meaning=embedded, away=answer.away)
        full = replace(outcome, degraded=(*outcome.degraded, *extra), tokens_used=0) if extra else outcome
        return replace(answer, outcome=full if full.tokens_used else self._parts.fitted(full)), count

    def _degraded(
        self, reported: Sequence[str], count: Count | None = None, *, by_meaning: bool, away: str = ""
    ) -> list[str]:
        """What a response lacks besides what it has `reported`. `away`: why its files couldn't be checked."""
        extra = [item for item in self._state.reasons() if not any(one.startswith(item) for one in reported)]
        indexing, count = self._parts.indexing, count or self._count()
        if away and not any(item.startswith("root: ") for item in extra):
            extra.append(f"root: {away}")
            indexing.notice([str(self._parts.options.root)])  # the indexer doesn't know yet
        extra += unread(indexing.progress(), first_look=indexing.last_indexed_at is None)
        if by_meaning and count.embedded_chunks < count.chunks:
            extra.append(f"semantic: {count.embedded_chunks:,} of {count.chunks:,} passages are embedded so far.")
        return extra

    def _results(self, answer: Checked, build: Callable[..., Any]) -> list[Any]:
        """Hits as results; those of changed files are marked stale."""
        outcome = answer.outcome
        if not (answer.changed or outcome.query.include_parent_context):
            return list(responses.results(responses.Same(outcome.hits), outcome.query.offset + 1, build))
        contexts = self._contexts(outcome) if outcome.query.include_parent_context else {}
        return [
            build(
                hit,
                rank,
                stale=hit.document.doc_id in answer.changed,
                context=contexts.get(hit.chunk.chunk_id),
            )
            for rank, hit in enumerate(outcome.hits, outcome.query.offset + 1)
        ]

    def _contexts(self, outcome: SearchOutcome) -> dict[int, Mapping[str, object]]:
        contexts: dict[int, Mapping[str, object]] = {}
        with self._parts.catalog.read() as reader:
            for hit in outcome.hits:
                siblings = reader.chunks_of(hit.document.doc_id)
                contexts[hit.chunk.chunk_id] = self._parts.context(hit.chunk, hit.document, siblings)
        return contexts

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
