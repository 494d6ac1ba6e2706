"""The command that brings documentation in: crawl."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import NOTHING_FOUND, UNREADABLE, CallerError, NotFound, Unavailable, counted
from . import rendering
from .application import KEEP, Target, app
from .output import Page, ProgressLine, write_json

if TYPE_CHECKING:
    from ..crawling.crawler import CrawlReport

EVERY_S = 5.0  #: between two lines of progress where there is no terminal


@app.command(example="librarian crawl https://docs.example.org/ --project example", panel=KEEP)
def crawl(
    target: Target,
    url: Annotated[
        str | None, typer.Argument(help="The site's first page; pages below its folder are fetched.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="The product that the pages become.")] = None,
    refresh: Annotated[bool, typer.Option("--refresh", help="Fetch what has changed since the last crawl.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the project's pages and its state.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and write nothing.")] = False,
    allow_private: Annotated[bool, typer.Option("--allow-private", help="Allow addresses that aren't public.")] = False,
    rate: Annotated[float, typer.Option(min=0, help="Maximum requests per second; 0: no limit.")] = 5.0,
    max_pages: Annotated[int, typer.Option(min=1, help="Maximum pages of the project.")] = 5_000,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer.")] = 20.0,
) -> None:
    """Fetch a documentation site as Markdown files, or what has changed there.

    An interrupted crawl continues where it stopped. Exit codes: 3 if some pages can't be read, 1 if no page is kept, 78
    if the first page doesn't answer.
    """
    from ..bootstrap import summarizer_of
    from ..crawling import pages
    from ..crawling.crawler import Crawler
    from ..crawling.fetching import CrawlOptions

    settings = target.settings()
    settings.require_library()
    root, index = settings.docs.root_path, settings.index.path
    if remove:
        if not project:
            raise CallerError("--remove needs --project.", hint="Name the project to delete.")
        count = pages.remove_project(root, index, project)
        left = "; files that weren't crawled are still there" if (root / pages.project_name(project)).exists() else ""
        target.write({"project": project, "removed": count}, f"{project}: {counted(count, 'page')} removed{left}")
        return
    names = [project] if project else list(pages.projects(index)) if refresh and not url else []
    if not names and refresh:
        raise NotFound("No project has been crawled.", hint="Start with librarian crawl URL --project NAME.")
    if not names:
        raise CallerError("crawl needs --project.", hint="It names the folder, for example --project kubernetes.")
    if not url and not refresh:
        raise CallerError("crawl needs a URL.", hint="Give the site's first page, or --refresh for what is there.")
    options = CrawlOptions(
        allow_private=allow_private,
        per_second=rate,
        timeout_s=timeout,
        most_pages=max_pages,
        summarize=None if dry_run else summarizer_of(settings),
    )

    def one(project: str) -> dict[str, Any]:
        """Crawl or plan one project. One of several whose site doesn't answer doesn't stop the others."""

        def show(report: CrawlReport, queued: int) -> None:
            text = (
                f"{project}: {counted(report.done, 'page')}, {queued} to go, {report.bytes / 1e6:.1f} MB, "
                f"{counted(len(report.errors), 'error')}"
            )
            line.show(report.done / max(report.done + queued, 1), text, int(time.monotonic() / EVERY_S))

        crawler = Crawler(url or "", project, root, index, options, on_progress=show)
        try:
            return crawler.plan() if dry_run else asdict(crawler.run())
        except Unavailable as error:
            if len(names) == 1 or dry_run:
                raise
            return asdict(crawler.unreached(str(error)))

    with ProgressLine(quiet=target.as_json) as line:
        answers = [one(name) for name in names]
    if target.as_json:
        write_json(answers[0] if project or len(answers) == 1 else {"projects": answers})
    else:
        for answer in answers:
            rendering.fields(Page(), answer)
    if not dry_run and not any(answer["pages"] for answer in answers):
        raise typer.Exit(NOTHING_FOUND)
    raise typer.Exit(UNREADABLE if any(answer.get("errors") for answer in answers) else 0)
