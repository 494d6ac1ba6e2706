"""Bringing a documentation site in as files, and keeping them as the site is."""

from __future__ import annotations

import datetime as dt
import logging
import re
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import CallerError, NotFound, Unavailable
from ..files.owned_folder import claim_index
from . import digest, urls
from . import pages as page_files
from .digest import Summaries, write_overviews
from .fetching import Fetched, Fetcher
from .frontier import Frontier
from .options import CrawlOptions, ProjectModel
from .pages import WRITER, CrawlState, Record, other_model_note, state_path
from .report import CrawlPlan, CrawlProgress, CrawlReport, OnProgress
from .web_page import WebPage, as_page

logger = logging.getLogger(__name__)

MOST_WITHIN = 16  #: pages that are looked at within each other, as canonical addresses and equal texts lead
GONE = frozenset({301, 308, 404, 410})  #: what says that a page isn't here any more; all else may pass


class Crawler:
    """One crawl of one site. `root` is the library's folder, `index` where the state is kept."""

    def __init__(
        self,
        url: str,
        project: str,
        root: Path,
        index: Path,
        options: CrawlOptions = CrawlOptions(),
        *,
        model: ProjectModel = ProjectModel(),
        on_progress: OnProgress | None = None,
    ) -> None:
        self._project = page_files.project_name(project)
        self._root = root
        self._options = options
        self._state_path = state_path(index, project)
        self._on_progress = on_progress
        self._began = time.monotonic()
        self._state = self._stated(url, model)
        self._report = CrawlReport(project, self._state.root_url, project)
        if self._state.model_chosen and model.name and self._state.embedding_model != model.name:
            self._report.ignored_model = other_model_note(project, self._state.embedding_model)
        self._summaries = Summaries(options.summarize, self._report)
        self._foreign: set[str] = set()  # files in the project's folder that are none of ours
        self._unsaved: dict[str, str] = {}  # files that were written, but not remembered, before a kill
        self._waiting: list[str] = []  # pages that are being looked at, each for the sake of the one before
        self._keys: dict[str, str] = {}  # page key → the address that has the file
        self._texts: dict[str, str] = {}  # hash of a page's text → the address that has the file
        self._fetcher = Fetcher(
            allow_private=options.allow_private,
            per_second=options.per_second,
            timeout_s=options.timeout_s,
            most_bytes=options.most_bytes,
        )
        self._frontier = Frontier(self._state, self._fetcher, options, self._report.skip)

    def _stated(self, url: str, model: ProjectModel) -> CrawlState:
        state = CrawlState.load(self._state_path)
        given = urls.normalised(url) if url else ""
        if url and not given:
            raise CallerError(f"{url!r} is no site's address.", hint="Give one such as https://docs.example.org/.")
        if state is None:
            if not given:
                raise NotFound(f"{self._project!r} hasn't been crawled.", hint="Give the site's address.")
            now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
            state = CrawlState(self._project, given, created_at=now, group_by=self._options.group_by)
            state.embedding_model, state.embedding_dimension = model.name, model.dimension
        elif given and not urls.Scope.of(state.root_url).holds(given) and state.root_url != given:
            raise CallerError(
                f"{self._project!r} is the project of {state.root_url}.", hint="Choose another --project for this site."
            )
        state.group_by = self._options.group_by or state.group_by
        return state

    # -- the two things to do ------------------------------------------------------------------------------------------

    def plan(self) -> CrawlPlan:
        """What would be fetched first. Reads the site's lists and its first page; writes nothing."""
        try:
            first = self._open()
            self._frontier.take_links(first, 0)
            pages = [url for url, _ in self._frontier.queue]
            delay = max(
                1 / self._options.per_second if self._options.per_second else 0.0, self._frontier.robots.delay_s
            )
            categories = Counter(" / ".join(self._frontier.category(url)) or "general" for url in pages)
            return CrawlPlan(
                project=self._project,
                root_url=self._state.root_url,
                folder=self._project,
                pages=pages,
                by_source=dict(self._frontier.sources),
                categories=dict(sorted(categories.items())),
                skipped=self._report.skipped,
                delay_s=delay,
                seconds=round(delay * len(pages), 1),
            )
        finally:
            self._fetcher.close()

    def run(self) -> CrawlReport:
        """Fetch what is new or has changed, write it, and take away what is gone. Goes on where it was interrupted."""
        state, options = self._state, self._options
        claim_index(self._state_path.parent.parent)  # before pages are fetched that couldn't be remembered
        try:
            self._report.resumed = not state.finished and bool(state.records)
            first = self._open()
            self._frontier.take_links(first, 0)
            if state.finished:
                self._refuse_a_dead_end()
                state.round, state.finished, state.queue = state.round + 1, False, []
            self._recall()
            for url, depth in state.queue:
                self._frontier.add(url, depth, "resumed")
            if state.round > 1:
                for url in list(state.records):
                    self._frontier.add(url, options.most_depth, "known")
            since, queue = 0, self._frontier.queue
            while queue:
                url, depth = queue[0]
                if self._report.pages < options.most_pages or self._has_file(url):
                    self._visit(url, depth)
                else:
                    self._report.skip(url, f"more than {options.most_pages:,} pages")
                queue.popleft()
                since += 1
                if since >= options.save_every:
                    since = 0
                    self._save()
                self._tell(url)
            state.finish()
            if state.group_by == "navigation":
                self._report.overviews = write_overviews(self._root, state)
            return self._report
        finally:
            self._save()
            self._fetcher.close()
            self._report.requests, self._report.bytes = self._fetcher.requests, self._fetcher.bytes_read
            self._report.took_s = round(time.monotonic() - self._began, 2)

    def kept_as_it_was(self, reason: str) -> CrawlReport:
        """The report of a refresh that ended before it began, as `reason` says."""
        self._report.pages = sum(bool(record.file) for record in self._state.records.values())
        self._report.errors = [{"url": self._state.root_url, "reason": reason}]
        return self._report

    def _save(self) -> None:
        if not self._state.records:
            return  # nothing was reached: another address may be tried
        self._state.queue = list(self._frontier.queue)
        self._state.save(self._state_path)

    def _tell(self, url: str) -> None:
        if self._on_progress is not None:
            report = self._report
            done = report.added + report.changed + report.unchanged + report.duplicates + len(report.errors)
            self._on_progress(
                CrawlProgress(done, len(self._frontier.queue), self._fetcher.bytes_read, len(report.errors), url)
            )

    def _has_file(self, url: str) -> bool:
        record = self._state.records.get(url)
        return record is not None and bool(record.file)

    def _refuse_a_dead_end(self) -> None:
        """A notice or a login instead of the first page would make all pages equal, and take away all but one."""
        known = sum(bool(record.file) for record in self._state.records.values())
        if known > 1 and len(self._frontier.queue) <= 1:
            raise Unavailable(
                f"{self._state.root_url} leads to none of its {known:,} pages any more; they are kept as they are.",
                hint="Look at it in a browser; where it has moved, crawl its other address as another --project.",
            )

    def _open(self) -> WebPage:
        fetched = self._frontier.open()
        self._report.root_url = self._state.root_url
        return as_page(fetched)

    def _recall(self) -> None:
        """What earlier rounds have kept, and what this one has reported before it was interrupted."""
        for url, record in self._state.records.items():
            if record.problem and record.round == self._state.round:
                self._retell(url, record)
            if record.file:
                self._keys.setdefault(urls.page_key(url), url)
                self._texts.setdefault(record.text_hash, url)
                self._report.pages += 1
        ours = {record.file for record in self._state.records.values()}
        found = (path.relative_to(self._root).as_posix() for path in (self._root / self._project).rglob("*.md"))
        for path in set(found) - ours:
            source = page_files.source_of(self._root / path)
            if source and urls.page_key(source).startswith(urls.page_key(self._frontier.scope.origin)):
                self._unsaved[source] = path
            else:
                self._foreign.add(path)

    def _retell(self, url: str, record: Record) -> None:
        if record.failed:
            self._report.errors.append({"url": url, "reason": record.problem})
        elif "JavaScript" in record.problem:
            self._report.javascript.append(url)

    # -- one page ------------------------------------------------------------------------------------------------------

    def _visit_first(self, url: str, depth: int) -> None:
        """Visit what another page's place depends on; not where the two wait for each other, or a long row does."""
        if url in self._waiting or len(self._waiting) >= MOST_WITHIN:
            return self._frontier.queue.append((url, depth))
        return self._visit(url, depth)

    def _visit(self, url: str, depth: int) -> None:
        state = self._state
        record = state.records.get(url)
        if record is not None and record.round == state.round:
            return
        same = self._keys.get(urls.page_key(url), url)
        if same != url and state.records[same].round == state.round:
            self._set(url, Record(duplicate_of=same))
            return
        record = record or Record()
        there = state.writer == WRITER and bool(record.file) and (self._root / record.file).is_file()
        fetched = self._fetcher.get(
            url,
            within=self._frontier.refused,
            etag=record.etag if there else "",
            last_modified=record.last_modified if there else "",
        )
        if fetched.status == 304:
            record.round, record.problem, record.failed = state.round, "", False
            self._report.unchanged += 1
        elif not fetched.ok:
            self._fail(url, record, fetched.problem or f"status {fetched.status}", keep=fetched.status not in GONE)
        else:
            target = fetched.url
            if target != url:
                self._set(url, Record(duplicate_of=target))
                if (known := state.records.get(target)) is not None and known.round == state.round:
                    return
            page = as_page(fetched)
            self._frontier.take_links(page, depth)
            self._waiting.append(target)
            self._keep(target, page, fetched, depth)
            self._waiting.pop()

    def _set(self, url: str, record: Record) -> None:
        """Remember an address that has no file of its own (any more)."""
        record.round = self._state.round
        before = self._state.records.get(url)
        if before is not None and before.file:
            self._drop(url, before)
        if record.duplicate_of:
            self._report.duplicates += 1
        self._state.records[url] = record

    def _drop(self, url: str, record: Record) -> None:
        self._report.removed += page_files.remove(self._root, record.file)
        self._report.pages -= 1
        for known, key in ((self._keys, urls.page_key(url)), (self._texts, record.text_hash)):
            if known.get(key) == url:
                del known[key]

    def _fail(self, url: str, record: Record, problem: str, *, keep: bool) -> None:
        """A page that can't be had: gone for good, or (`keep`) only now."""
        logger.info("%s: %s", url, problem)
        self._report.errors.append({"url": url, "reason": problem})
        if keep and record.file:
            record.round, record.problem, record.failed = self._state.round, problem, True
        else:
            self._set(url, Record(problem=problem, failed=True))

    def _keep(self, url: str, page: WebPage, fetched: Fetched, depth: int) -> None:
        """Write what was found, where it is something new."""
        if page.problem:
            if self._has_file(url) and not page.problem.startswith("not a page"):
                self._fail(url, self._state.records[url], page.problem, keep=True)
                return
            if "JavaScript" in page.problem:
                self._report.javascript.append(url)
            elif not page.problem.startswith("not a page"):
                self._report.skip(url, page.problem)
            self._set(url, Record(problem=page.problem))
            return
        if not page.indexable:
            self._set(url, Record(problem="noindex or a mere redirect"))
            self._report.skip(url, "noindex or a mere redirect")
            return
        markdown = self._as_offered(url, page) or page.markdown
        if (same := self._same_as(url, page, markdown, depth)) is not None:
            self._set(url, Record(duplicate_of=same))
            return
        self._write(url, page, markdown, fetched)

    def _as_offered(self, url: str, page: WebPage) -> str:
        """The page's own Markdown, where the site offers it."""
        offered = page.markdown_url or self._frontier.variants.get(urls.page_key(url), "")
        if not offered or offered == url or self._frontier.refused(offered):
            return ""
        fetched = self._fetcher.get(offered, within=self._frontier.refused)
        if not fetched.ok or fetched.media_type == "text/html":
            return ""
        own = as_page(fetched)
        return "" if own.problem else own.markdown

    def _same_as(self, url: str, page: WebPage, markdown: str, depth: int) -> str | None:
        """The address under which this page is kept already: its canonical one, or one with the same text."""
        canonical, state = page.canonical, self._state
        if canonical and urls.page_key(canonical) != urls.page_key(url) and not self._frontier.refused(canonical):
            known = state.records.get(canonical)
            if known is None or known.round != state.round:
                self._frontier.queued.add(canonical)
                self._visit_first(canonical, depth)
                known = state.records.get(canonical)
            if known is not None and known.file and page_files.overlap(self._root / known.file, markdown) >= 0.5:
                return canonical
        other = self._texts.get(page_files.hash_of(markdown), url)
        if other != url and state.records[other].round != state.round:
            self._visit_first(other, depth)  # it may have changed since, or be gone
            other = self._texts.get(page_files.hash_of(markdown), url)
        if other == url or state.records[other].round != state.round:
            return None
        if self._frontier.is_named(url) and not self._frontier.is_named(other):
            self._set(other, Record(duplicate_of=url))  # the site's own navigation says which of the two is the page
            return None
        return other

    def _write(self, url: str, page: WebPage, markdown: str, fetched: Fetched) -> None:
        state, report = self._state, self._report
        before = state.records.get(url) or Record()
        category = self._frontier.category(url)
        title = page.title or page_files.title_of(markdown, url)
        text_hash = page_files.hash_of(markdown)
        if not re.search(r"\A\s*# |^# ", markdown, re.MULTILINE):
            markdown = f"# {title}\n\n{markdown}"
        keywords = tuple(dict.fromkeys([*page.keywords, *digest.keywords(markdown)]))[:10]
        fields: dict[str, object] = {
            "title": title,
            "source_url": url,
            "category": "/".join(category),
            "keywords": keywords,
        }
        file = before.file
        foreign = bool(file) and (self._root / file).is_file() and not page_files.is_crawled(self._root / file)
        if foreign:  # somebody has put another file in the page's place
            self._foreign.add(file)
        if not file or foreign or before.category != category:
            ours = [record.file for record in state.records.values() if record.file and record is not before]
            segments, query = self._frontier.scope.below(url), urlsplit(url).query
            taken = {*self._foreign, *ours, *self._unsaved.values()} - {self._unsaved.pop(url, "")}
            file = page_files.place(self._project, category, segments, query, taken)
        file_hash = page_files.hash_of(markdown + repr(fields) + file)
        record = Record(
            round=state.round,
            file=file,
            title=title,
            category=category,
            keywords=list(keywords),
            text_hash=text_hash,
            file_hash=file_hash,
            etag=fetched.headers.get("etag", ""),
            last_modified=fetched.headers.get("last-modified", ""),
        )
        if before.file_hash == file_hash and (self._root / file).is_file():
            record.summary = before.summary
            report.unchanged += 1
        else:
            record.summary = self._summaries.of(title, markdown, page.description)
            now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
            fields |= {"summary": record.summary, "fetched_at": now}
            page_files.write(self._root, file, page_files.rendered(markdown, fields))
            if before.file and before.file != file:
                page_files.remove(self._root, before.file)
            report.added += not before.file
            report.changed += bool(before.file)
            report.pages += not before.file
        state.records[url] = record
        self._keys[urls.page_key(url)] = url
        if self._texts.get(before.text_hash) == url:
            del self._texts[before.text_hash]  # another page may have that text now
        self._texts[text_hash] = url


def report_fields(report: CrawlReport | CrawlPlan) -> dict[str, object]:
    """For JSON."""
    return asdict(report)
