"""The desk: every verb that a door may use, once. Synchronous; doors run it in threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, Self

from ..vocabulary import wire
from ..vocabulary.arguments import LONG_DOCUMENT, LONG_THREAD, USUAL_TOKENS, named, shortened
from ..vocabulary.errors import CallerError, NotFound
from ..vocabulary.paths import Paths
from ..vocabulary.protocols import Budget
from ..vocabulary.request import DRAFT
from ..vocabulary.types import Filters, IndexReport, Query, SearchOutcome, StoredDocument
from ..vocabulary.verbs import SEARCH, SEARCH_EMAILS
from . import addresses, answers, journal, questions
from . import arguments as check
from .browsing import facets, newest_first
from .conversation import conversation, thread_meant
from .gathered import Gathered
from .hosting import Hosting
from .knowledge import Knowledge
from .parts import Parts
from .presence import Checked, Files, has_changed, present
from .reading import HEAD_TOKENS, answering, beginning, document_meant, passage, read
from .state import StateReport, layout_notes, skipped, unreadable

#: Reasons of a degraded state without which an index run hasn't done its work, by how they begin.
_NEEDED = ("root: ", "index: ", "catalog: ", "embeddings")
_MEASURING: ContextVar[bool] = ContextVar("measuring", default=False)  #: judged questions aren't anybody's
_ASK_LLM: ContextVar[bool] = ContextVar("ask_llm", default=True)


@contextmanager
def _measuring(llm: bool) -> Iterator[None]:
    """Searches within are noted nowhere, and ask no language model unless `llm`."""
    measuring, asking = _MEASURING.set(True), _ASK_LLM.set(llm)
    try:
        yield
    finally:
        _MEASURING.reset(measuring)
        _ASK_LLM.reset(asking)


class Librarian(Knowledge, Gathered, Hosting):
    """A library, open. Use as a context manager or call `close`.

    Every verb raises `CallerError` for arguments that are wrong and once its budget is spent, `NotFound` among them for
    what isn't there, and `Unavailable` where a part that it can't do without doesn't work.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._state = StateReport(parts)
        self._files = Files(Paths(parts.options.root), parts.indexing.notice, parts.indexing.away)
        self._closed = threading.Event()
        self._started = False

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
        """Look at the whole folder again soon, and try again what failed to load."""
        self._forget_failures()
        self._parts.indexing.look_again()

    def _forget_failures(self) -> None:
        for part in (self._parts.embedder, self._parts.language_model, self._parts.reranker):
            if part is not None:
                part.reset()

    @property
    def damage(self) -> str:
        """What of catalog or keyword index was found damaged since it was opened; opening it anew repairs that."""
        return self._parts.catalog.damage or self._parts.keyword_damage()

    def close(self) -> None:
        """Stop all background work and close every store. Safe to call twice."""
        if not self._closed.is_set():
            self._closed.set()
            self._parts.close()

    # -- searching ---------------------------------------------------------------------------------------------

    def search(self, query: str, *, budget: Budget | None = None, **given: Any) -> wire.SearchAnswer:
        """Passages of documents; arguments as of the tool `search_documentation`."""
        budget = budget or Budget()
        self._await_text(budget)
        wanted = named("search", SEARCH.arguments, {"query": query, **given})
        asked = replace(questions.documents(self._parts.options, self._products, wanted), ask_llm=_ASK_LLM.get())
        answer, count = self._checked(lambda query: self._parts.engine.search(query, budget), asked)
        outcome = answer.outcome
        journal.note(outcome, self._parts.options.slow_query_ms)
        if not asked.offset and not _MEASURING.get() and not DRAFT.get():
            self._parts.questions.note(asked.text, outcome.total, outcome.answerable, asked.filters.product)
        explain = bool(check.truth("explain", wanted.get("explain")))
        notes = {"notes": questions.notes(self._parts.options, wanted)}
        envelope = answers.envelope(outcome, count, asked.mode, explain=explain) | notes
        return wire.SearchAnswer(results=self._results(answer, answers.DOCUMENTS[explain]), **envelope)

    def search_emails(self, query: str = "", *, budget: Budget | None = None, **given: Any) -> wire.EmailSearchAnswer:
        """Passages of mails; arguments as of the tool `search_emails`."""
        budget = budget or Budget()
        self._await_text(budget)
        wanted = named("search_emails", SEARCH_EMAILS.arguments, {"query": query, **given})
        asked = replace(questions.emails(self._parts.options, self._products, wanted), ask_llm=_ASK_LLM.get())
        if thread := asked.filters.thread_id:
            with self._parts.catalog.read() as reader:
                asked = replace(asked, filters=replace(asked.filters, thread_id=thread_meant(reader, thread)))
        engine, catalog = self._parts.engine, self._parts.catalog
        answer, count = self._checked(lambda q: engine.search(q, budget) if q.text else newest_first(catalog, q), asked)
        outcome = answer.outcome
        journal.note(outcome, self._parts.options.slow_query_ms)
        explain = bool(check.truth("explain", wanted.get("explain")))
        envelope = answers.envelope(outcome, count, asked.mode, explain=explain) | {
            "query": query.strip(),  # with its operators
            "notes": questions.notes(self._parts.options, wanted),
        }
        return wire.EmailSearchAnswer(results=self._results(answer, answers.MAILS[explain]), **envelope)

    def _results(self, answer: Checked, build: Callable[..., Any]) -> list[Any]:
        """Hits as results; those of changed files are marked stale."""
        outcome = answer.outcome
        if not (answer.changed or outcome.query.include_parent_context):
            return list(answers.results(answers.Same(outcome.hits), outcome.query.offset + 1, build))
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

    def analyze(self, query: str, *, path: str | None = None, budget: Budget | None = None) -> wire.AnalyzeAnswer:
        """What kind of question it is, which mode suits it, and with `path` where that document falls out."""
        text = check.query_text(query)
        analysis = self._parts.analyst.analyze(text)
        if not path:
            return analysis
        asked = questions.documents(self._parts.options, self._products, {"query": text})
        kind = "document"
        try:
            with self._parts.catalog.read() as reader:
                document = document_meant(reader, path)[1].document
            file_path, kind = document.file_path, document.kind
        except NotFound:  # of which the answer tells why
            file_path = addresses.parse(path).file_path
        if kind == "email":
            asked = replace(asked, filters=Filters(kind="email"), max_per_document=1)
        return analysis.model_copy(
            update={"why_not": self._parts.analyst.why_not(asked, file_path, budget or Budget())}
        )

    def clear_cache(self, *, budget: Budget | None = None) -> wire.ClearedAnswer:
        """Forget cached answers (query embeddings stay: they don't depend on the library)."""
        return wire.ClearedAnswer(
            cleared=sum(cache.clear() for name, cache in self._parts.caches.items() if name != "query_embedding")
        )

    # -- reading -----------------------------------------------------------------------------------------------

    def get_document(
        self,
        path: str | PurePath,
        *,
        section: str | None = None,
        line_start: int | None = None,
        line_end: int | None = None,
        max_chars: int | None = None,
        column_start: int | None = None,
        query: str | None = None,
        max_tokens: int | None = None,
        budget: Budget | None = None,
    ) -> wire.DocumentAnswer:
        """A document, or one section with its sub-sections, or some of its lines, or what of it answers `query`.

        A long one comes as its outline and its beginning unless a part or a number of characters is asked for.
        """
        first = None if line_start is None else check.whole_number("line_start", line_start, 1, None)
        last = None if line_end is None else check.whole_number("line_end", line_end, 1, None)
        column = 1 if column_start is None else check.whole_number("column_start", column_start, 1, None)
        limit = LONG_DOCUMENT if max_chars is None else max_chars
        limit = check.whole_number("max_chars", limit, 0, None, hint="0 = all.")
        wanted = check.text_or_none("section", section)
        tokens = USUAL_TOKENS if max_tokens is None else check.whole_number("max_tokens", max_tokens, 1, None)
        text = check.query_text(query or "", may_be_empty=True)
        if text and (wanted or first or last):
            part = "section" if wanted else "line_start" if first else "line_end"
            raise CallerError(f"query and {part} are both given.", hint="Give the one or the other.")
        if text and (max_chars is not None or column > 1):
            part = "max_chars" if max_chars is not None else "column_start"
            raise CallerError(f"query and {part} are both given.", hint="With query, max_tokens limits the answer.")
        with self._parts.catalog.read() as reader:
            place, stored = document_meant(reader, path)
            chunk = None if place.ordinal is None else passage(reader.chunks_of(stored.doc_id), place)
        stale = has_changed(stored, self._files)
        lines = partial(read, stored, line_start=first, line_end=last, max_chars=limit, column=column, stale=stale)
        if text:
            return self._answering(stored, text, tokens, lines, budget or Budget())
        named_part = wanted or place.anchor or chunk or first or last or column > 1
        if not named_part and max_chars is None:
            return beginning(stored, lines(section=None, anchor=None, chunk=None, max_chars=0))
        if wanted or not place.anchor:
            return lines(section=wanted, anchor=None, chunk=chunk)
        try:
            return lines(section=None, anchor=place.anchor, chunk=chunk)
        except NotFound:  # of a uri whose anchor the document has lost: the document itself still answers
            if (cited := addresses.lines_at(place.anchor)) and first is last is None:
                return lines(section=None, anchor=None, chunk=None, line_start=cited[0], line_end=cited[1])
            outlined = max_chars is None and first is last is None
            whole = lines(section=None, anchor=None, chunk=None, max_chars=0 if outlined else limit)
            whole = beginning(stored, whole) if outlined else whole
            return whole.model_copy(update={"missing_section": place.anchor})

    def _answering(
        self,
        stored: StoredDocument,
        text: str,
        tokens: int,
        lines: Callable[..., wire.DocumentAnswer],
        budget: Budget,
    ) -> wire.DocumentAnswer:
        """The sections of a document that answer a question; its beginning where none does."""
        asked = Query(
            text=text,
            mode=self._parts.options.default_mode,
            filters=Filters(file_paths=(stored.document.file_path,)),
            max_tokens=max(1, tokens - HEAD_TOKENS),
            ask_llm=_ASK_LLM.get(),
        )
        whole = lines(section=None, anchor=None, chunk=None, max_chars=0)
        if found := self._parts.sections(asked, budget):
            return answering(whole, found)
        note = f"No passage of it answers {shortened(text)}: this is its beginning."
        return beginning(stored, whole).model_copy(update={"notes": [note]})

    def get_thread(
        self, thread_id: str, *, offset: int = 0, max_chars: int | None = LONG_THREAD, budget: Budget | None = None
    ) -> wire.ThreadAnswer:
        """A mail conversation, oldest first; a long one in parts."""
        wanted = check.text_or_none("thread_id", thread_id)
        first = check.whole_number("offset", offset, 0, None)
        limit = LONG_THREAD if max_chars is None else max_chars
        limit = check.whole_number("max_chars", limit, 0, None, hint="0 = all.")
        if wanted is None:
            raise CallerError("thread_id is empty.", hint="Take it from a result of search_emails.")
        with self._parts.catalog.read() as reader:
            wanted = thread_meant(reader, wanted)
            mails = reader.thread(wanted)
            emails = reader.count().emails
        if not mails:
            hint = "Take it from a result of search_emails." if emails else "No email is indexed in this library."
            raise NotFound(f"No thread {shortened(wanted)}.", hint=hint)
        if not (mails := present(mails, self._files)):
            raise NotFound(f"The mails of thread {shortened(wanted)} were deleted or moved since they were indexed.")
        return conversation(wanted, mails, offset=first, max_chars=limit)

    def list_products(self, *, budget: Budget | None = None) -> wire.ProductsAnswer:
        """Products with the number of their components and documents."""
        products = self._products()
        return wire.ProductsAnswer(
            products=[
                wire.ProductItem(name=name, component_count=len(inside), document_count=sum(inside.values()))
                for name, inside in sorted(products.items())
            ],
            total=len(products),
        )

    def list_components(self, product: str, *, budget: Budget | None = None) -> wire.ComponentsAnswer:
        """The components of one product."""
        products = self._products()
        name = check.known_name("product", product, list(products), hint="Use list_products to see what is indexed.")
        if name is None:
            raise CallerError("product is empty.", hint="Use list_products to see what is indexed.")
        components = [
            wire.ComponentItem(name=component, document_count=count)
            for component, count in sorted(products[name].items())
        ]
        return wire.ComponentsAnswer(product=name, components=components, total=len(components))

    def list_facets(self, type: str = "documents", *, budget: Budget | None = None) -> wire.FacetsAnswer:
        """What the filters of a search may choose from, with numbers of documents."""
        return facets(self._parts.catalog, type)

    # -- the library itself --------------------------------------------------------------------------------------

    def status(self, *, budget: Budget | None = None) -> wire.StatusAnswer:
        """What is indexed, what isn't and why, and how far work has come."""
        return self._state.status()

    def health(self, *, budget: Budget | None = None) -> wire.HealthAnswer:
        """Whether all is well, in one short answer."""
        return self._state.health()

    def refresh(
        self, *, rebuild: bool = False, prune: bool = False, wait: bool = True, budget: Budget | None = None
    ) -> wire.RefreshAnswer:
        """Bring the index up to date with the folder; with `wait`, vectors included. What failed is tried again."""
        self._forget_failures()
        indexing, began = self._parts.indexing, time.monotonic()
        report = indexing.rebuild() if rebuild else indexing.prune() if prune else indexing.refresh()
        if wait:
            while not self.wait_until_ready(0.25):
                (budget or Budget()).check()
        return self._refreshed(report, time.monotonic() - began)

    def _refreshed(self, report: IndexReport, took_s: float) -> wire.RefreshAnswer:
        with self._parts.catalog.read() as reader:
            count, generation, failures = reader.count(), reader.generation, reader.failures()
        return wire.RefreshAnswer.model_validate(
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

    def check(self, *, repair: bool = False, budget: Budget | None = None) -> wire.CheckAnswer:
        """Hold catalog, keyword index, vectors and folder against each other; with `repair`, mend what differs."""
        return self._parts.check(repair)

    def evaluate(self, *, budget: Budget | None = None, llm: bool = False, **given: Any) -> Mapping[str, object]:
        """Measure the answers on judged questions; see `librarian evaluate --help`. `llm`: a language model rewrites
        them where one is configured.
        """
        with _measuring(llm):
            return self._parts.evaluate(self, budget=budget or Budget(), llm=llm, **given)

    def bench(self, query: str, *, mode: str, llm: bool = False, budget: Budget | None = None) -> wire.SearchAnswer:
        """A search that is nobody's question and is timed; `llm` as for `evaluate`."""
        with _measuring(llm):
            return self.search(query, mode=mode, budget=budget)

    def wait_until_ready(self, timeout_s: float | None = None) -> bool:
        """Block until nothing is left to read, to embed or to learn; False where the time ran out first."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._parts.indexing.wait_until_idle(timeout_s):
            return False
        learning = self._parts.learning
        return learning is None or learning.wait(None if until is None else max(0.0, until - time.monotonic()))

    @property
    def root(self) -> Path:
        """The folder that is indexed."""
        return self._parts.options.root

    @property
    def index(self) -> Path:
        """The folder that holds the index."""
        return self._parts.options.index
