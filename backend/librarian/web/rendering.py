"""Documents as safe HTML: rendered by their format, links led to this page, a passage and its words marked, cleaned."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

import nh3
from lxml import html
from markupsafe import Markup, escape

from ..documents.addresses import anchor as anchor
from ..documents.addresses import anchors
from ..models import Heading
from ..schemas import DocumentResponse, HeadingItem
from ..text.sanitizing import visible
from . import asciidoc, markdown

Form = Literal["markdown", "restructured", "asciidoc", "written", "code", "text"]

#: Endings of files by how their text is rendered; all others are plain text.
_ENDINGS: Final[dict[Form, str]] = {
    "markdown": "md markdown mdown mkd mdx rmd qmd ipynb",
    "asciidoc": "adoc asciidoc asc",
    "restructured": "rst rst.txt",
    "written": "docx docm htm html xhtml pdf csv tsv xls xlsx xlsm xlsb ods pptx pptm ppsx odt ott rtf epub",
    "code": "py js ts tsx jsx go rs java c h cpp cs rb sh bash sql json jsonl yaml yml toml ini cfg xml proto tf conf",
}
_FORMS: Final = {f".{ending}": form for form, endings in _ENDINGS.items() for ending in endings.split()}
#: What plain text in reStructuredText has, as the parser tells it.
_DIRECTIVE = re.compile(r"^\.\. (?:[\w:-]+ ?::|_[\w .-]+:[ \t]*$)", re.MULTILINE)


def form_of(path: str, has_headings: bool = False, text: str = "") -> Form:
    """How a file's text is rendered.

    `written` is what the parser wrote out of another format, which descriptions of interfaces and comments of source
    files are too, where they have headings.
    """
    name = path.lower()
    form: Form = next((form for ending, form in _FORMS.items() if name.endswith(ending)), "text")
    if form == "text" and name.endswith((".txt", ".text")) and _DIRECTIVE.search(text):
        return "restructured"
    return "written" if form == "code" and has_headings else form


# -- cleaning

_CLASSES = frozenset(
    {"front", "code", "note", "note-title", "picture", "dead", "chosen", "table", "prose", "code-lines", "anchor"}
    | {"footnote", "classifier", "object", "fields", "quiet", "inner", "outer"}
    | {f"title-{level}" for level in range(1, 7)}
    | {f"{case}{kind}" for case in ("lower", "upper") for kind in ("alpha", "roman")}
)
_TAGS = frozenset(nh3.ALLOWED_TAGS) - {"area", "img", "map"} | {"tfoot"}
#: Removed with what they hold.
_UNSEEN = frozenset(
    re.findall(r"\w+", "script style iframe object embed svg math template noscript title head select textarea")
)
_ATTRIBUTES = {
    "*": {"data-line", "data-end", "id", "lang", "dir", "title"},
    "a": {"href", "target"},
    "ol": {"start", "reversed"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "details": {"open"},
}
_CLEANER = nh3.Cleaner(
    tags=set(_TAGS),
    clean_content_tags=set(_UNSEEN),
    attributes=_ATTRIBUTES,
    allowed_classes={tag: set(_CLASSES) for tag in _TAGS},
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener noreferrer",
    id_prefix="s-",
)


def clean(markup: str) -> Markup:
    """HTML of which only elements, attributes and classes remain that can do nothing; ids begin with `s-`."""
    return Markup(_CLEANER.clean(markup))


# -- documents


@dataclass(frozen=True, slots=True)
class View:
    """How a document is to be shown."""

    address: Callable[[str, str], str]  #: of a document and a section in it, on this page
    lines: tuple[int, int] | None = None  #: the passage to mark
    section: str = ""  #: the place to go to, as a link spells it
    words: Sequence[str] = ()  #: to mark in the passage


def document(answer: DocumentResponse, view: View) -> tuple[Markup, bool]:
    """A document's lines as HTML, and whether the wanted passage or section is in them, with the id `s-passage`."""
    text = visible(answer.content)
    headings = [Heading(one.level, one.text, one.line, 0) for one in answer.headings]
    form = form_of(answer.file_path, bool(headings), text)
    root = tree(form, text, answer.line_start, answer.headings)
    before = 0 if form in ("text", "code") else answer.line_start - 1
    _Finished(root, answer, headings, view, before, has_tasks=form == "markdown").finish()
    found = root.find(".//*[@id='passage']") is not None
    for tag in _AROUND:
        for element in root.iter(tag):
            element.set("dir", "auto")
    return clean(_inside(root)), found


_AROUND = ("ul", "ol", "dl", "table", "blockquote")  #: have markers or columns at the side where their text begins


def _raw(form: Form, text: str, first_line: int, headings: Sequence[HeadingItem]) -> str:
    if form == "markdown":
        return markdown.markdown(text)
    if form == "written":
        return markdown.written(text)
    if form == "restructured":
        from . import restructured  # docutils, which takes as long to import as the rest of the page

        return restructured.restructured(text)
    if form == "asciidoc":
        return asciidoc.asciidoc(text)
    return plain(text, first_line, headings, is_code=form == "code")


MOST_LINES = 40  #: of one block of plain text: a passage inside a wall of text is still found by its place
_UNDERLINE = re.compile(r"([=\-~^\"'*+#`:.])\1{2,}\s*$")


def plain(text: str, first_line: int, headings: Sequence[HeadingItem], *, is_code: bool) -> str:
    """Text as it is, its headings as headings."""
    titles = {} if is_code else {one.line: one for one in headings}
    made: list[str] = []
    block: list[str] = []
    number = first_line

    def flush() -> None:
        if any(line.strip() for line in block):
            lines = f'data-line="{number - len(block)}" data-end="{number - 1}"'
            kind = "code-lines" if is_code else "prose"
            body = escape("\n".join(block).rstrip())
            made.append(f'<pre class="{kind}" {lines}>{body}</pre>')
        block.clear()

    for number, line in enumerate(text.split("\n"), first_line):
        if number in titles:
            flush()
            title = titles[number]
            level = min(title.level, 6)
            made.append(f'<h{level} data-line="{number}" data-end="{number}">{escape(title.text)}</h{level}>')
            continue
        if number - 1 in titles and not block and _UNDERLINE.match(line):
            continue
        if len(block) >= MOST_LINES or (not line.strip() and not is_code):
            flush()
            if not line.strip():
                continue
        block.append(line)
    number += 1
    flush()
    return "\n".join(made)


def words(text: str, wanted: Sequence[str] = (), *, links: bool = True) -> Markup:
    """Plain text: its web addresses as links, the wanted words marked."""
    root = html.Element("div")
    root.text = visible(text)
    if links:
        _link_addresses(root)
    if pattern := _pattern(wanted):
        _mark(root, pattern)
    return clean(_inside(root))


# -- the tree of a document


def tree(form: Form, text: str, first_line: int = 1, headings: Sequence[HeadingItem] = ()) -> Any:
    """A text as elements below one. What it was written with may be anything."""
    markup = _raw(form, text, first_line, headings)
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=False)
    root = html.fromstring(f"<div>{markup}</div>".encode(), parser=parser)
    for element in list(root.iter(*_UNSEEN)):
        element.drop_tree()
    return root


def _inside(root: Any) -> str:
    """What a `div` without attributes holds."""
    text: str = html.tostring(root, encoding="unicode")
    return text.removeprefix("<div>").removesuffix("</div>")


_BOXES = frozenset({"section", "aside", "article", "main", "header", "footer", "nav", "center", "form", "fieldset"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_OWN_ID = re.compile(r"\s*\{:?\s*#([\w.-]+)[^{}]*\}\s*$")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}*_]")
_LINES = re.compile(r"L(\d+)(?:-L?(\d+))?$")
_TASK = re.compile(r"\s*\[([ xX])\]\s")


class _Finished:
    """Makes a rendered document a part of this page, in place. `before` is added to the numbers of its lines."""

    def __init__(
        self,
        root: Any,
        answer: DocumentResponse,
        headings: Sequence[Heading],
        view: View,
        before: int,
        *,
        has_tasks: bool,
    ) -> None:
        self._root, self._path, self._view, self._before = root, answer.file_path, view, before
        self._first_line, self._last_line, self._has_tasks = answer.line_start, answer.line_end, has_tasks
        self._anchors = {one.line: name for one, name in zip(headings, anchors(headings), strict=True)}

    def finish(self) -> None:
        self._number()
        for element in list(self._root.iter()):
            if not isinstance(element.tag, str):
                continue
            if element.tag in _BOXES:
                element.tag = "div"
            if element.tag in _HEADINGS:
                self._heading(element)
            elif element.tag == "a":
                self._link(element)
            elif element.tag == "img":
                self._picture(element)
            elif element.tag == "table":
                self._table(element)
            elif self._has_tasks and element.tag == "li" and (task := _TASK.match(element.text or "")):
                element.text = ("☑ " if task[1] != " " else "☐ ") + element.text[task.end() :]
        _link_addresses(self._root)
        target = self._go_to_section() if self._view.section else self._mark_passage()
        if target is not None:
            _name(target, "passage")

    def _number(self) -> None:
        """Number the lines of blocks as in the file; a block without an end ends before the next one."""
        for box in self._root.iterdescendants("tr", "div", "aside"):
            inner = box.find(".//*[@data-line]")
            if box.get("data-line") is None and inner is not None:
                box.set("data-line", inner.get("data-line"))
        open_: list[Any] = []
        ids: set[str] = set()
        for element in self._root.iter():
            if name := element.get("id"):
                if name in ids:
                    del element.attrib["id"]
                ids.add(name)
            if (line := element.get("data-line")) is None:
                continue
            first = int(line) + self._before if line.isdecimal() else self._before + 1
            above = set(element.iterancestors()) if open_ else set()
            while open_ and open_[-1] not in above:
                _end(open_.pop(), first - 1)
            element.set("data-line", str(first))
            if (end := element.get("data-end")) is None:
                open_.append(element)
            else:
                element.set("data-end", str(int(end) + self._before if end.isdecimal() else first))
        for element in open_:
            _end(element, self._last_line)
        self._ids = ids

    def _heading(self, element: Any) -> None:
        level = int(element.tag[1])
        element.tag = f"h{min(6, level + 2)}"  # the page's name and the document's title stand above them
        element.set("class", f"title-{level}")
        holder, where = (element[-1], "tail") if len(element) else (element, "text")
        text = getattr(holder, where) or ""
        if own := _OWN_ID.search(text):
            setattr(holder, where, text[: own.start()])
            if own[1] not in self._ids:
                element.set("id", own[1])
                self._ids.add(own[1])
        name = self._anchors.get(int(element.get("data-line") or 0))
        if not name or name in self._ids:
            return
        if element.get("id"):
            _begin_with_anchor(element, name)
        else:
            element.set("id", name)

    def _link(self, element: Any) -> None:
        if (name := element.get("name")) and not element.get("id") and name not in self._ids:
            element.set("id", name)
            self._ids.add(name)
        target = element.attrib.pop("href", None)
        for other in ("target", "class"):
            element.attrib.pop(other, None)
        if target is None:
            element.tag = "span"
            return
        target = re.sub(r"[\x00-\x20]+", "" if _SCHEME.match(target.strip()) else " ", target.strip())
        if re.match(r"(?:https?|mailto):", target, re.IGNORECASE):
            element.set("href", target)
            element.set("target", "_blank")
            element.set("class", "outer")
        elif address := self._inside(target):
            element.set("href", address)
            element.set("class", "inner")
        else:
            element.tag = "span"
            element.set("class", "dead")

    def _inside(self, target: str) -> str:
        """The address on this page of a link to another document or to a place in this one; empty where it is none."""
        if _SCHEME.match(target) or target.startswith("//"):
            return ""
        try:
            parts = urlsplit(target)
        except ValueError:
            return ""
        path, section = unquote(parts.path), unquote(parts.fragment)
        if not path:
            return self._view.address(self._path, section) if section else ""
        if not path.startswith("/"):
            joined = posixpath.join(posixpath.dirname(self._path), path)
            of_site = path.startswith("../") and path.endswith("/")  # perhaps relative to the page as a folder
            path = posixpath.normpath(joined)
            if of_site and not path.startswith(".."):
                return self._view.address(joined, section)
        if ".." in path.split("/"):
            return ""
        return self._view.address(path, section)

    def _picture(self, element: Any) -> None:
        """Pictures are named, not loaded."""
        name = element.get("alt") or posixpath.basename((element.get("src") or "").split("?")[0]) or "picture"
        tail, identity = element.tail, element.get("id")
        element.clear()
        element.tag, element.text, element.tail = "span", name, tail
        element.set("class", "picture")
        if identity:
            element.set("id", identity)

    def _table(self, element: Any) -> None:
        """A table that is too wide scrolls by itself."""
        parent = element.getparent()
        if parent is None or parent.get("class") == "table":
            return
        box = html.Element("div", {"class": "table"})
        for name in ("data-line", "data-end"):
            if value := element.attrib.pop(name, None):
                box.set(name, value)
        box.tail, element.tail = element.tail, None
        parent.replace(element, box)
        box.append(element)

    # -- the passage

    def _go_to_section(self) -> Any:
        """The element that a link names: by an id, a heading's anchor, loosely, or by lines (L10-L20)."""
        if lines := _LINES.match(self._view.section):
            return self._block_at(int(lines[1]))
        wanted = {_loosely(self._view.section), _loosely(anchor(self._view.section))}
        return next((one for one in self._root.iterfind(".//*[@id]") if _loosely(one.get("id")) in wanted), None)

    def _blocks(self) -> list[Any]:
        """The outermost elements that have lines."""
        return _outermost(self._root.iterfind(".//*[@data-line]"))

    def _block_at(self, line: int) -> Any:
        if not self._first_line <= line <= self._last_line:
            return None
        blocks = self._blocks()
        before = [element for element in blocks if _first(element) <= line]
        return before[-1] if before else next(iter(blocks), None)

    def _mark_passage(self) -> Any:
        """Mark what lies in the wanted lines; returns the first of it."""
        if self._view.lines is None:
            return None
        first, last = self._view.lines
        chosen = [
            part
            for element in self._blocks()
            if _first(element) <= last and _last(element) >= first
            for part in _within(element, first, last)
        ]
        if not chosen and (near := self._block_at(first)) is not None:
            return near
        pattern = _pattern(self._view.words)
        for element in chosen:
            element.set("class", f"{element.get('class', '')} chosen".strip())
            if element.tag == "details":
                element.set("open", "")
            if pattern:
                _mark(element, pattern)
        return chosen[0] if chosen else None


def _loosely(name: str) -> str:
    return re.sub(r"[-_]+", "-", name.lower())


def _first(element: Any) -> int:
    return int(element.get("data-line") or 0)


def _last(element: Any) -> int:
    return int(element.get("data-end") or 0)


def _end(element: Any, line: int) -> None:
    """Say where a block ends that doesn't say so itself; `data-guessed` is gone once it is cleaned."""
    element.set("data-end", str(max(_first(element), line)))
    element.set("data-guessed", "")


def _outermost(elements: Iterable[Any]) -> list[Any]:
    found = list(elements)
    among = set(found)
    return [one for one in found if among.isdisjoint(one.iterancestors())]


def _within(element: Any, first: int, last: int) -> Iterator[Any]:
    """What of a block lies in the lines: all of it, or of a long list or table the items or rows."""
    is_small = element.tag in ("tr", "li", "dt", "dd", "p") and element.get("data-guessed") is not None
    if first <= _first(element) and (is_small or _last(element) <= last):
        yield element
        return
    inner = [one for one in element.iterfind(".//*[@data-line]") if _first(one) <= last and _last(one) >= first]
    if not inner:
        yield element
    for one in _outermost(inner):
        yield from _within(one, first, last)


def _name(element: Any, identity: str) -> None:
    """Give an element an id; one that it has goes to a new element in it."""
    if (old := element.get("id")) and element.tag not in ("tr", "table", "tbody", "thead", "ul", "ol", "dl"):
        _begin_with_anchor(element, old)
    element.set("id", identity)


def _begin_with_anchor(element: Any, name: str) -> None:
    place = html.Element("span", {"id": name, "class": "anchor"})
    place.tail, element.text = element.text, None
    element.insert(0, place)


# -- text in the tree

_UNPARTED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
)  #: scripts without blanks between words


def words_of(question: str) -> list[str]:
    """What may be marked of a question.

    >>> words_of("How do I rotate a token?")
    ['how', 'rotate', 'token']
    """
    parts = re.split(r"[^\w.-]+", question.lower())
    return [part for part in parts if len(part) > (1 if _UNPARTED.search(part) else 2)]


def _pattern(wanted: Sequence[str]) -> re.Pattern[str] | None:
    """Finds whole words, the longest first."""
    found = sorted({word for word in wanted if len(word.strip()) > 1}, key=len, reverse=True)[:60]
    if not found:
        return None
    parts = [re.escape(word) if _UNPARTED.search(word) else rf"(?<!\w){re.escape(word)}(?!\w)" for word in found]
    return re.compile("|".join(parts), re.IGNORECASE)


def _mark(root: Any, pattern: re.Pattern[str]) -> None:
    _replace(root, pattern, lambda found: html.Element("mark"))


def _link_addresses(root: Any) -> None:
    """Make links of web addresses that stand in the text."""
    made = {"target": "_blank", "class": "outer"}
    outside = "[not(ancestor::a or ancestor::code or ancestor::pre)]"
    _replace(root, _WEB_ADDRESS, lambda found: html.Element("a", {"href": found[0], **made}), outside)


def _replace(root: Any, pattern: re.Pattern[str], made: Callable[[re.Match[str]], Any], where: str = "") -> None:
    """Put each match in the texts below `root` into a new element."""
    for text in root.xpath(f".//text(){where}"):
        matches = list(pattern.finditer(text))
        if not matches:
            continue
        owner, before = text.getparent(), text[: matches[0].start()]
        elements = [made(found) for found in matches]
        for element, found, following in zip(elements, matches, [*matches[1:], None], strict=True):
            element.text, element.tail = found[0], text[found.end() : following.start() if following else None]
        if text.is_tail:
            owner.tail = before
            parent = owner.getparent()
            place = parent.index(owner) + 1
            parent[place:place] = elements
        else:
            owner.text = before
            owner[0:0] = elements
