"""Brings a documentation site in as files, and keeps them as the site is."""

from __future__ import annotations

import datetime as dt
import logging
import re
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from protego import Protego

from ..errors import CallerError, NotFound, Unavailable
from ..files.owned_folder import claim_index
from ..models import Document
from ..parsing.metadata import iso
from . import digest, site_maps, urls
from . import pages as page_files
from .fetching import AGENT, CrawlOptions, Fetched, Fetcher
from .pages import WRITER, CrawlState, Record, state_path
from .web_page import WebPage, as_page

logger = logging.getLogger(__name__)

MOST_SITEMAPS = 50
REMOVED_STATUSES = frozenset({301, 308, 404, 410})  #: the page isn't here any more; any other status may pass
LONGEST_DELAY_S = 30.0  #: of what a site asks for between requests
GIVEN_UP_AFTER = 3  #: failures of the language model in a row


@dataclass(slots=True)
class CrawlReport:
    """Counts of pages; `errors` and `javascript` name addresses, `skipped` counts those left out, by reason."""

    project: str
    root_url: str
    resumed: bool = False
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    duplicates: int = 0
    summarized: int = 0  #: pages whose summary a language model wrote
    summary_error: str = ""  #: why it didn't write the others
    pages: int = 0  #: of the project that have a file now
    requests: int = 0
    bytes: int = 0
    took_s: float = 0.0
    errors: list[dict[str, str]] = field(default_factory=list)
    javascript: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)  #: for each reason in `skipped` one address

    @property
    def done(self) -> int:
        """Pages that were looked at."""
        return self.added + self.changed + self.unchanged + self.duplicates + len(self.errors)

    def skip(self, url: str, reason: str) -> None:
        """One more address left out."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        self.examples.setdefault(reason, url)


OnProgress = Callable[[CrawlReport, int], None]  #: with the number of addresses in the queue


@dataclass
class Frontier:
    """Which addresses a crawl visits: what the site lists and links to, without what may not be fetched."""

    state: CrawlState
    fetcher: Fetcher
    options: CrawlOptions
    skip: Callable[[str, str], None]  #: is called with each address left out, and why
    scope: urls.Scope
    robots: Protego = field(default_factory=lambda: site_maps.parse_robots(""))
    queue: deque[tuple[str, int]] = field(default_factory=deque)  #: (address, links from the first page)
    queued: set[str] = field(default_factory=set)
    queries: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)

    def open(self) -> None:
        """Read robots.txt, the first page (whose redirects decide what the site is) and the lists of pages.

        Raises `Unavailable` where there is no first page, or no way to know whether it may be fetched.
        """
        root = self.state.root_url
        self.robots = self._read_robots(root)
        self.fetcher.gap_s = max(self.fetcher.gap_s, min(self.robots.crawl_delay(AGENT) or 0.0, LONGEST_DELAY_S))
        if not self.robots.can_fetch(root, AGENT):
            raise CallerError(f"{root} is closed to crawlers by its robots.txt.", hint="Ask its owners.")
        fetched = self.fetcher.get(root, within=self._moved)
        if not fetched.ok:
            raise Unavailable(
                f"{root} can't be read: {fetched.error or f'status {fetched.status}'}.", hint="Check the address."
            )
        if fetched.url != root and not self.scope.holds(fetched.url):
            self.scope = urls.Scope.of(fetched.url)
            self.state.root_url = fetched.url
            self.robots = self._read_robots(fetched.url)
        self.add(fetched.url, 0, "first page")
        folders = dict.fromkeys([self.scope.prefix, "/"])
        self._read_sitemaps(deque([*self.robots.sitemaps, *(f"{folder}sitemap.xml" for folder in folders)]))
        for folder in folders:
            self._read_llms(f"{self.scope.origin}{folder}llms.txt")
        self.take_links(as_page(fetched), 0)

    def _moved(self, url: str) -> str:
        """A site may move its first page to a folder, to https or to www, but not to another site."""
        mine, other = (urlsplit(address).hostname or "" for address in (self.state.root_url, url))
        same = mine.removeprefix("www.") == other.removeprefix("www.")
        return "" if same else f"another site; crawl {url} for that one"

    def _read_robots(self, root: str) -> Protego:
        """A missing robots.txt allows everything; one that can't be had allows nothing for now (RFC 9309)."""
        url = urls.normalised("/robots.txt", root)
        fetched = self.fetcher.get(url)
        if fetched.ok:
            return site_maps.parse_robots(fetched.body[:512_000].decode("utf-8", "replace"))
        if 400 <= fetched.status < 500 or fetched.status in (0, 301, 302):
            return site_maps.parse_robots("")
        raise Unavailable(
            f"{url} can't be read (status {fetched.status}), so that nothing may be fetched for now.",
            hint="Try again later; what was crawled stays as it is.",
        )

    def _read_sitemaps(self, candidates: deque[str]) -> None:
        seen: set[str] = set()
        while candidates and len(seen) < MOST_SITEMAPS:
            url = urls.normalised(candidates.popleft(), self.scope.origin)
            if not url or url in seen or self._moved(url) or not self.robots.can_fetch(url, AGENT):
                continue
            seen.add(url)
            fetched = self.fetcher.get(url, within=self._moved)
            if fetched.ok:
                found, further = site_maps.parse_sitemap(fetched.body)
                for page in found:
                    self.add(page, 1, "sitemap")
                candidates.extend(further)

    def _read_llms(self, address: str) -> None:
        fetched = self.fetcher.get(address, within=self._moved)
        if not fetched.ok or fetched.media_type == "text/html":
            return
        for url, section in site_maps.parse_llms(as_page(fetched).markdown, fetched.url):
            if self.scope.holds(url):
                if section and section.lower() != "optional":
                    self.state.categories.setdefault(urls.page_key(url), [section])
                self.add(url, 1, "llms.txt")

    def refused(self, url: str) -> str:
        """Why an address isn't fetched; empty where it is."""
        if not self.scope.holds(url):
            return "another site"
        if not self.scope.may_be_page(url):
            return "not a page by its address"
        return urls.trap(url) if self.robots.can_fetch(url, AGENT) else "robots.txt"

    def add(self, url: str, depth: int, source: str) -> None:
        """Queue an address, unless it was before or is refused."""
        if url in self.queued:
            return
        self.queued.add(url)
        reason = self.refused(url)
        if not reason and depth > self.options.most_depth:
            reason = f"more than {self.options.most_depth} links away"
        listed = source in ("sitemap", "llms.txt") or urls.names_page(url)
        if not reason and not listed and (query := urlsplit(url).query):
            address = url.removesuffix(query)
            self.queries[address] += 1
            if self.queries[address] > self.options.most_queries:
                reason = "one address with ever new parameters"
        if not reason:
            self.sources[source] += 1
            self.queue.append((url, depth))
        elif reason != "another site":
            self.skip(url, reason)

    def take_links(self, page: WebPage, depth: int) -> None:
        """Queue what a page links to, and note the groups of its menus."""
        for url, groups in page.navigation.items():
            if len(groups) > len(self.state.categories.get(urls.page_key(url), ())):
                self.state.categories[urls.page_key(url)] = list(groups)
        for url in page.links if page.follow else ():
            self.add(url, depth + 1, "navigation" if url in page.navigation else "links")

    def category(self, url: str) -> list[str]:
        """The page's groups in the navigation, else the folder it lies in."""
        if named := self.state.categories.get(urls.page_key(url)):
            return named[: site_maps.MOST_DEPTH]
        return [part for part in self.scope.below(url)[:-1] if "." not in part][:1]


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
        on_progress: OnProgress | None = None,
    ) -> None:
        self._project = page_files.project_name(project)
        self._root = root
        self._options = options
        self._state_path = state_path(index, project)
        self._on_progress = on_progress
        self._began = time.monotonic()
        self._state = self._load_state(url)
        self._report = CrawlReport(project, self._state.root_url)
        self._failed_summaries = 0  # in a row
        self._keys: dict[str, str] = {}  # page key → the address that has the file, of this round
        self._texts: dict[str, str] = {}  # hash of a page's text → the same
        self._fetcher = Fetcher(options)
        self._frontier = Frontier(
            self._state, self._fetcher, options, self._report.skip, urls.Scope.of(self._state.root_url)
        )

    def _load_state(self, url: str) -> CrawlState:
        state = CrawlState.load(self._state_path)
        given = urls.normalised(url) if url else ""
        if url and not given:
            raise CallerError(f"{url!r} is no site's address.", hint="Give one such as https://docs.example.org/.")
        if state is None:
            if not given:
                raise NotFound(f"{self._project!r} hasn't been crawled.", hint="Give the site's address.")
            state = CrawlState(self._project, given)
        elif given and not urls.Scope.of(state.root_url).holds(given) and state.root_url != given:
            raise CallerError(
                f"{self._project!r} is the project of {state.root_url}.", hint="Choose another --project for this site."
            )
        return state

    def plan(self) -> dict[str, Any]:
        """What would be fetched first, and the seconds for that. Reads the site's lists and its first page only."""
        try:
            self._frontier.open()
            pages = [url for url, _ in self._frontier.queue]
            categories = Counter(" / ".join(self._frontier.category(url)) or "general" for url in pages)
            return {
                "project": self._project,
                "root_url": self._state.root_url,
                "pages": pages,
                "by_source": dict(self._frontier.sources),
                "categories": dict(sorted(categories.items())),
                "skipped": self._report.skipped,
                "delay_s": self._fetcher.gap_s,
                "seconds": round(self._fetcher.gap_s * len(pages), 1),
            }
        finally:
            self._fetcher.close()

    def run(self) -> CrawlReport:
        """Fetch what is new or has changed, write it, and remove what is gone. Resumes an interrupted crawl."""
        state, options, report = self._state, self._options, self._report
        claim_index(self._state_path.parent.parent)  # before pages are fetched that couldn't be recorded
        try:
            report.resumed = not state.finished and bool(state.records)
            self._frontier.open()
            report.root_url = state.root_url
            if state.finished:
                self._refuse_a_dead_end()
                state.round, state.finished, state.queue = state.round + 1, False, []
            self._recall()
            for url, depth in state.queue:
                self._frontier.add(url, depth, "resumed")
            for url in list(state.records) if state.round > 1 else ():
                self._frontier.add(url, options.most_depth, "known")
            queue, visited = self._frontier.queue, 0
            # What is kept is visited first, and so stays the page of its text.
            self._frontier.queue = queue = deque(sorted(queue, key=lambda item: not self._record(item[0]).file))
            while queue:
                url, depth = queue[0]
                if report.pages < options.most_pages or self._record(url).file:
                    self._visit(url, depth)
                else:
                    report.skip(url, f"more than {options.most_pages:,} pages")
                queue.popleft()
                visited += 1
                if visited % options.save_every == 0:
                    self._save()
                report.bytes = self._fetcher.bytes_read
                if self._on_progress is not None:
                    self._on_progress(report, len(queue))
            state.finished, state.writer = True, WRITER
            return report
        finally:
            self._save()
            self._fetcher.close()
            report.requests = self._fetcher.requests
            report.took_s = round(time.monotonic() - self._began, 2)

    def unreached(self, reason: str) -> CrawlReport:
        """The report of a refresh that ended before it began, as `reason` says."""
        self._report.pages = sum(bool(record.file) for record in self._state.records.values())
        self._report.errors = [{"url": self._state.root_url, "reason": reason}]
        return self._report

    def _save(self) -> None:
        if self._state.records:  # where nothing was reached, another address may be tried
            self._state.queue = list(self._frontier.queue)
            self._state.save(self._state_path)

    def _record(self, url: str) -> Record:
        return self._state.records.get(url, Record())

    def _refuse_a_dead_end(self) -> None:
        """A notice or a login instead of the first page would make all pages equal, and remove all but one."""
        known = sum(bool(record.file) for record in self._state.records.values())
        if known > 1 and len(self._frontier.queue) <= 1:
            raise Unavailable(
                f"{self._state.root_url} leads to none of its {known:,} pages any more; they are kept as they are.",
                hint="Look at it in a browser; where it has moved, crawl its other address as another --project.",
            )

    def _recall(self) -> None:
        """Load what earlier rounds kept, and what this one reported before it was interrupted."""
        for url, record in self._state.records.items():
            if record.error and record.round == self._state.round:
                if record.failed:
                    self._report.errors.append({"url": url, "reason": record.error})
                elif "JavaScript" in record.error:
                    self._report.javascript.append(url)
            self._report.pages += bool(record.file)
            if record.round == self._state.round:
                self._remember(url, record)

    def _remember(self, url: str, record: Record) -> None:
        """Note a page that has been looked at in this round."""
        if record.file:
            self._keys.setdefault(urls.page_key(url), url)
            self._texts.setdefault(record.text_hash, url)

    # -- one page ------------------------------------------------------------------------------------------------------

    def _visit(self, url: str, depth: int) -> None:
        state = self._state
        record = self._record(url)
        if record.round == state.round:
            return
        same = self._keys.get(urls.page_key(url), url)
        if same != url:
            self._set(url, Record(duplicate_of=same))
            return
        known = state.writer == WRITER and bool(record.file) and (self._root / record.file).is_file()
        fetched = self._fetcher.get(
            url,
            within=self._frontier.refused,
            etag=record.etag if known else "",
            last_modified=record.last_modified if known else "",
        )
        if fetched.status == 304:
            record.round, record.error, record.failed = state.round, "", False
            self._remember(url, record)
            self._report.unchanged += 1
        elif not fetched.ok:
            self._fail(
                url, record, fetched.error or f"status {fetched.status}", keep=fetched.status not in REMOVED_STATUSES
            )
        else:
            target = fetched.url
            if target != url:
                self._set(url, Record(duplicate_of=target))
                if self._record(target).round == state.round:
                    return
            page = as_page(fetched)
            self._frontier.take_links(page, depth)
            self._keep(target, page, fetched)

    def _set(self, url: str, record: Record) -> None:
        """Record an address that has no file of its own (any more)."""
        record.round = self._state.round
        before = self._record(url)
        if before.file:
            self._report.removed += page_files.remove(self._root, before.file)
            self._report.pages -= 1
            if self._keys.get(urls.page_key(url)) == url:
                del self._keys[urls.page_key(url)]
        self._report.duplicates += bool(record.duplicate_of)
        self._state.records[url] = record

    def _fail(self, url: str, record: Record, error: str, *, keep: bool) -> None:
        """Record a page that can't be had: gone for good, or (`keep`) only now."""
        logger.info("%s: %s", url, error)
        self._report.errors.append({"url": url, "reason": error})
        if keep and record.file:
            record.round, record.error, record.failed = self._state.round, error, True
            self._remember(url, record)
        else:
            self._set(url, Record(error=error, failed=True))

    def _keep(self, url: str, page: WebPage, fetched: Fetched) -> None:
        """Write a page, unless it is none, may not be kept or is a duplicate."""
        is_page = not page.error.startswith("not a page")
        if page.error and is_page and self._record(url).file:
            self._fail(url, self._state.records[url], page.error, keep=True)
        elif page.error or not page.indexable:
            error = page.error or "noindex or a mere redirect"
            if "JavaScript" in page.error:
                self._report.javascript.append(url)
            elif is_page:
                self._report.skip(url, error)
            self._set(url, Record(error=error))
        elif same := self._same_as(url, page):
            self._set(url, Record(duplicate_of=same))
        else:
            self._write(url, page, fetched)

    def _same_as(self, url: str, page: WebPage) -> str:
        """The address under which this page is kept already: its canonical one, or one with the same text."""
        file = self._record(page.canonical).file
        if file and page.canonical != url and page_files.overlap(self._root / file, page.markdown) >= 0.5:
            return page.canonical
        text_hash = page_files.hash_of(page.markdown)
        other = self._texts.get(text_hash, url)
        named, other_named = (urls.page_key(one) in self._state.categories for one in (url, other))
        if other != url and named and not other_named:
            self._set(other, Record(duplicate_of=url))  # the site's own navigation says which of the two is the page
            del self._texts[text_hash]
            return ""
        return other if other != url else ""

    def _write(self, url: str, page: WebPage, fetched: Fetched) -> None:
        report, before, markdown = self._report, self._record(url), page.markdown
        title = page.title or page_files.title_of(markdown, url)
        if not re.search(r"^\s*# ", markdown, re.MULTILINE):
            markdown = f"# {title}\n\n{markdown}"
        document = digest.parsed(markdown)
        record = Record(
            round=self._state.round,
            category=self._frontier.category(url),
            text_hash=page_files.hash_of(page.markdown),
            etag=fetched.headers.get("etag", ""),
            last_modified=fetched.headers.get("last-modified", ""),
        )
        record.file = self._place(url, before, record.category)
        keywords = list(dict.fromkeys([*page.keywords, *digest.keywords(document)]))[:10]
        fields = {"title": title, "source_url": url, "category": "/".join(record.category), "keywords": keywords}
        record.file_hash = page_files.hash_of(f"{markdown}{fields}{record.file}")
        if before.file_hash == record.file_hash and (self._root / record.file).is_file():
            report.unchanged += 1
        else:
            summary = self._summary(title, markdown, document, page.description)
            fields |= {"summary": summary, "fetched_at": iso(dt.datetime.now(dt.UTC))}
            page_files.write(self._root, record.file, page_files.rendered(markdown, fields))
            if before.file and before.file != record.file:
                page_files.remove(self._root, before.file)
            report.added += not before.file
            report.changed += bool(before.file)
            report.pages += not before.file
        self._state.records[url] = record
        self._remember(url, record)

    def _place(self, url: str, before: Record, category: list[str]) -> str:
        """The page's file: the one it has, unless its category has changed or somebody put another file there."""
        ours = {record.file.lower() for record in self._state.records.values() if record is not before}

        def is_free(file: str) -> bool:
            path = self._root / file
            return file.lower() not in ours and (not path.exists() or page_files.source_of(path) == url)

        if before.file and before.category == category and is_free(before.file):
            return before.file
        segments, query = self._frontier.scope.below(url), urlsplit(url).query
        return page_files.place(self._project, category, segments, query, is_free)

    def _summary(self, title: str, markdown: str, document: Document, description: str) -> str:
        """The language model's summary where there is one, else one in the page's own words."""
        if self._options.summarize is not None and self._failed_summaries < GIVEN_UP_AFTER:
            try:
                text = self._options.summarize(title, markdown)
                self._failed_summaries = 0
                self._report.summarized += 1
                return text
            except Unavailable as error:
                self._failed_summaries += 1
                self._report.summary_error = str(error)
                logger.warning("%s: summarised in its own words: %s", title, error)
        return digest.summary(document, description)
