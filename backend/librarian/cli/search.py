"""The commands that ask a library something: search, show, thread, analyze, products, status."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, get_args

import typer

from ..daemon import address
from ..errors import NOTHING_FOUND, CallerError, LibrarianError
from ..models import Mode
from . import rendering
from .application import ASK, Target, app
from .wording import option_of

__all__ = ["app"]


def _products(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes a product's name, if the library's daemon is running."""
    target = Target(ctx.params.get("root"), ctx.params.get("index"), ctx.params.get("config"))
    with suppress(LibrarianError):  # what is wrong is said when the command runs
        if address.read(target.places().index) is not None:
            names = [one["name"] for one in target.ask("list_products", timeout=2.0)["products"]]
            return [name for name in names if name.startswith(incomplete)]
    return []


def _option(kind: Any, help: str, panel: str | None = None, *names: str, **given: Any) -> Any:
    return Annotated[kind | None, typer.Option(*names, help=help, rich_help_panel=panel, **given)]


_BY, _BY_MAIL, _RANK = "Filters", "Filters of emails", "Ranking"
_MAX_RESULTS = "Number of results, 1 to 50. By default the best 5 that are at least Fair."
_SEARCH = {
    "max_results": _option(int, _MAX_RESULTS, None, "--max-results", "-n", "--limit"),
    "offset": _option(int, "Number of results to skip."),
    "include_weak": _option(bool, "Show weak results too.", None, "--all", "--include-weak"),
    "brief": _option(bool, "Show short snippets.", None, "--brief"),
    "include_parent_context": _option(bool, "With --json: add parent_context to each result.", None, "--context"),
    "max_tokens": _option(int, "Maximum size of the answer in tokens."),
    "product": _option(str, "Search only this product.", _BY, autocompletion=_products),
    "component": _option(str, "Search only this component.", _BY),
    "file_types": _option(list[str], "A format such as .md; repeatable.", _BY, "--file-type"),
    "doc_type": _option(str, "A type such as api, guide, reference or readme.", _BY),
    "tags": _option(list[str], "A tag; repeat it to allow several.", _BY, "--tag"),
    "language": _option(str, "A language by its ISO 639-1 code, such as en.", _BY),
    "after": _option(str, "Changed or sent on or after this date (2026-03-01).", _BY, "--after", "--since"),
    "before": _option(str, "Changed or sent on or before this date.", _BY, "--before", "--until"),
    "sender": _option(str, "Part of the sender's name or address.", _BY_MAIL),
    "subject_contains": _option(str, "Part of the subject.", _BY_MAIL, "--subject"),
    "thread_id": _option(str, "Only this thread.", _BY_MAIL, "--thread"),
    "has_attachments": _option(bool, "With or without attachments.", _BY_MAIL, "--attachments/--no-attachments"),
    "max_per_thread": _option(int, "Maximum results from one thread; 0: no limit.", _BY_MAIL),
    "mode": _option(
        str, "keyword, semantic, hybrid, rerank, hyde or auto.", _RANK, autocompletion=lambda: list(get_args(Mode))
    ),
    "semantic_weight": _option(float, "0: rank by words only; 1: by meaning only.", _RANK),
    "max_per_document": _option(int, "Maximum passages of one document; 0: no limit.", _RANK),
    "hypothetical_answer": _option(str, "What an answer might say, for --mode hyde.", _RANK),
}
"""Options of a search, by the arguments of the operation; `after` and `before` have another name for each kind."""
_OF_EMAILS = ("sender", "subject_contains", "thread_id", "has_attachments", "max_per_thread")
_OF_DOCUMENTS = (
    *("file_types", "doc_type", "tags", "language", "max_per_document", "hypothetical_answer"),
    "include_parent_context",
)


@app.command(
    takes_query=True, example="librarian search 'rolling update' --product kubernetes --why", panel=ASK, further=_SEARCH
)
def search(
    target: Target,
    question: Annotated[
        list[str] | None,
        typer.Argument(help='The question; - reads it from stdin. A "quoted phrase" must occur, -word must not.'),
    ] = None,
    emails: Annotated[
        bool, typer.Option("--emails", help="Search emails. With filters but no question: the newest that match.")
    ] = False,
    why: Annotated[bool, typer.Option("--why", help="Show how each result was ranked.")] = False,
    **given: Any,
) -> None:
    """Search the library. Exit code 1 if nothing is found, or nothing that is likely to answer the question."""
    if unsuitable := [name for name in (_OF_DOCUMENTS if emails else _OF_EMAILS) if name in given]:
        hint = "Leave --emails out." if emails else "Add --emails."
        kind = "documents" if emails else "emails"
        raise CallerError(f"{option_of(unsuitable[0])} is for {kind}.", hint=hint)
    for name in given.keys() & {"after", "before"}:
        given[f"{'date' if emails else 'modified'}_{name}"] = given.pop(name)
    answer = target.ask(
        "search_emails" if emails else "search_documentation",
        query=sys.stdin.read() if question == ["-"] else " ".join(question or ()),
        explain=why or not target.as_json or None,  # on a page the matches are marked
        **given,
    )
    everything = not given.keys().isdisjoint(("include_weak", "max_results", "offset"))
    folder = "" if target.as_json else str(target.places().root)
    target.write(answer, partial(rendering.search, why=why, everything=everything, folder=folder))
    found = answer["results"] if everything or answer["answerable"] != "unlikely" else rendering.best(answer)
    raise typer.Exit(0 if found else NOTHING_FOUND)


@app.command(example="librarian show librarian/guide/installation.md --section 'Time and size'", panel=ASK)
def show(
    target: Target,
    path: Annotated[str, typer.Argument(help="The path, id or uri of a result; path:10-20 for lines.")],
    query: Annotated[str | None, typer.Option(help="A question: print only the sections that answer it.")] = None,
    section: Annotated[str | None, typer.Option(help="A heading or its anchor.")] = None,
    lines: Annotated[str | None, typer.Option(metavar="A-B", help="Lines, such as 10-20, 10- or 10.")] = None,
    max_chars: Annotated[int, typer.Option(help="Maximum number of characters; 0: all.")] = 0,
    max_tokens: Annotated[int | None, typer.Option(help="With --query: maximum size in tokens.")] = None,
) -> None:
    """Print a document, a section of it, some lines, or what answers a question. Exit code 1 if there is none."""
    if lines is None and (named := re.fullmatch(r"(.+):(\d+(?:-\d*)?)", path)):
        path, lines = named.groups()
    first, last = _line_range(lines)
    answer = target.ask(
        "get_document",
        path=path,
        section=section,
        line_start=first,
        line_end=last,
        max_chars=max_chars or (None if query else 0),  # a question has a limit of its own
        query=query,
        max_tokens=max_tokens,
    )
    target.write(answer, rendering.document)


@app.command(example="librarian thread 1de8e54fa984fa7e", panel=ASK)
def thread(
    target: Target,
    thread_id: Annotated[str, typer.Argument(help="The thread that a result of search --emails names.")],
    offset: Annotated[int, typer.Option(help="Number of emails to skip.")] = 0,
    max_chars: Annotated[int, typer.Option(help="Maximum number of characters; 0: all.")] = 0,
) -> None:
    """Print an email thread, oldest email first."""
    answer = target.ask("get_email_thread", thread_id=thread_id, offset=offset, max_chars=max_chars)
    target.write(answer, rendering.thread)


@app.command(
    takes_query=True, example="librarian analyze 'pods stay pending' --path kubernetes/tasks/debug.md", panel=ASK
)
def analyze(
    target: Target,
    question: Annotated[list[str], typer.Argument(help="The question.")],
    path: Annotated[str | None, typer.Option(help="A document that should be found: explain why it isn't.")] = None,
) -> None:
    """Explain how a question is interpreted, and why a document isn't found for it."""
    target.write(target.ask("analyze_query", query=" ".join(question), path=path), rendering.fields)


@app.command(example="librarian products kubernetes", panel=ASK)
def products(
    target: Target, product: Annotated[str | None, typer.Argument(help="List the components of this product.")] = None
) -> None:
    """List the products, or the components of one."""
    operation = "list_components" if product else "list_products"
    target.write(target.ask(operation, product=product or None), rendering.products)


@app.command(example="librarian status --json | jq .embedded_chunks", panel=ASK)
def status(target: Target) -> None:
    """Show what the index holds and whether everything works."""
    target.write(target.ask("get_index_status"), rendering.status)


def _line_range(lines: str | None) -> tuple[int | None, int | None]:
    """`10-20`, `10-` (to the end) or `10` (that line) as first and last line."""
    if lines is None:
        return None, None
    first, dash, last = lines.partition("-")
    try:
        return int(first), int(last) if last else None if dash else int(first)
    except ValueError:
        raise CallerError(f"--lines is {lines!r}.", hint="Write 10-20, 10- or 10.") from None


from . import index, sources  # noqa: E402, F401  (they add their commands, which the help names after these)
