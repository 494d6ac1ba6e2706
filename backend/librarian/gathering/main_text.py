"""Which part of a page is its text, where nothing in the page says so: trafilatura's judgement, kept whole.

The library says which words are the page's own. What it extracts itself has lost headings and code blocks (as
`benchmarks/main_text.py` shows), so that the element around those words is taken as it is.
"""

from __future__ import annotations

import logging
import re
from collections import Counter

from lxml import html

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
_MARKS = f".//*[{_MARKED}]"


def main_element(body: html.HtmlElement) -> html.HtmlElement:
    """The innermost container that holds the page's text; `body` itself where no text stands out."""
    wanted = Counter(_WORD.findall(_extracted(body)))
    enough, marks, code = KEPT * wanted.total(), KEPT * len(body.xpath(_MARKS)), len(body.xpath(".//pre"))
    best = body
    while wanted:
        inner = next(
            (
                child
                for child in best
                if child.tag in _CONTAINERS
                and len(child.xpath(_MARKS)) >= marks
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
    if element.tag not in _BOXES or any(mark.tag != "h1" or not is_link(mark) for mark in element.xpath(_MARKS)):
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
