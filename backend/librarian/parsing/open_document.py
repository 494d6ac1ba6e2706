"""OpenDocument texts: `.odt` (and `.ott`), as LibreOffice writes them, read by way of HTML."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from ..models import Document, SourceFile
from .document_builder import DocumentBuilder
from .html import HtmlPage, html_tree
from .metadata import parse_date
from .office_xml import attribute, child, children, local, whole
from .zip_package import opened

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Tables of contents and indexes repeat what the text says; a bibliography doesn't.
_LEFT_OUT = frozenset(
    ("sequence-decls", "tracked-changes", "table-of-content", "illustration-index", "table-index", "object-index",
     "user-index", "alphabetical-index", "index-title", "ruby-text", "object")
)  # fmt: skip
_TAGS = {
    "section": "div",
    "text-box": "div",
    "table": "table",
    "table-row": "tr",
    "list-item": "li",
    "list-header": "div",
}
_MANIFEST = "META-INF/manifest.xml"
_BETWEEN_LINES = re.compile(r"</pre>\s*<pre>")
_MAX_REPEATED = 64


class OpenDocumentParser:
    """Headings by outline level, lists, tables, footnotes and comments at the end; tracked changes as accepted."""

    extensions: tuple[str, ...] = (".odt", ".ott")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        title = modified = ""
        out = DocumentBuilder()
        with opened(data, source.file_path) as package:
            manifest = package.tree(_MANIFEST) if _MANIFEST in package else None
            if manifest is not None and next(manifest.iter("{*}encryption-data"), None) is not None:
                raise ValueError("it is locked with a password")
            roots = [package.tree(name) for name in ("styles.xml", "content.xml") if name in package or name[0] == "c"]
            _Text(roots).write(out)
            if "meta.xml" in package:
                meta = package.tree("meta.xml")
                title = next((t.text or "" for t in meta.iter("{*}title")), "")
                modified = next((t.text or "" for t in meta.iter("{*}date")), "")
        return out.document(source, title=title, modified=parse_date(modified))


class _Text:
    """Writes the text of a file; `roots` are its styles and its content."""

    def __init__(self, roots: list[_Element]) -> None:
        self._body = child(roots[-1], "body", "text")
        self._notes: list[str] = []
        self._comments: list[str] = []
        styles = {attribute(one, "name"): attribute(one, "parent-style-name") for one in roots[-1].iter("{*}style")}
        self._titles = {"Title", *(name for name, parent in styles.items() if parent in ("Title", "Heading"))}
        self._code = {"Preformatted_20_Text", *(name for name, parent in styles.items() if "Preformatted" in parent)}
        self._numbered = {
            (attribute(style, "name"), whole(attribute(level, "level"), 1) - 1): level
            for root in roots
            for style in root.iter("{*}list-style")
            for level in children(style, "list-level-style-number")
            if attribute(level, "num-format")
        }
        self._ended: dict[str | tuple[str, int], int] = {}  # last numbers, by a list's id and by style and depth

    def write(self, out: DocumentBuilder) -> None:
        if self._body is not None:
            root = html_tree(_BETWEEN_LINES.sub("\n", f"<body>{self._html(self._body)}</body>"))
            if root is not None:
                HtmlPage(out, strict=False).write(root)
        for number, words in enumerate(self._notes, start=1):
            out.paragraph(f"[{number}] {words}")
        for words in self._comments:
            out.paragraph(words)

    def _html(self, element: _Element) -> str:
        """An element as HTML."""
        name = local(element)
        if not name or name in _LEFT_OUT:
            return ""
        if name in ("s", "tab"):
            return " " * whole(attribute(element, "c"), 1, 200)
        if name == "line-break":
            return "<br>"
        if name == "note":
            self._notes.append(self._words(child(element, "note-body")))
            return f"[{len(self._notes)}]"
        if name == "annotation":
            author = "".join(one.text or "" for one in children(element, "creator"))
            self._comments.append(f"Comment{f' by {author}' if author else ''}: {self._words(element)}")
            return ""
        if name == "list":
            return self._list(element)
        inner = escape(element.text or "") + "".join(self._html(one) + escape(one.tail or "") for one in element)
        if name == "a":
            return f'<a href="{escape(attribute(element, "href"))}">{inner}</a>'
        if name in ("p", "h", "title", "desc"):
            return self._paragraph(element, name, inner)
        if name in ("table-cell", "covered-table-cell"):
            times = whole(attribute(element, "number-columns-repeated"), 1, _MAX_REPEATED)
            return f"<td>{inner}</td>" * times
        tag = _TAGS.get(name)
        return f"<{tag}>{inner}</{tag}>" if tag else inner

    def _paragraph(self, element: _Element, name: str, inner: str) -> str:
        above = element.getparent()
        outer = None if local(above) == "text-box" else next(element.iterancestors("{*}p", "{*}h"), None)
        if name not in ("p", "h") or outer is not None:
            return f" {inner} "  # of a shape that is drawn among the words
        style = attribute(element, "style-name")
        if name == "h" or (style in self._titles and local(above) != "table-cell"):
            level = min(6, whole(attribute(element, "outline-level"), 1)) if name == "h" else 1
            return f"<h{level}>{inner}</h{level}>"
        return f"<pre>{inner}</pre>" if style in self._code else f"<p>{inner}</p>"

    def _list(self, element: _Element) -> str:
        """A list with the numbers that it begins with or goes on with."""
        above = [element, *element.iterancestors("{*}list")]
        style = next(filter(None, (attribute(one, "style-name") for one in above)), "")
        level, key = self._numbered.get((style, len(above) - 1)), (style, len(above) - 1)
        begun = whole(attribute(level, "start-value"), 1) - 1
        begun = self._ended.get(key, begun) if attribute(element, "continue-numbering") == "true" else begun
        begun = self._ended.get(attribute(element, "continue-list"), begun)
        items = list(children(element, "list-item"))
        self._ended[key] = self._ended[attribute(element, "id") or key] = begun + len(items)
        inner = "".join(map(self._html, element))
        return f"<ul>{inner}</ul>" if level is None else f'<ol start="{begun + 1}">{inner}</ol>'

    def _words(self, element: _Element | None) -> str:
        """The paragraphs of a note as one line."""
        found = () if element is None else element.iter("{*}p", "{*}h")
        return " ".join(" ".join("".join(one.itertext()).split()) for one in found)
