"""Markdown: `.md`, `.markdown`, `.mdx`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from librarian.vocabulary.types import Block, Document, Excluded, SourceFile

from ..encoding import decode
from ..front_matter import read_front_matter
from ..metadata import doc_type_of, given_doc_type, given_language, modified_of, summary_of, tags_of, title_of, without
from .markdown_blocks import BlockScanner
from .markdown_code import InsideCodeSpan, code_blocks
from .markdown_links import labels_in, links_in, links_told
from .markdown_markup import markup_spans, role_targets, silent_spans
from .markdown_notes import told_apart
from .mdx import IMPORT_LINE, is_mdx, mdx_spans, paired_tags
from .spans import Inside

_SHORTCODE = re.compile(r"\{\{([<%])(?!\s*/\*)")
_COMMENT_OPENING = re.compile(r"\{\{[<%]\s*comment\s*[>%]\}\}")
_COMMENT_CLOSING = re.compile(r"\{\{[<%]\s*/\s*comment\s*[>%]\}\}")
_MAX_SHORTCODE = 4_000  #: characters
_OPENING = 4_000  #: characters of a page without headings in which its title may stand
#: Arguments of a shortcode that a reader sees; they stay in the index.
_SHOWN = re.compile(
    r"(?:\b(?:text|title|caption|alt|name|header)\s*=\s*|(?<![=\w\"])(?<!=\s))\"([^\"]*[^\W\d_][^\"]*)\""
)
_NAME_OF_CODE = re.compile(
    r"\s*(heading|glossary_tooltip|figure|tab|table|caption|button|card|admonition|alert|callout|details|version-check)\b"
)


class MarkdownParser:
    """CommonMark with GitHub's tables, front matter, Hugo shortcodes and MDX; R Markdown and Quarto."""

    extensions: tuple[str, ...] = (".md", ".markdown", ".mdx", ".mkd", ".qmd", ".rmd")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        text = decoded.text
        front = read_front_matter(text)
        mdx = source.extension == ".mdx"
        scanner, blocks, code = _scanned(text, front.end, mdx=mdx)
        if not mdx and _is_mdx(text, front.end, scanner, code):
            mdx = True
            scanner, blocks, code = _scanned(text, front.end, mdx=mdx)
        told = links_told(text, front.end)
        headings = [replace(one, text=told(one.text)) if "[" in one.text else one for one in scanner.headings]
        excluded = _excluded(text, front.end, scanner, code, mdx=mdx)
        # A page that shows nothing but what it includes, or nothing at all, is found by its front matter.
        if front.end and without(text, front.end, len(text), excluded).strip():
            excluded.insert(0, Excluded(0, front.end, "front_matter"))
        elif front.end:
            blocks = [Block("other", 0, len(text[: front.end].rstrip()))]
        opening = text[front.end : headings[0].start if headings else front.end + _OPENING]
        title, in_text = title_of(front.values, headings, source.file_path, opening)
        return Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind="document",
            file_type=source.extension,
            title=title,
            text=text,
            headings=tuple(headings),
            blocks=tuple(blocks),
            excluded=tuple(excluded),
            links=tuple(links_in(text, front.end, code)),
            labels=labels_in(text, front.end, code),
            doc_type=given_doc_type(front.values) or doc_type_of(source.file_path, title, text, front.end),
            language=given_language(front.values),
            tags=tags_of(front.values),
            encoding=decoded.encoding,
            encoding_confidence=decoded.confidence,
            summary=told(summary_of(text, blocks, front.values, excluded)),
            last_modified=modified_of(front.values, source.mtime_ns),
            size=source.size,
            mtime_ns=source.mtime_ns,
            title_in_text=in_text,
            front_matter=front.values,
            notes=(front.note,) if front.note else (),
        )


def _scanned(text: str, start: int, *, mdx: bool) -> tuple[BlockScanner, list[Block], Inside]:
    """What stands in the lines from `start` on, its blocks, and where code is."""
    scanner = BlockScanner(text, start, mdx=mdx).scan()
    blocks = told_apart(text, scanner.blocks)
    return scanner, blocks, Inside(code_blocks(text, blocks))


def _is_mdx(text: str, start: int, scanner: BlockScanner, code: Inside) -> bool:
    if "{/*" not in text and "import " not in text:
        return False
    silent = Inside((first, last) for first, last, _ in silent_spans(text, start))
    return is_mdx(text, start, code, InsideCodeSpan(text, scanner.blocks), silent)


def _excluded(text: str, start: int, scanner: BlockScanner, code: Inside, *, mdx: bool) -> list[Excluded]:
    """Comments, shortcodes and MDX statements outside code; sorted, without overlap."""
    found: list[tuple[int, int, str]] = []
    if "{{<" in text or "{{%" in text:  # Hugo sees to them in code spans too
        found += _comment_shortcodes(text, start)
        for opening in _SHORTCODE.finditer(text, start):
            closing = f"{opening.group(1).replace('<', '>')}}}}}"
            end = text.find(closing, opening.end(), opening.end() + _MAX_SHORTCODE)
            if end >= 0:
                found += _markup_of(text, opening.start(), end + len(closing))
    others = list(markup_spans(text, start))
    if "import " in text:
        others += [(match.start(), match.end(), "shortcode") for match in IMPORT_LINE.finditer(text, start)]
    if mdx:
        others += mdx_spans(text, start, code)
    elif "</" in text:
        others += paired_tags(text, start, code)
    spans_of_code = InsideCodeSpan(text, scanner.blocks)
    others += _comments(text, start, code, spans_of_code)
    found += [span for span in others if span[0] not in spans_of_code]
    found += [target for role, target in role_targets(text, start) if role not in spans_of_code]
    found += [(first, last, "admonition") for first, last in scanner.markers]
    found.sort(key=lambda span: (span[0], -span[1]))
    spans: list[Excluded] = []
    reached = start
    for first, last, reason in found:
        if first >= reached and first not in code:
            spans.append(Excluded(first, last, reason))
            reached = last
    return spans


def _comments(text: str, start: int, *code: Inside | InsideCodeSpan) -> Iterator[tuple[int, int, str]]:
    while (begin := text.find("<!--", start)) >= 0:
        start = begin + 4
        if not any(begin in known for known in code):
            end = text.find("-->", start)
            if end < 0:
                return
            start = end + 3
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
