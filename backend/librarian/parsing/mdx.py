"""What MDX adds to Markdown and no reader sees: statements, components' tags and comments.

Words that a component shows, such as a tab's label, stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import InsideCodeSpan, Intervals

Span = tuple[int, int, str]  #: start, end, reason

#: `import Tabs from '@theme/Tabs'`, `import './page.css'`; not `import { … } from`, which may take several lines.
IMPORT_LINE = re.compile(
    r"^import[ \t][^\n]*[ \t]from[ \t]*['\"][^'\"\n]+['\"];?[ \t]*$|^import[ \t]+['\"][^'\"\n]+['\"];?[ \t]*$", re.M
)
_IMPORT = re.compile(
    r"^import[ \t]+(?:type[ \t]+)?(?:\w+[ \t]*,[ \t]*)?\{[^{}]*\}[ \t]*from[ \t]*['\"][^'\"\n]+['\"];?[ \t]*$", re.M
)
#: Not Go's `{{/* remark */}}`.
_REMARK = re.compile(r"(?<!\{)\{/\*")
_EXPORT = re.compile(r"^export[ \t]+(?:const|let|default|function)\b", re.M)
_TAG = re.compile(r"^[ \t]*<[A-Z][\w.]*(?=[ \t]*\n|[ \t][^<>\n]*\n)", re.M)
_INLINE_TAG = re.compile(r"(?<!\\)</?[A-Z][\w.]*(?:\s[^<>]*)?/?>")
_CLOSING, _BARE = re.compile(r"</([A-Z]\w*)\s*>"), re.compile(r"(?<!\\)<([A-Z]\w*)>")
_TAG_LINE = re.compile(r"^[ \t]*(?:</?[A-Z][\w.]*(?:[ \t][^<>\n]*)?/?>[ \t]*)+$", re.M)
_SHOWN = re.compile(
    r"\b(?:title|label|caption|alt|text|heading|description|summary|content)[ \t]*[=:][ \t]*"
    r"\{?(?:\"([^\"\n]+)\"|'([^'\n]+)')"
)
OPENING_TAG = re.compile(r"[ \t]*</?(?:[A-Za-z][\w.-]*)?(?=[\s/>]|$)")  #: or a closing one, or a fragment's
_TOKEN = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|=>|//[^\n]*|[{}()\[\]<>\n]", re.S)
LONGEST_TAG = 4_000  #: characters, of a statement too


def is_mdx(text: str, start: int, code: Intervals, spans_of_code: InsideCodeSpan, silent: Intervals) -> bool:
    """Whether a page is MDX whatever its file is called, as Docusaurus takes it: it imports, or holds a remark of MDX,
    outside code and scripts (`silent`)."""
    for pattern in (_REMARK, IMPORT_LINE, _IMPORT):
        for match in pattern.finditer(text, start):
            first, last = match.span()
            closed = pattern is not _REMARK or text.find("*/}", last, last + LONGEST_TAG) >= 0
            if closed and first not in code and first not in spans_of_code and first not in silent:
                return True
    return False


def mdx_spans(text: str, start: int, code: Intervals) -> Iterator[Span]:
    """The spans of such markup from `start` on that don't begin in `code`, in no order."""
    for match in _IMPORT.finditer(text, start):
        yield match.start(), match.end(), "shortcode"
    yield from _statements(text, start, code)
    yield from _tags(text, start, code)
    while (begin := text.find("{/*", start)) >= 0:
        start = begin + 3
        if begin not in code:
            end = text.find("*/}", start)
            if end < 0:
                return
            start = end + 3
            yield begin, start, "comment"


def paired_tags(text: str, start: int, code: Intervals) -> Iterator[Span]:
    """Tags of components that hold something, such as `<Intro>`; not `<Key>`, which is never closed."""
    closed = {match.group(1) for match in _CLOSING.finditer(text, start) if match.start() not in code}
    if closed:
        for match in _BARE.finditer(text, start):
            if match.group(1) in closed:
                yield match.start(), match.end(), "tag"


def _statements(text: str, start: int, code: Intervals) -> Iterator[Span]:
    """Exports: to the end of the line on which their brackets are closed; where none is, of their first line."""
    reached = start
    for match in _EXPORT.finditer(text, start):
        if match.start() in code:
            continue
        line = text.find("\n", match.end())
        end = line if line >= 0 else len(text)
        if match.start() >= reached:
            closed = _closed(text, match.end(), "\n")
            # What was looked through in vain isn't looked through again.
            reached = closed if closed >= 0 else match.end() + LONGEST_TAG
            end = max(end, closed)
        yield match.start(), end, "shortcode"


def _tags(text: str, start: int, code: Intervals) -> Iterator[Span]:
    """Lines of nothing but tags, and opening tags of several lines."""
    for pattern in (_TAG_LINE, _INLINE_TAG):
        for match in pattern.finditer(text, start):
            yield from around_shown(text, match.start(), match.end())
    reached = start
    for match in _TAG.finditer(text, start):
        if match.start() >= reached and match.start() not in code:
            closed = end_of_tag(text, match.end())
            reached = closed if closed >= 0 else match.end() + LONGEST_TAG
            if closed >= 0:
                yield from around_shown(text, match.start(), closed)


def end_of_tag(text: str, start: int) -> int:
    """The offset behind a tag whose name ends at `start`, -1 where it isn't closed."""
    return _closed(text, start, ">")


def _closed(text: str, start: int, closing: str) -> int:
    """The offset behind the first `closing` outside brackets and strings, -1 where none is near."""
    depth = 0
    stop = min(len(text), start + LONGEST_TAG)
    for token in _TOKEN.finditer(text, start, stop):
        char = token.group()
        if char == closing and depth <= 0 and not text.endswith(("=", "=>"), start, token.start()):
            return token.end() if closing == ">" else token.start()
        if char == "<" and closing == ">" and depth <= 0:
            return -1
        depth += (char in "{([") - (char in "})]")
    return stop if closing == "\n" and depth <= 0 and stop == len(text) else -1


def around_shown(text: str, start: int, end: int) -> Iterator[Span]:
    """The parts of a tag that no reader sees."""
    for shown in _SHOWN.finditer(text, start, end):
        group = shown.lastindex or 0
        yield start, shown.start(group), "shortcode"
        start = shown.end(group)
    yield start, end, "shortcode"
