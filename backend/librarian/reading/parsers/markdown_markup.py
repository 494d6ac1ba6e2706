"""What no reader of Markdown sees: targets of links that stand apart, and what site generators add to it, such as
admonitions' markers, tabs, includes and template tags.

The words that they show, such as an admonition's title, stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int, str]  #: start, end, reason

#: MkDocs `!!! note "Title"`, `??? tip "Title"`, `=== "Tab"`; group 1 is shown.
_MKDOCS = re.compile(r"^[ \t]*(?:!!!|\?\?\?\+?)[ \t]+[\w-]+(?:[ \t]+[\w-]+)*(?:[ \t]+\"([^\"\n]*)\")?[ \t]*$", re.M)
_TAB = re.compile(r"^[ \t]*===[!+]?[ \t]+\"([^\"\n]+)\"[ \t]*$", re.M)
#: Docusaurus, VitePress and MyST `:::note Title`, `:::tip[Title]`, `:::{note} Title`, and the closing `:::`.
_COLONS = re.compile(
    r"^[ \t]*:{3,}[ \t]*(?:\{?[\w-]+\}?(?:\[([^\]\n]*)\]|[ \t]+([^\n{}]*))?(?:\{[^{}\n]*\})?)?[ \t]*$", re.M
)
#: PyMdown blocks `/// note | Title`, and the closing `///`.
_SLASHES = re.compile(r"^[ \t]*/{3,}[ \t]*(?:[\w-]+(?:[ \t]*\|[ \t]*([^\n]*))?)?[ \t]*$", re.M)
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
_TEMPLATE = re.compile(r"\{%-?[ \t]*(?:end)?[a-z_]\w*(?:[^%\n]|%(?!\}))*%\}")


def markup_spans(text: str, start: int) -> Iterator[Span]:
    """The spans of such markup from `start` on, in no order; those inside code are found too."""
    if "!!!" in text or "???" in text:
        yield from _around_title(_MKDOCS, text, start)
    if '=== "' in text:
        yield from _around_title(_TAB, text, start)
    if ":::" in text:
        yield from _around_title(_COLONS, text, start)
    if "///" in text:
        yield from _around_title(_SLASHES, text, start)
    if "]:" in text:
        yield from _definitions(text, start)
    yield from ((match.start(), match.end(), "include") for match in _INCLUDE.finditer(text, start))
    if "{%" in text:
        yield from ((match.start(), match.end(), "shortcode") for match in _TEMPLATE.finditer(text, start))


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


def _around_title(pattern: re.Pattern[str], text: str, start: int) -> Iterator[Span]:
    for match in pattern.finditer(text, start):
        group = match.lastindex
        if group and match.group(group).strip():
            yield match.start(), match.start(group), "admonition"
            if match.end(group) < match.end():
                yield match.end(group), match.end(), "admonition"
        else:
            yield match.start(), match.end(), "admonition"
