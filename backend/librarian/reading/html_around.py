"""What stands around the text of an HTML page, told by what it says and not by its name: links to the pages before and
behind, and the site's name above the page's own title.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

#: What a link is called that leads to a neighbour of the page, as Texinfo, DocBook and Sphinx have it.
_RELATIONS = frozenset({"next", "prev", "previous", "up", "start", "contents", "index", "bookmarks"})
_KEYS = frozenset("npu")  #: by which a browser follows such a link
_MOST_LINKS = 200  #: looked at, of a page
_SAMPLE = 300  #: elements that a box is judged by
_LONGEST = 800  #: characters of a box of such links
_BETWEEN = 14  #: characters that may stand beside each link: "Previous: ", " | "
_HIGHEST = 4  #: boxes around each other
_WHOLE = frozenset({"html", "body", "main", "article"})


def around_text(root: _Element, title: str) -> set[_Element]:
    """The elements that are left out of a page called `title` by its `<title>`."""
    found: set[_Element] = set()
    for link in islice(root.iter("a"), 20 * _MOST_LINKS):
        if len(found) < _MOST_LINKS and _leads_to_neighbour(link) and (box := _box(link)) is not None:
            found.add(box)
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


def _leads_to_neighbour(link: _Element) -> bool:
    get = link.get
    relation = (get("rel") or "").lower().split()
    if not _RELATIONS.isdisjoint(relation) or ("alternate" in relation and get("hreflang") is not None):
        return True
    return (get("accesskey") or "").lower() in _KEYS and get("href") is not None


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


def _name_of_site(root: _Element, title: str) -> _Element | None:
    """A heading above the page's own that says what its title ends with, and leads to the site's first page."""
    headings = list(islice(root.iter("h1"), 20))
    if len(headings) < 2:
        return None
    told = " ".join(title.split()).casefold()
    first, *others = [" ".join("".join(heading.itertext()).split()).casefold().rstrip("¶ ") for heading in headings]
    if not first or told == first or not told.endswith(first):
        return None
    own = any(other and other != first and told.startswith(other) for other in others)
    link = headings[0].find(".//a[@href]")
    is_link = link is not None and not link.get("href", "#").startswith("#")
    return headings[0] if own or is_link else None
