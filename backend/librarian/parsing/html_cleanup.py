"""What stands around the text of an HTML page, told by what it says and not by its name: links to the pages before and
behind, and the site's name above the page's own title.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ..models import Heading

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


_SILENT = frozenset(
    {
        "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio", "video",
        "select", "button", "input", "textarea", "head", "map", "datalist", "noframes",
    }
)  # fmt: skip
_AROUND = frozenset({"nav", "footer"})
_AROUND_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "search", "menu", "menubar", "doc-pagefooter", "dialog"}
)
#: Class names and ids, whole words, of what stands around a text in the usual site generators.
_AROUND_NAMES = frozenset(
    {
        "nav", "navbar", "navigation", "navheader", "navfooter", "sidenav", "breadcrumb",
        "breadcrumbs", "footer", "site-footer", "page-footer", "cookie-banner", "headerlink", "skip-link",
        "skip-to-content", "sphinxsidebar", "pagination", "pagination-nav", "prev-next-area", "edit-page",
        "table-of-contents", "theme-doc-toc-mobile", "toc", "md-sidebar", "md-header", "md-footer", "linenos",
        "linenodiv", "rst-footer-buttons", "wy-nav-side", "anchor-link", "hash-link", "sr-only", "visually-hidden",
        "topnav", "subnav", "bottomnav", "lineno", "ttc", "ingroups", "projectlogo", "projectalign", "navpath",
        "navrow1", "navrow2", "navrow3", "navrow4", "msearchselectwindow", "msearchresultswindow",
        "previous_page", "next_page", "method-click-advice", "hideme", "test-arrow",
        "listing_lines", "header-anchor", "line-numbers-wrapper", "dont-index", "md-source-file", "md-feedback",
        "sphinxsidebarwrapper", "toc-macro", "msotocheading", *(f"msotoc{level}" for level in range(1, 10)),
    }
)  # fmt: skip
#: Names of links around a text in some generators, and in others of its boxes (DocBook's tips, Sphinx's asides).
_MAYBE_AROUND_NAMES = frozenset({"sidebar", "related", "menu"})
_MAYBE_AROUND_IDS = frozenset({"path", "page-header", "global-nav"})  #: Apache's and Django's
_SOURCE_NAMES = frozenset({"srclink", "src"})  #: classes of links by rustdoc and gi-docgen
_BESIDE_SOURCE_NAMES = frozenset({"rightside", "out-of-band"})
_RDOC_LEVEL = 4  #: below those of its kinds of methods
#: By Doxygen and gtk-doc.
_NAMING_CELLS = frozenset(
    {"paramdir", "paramname", "parameter_name", "struct_member_name", "enum_member_name", "union_member_name"}
)
_PROMPT = re.compile(r"(?:(?:In|Out)\s*)?\[[\d*\s]*\]:?")
_BOX_SAMPLE = 2_000  #: elements that such a box is judged by
_NOTES = frozenset({"note", "tip", "hint", "important", "caution", "warning", "danger", "admonition"})
_SELF = frozenset((*"¶§#🔗◆", "More..."))  #: what a heading's link to itself shows, and Doxygen's to what stands below


def is_silent(element: _Element, name: str) -> bool:
    """Whether a reader sees nothing of an element, or but a mark that leads to where it stands."""
    if name in _SILENT or (name == "math" and element.get("alttext")):
        return True
    if not element.attrib:
        return False
    get = element.get
    if get("role") != "tabpanel" and (get("hidden") is not None or "display:none" in (get("style") or "")):
        return True
    if name == "a" and "#" in (target := get("href") or ""):
        words = "".join(element.itertext()).strip()
        return words in _SELF and (target.startswith("#") or words == "More...")
    return False


def is_around(element: _Element, name: str) -> bool:
    """Whether an element stands around the page's text."""
    if not element.attrib:
        return name in _AROUND or (name == "summary" and _is_of_code(element, name))
    get = element.get
    if name in ("html", "body", "main", "article"):
        return False
    if name in _AROUND or get("role") in _AROUND_ROLES:
        return True
    told = f"{get('class') or ''} {get('id') or ''}".lower()
    names = told.split()
    if not _AROUND_NAMES.isdisjoint(names) or (get("id") in _MAYBE_AROUND_IDS and _mostly_links(element)):
        return True
    if not _MAYBE_AROUND_NAMES.isdisjoint(names) and _mostly_links(element):
        return True
    if name in ("summary", "span") and _is_of_code(element, name):
        return True
    if (name == "a" or not _BESIDE_SOURCE_NAMES.isdisjoint(names)) and _leads_to_source(element, name, names):
        return True
    return "prompt" in told and _is_prompt(element)


def alternative(image: _Element) -> str:
    """What stands for an image; nothing for a logo."""
    words = " ".join((image.get("alt") or "").split())
    return "" if words.strip("[]").casefold().endswith("logo") else words


def _leads_to_source(element: _Element, name: str, names: Collection[str]) -> bool:
    """Whether an element is a link to the source of what is described, or such a link with what stands beside it."""
    if name == "a":
        if len(element) > 1:
            return False
        words = "".join(element.itertext()).strip().casefold()
        if words in ("[source]", "[src]"):
            return True
        around = element.getparent()
        declares = around is not None and "src" in (around.get("class") or "").split()
        return words in ("source", "src") and (not _SOURCE_NAMES.isdisjoint(names) or declares)
    return any(not _SOURCE_NAMES.isdisjoint((link.get("class") or "").split()) for link in element.iter("a"))


def _is_of_code(element: _Element, name: str) -> bool:
    """The name of a language that VitePress shows above code, or what Quarto and Jupyter Book unfold code with."""
    around = element.getparent()
    beside = "" if around is None else around.get("class") or ""
    if name == "summary":
        return "code-fold" in beside.split() or element.get("aria-label") == "Toggle hidden content"
    return name == "span" and element.get("class") == "lang" and beside.startswith("language-")


def _is_prompt(element: _Element) -> bool:
    """The number of a notebook's cell."""
    return _PROMPT.fullmatch("".join(islice(element.itertext(), _BOX_SAMPLE)).strip()) is not None


def is_listing(element: _Element) -> bool:
    """Code whose lines are boxes, as Doxygen writes it."""
    return "fragment" in (element.get("class") or "").split() and element.find("div[@class='line']") is not None


def level_of(element: _Element) -> int:
    """The level of what is a heading by its class alone, 0 for anything else: titles of pages by Word, Doxygen, Javadoc
    (a heading of the second level) and Haddock, methods by RDoc."""
    name, around = element.get("class"), element.getparent()
    if not name or around is None:
        return 0
    if name == "title":
        return int(around.get("class") == ("header" if element.tag == "h2" else "headertitle"))
    if name == "caption":
        return int(around.get("id") == "module-header")
    return 1 if name == "MsoTitle" else _RDOC_LEVEL if "method-heading" in name.split() else 0


def names_its_row(cell: _Element) -> bool:
    """Whether a cell begins a row with the name of a parameter or member that the others in it describe."""
    return not _NAMING_CELLS.isdisjoint((cell.get("class") or "").split())


def columns_of_grid(element: _Element) -> int:
    """How many columns a table of boxes has, as Javadoc writes its summaries; 0 for anything else."""
    if "summary-table" not in (element.get("class") or "").split():
        return 0
    return sum("table-header" in (cell.get("class") or "").split() for cell in element)


def is_in_declaration(cell: _Element) -> bool:
    """Whether a cell is part of one of the lines that Doxygen sums up a class by, which its table's headings part."""
    return cell.get("class") in ("memItemLeft", "memItemRight")


def is_declaration(table: _Element) -> bool:
    """Whether a table is what Doxygen sets the declaration of a member in."""
    return bool(table.get("class") == "memname")


def is_of_note(element: _Element) -> bool:
    """Whether a heading is that of a box, as DocBook has its notes: what stands below the box isn't part of it."""
    around = element.getparent()
    return around is not None and not _NOTES.isdisjoint((around.get("class") or "").lower().split())


def _mostly_links(element: _Element) -> bool:
    """Whether more than half of an element's text stands in links."""
    words = linked = 0
    for inner in islice(element.iter(), _BOX_SAMPLE):
        name = name_of(inner)
        if name not in _SILENT:
            words += len((inner.text or "").strip())
        if inner is not element:
            words += len((inner.tail or "").strip())
        if name == "a":
            linked += sum(len(piece.strip()) for piece in islice(inner.itertext(), _BOX_SAMPLE))
    return 2 * linked > words


def name_of(element: _Element) -> str:
    """The tag of an element; empty for what isn't one."""
    return element.tag.lower() if isinstance(element.tag, str) else ""
