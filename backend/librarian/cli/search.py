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
from . import crawl, index, rendering  # noqa: F401  (they add their commands)
from .application import ASK, Target, app

__all__ = ["app"]


def _option(help: str, *names: str, panel: str | None = None, **given: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **given)


_filter = partial(_option, panel="Filters")
_email = partial(_option, panel="Filters of emails")
_rank = partial(_option, panel="Ranking")


def _products(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes a product's name, if the library's daemon is running."""
    target = Target(ctx.params.get("root"), ctx.params.get("index"), ctx.params.get("config"))
    with suppress(LibrarianError):  # what is wrong is said when the command runs
        if address.read(target.places().index) is not None:
            names = [one["name"] for one in target.ask("list_products", timeout=2.0)["products"]]
            return [name for name in names if name.startswith(incomplete)]
    return []


@app.command(takes_query=True, example="librarian search 'rolling update' --product kubernetes --why", panel=ASK)
def search(
    target: Target,
    question: Annotated[
        list[str] | None,
        typer.Argument(help='The question; - reads it from stdin. A "quoted phrase" must occur, -word must not.'),
    ] = None,
    emails: Annotated[
        bool, _option("Search emails. With filters but no question: the newest that match.", "--emails")
    ] = False,
    max_results: Annotated[
        int | None,
        _option(
            "Number of results, 1 to 50. By default the best 5 that are at least Fair.",
            "--max-results",
            "-n",
            "--limit",
        ),
    ] = None,
    offset: Annotated[int | None, _option("Number of results to skip.")] = None,
    everything: Annotated[bool, _option("Show weak results too.", "--all", "--include-weak")] = False,
    brief: Annotated[bool, _option("Show short snippets.", "--brief")] = False,
    why: Annotated[bool, _option("Show how each result was ranked.", "--why")] = False,
    context: Annotated[bool, _option("With --json: add parent_context to each result.", "--context")] = False,
    max_tokens: Annotated[int | None, _option("Maximum size of the answer in tokens.")] = None,
    product: Annotated[str | None, _filter("Search only this product.", autocompletion=_products)] = None,
    component: Annotated[str | None, _filter("Search only this component.")] = None,
    file_types: Annotated[list[str] | None, _filter("A format such as .md; repeatable.", "--file-type")] = None,
    doc_type: Annotated[str | None, _filter("A type such as api, guide, reference or readme.")] = None,
    tags: Annotated[list[str] | None, _filter("A tag; repeat it to allow several.", "--tag")] = None,
    language: Annotated[str | None, _filter("A language by its ISO 639-1 code, such as en.")] = None,
    after: Annotated[
        str | None, _filter("Changed or sent on or after this date (2026-03-01).", "--after", "--since")
    ] = None,
    before: Annotated[str | None, _filter("Changed or sent on or before this date.", "--before", "--until")] = None,
    sender: Annotated[str | None, _email("Part of the sender's name or address.")] = None,
    subject: Annotated[str | None, _email("Part of the subject.")] = None,
    thread_id: Annotated[str | None, _email("Only this thread.", "--thread")] = None,
    attachments: Annotated[bool | None, _email("With or without attachments.")] = None,
    max_per_thread: Annotated[int | None, _email("Maximum results from one thread; 0: no limit.")] = None,
    mode: Annotated[
        str | None,
        _rank("keyword, semantic, hybrid, rerank, hyde or auto.", autocompletion=lambda: list(get_args(Mode))),
    ] = None,
    semantic_weight: Annotated[float | None, _rank("0: rank by words only; 1: by meaning only.")] = None,
    max_per_document: Annotated[int | None, _rank("Maximum passages of one document; 0: no limit.")] = None,
    hypothetical_answer: Annotated[str | None, _rank("What an answer might say, for --mode hyde.")] = None,
) -> None:
    """Search the library. Exit code 1 if nothing is found, or nothing that is likely to answer the question."""
    for_documents = {
        "--file-type": ("file_types", file_types),
        "--doc-type": ("doc_type", doc_type),
        "--tag": ("tags", tags),
        "--language": ("language", language),
        "--max-per-document": ("max_per_document", max_per_document),
        "--hypothetical-answer": ("hypothetical_answer", hypothetical_answer),
        "--context": ("include_parent_context", context or None),
    }
    for_emails = {
        "--sender": ("sender", sender),
        "--subject": ("subject_contains", subject),
        "--thread": ("thread_id", thread_id),
        "--attachments": ("has_attachments", attachments),
        "--max-per-thread": ("max_per_thread", max_per_thread),
    }
    mine, others = (for_emails, for_documents) if emails else (for_documents, for_emails)
    if unsuitable := [option for option, (_, value) in others.items() if value not in (None, [])]:
        hint = "Leave --emails out." if emails else "Add --emails."
        raise CallerError(f"{unsuitable[0]} is for {'documents' if emails else 'emails'}.", hint=hint)
    given: dict[str, Any] = {name: value for name, value in mine.values() if value not in (None, [])}
    if everything:
        given["include_weak"] = True
    date = "date" if emails else "modified"
    given |= {f"{date}_after": after, f"{date}_before": before}
    answer = target.ask(
        "search_emails" if emails else "search_documentation",
        query=sys.stdin.read() if question == ["-"] else " ".join(question or ()),
        mode=mode,
        product=product,
        component=component,
        max_results=max_results,
        offset=offset,
        semantic_weight=semantic_weight,
        max_tokens=max_tokens,
        brief=brief or None,
        explain=why or not target.as_json or None,  # on a page the matches are marked
        **given,
    )
    everything = everything or max_results is not None or offset is not None
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
    target.write(target.ask("analyze_query", query=" ".join(question), path=path), rendering.analysis)


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
