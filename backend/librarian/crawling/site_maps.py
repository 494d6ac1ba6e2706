"""Lists of pages that a site offers by itself: sitemap.xml, llms.txt and its navigation."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from lxml import etree
from lxml.etree import _Element

from . import urls

MOST_ADDRESSES = 50_000  #: the sitemap protocol's own limit for one file
MOST_BYTES = 50 * 1024 * 1024
MOST_DEPTH = 3
_TARGET = re.compile(r"\s*+<?+([^)\s>]++)[^)]*+\)")  #: what follows `](`; no part of it can be taken in two ways
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
        lines = data.decode("utf-8-sig", "replace").splitlines()  # the plain form: an address a line
        return [url for line in lines if (url := urls.normalised(line))][:MOST_ADDRESSES], []
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, recover=True))
    except (etree.XMLSyntaxError, ValueError):
        return [], []
    if root is None:
        return [], []
    found: dict[str, list[str]] = {"url": [], "sitemap": []}
    for element in root.iter():
        if isinstance(element.tag, str) and etree.QName(element).localname == "loc":
            parent = element.getparent()
            kind = etree.QName(parent).localname if parent is not None else ""
            if kind in found and element.text and (url := urls.normalised(element.text)):
                found[kind].append(url)
    return found["url"][:MOST_ADDRESSES], found["sitemap"]


def parse_llms(text: str, base: str) -> Iterator[tuple[str, str, str]]:
    """(address, title, heading above it) of each link of an llms.txt."""
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        for label, target in _links(line):
            if url := urls.normalised(target, base):
                yield url, label.strip(), section


def _links(line: str) -> Iterator[tuple[str, str]]:
    """(label, target) of a line's links, looking at each of its characters a few times at most.

    >>> list(_links("[a](x) and [b [c](<y> 'z') [d]()"))
    [('a', 'x'), ('b [c', 'y')]
    """
    begin, end, last = 0, line.find("]("), line.rfind(")") + 1
    while 0 <= end < last:
        begin = max(begin, line.rfind("]", begin, end) + 1)
        opening = line.find("[", begin, end)
        target = _TARGET.match(line, end + 2, last) if opening >= 0 else None
        if target is not None:
            yield line[opening + 1 : end], target[1]
        begin = end + 1 if target is None else target.end()
        end = line.find("](", begin)


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
    own = _item(link)
    if own is not None and _introduces(own) and _label(own) == _words(link):
        names.append(_words(link))  # the page that introduces a group belongs to it
    item = own
    while item is not None and len(names) < MOST_DEPTH + 2:
        listed = item.getparent()
        if listed is None or listed.tag not in ("ul", "ol"):
            break
        outer = _item(listed)
        name = (_label(outer) if outer is not None else "") or _caption(listed)
        if name:
            names.append(name)
        if outer is None or menu not in outer.iterancestors():
            break
        item = outer
    return tuple(reversed(names))[:MOST_DEPTH]


def _introduces(item: _Element) -> bool:
    """Whether a menu's entry has other pages below it, and not only sections of its own."""
    return any("#" not in str(target) for target in item.xpath(".//ul//a/@href"))


def _item(element: _Element) -> _Element | None:
    return next((above for above in element.iterancestors() if above.tag == "li"), None)


def _label(item: _Element) -> str:
    """What a menu's entry says before the entries below it."""
    for child in item:
        if child.tag in ("ul", "ol", "nav"):
            break
        if child.tag in _LABELS and child.find(".//ul") is None and (text := _words(child)):
            return text
    return " ".join((item.text or "").split())


def _caption(listed: _Element) -> str:
    """The heading in front of a list."""
    before = listed.getprevious()
    return _words(before) if before is not None and before.tag in ("p", "h2", "h3", "h4", "span", "label") else ""


def _words(element: _Element) -> str:
    return " ".join("".join(element.itertext()).replace("¶", "").split())[:80]


LONGEST_DELAY_S = 30.0


@dataclass(frozen=True, slots=True)
class Pattern:
    """What stands between a rule's `*`, in order; `ends` where the address must end with the last of it.

    Not a regular expression: of thirty `*` one takes longer than anybody waits, and a site writes what it likes.
    """

    parts: tuple[str, ...]
    ends: bool

    def matches(self, target: str) -> bool:
        """Whether the address, without its host, is one of the rule's."""
        first, *others = self.parts
        if not target.startswith(first):
            return False
        at = len(first)
        last = others.pop() if self.ends and others else None
        for part in others:
            found = target.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        if last is not None:
            return target.endswith(last) and len(target) - len(last) >= at
        return not self.ends or at == len(target)


@dataclass(frozen=True, slots=True)
class Robots:
    """`rules` are (allowed, length of the pattern, pattern); `delay_s` is what the site asks for between requests."""

    rules: tuple[tuple[bool, int, Pattern], ...] = ()
    delay_s: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether the address may be fetched."""
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        matching = [(length, allowed) for allowed, length, pattern in self.rules if pattern.matches(target)]
        return max(matching)[1] if matching else True


EVERYTHING = Robots()


def parse_robots(text: str, agent: str) -> Robots:
    """The group of `agent`, else that of `*`.

    >>> parse_robots("User-agent: *\\nDisallow: /a\\nAllow: /a/b$", "x").allows("http://e.org/a/b")
    True
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    sitemaps: list[str] = []
    current: list[str] = []
    in_rules = False
    for line in text.lstrip("\ufeff").splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon:
            continue
        if name == "sitemap":
            sitemaps.append(value)
        elif name == "user-agent":
            current = [value.lower()] if in_rules or not current else [*current, value.lower()]
            in_rules = False
            groups.setdefault(value.lower(), [])
        elif name in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for group in current:
                groups[group].append((name, value))
    named = [rules for name, rules in groups.items() if name.partition("/")[0].rstrip() == agent.lower()]
    mine = [rule for rules in named for rule in rules] if named else groups.get("*", [])
    delay = 0.0
    rules = []
    for name, value in mine:
        if name == "crawl-delay":
            delay = _seconds(value)
        elif value:
            rules.append((name == "allow", len(value), _pattern(value)))
    return Robots(tuple(rules), delay, tuple(sitemaps))


def _pattern(value: str) -> Pattern:
    value = quote(value, safe="/%:@!$&'()*+,;=~-._?#[]")  # addresses are compared as they are sent
    return Pattern(tuple(re.split(r"\*+", value.removesuffix("$"))), value.endswith("$"))


def _seconds(value: str) -> float:
    try:
        return min(max(float(value), 0.0), LONGEST_DELAY_S)
    except ValueError:
        return 0.0
