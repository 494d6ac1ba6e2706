"""One page of a site, read: its main text as Markdown, what it says about itself, and where it leads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lxml import etree, html

from . import main_text, markdown_writer, page_files, site_maps, tab_panels, urls
from .charsets import decoded
from .code_blocks import classes
from .fetching import AGENT, Fetched
from .markdown_writer import is_dropped

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
_WORD = re.compile(r"\w+")
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
        text = page_files.without_front_matter(text).strip()
        title = page_files.title_of(text, fetched.url)
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
    tab_panels.unfold(main)
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
                main_text.leave_menus(best)
            return best
    _without(whole, f"{_CHROME} | {_SHELL}")
    best = main_text.main_element(whole)
    main_text.leave_menus(best)
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
        if not text or (not ours and main_text.is_link(heading)):
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
