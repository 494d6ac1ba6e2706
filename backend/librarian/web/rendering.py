"""Documents as safe HTML: rendered by their format, links led to this page, a passage and its words marked, cleaned."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

import nh3
from lxml import html
from markupsafe import Markup, escape

from ..documents.addresses import anchor as anchor
from ..documents.addresses import anchors, lines_at
from ..models import Heading
from ..schemas import DocumentResponse, EmailResult, HeadingItem, Result
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
    {"front", "code", "admonition", "admonition-title", "picture", "dead", "chosen", "table", "prose", "code-lines"}
    | {"anchor", "footnote", "classifier", "object", "fields", "quiet", "inner", "outer"}
    | {f"title-{level}" for level in range(1, 7)}
    | {f"{case}{kind}" for case in ("lower", "upper") for kind in ("alpha", "roman")}
)
_TAGS = frozenset(nh3.ALLOWED_TAGS) - {"area", "img", "map"} | {"tfoot"}
#: Removed with what they hold.
_UNSEEN = frozenset(
    re.findall(r"\w+", "script style iframe object embed svg math template noscript title head select textarea")
)
_ATTRIBUTES = {
    "*": {"data-line", "id", "lang", "dir", "title"},
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
)


def _cleaned(root: Any) -> Markup:
    """What a bare `div` holds, of which only elements, attributes and classes remain that can do nothing."""
    text: str = html.tostring(root, encoding="unicode")
    return Markup(_CLEANER.clean(text.removeprefix("<div>").removesuffix("</div>")))


# -- documents


def document(
    answer: DocumentResponse,
    address: Callable[[str, str], str],
    lines: tuple[int, int] | None = None,
    section: str = "",
    words: Sequence[str] = (),
) -> tuple[Markup, bool]:
    """A document's lines as HTML, and whether the wanted lines or section are in them, with the id `s-passage`.

    `address` is that of a document and a section in it on this page; `words` are marked in the lines.
    """
    text = visible(answer.content)
    form = form_of(answer.file_path, bool(answer.headings), text)
    titles = {} if form == "code" else {one.line - answer.line_start + 1: one for one in answer.headings}
    root = tree(form, text, titles)
    page = _Page(root, answer, address)
    page.finish()
    named = lines_at(section) or (None if section else lines)
    target = page.passage(*named, words) if named else page.place(section)
    if target is not None:
        target.set("id", "s-passage")
    return _cleaned(root), target is not None


def tree(form: Form, text: str, titles: Mapping[int, HeadingItem] = MappingProxyType({})) -> Any:
    """A text as elements below one, which say in `data-line` where they begin. It may hold anything."""
    if form == "restructured":
        from .restructured import restructured  # docutils, which takes as long to import as the rest of the page

        markup = restructured(text)
    elif form in ("text", "code"):
        markup = plain(text, titles, "code-lines" if form == "code" else "prose")
    else:
        markup = {"markdown": markdown.markdown, "written": markdown.written, "asciidoc": asciidoc.asciidoc}[form](text)
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=False)
    root = html.fromstring(f"<div>{markup}</div>".encode(), parser=parser)
    for element in list(root.iter(*_UNSEEN)):
        element.drop_tree()
    return root


_UNDERLINE = re.compile(r"([=\-~^\"'*+#`:.])\1{2,}\s*$")


def plain(text: str, titles: Mapping[int, HeadingItem], kind: str) -> str:
    """Text line by line as it is, its headings as headings; `titles` by their lines, counted from 1."""
    made = ""
    for number, line in enumerate(text.split("\n"), 1):
        if title := titles.get(number):
            level = min(title.level, 6)
            made += f'</pre><h{level} data-line="{number}">{escape(title.text)}</h{level}><pre class="{kind}">'
        elif number - 1 not in titles or not _UNDERLINE.match(line):
            made += f'<span data-line="{number}">{escape(line)}\n</span>'
    return f'<pre class="{kind}">{made}</pre>'


def words(text: str, wanted: Sequence[str] = (), *, links: bool = True) -> Markup:
    """Plain text: its web addresses as links, the wanted words marked."""
    root = html.Element("div")
    root.text = visible(text)
    if links:
        _replace(root, _WEB_ADDRESS, "a")
    _replace(root, _pattern(wanted), "mark")
    return _cleaned(root)


_BOXES = ("aside", "article", "main", "header", "footer", "nav", "center", "form", "fieldset")
_AROUND = ("ul", "ol", "dl", "table", "blockquote")  #: have markers or columns at the side where their text begins
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_OWN_ID = re.compile(r"\s*\{:?\s*#([\w.-]+)[^{}]*\}\s*$")
_WEB_ADDRESS = re.compile(r"(https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}*_])")


class _Page:
    """Makes a rendered document a part of this page, in place."""

    def __init__(self, root: Any, answer: DocumentResponse, address: Callable[[str, str], str]) -> None:
        self._root, self._answer, self._address = root, answer, address
        headings = [Heading(one.level, one.text, one.line, 0) for one in answer.headings]
        self._anchors = {one.line: name for one, name in zip(headings, anchors(headings), strict=True)}
        self._places: dict[str, Any] = {}  #: elements by the names that links may use

    def finish(self) -> None:
        """Make each element what it is on this page. Names of a document don't get into the page."""
        for section in list(self._root.iter("section")):
            if len(section):
                self._named(section[0], section.get("id", ""))
            section.drop_tag()
        for element in list(self._root.iterdescendants()):
            for code in element.iterchildren("code") if element.tag == "pre" else ():
                element.attrib.update(code.attrib)
                code.attrib.clear()
            if (line := element.attrib.pop("data-line", "")).isdecimal():
                above = next((_line(one) for one in element.iterancestors() if "data-line" in one.attrib), 0)
                element.set("data-line", str(max(above, int(line[:9]) + self._answer.line_start - 1)))
            self._named(element, element.attrib.pop("id", ""))
            if element.tag in _BOXES:
                element.tag = "div"
            elif element.tag in _HEADINGS:
                self._heading(element)
            elif element.tag == "a":
                self._link(element)
            elif element.tag == "img":
                self._picture(element)
            elif element.tag == "pre" and not element.get("class", "").endswith(("prose", "lines")):
                self._code(element)
            elif element.tag in _AROUND:
                element.set("dir", "auto")
            if element.tag == "table":
                _wrap(element, "div", "table")
        for box in self._root.iterdescendants("tr", "div", "figure"):
            inner = box.find(".//*[@data-line]")
            if "data-line" not in box.attrib and inner is not None:
                box.set("data-line", inner.get("data-line"))
        _replace(self._root, _WEB_ADDRESS, "a", "[not(ancestor::a or ancestor::code or ancestor::pre)]")

    def _named(self, element: Any, name: str) -> None:
        if name:
            self._places.setdefault(_loosely(name), element)

    def _heading(self, element: Any) -> None:
        level = int(element.tag[1])
        element.tag = f"h{min(6, level + 2)}"  # the page's name and the document's title stand above them
        element.set("class", f"title-{level}")
        holder, where = (element[-1], "tail") if len(element) else (element, "text")
        if own := _OWN_ID.search(getattr(holder, where) or ""):
            setattr(holder, where, own.string[: own.start()])
            self._named(element, own[1])
        self._named(element, self._anchors.get(_line(element), ""))

    def _link(self, element: Any) -> None:
        self._named(element, element.get("name", ""))
        target = element.get("href", "").strip()
        address = self._inside(target)
        element.attrib.clear()
        if re.match(r"(?:https?|mailto):", target, re.IGNORECASE):
            element.attrib.update({"href": target, "target": "_blank", "class": "outer"})
        elif address:
            element.attrib.update({"href": address, "class": "inner"})
        else:
            element.tag = "span"
            if target:
                element.set("class", "dead")

    def _inside(self, target: str) -> str:
        """The address on this page of a link to another document or to a place in this one; empty where it is none."""
        try:
            parts = urlsplit(target)
        except ValueError:
            return ""
        path, section = unquote(parts.path), unquote(parts.fragment)
        if parts.scheme or parts.netloc:
            return ""
        if not path:
            return self._address(self._answer.file_path, section) if section else ""
        joined = posixpath.join(posixpath.dirname(self._answer.file_path), path)
        found = path if path.startswith("/") else posixpath.normpath(joined)
        if ".." in found.split("/"):
            return ""
        of_site = path.startswith("../") and path.endswith("/")  # perhaps relative to the page as a folder
        return self._address(joined if of_site else found, section)

    def _picture(self, element: Any) -> None:
        """Pictures are named, not loaded."""
        element.text = element.get("alt") or posixpath.basename(element.get("src", "").split("?")[0]) or "picture"
        element.tag = "span"
        element.set("class", "picture")

    def _code(self, element: Any) -> None:
        """Code below its caption or language."""
        caption = element.attrib.pop("title", "")
        box = _wrap(element, "figure", "code")
        if caption:
            box.insert(0, html.Element("figcaption"))
            box[0].text = caption

    # -- the passage

    def place(self, section: str) -> Any:
        """What a link names by an id or a heading, loosely."""
        names = map(_loosely, (section, anchor(section)))
        return next((self._places[one] for one in names if one in self._places), None)

    def passage(self, first: int, last: int, wanted: Sequence[str]) -> Any:
        """Mark what lies in some lines, of a long list or table the items or rows; returns the first of it."""
        if not self._answer.line_start <= first <= self._answer.line_end:
            return None
        lines = self._answer.content.split("\n")[first - self._answer.line_start : last - self._answer.line_start]
        first += next((place for place, line in enumerate(lines) if line.strip()), 0)
        blocks = self._root.findall(".//*[@data-line]")
        begins = [*map(_line, blocks), self._answer.line_end + 1]
        chosen: list[Any] = []
        for place, block in enumerate(blocks):
            inner = len(block.findall(".//*[@data-line]"))
            is_inside = first <= begins[place] and begins[place + inner] <= last
            is_across = not inner and begins[place] < first < begins[place + 1]
            if (is_inside or is_across) and set(block.iterancestors()).isdisjoint(chosen):
                chosen.append(block)
        chosen = chosen or [block for block in blocks if _line(block) <= first][-1:] or blocks[:1]
        pattern = _pattern(wanted)
        for element in chosen:
            element.set("class", f"{element.get('class', '')} chosen".strip())
            for box in element.xpath("ancestor-or-self::details"):
                box.set("open", "")
            _replace(element, pattern, "mark")
        return next(iter(chosen), None)


def _loosely(name: str) -> str:
    return re.sub(r"[-_]+", "-", name.lower())


def _line(element: Any) -> int:
    return int(element.get("data-line", 0))


def _wrap(element: Any, tag: str, kind: str) -> Any:
    """Put an element into a new one."""
    box = html.Element(tag, {"class": kind})
    box.tail, element.tail = element.tail, None
    element.getparent().replace(element, box)
    box.append(element)
    return box


# -- text in the tree

#: Scripts without blanks between words.
_UNPARTED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def _pattern(wanted: Sequence[str]) -> re.Pattern[str]:
    """Finds whole words, the longest first."""
    found = sorted({word for word in wanted if len(word.strip()) > 1}, key=len, reverse=True)[:60]
    parts = [re.escape(word) if _UNPARTED.search(word) else rf"(?<!\w){re.escape(word)}(?!\w)" for word in found]
    return re.compile(f"({'|'.join(parts) or '(?!)'})", re.IGNORECASE)


def _replace(root: Any, pattern: re.Pattern[str], tag: str, where: str = "") -> None:
    """Put what the pattern's group finds in the texts below `root` into elements, as links if these are `a`."""
    for text in root.xpath(f".//text(){where}"):
        before, *parts = pattern.split(text)
        made = []
        for found, behind in zip(parts[::2], parts[1::2], strict=True):
            made.append(html.Element(tag, {"href": found, "target": "_blank", "class": "outer"} if tag == "a" else {}))
            made[-1].text, made[-1].tail = found, behind
        owner, place = text.getparent(), 0
        if text.is_tail:
            owner.tail = before
            owner, place = owner.getparent(), owner.getparent().index(owner) + 1
        else:
            owner.text = before
        owner[place:place] = made


# -- snippets

#: Lines of reStructuredText that no reader sees: directives, options and rules.
_RST_UNSEEN = re.compile(r"\s*(?:\.\. [\w:|-]+.*|:[\w-]+:(?: .*)?|[-=+~^\"'#* ]{3,})$")
_REFERENCE = re.compile(
    r"(?::[a-z][\w+.:-]{0,40}:)?(?<!`)`~?([^`<>]{1,300}?)(?:\s*<[^<>`]{1,300}>)?`(?!`)(?:__?(?!\w))?"
)
_QUOTED = re.compile(r"``(.{1,300}?)``|\*\*?(?=\S)(.{1,300}?)(?<=\S)\*\*?")


def snippet(result: Result) -> Markup:
    """A result's snippet as HTML."""
    heading = result.heading_path[-1] if result.heading_path else result.title
    form: Form = "text"
    if not isinstance(result, EmailResult):
        form = form_of(result.file_path, bool(result.heading_path))
    text = visible(result.snippet)
    if form == "restructured":
        lines = [line for line in text.split("\n") if not _RST_UNSEEN.match(line)]
        text = "\n".join(lines[1:] if lines and lines[0].strip() == heading.strip() else lines)
        text = _QUOTED.sub(r"\1\2", _REFERENCE.sub(r"\1", text))
    elif form not in ("code", "text"):
        text = _flat(tree(form, text), heading.strip())
    return words(" ".join(text.split()), marked_words([result]), links=False)


def marked_words(results: Sequence[Result]) -> list[str]:
    """The words that snippets have marked, in lower case."""
    return list({one.snippet[start:end].lower() for one in results for start, end in one.highlights})


def _flat(root: Any, heading: str) -> str:
    """The words of a rendered snippet without the heading that stands above it anyway."""
    for place, title in enumerate(list(root.iter(*_HEADINGS))):
        if place == 0 and title.text_content().strip() == heading:
            title.drop_tree()
        else:
            title.tail = f": {title.tail or ''}"
    for item in root.iter("li"):
        item.text = f"• {item.text or ''}"
    for table in root.iter("table"):
        names = [name.text_content().strip() for name in table.iterfind("thead/tr/th")]
        for row in list(table.iter("tr")):
            cells = [" ".join(cell.text_content().split()) for cell in row]
            named = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell]
            text = " · ".join(named or filter(None, cells))
            is_head = row.getparent().tag == "thead"
            row.clear(keep_tail=True)
            row.text = "" if is_head else text if text.endswith((".", "…", "!", "?")) else f"{text}."
    words: str = root.text_content()
    return words
