"""Code in Markdown that stands between tags of a site generator, or doesn't although a fence is around it."""

from __future__ import annotations

import re

#: What shows code in Hugo and in Jekyll, opened by a tag of its own.
_HIGHLIGHT = re.compile(r"(\{\{<|\{\{%|\{%-?)[ \t]*highlight\b[^\n}]*[%>]\}[ \t}]*$")
#: Tabs of Docsy, which hold code unless told otherwise; those of other themes where they name its language.
_PANE = re.compile(r"\{\{<[ \t]*(/?)[ \t]*tabpane\b([^\n}]*)>\}\}[ \t]*$")
_TAB_TAG = re.compile(r"\{\{<[ \t]*tab\b([^\n}]*)>\}\}[ \t]*$")
_TAB_CLOSING = re.compile(r"^[ \t]*\{\{<[ \t]*/[ \t]*tab\b", re.M)
_IS_TEXT = re.compile(r"\btext[ \t]*=[ \t]*\"?true")
_INNER_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.M)
#: Directives of MyST whose bodies are text.
_PROSE = re.compile(
    r"[`~]{3,}[ \t]*\{(?:note|tip|hint|important|warning|caution|danger|error|attention|admonition|seealso|todo|topic|"
    r"sidebar|margin|dropdown|details|card|card-carousel|grid|grid-item|grid-item-card|tab-set|tab-item|tabbed|panels|"
    r"epigraph|pull-quote|container|div|aside|only|versionadded|versionchanged|deprecated|exercise|solution|prf:[\w-]+)\}"
    r"[ \t]*([^\n]*?)[ \t]*$"
)
#: A formula that begins a paragraph and isn't closed in it yet: a line of `=` or `-` below is its own.
OPEN_FORMULA = re.compile(r"\s*\$\$(?=[^$]{0,2000}\Z)")
_WORDS = re.compile(r"(?=[^\n]*\w)(?!(?:auto|\d+)(?:[ \t]+(?:auto|\d+))*$)[^\n]+")


class CodeTags:
    """Asked about each line that begins with a brace, in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._holds_code = False  # whether the open tabs do
        self._next: dict[str, int] = {}  # where each kind of tag was found last; -1 where the rest of the text has none

    def closing(self, first: int, end: int, column: int) -> int:
        """Where the tag begins that closes the code opened by the line `first` to `end`; -1 where it opens none."""
        text = self._text
        if column == 0 and (opening := _HIGHLIGHT.match(text, first, end)):
            mark = r"\{%-?[ \t]*end" if opening[1].startswith("{%") else re.escape(opening[1]) + r"[ \t]*/[ \t]*"
            return self._found(re.compile(rf"^[ \t]*{mark}highlight\b", re.M), end, opening[1])
        if pane := _PANE.match(text, first, end):
            self._holds_code = not pane[1] and _IS_TEXT.search(pane[2]) is None
        tab = _TAB_TAG.match(text, first, end)
        if tab is None or _IS_TEXT.search(tab[1]) or not (self._holds_code or "codelang" in tab[1]):
            return -1
        closing = self._found(_TAB_CLOSING, end, "tab")
        return -1 if 0 <= self._found(_INNER_FENCE, end, "fence") < closing else closing

    def _found(self, pattern: re.Pattern[str], start: int, name: str) -> int:
        """Where the pattern is found next, -1 where it isn't; nothing is looked through twice."""
        known = self._next.get(name, 0)
        if 0 <= known < start:
            found = pattern.search(self._text, start)
            known = self._next[name] = found.start() if found else -1
        return known


def hidden_in_directive(text: str, first: int, end: int) -> list[tuple[int, int]]:
    """What the opening line of a MyST directive doesn't show; empty where the directive's body isn't text."""
    match = _PROSE.match(text, first, end)
    if match is None:
        return []
    return [(first, match.start(1) if _WORDS.match(text, *match.span(1)) else end)]
