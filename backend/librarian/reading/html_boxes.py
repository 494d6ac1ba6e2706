"""What the boxes of a web page are by their names: what isn't shown, what stands around the text in the usual
generators of sites, and the listings, titles and notes that they don't mark up as such.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

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
_SAMPLE = 2_000  #: elements that such a box is judged by
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
    return _PROMPT.fullmatch("".join(islice(element.itertext(), _SAMPLE)).strip()) is not None


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
    for inner in islice(element.iter(), _SAMPLE):
        name = name_of(inner)
        if name not in _SILENT:
            words += len((inner.text or "").strip())
        if inner is not element:
            words += len((inner.tail or "").strip())
        if name == "a":
            linked += sum(len(piece.strip()) for piece in islice(inner.itertext(), _SAMPLE))
    return 2 * linked > words


def name_of(element: _Element) -> str:
    """The tag of an element; empty for what isn't one."""
    return element.tag.lower() if isinstance(element.tag, str) else ""
