"""HTML mails as plain text: paragraphs, lists and tables kept, quotes marked with `> ` as plain mails mark them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..document_builder import DocumentBuilder, Target
from ..html import HtmlPage, html_tree

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Elements with a blank line above and below; all others stand on lines of their own at most.
_PARAGRAPHS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "ul", "ol", "table", "blockquote", "hr"})
_SPACES = re.compile(r"\s+")
_DEEPEST_QUOTE = 10
_CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f]")


def html_to_text(markup: str) -> str:
    """The visible words of `markup`."""
    lines = _Lines()
    _MailPage(lines).write(html_tree(_CONTROLS.sub(" ", markup)))
    return lines.text


class _Lines(DocumentBuilder):
    """Takes blocks as lines, each with the quote marks of its depth, and at most one blank line between two."""

    def __init__(self) -> None:
        super().__init__()
        self.quotes = 0
        self._written: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self._written).strip("\n")

    def line(self, words: str) -> None:
        line = f"{'> ' * min(self.quotes, _DEEPEST_QUOTE)}{words}".rstrip()
        line = line if line.strip(" >") else ""
        if line or (self._written and self._written[-1]):
            self._written.append(line)

    def heading(self, level: int, words: str, links: Iterable[Target] = ()) -> None:
        self.paragraph(words)

    def paragraph(self, words: str, links: Iterable[Target] = ()) -> None:
        for line in words.split("\n"):
            self.line(_SPACES.sub(" ", line).strip())

    quote = paragraph

    def item(self, words: str, depth: int = 0, mark: str = "-", links: Iterable[Target] = ()) -> None:
        lead = f"{'  ' * depth}{mark} "
        for line in words.split("\n"):
            self.line(f"{lead}{_SPACES.sub(' ', line).strip()}")
            lead = " " * len(lead)

    def fence(self, code: str, language: str = "") -> None:
        for line in code.strip("\n").split("\n"):
            self.line(line)

    def table(self, rows: Sequence[Sequence[str]], links: Iterable[Target] = ()) -> None:
        for row in rows:
            cells = [_SPACES.sub(" ", cell).strip().replace("|", "\\|") for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                self.line(f"| {' | '.join(cells)} |")


class _MailPage(HtmlPage):
    def __init__(self, lines: _Lines) -> None:
        super().__init__(lines, strict=False)
        self._text = lines

    def _start(self, element: _Element, name: str) -> bool:
        self._apart(name)
        is_written = super()._start(element, name)
        if name == "hr":
            self._text.line("_" * 20)
        if is_written:
            self._apart(name)
        self._text.quotes = self._quotes
        return is_written

    def _end(self, element: _Element, name: str) -> None:
        super()._end(element, name)
        self._apart(name)
        self._text.quotes = self._quotes

    def _flush(self) -> None:
        if "\n" in self._pieces and not "".join(self._pieces).strip():
            self._text.line("")  # a box that holds nothing but a line break
        super()._flush()

    def _apart(self, name: str) -> None:
        if name in _PARAGRAPHS and not self._flat and not (name in ("ul", "ol") and self._lists):
            self._flush()
            self._text.line("")

    def _write_fields(self, rows: Sequence[Sequence[str]]) -> None:
        self._text.table(rows)
