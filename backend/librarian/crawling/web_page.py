"""One page of a site, read: its main text as Markdown, what it says about itself, and where it leads."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from lxml import etree
from lxml.etree import _Element

from ..parsing.document_builder import DocumentBuilder
from ..parsing.html import HtmlPage, html_tree, page_title, title_tag
from ..parsing.html_cleanup import around_text, main_of
from . import pages, site_maps, urls
from .fetching import AGENT, Fetched, decoded

logger = logging.getLogger(__name__)

FEW_WORDS = 15  #: a page with fewer, but with scripts, shows its text only to a browser that runs them
FEW_BELOW_TITLE = 3  #: of such a page that has its title as a heading, which only a server writes there
LEAST_SHARE = 0.9  #: of the extracted words and the page's headings that the element must hold, with all code
LINKED = 0.6  #: share of a menu's words that are links, at least
LEAST_LINKS = 3  #: of a menu
_CONTAINERS = frozenset({"div", "section", "table", "tbody", "tr", "td", "center", "font", "form"})
_BOXES = frozenset({"div", "ul", "ol", "table", "center"})
_UNSEEN = frozenset({"script", "style", "noscript", "template"})
_OTHER_PAGES = ".//a[@href][not(starts-with(@href, '#'))]"  #: links that don't stay within the page
_MARKED = (
    "self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6 or self::pre or self::div[@class='title']"
)
_WORD = re.compile(r"\w+")
#: What generators mark as the text below the title.
_INNER = (
    "//*[@id='apicontent']",
    "//*[contains(concat(' ', @class, ' '), ' md-content__inner ')]",
    "//*[contains(concat(' ', @class, ' '), ' theme-doc-markdown ')]",
    "//main//*[contains(concat(' ', @class, ' '), ' vp-doc ')]",
    "//*[contains(concat(' ', @class, ' '), ' mw-parser-output ')]",
)
_SHELL = ".//header | .//footer | .//aside"  #: around the text of a page that marks none
_CHROME = (
    ".//form[not(.//h1 or .//h2 or .//pre)]"
    " | .//*[contains(@class, 'breadcrumb') or contains(@class, 'prev-next') or contains(@class, 'rst-footer')"
    " or contains(@class, 'pagination') or contains(@class, 'edit-this-page')]"
    " | .//*[contains(@class, 'feedback')][not(.//pre or .//h1)][count(.//p) < 4]"
)
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
    markdown_url: str = ""  #: the same page as Markdown, where it offers that
    indexable: bool = True
    follow: bool = True
    error: str = ""


def as_page(fetched: Fetched) -> WebPage:
    """What was fetched, as HTML or as Markdown; anything else is a page with a problem."""
    kind = fetched.media_type
    is_html = fetched.body[:200].lstrip().lower().startswith((b"<!doctype", b"<html"))
    indexable, follow = _robots_rules(fetched.headers.get("x-robots-tag", ""))
    if kind in _TEXT and not is_html:
        text = decoded(fetched.body, fetched.charset).replace("\r\n", "\n")
        text = pages.without_front_matter(text).strip()
        title = pages.title_of(text, fetched.url)
        return WebPage(title, f"{text}\n" if text else "", indexable=indexable, error="" if text else "no text")
    if kind in _HTML or is_html:
        page = read_page(fetched.body, fetched.url, fetched.charset)
        return replace(page, indexable=page.indexable and indexable, follow=page.follow and follow)
    return WebPage("", "", error=f"not a page: {kind}")


def read_page(body: bytes, url: str, charset: str = "") -> WebPage:
    """Reads HTML. Never raises: what isn't HTML becomes a page with a problem."""
    root = html_tree(decoded(body, charset))
    if root is None:
        return WebPage("", "", error="no text")
    base = urls.normalised(next(iter(root.xpath("//base/@href")), ""), url) or url
    meta = {
        (tag.get("name") or tag.get("property") or "").lower(): tag.get("content") or "" for tag in root.iter("meta")
    }
    indexable, follow = _robots_rules(f"{meta.get('robots', '')},{meta.get('librarian', '')}")
    refresh = _refresh(root, base)
    links = [urls.normalised(target, base) for target in root.xpath("//a/@href | //area/@href")]
    navigation = site_maps.navigation(root, base)
    builder = written(root, base, url)
    title = page_title(root, builder) or " ".join(meta.get("og:title", "").split())
    markdown = f"{builder.text}\n"
    words, named = len(_WORD.findall(markdown)), len(_WORD.findall(title))
    served = words - named >= FEW_BELOW_TITLE and any(heading.level == 1 for heading in builder.headings)
    error = ""
    if not words:
        error = "no text"
    if words < FEW_WORDS and named * 2 + 3 > words - 3 and not served and not refresh and root.xpath("//script"):
        error = "empty without JavaScript"
    return WebPage(
        title=title,
        markdown="" if error else markdown,
        canonical=_linked(root, "canonical", base),
        description=" ".join((meta.get("description") or meta.get("og:description") or "").split()),
        keywords=tuple(word for part in meta.get("keywords", "").split(",") if (word := part.strip())),
        links=tuple(dict.fromkeys(link for link in [*links, refresh] if link)),
        navigation=navigation,
        markdown_url=_linked(root, "alternate", base, "text/markdown"),
        indexable=indexable and not refresh,
        follow=follow,
        error="" if refresh else error,
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
    HtmlPage(builder, around=around | _unfolded_tabs(main), address=address).write(main)
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
    found: list[_Element] = next((inner for path in _INNER if (inner := root.xpath(path))), [])
    main = max(found, key=_count, default=None)
    if main is None or not _count(main):
        main = main_of(root, is_trusted=True)
    if main is None:
        body = root.find("body")
        whole = root if body is None else body
        around |= {*whole.xpath(_SHELL), *whole.xpath(_CHROME)}
        main = main_element(whole)
        around |= _menus(main)
    elif main.get("id") in ("content", "main", "main-content"):
        around |= _menus(main)
    return main, around | set(main.xpath(_CHROME))


def main_element(body: _Element) -> _Element:
    """The innermost container that holds the page's text; `body` itself where no text stands out."""
    wanted = Counter(_WORD.findall(_extracted(body)))
    marks = f".//*[{_MARKED}]"
    enough, most, code = LEAST_SHARE * wanted.total(), LEAST_SHARE * len(body.xpath(marks)), len(body.xpath(".//pre"))
    best: _Element = body
    while wanted:
        inner = next(
            (
                child
                for child in best
                if child.tag in _CONTAINERS
                and len(child.xpath(marks)) >= most
                and len(child.xpath(".//pre")) == code
                and (Counter(_WORD.findall("".join(child.itertext()))) & wanted).total() >= enough
            ),
            None,
        )
        if inner is None:
            break
        best = inner
    return best


def _extracted(body: _Element) -> str:
    """The words that the library takes for the page's own; empty where it finds none."""
    import trafilatura  # takes half a second to load, and most sites say what their text is

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # a page without text is no error of ours
    try:  # a copy, as text: the library changes the tree that it reads
        source = etree.tostring(body, encoding="unicode", method="html")
        return trafilatura.extract(source, favor_precision=True) or ""
    except Exception:  # whatever a stranger's page does to it, the crawl goes on with the whole page
        logger.warning("no main text was found in a page, which is kept whole", exc_info=True)
        return ""


def _menus(main: _Element) -> set[_Element]:
    """The menus that stand before the text within its own element, and repeat themselves further below.

    A menu is a list, a table or a box of which most words lead to other pages. Where hardly anything else is on the
    page, as in an index, it is the text.
    """
    menus: dict[_Element, str] = {}
    for child in main if not (main.text or "").strip() else ():
        if (text := _shown(child)) and not _is_menu(child):
            break
        if text:
            menus[child] = text
        if (child.tail or "").strip():
            break
    again = [child for child in main if child not in menus and child.tag in _BOXES and _shown(child) in menus.values()]
    rest = [child for child in main if child not in menus]
    marked = any(child.xpath(f"self::*[{_MARKED}] | .//*[{_MARKED}]") for child in rest)
    return {*menus, *again} if marked or sum(map(_count, rest)) > sum(map(_count, menus)) else set()


def _is_menu(element: _Element) -> bool:
    marks = element.xpath(f".//*[{_MARKED}]")
    if element.tag not in _BOXES or any(mark.tag != "h1" or not _is_link(mark) for mark in marks):
        return False
    links = element.xpath(_OTHER_PAGES)
    return len(links) >= LEAST_LINKS and sum(map(_count, links)) >= LINKED * _count(element)


def _is_link(heading: _Element) -> bool:
    """Whether a heading is nothing but a link to another page, as a site's name is."""
    return any(_shown(link) == _shown(heading) for link in heading.xpath(_OTHER_PAGES))


def _shown(element: _Element) -> str:
    if not isinstance(element.tag, str) or element.tag in _UNSEEN:
        return ""
    return " ".join("".join(element.itertext()).split())


def _count(element: _Element) -> int:
    """Words, those of list entries apart from each other."""
    return len(_WORD.findall(" ".join(element.itertext())))


# -- tabs ------------------------------------------------------------------------------------------------------------

_PANELS = (
    ".//*[@role='tabpanel'] | .//*[contains(concat(' ', @class, ' '), ' tabbed-block ')"
    " or contains(concat(' ', @class, ' '), ' tab-pane ') or contains(concat(' ', @class, ' '), ' tabpanel ')]"
    " | .//*[contains(concat(' ', @class, ' '), ' vp-code-group ')]/div[@class='blocks']/div"
)
_TABS = (
    ".//*[@role='tab'] | .//*[contains(concat(' ', @class, ' '), ' tablist ')]//li[@class='tab']"
    " | .//*[contains(concat(' ', @class, ' '), ' tabbed-labels ')]/label"
    " | .//*[contains(concat(' ', @class, ' '), ' vp-code-group ')]/div[@class='tabs']/label"
)
_FAR = 3  #: a set of tabs stands no further above its panels' parent


def _unfolded_tabs(main: _Element) -> set[_Element]:
    """Puts each tab's label in front of its panel and shows the panels that wait for a click; returns the tabs.

    A tab names its panel as WAI-ARIA says (`aria-labelledby`, `aria-controls`), by a link to it, or by its place
    among as many tabs as there are panels next to each other. A label without a panel stays where it is.
    """
    panels = main.xpath(_PANELS)
    tabs = main.xpath(_TABS) if panels else []
    by_name = {tab.get("id"): tab for tab in tabs if tab.get("id")}
    by_target = {target: tab for tab in reversed(tabs) for target in _targets(tab)}  # the first of several shows all
    by_place = dict(_by_place(panels))
    used: set[_Element] = set()
    for panel in panels:
        panel.attrib.pop("hidden", None)
        named = (by_name.get(panel.get("aria-labelledby")), by_target.get(panel.get("id")), by_place.get(panel))
        tab = next((tab for tab in named if tab is not None), None)
        if tab is not None and (words := _shown(tab)):
            label = etree.Element("p", {"class": "librarian-tab-label"})
            label.text, label.tail, panel.text = words, panel.text, None
            panel.insert(0, label)
            used.add(tab)
    return used


def _targets(tab: _Element) -> set[str]:
    """Ids of the panels that a tab, or the link in it, says it opens."""
    named = [tab.get("aria-controls") or ""]
    for element in (tab, *tab.iter("a")):
        named += [(element.get(name) or "").partition("#")[2] for name in ("href", "data-bs-target", "data-target")]
    return {name for name in named if name}


def _by_place(panels: list[_Element]) -> Iterator[tuple[_Element, _Element]]:
    """(panel, its tab) where panels next to each other are as many as the tabs of their set."""
    known = set(panels)

    def innermost(element: _Element) -> _Element | None:
        return next((around for around in (element, *element.iterancestors()) if around in known), None)

    groups: dict[_Element, list[_Element]] = {}
    for panel in panels:
        groups.setdefault(panel.getparent(), []).append(panel)
    for parent, group in groups.items():
        home = innermost(parent)
        for around in [parent, *parent.iterancestors()][:_FAR]:
            tabs = [tab for tab in around.xpath(_TABS) if innermost(tab) is home]
            if len(tabs) == len(group):
                yield from zip(group, tabs, strict=True)
            if tabs or around is home:
                break


# -- links -----------------------------------------------------------------------------------------------------------


def _linked(root: _Element, relation: str, base: str, media_type: str = "") -> str:
    for link in root.iter("link"):
        relations = (link.get("rel") or "").lower().split()
        if relation in relations and (not media_type or (link.get("type") or "").lower() == media_type):
            return urls.normalised(link.get("href") or "", base)
    return ""


def _refresh(root: _Element, base: str) -> str:
    """Where a page that only leads on leads to."""
    for tag in root.iter("meta"):
        if (tag.get("http-equiv") or "").lower() == "refresh":
            delay, _, target = (tag.get("content") or "").partition(";")
            target = re.sub(r"^\s*url\s*=\s*", "", target, flags=re.I).strip("'\" ")
            if target and delay.strip() in ("0", "1", "2", "3", "0.1"):
                return urls.normalised(target, base)
    return ""
