"""One page of a site, read: its main text as Markdown, what it says about itself, and where it leads."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lxml import etree, html

from . import markdown_writer, pages, site_maps, urls
from .fetching import AGENT, Fetched, decoded
from .markdown_writer import classes, is_dropped

logger = logging.getLogger(__name__)

KEPT = 0.9  #: share of the extracted words, and of the page's headings, that the element must hold, with all code
LINKED = 0.6  #: share of a menu's words that are links, at least
LEAST_LINKS = 3  #: of a menu
_CONTAINERS = frozenset({"div", "section", "table", "tbody", "tr", "td", "center", "font", "form"})
_AWAY = ".//a[@href][not(starts-with(@href, '#'))]"  #: links that don't stay within the page
_BOXES = frozenset({"div", "ul", "ol", "table", "center"})
_UNSEEN = frozenset({"script", "style", "noscript", "template"})
_WORD = re.compile(r"\w+")
_MARKED = "self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6 or self::pre"
_MAIN_MARKS = f".//*[{_MARKED}]"


def main_element(body: html.HtmlElement) -> html.HtmlElement:
    """The innermost container that holds the page's text; `body` itself where no text stands out."""
    wanted = Counter(_WORD.findall(_extracted(body)))
    enough, marks, code = KEPT * wanted.total(), KEPT * len(body.xpath(_MAIN_MARKS)), len(body.xpath(".//pre"))
    best = body
    while wanted:
        inner = next(
            (
                child
                for child in best
                if child.tag in _CONTAINERS
                and len(child.xpath(_MAIN_MARKS)) >= marks
                and len(child.xpath(".//pre")) == code
                and (_words(child) & wanted).total() >= enough
            ),
            None,
        )
        if inner is None:
            break
        best = inner
    return best


def leave_menus(main: html.HtmlElement) -> None:
    """Take away the menus that stand before the text within its own element, and repeat themselves further below.

    A menu is a list, a table or a box of which most words lead to other pages. Where hardly anything else is on the
    page, as in an index, it is the text.
    """
    menus: dict[html.HtmlElement, str] = {}
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
    if marked or sum(map(_count, rest)) > sum(map(_count, menus)):
        for menu in (*menus, *again):
            menu.drop_tree()


def is_link(heading: html.HtmlElement) -> bool:
    """Whether a heading is nothing but a link to another page, as a site's name is."""
    return any(_shown(link) == _shown(heading) for link in heading.xpath(_AWAY))


def _shown(element: html.HtmlElement) -> str:
    if not isinstance(element.tag, str) or element.tag in _UNSEEN:
        return ""
    return " ".join(str(element.text_content()).split())


def _is_menu(element: html.HtmlElement) -> bool:
    if element.tag not in _BOXES or any(mark.tag != "h1" or not is_link(mark) for mark in element.xpath(_MAIN_MARKS)):
        return False
    links = element.xpath(_AWAY)
    return len(links) >= LEAST_LINKS and sum(map(_count, links)) >= LINKED * _count(element)


def _count(element: html.HtmlElement) -> int:
    """Words, those of list entries apart from each other."""
    return len(_WORD.findall(" ".join(map(str, element.itertext()))))


def _words(element: html.HtmlElement) -> Counter[str]:
    return Counter(_WORD.findall(str(element.text_content())))


def _extracted(body: html.HtmlElement) -> str:
    """The words that the library takes for the page's own; empty where it finds none."""
    import trafilatura  # takes half a second to load, and most sites say what their text is

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # a page without text is no error of ours
    try:  # a copy, as text: the library changes the tree that it reads
        return trafilatura.extract(html.tostring(body, encoding="unicode"), favor_precision=True) or ""
    except Exception:  # whatever a stranger's page does to it, the crawl goes on with the whole page
        logger.warning("no main text was found in a page, which is kept whole", exc_info=True)
        return ""


FEW_WORDS = 15  #: a page with fewer, but with scripts, shows its text only to a browser that runs them
FEW_BESIDE_TITLE = 3  #: of such a page that has its title as a heading, which only a server writes there
#: What only its name marks: never a heading or an anchor, which are named after what they say.
_NAMED = (
    "//*[self::div or self::section or self::article or self::td or self::table or self::center]"
    "[@id='content' or @id='main-content' or @id='main']"
)
_MAIN = (
    "//*[@id='apicontent']",
    "//article[@role='main']",
    "//*[contains(concat(' ', @class, ' '), ' md-content__inner ')]",
    "//*[contains(concat(' ', @class, ' '), ' theme-doc-markdown ')]",
    "//main//*[contains(concat(' ', @class, ' '), ' vp-doc ')]",
    "//*[contains(concat(' ', @class, ' '), ' mw-parser-output ')]",
    "//body[div[@id='top']]/div[contains(concat(' ', @class, ' '), ' contents ')]",
    "//*[@itemprop='articleBody']",
    "//div[contains(concat(' ', @class, ' '), ' body ')][@role='main']",
    "//main//article",
    "//*[@role='main']",
    "//main",
    "//article",
    _NAMED,
)
_CHROME = (
    ".//nav | .//*[@role='navigation'] | .//*[@role='search'] | .//form"
    " | .//*[contains(@class, 'breadcrumb')] | .//*[contains(@class, 'prev-next')]"
    " | .//*[contains(@class, 'rst-footer')]"
    " | .//*[contains(@class, 'edit-this-page')] | .//*[contains(@class, 'table-of-contents')]"
    " | .//*[@id='table-of-contents'] | .//*[contains(@class, 'pagination')]"
    " | .//*[contains(@class, 'mw-editsection') or contains(@class, 'viewcode-link')]"
    " | .//a[contains(concat(' ', @class, ' '), ' src ') or contains(@class, 'srclink')]"
    " | .//*[contains(@class, 'feedback')][not(.//pre or .//h1)][count(.//p) < 4]"
    " | .//code//*[contains(concat(' ', @class, ' '), ' boring ')]"
)
_HEADINGS = ".//h1 | .//h2 | .//h3 | .//h4 | .//h5 | .//h6"
_SHELL = ".//header | .//footer | .//aside"
_MARKS = re.compile("[¶\u200b\ufeff\ue000-\uf8ff]")  #: of links to a heading itself, and icons
_TITLES = ("//h1", "//div[@class='headertitle']/div[@class='title']")  #: the second as Doxygen writes it
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
    problem: str = ""


def as_page(fetched: Fetched) -> WebPage:
    """What was fetched, as HTML or as Markdown; anything else is a page with a problem."""
    kind = fetched.media_type
    start = fetched.body[:200].lstrip().lower()
    if kind in _TEXT and not start.startswith((b"<!doctype", b"<html")):
        text = decoded(fetched.body, fetched.charset).replace("\r\n", "\n")
        text = pages.without_front_matter(text).strip()
        title = pages.title_of(text, fetched.url)
        indexable, _ = _wishes(fetched.headers.get("x-robots-tag", ""))
        return WebPage(title, f"{text}\n" if text else "", indexable=indexable, problem="" if text else "no text")
    if kind in _HTML or start.startswith((b"<!doctype", b"<html")):
        page = read_page(fetched.body, fetched.url, fetched.charset)
        told = _wishes(fetched.headers.get("x-robots-tag", ""))
        return replace(page, indexable=page.indexable and told[0], follow=page.follow and told[1])
    return WebPage("", "", problem=f"not a page: {kind}")


def read_page(body: bytes, url: str, charset: str = "") -> WebPage:
    """Reads HTML. Never raises: what isn't HTML becomes a page with a problem."""
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, huge_tree=False)
    try:
        page = html.document_fromstring(decoded(body, charset).encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, LookupError) as error:
        return WebPage("", "", problem=f"can't be read as HTML: {error}")
    base = urls.normalised(next(iter(page.xpath("//base/@href")), ""), url) or url
    meta = {
        str(tag.get("name") or tag.get("property") or "").lower(): tag.get("content") or "" for tag in page.iter("meta")
    }
    indexable, follow = _wishes(f"{meta.get('robots', '')},{meta.get('librarian', '')}")
    refresh = _refresh(page, base)
    links = [urls.normalised(str(target), base) for target in page.xpath("//a/@href | //area/@href")]
    scripts = bool(page.xpath("//script"))
    navigation = site_maps.navigation(page, base)
    headings = page.xpath(_TITLES[0]) or page.xpath(_TITLES[1])
    marked = {*page.xpath("//main//h1 | //article//h1 | //*[@role='main']//h1")}
    main = main_part(page)
    title = _title(page, headings, marked, main) or " ".join(meta.get("og:title", "").split()) or _named(page)
    markdown_writer.unfold(main)
    markdown = markdown_writer.to_markdown(main, base, url)
    words, named = len(_WORD.findall(markdown)), len(_WORD.findall(title))
    written = words - named >= FEW_BESIDE_TITLE and main.find(".//h1") is not None  # a heading, and something below it
    problem = ""
    if words < FEW_WORDS and scripts and named * 2 + 3 > words - 3 and not refresh and not written:
        problem, markdown = "empty without JavaScript", ""
    elif not words:
        problem, markdown = "no text", ""
    return WebPage(
        title=title,
        markdown=markdown,
        canonical=_linked(page, "canonical", base),
        description=" ".join((meta.get("description") or meta.get("og:description") or "").split()),
        keywords=tuple(word for part in meta.get("keywords", "").split(",") if (word := part.strip())),
        links=tuple(dict.fromkeys(link for link in [*links, refresh] if link)),
        navigation=navigation,
        markdown_url=_linked(page, "alternate", base, "text/markdown"),
        indexable=indexable and not refresh,
        follow=follow,
        problem="" if refresh else problem,
    )


def _wishes(robots: str) -> tuple[bool, bool]:
    """Whether a page may be kept, and its links followed, by what it says to robots; a header may name whom it means.

    >>> _wishes("noindex"), _wishes("googlebot: none"), _wishes("librarian: none")
    ((False, True), (True, True), (False, False))
    """
    said, meant = set(), True
    for part in robots.lower().split(","):
        agent, colon, rule = part.partition(":")
        if colon and not agent.strip().startswith(("max-", "unavailable_after")):
            meant = agent.strip() == AGENT
        said |= {(rule or part).strip()} if meant else set()
    return not said & {"noindex", "none"}, not said & {"nofollow", "none"}


def main_part(page: html.HtmlElement) -> html.HtmlElement:
    """The part that differs from page to page: what the page marks as its text, else what looks like it."""
    body = page.find(".//body")
    whole = body if body is not None else page
    for path in _MAIN:
        found = whole.xpath(path)
        if path == "//main//article" and len(found) > 1:
            continue
        if path == _NAMED:
            found = [element for element in found if not _is_one_of_several(element)]
        best = max(found, key=_weight, default=None)
        if best is not None and _weight(best) > 0 and (len(found) == 1 or path != "//article"):
            _without(best, _CHROME)
            if path == _NAMED:
                leave_menus(best)
            return best
    _without(whole, f"{_CHROME} | {_SHELL}")
    best = main_element(whole)
    leave_menus(best)
    return best


def _is_one_of_several(element: html.HtmlElement) -> bool:
    """Whether an element is a section of a text, among others: it is named after its heading then, "Main" say."""
    parent = element.getparent()
    return any(
        other is not element
        and (other.tag, classes(other)) == (element.tag, classes(element))
        and (element.tag == "section" or classes(element))
        and other.xpath(_HEADINGS)
        for other in (parent if parent is not None else ())
        if isinstance(other.tag, str)
    )


def _weight(element: html.HtmlElement) -> int:
    return len(str(element.text_content()).split()) + 5 * len(element.xpath(".//pre"))


def _without(element: html.HtmlElement, path: str) -> None:
    for found in element.xpath(path):
        if found.getparent() is not None and not found.xpath("self::form[.//h1 or .//h2 or .//pre]"):
            found.drop_tree()


def _named(page: html.HtmlElement) -> str:
    return " ".join(next((str(found.text_content()) for found in page.iter("title")), "").split())


def _title(
    page: html.HtmlElement, headings: list[html.HtmlElement], marked: set[html.HtmlElement], main: html.HtmlElement
) -> str:
    """The text's first heading, which says less about the site than `<title>` does; empty where it has none."""
    named = _named(page)
    own = [heading for heading in headings if main in heading.iterancestors()]
    ours = own or [heading for heading in headings if heading in marked or heading.tag == "div"]
    for heading in ours or headings:
        text = _heading(heading)
        if not text or (not ours and is_link(heading)):
            continue
        if not ours and re.search(
            rf"[-–—|·:»/]\s*{re.escape(text)}$", named, re.I
        ):  # the site's name, above its pages' own
            return named[: -len(text)].rstrip(" -–—|·:»/") or text
        if re.sub(r"\W", "", named) == re.sub(r"\W", "", text):
            return named  # whose parts the heading may set apart by its looks alone
        apart = text.casefold() not in named.casefold() and named.casefold() not in text.casefold()
        return named if apart and _stands_above(heading, named) else text
    return ""


def _stands_above(heading: html.HtmlElement, named: str) -> bool:
    """Whether a reader sees the `<title>` as it is, and not as a link, above a heading: that is a part of the text."""
    leaves = heading.xpath("preceding::*[not(*)][normalize-space()=$named][ancestor::body]", named=named)
    return any(not leaf.xpath("ancestor-or-self::a | ancestor-or-self::button") for leaf in leaves)


def _heading(element: html.HtmlElement) -> str:
    empty = element.xpath(".//a[contains(@class, 'anchor')][not(text())] | ./div[@class='ingroups']")
    for mark in (*filter(is_dropped, [*element.iterdescendants()]), *empty):
        mark.drop_tree()
    return " ".join(_MARKS.sub("", str(element.text_content())).split())


def _linked(page: html.HtmlElement, relation: str, base: str, media_type: str = "") -> str:
    for link in page.iter("link"):
        relations = str(link.get("rel") or "").lower().split()
        if relation in relations and (not media_type or str(link.get("type") or "").lower() == media_type):
            return urls.normalised(str(link.get("href") or ""), base)
    return ""


def _refresh(page: html.HtmlElement, base: str) -> str:
    """Where a page that only leads on leads to."""
    for tag in page.iter("meta"):
        if str(tag.get("http-equiv") or "").lower() == "refresh":
            delay, _, target = str(tag.get("content") or "").partition(";")
            target = re.sub(r"^\s*url\s*=\s*", "", target, flags=re.I).strip("'\" ")
            if target and delay.strip() in ("0", "1", "2", "3", "0.1"):
                return urls.normalised(target, base)
    return ""
