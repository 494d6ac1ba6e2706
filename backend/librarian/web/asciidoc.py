"""AsciiDoc to HTML: its blocks, as the parser finds them, written as Markdown. The result is not safe: clean it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count

from markupsafe import escape

from ..models import Block
from ..parsing.asciidoc import BLOCK_ATTRIBUTES, DELIMITER, blocks_of
from . import markdown

_TITLE = re.compile(r"(?:={1,6}|#{1,6})[ \t]+(\S.*?)[ \t=#]*$")
_BLOCK_TITLE = re.compile(r"\.([^\s.].*)$")
_ANCHOR = re.compile(r"\[(?:\[|#|[^\]]*#)([\w:-]+)")
_NOTE = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION)(?:: +|$)")
_ITEM = re.compile(r"[ \t]*([*-]{1,6}|\.{1,6}|\d{1,3}\.|<(?:\.|\d{1,3})>)[ \t]+(\S.*)$")
_TERM = re.compile(r"[ \t]*(?P<term>\S.{0,200}?)(:{2,4})(?:[ \t]+(.*))?$")
_MACRO = re.compile(r"(?:image|video|audio)::([^\[]*)\[(?:\"([^\"]*)\"|([^,\]]*)).*\]\s*$")
_INCLUDE = re.compile(r"include::([^\[]*)\[")
_CELL = re.compile(r"(?:(\d+)\*)?(?:(\d+)(?:\.\d+)?\+)?[<^>]?(?:\.[<^>])?([adehlmsv])?(?<!\\)\|")
_NAMED_TITLE = re.compile(r"^\[(?:\[|#)([\w:.-]+)[^\n]*\]\n=+[ \t]+(\S[^\n]*)", re.MULTILINE)
_FENCE = "`" * 12  #: longer than any mark that code holds


def asciidoc(text: str, first: int = 1) -> str:
    """HTML of AsciiDoc; blocks say in `data-line` and `data-end` which lines of `text` they are, counted from `first`.

    Attributes stand in the text already: the parser puts them in.
    """
    return _Page(text, first).html()


class _Page:
    def __init__(self, text: str, first: int) -> None:
        self._lines, self._first = text.split("\n"), first
        self._titles: dict[str, str] = dict(_NAMED_TITLE.findall(text))
        self._made: list[str] = []
        self._numbers: list[int] = []
        self._margin = ""  #: of what lies in a note, a quote or a list's item
        self._boxes: dict[str, str] = {}  #: delimiters that are open, and the margin around each
        self._items: list[tuple[str, str]] = []  #: kinds of the lists that are open, and the margin around each
        self._title, self._attributes = "", ""  #: what stands above the next block
        for block in blocks_of(text):
            at, last = text.count("\n", 0, block.start), text.count("\n", 0, block.end)
            self._add(block, at, last)

    def html(self) -> str:
        return markdown.markdown("\n".join(self._made), self._numbers)

    def _put(self, rows: Iterable[str], at: int, last: int, *, apart: bool = True) -> None:
        """Add lines of Markdown made of those from `at` to `last`; a block stands apart from the next."""
        for row, number in zip([*rows, ""] if apart else rows, count(at)):
            self._made.append(self._margin + row)
            self._numbers.append(self._first + min(number, last))

    # -- blocks

    def _add(self, block: Block, at: int, last: int) -> None:
        lines, kind = self._lines[at : last + 1], block.kind
        if kind == "other" or _MACRO.match(lines[0]):
            self._mark(lines[0], at)
            return
        if kind != "list":
            self._leave_items()
        if kind == "paragraph":
            self._paragraph(lines, at, last)
        elif kind == "list":
            self._list(lines, at)
        elif kind == "table" and lines[0].startswith("|"):
            self._titled(at)
            self._table(lines[1:-1], at, last)
        elif kind == "heading":
            level = "=-~^+".index(lines[1][0]) + 1 if len(lines) > 1 else len(lines[0]) - len(lines[0].lstrip("=#"))
            title = _TITLE.match(lines[0])
            self._put([f"{'#' * level} {self._inline(title[1] if title else lines[0])}"], at, last)
        else:
            self._titled(at)
            language = lines[0].strip("`").strip() if lines[0].startswith("`") else self._part(1)
            self._put([_FENCE + language, *lines[1:-1], _FENCE], at, last)
        if kind != "paragraph" or not self._title:
            self._attributes = ""

    def _mark(self, line: str, at: int) -> None:
        """What isn't text: what stands above the next block, the edge of a note or a quote, or nothing to see."""
        if line.startswith("//"):
            self._leave_items()
        if named := _ANCHOR.match(line):
            self._put([f'<div class="anchor" id="{named[1]}"></div><!-- data-line= -->'], at, at)
        if BLOCK_ATTRIBUTES.match(line):
            self._attributes = line.strip()[1:-1]
        elif found := _INCLUDE.match(line):
            self._put([f"(Included file not found: {found[1]})"], at, at)
        elif found := _MACRO.match(line):
            self._put([f"![{found[2] or found[3]}](<{found[1]}>)"], at, at)
        elif DELIMITER.match(line):
            mark = line.strip()
            if mark in self._boxes:
                self._margin = self._boxes.pop(mark)
            else:
                self._boxes[mark] = self._margin
                self._open(mark, at)

    def _open(self, mark: str, at: int) -> None:
        note = _NOTE.match(self._part(0))
        if mark[0] == "_" or self._part(0) in ("quote", "verse"):
            self._margin += "> "
        elif note or self._title or mark[0] in "=*":
            self._note(note[1] if note else "", at)
        self._title = self._attributes = ""

    def _note(self, kind: str, at: int) -> None:
        title = f'"{self._inline(self._title)}"' if self._title or not kind else ""
        self._put([f"!!! {kind.lower()} {title}"], at, at, apart=False)
        self._margin += "    "

    def _part(self, number: int) -> str:
        """An attribute above the block by its position."""
        return [*self._attributes.split(","), ""][number].strip() if number <= self._attributes.count(",") else ""

    def _titled(self, at: int) -> None:
        if self._title:
            self._put([f'<p class="note-title">{self._words(self._title)}</p><!-- data-line= -->'], at, at)
            self._title = ""

    def _paragraph(self, lines: Sequence[str], at: int, last: int) -> None:
        if found := _BLOCK_TITLE.match(lines[0]):
            self._title = found[1]
            if at < last:
                self._paragraph(lines[1:], at + 1, last)
            return
        margin = self._margin
        if lines[0][0] in " \t":
            self._titled(at)
            self._put([_FENCE, *lines, _FENCE], at, last)
            return
        text = "\n".join(lines)
        if note := _NOTE.match(text) or _NOTE.match(self._part(0)):
            self._note(note[1], at)
            text = text.removeprefix(note[0])
        elif self._part(0) in ("quote", "verse"):
            self._margin += "> "
        self._titled(at)
        self._put(self._inline(text).split("\n"), at, last)
        self._margin = margin

    # -- lists

    def _leave_items(self) -> None:
        """End the open lists, unless a block is attached to the last item by a `+`."""
        if self._items and self._lines[max(self._numbers[-1] - self._first, 0)].strip() != "+":
            self._margin = self._items[0][1]
            self._items = []

    def _list(self, lines: Sequence[str], at: int) -> None:
        self._titled(at)
        waiting = ""
        for number, line in enumerate(lines, at):
            item = _ITEM.match(line)
            term = None if item else _TERM.match(line)
            if item:
                self._begin(item[1][-1] if item[1][0] in "<0123456789" else item[1])
                waiting, line = "- " if item[1][0] in "*-" else "1. ", item[2]
            elif term:
                self._begin(term[2])
                self._put(["", self._inline(term["term"])], number, number, apart=False)
                waiting, line = ": ", term[3] or ""
            elif line.strip() == "+":
                line = ""
            if line or not term:
                self._put([waiting + self._inline(line.strip())], number, number, apart=False)
                self._margin += " " * len(waiting)
                waiting = ""
        self._put([], at + len(lines) - 1, at + len(lines) - 1)

    def _begin(self, kind: str) -> None:
        """Begin an item: of an open list, which ends those in it, or of a new one in the last item."""
        open_ = next((place for place, (each, _) in enumerate(self._items) if each == kind), None)
        if open_ is not None:
            self._margin = self._items[open_][1]
            del self._items[open_:]
        self._items.append((kind, self._margin))

    # -- tables

    def _table(self, lines: Sequence[str], at: int, last: int) -> None:
        """A table as HTML, on one line."""
        cells: list[list[str]] = []  # of each: columns, style, number of its line, text
        for number, line in enumerate(lines, self._first + at + 1):
            begin = 0
            for mark in _CELL.finditer(line):
                if mark.start() > begin and line[mark.start() - 1] not in " \t":  # what stands before it is text
                    mark = _CELL.match(line, mark.end() - 1) or mark
                if cells:
                    cells[-1][3] += line[begin : mark.start()]
                cells += [[mark[2] or "1", mark[3] or "", str(number), ""] for _ in range(min(int(mark[1] or 1), 50))]
                begin = mark.end()
            if cells:
                cells[-1][3] += f"{line[begin:]}\n"
        spec = re.search(r'cols="([^"]*)"', self._attributes)
        styles = [part.strip()[-1:] for part in spec[1].split(",")] if spec and "*" not in spec[1] else []
        width = len(styles) or sum(int(cell[0]) for cell in cells if cell[2] == cells[0][2])
        has_header = "header" in self._attributes or (
            len(lines) > 2 and bool(lines[0].strip()) and not lines[1].strip()
        )
        rows, place = [], width
        for columns, style, line_, text in cells:
            if place >= width:
                rows.append(f'<tr data-line="{line_}">')
                place = 0
            text = text.strip().replace("\\|", "|")
            tag = "th" if style == "h" or (has_header and len(rows) == 1) else "td"
            is_page = tag == "td" and "a" in (style, *styles[place : place + 1])
            body = asciidoc(text, int(line_)) if is_page else self._words(text)
            rows[-1] += f'<{tag} colspan="{columns}">{body}</{tag}>'
            place += int(columns)
        head = f"<thead>{rows.pop(0)}</thead>" if has_header and rows else ""
        lines_ = f'data-line="{self._first + at}" data-end="{self._first + last}"'
        table = f"<table {lines_}>{head}<tbody>{''.join(rows)}</tbody></table>"
        self._put([table.replace("\n", "&#10;")], at, last)

    # -- words

    def _words(self, text: str) -> str:
        """HTML of some words of AsciiDoc."""
        return markdown.words(self._inline(text))

    def _inline(self, text: str) -> str:
        """The same as Markdown."""
        return _INLINE.sub(self._translated, text)

    def _translated(self, found: re.Match[str]) -> str:
        kind = str(found.lastgroup)
        value = found[kind]
        if kind == "passed":
            return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", next(part for part in found.groups()[::-1] if part))
        if kind == "code":
            return f"`{value}`"
        if kind == "words":
            words = re.sub(r"(?:^|,)\s*[\w-]+=[^,]*", "", value.strip()).strip('"').rstrip("^")
            return self._link(found["macro"] or "", found["target"], words)
        if kind == "place":
            place, _, label = value.partition(",")
            return self._link("xref", place.lstrip("#"), label.strip())
        if kind == "anchor":
            return f'<span id="{value}"></span>'
        if kind == "alt":
            return f"![{value.split(',')[0]}](<{found['picture']}>)"
        opening, closing = _AROUND[kind]
        return f"{opening}{self._inline(value) if closing else value}{closing}"

    def _link(self, macro: str, target: str, words: str) -> str:
        if macro == "mailto":
            target = f"mailto:{target}"
        if macro == "xref" and "#" not in target and not re.search(r"\.\w+$", target):
            words = words or self._titles.get(target, target)
            target = f"#{target}"
        return f'<a href="{escape(target)}">{self._inline(words) or escape(target)}</a>'


#: What words of a kind are put between.
_AROUND = {
    "quoted": ("“", "”"), "strong": ("**", "**"), "em": ("*", "*"), "mark": ("<mark>", "</mark>"),
    "sup": ("<sup>", "</sup>"), "sub": ("<sub>", "</sub>"), "key": ("<kbd>", "</kbd>"), "footnote": ("\\[", "\\]"),
    "sign": ("\\", ""), "less": ("\\", ""), "end": ("  ", ""),
}  # fmt: skip
_ROLE = r"(?:\[[\w.#%, -]*\])?"
_INLINE = re.compile(
    r"\\(?P<sign>[*_`#^~{<\[+:])"
    r"|(?P<passed>\+\+\+(.{1,600}?)\+\+\+|\+\+(.{1,600}?)\+\+|pass:[a-z,]{0,40}\[(.{0,600}?)\]"
    r"|(?<![\w+])\+(?=\S)([^+\n]{1,400}?)(?<=\S)\+(?![\w+]))"
    rf'|"`(?P<quoted>.{{1,600}}?)`"|{_ROLE}`\+?(?P<code>[^`\n]{{1,600}}?)\+?`'
    r"|(?:(?P<macro>link|xref|mailto):|(?=https?://))(?P<target>[^\s\[\]<>]{1,1000}+)\[(?P<words>[^\[\]]{0,600})\]"
    r"|<<(?P<place>[^<>&]{1,800})>>|\[\[(?P<anchor>[\w:.-]+)(?:,[^\]]*)?\]\]"
    r"|(?:image|icon):(?!:)(?P<picture>[^\s\[\]<>]{1,1000}+)\[(?P<alt>[^\[\]]{0,400})\]"
    r"|footnote:[\w-]{0,80}\[(?P<footnote>[^\[\]]{0,1000})\]|(?:kbd|btn):\[(?P<key>[^\[\]]{0,200})\]"
    rf"|{_ROLE}(?<![\w*])\*{{1,2}}(?=[^\s*])(?P<strong>(?s:.){{1,600}}?)(?<=\S)\*{{1,2}}(?![\w*])"
    rf"|{_ROLE}(?<![\w_])_{{1,2}}(?=[^\s_])(?P<em>(?s:.){{1,600}}?)(?<=\S)_{{1,2}}(?![\w_])"
    rf"|{_ROLE}(?<![\w#])#(?=[^\s#])(?P<mark>.{{1,600}}?)(?<=\S)#(?![\w#])"
    r"|\^(?P<sup>\S{1,80}?)\^|~(?P<sub>\S{1,80}?)~| \+(?P<end>\n)|(?P<less><)"
)
