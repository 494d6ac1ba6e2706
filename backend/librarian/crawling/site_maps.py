"""What a site says about itself: sitemap.xml, llms.txt, robots.txt and its navigation."""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterator

from lxml import etree
from lxml.etree import _Element
from protego import Protego

from . import urls

MOST_ADDRESSES = 50_000  #: the sitemap protocol's own limit for one file
MOST_BYTES = 50 * 1024 * 1024
MOST_DEPTH = 3
#: A link's target; a bracket ends each part, so that the time is linear in the length of the line.
_LINK = re.compile(r"\[[^\[\]]*+\]\(\s*+<?+([^()\s>]++)[^()]*+\)")
_NAVS = (
    "//nav | //*[@role='navigation'] | //*[contains(concat(' ', @class, ' '), ' sphinxsidebar ')]"
    " | //*[contains(concat(' ', @class, ' '), ' toctree-wrapper ')]"
    " | //*[contains(concat(' ', @class, ' '), ' sidebar ')] | //*[contains(@class, 'sidebar-tree')]"
)
_LABELS = ("a", "span", "label", "p", "button", "div", "strong", "h2", "h3", "h4", "summary")


def parse_sitemap(data: bytes) -> tuple[list[str], list[str]]:
    """(pages, further sitemaps) of a sitemap or a sitemap index, gzipped or not; both empty where it is neither."""
    if data[:2] == b"\x1f\x8b":
        try:
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, MOST_BYTES)
        except zlib.error:
            return [], []
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"http://", b"https://")):
        return _addresses(data.decode("utf-8-sig", "replace").splitlines()), []  # the plain form: an address a line
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, recover=True))
    except (etree.XMLSyntaxError, ValueError):
        return [], []
    pages, further = (
        _addresses(root.xpath(f"//*[local-name()='{kind}']/*[local-name()='loc']/text()")) if root is not None else []
        for kind in ("url", "sitemap")
    )
    return pages, further


def _addresses(found: list[str]) -> list[str]:
    return [url for text in found if (url := urls.normalised(text))][:MOST_ADDRESSES]


def parse_llms(text: str, base: str) -> Iterator[tuple[str, str]]:
    """(address, heading above it) of each link of an llms.txt."""
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        for target in _LINK.findall(line):
            if url := urls.normalised(target, base):
                yield url, section


def navigation(page: _Element, base: str) -> dict[str, tuple[str, ...]]:
    """Address → names of the groups that it stands in, outermost first, as the page's menus nest them."""
    found: dict[str, tuple[str, ...]] = {}
    for menu in page.xpath(_NAVS):
        for link in menu.iter("a"):
            target = link.get("href", "")
            if not target or "#" in target.rstrip("#"):
                continue  # a section of a page, as menus list them below it
            url = urls.normalised(target, base)
            groups = _groups(link, menu)
            if url and len(groups) > len(found.get(url, ())) - (url not in found):
                found[url] = groups
    return found


def _groups(link: _Element, menu: _Element) -> tuple[str, ...]:
    names: list[str] = []
    own = next(link.iterancestors("li"), None)
    others = own.xpath(".//ul//a[not(contains(@href, '#'))]") if own is not None else ()
    if others and _label(own) == _words(link):
        names.append(_words(link))  # the page that introduces a group of others belongs to it
    for listed in itertools.takewhile(lambda above: above is not menu, link.iterancestors()):
        if listed.tag in ("ul", "ol"):
            outer, before = next(listed.iterancestors("li"), None), listed.getprevious()
            is_caption = before is not None and before.tag in ("p", "h2", "h3", "h4", "span", "label")
            names.append((_label(outer) if outer is not None else "") or (_words(before) if is_caption else ""))
    return tuple(filter(None, reversed(names)))[:MOST_DEPTH]


def _label(item: _Element) -> str:
    """What a menu's entry says before the entries below it."""
    for child in item:
        if child.tag in ("ul", "ol", "nav"):
            break
        if child.tag in _LABELS and child.find(".//ul") is None and (text := _words(child)):
            return text
    return " ".join((item.text or "").split())


def _words(element: _Element) -> str:
    return " ".join("".join(element.itertext()).replace("¶", "").split())[:80]


_VERSION = re.compile(r"^(\s*user-agent\s*:\s*[\w-]+)/.*", re.I | re.M)


def parse_robots(text: str) -> Protego:
    """What a robots.txt says; an empty one allows everything.

    >>> parse_robots("User-agent: *\\nDisallow: /a\\nAllow: /a/b$").can_fetch("http://e.org/a/b", "x")
    True
    """
    return Protego.parse(_VERSION.sub(r"\1", text.lstrip("\ufeff")))
