"""The command that brings documentation in: crawl."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import NOTHING_FOUND, UNREADABLE, CallerError, NotFound, Unavailable, counted
from .application import KEEP, Target, app
from .output import Page, ProgressLine, write_json

if TYPE_CHECKING:
    from ..crawling.crawler import CrawlOptions, CrawlProgress
    from ..settings import Settings

EVERY_S = 5.0  #: between two lines of progress where there is no terminal
SHOWN = 20


@app.command(example="librarian crawl https://docs.example.org/ --project example", panel=KEEP)
def crawl(
    target: Target,
    url: Annotated[str | None, typer.Argument(help="The site's first page; its folder is what is crawled.")] = None,
    project: Annotated[str | None, typer.Option(help="Name of the product that its pages become.")] = None,
    refresh: Annotated[bool, typer.Option("--refresh", help="Bring crawled projects up to date.")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take a crawled project away: its pages, and what is remembered of it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and write nothing.")] = False,
    group_by: Annotated[
        str | None, typer.Option(metavar="navigation", help="Also write one overview per group of the navigation.")
    ] = None,
    allow_private: Annotated[bool, typer.Option("--allow-private", help="Reach addresses that aren't public.")] = False,
    rate: Annotated[float, typer.Option(min=0, help="Requests per second at most; 0: no limit.")] = 5.0,
    max_pages: Annotated[int, typer.Option(min=1, help="The most pages of the project.")] = 5_000,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds without an answer.")] = 20.0,
) -> None:
    """Bring a documentation site in as Markdown files, or fetch what has changed there.

    An interrupted crawl goes on where it was. Exit code 3 where pages can't be read, 1 where none is kept, 78 where the
    first page doesn't answer.
    """
    from ..bootstrap import summarizer_of
    from ..crawling.crawler import CrawlOptions
    from ..crawling.pages import projects

    if group_by not in (None, "navigation"):
        raise CallerError(f"--group-by is {group_by!r}.", hint="The one grouping is navigation.")
    settings = target.settings()
    settings.require_library()
    options = CrawlOptions(
        allow_private=allow_private,
        per_second=rate,
        timeout_s=timeout,
        most_pages=max_pages,
        group_by="navigation" if group_by else "",
        summarize=None if dry_run or remove else summarizer_of(settings),
    )
    if remove:
        _remove(settings, project, target)
        return
    names = [project] if project else list(projects(settings.index.path)) if refresh and not url else []
    if not names:
        if refresh:
            raise NotFound("No project has been crawled.", hint="Begin with librarian crawl URL --project NAME.")
        raise CallerError("crawl needs --project.", hint="It names the folder, for example --project kubernetes.")
    if not url and not refresh:
        raise CallerError("crawl needs a URL.", hint="Give the site's first page, or --refresh for what is there.")
    options = replace(options, **_embedding_model(settings))
    answers = [
        _one(url or "", name, settings, options, dry_run=dry_run, quiet=target.as_json, alone=len(names) == 1)
        for name in names
    ]
    if target.as_json:
        write_json(answers[0] if project or len(answers) == 1 else {"projects": answers})
    else:
        for answer in answers:
            (_show_plan if dry_run else _show)(Page(), answer)
    if not dry_run and not any(answer["pages"] for answer in answers):
        raise typer.Exit(NOTHING_FOUND)
    raise typer.Exit(UNREADABLE if any(answer.get("errors") for answer in answers) else 0)


def _remove(settings: Settings, project: str | None, target: Target) -> None:
    from ..crawling import pages as page_files
    from ..crawling.pages import remove_project

    if not project:
        raise CallerError("--remove needs --project.", hint="It names the project that goes.")
    root = settings.docs.root_path
    count = remove_project(root, settings.index.path, project)
    left = (root / page_files.project_name(project)).exists()
    rest = "; files that weren't crawled are still there" if left else ""
    target.print({"project": project, "removed": count}, f"{project}: {counted(count, 'page')} removed{rest}")


def _embedding_model(settings: Settings) -> dict[str, Any]:
    """The library's embedding model, as a crawl records it. Raises `SetupError` for a name that no model can have."""
    from ..embeddings.model_files import ModelStore
    from ..embeddings.model_table import canonical, read_spec, spec_of

    embeddings = settings.embeddings
    if not embeddings.enabled:
        return {}
    name = canonical(embeddings.model)
    if "/" in name and (folder := Path(os.path.expanduser(name))).is_dir():
        name = str(folder.resolve())  # whoever embeds may have been started elsewhere
    here = ModelStore().locate(name)
    dimension = (read_spec(name, here) if here else spec_of(name)).dimension
    return {"embedding_model": name, "embedding_dimension": dimension}


def _one(
    url: str, project: str, settings: Settings, options: CrawlOptions, *, dry_run: bool, quiet: bool, alone: bool
) -> dict[str, Any]:
    """Crawls one project. Of several (not `alone`), one whose site is away doesn't keep the others from their turn."""
    from ..crawling.crawler import Crawler

    def show(progress: CrawlProgress) -> None:
        text = (
            f"{project}: {counted(progress.done, 'page')}, {progress.queued} to go, {progress.bytes / 1e6:.1f} MB, "
            f"{counted(progress.errors, 'error')}"
        )
        line.show(progress.done / max(progress.done + progress.queued, 1), text, int(time.monotonic() / EVERY_S))

    with ProgressLine(quiet=quiet) as line:
        crawler = Crawler(url, project, settings.docs.root_path, settings.index.path, options, on_progress=show)
        try:
            return asdict(crawler.plan() if dry_run else crawler.run())
        except Unavailable as error:
            if alone or dry_run:
                raise
            return asdict(crawler.unreached(str(error)))


def _show(page: Page, answer: dict[str, Any]) -> None:
    went_on = " (went on where it was interrupted)" if answer["resumed"] else ""
    pages = f"{answer['project']}: {counted(answer['pages'], 'page')}"
    page.line((pages, "bold"), f" from {answer['root_url']}{went_on}")
    page.line(
        f"{answer['added']} added, {answer['changed']} changed, {answer['unchanged']} unchanged, "
        f"{answer['removed']} removed, {counted(answer['duplicates'], 'duplicate')}; "
        f"{counted(answer['requests'], 'request')}, "
        f"{answer['bytes'] / 1e6:.1f} MB, {answer['took_s']:.0f} s",
        indent=2,
    )
    if answer["summarized"]:
        page.line(f"{answer['summarized']} summaries by the language model", indent=2)
    if answer["summary_error"]:
        page.line(("pages summarised in their own words: ", "yellow"), answer["summary_error"], indent=2)
    if answer["overviews"]:
        page.line(f"{counted(answer['overviews'], 'overview')} of groups", indent=2)
    _list(page, "empty without JavaScript", answer["javascript"])
    _list(page, "can't be read", [f"{error['url']}: {error['reason']}" for error in answer["errors"]])
    for reason, count in answer["skipped"].items():
        page.line(f"{count} left out: {reason}, such as {answer['examples'][reason]}", indent=2)
    page.line("A running Librarian picks the files up by itself; otherwise: librarian index", indent=2)


def _list(page: Page, what: str, items: list[str]) -> None:
    if items:
        page.line((f"{len(items)} {what}:", "yellow"), indent=2)
        for item in items[:SHOWN]:
            page.line(item, indent=4)


def _show_plan(page: Page, answer: dict[str, Any]) -> None:
    begin = f"{answer['project']}: {counted(len(answer['pages']), 'page')} to begin with"
    page.line((begin, "bold"), f", {answer['root_url']}")
    sources = ", ".join(f"{count} from {source}" for source, count in answer["by_source"].items())
    page.line(f"{sources}; {answer['seconds']:.0f} s at a pause of {answer['delay_s']:g} s", indent=2)
    for category, count in answer["categories"].items():
        page.line(f"{answer['folder']}/{category}: {count}", indent=2)
    for reason, count in answer["skipped"].items():
        page.line(f"{count} left out: {reason}", indent=2)
