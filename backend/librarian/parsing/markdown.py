"""Markdown: `.md`, `.markdown`, `.mdx`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..errors import SourceError
from ..models import Block, Document, Excluded, Link, SourceFile
from .document_builder import marks_around, new_document
from .encoding import decode
from .front_matter import read_front_matter
from .markdown_blocks import MarkdownBlocks, parse_blocks
from .markdown_inline import markup_spans, role_targets, silent_spans
from .mdx import IMPORT_LINE, is_mdx, mdx_spans, paired_tags
from .metadata import doc_type_of, given_doc_type, given_language, modified_of, summary_of, tags_of, title_of, without
from .plain_text import plain
from .spans import InsideCodeSpan, Intervals, code_blocks

_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]\n]|\n(?!\n)|\[[^\[\]\n]*\]|!\[[^\[\]\n]*\]\([^()\n]*\)){1,400}?)\]\(\s*(?:<([^<>\n]+)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)"
)
_REFERENCE_LINK = re.compile(r"(?<![!\]])\[([^\[\]]{1,400})\]\[([^\[\]\n]{0,200})\]")
_NAME = re.compile(r"\[([^\[\]]{1,200})\]")
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]{1,200})\]:[ \t]*<?([^\s<>]+)>?", re.M)
#: Hugo's `[words]({{< ref "page.md" >}})` and Jekyll's `[words]({% link folder/page.md %})`.
_TEMPLATE_LINK = re.compile(
    r"(?<!!)\[([^\[\]\n]{1,400})\]\(\s*(?:\{\{[<%]\s*(?:rel)?ref\s+|\{%-?\s*link\s+)[\"'`]?([^\s\"'`{}%<>]+)[^(){}\n]*\}\}?[^()\n]{0,200}\)"
)
#: `[[Page#Heading|words]]`; embedded files are none.
_WIKI_LINK = re.compile(
    r"(?<!!)\[\[(?=[^\s|])([^\[\]|#\n\\]{1,200})(?:#[^\[\]|\n]{0,200})?(?:\\?\|([^\[\]\n]{1,200}))?\]\]"
)
#: MyST's roles whose words, or what stands in angle brackets, name a page or one of its labels.
_ROLE = re.compile(r"\{(?:ref|doc|any|numref|std:ref|std:doc)\}`([^`<>\n]*?)\s*(?:<([^`<>\n]+)>)?`")
_LABEL = re.compile(r"^\(([\w.:/-][\w.:/ -]*)\)=[ \t]*$", re.M)


def links_in(text: str, start: int, code: Intervals) -> list[Link]:
    """The links from `start` on outside blocks of code, by their place."""
    found = [link for link in _found(text, start) if link.start not in code]
    return sorted(found, key=lambda link: link.start)


def labels_in(text: str, start: int, code: Intervals) -> tuple[str, ...]:
    """MyST's targets, by which other pages refer to places in this one."""
    if ")=" not in text:
        return ()
    return tuple(match.group(1) for match in _LABEL.finditer(text, start) if match.start() not in code)


def reference_links_resolver(text: str, start: int) -> Callable[[str], str]:
    """A function that takes the brackets off links whose targets the page defines, `[1.2.0] - 2026-05-01`."""
    if "]:" not in text:
        return str
    defined = {match.group(1).casefold() for match in _DEFINITION.finditer(text, start)}

    def resolved(name: re.Match[str]) -> str:
        return name.group(1) if name.group(1).casefold() in defined else name.group()

    return lambda words: _NAME.sub(resolved, words)


def _found(text: str, start: int) -> Iterator[Link]:
    if "](" in text:
        yield from _links_of(_LINK.finditer(text, start))
        if "{%" in text or "{{" in text:
            yield from _links_of(_TEMPLATE_LINK.finditer(text, start))
    if "][" in text and "]:" in text:
        targets = {match.group(1).casefold(): match.group(2) for match in _DEFINITION.finditer(text, start)}
        for match in _REFERENCE_LINK.finditer(text, start):
            target = targets.get((match.group(2) or match.group(1)).casefold())
            if target and (words := plain(match.group(1))):
                yield Link(words, target, match.start())
    if "[[" in text:
        for match in _WIKI_LINK.finditer(text, start):
            yield Link(plain(match.group(2) or match.group(1)), match.group(1).strip(), match.start())
    if "}`" in text:
        for match in _ROLE.finditer(text, start):
            words, target = match.groups()
            yield Link(plain(words) if target else "", target or words, match.start())


def _links_of(matches: Iterator[re.Match[str]]) -> Iterator[Link]:
    for match in matches:
        if words := plain(match.group(1)):
            yield Link(words, next(filter(None, match.groups()[1:])), match.start())


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
        resolve = reference_links_resolver(text, front.end)
        headings = [replace(one, text=resolve(one.text)) if "[" in one.text else one for one in scanner.headings]
        excluded = _excluded(text, front.end, scanner, code, mdx=mdx)
        # A page that shows nothing but what it includes, or nothing at all, is found by its front matter.
        if front.end and without(text, front.end, len(text), excluded).strip():
            excluded.insert(0, Excluded(0, front.end, "front_matter"))
        elif front.end:
            blocks = [Block("other", 0, len(text[: front.end].rstrip()))]
        opening = text[front.end : headings[0].start if headings else front.end + _OPENING]
        title, in_text = title_of(front.values, headings, source.file_path, opening)
        return new_document(
            source,
            title,
            text,
            decoded,
            headings=tuple(headings),
            blocks=tuple(blocks),
            excluded=tuple(excluded),
            links=tuple(links_in(text, front.end, code)),
            labels=labels_in(text, front.end, code),
            doc_type=given_doc_type(front.values) or doc_type_of(source.file_path, title, text, front.end),
            language=given_language(front.values),
            tags=tags_of(front.values),
            summary=resolve(summary_of(text, blocks, front.values, excluded)),
            last_modified=modified_of(front.values, source),
            title_in_text=in_text,
            front_matter=front.values,
            notes=(front.note,) if front.note else (),
        )


def _scanned(text: str, start: int, *, mdx: bool) -> tuple[MarkdownBlocks, list[Block], Intervals]:
    """What stands in the lines from `start` on, its blocks, and where code is."""
    scanner = parse_blocks(text, start, mdx=mdx)
    return scanner, scanner.blocks, Intervals(code_blocks(text, scanner.blocks))


def _is_mdx(text: str, start: int, scanner: MarkdownBlocks, code: Intervals) -> bool:
    if "{/*" not in text and "import " not in text:
        return False
    silent = Intervals((first, last) for first, last, _ in silent_spans(text, start))
    return is_mdx(text, start, code, InsideCodeSpan(text, scanner.blocks), silent)


def _excluded(text: str, start: int, scanner: MarkdownBlocks, code: Intervals, *, mdx: bool) -> list[Excluded]:
    """Comments, shortcodes and MDX statements outside code; sorted, without overlap."""
    found: list[tuple[int, int, str]] = []
    if "{{<" in text or "{{%" in text:  # Hugo resolves them in code spans too
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
    found += [(first, last, "admonition") for first, last in scanner.hidden]
    found.sort(key=lambda span: (span[0], -span[1]))
    spans: list[Excluded] = []
    reached = start
    for first, last, reason in found:
        if first >= reached and first not in code:
            spans.append(Excluded(first, last, reason))
            reached = last
    return spans


def _comments(text: str, start: int, *code: Intervals | InsideCodeSpan) -> Iterator[tuple[int, int, str]]:
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


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_MAX_OUTPUT = 4_000  #: characters of one output; logs of a training run say little beyond them


class NotebookParser:
    """Markdown cells as they are, code cells as fences with their outputs as text; no pictures, no widgets."""

    extensions: tuple[str, ...] = (".ipynb",)

    def parse(self, source: SourceFile, data: bytes) -> Document:
        try:
            book = json.loads(data)
            language = _language(book)
            parts = [part.strip("\n") for cell in _cells(book) for part in _parts(cell, language)]
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            raise SourceError(
                f"'{source.file_path}' isn't a readable notebook: {error}.",
                hint="Open it in Jupyter and save it again.",
                reason="corrupt",
            ) from error
        text = "\n\n".join(part for part in parts if part.strip())
        return MarkdownParser().parse(source, text.encode("utf-8", "replace"))


def _language(book: Any) -> str:
    metadata = book.get("metadata") or {}
    given = (metadata.get("language_info") or {}).get("name") or (metadata.get("kernelspec") or {}).get("language")
    return given if isinstance(given, str) else "python"


def _cells(book: Any) -> Iterator[Mapping[str, Any]]:
    for sheet in [book, *book.get("worksheets", [])]:
        yield from sheet.get("cells", [])


def _parts(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    kind, words = cell.get("cell_type"), _joined(cell.get("source", cell.get("input", "")))
    if kind == "heading":
        yield f"{'#' * int(cell.get('level', 1))} {words}"
    elif kind == "markdown":
        yield _closed(words)
    elif kind == "code":
        yield _fence(words, language)
        for output in cell.get("outputs") or ():
            yield _fence(_shown(output), "text")
    elif kind == "raw":
        yield _fence(words, "text")


def _closed(words: str) -> str:
    """A cell's Markdown with its last fence closed: each cell is a text of its own."""
    if "```" not in words and "~~~" not in words:
        return words
    closing = parse_blocks(words).open_fence
    return f"{words.rstrip(chr(10))}\n{closing}" if closing else words


def _shown(output: Mapping[str, Any]) -> str:
    if output.get("output_type") in ("error", "pyerr"):
        return f"{output.get('ename', '')}: {_joined(output.get('evalue', ''))}"
    bundle = output.get("data") or {}
    words = _joined(output.get("text") or bundle.get("text/plain") or bundle.get("text/markdown") or "")
    # The shown form of pictures and widgets: `<Figure size 640x480 with 1 Axes>`, `HBox(children=…`.
    if re.fullmatch(r"\s*<[^<>]{1,200}>\s*", words):
        return ""
    return words if len(words) <= _MAX_OUTPUT else f"{words[:_MAX_OUTPUT].rpartition(chr(10))[0]}\n…"


def _joined(lines: object) -> str:
    words = "".join(map(str, lines)) if isinstance(lines, list) else str(lines)
    return _ESCAPES.sub("", words).replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")


def _fence(code: str, language: str) -> str:
    if not code.strip():
        return ""
    marks = marks_around(code)
    stripped = code.strip("\n")
    return f"{marks}{language}\n{stripped}\n{marks}"
