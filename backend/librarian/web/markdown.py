"""Markdown to HTML, with the notes, tabs and wiki links of site generators. The result is not safe: clean it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

_KINDS = (
    "note|tip|hint|important|warning|caution|danger|error|attention|admonition|seealso|info|success|question|failure|bug"
    "|example|abstract|todo|alert|callout|details|dropdown"
)
#: Docusaurus and VitePress; PyMdown; Hugo; MyST: each ends with a line of its own. GitHub and Obsidian: a quote.
_OPENING = (
    re.compile(
        r"(?P<mark>:{3,}) *\{?\.?(?P<kind>[\w-]+)\}?(?:\[(?P<title>.*)\]| (?P<more>[^{}]*))?(?:\{[^{}]*\})?\s*$"
    ),
    re.compile(r"(?P<mark>/{3,}) *(?P<kind>[\w-]+)(?: *\|(?P<title>.*))?\s*$"),
    re.compile(rf"\{{\{{[<%] *(?P<mark>(?P<kind>{_KINDS}|tabs?))\b(?P<arguments>.*?)[>%]\}}\}} *$", re.IGNORECASE),
    re.compile(rf"(?P<mark>`{{3,}}|~{{3,}})\{{(?P<kind>{_KINDS})\}} *(?P<title>.*)$"),
    re.compile(r"(?P<mark>>) *\[!(?P<kind>[a-zA-Z][\w-]*)(?:\|[^\]]*)?\][+-]? *(?P<title>.*)$"),
)
_CLOSING = re.compile(
    r"(?P<inside>.*?)(?:(?P<mark>:{3,}|/{3,}|`{3,}|~{3,})|\{\{[<%] */ *(?P<name>[\w-]+) *[>%]\}\}) *$"
)
_TAB = re.compile(r'(\s*)===[!+]? +("(?:.+)")\s*$')  #: MkDocs
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
    if not numbers:
        text, numbers = _with_notes(text.split("\n"))
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
    parser.use(front_matter_plugin).use(deflist_plugin).use(footnote_plugin).use(admon_plugin)
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
        lines = state.src.split("\n")
        for token in state.tokens:
            if token.type.startswith("admonition"):
                token.attrs = {"class": "note-title" if token.tag == "p" else "note"}
            while token.type == "admonition_open" and token.map and not lines[token.map[1] - 1].strip():
                token.map[1] -= 1
            if token.map and numbers:
                token.map = [numbers[token.map[0]] - 1, numbers[max(token.map[1] - 1, token.map[0])]]
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


def _with_notes(lines: Sequence[str]) -> tuple[str, list[int]]:
    """The text with all notes and tabs written as MkDocs does, and of each line the number that it had."""
    closings = Counter(map(_closed, lines))
    rows, numbers = [], []
    open_: list[str] = []  # marks of notes
    code, is_fresh = "", False  # the mark of a fence; whether a note's options may follow
    for number, line in enumerate(lines, 1):
        margin, mark = "    " * len(open_), _closed(line)
        closings[mark] -= 1
        if open_[-1:] == [">"]:
            if line.lstrip().startswith(">"):
                line = re.sub(r"^\s*> ?", "", line)
            else:
                open_.pop()
                margin = margin[4:]
        bare = line.lstrip()
        found = None if code else next((match for opens in _OPENING if (match := opens.match(bare))), None)
        if code:
            code = "" if mark.startswith(code) else code
        elif is_fresh and _OPTION.match(line):
            line = ""
        elif mark and mark in open_[-1:]:
            open_.pop()
            line = _CLOSING.sub(r"\g<inside>", line)
        elif found and (found["mark"] == ">" or closings[found["mark"].lower()] > open_.count(found["mark"].lower())):
            open_.append(found["mark"].lower())
            indent = line[: len(line) - len(bare)]
            line = f'{indent}!!! {found["kind"].lower()} "{_title(found)}"'
        elif tab := _TAB.match(line):
            line = f"{tab[1]}!!! tab {tab[2]}"
        elif fence := re.match(r"`{3,}|~{3,}", bare):
            code = fence[0]
        is_fresh = bool(found) or (is_fresh and not line)
        rows.append(margin + line)
        numbers.append(number)
    return "\n".join(rows), numbers


def _closed(line: str) -> str:
    """What kind of mark ends a note in this line; empty where none does."""
    found = _CLOSING.fullmatch(line)
    alone = found is not None and (found["name"] or not found["inside"].strip())
    return (found["mark"] or found["name"]).lower() if found and alone else ""


def _title(found: re.Match[str]) -> str:
    given = found.groupdict()
    attribute = _ATTRIBUTE.search(given.get("arguments") or "")
    title = given.get("title") or given.get("more") or (attribute and (attribute[1] or attribute[2])) or ""
    return title.strip() or named(found["kind"])


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
