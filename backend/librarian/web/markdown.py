"""Markdown to HTML, with the notes, tabs and wiki links of site generators. The result is not safe: clean it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

_KINDS = (
    "note|tip|hint|important|warning|caution|danger|error|attention|admonition|seealso|info|success|question|failure|bug"
    "|example|abstract|todo|alert|callout|details|dropdown"
)
#: MkDocs; what it holds is indented.
_INDENTED = re.compile(
    r'(?:(?:!!!|\?\?\?\+?)(?= +[\w-]| *")(?: +(?P<kind>[\w-]+)(?: +[\w-]+)*)?(?: *"(?P<title>.*)")?'
    r'|===[!+]? +"(?P<tab>.+)")\s*$'
)
_ENCLOSED = (  #: Docusaurus, VitePress, MyST; PyMdown; Hugo. What they hold ends with a line of its own.
    re.compile(r"(?P<mark>:{3,}) *\{?\.?(?P<kind>[\w-]+)\}?(?:\[(?P<title>.*)\]| (?P<tab>[^{}]*))?(?:\{[^{}]*\})?\s*$"),
    re.compile(r"(?P<mark>/{3,}) *(?P<kind>[\w-]+)(?: *\|(?P<title>.*))?(?P<tab>)\s*$"),
    re.compile(rf"\{{\{{[<%] *(?P<mark>(?P<kind>{_KINDS}|tabs?))\b(?P<title>.*?)(?P<tab>)[>%]\}}\}} *$", re.IGNORECASE),
)
_CLOSING = re.compile(r"(:{3,}|/{3,})\s*$")
_CLOSING_SHORTCODE = re.compile(r"\{\{[<%] */ *([\w-]+) *[>%]\}\} *$")
_ALERT = re.compile(r"\[!([a-zA-Z][\w-]*)(?:\|[^\]]*)?\][+-]? *(.*)$")  #: GitHub, Obsidian; in a quote
_MYST_NOTE = re.compile(rf"\{{(?P<kind>{_KINDS})\}} *(?P<title>.*)$")  #: MyST, in the line of a fence
_NAMELESS = re.compile(
    r"code-group|tabs?|tab-set|tab-item|tabitem|steps|raw|v-pre|grid|columns?|container|admonition|alert", re.IGNORECASE
)
_ATTRIBUTE = re.compile(r'\b(?:title|name|tabname|summary)="([^"]*)"|^ *"([^"]*)"')
_OPTION = re.compile(r"(?: {4}|:)[\w-]+:(?: |$)")
_SHORTCODE = re.compile(r"\{\{[<%] *[\w-]+ ([^<>{}]*)[>%]\}\}")
_SHOWN = re.compile(r'\b(?:text|title|term_id)="([^"]*)"')
_TAG = re.compile(r"<(?:p|div|table|t[rdh]|[uod]l|li|d[td]|h[1-6]|pre|blockquote|details|section)\b", re.IGNORECASE)


def markdown(text: str, numbers: Sequence[int] = ()) -> str:
    """HTML of Markdown; blocks say in `data-line` and `data-end` which lines of `text` they are.

    `numbers` are those of its lines, which are counted from 1 where none are given.
    """
    html: str = _parser().render(text, {"numbers": numbers})
    return html


def written(text: str) -> str:
    """HTML of what a parser wrote out of another format: headings, lists, tables and fences, in which no sign is
    markup."""
    html: str = _plain_parser().render(text)
    return html


def words(text: str) -> str:
    """HTML of some words of Markdown: code, emphasis, links and tags, without blocks."""
    html: str = _parser().renderInline(text)
    return html


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.use(front_matter_plugin).use(deflist_plugin).use(footnote_plugin)
    parser.block.ruler.before("fence", "note", _note, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.inline.ruler.before("link", "wiki", _wiki_link)
    parser.inline.ruler.before("text", "shortcode", _shortcode)
    parser.add_render_rule("front_matter", _front_matter)
    parser.add_render_rule("html_block", _html_block)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    return _with_lines(parser)


@cache
def _plain_parser() -> MarkdownIt:
    parser = MarkdownIt("zero").enable(["table", "fence", "list", "heading", "hr"])
    parser.add_render_rule("fence", _fence)
    return _with_lines(parser)


def _with_lines(parser: MarkdownIt) -> MarkdownIt:
    def number(state: StateCore) -> None:
        numbers = state.env.get("numbers")
        for token in state.tokens:
            if token.map and numbers:
                token.map = [numbers[token.map[0]] - 1, numbers[max(token.map) - 1]]
            if token.map and (token.nesting == 1 or token.type in ("hr", "code_block")):
                token.attrSet("data-line", str(token.map[0] + 1))
                token.attrSet("data-end", str(max(token.map)))

    parser.core.ruler.push("lines", number)
    return parser


# -- rendering


def _lines_of(token: Token) -> str:
    first, last = token.map or (0, 0)
    return f'data-line="{first + 1}" data-end="{max(last, first + 1)}"'


def _front_matter(_: RendererHTML, tokens: Sequence[Token], index: int, *__: object) -> str:
    token = tokens[index]
    body = escapeHtml(token.content)
    return f'<details class="front" {_lines_of(token)}><summary>Front matter</summary><pre>{body}</pre></details>\n'


def _fence(_: RendererHTML, tokens: Sequence[Token], index: int, *__: object) -> str:
    """A code block below its language."""
    token = tokens[index]
    language = escapeHtml(re.split(r"[\s{,]", token.info.strip().strip("{}"), maxsplit=1)[0])
    caption = f"<figcaption>{language}</figcaption>" if language else ""
    body = escapeHtml(token.content.rstrip("\n"))
    return f'<figure class="code" {_lines_of(token)}>{caption}<pre><code>{body}</code></pre></figure>\n'


def _html_block(_: RendererHTML, tokens: Sequence[Token], index: int, *__: object) -> str:
    """HTML as it is written, in which each block says its line."""
    token = tokens[index]
    if "data-line=" in token.content:
        return token.content
    first = (token.map or (0, 0))[0] + 1
    shown = []
    for place, line in enumerate(token.content.split("\n")):
        shown.append(_TAG.sub(lambda tag, number=first + place: f'{tag[0]} data-line="{number}"', line))  # type: ignore[misc]
    return "\n".join(shown)


# -- syntax of site generators


def named(kind: str) -> str:
    """What a note of a kind is called; empty where its kind says nothing."""
    return "" if _NAMELESS.fullmatch(kind) else kind.capitalize().replace("eealso", "ee also")


def _note(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule for notes, warnings and tabs."""
    if state.is_code_block(start):
        return False
    line = _line(state, start)
    if line[:2] not in ("!!", "??", "==", "::", "//", "{{", "``", "~~") and line[:1] != ">":
        return False
    found = _indented(state, line, start, end) or _enclosed(state, line, start, end) or _quoted(state, line, start, end)
    if found is None or silent:
        return found is not None
    title, first, last, used, indent, inner = found
    opening = state.push("note_open", "div", 1)
    opening.attrSet("class", "note")
    opening.map, opening.block = [start, used], True
    if title:
        state.push("note_title_open", "p", 1).attrSet("class", "note-title")
        inline = state.push("inline", "", 0)
        inline.content, inline.map, inline.children = title, [start, start + 1], []
        state.push("note_title_close", "p", -1)
    if inner is not None:  # lines whose own marks are taken off
        _nested(state, inner, first)
    else:
        before = state.blkIndent, state.parentType, state.lineMax
        state.blkIndent, state.parentType, state.lineMax = state.blkIndent + indent, "root", last
        state.md.block.tokenize(state, first, last)
        state.blkIndent, state.parentType, state.lineMax = before
    state.push("note_close", "div", -1)
    state.line = used
    return True


#: Title, first line and line behind the last that a note holds, line behind the note, indentation, lines by themselves.
_Found = tuple[str, int, int, int, int, list[str] | None]


def _line(state: StateBlock, number: int, *, whole: bool = False) -> str:
    """A line without its indentation, unless it is wanted `whole`."""
    return state.src[state.bMarks[number] + (0 if whole else state.tShift[number]) : state.eMarks[number]]


def _indented(state: StateBlock, line: str, start: int, end: int) -> _Found | None:
    match = _INDENTED.match(line)
    if match is None:
        return None
    margin = state.sCount[start] + 4
    last = start + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] >= margin):
        last += 1
    while state.isEmpty(last - 1):
        last -= 1
    title = match["tab"] or (named(match["kind"] or "") if match["title"] is None else match["title"])
    return title, start + 1, last, last, margin - state.blkIndent, None


def _enclosed(state: StateBlock, line: str, start: int, end: int) -> _Found | None:
    if match := re.match(r"(`{3,}|~{3,})", line):
        return _myst_note(state, line, match[1], start, end)
    match = next((found for opens in _ENCLOSED if (found := opens.match(line))), None)
    if match is None:
        return None
    mark, depth = match["mark"].lower(), 0
    for number in range(start, end):
        text = _line(state, number)
        closes = _CLOSING.match(text) or _CLOSING_SHORTCODE.search(text)
        if closes and closes[1].lower() == mark:
            depth -= 1
        elif any((found := opens.match(text)) and found["mark"].lower() == mark for opens in _ENCLOSED):
            depth += 1
        if depth == 0:
            break
    else:
        return None
    shortcode = line.startswith("{{")
    given = (match["title"] or match["tab"] or "").strip()
    if shortcode:
        attribute = _ATTRIBUTE.search(match["title"])
        given = (attribute[1] or attribute[2] or "") if attribute else ""
    title = given or named(match["kind"])
    first = start + 1
    while first < number and _OPTION.match(_line(state, first, whole=True)):
        first += 1
    inside = _CLOSING_SHORTCODE.sub("", _line(state, number)) if shortcode else ""
    if inside.strip():  # words before the closing mark
        inner = [_line(state, each) for each in range(first, number)] + [inside]
        return title, first, number, number + 1, 0, inner
    return title, first, number, number + 1, 0, None


def _myst_note(state: StateBlock, line: str, mark: str, start: int, end: int) -> _Found | None:
    match = _MYST_NOTE.match(line[len(mark) :])
    if match is None:
        return None
    last = next(
        (n for n in range(start + 1, end) if re.fullmatch(rf"{mark[0]}{{{len(mark)},}}\s*", _line(state, n))), end
    )
    first = start + 1
    while first < last and _OPTION.match(_line(state, first, whole=True)):
        first += 1
    return match["title"].strip() or named(match["kind"]), first, last, min(last + 1, end), 0, None


def _quoted(state: StateBlock, line: str, start: int, end: int) -> _Found | None:
    if not line.startswith(">") or not (match := _ALERT.match(line[1:].strip())):
        return None
    last = start + 1
    while last < end and _line(state, last).startswith(">"):
        last += 1
    inner = [re.sub(r"^> ?", "", _line(state, number)) for number in range(start + 1, last)]
    return match[2] or named(match[1]), start + 1, last, last, 0, inner


def _nested(state: StateBlock, lines: Sequence[str], first: int) -> None:
    """Parse lines by themselves, of which the first is number `first` of the document."""
    tokens: list[Token] = []
    state.md.block.parse("\n".join(lines), state.md, state.env, tokens)
    for token in tokens:
        token.map = [line + first for line in token.map] if token.map else None
        token.level += state.level
    state.tokens.extend(tokens)


_WIKI = re.compile(r"!?\[\[([^\[\]|\n]+?)(?:\\?\|([^\[\]\n]*))?\]\](?!\()")


def _wiki_link(state: StateInline, silent: bool) -> bool:
    """`[[page#section|words]]`; an embedded picture shows its name."""
    match = _WIKI.match(state.src, state.pos) if state.src.startswith(("[[", "![["), state.pos) else None
    if match is None:
        return False
    if not silent:
        picture = match[0].startswith("!")
        if not picture:
            state.push("link_open", "a", 1).attrSet("href", match[1].strip())
        else:
            state.push("link_open", "span", 1).attrSet("class", "picture")
        state.push("text", "", 0).content = match[1] if picture else (match[2] or match[1]).strip()
        state.push("link_close", "span" if picture else "a", -1)
    state.pos = match.end()
    return True


def _shortcode(state: StateInline, silent: bool) -> bool:
    """A shortcode of Hugo with words to show shows them."""
    match = _SHORTCODE.match(state.src, state.pos) if state.src.startswith("{{", state.pos) else None
    shown = _SHOWN.search(match[1]) if match else None
    if match is None or shown is None:
        return False
    if not silent:
        state.push("text", "", 0).content = shown[1].replace("-", " ") if "term_id" in shown[0] else shown[1]
    state.pos = match.end()
    return True
