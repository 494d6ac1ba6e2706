"""What stands around the text of an HTML page, told by what it says and not by its name: links to the pages before and
behind, and the site's name above the page's own title.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from librarian.vocabulary.types import Heading

if TYPE_CHECKING:
    from lxml.etree import _Element

#: What a link is called that leads to a neighbour of the page, as Texinfo, DocBook and Sphinx have it.
_RELATIONS = frozenset({"next", "prev", "previous", "up", "start", "contents", "index", "bookmarks"})
_ARROWS = frozenset({"<", "<<", ">", ">>"})  #: what such a link shows, as texi2html has it
_KEYS = frozenset("npu")  #: by which a browser follows such a link
_MOST_LINKS = 200  #: looked at, of a page
_SAMPLE = 300  #: elements that a box is judged by
_LONGEST = 800  #: characters of a box of such links
_BETWEEN = 14  #: characters that may stand beside each link: "Previous: ", " | "
_HIGHEST = 4  #: boxes around each other
_MARKS = 4  #: characters that may stand beside each link of a table of contents: its number
_MOST_ELEMENTS = 20_000  #: looked at for such tables
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
#: What parts a page's own title from its site's name; behind a colon that is the name of a manual.
_SITE = re.compile(r"\s*(?:[|—–·»]|\s-)\s|\s*: .*\b(?:manual|documentation|reference|guide|api)$", re.I)
_CELLS = frozenset({"table", "tbody", "tr", "td", "th"})
_WHOLE = frozenset({"html", "body", "main", "article"})


def around_text(root: _Element, title: str) -> set[_Element]:
    """The elements that are left out of a page called `title` by its `<title>`."""
    found: set[_Element] = set()
    for link in islice(root.iter("a"), 20 * _MOST_LINKS):
        if len(found) < _MOST_LINKS and _leads_to_neighbour(link) and (box := _box(link)) is not None:
            found.add(box)
    found |= _contents(root)
    if (name := _name_of_site(root, title)) is not None:
        box = _box(name)
        found.add(name if box is None else box)
    return found


def is_sent_on(root: _Element) -> bool:
    """Whether a browser that shows the page goes on to another at once: it holds nothing but that."""
    for element in root.iter("meta"):
        if (element.get("http-equiv") or "").lower() == "refresh":
            delay, _, target = (element.get("content") or "").partition(";")
            named = target.strip().lower().startswith("url=") and target.strip()[4:].strip("\"' #") != ""
            return named and delay.strip() in ("", "0", "1", "2", "3", "4", "5")
    return False


def is_for_search(root: _Element) -> bool:
    """Whether a page is one in which Doxygen's script shows what a search finds."""
    body = root.find("body")
    return body is not None and "SRPage" in (body.get("class") or "").split()


def _leads_to_neighbour(link: _Element) -> bool:
    get = link.get
    relation = (get("rel") or "").lower().split()
    if not _RELATIONS.isdisjoint(relation) or ("alternate" in relation and get("hreflang") is not None):
        return True
    if get("href") is None:
        return False
    return (get("accesskey") or "").lower() in _KEYS or _is_arrow(link)


def _is_arrow(link: _Element) -> bool:
    """Whether a link is an arrow in brackets; others may be names of operators."""
    if (link.text or "").strip() not in _ARROWS or not (link.tail or "").startswith("]"):
        return False
    before, around = link.getprevious(), link.getparent()
    words = before.tail if before is not None else around.text if around is not None else ""
    return (words or "").rstrip().endswith("[")


def _contents(root: _Element) -> set[_Element]:
    """Lists of links to headings further down in the page: they say nothing that those don't."""
    waiting: dict[str, list[_Element]] = {}
    matched: dict[_Element, None] = {}  # in order
    for element in islice(root.iter("a", *_HEADINGS), _MOST_ELEMENTS):
        if element.tag == "a" and not (element.get("href") or "").startswith("#"):
            continue
        words = "".join(islice(element.itertext(), _SAMPLE))
        key = " ".join(words.split()).casefold().rstrip("¶# ")
        if element.tag != "a":
            matched.update(dict.fromkeys(waiting.pop(key, ())))
        elif key and not _is_of_heading(element):
            waiting.setdefault(key, []).append(element)
    found: set[_Element] = set()
    judged: dict[_Element, bool] = {}
    for link in matched:
        box, outer = None, link.getparent()
        for _ in range(2 * _HIGHEST):
            if outer is None or outer in found or outer.tag in _WHOLE or outer.tag in _CELLS:
                break
            if outer not in judged:
                judged[outer] = len(judged) < _MOST_LINKS and _holds_only(outer, matched)
            if not judged[outer]:
                break
            box, outer = outer, outer.getparent()
        if box is not None and sum(inner in matched for inner in box.iter("a")) > 1:
            found.add(box)
        elif _neighbour(link, 1) in matched or _neighbour(link, -1) in matched:
            found.add(link)
    return found


def _neighbour(link: _Element, step: int) -> _Element | None:
    """The element behind a link or before it, where nothing but the end of a line stands between, as groff has it."""
    for _ in range(2):
        found = link.getnext() if step > 0 else link.getprevious()
        between = link if step > 0 else found
        if found is None or between is None or (between.tail or "").strip():
            return None
        if found.tag != "br":
            return found
        link = found
    return None


def _is_of_heading(link: _Element) -> bool:
    around = link.getparent()
    return next(link.iter(*_HEADINGS), None) is not None or (around is not None and around.tag in _HEADINGS)


def _holds_only(box: _Element, matched: Collection[_Element]) -> bool:
    """Whether a box holds links to headings, and hardly anything else."""
    links = known = words = linked = 0
    for count, element in enumerate(box.iter()):
        if count > _MOST_ELEMENTS or element.tag in _HEADINGS or element.tag == "pre":
            return False
        words += len((element.text or "").strip())
        if element is not box:
            words += len((element.tail or "").strip())
        if element.tag == "a":
            links += 1
            known += element in matched
            linked += len("".join(element.itertext()).strip())
    return 2 * known > links and words - linked <= _MARKS * links


def _box(inner: _Element) -> _Element | None:
    """The largest element around one of these that holds nothing but links and what parts them."""
    found = None
    box = inner.getparent()
    for _ in range(_HIGHEST):
        if box is None or box.tag in _WHOLE or not _is_of_links(box, inner):
            break
        found, box = box, box.getparent()
    return found


def _is_of_links(box: _Element, inner: _Element) -> bool:
    links = linked = words = 0
    for element in islice(box.iter(), _SAMPLE + 1):
        tag = element.tag
        if tag in ("h1", "h2", "h3", "pre") and element is not inner:
            return False
        if tag not in ("script", "style"):
            words += len((element.text or "").strip())
        if element is not box:
            words += len((element.tail or "").strip())
        if tag == "a":
            links += 1
            linked += len("".join(element.itertext()).strip())
        if words > _LONGEST:
            return False
    return words - linked <= linked + _BETWEEN * links


def without_site(title: str, headings: Sequence[Heading]) -> str:
    """A page's `<title>` less the name of its site, where the first heading is what stands before that."""
    first = headings[0].text if headings else ""
    if first and title.casefold().startswith(first.casefold()) and _SITE.match(title, len(first)):
        return title[: len(first)]
    return title


def _name_of_site(root: _Element, title: str) -> _Element | None:
    """A heading above the page's own that says what the title ends with, or above one that says the whole title."""
    headings = list(islice(root.iter("h1", "h2"), 20))
    told = " ".join(title.split()).casefold()
    if len(headings) < 2 or headings[0].tag != "h1" or not told:
        return None
    first, *others = [_heading(heading) for heading in headings]
    if not first or told == first:
        return None
    if headings[1].tag == "h2" and others[0] == told:
        return headings[0]
    if not told.endswith(first):
        return None
    link = headings[0].find(".//a[@href]")  # to the site's first page
    is_link = link is not None and not link.get("href", "#").startswith("#")
    others = [other for other in others if other and other != first]
    own = any(told.startswith(other) for other in others)
    return headings[0] if own or (is_link and sum(h.tag == "h1" for h in headings) > 1) else None


def _heading(heading: _Element) -> str:
    return " ".join("".join(heading.itertext()).split()).casefold().rstrip("¶# ")
