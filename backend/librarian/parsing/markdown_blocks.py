"""The block structure of Markdown, found in one pass over the lines.

Follows CommonMark 0.31 and GitHub's tables where it matters for finding passages: which lines are headings, what lies
in a fence, where a table, list, quote or HTML block begins and ends. It builds no tree and looks at no inline markup.
Two liberties: a fence may be indented by any depth (pages made for MkDocs put them below `=== "Tab"` lines), and a
quote's inner structure stays inside its one block.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

from ..models import Block, Heading
from .markdown_tags import OPEN_FORMULA, CodeTags, hidden_in_directive
from .mdx import LONGEST_TAG, OPENING_TAG, end_of_tag
from .plain_text import picture_words, plain

BlockKind = Literal["heading", "paragraph", "list", "table", "fence", "quote", "html", "other"]

#: First characters of lines that may be more than text.
_SPECIAL = frozenset("#`~=-|>*+_<:{0123456789")
_TAB = 4
_MOST_SHARED = 8  #: directives that one line closes; those inside stay fences
_MAX_DEPTH = 64  #: of lists in lists; deeper ones are text

_ATX = re.compile(r"(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r"(`{3,})[^`\n]*$|(~{3,})[^\n]*$")
_SETEXT = re.compile(r"(=+|-+)[ \t]*$")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_ITEM = re.compile(r"(?:[-*+]|(\d{1,9})[.)])(?=[ \t]|$)([ \t]*)")
DELIMITER_ROW = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_PIPE = re.compile(r"(?<!\\)\|")
_RAW_HTML = re.compile(r"<(pre|script|style|textarea)(?=[\s>]|$)", re.I)
_BLOCK_HTML = re.compile(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|"
    r"dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    r"menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|"
    r"ul)(?:[\s/>]|$)|<[?!]",
    re.I,
)
_REST = re.compile(r"[ \t]*$", re.M)
_LONE_TAG = re.compile(
    r"(?:<[A-Za-z][\w-]*(?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?)*\s*/?>"
    r"|</[A-Za-z][\w-]*\s*>)[ \t]*$"
)


class BlockScanner:
    """Scans one text; `blocks`, `headings` and `open_fence` hold the result after `scan`.

    What is indented by four columns is code, except in `mdx`, which indents what a component holds: there a line of
    tags stands alone, and what follows it is Markdown.
    """

    def __init__(self, text: str, start: int = 0, *, mdx: bool = False) -> None:
        self._mdx = mdx
        self._code_column = len(text) if mdx else _TAB
        self.blocks: list[Block] = []
        self.headings: list[Heading] = []
        self.markers: list[tuple[int, int]] = []  #: of directives whose bodies are text
        self.open_fence = ""  #: what would close a fence that runs on at the end of the text
        self._text = text
        self._position = start
        self._kind: BlockKind | None = None
        self._start = 0  # of the open block
        self._end = 0  # of its last line that isn't blank
        self._header_end: int | None = None
        self._items: list[int] = []  # content columns of the open list items, outermost first
        self._after_blank = True
        self._previous = 0  # start of the previous line
        self._previous_opens_item = False
        self._counted_to = 0
        self._untagged = 0  # up to where no tag of MDX is closed
        self._unclosed: set[str] = set()  # ends of HTML that the rest of the text doesn't hold
        self._tags = CodeTags(text)
        self._closes: Counter[int] = Counter()  # how many directives the line that starts there closes
        self._line = 1

    def scan(self) -> BlockScanner:
        text, size = self._text, len(self._text)
        find = text.find
        while (position := self._position) < size:
            end = find("\n", position)
            if end < 0:
                end = size
            first = position
            while first < end and text[first] in " \t":
                first += 1
            self._position = end + 1
            if first == end:
                self._blank()
            elif text[first] in _SPECIAL:
                self._special(position, first, end)
            elif self._kind == "paragraph" and not self._items:
                self._end = end
            else:
                self._words(position, first, end)
            self._previous = position
        self._close()
        return self

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _open(self, kind: BlockKind, start: int, end: int) -> None:
        self._close()
        self._kind, self._start, self._end = kind, start, end

    def _close(self) -> None:
        if self._kind is not None:
            self.blocks.append(Block(self._kind, self._start, self._end, self._header_end))
        self._kind = self._header_end = None

    def _extend(self, kind: BlockKind, start: int, end: int) -> None:
        if self._kind == kind:
            self._end = end
        else:
            self._open(kind, start, end)
        self._after_blank = False

    def _blank(self) -> None:
        if self._kind != "list":
            self._close()
        self._after_blank, self._previous_opens_item = True, False

    def _column(self, position: int, first: int) -> int:
        if first == position:
            return 0
        lead = self._text[position:first]
        return len(lead) if "\t" not in lead else len(lead.expandtabs(_TAB))

    def _base(self, column: int) -> int:
        """The content column of the innermost list item that a line at `column` belongs to."""
        for content in reversed(self._items):
            if content <= column:
                return content
        return 0

    def _leave_items(self, column: int) -> None:
        while self._items and self._items[-1] > column:
            self._items.pop()

    # -- lines -----------------------------------------------------------------------------------------------------

    def _words(self, position: int, first: int, end: int) -> None:
        """A line that begins nothing."""
        if self._items:
            if self._after_blank or self._kind not in ("list", None):
                self._leave_items(self._column(position, first))
            if self._items:
                if self._kind == "table" and not self._after_blank:
                    self._end = end
                else:
                    self._extend("list", position, end)
                self._previous_opens_item = False
                return
        if self._kind in ("paragraph", "table", "html", "quote"):
            self._end = end
        elif self._kind == "other" or (self._kind is None and self._column(position, first) >= self._code_column):
            self._extend("other" if self._column(position, first) >= self._code_column else "paragraph", position, end)
        else:
            self._extend("paragraph", position, end)
        self._after_blank = False

    def _special(self, position: int, first: int, end: int) -> None:
        char = self._text[first]
        column = self._column(position, first)
        base = self._base(column)
        if char in "`~" and self._fence(position, first, end, column, base):
            return
        if char == "{" and (closing := self._tags.closing(first, end, column)) >= 0:
            self._shows_code(first, end, closing)
            return
        if column - base < self._code_column and not (self._kind == "html" and not self._items):
            if char == "#" and self._heading(position, first, end, column):
                return
            if char in "=-" and self._setext(first, end):
                return
            if char in "|:-" and self._table(first, end):
                return
            if char in "-*_" and _RULE.match(self._text, first, end):
                self._leave_items(column)
                if self._items:
                    self._extend("list", position, end)
                else:
                    self._close()
                    self.blocks.append(Block("other", position, end))
                    self._after_blank = True
                return
            if char in "-*+0123456789" and self._item(position, first, end, column, base):
                return
            if char == ">" and not (self._items and (column >= self._items[-1] or not self._after_blank)):
                self._leave_items(column)
                self._extend("quote" if not self._items else "list", position, end)
                return
            if char == "<" and self._html(position, first, end, column):
                return
        self._words(position, first, end)

    def _heading(self, position: int, first: int, end: int, column: int) -> bool:
        match = _ATX.match(self._text, first, end)
        if match is None:
            return False
        self._leave_items(column)
        self._close()
        self._add_heading(len(match.group(1)), match.group(2) or "", position, end)
        return True

    def _add_heading(self, level: int, markup: str, start: int, end: int) -> None:
        self._line += self._text.count("\n", self._counted_to, start)
        self._counted_to = start
        self.headings.append(Heading(level, plain(markup) or picture_words(markup), self._line, start))
        self.blocks.append(Block("heading", start, end))
        self._after_blank, self._previous_opens_item = True, False

    def _setext(self, first: int, end: int) -> bool:
        if self._kind != "paragraph" or self._items:
            return False
        match = _SETEXT.match(self._text, first, end)
        if match is None or OPEN_FORMULA.match(self._text, self._start, self._end):
            return False
        start, markup = self._start, self._text[self._start : self._end]
        if match.group(1)[0] == "-" and self._table(first, end):
            return True
        self._kind = self._header_end = None
        self._add_heading(1 if match.group(1)[0] == "=" else 2, markup, start, end)
        return True

    def _fence(self, position: int, first: int, end: int, column: int, base: int) -> bool:
        match = _FENCE.match(self._text, first, end)
        if match is None:
            return False
        marker = match.group(1) or match.group(2)
        hidden: list[tuple[int, int]] = []
        if column - base >= _TAB and not self._mdx:
            base = column
        else:
            hidden = hidden_in_directive(self._text, first, end)
            self._leave_items(column)
        self._close()
        if self._closes[position]:
            return self._marker(position, end, [(first, end)])
        closing = rf"^[ \t]*{re.escape(marker[0])}{{{len(marker)},}}[ \t]*$"
        if base:
            # A line left of the item's content ends the item, and the fence with it.
            closing += rf"|^(?= {{0,{base - 1}}}[^ \t\n])"
        elif not self._mdx:
            closing = closing.replace(r"[ \t]*", " {0,3}", 1)
        found = re.compile(closing, re.M).search(self._text, min(end + 1, len(self._text)))
        if found and hidden and self._closes[found.start()] < _MOST_SHARED and found.end() > found.start():
            self._closes[found.start()] += 1
            return self._marker(position, end, hidden)
        if found is None:
            stop = len(self._text.rstrip())
            self._position = len(self._text)
            self.open_fence = marker if base == 0 else ""
        elif found.end() == found.start():
            stop = _rstrip(self._text, found.start())
            self._position = found.start()
        else:
            stop = found.end()
            self._position = stop + 1
        self.blocks.append(Block("fence", position, max(stop, end), end))
        self._after_blank, self._previous_opens_item = not self._items, False
        return True

    def _shows_code(self, first: int, end: int, closing: int) -> None:
        """The lines between `{{< highlight yaml >}}` or `{% highlight yaml %}` and its closing tag; both stay lines."""
        self._leave_items(0)
        self._open("paragraph", first, end)
        self._close()
        if code := self._text[end:closing].strip("\n"):
            start = self._text.index(code, end)
            self.blocks.append(Block("fence", start, start + len(code)))
        self._position = closing
        self._after_blank, self._previous_opens_item = True, False

    def _marker(self, position: int, end: int, hidden: list[tuple[int, int]]) -> bool:
        """A line of a fence that is a directive's, whose body is text."""
        self.blocks.append(Block("paragraph", position, end))
        self.markers += hidden
        self._after_blank, self._previous_opens_item = not self._items, False
        return True

    def _table(self, first: int, end: int) -> bool:
        if self._after_blank or self._kind not in ("paragraph", "list") or self._previous_opens_item:
            return False
        text, header = self._text, self._previous
        if self._kind == "list" and not self._items:
            return False
        if DELIMITER_ROW.match(text, first, end) is None:
            return False
        header_text = text[header:first].rstrip()
        if "\n" in header_text or "|" not in header_text or cells(header_text) != cells(text[first:end]):
            return False
        if self._start < header:
            self._end = _rstrip(text, header)
            self._open("table", header, end)
        else:
            self._kind, self._start, self._end = "table", header, end
        self._header_end = end
        return True

    def _item(self, position: int, first: int, end: int, column: int, base: int) -> bool:
        match = _ITEM.match(self._text, first, end)
        if match is None:
            return False
        empty = match.end() == end
        interrupts = self._kind == "paragraph" and not self._items and not self._after_blank
        if interrupts and (empty or match.group(1) not in (None, "1")):
            return False
        self._leave_items(column)
        if len(self._items) >= _MAX_DEPTH or (self._items and column - self._items[-1] >= _TAB):
            return False
        spaces = self._column(match.start(2), match.end(2)) if not empty else 1
        marker = match.start(2) - first
        content = column + marker + (spaces if 1 <= spaces <= _TAB else 1)
        self._items.append(content)
        rest = match.end()
        char = self._text[rest] if rest < end else ""
        if char == "#" and (heading := _ATX.match(self._text, rest, end)):
            self._close()
            self._add_heading(len(heading.group(1)), heading.group(2) or "", position, end)
            return True
        if char in "`~" and char and self._fence(position, rest, end, content, content):
            return True
        while char in "-*+0123456789" and char and (inner := _ITEM.match(self._text, rest, end)):
            if _RULE.match(self._text, rest, end) or inner.end() == end or len(self._items) >= _MAX_DEPTH:
                break
            self._items.append(self._items[-1] + inner.end() - rest)
            rest = inner.end()
            char = self._text[rest]
        self._extend("list", position, end)
        self._previous_opens_item = True
        return True

    def _html(self, position: int, first: int, end: int, column: int) -> bool:
        text = self._text
        closing = ""
        tags_end = self._end_of_tags(first, end) if self._mdx else -1
        if tags_end >= 0:
            end, self._position = tags_end, tags_end + 1
        elif text.startswith("<!--", first):
            closing = "-->"
        elif raw := _RAW_HTML.match(text, first, end):
            closing = f"</{raw.group(1)}"
        elif _BLOCK_HTML.match(text, first, end) is None and (
            (self._kind is not None and not self._after_blank) or _LONE_TAG.match(text, first, end) is None
        ):
            return False
        if closing:
            found = -1 if closing in self._unclosed else text.find(closing, first)
            if found < 0:
                self._unclosed.add(closing)
            else:
                stop = text.find("\n", found)
                end = len(text) if stop < 0 else stop
                self._position = end + 1
        if self._items and (column >= self._items[-1] or not self._after_blank):
            self._extend("list", position, end)
            return True
        self._leave_items(column)
        if self._items:
            self._extend("list", position, end)
            return True
        self._open("html", position, end)
        self._after_blank = False
        if closing or tags_end >= 0:
            self._close()
            self._after_blank = True
        return True

    def _end_of_tags(self, first: int, end: int) -> int:
        """The end of the line on which the tags that a line of MDX begins with are closed; -1 where words follow."""
        if first < self._untagged or _RAW_HTML.match(self._text, first, end):
            return -1
        last = first
        while opening := OPENING_TAG.match(self._text, last):
            last = end_of_tag(self._text, opening.end())
            if last < 0:
                self._untagged = first + LONGEST_TAG  # isn't looked through again
                return -1
        rest = _REST.match(self._text, last)
        return rest.end() if rest and last > first else -1


def _rstrip(text: str, end: int) -> int:
    while end > 0 and text[end - 1] in " \t\n":
        end -= 1
    return end


def cells(row: str) -> int:
    """How many cells a row of a table has."""
    inner = row.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return len(_PIPE.findall(inner)) + 1
