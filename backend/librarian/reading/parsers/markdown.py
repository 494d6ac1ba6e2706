"""Markdown: `.md`, `.markdown`, `.mdx`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from librarian.vocabulary.types import Block, Document, Excluded, Link, SourceFile

from ..encoding import decode
from ..front_matter import read_front_matter
from ..metadata import doc_type_of, modified_of, summary_of, tags_of, title_of
from ..plain_text import plain
from .markdown_blocks import BlockScanner
from .markdown_markup import markup_spans

_SHORTCODE = re.compile(r"\{\{([<%])(?!\s*/\*)")
_COMMENT_OPENING = re.compile(r"\{\{[<%]\s*comment\s*[>%]\}\}")
_COMMENT_CLOSING = re.compile(r"\{\{[<%]\s*/\s*comment\s*[>%]\}\}")
_MAX_SHORTCODE = 4_000  #: characters
#: Arguments of a shortcode that a reader sees; they stay in the index.
_SHOWN = re.compile(r"(?:\b(?:text|title|caption|alt|name)\s*=\s*|(?<![=\w\"])(?<!=\s))\"([^\"]*[^\W\d_][^\"]*)\"")
_NAME_OF_CODE = re.compile(
    r"\s*(heading|glossary_tooltip|figure|tab|table|caption|button|card|admonition|alert|callout|details|version-check)\b"
)
_MDX_STATEMENT = re.compile(
    r"^import[ \t][^\n]*[ \t]from[ \t]*['\"][^'\"\n]+['\"];?[ \t]*$|^import[ \t]+['\"][^'\"\n]+['\"];?[ \t]*$", re.M
)
_MDX_EXPORT = re.compile(r"^export[ \t]+(?:const|let|default|function)\b[^\n]*$", re.M)
_JSX_LINE = re.compile(r"^[ \t]*(?:</?[A-Z][\w.]*(?:[ \t][^<>\n]*)?/?>[ \t]*)+$", re.M)
_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]\n]|\n(?!\n)|\[[^\[\]\n]*\]|!\[[^\[\]\n]*\]\([^()\n]*\)){1,400}?)\]\(\s*(?:<([^<>\n]+)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)"
)
_REFERENCE_LINK = re.compile(r"(?<![!\]])\[([^\[\]]{1,400})\]\[([^\[\]\n]{0,200})\]")
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]{1,200})\]:[ \t]*<?([^\s<>]+)>?", re.M)


class MarkdownParser:
    """CommonMark with GitHub's tables, front matter, Hugo shortcodes and MDX."""

    extensions: tuple[str, ...] = (".md", ".markdown", ".mdx")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        text = decoded.text
        front = read_front_matter(text)
        scanner = BlockScanner(text, front.end).scan()
        blocks, headings = scanner.blocks, scanner.headings
        fences = [block for block in blocks if block.kind == "fence"]
        excluded = list(_excluded(text, front.end, fences, mdx=source.file_path.lower().endswith(".mdx")))
        # A page that holds nothing but front matter is found by it.
        if front.end and text[front.end :].strip():
            excluded.insert(0, Excluded(0, front.end, "front_matter"))
        elif front.end:
            blocks = [Block("other", 0, len(text[: front.end].rstrip()))]
        title, in_text = title_of(front.values, headings, source.file_path)
        return Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind="document",
            file_type="." + source.file_path.lower().rsplit(".", 1)[-1],
            title=title,
            text=text,
            headings=tuple(headings),
            blocks=tuple(blocks),
            excluded=tuple(excluded),
            links=tuple(_links(text, front.end, fences)),
            doc_type=doc_type_of(source.file_path, title, text, front.end),
            tags=tags_of(front.values),
            encoding=decoded.encoding,
            encoding_confidence=decoded.confidence,
            summary=summary_of(text, blocks, front.values, excluded),
            last_modified=modified_of(front.values, source.mtime_ns),
            size=source.size,
            mtime_ns=source.mtime_ns,
            title_in_text=in_text,
            front_matter=front.values,
            notes=(front.note,) if front.note else (),
        )


class _Inside:
    """Whether an offset lies in one of some sorted blocks."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._starts = [block.start for block in blocks]
        self._ends = [block.end for block in blocks]

    def __contains__(self, offset: int) -> bool:
        place = bisect_right(self._starts, offset) - 1
        return place >= 0 and offset < self._ends[place]


def _excluded(text: str, start: int, fences: Sequence[Block], *, mdx: bool) -> list[Excluded]:
    """Comments, shortcodes and MDX statements outside fences; sorted, without overlap."""
    found: list[tuple[int, int, str]] = []
    inside = _Inside(fences)
    found += _comments(text, start)
    if "{{<" in text or "{{%" in text:
        found += _comment_shortcodes(text, start)
        for opening in _SHORTCODE.finditer(text, start):
            closing = f"{opening.group(1).replace('<', '>')}}}}}"
            end = text.find(closing, opening.end(), opening.end() + _MAX_SHORTCODE)
            if end >= 0:
                found += _markup_of(text, opening.start(), end + len(closing))
    found += markup_spans(text, start)
    if "import " in text:
        found += [(match.start(), match.end(), "shortcode") for match in _MDX_STATEMENT.finditer(text, start)]
    if mdx:
        for pattern in (_MDX_EXPORT, _JSX_LINE):
            found += [(match.start(), match.end(), "shortcode") for match in pattern.finditer(text, start)]
    found.sort(key=lambda span: (span[0], -span[1]))
    spans: list[Excluded] = []
    reached = start
    for first, last, reason in found:
        if first >= reached and first not in inside:
            spans.append(Excluded(first, last, reason))
            reached = last
    return spans


def _comments(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    while (begin := text.find("<!--", start)) >= 0:
        end = text.find("-->", begin + 4)
        if end < 0:
            return
        start = end + 3
        if text[begin - 1 : begin] != "`":
            yield begin, start, "comment"


def _comment_shortcodes(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    while opening := _COMMENT_OPENING.search(text, start):
        closing = _COMMENT_CLOSING.search(text, opening.end())
        if closing is None:
            return
        start = closing.end()
        yield opening.start(), start, "comment"


def _markup_of(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """The parts of a shortcode that no reader sees; the words that it shows stay."""
    if _NAME_OF_CODE.match(text, start + 3, end):
        for shown in _SHOWN.finditer(text, start, end):
            yield start, shown.start(1), "shortcode"
            start = shown.end(1)
    yield start, end, "shortcode"


def _links(text: str, start: int, fences: Sequence[Block]) -> list[Link]:
    links: list[Link] = []
    if "](" not in text and "][" not in text:
        return links
    inside = _Inside(fences)
    for match in _LINK.finditer(text, start):
        if match.start() not in inside and (words := plain(match.group(1))):
            links.append(Link(words, match.group(2) or match.group(3), match.start()))
    if "][" in text and "]:" in text:
        targets = {match.group(1).casefold(): match.group(2) for match in _DEFINITION.finditer(text, start)}
        for match in _REFERENCE_LINK.finditer(text, start):
            target = targets.get((match.group(2) or match.group(1)).casefold())
            if target and match.start() not in inside and (words := plain(match.group(1))):
                links.append(Link(words, target, match.start()))
        links.sort(key=lambda link: link.start)
    return links
