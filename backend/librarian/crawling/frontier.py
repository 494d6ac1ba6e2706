"""Which addresses a crawl goes to: what the site lists, what its pages link to, and what may not be fetched."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from urllib.parse import urlsplit

from ..errors import CallerError, Unavailable
from . import site_maps, urls
from .fetching import AGENT, Fetched, Fetcher, decoded
from .options import CrawlOptions
from .pages import CrawlState
from .site_maps import Robots
from .web_page import WebPage

_MOST_SITEMAPS = 50


class Frontier:
    """`queue` holds (address, links from the first page); `skip` hears which addresses are left out, and why."""

    def __init__(
        self, state: CrawlState, fetcher: Fetcher, options: CrawlOptions, skip: Callable[[str, str], None]
    ) -> None:
        self._state = state
        self._fetcher = fetcher
        self._options = options
        self._skip = skip
        self._queries: Counter[str] = Counter()
        self.queue: deque[tuple[str, int]] = deque()
        self.queued: set[str] = set()
        self.variants: dict[str, str] = {}  #: page key → the same page as Markdown
        self.sources: Counter[str] = Counter()
        self.robots = Robots()
        self.scope = urls.Scope.of(state.root_url)

    def open(self) -> Fetched:
        """robots.txt, the first page (whose redirects decide what the site is), and the lists of pages.

        Raises `Unavailable` where there is no first page, or nobody says whether it may be fetched.
        """
        root = self._state.root_url
        self.robots = self._read_robots(urls.normalised("/robots.txt", root))
        self._fetcher.slow_down(self.robots.delay_s)
        if not self.robots.allows(root):
            raise CallerError(f"{root} is closed to crawlers by its robots.txt.", hint="Ask its owners.")
        fetched = self._fetcher.get(root, within=self._moved)
        if not fetched.ok:
            raise Unavailable(
                f"{root} can't be read: {fetched.problem or f'status {fetched.status}'}.", hint="Check the address."
            )
        if fetched.url != root and not self.scope.holds(fetched.url):
            self.scope = urls.Scope.of(fetched.url)
            self._state.root_url = fetched.url
            self.robots = self._read_robots(urls.normalised("/robots.txt", fetched.url))
        self.add(fetched.url, 0, "first page")
        self._read_sitemaps()
        self._read_llms()
        return fetched

    def _moved(self, url: str) -> str:
        """A site may move its first page to a folder, to https or to www, but not to another site."""
        mine, other = (urlsplit(address).hostname or "" for address in (self._state.root_url, url))
        same = mine.removeprefix("www.") == other.removeprefix("www.")
        return "" if same else f"another site; crawl {url} if that is meant"

    def _read_robots(self, url: str) -> Robots:
        """A robots.txt that doesn't exist allows all. Raises `Unavailable` where it can't be had, which allows nothing
        for now (RFC 9309).
        """
        fetched = self._fetcher.get(url)
        if fetched.ok:
            return Robots(fetched.body[:512_000].decode("utf-8", "replace"), AGENT)
        if 400 <= fetched.status < 500 or fetched.status in (0, 301, 302):
            return Robots()
        raise Unavailable(
            f"{url} can't be read (status {fetched.status}), so that nothing may be fetched for now.",
            hint="Try again later; what was crawled stays as it is.",
        )

    def _read_sitemaps(self) -> None:
        usual = [f"{self.scope.origin}{path}sitemap.xml" for path in dict.fromkeys([self.scope.prefix, "/"])]
        candidates = deque([*self.robots.sitemaps, *usual])
        seen: set[str] = set()
        while candidates and len(seen) < _MOST_SITEMAPS:
            url = urls.normalised(candidates.popleft(), self.scope.origin)
            if not url or url in seen or self._moved(url) or not self.robots.allows(url):
                continue
            seen.add(url)
            fetched = self._fetcher.get(url, within=self._moved)
            if fetched.ok:
                pages, further = site_maps.parse_sitemap(fetched.body)
                for page in pages:
                    self.add(page, 1, "sitemap")
                candidates.extend(further)

    def _read_llms(self) -> None:
        for path in dict.fromkeys([self.scope.prefix, "/"]):
            fetched = self._fetcher.get(f"{self.scope.origin}{path}llms.txt", within=self._moved)
            if not fetched.ok or fetched.media_type == "text/html":
                continue
            for url, section in site_maps.parse_llms(decoded(fetched.body, fetched.charset), fetched.url):
                if self.scope.holds(url):
                    if section and section.lower() != "optional":
                        self._state.categories.setdefault(urls.page_key(url), [section])
                    if urls.page_key(url) != url.partition(":")[2] and url.endswith((".md", ".mdx", ".markdown")):
                        self.variants[urls.page_key(url)] = url
                    self.add(url, 1, "llms.txt")

    def refused(self, url: str) -> str:
        """Why an address isn't fetched; empty where it is."""
        if not self.scope.holds(url):
            return "another site"
        if not self.scope.may_be_page(url):
            return "not a page by its address"
        if not self.robots.allows(url):
            return "robots.txt"
        return urls.trap(url)

    def add(self, url: str, depth: int, source: str) -> None:
        if url in self.queued:
            return
        self.queued.add(url)
        reason = self.refused(url)
        if not reason and depth > self._options.most_depth:
            reason = f"more than {self._options.most_depth} links away"
        listed = source in ("sitemap", "llms.txt") or urls.names_page(url)
        if not reason and not listed and (query := urlsplit(url).query):
            self._queries[url.removesuffix(query)] += 1
            if self._queries[url.removesuffix(query)] > self._options.most_queries:
                reason = "one address with ever new parameters"
        if reason:
            if reason != "another site":
                self._skip(url, reason)
            return
        self.sources[source] += 1
        self.queue.append((url, depth))

    def take_links(self, page: WebPage, depth: int) -> None:
        for url, groups in page.navigation.items():
            if groups and len(groups) > len(self._state.categories.get(urls.page_key(url), ())):
                self._state.categories[urls.page_key(url)] = list(groups)
        if page.follow:
            for url in page.links:
                self.add(url, depth + 1, "navigation" if url in page.navigation else "links")

    def is_named(self, url: str) -> bool:
        """Whether the site's navigation holds the address."""
        return urls.page_key(url) in self._state.categories

    def category(self, url: str) -> list[str]:
        """The page's groups in the navigation, else the folder it lies in."""
        if named := self._state.categories.get(urls.page_key(url)):
            return named[: site_maps.MOST_DEPTH]
        return [part for part in self.scope.below(url)[:-1] if "." not in part][:1]
