"""Markdown to HTML, with the notes, tabs and links of site generators. The result is not safe: clean it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
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
#: A note of Docusaurus, VitePress, PyMdown or MyST; a line with its mark alone closes it.
_NOTE = re.compile(
    rf"(?P<mark>:{{3,}}|/{{3,}}|(?:`{{3,}}|~{{3,}})(?=\{{(?:{_KINDS})\}})) *\{{?\.?(?P<kind>[\w-]+)\}}?"
    r" *(?:[\[|] *)?(?P<title>[^{}]*?)\]?(?:\{[^{}]*\})?$"
)
#: A note of Hugo; its name with a slash closes it.
_SHORTCODE_NOTE = re.compile(
    rf"\{{\{{[<%] *(?P<mark>(?P<kind>{_KINDS}|tabs?))\b(?P<title>.*?)[>%]\}}\}}$", re.IGNORECASE
)
_CLOSING = re.compile(r"(?P<mark>:{3,}|/{3,}|`{3,}|~{3,})|(?P<inside>.*?)\{\{[<%] */ *(?P<name>[\w-]+) *[>%]\}\}")
_ATTRIBUTE = re.compile(r'\b(?:title|name|tabname|summary)="([^"]*)"|^ *"([^"]*)"')
_OPTION = re.compile(r"(?: {4}|:)[\w-]+:(?: |$)")  #: below the first line of a note
_ALERT = re.compile(r"(\s*(?:> ?)+)\[!([a-zA-Z][\w-]*)(?:\|[^\]]*)?\][+-]? *(.*)$")  #: GitHub and Obsidian
_TAB = re.compile(r'(\s*)===[!+]? +(?=".+"\s*$)')  #: MkDocs
_TASK = re.compile(r"(\s*(?:[-*+]|\d+[.)])\s+)\[([ xX])\]\s")
_NAMELESS = re.compile(
    r"code-group|tabs?|tab-set|tab-item|tabitem|steps|raw|v-pre|grid|columns?|container|admonition|alert", re.IGNORECASE
)
_WIKI = re.compile(r"!?\[\[([^\[\]|\n]+?)(?:\\?\|([^\[\]\n]*))?\]\](?!\()")
#: Of Hugo, with words to show.
_SHORTCODE = re.compile(r'\{\{[<%] *[\w-]+ [^<>{}]*?\b(text|title|term_id)="([^"<>{}]*)"[^<>{}]*[>%]\}\}')
_TAG = re.compile(r"<(?:p|div|table|t[rdh]|[uod]l|li|d[td]|h[1-6]|pre|blockquote|details)\b", re.IGNORECASE)
_LINE = "<!-- -->"  #: what begins with a comment is HTML up to the end of its line


def markdown(text: str) -> str:
    """HTML of Markdown; blocks say in `data-line` at which line of `text` they begin, counted from 1."""
    html: str = _parser().render(_boxed(text))
    return html


def written(text: str) -> str:
    """HTML of what a parser wrote out of another format: headings, lists, tables and fences, in which no sign is
    markup."""
    html: str = _parser(written=True).render(text)
    return html


@cache
def _parser(*, written: bool = False) -> MarkdownIt:
    if written:
        parser = MarkdownIt("zero").enable(["table", "fence", "list", "heading", "hr"])
    else:
        parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        parser.use(front_matter_plugin).use(deflist_plugin).use(footnote_plugin).use(admon_plugin)
        parser.inline.ruler.before("link", "site", _site_link)
        parser.add_render_rule("front_matter", _front_matter)
    parser.core.ruler.push("lines", _number)
    return parser


def _number(state: StateCore) -> None:
    """Say of each block at which line it begins, and of code its language as a title."""
    for token in state.tokens:
        first = token.map[0] + 1 if token.map else 0
        if token.type == "html_block":
            lines = enumerate(token.content.split("\n"), first)
            token.content = "\n".join(_TAG.sub(rf'\g<0> data-line="{number}"', line) for number, line in lines)
        elif token.map and (token.nesting == 1 or token.type in ("hr", "fence", "code_block")):
            token.attrSet("data-line", str(first))
        if token.type in ("fence", "code_block"):
            token.content = token.content.rstrip("\n")
            token.attrSet("title", re.split(r"[\s{,]", token.info.strip().strip("{}"), maxsplit=1)[0])
            token.info = ""


def _front_matter(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    body = f'<pre class="code-lines">{escapeHtml(tokens[index].content)}</pre>'
    return f'<details class="front" data-line="1"><summary>Front matter</summary>{body}</details>'


def _site_link(state: StateInline, silent: bool) -> bool:
    """`[[page#section|words]]`; an embedded picture and a shortcode of Hugo show their words."""
    match = _WIKI.match(state.src, state.pos) or _SHORTCODE.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        target, words = (escapeHtml((part or "").strip()) for part in match.groups())
        made = f'<a href="{target}">{words or target}</a>'
        if match[0].startswith("!"):
            made = f'<span class="picture">{target}</span>'
        elif match[0].startswith("{"):
            made = words.replace("-", " ") if target == "term_id" else words
        state.push("html_inline", "", 0).content = made
    state.pos = match.end()
    return True


# -- notes of site generators


def named(kind: str) -> str:
    """What a note of a kind is called; empty where its kind says nothing."""
    return "" if _NAMELESS.fullmatch(kind) else kind.capitalize().replace("eealso", "ee also")


def _boxed(text: str) -> str:
    """The same lines with notes and tabs as boxes of HTML or as MkDocs writes them, and tasks with boxes to tick."""
    rows: list[str] = []
    open_: list[tuple[str, int, str]] = []  # the mark of each note, its first line, and what stands there
    unclosed: list[tuple[str, int, str]] = []
    code, is_fresh = "", False  # the mark of a fence; whether a note's options may follow
    for line in text.split("\n"):
        bare = line.strip()
        indent = line[: len(line) - len(line.lstrip())]
        closing, opening = _CLOSING.fullmatch(bare), _NOTE.match(bare) or _SHORTCODE_NOTE.match(bare)
        mark = (closing["mark"] or closing["name"]).lower() if closing else ""
        marks = [one for one, _, _ in open_]
        if code:
            code = "" if closing and mark.startswith(code) else code
        elif is_fresh and _OPTION.match(line):
            line = ""
        elif closing and mark in marks:
            while open_[-1][0] != mark:
                unclosed.append(open_.pop())
            open_.pop()
            line = f"{indent}{closing['inside'] or _LINE}</div>"
        elif opening:
            open_.append((opening["mark"].lower(), len(rows), line))
            line = f'{indent}{_LINE}<div class="admonition">{_titled(opening["kind"], opening["title"])}'
        elif fence := re.match(r"`{3,}|~{3,}", bare):
            code = fence[0]
        elif alert := _ALERT.match(line):
            line = f"{alert[1]}{_LINE}{_titled(alert[2], alert[3])}"
        else:
            line = _TASK.sub(lambda task: f"{task[1]}{'☐' if task[2] == ' ' else '☑'} ", _TAB.sub(r"\1!!! tab ", line))
        is_fresh = bool(opening) or (is_fresh and not line)
        rows.append(line)
    for _, row, line in unclosed + open_:
        rows[row] = line
    return "\n".join(rows)


def _titled(kind: str, title: str) -> str:
    """The title of a note, given as words or as an attribute, else its kind."""
    given = _ATTRIBUTE.search(title)
    title = given[1] or given[2] if given else re.sub(r'[\w-]+=(?:"[^"]*"|\S+)', "", title)
    shown: str = _parser().renderInline(title.strip() or named(kind))
    return f'<p class="admonition-title">{shown}</p>' if shown else ""
