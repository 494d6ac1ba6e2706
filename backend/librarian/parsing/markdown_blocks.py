"""The block structure of Markdown: markdown-it's tokens as blocks with offsets, and the dialects' own block rules.

Inline markup is not parsed. Three liberties: a fence may be indented by any depth (MkDocs puts them below tabs), MDX
has no indented code, and a quote's inner structure stays inside its one block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from ..models import Block, Heading
from .markdown_inline import TAGS_OF_MDX
from .plain_text import picture_words, plain

BlockKind = Literal["heading", "paragraph", "list", "table", "fence", "quote", "html", "other"]

_DEEPEST = 40  #: columns of text that belongs to a note inside a note
_FENCE = re.compile(r"(`{3,})[^`\n]*$|(~{3,})[^\n]*$")
_RAW_HTML = re.compile(r"<(pre|script|style|textarea)(?=[\s>]|$)", re.I)
_UNDERLINE = re.compile(r"^[ \t>]*(?:=+|-+)[ \t]*$", re.M)
#: Code between tags of Hugo and Jekyll.
_HIGHLIGHT = re.compile(r"(?:\{\{[<%]|\{%)-?[ \t]*(?:highlight|tab(?=[^\n}]* codelang=))\b[^\n}]*[%>]\}[ \t}]*$")
_HIGHLIGHT_END = re.compile(r"(?:\{\{[<%]|\{%)-?[ \t]*(?:/[ \t]*|end)(?:highlight|tab)\b")
#: Directives of MyST whose bodies are text.
_PROSE = re.compile(
    r"[`~]{3,}[ \t]*\{(?:note|tip|hint|important|warning|caution|danger|error|attention|admonition|seealso|todo|topic|"
    r"sidebar|margin|dropdown|details|card|card-carousel|grid|grid-item|grid-item-card|tab-set|tab-item|tabbed|panels|"
    r"epigraph|pull-quote|container|div|aside|only|versionadded|versionchanged|deprecated|exercise|solution|prf:[\w-]+)\}"
    r"[ \t]*([^\n]*?)[ \t]*$"
)
_WORDS = re.compile(r"(?=[^\n]*\w)(?!(?:auto|\d+)(?:[ \t]+(?:auto|\d+))*$)[^\n]+")
#: Lines that own the indented text below them: admonitions, tabs, footnotes, definitions.
_OWNER = re.compile(r"!!!|\?\?\?|===[!+]?[ \t]+\"|\[\^[^\[\]\n]+\]:|:[ \t]")
_NOTE = re.compile(r"!!!|\?\?\?|===[!+]?[ \t]+\"")
_KINDS: dict[str, BlockKind] = {
    "paragraph_open": "paragraph",
    "heading_open": "heading",
    "table_open": "table",
    "fence": "fence",
    "blockquote_open": "quote",
    "html_block": "html",
    "code_block": "other",
    "hr": "other",
    "definition": "paragraph",
}
_IN_LISTS = ("fence", "heading", "table")  #: stand for themselves inside lists too


@dataclass
class MarkdownBlocks:
    """Blocks in order and without overlap. `hidden` holds spans of directive lines, `definitions` where links lead by
    their names in upper case, and `defined` the lines that say so; `open_fence` would close a fence that is open at
    the end."""

    blocks: list[Block] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    hidden: list[tuple[int, int]] = field(default_factory=list)
    definitions: dict[str, str] = field(default_factory=dict)
    defined: list[tuple[int, int]] = field(default_factory=list)
    open_fence: str = ""


def parse_blocks(text: str, start: int = 0, *, mdx: bool = False) -> MarkdownBlocks:
    """The blocks of `text` from the offset `start` of a line on."""
    found = MarkdownBlocks()
    parser = _parser(mdx, "|" in text, _UNDERLINE.search(text, start) is not None, "]:" in text)
    tokens = parser.parse(re.sub(r"[^\n]", " ", text[:start]) + text[start:], {"found": found})
    lines = _Lines(text)
    blocks = found.blocks
    list_start = list_end = quote_end = 0  # lines: of what is left of the open list, and behind the last quote
    for place, token in enumerate(tokens):
        if token.map is None or token.map[0] < quote_end:
            continue
        first, end = token.map
        in_list = first < list_end
        if not in_list and list_start < list_end:
            lines.add_list(blocks, list_start, list_end)
            list_start = list_end
        if token.type in ("bullet_list_open", "ordered_list_open"):
            if not in_list:
                list_start, list_end = first, end
            continue
        if token.type == "blockquote_open":
            quote_end = end
        kind = _KINDS.get(token.type)
        if kind is None or (in_list and kind not in _IN_LISTS and not token.meta):
            continue
        if in_list:
            lines.add_list(blocks, list_start, first)
            list_start = end
        header = lines.ends[first + (kind == "table")] if kind == "table" or token.markup[:1] in ("`", "~") else None
        lines.add(blocks, kind, first, end, header)
        if token.type == "definition" and token.meta["id"][0] != "^":
            found.definitions.setdefault(token.meta["id"], token.meta["url"])
            found.defined.append((lines.starts[first], lines.ends[end - 1]))
        if kind == "heading":
            words = tokens[place + 1].content
            level, offset = int(token.tag[1]), lines.starts[first]
            found.headings.append(Heading(level, plain(words) or picture_words(words), first + 1, offset))
    lines.add_list(blocks, list_start, list_end)
    return found


class _Lines:
    """Turns line numbers into offsets."""

    def __init__(self, text: str) -> None:
        self._text = text
        behind = list(accumulate([len(line) + 1 for line in text.split("\n")]))
        self.starts = [0, *behind[:-1]]
        self.ends = [end - 1 for end in behind]

    def add(self, blocks: list[Block], kind: BlockKind, first: int, end: int, header: int | None = None) -> None:
        """Add the lines [first, end) without the blank ones around them."""
        while first < end and not self._text[self.starts[first] : self.ends[first]].strip():
            first += 1
        while end > first and not self._text[self.starts[end - 1] : self.ends[end - 1]].strip():
            end -= 1
        if first < end:
            blocks.append(Block(kind, self.starts[first], self.ends[end - 1], header))

    def add_list(self, blocks: list[Block], first: int, end: int) -> None:
        """The same for a list, which joins one right above it."""
        known = len(blocks)
        self.add(blocks, "list", first, end)
        if 0 < known < len(blocks) and blocks[known - 1].kind == "list":
            above, added = blocks[-2:]
            if not self._text[above.end : added.start].strip():
                blocks[-2:] = [replace(above, end=added.end)]


# -- rules for markdown-it -------------------------------------------------------------------------------------------


@cache
def _parser(mdx: bool, tables: bool, underlined: bool, defines: bool) -> MarkdownIt:
    """A parser of blocks; rules that a text has no use for are off, as each is tried on every line."""
    parser = MarkdownIt("commonmark", {"inline_definitions": True}).disable(["inline", "text_join"])
    parser.normalizeLink = str  # type: ignore[assignment, method-assign]
    rules = parser.block.ruler
    if tables:
        rules.enable("table")
    if not underlined:
        rules.disable("lheading")
    if not defines:
        rules.disable("reference")
    ends_paragraph: RuleOptionsType = {"alt": ["paragraph", "blockquote", "list"]}
    rules.before("code", "any_fence", _fence, ends_paragraph)
    rules.before("code", "highlight", _highlight, ends_paragraph)
    rules.disable("fence")
    if mdx:
        rules.disable("code")
        rules.before("html_block", "mdx_tags", _mdx_tags, ends_paragraph)
    else:
        rules.at("code", _code)
        rules.before("paragraph", "note", _note)
    return parser


def _span(state: StateBlock, line: int) -> tuple[int, int]:
    """Where the text of a line begins and ends."""
    return state.bMarks[line] + state.tShift[line], state.eMarks[line]


def _add(state: StateBlock, kind: str, first: int, end: int, markup: str = "", **meta: bool) -> Token:
    token = state.push(kind, "", 0)
    token.map, token.markup, token.meta = [first, end], markup, meta
    state.line = end
    return token


def _fence(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """Fences of any depth; lines of MyST directives whose bodies are text are paragraphs."""
    first, end = _span(state, line)
    match = _FENCE.match(state.src, first, end)
    if match is None:
        return False
    if silent:
        return True
    found: MarkdownBlocks = state.env["found"]
    closes: set[int] = state.env.setdefault("closes", set())  # lines that close directives
    marker = match.group(1) or match.group(2)
    deep = state.is_code_block(line)
    if line in closes:
        found.hidden.append((first, end))
        _add(state, "paragraph_open", line, line + 1, directive=True)
        return True
    margin = state.sCount[line] if deep else state.blkIndent
    closing = _closing_fence(state, line + 1, end_line, marker, margin)
    hidden = [] if deep else hidden_in_directive(state.src, first, end)
    closed = closing < end_line and state.sCount[closing] >= margin
    if closed and hidden and closing not in closes:
        closes.add(closing)
        found.hidden += hidden
        _add(state, "paragraph_open", line, line + 1, directive=True)
        return True
    if not closed and closing == state.lineMax and state.level == 0 and not deep:
        found.open_fence = marker
    _add(state, "fence", line, closing + closed, marker)
    return True


def _closing_fence(state: StateBlock, line: int, end_line: int, marker: str, margin: int) -> int:
    """The line that closes a fence, or the first one left of it; `end_line` where there is neither."""
    closing = re.compile(rf"{re.escape(marker[0])}{{{len(marker)},}}[ \t]*$")
    while line < end_line:
        first, end = _span(state, line)
        if first < end:
            if state.sCount[line] < margin:
                break
            if (margin or not state.is_code_block(line)) and closing.match(state.src, first, end):
                break
        line += 1
    return line


def _code(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """Indented code, up to a blank line or a fence; what belongs to a note, a tab or a definition is Markdown."""
    if not state.is_code_block(line):
        return False
    last = line + 1
    while last < end_line and not state.isEmpty(last) and state.is_code_block(last):
        if _FENCE.match(state.src, *_span(state, last)):
            break
        last += 1
    if state.blkIndent < _DEEPEST and _is_owned(state, line):
        state.blkIndent += 4
        state.md.block.tokenize(state, line, last)
        state.blkIndent -= 4
    else:
        _add(state, "code_block", line, last)
    return True


def _is_owned(state: StateBlock, line: int) -> bool:
    """Whether an indented line belongs to the block above it that is indented less."""
    known: dict[tuple[int, int], bool] = state.env.setdefault("owned", {})
    above = line - 1
    while above >= 0 and (state.isEmpty(above) or state.is_code_block(above)):
        if (above, state.blkIndent) in known:
            known[line, state.blkIndent] = known[above, state.blkIndent]
            return known[line, state.blkIndent]
        above -= 1
    owned = False
    while above >= 0 and not owned and not state.isEmpty(above):
        owned = _OWNER.match(state.src, *_span(state, above)) is not None
        above -= 1
    known[line, state.blkIndent] = owned
    return owned


def _note(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """The line of an admonition or a tab, right below which its indented body begins."""
    if line + 1 >= end_line or state.is_code_block(line) or state.isEmpty(line + 1):
        return False
    if not state.is_code_block(line + 1) or not _NOTE.match(state.src, *_span(state, line)):
        return False
    _add(state, "paragraph_open", line, line + 1)
    return True


def _highlight(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """Code between `{{< highlight yaml >}}`, `{{< tab codelang="yaml" >}}` or `{% highlight yaml %}` and its end."""
    if line < state.env.get("highlighted", 0) or not _HIGHLIGHT.match(state.src, *_span(state, line)):
        return False
    last = line + 1
    while last < end_line and not _HIGHLIGHT_END.match(state.src, *_span(state, last)):
        last = end_line if _HIGHLIGHT.match(state.src, *_span(state, last)) else last + 1
    if last == end_line:
        state.env["highlighted"] = last  # nothing is searched twice
        return False
    if not silent:
        _add(state, "paragraph_open", line, line + 1, template=True)
        _add(state, "fence", line + 1, last, template=True)
    return True


def _mdx_tags(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """Lines of nothing but tags of MDX; what follows is Markdown."""
    first, end = _span(state, line)
    tags = None if _RAW_HTML.match(state.src, first, end) else TAGS_OF_MDX.match(state.src, first)
    if tags is None:
        return False
    if not silent:
        _add(state, "html_block", line, min(line + 1 + state.src.count("\n", first, tags.end()), end_line))
    return True


def hidden_in_directive(text: str, first: int, end: int) -> list[tuple[int, int]]:
    """The hidden part of a MyST directive's opening line; empty if the directive's body isn't text."""
    match = _PROSE.match(text, first, end)
    if match is None:
        return []
    return [(first, match.start(1) if _WORDS.match(text, *match.span(1)) else end)]
