"""HTML mails as plain text: paragraphs, lists and tables kept, quotes marked with `> ` as plain mails mark them."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree
from lxml import html as lxml_html

_SILENT = frozenset({"script", "style", "head", "title", "template", "noscript", "meta", "link", "object", "svg"})
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "body", "center", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure",
        "caption", "footer", "form", "header", "html", "main", "nav", "section", "tbody", "td", "tfoot", "th", "thead",
        "tr",
    }
)  # fmt: skip
_PARAGRAPHS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "ul", "ol", "table", "blockquote", "hr"})
_SPACES = re.compile(r"[ \t\r\n\f\xa0]+")
_DEEPEST = 300  #: nesting below this depth is read without its markup
_DEEPEST_QUOTE = 10
_CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f]")


def html_to_text(markup: str) -> str:
    """The visible words of `markup`. Never raises: what can't be parsed is returned without its tags."""
    if not markup.strip():
        return ""
    try:
        parser = lxml_html.HTMLParser(huge_tree=False, remove_comments=True, remove_pis=True, encoding="utf-8")
        data = _CONTROLS.sub("", markup).encode("utf-8", "replace")
        root = lxml_html.document_fromstring(data, parser=parser)
    except (etree.LxmlError, ValueError, AssertionError, TypeError):
        return _SPACES.sub(" ", re.sub(r"<[^>]{0,2000}>", " ", markup)).strip()
    writer = _Writer()
    writer.element(root, 0)
    return writer.text()


class _Writer:
    """Lines being written; each carries the quote marks of its depth."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str]] = []
        self._line = ""
        self._quotes = 0
        self._preformatted = False

    def text(self) -> str:
        """What was written, with single blank lines."""
        self._end_line()
        found: list[str] = []
        for quotes, line in self._lines:
            margin = "> " * min(quotes, _DEEPEST_QUOTE)
            line = (margin + line).rstrip()
            if not line.strip(" >"):
                line = ""
            if line or (found and found[-1]):
                found.append(line)
        return "\n".join(found).strip("\n")

    def element(self, node: Any, depth: int) -> None:
        """An element with all that is in it."""
        if not isinstance(node.tag, str):
            return
        tag = node.tag.rsplit("}", 1)[-1].rsplit(":", 1)[-1].lower()  # empty where an address stands in angle brackets
        if tag in _SILENT or _is_hidden(node):
            return
        if depth > _DEEPEST:
            self._words("".join(node.itertext()))
        elif tag == "br":
            self._end_line(keep_blank=True)
        elif tag == "img":
            self._words(node.get("alt") or "")
        elif tag == "table":
            self._table(node, depth)
        elif tag in ("ul", "ol"):
            self._list(node, tag == "ol", depth)
        elif tag == "blockquote":
            self._apart()
            self._quotes += 1
            self._inside(node, depth)
            self._apart()
            self._quotes -= 1
        elif tag == "hr":
            self._apart()
            self._line = "_" * 20
            self._apart()
        elif tag in _PARAGRAPHS or tag in _BLOCKS:
            self._block(node, tag, depth)
        else:
            self._inside(node, depth)

    def _inside(self, node: Any, depth: int) -> None:
        self._words(node.text or "")
        for child in node:
            self.element(child, depth + 1)
            self._words(child.tail or "")

    def _block(self, node: Any, tag: str, depth: int) -> None:
        apart = tag in _PARAGRAPHS
        self._apart() if apart else self._end_line()
        before, self._preformatted = self._preformatted, self._preformatted or tag == "pre"
        self._inside(node, depth)
        self._preformatted = before
        self._apart() if apart else self._end_line()

    def _list(self, node: Any, ordered: bool, depth: int) -> None:
        nested = any(True for one in node.iterancestors("li"))
        self._end_line() if nested else self._apart()
        indent = "  " * sum(1 for _ in node.iterancestors("ul", "ol"))
        number = 0
        for child in node:
            if child.tag == "li":
                number += 1
                self._end_line()
                self._line = f"{indent}{number}. " if ordered else f"{indent}- "
                self._inside(child, depth + 1)
                self._end_line()
            else:
                self.element(child, depth + 1)
            self._words(child.tail or "")
        self._end_line() if nested else self._apart()

    def _table(self, node: Any, depth: int) -> None:
        """Rows as `| a | b |`; a table that only lays out the page is read as blocks."""
        rows = [row for row in node.iter("tr") if next(row.iterancestors("table"), None) is node]
        cells = [[cell for cell in row if cell.tag in ("td", "th")] for row in rows]
        is_data = max((len(row) for row in cells), default=0) > 1 and not any(
            next(cell.iter("table", "ul", "ol", "blockquote", "pre", "hr"), None) is not None
            or sum(1 for _ in cell.iter("p", "div")) > 3
            for row in cells
            for cell in row
        )
        self._apart()
        if not is_data or any(map(_has_strays, rows)):
            self._inside(node, depth)
        else:
            for caption in node.iterchildren("caption"):
                self.element(caption, depth + 1)
            for row in cells:
                words = [_SPACES.sub(" ", _plain(cell)).strip().replace("|", "\\|") for cell in row]
                if any(words):
                    self._end_line()
                    self._line = f"| {' | '.join(words)} |"
                    self._end_line()
        self._apart()

    def _words(self, words: str) -> None:
        if not words:
            return
        if self._preformatted:
            first, *others = words.replace("\r\n", "\n").split("\n")
            self._line += first
            for line in others:
                self._end_line(keep_blank=True)
                self._line = line
            return
        words = _SPACES.sub(" ", words)
        if not self._line or self._line.endswith(" "):
            words = words.lstrip(" ")
        self._line += words

    def _end_line(self, *, keep_blank: bool = False) -> None:
        if self._line.strip() or keep_blank:
            self._lines.append((self._quotes, self._line.rstrip()))
        self._line = ""

    def _apart(self) -> None:
        """End the line and leave a blank one."""
        self._end_line()
        if self._lines and self._lines[-1][1]:
            self._lines.append((self._quotes, ""))


def _plain(cell: Any) -> str:
    """A cell's words, lines of it parted by spaces."""
    pieces: list[str] = []
    for one in cell.iter():
        if isinstance(one.tag, str) and one.tag not in _SILENT:
            if one.tag in ("br", "p", "div"):
                pieces.append(" ")
            if one.tag == "img":
                pieces.append(one.get("alt") or "")
            pieces.append(one.text or "")
        if one is not cell:
            pieces.append(one.tail or "")
    return "".join(pieces)


def _has_strays(row: Any) -> bool:
    """Whether a row holds words or elements beside its cells, which no browser hides."""
    if (row.text or "").strip():
        return True
    return any((child.tail or "").strip() or child.tag not in ("td", "th") for child in row)


def _is_hidden(node: Any) -> bool:
    style = (node.get("style") or "").replace(" ", "").lower()
    return "display:none" in style or "mso-hide:all" in style
