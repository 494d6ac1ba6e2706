"""What stands around the text of an HTML page, and what its elements are, mostly by names of the usual generators."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

#: What a link is called that leads to a neighbour of the page, as Texinfo, DocBook and Sphinx have it.
_RELATIONS = frozenset({"next", "prev", "previous", "up", "start", "contents", "index", "bookmarks", "alternate"})
_KEYS = frozenset("npu")  #: by which a browser follows such a link
_MOST_LINKS = 200  #: looked at, of a page
_SAMPLE = 1_000  #: elements of a box that are counted
_LONGEST = 800  #: characters of a box of such links
_BETWEEN = 14  #: characters that may stand beside each link: "Previous: ", " | "
#: What parts a page's own title from its site's name; behind a colon that is the name of a manual.
_SITE = re.compile(r"\s*(?:[|—–·»]|\s-)\s|\s*: .*\b(?:manual|documentation|reference|guide|api)$", re.I)
_REFRESH = re.compile(r"\s*[0-5]?(?:\.\d+)?\s*;\s*(?:url\s*=\s*)?['\"]?\s*([^'\"#\s][^'\"]*)", re.I)


def around_text(root: _Element, title: str) -> set[_Element]:
    """The elements that are left out of a page called `title` by its `<title>`."""
    boxes: set[_Element] = set()
    for link in islice(root.iter("a"), 20 * _MOST_LINKS):
        relations = (link.get("rel") or "").lower().split()
        if not _RELATIONS.isdisjoint(relations) or (link.get("accesskey") or "").lower() in _KEYS:
            boxes.add(next(link.iterancestors("table", "div", "p"), link))
    found = {box for box in islice(boxes, _MOST_LINKS) if _holds_links_alone(box)}
    if (name := _name_of_site(root, title)) is not None:
        box = name.getparent()
        found.add(box if box is not None and _holds_links_alone(box) else name)
    return found


def forwarded_to(root: _Element) -> str:
    """The address that a browser goes on to at once, as a page says that holds nothing but that; else empty."""
    for element in root.iter("meta"):
        if (element.get("http-equiv") or "").lower() == "refresh":
            found = _REFRESH.match(element.get("content") or "")
            return found[1].strip() if found else ""
    return ""


def _counts(box: _Element) -> tuple[int, int, int]:
    """Links, characters in links and all characters of the first elements of a box."""
    links = list(islice(box.iter("a"), _SAMPLE))
    linked, words = (
        sum(len(piece.strip()) for one in some for piece in islice(one.itertext(), _SAMPLE)) for some in (links, [box])
    )
    return len(links), linked, words


def _holds_links_alone(box: _Element) -> bool:
    """Whether a box is short and holds nothing but links and what parts them."""
    links, linked, words = _counts(box)
    return words <= _LONGEST and words - linked <= linked + _BETWEEN * links


def without_site(title: str, first: str) -> str:
    """A page's `<title>` less the name of its site, where its first heading is what stands before that."""
    if first and title.casefold().startswith(first.casefold()) and _SITE.match(title, len(first)):
        return title[: len(first)]
    return title


def _name_of_site(root: _Element, title: str) -> _Element | None:
    """A heading above the page's own that says what the title ends with, or above one that says the whole title."""
    headings = list(islice(root.iter("h1", "h2"), 20))
    named = " ".join(title.split()).casefold()
    if len(headings) < 2 or headings[0].tag != "h1" or not named:
        return None
    first, *others = map(_heading, headings)
    is_end = named.endswith(first) and any(named.startswith(other) for other in others if other not in ("", first))
    is_above = headings[1].tag == "h2" and others[0] == named
    return headings[0] if first not in ("", named) and (is_end or is_above) else None


def _heading(heading: _Element) -> str:
    return " ".join("".join(heading.itertext()).split()).casefold().rstrip("¶# ")


# -- the main text ---------------------------------------------------------------------------------------------------

_SURE = ("//*[contains(@class, 'mw-parser-output')]", "//main", "//*[@role='main']")
_LIKELY = (
    "//div[@itemprop='articleBody']", "//article",
    "//*[self::div or self::section or self::td]"
    "[@id='main-content' or @id='content' or @id='main' or @id='bodyContent']",
)  # fmt: skip
#: Classes of the bodies of AsciiDoc's pages, which hold title, purpose and footnotes beside `#content`.
_ASCIIDOC = frozenset({"article", "book", "manpage"})
_MAIN_SHARE = 0.3  #: of the text, below which a candidate isn't the main text


def main_of(root: _Element) -> _Element | None:
    """The element that a page marks as its main text; None where none is."""
    if not _ASCIIDOC.isdisjoint(classes(root.find("body"))):
        return None
    total = sum(map(len, root.itertext()))
    for path in _SURE + _LIKELY:
        found = root.xpath(path)
        if len(found) == 1 and (path in _SURE or sum(map(len, found[0].itertext())) >= _MAIN_SHARE * total):
            return found[0]
    return None


# -- elements --------------------------------------------------------------------------------------------------------

_SILENT = frozenset(
    {
        "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio", "video",
        "select", "button", "input", "textarea", "head", "map", "datalist", "noframes",
    }
)  # fmt: skip
_AROUND = frozenset({"nav", "footer", "dialog"})
_AROUND_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "search", "menu", "menubar", "doc-pagefooter", "dialog"}
)
#: Class names and ids, whole words, of what stands around a text in the usual site generators.
_AROUND_NAMES = frozenset(
    {
        "nav", "navbar", "navigation", "navheader", "navfooter", "sidenav", "topnav", "subnav", "bottomnav", "navpath",
        "navrow1", "navrow2", "navrow3", "navrow4", "breadcrumb", "breadcrumbs", "footer", "site-footer", "page-footer",
        "cookie-banner", "skip-link", "skip-to-content", "sr-only", "visually-hidden", "pagination", "pagination-nav",
        "prev-next-area", "edit-page", "edit-this-page", "table-of-contents", "toc", "theme-doc-toc-mobile",
        "headerlink", "anchor-link", "hash-link", "header-anchor", "heading-anchor", "anchorjs-link", "copybtn",
        "md-sidebar", "md-header", "md-footer", "md-source-file", "feedback", "wy-nav-side", "rst-footer-buttons",
        "sphinxsidebar", "sphinxsidebarwrapper", "viewcode-link", "footnote-backref", "mw-editsection", "katex-html",
        "projectname", "projectalign", "projectlogo", "ingroups", "ttc", "msearchselectwindow", "msearchresultswindow",
        "previous_page", "next_page", "hideme", "test-arrow", "boring", "jp-inputprompt", "jp-outputprompt", "gutter",
        "linenos", "lineno", "linenodiv", "line-number", "line-numbers-rows", "line-numbers-wrapper", "ln", "lnt",
    }
)  # fmt: skip
#: Names of links around a text in some generators, and in others of its boxes (DocBook's tips, Sphinx's asides).
_AROUND_IF_LINKS = frozenset({"sidebar", "related", "menu", "path", "page-header", "global-nav"})
_SELF = frozenset((*"¶§#🔗◆", "More..."))  #: what a heading's link to itself shows, and Doxygen's to what stands below
#: Classes of notes and of what holds their titles.
_NOTES = frozenset(
    {
        "note", "tip", "hint", "important", "caution", "warning", "danger", "admonition", "admonitionblock",
        "admonition-heading",
    }
)  # fmt: skip
_ROLES = {"table": "table", "row": "tr", "cell": "td", "columnheader": "th", "rowheader": "th"}
_LAYOUT = frozenset({"table", "h1", "h2", "h3", "h4", "h5", "h6", "pre"})
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:mw-highlight-lang|language|lang|highlight-(?:source|text)|highlight|brush:?|source(?:code)?)[-_: ]\s*"
    r"(?!highlight[- ])([\w+#.-]+)"
)
_FILE_NAME = re.compile(r"\S*\.(png|jpe?g|gif|svg|webp|avif|bmp)", re.I)
_NO_LANGUAGE = frozenset({"default", "none", "text", "plain", "plaintext", "notranslate", "source", "wrapper", "txt"})


def name_of(element: _Element) -> str:
    """The tag of an element, or that of a table's part which it is by its role; empty for what isn't one."""
    tag = element.tag
    if not isinstance(tag, str):
        return ""
    name = tag.rpartition("}")[2].lower()
    if name in ("div", "span") and (role := element.get("role")) is not None:
        return _ROLES.get(role, name)
    return name


def classes(element: _Element | None) -> set[str]:
    """The words of an element's class."""
    return set() if element is None else set((element.get("class") or "").split())


def is_silent(element: _Element, name: str) -> bool:
    """Whether a reader sees nothing of an element, or but a mark that leads to where it stands."""
    get = element.get
    if name in _SILENT:
        return bool(get("role") != "tab")
    if not element.attrib:
        return False
    if get("role") != "tabpanel" and (
        get("hidden") is not None or "display:none" in (get("style") or "").replace(" ", "").lower()
    ):
        return True
    if name == "a" and "#" in (get("href") or ""):
        return "".join(element.itertext()).strip() in _SELF
    return False


def is_around(element: _Element, name: str) -> bool:
    """Whether an element stands around the page's text."""
    if not element.attrib:
        return name in _AROUND
    get = element.get
    if name in ("html", "body", "main", "article"):
        return False
    if name in _AROUND or get("role") in _AROUND_ROLES:
        return True
    names = f"{get('class') or ''} {get('id') or ''}".lower().split()
    if not _AROUND_NAMES.isdisjoint(names):
        return True
    if not _AROUND_IF_LINKS.isdisjoint(names):
        _, linked, words = _counts(element)
        return 2 * linked > words
    following = element.getnext() if names == ["lang"] else None  # a language's name above code by VitePress
    return following is not None and following.tag == "pre"


def image_text(image: _Element) -> str:
    """What stands for an image; nothing for a logo, a note's sign, a file's name and a formula that is text too."""
    words = " ".join((image.get("alt") or "").split())
    name = words.strip("[]").casefold()
    is_sign = name.endswith("logo") or (name in _NOTES and words.startswith("["))
    return "" if is_sign or _FILE_NAME.fullmatch(words) or "mwe-math" in (image.get("class") or "") else words


def drawn_text(picture: _Element) -> list[str]:
    """The words of a drawing in SVG: its labels, titles and descriptions, each once."""
    held = picture.xpath(
        ".//*[local-name()='text' or local-name()='title' or local-name()='desc' or local-name()='foreignObject'"
        " or local-name()='foreignobject'][not(ancestor::*[local-name()='text'])]"
    )
    return list(dict.fromkeys(words for one in held if (words := " ".join(" ".join(one.itertext()).split()))))


def formula(element: _Element) -> str:
    """A formula in TeX where the page knows that; empty where it doesn't."""
    if element.tag == "script":
        return " ".join((element.text or "").split()) if (element.get("type") or "").startswith("math/tex") else ""
    tex = element.xpath("string(.//*[local-name()='annotation'][@encoding='application/x-tex'])")
    return " ".join((tex or element.get("alttext") or "").split())


def code_language(element: _Element) -> str:
    """What a highlighter left in the classes of a `pre`, of its code, or of what is around it."""
    for node in (element, *islice(element.iter("code"), 1), *islice(element.iterancestors(), 3)):
        given = (node.get("data-lang") or node.get("data-language") or "").strip().lower()
        for name in (given, *_LANGUAGE.findall((node.get("class") or "").lower())):
            if name and name not in _NO_LANGUAGE:
                return str(name)
    return ""


def is_listing(element: _Element, name: str) -> bool:
    """Whether it is code whose lines are boxes, as Doxygen writes it."""
    return name == "div" and "fragment" in classes(element) and element.find("div[@class='line']") is not None


def is_title(element: _Element, name: str) -> bool:
    """Whether it is a page's title by its class alone, as Doxygen's."""
    return name == "div" and "title" in classes(element) and "headertitle" in classes(element.getparent())


def is_in_note(element: _Element) -> bool:
    """Whether the box around an element is a note: of its heading what stands below the box is no part."""
    return not _NOTES.isdisjoint(map(str.lower, classes(element.getparent())))


def is_layout(table: _Element) -> bool:
    """Whether a table holds what no cell can, or but one column without a header: a frame around text."""
    if is_in_note(table):
        return True
    cells = most = 0
    headed = False
    for inner in table.iterdescendants():
        name = name_of(inner)
        if name in _LAYOUT:
            return True
        if name == "tr":
            cells = 0
        elif name in ("td", "th"):
            cells += 1
            most = max(most, cells)
            headed = headed or name == "th"
    return most == 1 and not headed
