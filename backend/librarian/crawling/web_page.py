"""One page of a site, read: its main text as Markdown, what it says about itself, and where it leads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from lxml.etree import _Element

from ..errors import SourceError
from ..parsing.document_builder import DocumentBuilder
from ..parsing.front_matter import read_front_matter
from ..parsing.html import HtmlPage, decode_page, html_tree, meta_tags, page_title, title_tag
from ..parsing.html_cleanup import around_text, forwarded_to, main_of
from . import pages, site_maps, urls
from .fetching import AGENT, Fetched

FEW_WORDS = 15  #: a page with fewer and no title, but with scripts, shows its text only to a browser that runs them
FEW_BELOW_TITLE = 3  #: as does one with fewer besides its title
LEAST_SHARE = 0.9  #: of the words outside links and of the page's headings that the element must hold, with all code
DEEPEST = 60  #: containers, one in the other, in which it is looked for
_CONTAINERS = frozenset({"div", "section", "table", "tbody", "tr", "td", "center", "font", "form"})
_MARKS = (
    ".//*[self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6 or self::pre"
    " or self::div[@class='title']]"
)
_WORD = re.compile(r"\w+")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u0085\u2028\u2029]")
_SHELL = ".//header | .//footer | .//aside"  #: around the text of a page that marks none
_FORMS = ".//form[not(.//h1 or .//h2 or .//pre)]"
_TEXT = frozenset({"text/markdown", "text/x-markdown", "text/plain"})
_HTML = frozenset({"text/html", "application/xhtml+xml", ""})


@dataclass(frozen=True, slots=True)
class WebPage:
    """`markdown` is empty where `problem` says why there is no text."""

    title: str
    markdown: str
    canonical: str = ""  #: normalised; empty where the page names none
    description: str = ""
    keywords: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  #: normalised, each once, in order
    navigation: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    indexable: bool = True
    follow: bool = True
    error: str = ""


def as_page(fetched: Fetched) -> WebPage:
    """What was fetched, as HTML or as Markdown; anything else is a page with a problem."""
    kind = fetched.media_type
    is_html = fetched.body[:200].lstrip().lower().startswith((b"<!doctype", b"<html"))
    indexable, follow = _robots_rules(fetched.headers.get("x-robots-tag", ""))
    if kind not in _TEXT | _HTML and not is_html:
        return WebPage("", "", error=f"not a page: {kind}")
    if kind in _HTML or is_html:
        page = read_page(fetched.body, fetched.url, fetched.charset)
        return replace(page, indexable=page.indexable and indexable, follow=page.follow and follow)
    text = _decoded(fetched.body, fetched.url, fetched.charset)
    text = text[read_front_matter(text).end :].strip()
    title = pages.title_of(text, fetched.url)
    return WebPage(title, f"{text}\n" if text else "", indexable=indexable, error="" if text else "no text")


def _decoded(body: bytes, url: str, charset: str) -> str:
    try:
        return _CONTROLS.sub("", decode_page(body, url, charset, "cp1252").text)
    except SourceError:  # it is no text
        return ""


def read_page(body: bytes, url: str, charset: str = "") -> WebPage:
    """Reads HTML. Never raises: what isn't HTML becomes a page with a problem."""
    root = html_tree(_decoded(body, url, charset))
    if not len(root):
        return WebPage("", "", error="no text")
    base = urls.normalised(next(iter(root.xpath("//base/@href")), ""), url) or url
    meta = meta_tags(root)
    indexable, follow = _robots_rules(f"{meta.get('robots', '')},{meta.get('librarian', '')}")
    target = forwarded_to(root)
    refresh = urls.normalised(target, base) if target else ""
    canonical = (link for link in root.iter("link") if "canonical" in (link.get("rel") or "").lower().split())
    links = [urls.normalised(target, base) for target in root.xpath("//a/@href | //area/@href")]
    navigation = site_maps.navigation(root, base)
    builder = written(root, base, url)
    title = page_title(root, builder) or " ".join(meta.get("og:title", "").split())
    markdown = f"{builder.text}\n"
    words = len(_WORD.findall(markdown))
    has_title = any(heading.level == 1 for heading in builder.headings)
    is_shell = words < FEW_WORDS if not has_title else words - len(_WORD.findall(title)) < FEW_BELOW_TITLE
    error = "" if words or refresh else "no text"
    if is_shell and not refresh and root.xpath("//script"):
        error = "empty without JavaScript"
    return WebPage(
        title=title,
        markdown="" if error else markdown,
        canonical=next((urls.normalised(link.get("href") or "", base) for link in canonical), ""),
        description=" ".join((meta.get("description") or meta.get("og:description") or "").split()),
        keywords=tuple(word for part in meta.get("keywords", "").split(",") if (word := part.strip())),
        links=tuple(dict.fromkeys(link for link in [*links, refresh] if link)),
        navigation=navigation,
        indexable=indexable and not refresh,
        follow=follow,
        error=error,
    )


def written(root: _Element, base: str, url: str) -> DocumentBuilder:
    """The page's main text as Markdown. Addresses become absolute by `base`; those of the page's own site begin with
    their path, and name the page and no place in it: a site's name and the ids of its headings would be in the vectors
    of all passages, with which fewer questions find their page (`benchmarks/crawl_quality.py`).
    """
    site = urlsplit(url)[:2]

    def address(target: str) -> str:
        path, hash_, fragment = target.partition("#")
        found = urls.normalised(path, base)
        if found and urlsplit(found)[:2] == site:
            return found[found.index("/", found.index("//") + 2) :]
        return f"{found}{hash_}{fragment}" if found else ""

    main, around = _main(root)
    builder = DocumentBuilder()
    HtmlPage(builder, around=around, address=address).write(main)
    return builder


def _robots_rules(robots: str) -> tuple[bool, bool]:
    """Whether a page may be kept, and its links followed, by what it says to robots; a header may name whom it means.

    >>> _robots_rules("noindex"), _robots_rules("googlebot: none"), _robots_rules("librarian: none")
    ((False, True), (True, True), (False, False))
    """
    rules, applies = set(), True
    for part in robots.lower().split(","):
        agent, colon, rule = part.partition(":")
        if colon and not agent.strip().startswith(("max-", "unavailable_after")):
            applies = agent.strip() == AGENT
        rules |= {(rule or part).strip()} if applies else set()
    return not rules & {"noindex", "none"}, not rules & {"nofollow", "none"}


# -- the main text ---------------------------------------------------------------------------------------------------


def _main(root: _Element) -> tuple[_Element, set[_Element]]:
    """The element with the page's text, and what of it stands around that."""
    around = around_text(root, title_tag(root))
    main = main_of(root)
    if main is None:
        body = root.find("body")
        whole = root if body is None else body
        around |= set(whole.xpath(f"{_SHELL} | {_FORMS}"))
        main = main_element(whole)
    return main, around | set(main.xpath(_FORMS))


def main_element(body: _Element) -> _Element:
    """The innermost container that holds the page's text: most of what isn't a link, most headings and all code."""
    least = [LEAST_SHARE * _words(body), LEAST_SHARE * len(body.xpath(_MARKS)), len(body.xpath(".//pre"))]
    best: _Element | None = body if least[0] else None
    for _ in range(DEEPEST):
        if best is None:
            break
        body = best
        inner = (child for child in body if child.tag in _CONTAINERS and _words(child) >= least[0])
        best = next((x for x in inner if len(x.xpath(_MARKS)) >= least[1] and len(x.xpath(".//pre")) == least[2]), None)
    return body


def _words(element: _Element) -> int:
    """Characters that are neither in links nor in scripts."""
    unread = element.iter("a", "script", "style", "button")
    length = sum(len(text.strip()) for text in element.itertext())
    return length - sum(len(text.strip()) for one in unread for text in one.itertext())
