"""Markdown: `.md`, `.markdown`, `.mdx`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from markdown_it.common.utils import normalizeReference

from ..errors import SourceError
from ..models import Block, Document, Excluded, Link, SourceFile
from .document_builder import marks_around, new_document
from .encoding import decode
from .front_matter import read_front_matter
from .markdown_blocks import parse_blocks
from .markdown_inline import hidden_spans, is_mdx
from .metadata import doc_type_of, given_doc_type, given_language, modified_of, summary_of, tags_of, title_of, without
from .plain_text import plain
from .spans import code_in, in_order

_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]\n]|\n(?!\n)|\[[^\[\]\n]*\]|!\[[^\[\]\n]*\]\([^()\n]*\)){1,400}?)\]\(\s*(?:<([^<>\n]+)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)"
)
_REFERENCE_LINK = re.compile(r"(?<![!\]])\[([^\[\]]{1,400})\]\[([^\[\]\n]{0,200})\]")
_NAME = re.compile(r"\[([^\[\]]{1,200})\]")
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
#: MyST's targets, by which other pages refer to places in this one.
_LABEL = re.compile(r"^\(([\w.:/-][\w.:/ -]*)\)=[ \t]*$", re.M)


def _resolver(definitions: Mapping[str, str]) -> Callable[[str], str]:
    """A function that takes the brackets off links whose targets the page defines, `[1.2.0] - 2026-05-01`."""
    if not definitions:
        return str

    def resolved(name: re.Match[str]) -> str:
        return name[1] if normalizeReference(name[1]) in definitions else name[0]

    return lambda words: _NAME.sub(resolved, words)


def _links(text: str, start: int, definitions: Mapping[str, str]) -> Iterator[Link]:
    if "](" in text:
        yield from _links_of(_LINK.finditer(text, start))
        if "{%" in text or "{{" in text:
            yield from _links_of(_TEMPLATE_LINK.finditer(text, start))
    for match in _REFERENCE_LINK.finditer(text, start) if definitions else ():
        target = definitions.get(normalizeReference(match.group(2) or match.group(1)))
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


_OPENING = 4_000  #: characters of a page without headings in which its title may stand


class MarkdownParser:
    """CommonMark with GitHub's tables, front matter, Hugo shortcodes and MDX; R Markdown and Quarto."""

    extensions: tuple[str, ...] = (".md", ".markdown", ".mdx", ".mkd", ".qmd", ".rmd")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        text = decoded.text
        front = read_front_matter(text)
        mdx = source.extension == ".mdx"
        scanner = parse_blocks(text, front.end, mdx=mdx)
        code, spans_of_code = code_in(text, scanner.blocks)
        if not mdx and is_mdx(text, front.end, code, spans_of_code):
            mdx = True
            scanner = parse_blocks(text, front.end, mdx=mdx)
            code, spans_of_code = code_in(text, scanner.blocks)
        blocks = scanner.blocks
        resolve = _resolver(scanner.definitions)
        headings = [replace(one, text=resolve(one.text)) if "[" in one.text else one for one in scanner.headings]
        hidden = list(hidden_spans(text, front.end, code, spans_of_code, mdx=mdx))
        hidden += [(first, last, "admonition") for first, last in scanner.hidden]
        hidden += [(first, last, "link definition") for first, last in scanner.defined]
        excluded = [Excluded(*span) for span in in_order(span for span in hidden if span[0] not in code)]
        # A page that shows nothing but what it includes, or nothing at all, is found by its front matter.
        if front.end and without(text, front.end, len(text), excluded).strip():
            excluded.insert(0, Excluded(0, front.end, "front_matter"))
        elif front.end:
            blocks = [Block("other", 0, len(text[: front.end].rstrip()))]
        opening = text[front.end : headings[0].start if headings else front.end + _OPENING]
        title, in_text = title_of(front.values, headings, source.file_path, opening)
        links = _links(text, front.end, scanner.definitions)
        labels = _LABEL.finditer(text, front.end) if ")=" in text else ()
        return new_document(
            source,
            title,
            text,
            decoded,
            headings=tuple(headings),
            blocks=tuple(blocks),
            excluded=tuple(excluded),
            links=tuple(sorted((link for link in links if link.start not in code), key=lambda link: link.start)),
            labels=tuple(label[1] for label in labels if label.start() not in code),
            doc_type=given_doc_type(front.values) or doc_type_of(source.file_path, title, text, front.end),
            language=given_language(front.values),
            tags=tags_of(front.values),
            summary=resolve(summary_of(text, blocks, front.values, excluded)),
            last_modified=modified_of(front.values, source),
            title_in_text=in_text,
            front_matter=front.values,
            notes=(front.note,) if front.note else (),
        )


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_MAX_OUTPUT = 4_000  #: characters of one output; logs of a training run say little beyond them


class NotebookParser:
    """Markdown cells as they are, code cells as fences with their outputs as text; no pictures, no widgets."""

    extensions: tuple[str, ...] = (".ipynb",)

    def parse(self, source: SourceFile, data: bytes) -> Document:
        try:
            book = json.loads(data)
            language = _language(book)
            parts = [part.strip("\n") for cell in book["cells"] for part in _parts(cell, language)]
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
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


def _parts(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    kind, words = cell.get("cell_type"), _joined(cell.get("source", ""))
    if kind == "markdown":
        # Each cell is a text of its own, which ends its last fence.
        closing = parse_blocks(words).open_fence if "```" in words or "~~~" in words else ""
        yield f"{words.rstrip(chr(10))}\n{closing}" if closing else words
    elif kind == "code":
        yield _fence(words, language)
        for output in cell.get("outputs") or ():
            yield _fence(_shown(output), "text")
    elif kind == "raw":
        yield _fence(words, "text")


def _shown(output: Mapping[str, Any]) -> str:
    if output.get("output_type") == "error":
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
