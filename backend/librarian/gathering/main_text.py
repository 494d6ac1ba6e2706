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

KEPT = 0.9  #: share of the extracted words, and of the page's headings and code blocks, that the element must hold
_CONTAINERS = frozenset({"div", "section", "table", "tbody", "tr", "td", "center", "font", "form"})
_WORD = re.compile(r"\w+")
_MARKS = ".//h1 | .//h2 | .//h3 | .//h4 | .//h5 | .//h6 | .//pre"


def main_element(body: html.HtmlElement) -> html.HtmlElement:
    """The innermost container that holds the page's text; `body` itself where no text stands out."""
    wanted = Counter(_WORD.findall(_extracted(body)))
    enough, marks = KEPT * wanted.total(), KEPT * len(body.xpath(_MARKS))
    best = body
    while wanted:
        inner = next(
            (
                child
                for child in best
                if child.tag in _CONTAINERS and len(child.xpath(_MARKS)) >= marks and _held(child, wanted) >= enough
            ),
            None,
        )
        if inner is None:
            break
        best = inner
    return best


def _held(element: html.HtmlElement, wanted: Counter[str]) -> int:
    return (Counter(_WORD.findall(str(element.text_content()))) & wanted).total()


def _extracted(body: html.HtmlElement) -> str:
    """The words that the library takes for the page's own; empty where it finds none."""
    import trafilatura  # takes half a second to load, and most sites say what their text is

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # a page without text is no error of ours
    try:  # a copy, as text: the library changes the tree that it reads
        return trafilatura.extract(html.tostring(body, encoding="unicode"), favor_precision=True) or ""
    except Exception:  # whatever a stranger's page does to it, the crawl goes on with the whole page
        logger.warning("no main text was found in a page, which is kept whole", exc_info=True)
        return ""
