"""What no reader of Markdown sees: comments, tags, where links lead, and what site generators and MDX add.

A table of rules says how such markup looks. The words that it shows, such as an admonition's title, stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from ..text.characters import is_of_word
from .spans import Intervals, SourceSpan, in_order

Span = tuple[int, int, str]  #: start, end, reason


class _Rule(NamedTuple):
    """Markup that a text may hold if one of the `signs` is in it.

    Of a match, all is hidden but its groups that hold words, or what `shown` finds in it; where it has a group
    `hidden`, that alone is.
    """

    signs: list[str]
    pattern: re.Pattern[str]
    reason: str
    shown: re.Pattern[str] | None


def _rule(signs: str, pattern: str, reason: str, shown: re.Pattern[str] | None = None) -> _Rule:
    return _Rule(signs.split(), re.compile(pattern, re.M), reason, shown)


#: Strings, and brackets inside each other, of JavaScript; the first that fits is taken, so that none is read twice.
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\]|\\.)*+`"
_BRACKETS = ""
for _ in range(8):
    _BRACKETS = rf"[(\[{{](?>{_QUOTED}|[^()\[\]{{}}]{_BRACKETS and '|'}{_BRACKETS})*+[)\]}}]"
_REST_OF_TAG = rf"(?:\s(?>{_QUOTED}|[^()\[\]{{}}<>\n]|\n(?![ \t]*\n)|{_BRACKETS})*+)?+/?>"
#: Lines of nothing but tags of MDX, which may be fragments'.
TAGS_OF_MDX = re.compile(rf"(?:[ \t]*</?(?:[A-Za-z][\w.-]*)?{_REST_OF_TAG})+[ \t]*$", re.M)

#: Tags of HTML that lay a page out, one behind the other, and any other that has a value in quotes, closes one or
#: stands for a component (`<Badge />`); `<token>` and the like are words of the text.
_TAG = (
    r"(?:</?(?:a|b|blockquote|br|caption|center|code|col|colgroup|dd|del|details|div|dl|dt|em|figcaption|figure|font|h[1-6]|"
    r"hr|i|iframe|img|ins|kbd|li|mark|nobr|ol|p|picture|pre|s|samp|section|small|source|span|strong|sub|summary|sup|"
    r"table|tbody|td|tfoot|th|thead|tr|u|ul|video)"
    r"(?:\s[^<>=]*=[^<>]*|\s+(?:markdown|open|hidden|controls|nowrap|v-[\w-]+))?\s*/?>"
    r"|<[a-z][\w.-]*\s[^<>=]*=\s*[\"'][^<>]*>|</[a-z][\w.-]*\s*>|(?-i:<[A-Z]\w*\s*/>))"
)
#: Attributes of tags and of template tags that are shown, and of Hugo's shortcodes, which may have no names.
_SHOWN = re.compile(
    r"\b(?:title|label|caption|alt|text|heading|description|summary|content)[ \t]*[=:][ \t]*"
    r"\{?(?:\"([^\"\n]+)\"|'([^'\n]+)')"
)
_SHOWN_BY_HUGO = re.compile(
    r"(?:\b(?:text|title|caption|alt|name|header)\s*=\s*|(?<![=\w\"])(?<!=\s))\"([^\"]*[^\W\d_][^\"]*)\""
)
_SHOWS = (
    r"(?:heading|glossary_tooltip|figure|tab|table|caption|button|card|admonition|alert|callout|details|"
    r"version-check)\b"
)
#: Attributes of what stands before: kramdown's `{: #id .class}`, Pandoc's and PyMdown's `{#id .class key="value"}`.
_VALUE = r"(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s{}\"']+)"
_ATTRIBUTES = (
    rf"\{{:[^{{}}\n]*\}}"
    rf"|\{{[ \t]*(?:#[^\s{{}}#\"'=]+|\.[\w:.-]+)(?:[ \t]+(?:[#.][\w:.-]+|[\w:-]+(?:={_VALUE})?))*[ \t]*\}}"
)
#: Obsidian's and other wikis' `[[Page#Heading|shown]]` and `![[embedded]]`; not a link's text in brackets of its own.
#: Of an embedded file only a text is shown, which is no size. In a table the bar stands behind a backslash. Blanks
#: inside are those of shells and lists.
_WIKI_LINK = (
    r"!\[\[[^\[\]|#\n]{0,200}\.(?!md[\]|#\\])[a-z]\w{1,4}(?:#[^\[\]|\n]{0,200})?"
    r"(?:\\?\|(?:\d+(?:x\d+)?|([^\[\]|\n]{1,200})))?\]\]"
    r"|!?\[\[(?=[^\s|])(?:[^\[\]|\n]{0,400}\|([^\[\]|\n]{0,200})|#\^[^\[\]|\n]{0,200}"
    r"|#?([^\[\]|#\n]{1,200}(?:#(?!\^)[^\[\]|\n]{0,200})?)(?:#\^[^\[\]|\n]{0,200})?)(?<!\s)\]\](?![(\[])"
)

#: Behind each the number of pages that need it, of 2,406 in the manuals of Kubernetes (1,363), Ray (184), FastAPI
#: (155), Obsidian (149), Prometheus (100), Material for MkDocs (96), MyST (27), Starlight (21) and of packages.
_RULES = (
    # MkDocs: `!!! note "Title"`, `??? tip "Title"`, `??? "Title"`, `=== "Tab"` (46 and 43)
    _rule(
        "!!! ???",
        r"^[ \t]*(?:!!!|\?\?\?\+?)(?=[ \t]+[\w-]|[ \t]*\")(?:[ \t]+[\w-]+(?:[ \t]+[\w-]+)*)?"
        r"(?:[ \t]*\"([^\n]*)\")?[ \t]*$",
        "admonition",
    ),
    _rule("===", r"^[ \t]*===[!+]?[ \t]+\"([^\"\n]+)\"[ \t]*$", "admonition"),
    # Docusaurus, VitePress and MyST: `:::note Title`, `:::tip[Title]`, `:::{note} Title`, and the closing `:::` (77)
    _rule(
        ":::",
        r"^[ \t]*:{3,}[ \t]*(?:\{?[\w-]+\}?(?:\[([^\]\n]*)\]|[ \t]+([^\n{}]*))?(?:\{[^{}\n]*\})?)?[ \t]*$",
        "admonition",
    ),
    # PyMdown's blocks: `/// note | Title`, and the closing `///` (102)
    _rule("///", r"^[ \t]*/{3,}[ \t]*(?:[\w-]+(?:[ \t]*\|[ \t]*([^\n]*))?)?[ \t]*$", "admonition"),
    # Quotes that are notes, GitHub's, Obsidian's and Microsoft's: `> [!tip]- Title`, `> [!div class="a"]` (93)
    _rule(
        "[!",
        r"(?i)^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,8})?>[ \t>]*"
        r"(?P<hidden>\[!(?=[a-z])[\w-]+(?:\|[^\[\]\n]*|[ \t]+\w+=\"[^\"\n]*\")?\][+-]?)(?=[ \t\n]|\Z)",
        "admonition",
    ),
    _rule(  # (90)
        "{* {! 8< {{# [TOC [toc [Toc [[_",
        r"(?i)^[ \t]*(?:\{\*[ \t][^\n]*\*\}|\{![^\n]*!\}|-{1,2}8<-{1,2}[^\n]*|;?-*8<-*[^\n]*|\{\{#[\w-]+[^\n]*\}\}"
        r"|\[TOC\]|\[\[_?toc_?\]\])[ \t]*$",
        "include",
    ),
    _Rule(["{:", "{.", "{#", "{ .", "{ #"], re.compile(_ATTRIBUTES), "attributes", None),  # (425)
    # Icons of Material for MkDocs (55)
    _rule(
        ":material- :octicons- :fontawesome- :simple-", r":(?:material|octicons|fontawesome|simple)-[a-z0-9-]+:", "icon"
    ),
    # MyST: targets `(target)=`, `+++` between cells (151), options right below a directive's line, but a picture's
    # text (22), names of roles (96) and where they lead (65), unless the role shows its words as they are
    _rule(")= +++", r"^(?:\([\w.:/-]+\)=|\+\+\+(?:[ \t]+\{[^\n]*\})?)[ \t]*$", "target"),
    _rule(
        "::: ``` ~~~",
        r"^[ \t]*(?::{3,}|`{3,}|~{3,})[ \t]*\{[\w:-]+\}[^\n]*\n"
        r"(?P<hidden>(?:[ \t]*:(?!alt:)[\w-]+:(?:[ \t][^\n]*)?(?:\n|$))+)",
        "option",
    ),
    _rule("}`", r"\{[a-z][\w+:.-]{0,40}\}(?=`+[^`\s])", "role"),
    _rule("<", rf"(?i)(?<!\\){_TAG}(?:[ \t]*\n? {{0,3}}{_TAG})*", "shortcode", _SHOWN),  # (663)
    # Jekyll's and Liquid's tags (482)
    _rule("{%", r"\{%-?[ \t]*(?:end)?[a-z_]\w*(?:[^%\n]|%(?!\}))*%\}", "shortcode", _SHOWN),
    _rule("[[", rf"(?i){_WIKI_LINK}", "wiki link"),  # (153)
)
_ROLE_TARGET = re.compile(
    r"\{(?!(?:code|eval|file|kbd|math|samp|sub|sup)\})[a-z][\w+:.-]{0,40}\}(`+)[^`<>]{0,300}?[^`<>\s]\s*(<[^<>`]{1,300}>)\1(?!`)"
)
#: Hugo's, which are resolved in code spans too (743).
_SHORTCODE = (
    r"\{\{(?:<(?!\s*/\*)%s(?:[^{>]|\{(?!\{)|>(?!\}\}))*+>|%%(?!\s*/\*)%s(?:[^{%%]|\{(?!\{)|%%(?!\}\}))*+%%)\}\}"
)
_SHORTCODES = (
    _rule("{{", _SHORTCODE % ((rf"\s*{_SHOWS}",) * 2), "shortcode", _SHOWN_BY_HUGO),
    _rule("{{", _SHORTCODE % ((rf"(?!\s*{_SHOWS})",) * 2), "shortcode"),
)
_ENTITY = re.compile(r"&(?:nbsp|ensp|emsp|thinsp|quot|apos|amp|lt|gt|[lr][ds]quo|[mn]dash|hellip|#\d{2,6});")  # (253)
#: Statements and components of MDX; an export ends with the line on which its brackets are closed.
_IMPORT = _rule(
    "import",
    r"^import[ \t]+(?:[^\n{}'\"]*(?:\{[^{}'\"]*\}[^\n{}'\"]*)?\bfrom[ \t]*)?['\"][^'\"\n]+['\"];?[ \t]*$",
    "shortcode",
)
_OF_MDX = (
    _IMPORT,
    _rule(
        "export",
        rf"^export[ \t]+(?:const|let|default|function)\b(?>{_QUOTED}|=>?[ \t]*\n|[^\n()\[\]{{}}]|{_BRACKETS})*+[^\n]*",
        "shortcode",
    ),
    _rule("<", rf"(?<!\\)</?[A-Z][\w.]*{_REST_OF_TAG}", "shortcode", _SHOWN),
)
#: What is hidden from an opening to the closing behind it. `%%` are Obsidian's; VitePress has scripts and styles.
_ENCLOSED = (
    (re.compile("<!--"), re.compile("-->")),
    (re.compile(r"\{\{[<%]\s*comment\s*[>%]\}\}"), re.compile(r"\{\{[<%]\s*/\s*comment\s*[>%]\}\}")),
    (re.compile(r"^<script\b[^<>]*>", re.M), re.compile("</script>")),
    (re.compile(r"^<style\b[^<>]*>", re.M), re.compile("</style>")),
    (re.compile(r"^%%(?!%)", re.M), re.compile(r"%%[ \t]*$", re.M)),
)
_LONGEST = 20_000  #: characters
#: Of MDX; not Go's `{{/* remark */}}`.
_REMARK = (re.compile(r"(?<!\{)\{/\*"), re.compile(r"\*/\}"))


def is_mdx(text: str, start: int, code: Intervals, spans_of_code: Intervals) -> bool:
    """Whether a page is MDX whatever its file is called, as Docusaurus takes it: it imports, or holds a remark of MDX,
    outside code and scripts."""
    if "{/*" not in text and "import" not in text:
        return False
    silent = Intervals(in_order(_enclosed(text, start, (code, spans_of_code))))
    found = [match.start() for match in _IMPORT.pattern.finditer(text, start)]
    found += [first for first, _ in _between(text, start, (code, spans_of_code), *_REMARK)]
    return any(not any(place in known for known in (code, spans_of_code, silent)) for place in found)


def hidden_spans(text: str, start: int, code: Intervals, spans_of_code: Intervals, *, mdx: bool) -> Iterator[Span]:
    """The spans of such markup from `start` on that don't begin in code, in no order."""
    for rule in _SHORTCODES if "{{" in text else ():
        yield from _matches(rule, text, start)
    places = (code, spans_of_code)
    found = [(first, last, "comment") for first, last in _enclosed(text, start, places)]
    for rule in (*_RULES, *(_OF_MDX if mdx else ())):
        if any(sign in text for sign in rule.signs):
            found += _matches(rule, text, start)
    if mdx:
        found += [(first, last, "comment") for first, last in _between(text, start, places, *_REMARK)]
    for match in _ENTITY.finditer(text, start) if "&" in text else ():
        if not is_of_word(unescape(match.group())):
            found.append((*match.span(), "entity"))
    yield from (span for span in found if span[0] not in spans_of_code)
    for match in _ROLE_TARGET.finditer(text, start) if "}`" in text and ">`" in text else ():
        if match.start() not in spans_of_code:
            yield *match.span(2), "role"


def _matches(rule: _Rule, text: str, start: int) -> Iterator[Span]:
    for match in rule.pattern.finditer(text, start):
        if "hidden" in rule.pattern.groupindex:
            yield *match.span("hidden"), rule.reason
            continue
        first, end = match.span()
        inner = rule.shown.finditer(text, first, end) if rule.shown else (match,) if match.lastindex else ()
        shown = [one.span(one.lastindex or 0) for one in inner if one[one.lastindex or 0].strip()]
        for before, behind in [*shown, (end, end)]:
            if first < before:
                yield first, before, rule.reason
            first = behind


def _enclosed(text: str, start: int, code: tuple[Intervals, Intervals]) -> Iterator[SourceSpan]:
    for opening, closing in _ENCLOSED:
        yield from _between(text, start, code, opening, closing)


def _between(
    text: str, start: int, code: tuple[Intervals, Intervals], opening: re.Pattern[str], closing: re.Pattern[str]
) -> Iterator[SourceSpan]:
    """From each opening outside code to the closing near behind it; nothing is looked for twice."""
    end = closing.search(text, start)
    while end and (begun := opening.search(text, start)):
        first, start = begun.span()
        if any(first in known for known in code):
            continue
        if end.start() < start:
            end = closing.search(text, start)
        if end and end.end() < first + _LONGEST:
            start = end.end()
            yield first, start
