"""What no reader of Markdown sees: targets of links that stand apart, and what site generators add to it, such as
admonitions' markers, tabs, includes, template tags and the brackets of a wiki's links.

The words that they show, such as an admonition's title, stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from ..text.characters import is_of_word
from .mdx import around_shown

Span = tuple[int, int, str]  #: start, end, reason

#: MkDocs `!!! note "Title"`, `??? tip "Title"`, `??? "Title"`, `=== "Tab"`; group 1 is shown.
_MKDOCS = re.compile(
    r"^[ \t]*(?:!!!|\?\?\?\+?)(?=[ \t]+[\w-]|[ \t]*\")(?:[ \t]+[\w-]+(?:[ \t]+[\w-]+)*)?(?:[ \t]*\"([^\n]*)\")?[ \t]*$",
    re.M,
)
_TAB_MARKUP = re.compile(r"^[ \t]*===[!+]?[ \t]+\"([^\"\n]+)\"[ \t]*$", re.M)
#: Docusaurus, VitePress and MyST `:::note Title`, `:::tip[Title]`, `:::{note} Title`, and the closing `:::`.
_COLONS = re.compile(
    r"^[ \t]*:{3,}[ \t]*(?:\{?[\w-]+\}?(?:\[([^\]\n]*)\]|[ \t]+([^\n{}]*))?(?:\{[^{}\n]*\})?)?[ \t]*$", re.M
)
#: PyMdown blocks `/// note | Title`, and the closing `///`.
_SLASHES = re.compile(r"^[ \t]*/{3,}[ \t]*(?:[\w-]+(?:[ \t]*\|[ \t]*([^\n]*))?)?[ \t]*$", re.M)
#: Marks of quotes that are notes, GitHub's, Obsidian's and Microsoft's: `> [!tip]- Title`, `> [!div class="a"]`.
_CALLOUT = re.compile(
    r"^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,8})?>[ \t>]*"
    r"(\[!(?=[a-z])[\w-]+(?:\|[^\[\]\n]*|[ \t]+\w+=\"[^\"\n]*\")?\][+-]?)(?=[ \t\n]|\Z)",
    re.M | re.I,
)
_INCLUDE = re.compile(
    r"^[ \t]*(?:\{\*[ \t][^\n]*\*\}|\{![^\n]*!\}|-{1,2}8<-{1,2}[^\n]*|;?-*8<-*[^\n]*|\{\{#[\w-]+[^\n]*\}\}"
    r"|\[TOC\]|\[\[_?toc_?\]\])[ \t]*$",
    re.M | re.I,
)
#: `[label]: target "Title"`, a line of its own at the head of a paragraph or below another one; not `[^1]: a footnote`,
#: nor a word in brackets with another behind it.
_DEFINITION = re.compile(
    r"^ {0,3}\[(?!\^)(?:[^\[\]\n\\]|\\[^\n]){1,200}\]:[ \t]*(?:<[^<>\n]*>|(?=[^\s]*[/.#:])[^\s<>]+)"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$",
    re.M,
)
#: Attributes of what stands before: kramdown's `{: #id .class}`, Pandoc's and PyMdown's `{#id .class key="value"}`.
_VALUE = r"(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s{}\"']+)"
_ATTRIBUTES = re.compile(
    rf"\{{:[^{{}}\n]*\}}"
    rf"|\{{[ \t]*(?:#[^\s{{}}#\"'=]+|\.[\w:.-]+)(?:[ \t]+(?:[#.][\w:.-]+|[\w:-]+(?:={_VALUE})?))*[ \t]*\}}"
)
#: Icons of Material for MkDocs.
_ICON = re.compile(r":(?:material|octicons|fontawesome|simple)-[a-z0-9-]+:")
#: Tags of HTML that lay a page out, one behind the other, and any other that has a value in quotes, closes one or
#: stands for a component (`<Badge />`); `<token>` and the like are words of the text.
_TAG = (
    r"(?:</?(?:a|b|blockquote|br|caption|center|code|col|colgroup|dd|del|details|div|dl|dt|em|figcaption|figure|font|h[1-6]|"
    r"hr|i|iframe|img|ins|kbd|li|mark|nobr|ol|p|picture|pre|s|samp|section|small|source|span|strong|sub|summary|sup|"
    r"table|tbody|td|tfoot|th|thead|tr|u|ul|video)"
    r"(?:\s[^<>=]*=[^<>]*|\s+(?:markdown|open|hidden|controls|nowrap|v-[\w-]+))?\s*/?>"
    r"|<[a-z][\w.-]*\s[^<>=]*=\s*[\"'][^<>]*>|</[a-z][\w.-]*\s*>|(?-i:<[A-Z]\w*\s*/>))"
)
_TAGS = re.compile(rf"(?<!\\){_TAG}(?:[ \t]*\n? {{0,3}}{_TAG})*", re.I)
_ENTITY = re.compile(r"&(?:nbsp|ensp|emsp|thinsp|quot|apos|amp|lt|gt|[lr][ds]quo|[mn]dash|hellip|#\d{2,6});")
#: Obsidian's and other wikis' `[[Page#Heading|shown]]` and `![[embedded]]`; not a link's text in brackets of its own.
#: In a table the bar stands behind a backslash. Blanks inside are those of shells and lists.
_WIKI_LINK = re.compile(
    r"(!?)\[\[(?=[^\s|])([^\[\]|#\n]{0,200})(#[^\[\]|\n]{0,200})?(?:\|([^\[\]\n]{0,200}))?(?<!\s)\]\](?![(\[])"
)
#: A file that is shown as a picture or player, perhaps with a size for its text.
_FILE = re.compile(r"[^#]*\.(?!md$)[a-z]\w{1,4}\\?", re.I)
_SIZE = re.compile(r"\d+(?:x\d+)?")
#: MyST's `(target)=` and `+++` between cells, and the names of its roles: `{ref}`words``.
_MYST_LINE = re.compile(r"^(?:\([\w.:/-]+\)=|\+\+\+(?:[ \t]+\{[^\n]*\})?)[ \t]*$", re.M)
_MYST_ROLE = re.compile(r"\{[a-z][\w+:.-]{0,40}\}(?=`+[^`\s])")
#: What stands in angle brackets behind a role's words, unless the role shows its words as they are.
_MYST_TARGET = re.compile(
    r"\{(?!(?:code|eval|file|kbd|math|samp|sub|sup)\})[a-z][\w+:.-]{0,40}\}(`+)[^`<>]{0,300}?[^`<>\s]\s*(<[^<>`]{1,300}>)\1(?!`)"
)
#: Scripts and styles of a page, as VitePress has them, and Obsidian's comments.
_SILENT = re.compile(r"^(?:<(script|style)\b[^<>]*>|(%%)(?!%))", re.M)
_SILENT_ENDS = {
    "script": re.compile("</script>"),
    "style": re.compile("</style>"),
    "%%": re.compile(r"%%[ \t]*$", re.M),
}
_LONGEST_SILENT = 20_000  #: characters
#: Options of a directive of MyST, right below its line; a picture's text is shown.
_MYST_OPTIONS = re.compile(
    r"^[ \t]*(?::{3,}|`{3,}|~{3,})[ \t]*\{[\w:-]+\}[^\n]*\n((?:[ \t]*:(?!alt:)[\w-]+:(?:[ \t][^\n]*)?(?:\n|$))+)", re.M
)
_TEMPLATE = re.compile(r"\{%-?[ \t]*(?:end)?[a-z_]\w*(?:[^%\n]|%(?!\}))*%\}")


#: Signs of which a text must hold one, pattern, reason; the first group is hidden, or the whole match.
_HIDDEN = (
    (("[!",), _CALLOUT, "admonition"),
    (("{*", "{!", "8<", "{{#", "[TOC", "[toc", "[Toc", "[[_"), _INCLUDE, "include"),
    (("{:", "{.", "{#", "{ .", "{ #"), _ATTRIBUTES, "attributes"),
    ((":material-", ":octicons-", ":fontawesome-", ":simple-"), _ICON, "icon"),
    ((")=", "\n+++"), _MYST_LINE, "target"),
    ((":::", "```", "~~~"), _MYST_OPTIONS, "option"),
    (("}`",), _MYST_ROLE, "role"),
)
#: Lines of which a title is shown, the first group.
_TITLED = (("!!!", _MKDOCS), ("???", _MKDOCS), ('=== "', _TAB_MARKUP), (":::", _COLONS), ("///", _SLASHES))


def markup_spans(text: str, start: int) -> Iterator[Span]:
    """The spans of such markup from `start` on, in no order; those inside code are found too."""
    for pattern in dict.fromkeys(pattern for sign, pattern in _TITLED if sign in text):
        yield from _around_title(pattern, text, start)
    for signs, pattern, reason in _HIDDEN:
        if any(sign in text for sign in signs):
            yield from ((*match.span(match.lastindex or 0), reason) for match in pattern.finditer(text, start))
    for sign, pattern in (("<", _TAGS), ("{%", _TEMPLATE)):
        for match in pattern.finditer(text, start) if sign in text else ():
            yield from around_shown(text, *match.span())
    if "]:" in text:
        yield from _definitions(text, start)
    yield from silent_spans(text, start)
    for match in _ENTITY.finditer(text, start) if "&" in text else ():
        if not is_of_word(unescape(match.group())):
            yield *match.span(), "entity"
    for match in _WIKI_LINK.finditer(text, start) if "[[" in text else ():
        yield from _around_link(match)


def role_targets(text: str, start: int) -> Iterator[tuple[int, Span]]:
    """Where roles of MyST begin, and what they say beside their words of where they lead: {ref}`words <target>`."""
    if "}`" in text and ">`" in text:
        for match in _MYST_TARGET.finditer(text, start):
            yield match.start(), (*match.span(2), "role")


def silent_spans(text: str, start: int) -> Iterator[Span]:
    """Scripts, styles and Obsidian's comments, in their order."""
    if not any(sign in text for sign in ("<script", "<style", "%%")):
        return
    ends: dict[str, int] = {}  # where each kind is closed next; nothing is looked for twice
    for opening in _SILENT.finditer(text, start):
        kind = opening.group(1) or "%%"
        if 0 <= ends.get(kind, 0) < opening.end():
            closing = _SILENT_ENDS[kind].search(text, opening.end())
            ends[kind] = closing.end() if closing else -1
        if opening.end() < ends[kind] <= opening.start() + _LONGEST_SILENT:
            yield opening.start(), ends[kind], "comment"


def _definitions(text: str, start: int) -> Iterator[Span]:
    """Runs of lines: what lies between two is blank, and no passage is to be made of blanks."""
    begun = reached = -1
    for match in _DEFINITION.finditer(text, start):
        first = match.start()
        above = text[max(start, text.rfind("\n", start, max(start, first - 1)) + 1) : first]
        if begun >= 0 and text[reached:first].isspace():
            reached = match.end()
        elif not above.strip() or above.startswith("#"):
            if begun >= 0:
                yield begun, reached, "link definition"
            begun, reached = first, match.end()
    if begun >= 0:
        yield begun, reached, "link definition"


def _around_link(match: re.Match[str]) -> Iterator[Span]:
    """What a wiki's link says of where it leads; shown is its text, or the names of the page and the heading."""
    embeds, page, heading, words = match.groups()
    is_file = embeds and _FILE.fullmatch(page)
    is_block = heading is not None and heading.startswith("#^")
    if words and not (is_file and _SIZE.fullmatch(words)):
        first, last = match.span(4)
    elif is_file or (is_block and not page):
        first = last = match.end()
    else:
        first = match.start(2) if page else match.start(3) + 1
        last = match.end(3) if heading and not is_block else match.end(2)
    yield match.start(), first, "wiki link"
    if last < match.end():
        yield last, match.end(), "wiki link"


def _around_title(pattern: re.Pattern[str], text: str, start: int) -> Iterator[Span]:
    for match in pattern.finditer(text, start):
        group = match.lastindex
        if group and match.group(group).strip():
            yield match.start(), match.start(group), "admonition"
            if match.end(group) < match.end():
                yield match.end(group), match.end(), "admonition"
        else:
            yield match.start(), match.end(), "admonition"
