"""Pages that don't say which part of them is their text: how much of it is kept, and how much beside it.

    python -m venv /tmp/tools && /tmp/tools/bin/pip install mkdocs mkdocs-material
    pip install readability-lxml
    PYTHONPATH=backend python benchmarks/main_text.py SITE...

Each SITE is a folder of HTML whose pages mark their text (as mkdocs and sphinx render them). What Librarian takes from
the marked page is the truth. Then `main` and `article` become `div`, roles, ids and classes go, and with --divs also
`nav`, `header`, `footer`, `aside` and `section`; each way is measured on what is left.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from lxml import html

from crawl_roundtrip import bare
from librarian.crawling.web_page import written as written_page

_FENCE = re.compile(r"^ *(`{3,})[^\n]*\n(.*?)^ *\1[ \t]*$", re.S | re.M)
_ADDRESS = re.compile(r"\]\([^)]*\)")
_BARE = ("role", "itemprop", "id")


def main() -> int:
    """Prints a line per site and way: shares of headings, code blocks and words kept; foreign words per own word."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sites", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=60)
    given = parser.parse_args()
    ways: dict[str, Callable[[html.HtmlElement], str]] = {
        "librarian": marked,
        "trafilatura": trafilatura_alone,
        "readability": readability_alone,
    }
    for site in given.sites:
        pages = sorted(path for path in site.rglob("*.html") if path.name not in ("404.html", "search.html"))
        random.Random(1).shuffle(pages)
        for marks, divs in (("unmarked", False), ("only divs", True)):
            for name, way in ways.items():
                print(f"{site.name}, {marks}, {name}: {row(pages[: given.pages], way, divs)}", flush=True)
    return 0


def row(pages: list[Path], way: Callable[[html.HtmlElement], str], divs: bool) -> str:
    """One way over all pages."""
    kept, whole, foreign, cpu = Counter[str](), Counter[str](), 0, 0.0
    for path in pages:
        data = path.read_bytes()
        truth = pieces(marked(html.fromstring(data)))
        page = unmarked(html.fromstring(data), divs)
        began = time.thread_time()
        found = pieces(way(page))
        cpu += time.thread_time() - began
        for what, wanted in truth.items():
            whole[what] += wanted.total()
            kept[what] += (wanted & found[what]).total()
        foreign += (found["words"] - truth["words"]).total()
    shares = ", ".join(f"{what} {100 * kept[what] / whole[what]:.1f}%" for what in whole)
    return f"{shares}, foreign {100 * foreign / whole['words']:.1f}%, {1000 * cpu / len(pages):.0f} ms a page"


def unmarked(page: html.HtmlElement, divs: bool) -> html.HtmlElement:
    """The page without what says which part is its text."""
    gone = ("main", "article", *(("nav", "header", "footer", "aside", "section") if divs else ()))
    for element in page.iter():
        if isinstance(element.tag, str):
            for name in _BARE:
                element.attrib.pop(name, None)
            if element.tag in ("main", "article", "div", "section", "ul", "nav", "header", "footer", "aside"):
                element.attrib.pop("class", None)
            element.tag = "div" if element.tag in gone else element.tag
    return page


def marked(page: html.HtmlElement) -> str:
    """As a crawl takes it."""
    return written(page)


def trafilatura_alone(page: html.HtmlElement) -> str:
    """What the library extracts by itself, for recall, as Markdown."""
    import trafilatura

    source = html.tostring(page, encoding="unicode")
    return trafilatura.extract(source, output_format="markdown", include_formatting=True, favor_recall=True) or ""


def readability_alone(page: html.HtmlElement) -> str:
    """What the library extracts by itself, written as a crawl writes it."""
    from readability import Document

    part = Document(html.tostring(page, encoding="unicode")).summary(html_partial=True)
    return written(html.fromstring(part)) if part.strip() else ""


def written(element: html.HtmlElement) -> str:
    return written_page(element, "https://docs.example.org/", "https://docs.example.org/").text


def pieces(markdown: str) -> dict[str, Counter[str]]:
    """Headings, code blocks and words."""
    prose = _FENCE.sub("", markdown)
    return {
        "headings": Counter(bare(line) for line in re.findall(r"^ {0,3}#{1,6} (.*)$", prose, re.M)),
        "code blocks": Counter(re.sub(r"\s+", "", block[1]) for block in _FENCE.findall(markdown)),
        "words": Counter(re.findall(r"\w+", _ADDRESS.sub("]", markdown).lower())),
    }


if __name__ == "__main__":
    sys.exit(main())
