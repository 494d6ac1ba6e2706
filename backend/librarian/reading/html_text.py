"""HTML to plain text, for mails without a text part. Simple on purpose: blocks become lines, markup goes."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "head", "title", "template", "noscript"})
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "fieldset",
        "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
        "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tbody", "tfoot",
        "thead", "tr", "ul",
    }
)  # fmt: skip
_PARAGRAPHS = frozenset({"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"})
_SPACES = re.compile(r"[ \t\r\n\f\xa0]+")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def html_to_text(markup: str) -> str:
    """The visible words of `markup`. Lines of a `<blockquote>` begin with `> `, as quotes do in plain mails."""
    converter = _Converter()
    converter.feed(markup)
    converter.close()
    return converter.text()


class _Converter(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = [""]
        self._silent = 0
        self._quotes = 0
        self._preformatted = 0

    def text(self) -> str:
        lines = (line.rstrip() if line.strip(" >") else "" for line in self._lines)
        return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag == "blockquote":
            self._break(2)
            self._quotes += 1
            self._lines[-1] = self._margin()
        elif tag == "br":
            self._lines.append(self._margin())
        elif tag in _BLOCKS:
            self._break(2 if tag in _PARAGRAPHS else 1)
            if tag == "li":
                self._lines[-1] += "- "
            self._preformatted += tag == "pre"
        elif tag in ("td", "th") and self._lines[-1].strip():
            self._lines[-1] += " | "
        elif tag == "img":
            words = dict(attrs).get("alt")
            if words:
                self.handle_data(words)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "blockquote":
            self._quotes = max(0, self._quotes - 1)
            self._break(2)
        elif tag in _BLOCKS:
            self._preformatted = max(0, self._preformatted - (tag == "pre"))
            self._break(2 if tag in _PARAGRAPHS else 1)

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if self._preformatted:
            first, *others = data.split("\n")
            self._lines[-1] += first
            for line in others:
                self._lines.append(self._margin() + line)
            return
        words = _SPACES.sub(" ", data)
        line = self._lines[-1]
        if not line or line == self._margin() or line.endswith(" "):
            words = words.lstrip(" ")
        self._lines[-1] += words

    def _margin(self) -> str:
        return "> " * min(self._quotes, 10)

    def _break(self, lines: int) -> None:
        if self._silent:
            return
        if self._lines[-1].strip(" >"):
            self._lines.append(self._margin())
        if lines == 2 and len(self._lines) > 1 and self._lines[-2].strip(" >"):
            self._lines.append(self._margin())
