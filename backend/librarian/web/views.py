"""The views of the page as HTML: home, browsing, results, documents, mail threads, status and help."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, get_args
from weakref import WeakKeyDictionary

from jinja2 import Environment, PackageLoader

from ..api.model_text import progress
from ..documents.addresses import lines_at
from ..errors import LibrarianError, NotFound, counted
from ..models import Mode
from ..schemas import MAX_QUERY_LENGTH, DocumentResponse, EmailSearchResponse, Result, SearchResponse, StatusResponse
from ..search.suggestions import no_mention
from . import rendering
from .state import FILTERS, LABELS, LISTS, PER_PAGE, State

if TYPE_CHECKING:
    from ..library import Librarian

Answer = SearchResponse | EmailSearchResponse

GRADES: Final = ((0.75, "Excellent"), (0.5, "Good"), (0.25, "Fair"), (0.0, "Weak"))
SHOWN_IF_ALL_WEAK: Final = 3
PART: Final = 60_000  #: characters of a document that are shown at once
BEFORE: Final = 20  #: lines above a passage that lies beyond the first part
SHOWN_VALUES: Final = 12  #: of a filter; further ones are folded


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("librarian.web"), autoescape=True, trim_blocks=True, lstrip_blocks=True, auto_reload=False
    )
    environment.filters |= {"number": "{:,}".format, "grade": grade}
    environment.filters |= {"snippet": rendering.snippet, "marked": rendering.words}
    environment.tests["weak"] = lambda result: grade(result) == "Weak"
    environment.globals |= {"counted": counted, "labels": LABELS, "arguments": FILTERS, "modes": get_args(Mode)}
    environment.globals |= {"no_mention": no_mention, "max_length": MAX_QUERY_LENGTH, "per_page": PER_PAGE}
    return environment


def page(name: str, **values: Any) -> str:
    """A template filled in."""
    return _templates().get_template(name).render(**values)


def grade(result: Result) -> str:
    """How likely a result answers the question, in a word."""
    relevance = result.relevance_score
    return "" if relevance is None else next(name for least, name in GRADES if relevance >= least)


# -- the whole page


def render(library: Librarian, state: State, part: str = "") -> str:
    """The view of a state: all of it, or only its `results` or `panel`, or the `state` of the library.

    Raises `LibrarianError` where it can't be had; what is wrong with an opened document is shown in its place.
    """
    if part == "state":
        status = library.status()
        return page("_look.html", status=status, progress=progress(status.progress))
    values: dict[str, Any] = {"state": state}
    search: Any = library.search_emails if state["type"] == "emails" else library.search
    answer: Answer | None = search(**state.request()) if state.searches else None
    if part != "panel":
        status = library.status()
        values |= {"status": status, "progress": progress(status.progress), "answer": answer}
        values["filters"] = _filters(library, state, answer)
        values |= _home(library, state, status.generation) if answer is None else _results(state, answer, status)
    if part != "results" and (state["doc"] or state["thread"]):
        values["panel"] = _panel(library, state, answer)
    return page({"panel": "_panel.html", "results": "_main.html"}.get(part, "page.html"), **values)


def error_page(state: State, error: LibrarianError, part: str = "") -> str:
    """The view of a state that can't be shown."""
    message = f"{error.message} {error.hint}".strip()
    return page("_main.html" if part else "page.html", state=state, error=message, filters=[])


# -- results


def _results(state: State, answer: Answer, status: StatusResponse) -> dict[str, Any]:
    """One card for each document with its passages, in the order of its best one; weak ones apart on the first page."""
    by_document: dict[str, list[Result]] = {}
    for result in answer.results:
        by_document.setdefault(result.file_path, []).append(result)
    cards = shown = list(by_document.values())
    if state.number == 1 and answer.query:
        strong = [card for card in cards if any(grade(one) != "Weak" for one in card)]
        shown = strong or cards[:SHOWN_IF_ALL_WEAK]
    return {"cards": shown, "weak": [card for card in cards if card not in shown], "notices": _notices(answer, status)}


def _notices(answer: Answer, status: StatusResponse) -> list[tuple[str, str]]:
    """What a reader should know of how far the library is, as (kind, text)."""
    notices: list[tuple[str, str]] = []
    coverage = answer.coverage
    partly = coverage.embedded_chunks < coverage.chunks and answer.retrievers.semantic.status == "ok"
    for one in answer.degraded:
        if one.startswith("reading:"):
            notices.append(("", "Files are still being read; passages of the others are missing."))
        elif one.startswith("semantic:") and status.status == "indexing" and not partly:
            notices.append(("", "Search by meaning is still being prepared; so far the words alone answer."))
        elif not (one.startswith("semantic:") and partly):
            notices.append(("warn", f"Not everything works: {one}"))
    if partly:
        done = f"{coverage.embedded_chunks:,} of {counted(coverage.chunks, 'passage')}"
        notices.append(("", f"Search by meaning is prepared for {done} so far; words are searched in all."))
    return notices


def _filters(library: Librarian, state: State, answer: Answer | None) -> list[dict[str, Any]]:
    """The filters with the values that each may have: name, number of documents, address, whether it is chosen."""
    found = (answer.facets if answer else None) or library.list_facets(state["type"])
    offered: dict[str, Any] = {"product": found.products}
    components = next((one.components for one in found.products if one.name == state["product"]), [])
    offered["component"] = sorted(components, key=lambda one: -one.count)
    if state["type"] == "documents":
        offered |= {"doc_type": found.doc_types, "file_types": found.file_types, "tags": found.tags}
        offered["language"] = found.languages if len(found.languages) > 1 else []
    counts = {name: {one.name: one.count for one in items} for name, items in offered.items()}
    if state["type"] == "emails":
        counts["attachments"] = {"yes": None, "no": None}
    facets = []
    for name, items in counts.items():
        chosen = state[name] if name in LISTS else [state[name]] if state[name] else []
        known = items | {one: 0 for one in chosen if one not in items}
        values = [(one, count, state.toggled(name, one), one in chosen) for one, count in known.items()]
        if len(values) > 1 or chosen:
            shown = [one for place, one in enumerate(values) if place < SHOWN_VALUES or one[-1]]
            folded = [one for one in values if one not in shown]
            facets.append({"name": name, "label": LABELS[name], "values": shown, "folded": folded})
    return facets


# -- home and browsing


def _home(library: Librarian, state: State, generation: int) -> Mapping[str, Any]:
    """What there is to browse: products and components, or the documents of one of them."""
    if (now := _start_pages.get(library)) is None or now[0] != generation:
        products = library.list_facets().products
        start = {"products": products, "recent": library.recent(), "examples": library.example_questions()}
        _start_pages[library] = now = (generation, start)
    if not state["product"]:
        return now[1]
    return now[1] | {"browse": library.browse(state["product"], state["component"], state["path"])}


_start_pages: WeakKeyDictionary[Librarian, tuple[int, dict[str, Any]]] = WeakKeyDictionary()
"""What the start page lists, by library, with the generation of the index that it is from."""


# -- what is opened


def _panel(library: Librarian, state: State, answer: Answer | None) -> dict[str, Any]:
    """A document or a mail's thread beside the results; its error where it can't be had."""
    its_own = [one for one in answer.results if one.file_path == state["doc"]] if answer else []
    words = rendering.marked_words(its_own)
    try:
        shown = _thread(library, state) if state["thread"] else _document(library, state, words)
    except LibrarianError as error:
        message = f"{error.message} {error.hint.replace('Use list_components to see what is indexed.', '')}".strip()
        shown = {"error": message, "title": "Not shown"}
    return {"words": words, "close": state.closed().address()} | shown


def _thread(library: Librarian, state: State) -> dict[str, Any]:
    found = library.get_thread(thread_id=state["thread"], max_chars=0)
    paths = [mail.file_path for mail in found.emails]
    chosen = paths.index(state["doc"]) if state["doc"] in paths else len(paths) - 1
    title = found.subject or "(no subject)"
    return {"title": title, "thread": found, "chosen": chosen, "citation": f"{found.subject}. {state['doc']}"}


def _document(library: Librarian, state: State, words: Sequence[str]) -> dict[str, Any]:
    def view_of(path: str, section: str) -> str:
        return f"{state.closed().address(doc=path, section=section)}#s-passage"

    view = (view_of, state.passage, state["section"], words)
    lines = lines_at(state["section"]) or state.passage
    found = _part(library, state["doc"], int(state["from_line"]) if state["from_line"].isdecimal() else 0)
    body, reached = rendering.document(found, *view)
    named = [one.line for one in found.headings if rendering.anchor(one.text) == rendering.anchor(state["section"])]
    wanted = lines[0] if lines else named[0] if named else 0
    for line in (wanted - BEFORE, wanted):  # in another part, perhaps below very long lines
        if not reached and wanted and not found.line_start <= wanted <= found.line_end:
            found = _part(library, found.file_path, line)
            body, reached = rendering.document(found, *view)
    original = library.original(found.file_path)
    here = state | {"doc": found.file_path, "from_line": ""}
    return {
        "title": found.title,
        "document": found,
        "body": body,
        "here": here,
        "missing": state["section"] if not reached else "",
        "address": here.address(from_line=state["from_line"]),
        "citation": f"{found.title}. {found.file_path}",
        "sources": original.urls,
    }


def _part(library: Librarian, path: str, line: int) -> DocumentResponse:
    """The part of a document that begins in a line; its beginning where that is 0.

    A link upwards is meant from the document's folder, or else from the document as if that were a folder.
    """
    first = line if line > 0 else None
    try:
        return library.get_document(path=posixpath.normpath(path), line_start=first, max_chars=PART)
    except NotFound:
        if "/../" not in path:
            raise
        return _part(library, path.replace("/../", "/", 1), line)
