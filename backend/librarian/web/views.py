"""The views of the page as HTML: home, browsing, results, documents, mail threads, status and help."""

from __future__ import annotations

import datetime as dt
import posixpath
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from jinja2 import Environment, PackageLoader

from ..api.model_text import progress
from ..documents.addresses import lines_at
from ..errors import LibrarianError, NotFound, counted
from ..schemas import (
    MAX_QUERY_LENGTH,
    DocumentRequest,
    DocumentResponse,
    EmailResult,
    EmailSearchResponse,
    FacetItem,
    Result,
    SearchResponse,
    StatusResponse,
    ThreadRequest,
)
from . import rendering
from .snippets import marked_words, snippet
from .state import FILTERS, LABELS, PER_PAGE, State

if TYPE_CHECKING:
    from ..library import Librarian

Answer = SearchResponse | EmailSearchResponse

GRADES: Final = ((0.75, "Excellent"), (0.5, "Good"), (0.25, "Fair"), (0.0, "Weak"))
FAIR: Final = 0.25  #: relevance from which a result isn't folded
SHOWN_IF_ALL_WEAK: Final = 3
PART: Final = 60_000  #: characters of a document that are shown at once
BEFORE: Final = 20  #: lines above a passage that lies beyond the first part
TAGS_SHOWN: Final = 12  #: among the filters
TAGS_OF_CARD: Final = 3

MODES: Final = (
    ("auto", "chooses by the question. A good default."),
    ("hybrid", "words and meaning together, for questions in your own words that also name things."),
    ("keyword", "exact words, names, error codes and versions. “Quoted words” must occur, -word excludes."),
    ("semantic", "meaning alone: finds pages that say it in other words, also across languages the model knows."),
    ("rerank", "hybrid, then the best passages are read once more together with the question. Slower."),
    ("hyde", "searches with an imagined answer, for vague or long questions."),
)
KEYS: Final = (
    ("/", "go to the question"), ("↓ ↑", "move through the results"),
    ("Enter", "open the result; in the question: the first one"),
    ("Esc", "close the document, then go back to the question"), ("c", "copy the result as a citation"),
    ("s", "keep the result as a favourite"), ("?", "this help"),
)  # fmt: skip
#: What the ranker calls its parts, in plain words.
_SOURCES: Final = {
    "keyword": "words", "keyword_further": "words in other passages of the page",
    "keyword_scaled": "words, compared with other results", "semantic": "meaning",
    "semantic_scaled": "meaning, compared with other results", "identifier": "exact name",
    "first stage": "relevance before the second reading", "rerank": "second reading",
    "body_scaled": "text, compared with other results", "both_scaled": "words and meaning, compared with other results",
    "hyde": "imagined answer", "hyde_scaled": "imagined answer, compared with other results", "date": "date",
    "passage": "rank within its page", "evidence": "strength of the best matches",
    "in_links": "links from pages on the topic", "other_sender": "mail of somebody else",
}  # fmt: skip


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("librarian.web"), autoescape=True, trim_blocks=True, lstrip_blocks=True, auto_reload=False
    )
    environment.filters |= {"day": day, "moment": moment, "number": lambda number: f"{number:,}"}
    environment.globals |= {"counted": counted, "modes": MODES, "keys": KEYS, "labels": LABELS}
    return environment


def page(name: str, **values: Any) -> str:
    """A template filled in."""
    return _templates().get_template(name).render(**values)


def day(value: str | None) -> str:
    """A date in ISO 8601 as `3 Feb 2026`."""
    try:
        return f"{dt.date.fromisoformat((value or '')[:10]):%-d %b %Y}"
    except ValueError:
        return value or ""


def moment(value: str | None) -> str:
    """A time in ISO 8601 as `3 Feb 2026, 10:05 UTC`."""
    clock = (value or "")[11:16]
    return f"{day(value)}, {clock} UTC" if clock else day(value)


# -- the whole page


def render(library: Librarian, state: State, part: str = "") -> str:
    """The view of a state: all of it, or only its `results` or `panel`.

    Raises `LibrarianError` where it can't be had; what is wrong with an opened document is shown in its place.
    """
    values: dict[str, Any] = {"state": state, "status": library.status() if part != "panel" else None}
    if values["status"]:
        values["progress"] = progress(values["status"].progress)
    search: Any = library.search_emails if state.type == "emails" else library.search
    answer: Answer | None = search(**state.request()) if state.searches else None
    if part != "panel":
        values |= _results(library, state, answer, values["status"])
    if part != "results" and (state.doc or state.thread):
        values["panel"] = _panel(library, state, answer)
    return page({"panel": "_panel.html", "results": "_main.html"}.get(part, "page.html"), **values)


def error_page(state: State, error: LibrarianError, part: str = "") -> str:
    """The view of a state that can't be shown."""
    message = f"{error.message} {error.hint}".strip()
    return page("_main.html" if part == "results" else "page.html", state=state, error=message, filters=[])


# -- results


def _results(library: Librarian, state: State, answer: Answer | None, status: StatusResponse) -> dict[str, Any]:
    values: dict[str, Any] = {"filters": _filters(library, state, answer), "chips": _chips(state), "answer": answer}
    if answer is None:
        return values | _home(library, state, status.generation)
    cards = _cards(state, answer.results)
    strong = [card for card in cards if _relevance(card) >= FAIR]
    if not strong:
        strong = cards[:SHOWN_IF_ALL_WEAK]
    first_page = state.number == 1 and answer.query
    shown = strong if first_page else cards
    return values | {
        "cards": shown,
        "weak": [card for card in cards if card not in shown],
        "summary": _summary(state, answer),
        "notices": _notices(state, answer, status),
        "suggestions": [] if answer.results else _suggestions(state, answer),
        "other": _other(state, status),
        "following": state.closed().address(page=str(state.number + 1)) if answer.next_offset is not None else "",
        "previous": state.closed().address(page=str(state.number - 1)) if state.number > 1 else "",
    }


def _relevance(card: dict[str, Any]) -> float:
    scores = [one["result"].relevance_score for one in card["entries"]]
    return max(1.0 if score is None else score for score in scores)


def _cards(state: State, results: Sequence[Result]) -> list[dict[str, Any]]:
    """One card for each document with its passages, in the order of its best one."""
    cards: dict[str, dict[str, Any]] = {}
    for result in results:
        if (card := cards.get(result.file_path)) is None:
            is_mail = isinstance(result, EmailResult)
            place = [part for part in (result.product, result.component, result.file_name) if part and not is_mail]
            title = (result.subject if isinstance(result, EmailResult) else result.title) or "(no subject)"
            card = {"title": title, "place": place, "facts": _facts(result), "entries": []}
            cards[result.file_path] = card
        card["entries"].append(_passage(state, result))
    return list(cards.values())


def _facts(result: Result) -> list[str]:
    """What is worth knowing of a found document before it is opened."""
    facts = [f"#{tag}" for tag in result.tags[:TAGS_OF_CARD]]
    if isinstance(result, EmailResult):
        facts = [result.sender, day(result.date)]
        if result.thread_size > 1:
            facts.append(f"one of {result.thread_size} emails in this thread")
        if result.attachments:
            facts.append(counted(len(result.attachments), "attachment"))
    elif result.doc_type != "documentation":
        facts.insert(0, result.doc_type)
    if result.stale:
        facts.append("the file has changed since it was read")
    return [fact for fact in facts if fact]


def _passage(state: State, result: Result) -> dict[str, Any]:
    """A passage of a card: where it opens and what is said of it."""
    path = [part for place, part in enumerate(result.heading_path) if place or part != result.title]
    first, last = result.line_start, result.line_end
    lines = f"line {first}" if first == last else f"lines {first}–{last}"
    thread = result.thread_id if isinstance(result, EmailResult) else ""
    opened = replace(state.closed(), doc=result.file_path, lines=f"{first}-{last}", thread=thread)
    return {
        "result": result,
        "address": f"{opened.address()}#s-passage",
        "heading": " › ".join(path),
        "lines": f"{lines}, page {result.page}" if result.page else lines,
        "snippet": snippet(result),
        "grade": _grade(result.relevance_score),
        "citation": _citation(result, lines),
        "why": _why(result),
    }


def _grade(relevance: float | None) -> str:
    return "" if relevance is None else next(name for least, name in GRADES if relevance >= least)


def _citation(result: Result, lines: str) -> str:
    """A passage as one line to paste elsewhere."""
    section = result.heading_path[-1] if result.heading_path else ""
    what = f"“{section}”, {result.title}" if section and section != result.title else result.title
    if isinstance(result, EmailResult):
        what = f"{result.sender}: {what}" + (f", {result.date[:10]}" if result.date else "")
    page_ = f", p. {result.page}" if result.page else ""
    return f"{what}. {result.file_path}{page_}, {lines}. {result.uri}"


def _why(result: Result) -> list[tuple[str, int | None, str]]:
    """What brought a result where it is, the strongest first: name, rank there, points."""
    parts = sorted(result.why, key=lambda one: -abs(one.points))
    return [(_SOURCES.get(one.source, one.source), one.rank, f"{one.points:+.2f}".replace("-", "−")) for one in parts]


def _summary(state: State, answer: Answer) -> str:
    if not answer.results:
        return "Nothing found"
    if not answer.query:
        return f"{counted(answer.total, 'email')}, newest first"
    if answer.total <= PER_PAGE:
        return counted(answer.total, "email" if state.type == "emails" else "passage")
    last = (state.number - 1) * PER_PAGE + len(answer.results)
    of = "the best " if answer.capped else ""
    return f"{last - len(answer.results) + 1}–{last} of {of}{answer.total:,} passages"


def _notices(state: State, answer: Answer, status: StatusResponse) -> list[tuple[str, str]]:
    """What a reader should know about an answer, as (kind, text)."""
    notices: list[tuple[str, str]] = []
    coverage = answer.coverage
    partly = coverage.embedded_chunks < coverage.chunks and answer.retrievers.semantic.status == "ok"
    for one in answer.degraded:
        if one.startswith("reading:"):
            notices.append(("", "Files are still being read; passages of the others are missing."))
        elif one.startswith("semantic:") and partly:
            continue
        elif one.startswith("semantic:") and status.status == "indexing":
            notices.append(("", "Search by meaning is still being prepared; so far the words alone answer."))
        else:
            notices.append(("warn", f"Not everything works: {one}"))
    if partly:
        done = f"{coverage.embedded_chunks:,} of {counted(coverage.chunks, 'passage')}"
        notices.append(("", f"Search by meaning is prepared for {done} so far; words are searched in all."))
    if answer.not_mentioned:
        names = " or ".join(f"“{one}”" for one in answer.not_mentioned)
        within = f" {answer.not_mentioned_in}" if answer.not_mentioned_in else ""
        notices.append(("", f"No {state.type[:-1]}{within} mentions {names}."))
    if answer.results and answer.answerable == "unlikely":
        notices.append(("", "Probably no passage answers this. These come nearest."))
    if answer.results:
        notices += [("", text) for text in answer.notes]
        notices += [("", one.text) for one in answer.suggestions if one.kind != "mode"]
    if len(state.q) >= MAX_QUERY_LENGTH:
        notices.append(("", f"A question has at most {MAX_QUERY_LENGTH:,} characters; the rest wasn’t searched for."))
    rewritten = answer.rewritten
    if rewritten and rewritten.search_terms and rewritten.source != "spelling":
        notices.append(("", f"Also searched for: {rewritten.search_terms} ({rewritten.source})"))
    return notices


def _suggestions(state: State, answer: Answer) -> list[tuple[str, str, str]]:
    """What to try where nothing was found: text, address, name of the link."""
    found = []
    by_argument = {argument: name for name, argument in FILTERS[state.type].items()}
    plain = state.closed()
    for one in answer.suggestions:
        if one.kind == "term":
            found.append((one.text, plain.address(q=one.value, page=""), f"Search for “{one.value}”"))
        elif one.kind == "mode":
            text = one.text.replace("Search with mode=", "Another way to search may find it: ")
            found.append((text, plain.address(mode=one.value, page=""), f"Use mode {one.value}"))
        elif one.kind == "filter" and (name := by_argument.get(one.value)):
            empty: Any = () if name in ("file_types", "tags") else ""
            found.append((one.text, plain.address(page="", **{name: empty}), f"Remove “{LABELS[name]}”"))
        else:
            found.append((one.text, "", ""))
    return found


def _other(state: State, status: StatusResponse) -> tuple[str, str] | None:
    """The other kind of content, where there is some: address and name."""
    other = "documents" if state.type == "emails" else "emails"
    many = status.emails if other == "emails" else status.documents
    return (State(q=state.q, type=other).address(), other) if many else None


# -- filters


def _filters(library: Librarian, state: State, answer: Answer | None) -> list[dict[str, Any]]:
    """The filters with the values that each may have: name, number of documents, address, whether it is chosen."""
    found = (answer.facets if answer else None) or library.list_facets(
        "emails" if state.type == "emails" else "documents"
    )
    product = next((one for one in found.products if one.name == state.product), None)
    offered: dict[str, Sequence[FacetItem]] = {"product": found.products}
    if state.product:
        offered["component"] = sorted(product.components if product else [], key=lambda one: -one.count)
    if state.type == "documents":
        offered |= {"doc_type": found.doc_types, "file_types": found.file_types, "tags": found.tags}
        if len(found.languages) > 1 or state.language:
            offered["language"] = found.languages
    else:
        offered["attachments"] = [FacetItem(name="yes", count=-1), FacetItem(name="no", count=-1)]
    facets = []
    for name, items in offered.items():
        now = getattr(state, name)
        chosen = {now} - {""} if isinstance(now, str) else set(now)
        known = {one.name: one.count if one.count >= 0 else None for one in items}
        counts = known | {one: 0 for one in chosen if one not in known}
        values = [
            (one, counts[one], state.without(name, one) if one in chosen else address, one in chosen)
            for one, address in zip(counts, state.choices(name, counts), strict=True)
        ]
        shown = [one for place, one in enumerate(values) if place < TAGS_SHOWN or one[-1]]
        if len(shown) > 1 or chosen:
            folded = [one for one in values if one not in shown]
            facets.append({"name": name, "label": LABELS[name], "values": shown, "folded": folded})
    return facets


def _chips(state: State) -> list[tuple[str, str]]:
    """The filters in use: what to call each, and the address without it."""
    return [
        (f"{LABELS[name]}: {day(value) if name in ('after', 'before') else value}", state.without(name, value))
        for name, value in state.filters()
    ]


# -- home and browsing


def _home(library: Librarian, state: State, generation: int) -> dict[str, Any]:
    """What there is to browse: products and components, or the documents of one of them."""
    if state.product:
        known = next((one for one in library.list_facets().products if one.name == state.product), None)
        documents = library.browse(state.product, state.component, state.path)
        return {
            "browse": documents,
            "components": known.components if known and not state.component else [],
            "following": state.address(path=documents.after) if documents.after else "",
        }
    if (now := _start_pages.get(library)) is None or now[0] != generation:
        products = library.list_facets().products
        start = {"products": products, "recent": library.recent(), "examples": library.example_questions()}
        _start_pages[library] = now = (generation, start)
    return now[1]


_start_pages: WeakKeyDictionary[Librarian, tuple[int, dict[str, Any]]] = WeakKeyDictionary()
"""What the start page lists, by library, with the generation of the index that it is from."""


# -- what is opened


def _panel(library: Librarian, state: State, answer: Answer | None) -> dict[str, Any]:
    """A document or a mail's thread beside the results; its error where it can't be had."""
    words = _words(state, answer)
    try:
        if state.thread:
            return _thread(library, state, words)
        return _document(library, state, words)
    except LibrarianError as error:
        message = f"{error.message} {error.hint.replace('Use list_components to see what is indexed.', '')}".strip()
        return {"error": message, "title": "Not shown", "close": state.closed().address()}


def _words(state: State, answer: Answer | None) -> list[str]:
    """What is marked in a passage: the words that its snippet has marked, else the question's."""
    found = marked_words([one for one in answer.results if one.file_path == state.doc]) if answer else []
    return found or rendering.words_of(state.q)


def _thread(library: Librarian, state: State, words: Sequence[str]) -> dict[str, Any]:
    thread = ThreadRequest(thread_id=state.thread, max_chars=0)
    found = library.get_thread(**thread.model_dump())
    chosen = next((place for place, mail in enumerate(found.emails) if mail.file_path == state.doc), -1)
    mails = [
        {
            "mail": mail,
            "body": rendering.words(mail.body, words if place == chosen else ()),
            "quoted": [(counted(text.count("\n") + 1, "line"), text) for text in mail.quoted],
            "chosen": place == chosen % len(found.emails),
        }
        for place, mail in enumerate(found.emails)
    ]
    return {
        "title": found.subject or "(no subject)",
        "thread": found,
        "mails": mails,
        "close": state.closed().address(),
        "citation": f"{found.subject}. {state.doc}",
    }


def _document(library: Librarian, state: State, words: Sequence[str]) -> dict[str, Any]:
    try:
        found = library.get_document(**_part_of(replace(state, doc=posixpath.normpath(state.doc))))
    except NotFound:
        if "/../" not in state.doc:
            raise
        found = library.get_document(**_part_of(replace(state, doc=state.doc.replace("/../", "/", 1))))
    state = replace(state, doc=found.file_path)
    lines = state.passage
    if lines is None and found.missing_section is None and (named := lines_at(state.section)):
        lines = named
    closed = state.closed()
    view = rendering.View(
        address=lambda doc, section: f"{closed.address(doc=doc, section=section)}#s-passage",
        lines=None if state.section else lines,
        section=state.section,
        words=words,
    )
    body, reached = rendering.document(found, view)
    wanted = lines[0] if lines else _line_of(found, state.section)
    if not reached and wanted and not found.line_start <= wanted <= found.line_end:  # in another part
        found = library.get_document(**_part_of(state, max(1, wanted - BEFORE)))
        if wanted > found.line_end:
            found = library.get_document(**_part_of(state, wanted))
        body, reached = rendering.document(found, view)
    original = library.original(found.file_path)
    here = replace(closed, doc=found.file_path, lines=state.lines, section=state.section)
    return {
        "title": found.title,
        "document": found,
        "body": body,
        "outline": _outline(found, here),
        "missing": state.section if state.section and not reached else "",
        "earlier": here.address(lines="", section="", from_line="") if found.line_start > 1 else "",
        "further": here.address(lines="", section="", from_line=str(found.next_line)) if found.next_line else "",
        "facts": _document_facts(found),
        "address": here.address(from_line=state.from_line),
        "close": closed.address(),
        "citation": f"{found.title}. {found.file_path}",
        "sources": original.urls,
        "browse": State(product=found.product, component=found.component).address(),
    }


def _part_of(state: State, line: int | None = None) -> dict[str, Any]:
    """The arguments of a part of the document from a line on; its beginning where none is named."""
    first = line or (int(state.from_line) if state.from_line.isdecimal() and int(state.from_line) else None)
    return DocumentRequest(path=state.doc, line_start=first, max_chars=PART).model_dump(exclude_defaults=True)


def _line_of(found: DocumentResponse, section: str) -> int:
    """The line of the heading that a link names; 0 where none bears that name."""
    wanted = rendering.anchor(section)
    return next((one.line for one in found.headings if wanted and rendering.anchor(one.text) == wanted), 0)


def _outline(found: DocumentResponse, here: State) -> list[tuple[int, str, str]]:
    """Depth, text and address of each heading."""
    least = min((one.level for one in found.headings), default=1)
    return [
        (min(one.level - least, 4), one.text, f"{here.address(lines='', section=f'L{one.line}')}#s-passage")
        for one in found.headings
    ]


def _document_facts(found: DocumentResponse) -> list[str]:
    facts = [day(found.last_modified)]
    if found.email:
        people = [f"From {found.email.sender}"]
        people += [f"to {', '.join(found.email.to)}"] if found.email.to else []
        people += [f"cc {', '.join(found.email.cc)}"] if found.email.cc else []
        facts = [*people, *facts]
    return [*facts, *(["the file has changed since it was read"] if found.stale else [])]
