"""The commands that ask a library something: search, show, thread, analyze, products, status."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any, get_args

import typer

from ..errors import NOTHING_FOUND, CallerError
from ..models import Mode
from . import crawl, index, rendering  # noqa: F401  (they add their commands)
from .application import ASK, Target, app

__all__ = ["app"]


@app.command(takes_query=True, example="librarian search 'rolling update' --product kubernetes --why", panel=ASK)
def search(
    target: Target,
    question: Annotated[
        list[str] | None,
        typer.Argument(help='The question. "quoted words" must occur (quote them for the shell), -word excludes.'),
    ] = None,
    emails: Annotated[bool, typer.Option("--emails", help="Search emails; by filters alone the newest first.")] = False,
    mode: Annotated[
        str | None,
        typer.Option(
            help="keyword, semantic, hybrid, rerank, hyde or auto.", autocompletion=lambda: list(get_args(Mode))
        ),
    ] = None,
    product: Annotated[str | None, typer.Option(help="Only this product.")] = None,
    component: Annotated[str | None, typer.Option(help="Only this component.")] = None,
    max_results: Annotated[int | None, typer.Option("--max-results", "-n", help="How many results, 1-50.")] = None,
    offset: Annotated[int | None, typer.Option(help="Leave out so many results.")] = None,
    semantic_weight: Annotated[float | None, typer.Option(help="0: words only, 1: meaning only.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Size of the answer at most, in tokens.")] = None,
    file_types: Annotated[list[str] | None, typer.Option("--file-type", help="Such as .md; repeatable.")] = None,
    doc_type: Annotated[str | None, typer.Option(help="api, guide, architecture, reference, readme ...")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Any of these; repeatable.")] = None,
    language: Annotated[str | None, typer.Option(help="ISO 639-1, such as en.")] = None,
    after: Annotated[str | None, typer.Option(help="Changed or sent since, ISO 8601.")] = None,
    before: Annotated[str | None, typer.Option(help="Changed or sent until, ISO 8601.")] = None,
    max_per_document: Annotated[int | None, typer.Option(help="Passages of each document; 0: no limit.")] = None,
    hypothetical_answer: Annotated[str | None, typer.Option(help="How an answer might read, for --mode hyde.")] = None,
    context: Annotated[bool, typer.Option("--context", help="With --json: parent_context of each result.")] = False,
    sender: Annotated[str | None, typer.Option(help="Emails: part of name or address.")] = None,
    subject: Annotated[str | None, typer.Option(help="Emails: part of the subject.")] = None,
    thread_id: Annotated[str | None, typer.Option("--thread", help="Emails: of this thread.")] = None,
    attachments: Annotated[bool | None, typer.Option(help="Emails: with or without attachments.")] = None,
    max_per_thread: Annotated[int | None, typer.Option(help="Emails: of one thread; 0: no limit.")] = None,
    include_weak: Annotated[bool, typer.Option("--include-weak", help="Show hardly relevant results too.")] = False,
    brief: Annotated[bool, typer.Option("--brief", help="A short snippet for each passage.")] = False,
    why: Annotated[bool, typer.Option("--why", help="Show the reasons for each place.")] = False,
) -> None:
    """Ask a question and get the documents that answer it, with the sections that do. Exit code 1 where nothing is
    found."""
    for_documents = {
        "--file-type": ("file_types", file_types),
        "--doc-type": ("doc_type", doc_type),
        "--tag": ("tags", tags),
        "--language": ("language", language),
        "--max-per-document": ("max_per_document", max_per_document),
        "--hypothetical-answer": ("hypothetical_answer", hypothetical_answer),
        "--context": ("include_parent_context", context or None),
        "--include-weak": ("include_weak", include_weak or None),
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
    date = "date" if emails else "modified"
    given |= {f"{date}_after": after, f"{date}_before": before}
    answer = target.ask(
        "search_emails" if emails else "search_documentation",
        query=" ".join(question or ()),
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
    target.write(answer, partial(rendering.search, why=why))
    raise typer.Exit(0 if answer["results"] else NOTHING_FOUND)


@app.command(example="librarian show librarian/guide/installation.md --section 'Time and size'", panel=ASK)
def show(
    target: Target,
    path: Annotated[str, typer.Argument(help="file_path, id or uri of a result; path:10-20 for lines.")],
    query: Annotated[str | None, typer.Option(help="A question: only the sections that answer it.")] = None,
    section: Annotated[str | None, typer.Option(help="A heading or its anchor.")] = None,
    lines: Annotated[str | None, typer.Option(metavar="A-B", help="Lines, such as 10-20, 10- or 10.")] = None,
    max_chars: Annotated[int, typer.Option(help="The most characters; 0: all.")] = 0,
    max_tokens: Annotated[int | None, typer.Option(help="With --query: size at most, in tokens.")] = None,
) -> None:
    """Show a document, a section, some lines, or what answers a question. Exit code 1 where there is none."""
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
    thread_id: Annotated[str, typer.Argument(help="thread_id of a result of search --emails.")],
    offset: Annotated[int, typer.Option(help="Begin behind so many mails.")] = 0,
    max_chars: Annotated[int, typer.Option(help="The most characters; 0: all.")] = 0,
) -> None:
    """Show an email thread, oldest mail first."""
    answer = target.ask("get_email_thread", thread_id=thread_id, offset=offset, max_chars=max_chars)
    target.write(answer, rendering.thread)


@app.command(
    takes_query=True, example="librarian analyze 'pods stay pending' --path kubernetes/tasks/debug.md", panel=ASK
)
def analyze(
    target: Target,
    question: Annotated[list[str], typer.Argument(help="The question.")],
    path: Annotated[str | None, typer.Option(help="A document that ought to be found: where it falls out.")] = None,
) -> None:
    """Say how a question is understood, and why a document isn't found for it."""
    target.write(target.ask("analyze_query", query=" ".join(question), path=path), rendering.analysis)


@app.command(example="librarian products kubernetes", panel=ASK)
def products(
    target: Target, product: Annotated[str | None, typer.Argument(help="List the components of this product.")] = None
) -> None:
    """List products, or the components of one."""
    operation = "list_components" if product else "list_products"
    target.write(target.ask(operation, product=product or None), rendering.products)


@app.command(example="librarian status --json | jq .embedded_chunks", panel=ASK)
def status(target: Target) -> None:
    """Say what the index holds and whether everything works."""
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
