"""Jupyter notebooks: `.ipynb`, formats 3 and 4."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import SourceError
from ..models import Document, SourceFile
from .document_builder import marks_around
from .markdown import MarkdownParser
from .markdown_blocks import parse_blocks

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
    return _ESCAPES.sub("", words).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _fence(code: str, language: str) -> str:
    if not code.strip():
        return ""
    marks = marks_around(code)
    stripped = code.strip("\n")
    return f"{marks}{language}\n{stripped}\n{marks}"
