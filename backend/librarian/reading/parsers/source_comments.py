"""Source files: their documentation comments alone. Only read where `docs.source_comments` is on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from librarian.vocabulary.types import Document, SourceFile

from ..encoding import decode
from ..manuscript import Manuscript, one_line
from .markdown_blocks import BlockScanner

_STARRED = (
    ".java", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".kt", ".scala", ".swift",
    ".php", ".rs", ".dart",
)  # fmt: skip
_SLASHED = (".go",)
_HASHED = (".rb", ".sh")
_MAX_DECLARATION = 160

_STAR_OPENING = re.compile(r"/\*[*!](?!/)")
_SLASH_COMMENT = re.compile(r"(?:^[ \t]*//[/!](?!/)[^\n]*(?:\n|\Z))+", re.M)
#: Lines of comments, and the declarations that such lines may stand above.
_GO_COMMENT = re.compile(r"(?:^//[^\n]*\n)++", re.M)
_GO_DECLARATION = re.compile(r"(?:func|type|var|const|package)\b")
_HASH_COMMENT = re.compile(r"(?:^[ \t]*#(?![!:])[^\n]*\n)++", re.M)
_HASH_DECLARATION = re.compile(r"[ \t]*(?:def|class|module|function)\b|[ \t]*\w+\(\)[ \t]*\{")
_MARGIN = re.compile(r"^[ \t]*(?:\*(?!\*)[ ]?|//[/!]?[ ]?|#[ ]?)", re.M)
_ATTRIBUTE = re.compile(r"\s*(?:@\w[\w.]*(?:\([^()]*\))?|#!?\[[^\]]*\]|template[ ]*<[^>]*>)\s*")
_WHERE_IT_ENDS = re.compile(r"[{;]|=>|\n[ \t]*\n|:[ \t]*\n")


class SourceCommentsParser:
    """Docstrings, `/** … */`, `///` and what stands above declarations, each under the declaration's name."""

    extensions: tuple[str, ...] = (".py", *_STARRED, *_SLASHED, *_HASHED)

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        extension = source.extension
        manuscript = Manuscript()
        found = _python(decoded.text) if extension == ".py" else _others(decoded.text, extension)
        for level, name, words in found:
            manuscript.heading(level, name)
            _write(manuscript, words)
        if manuscript.is_empty:
            manuscript.notes.append("no documentation comments")
        document = manuscript.document(source, extension)
        return replace(document, encoding=decoded.encoding, encoding_confidence=decoded.confidence)


def _write(manuscript: Manuscript, words: str) -> None:
    """A comment's paragraphs and examples."""
    for block in BlockScanner(words).scan().blocks:
        piece = words[block.start : block.end]
        if block.kind == "fence" or piece.lstrip().startswith(">>>"):
            manuscript.fence(piece.strip("`~\n"))
        elif block.kind == "list":
            manuscript.item(piece, mark="")
        else:
            manuscript.paragraph(piece.lstrip("#"))


def _python(text: str) -> Iterator[tuple[int, str, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if words := ast.get_docstring(tree):
        yield 1, words.split("\n", 1)[0].rstrip("."), words
    waiting: list[tuple[ast.AST, str, int]] = [(tree, "", 2)]
    while waiting:
        parent, lead, level = waiting.pop()
        inner: list[tuple[ast.AST, str, int]] = []
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                name = f"{lead}{node.name}"
                if words := ast.get_docstring(node):
                    shown = f"class {name}" if isinstance(node, ast.ClassDef) else f"{name}({_arguments(node)})"
                    yield level, shown[:_MAX_DECLARATION], words
                if isinstance(node, ast.ClassDef):
                    inner.append((node, f"{name}.", level + 1))
        waiting += reversed(inner)


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return ", ".join(one.arg for one in given if one.arg not in ("self", "cls"))


def _others(text: str, extension: str) -> Iterator[tuple[int, str, str]]:
    found: list[tuple[int, int, str]]
    if extension in _SLASHED:
        found = sorted((*_above(_GO_DECLARATION, _GO_COMMENT, text), *_starred(text)))
    elif extension in _HASHED:
        found = list(_above(_HASH_DECLARATION, _HASH_COMMENT, text))
    else:
        slashed = ((match.start(), match.end(), match.group()) for match in _SLASH_COMMENT.finditer(text))
        found = sorted((*_starred(text), *slashed))
    for number, (_, end, comment) in enumerate(found):
        words = _MARGIN.sub("", comment).strip()
        if words:
            name = _declaration(text, end).partition("\n" if extension in _HASHED else "\0")[0]
            yield 2, name or (f"{one_line(words)[:60]}" if not number else ""), words


def _above(declaration: re.Pattern[str], comment: re.Pattern[str], text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, text) of the comments right above a declaration."""
    for match in comment.finditer(text):
        if declaration.match(text, match.end()):
            yield match.start(), match.end(), match.group()


def _starred(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, words) of each `/** … */`. Each end is looked for once, also where there is none."""
    end = 0
    while opening := _STAR_OPENING.search(text, end):
        closing = text.find("*/", opening.end())
        if closing < 0:
            return
        end = closing + 2
        yield opening.start(), end, text[opening.end() : closing]


def _declaration(text: str, start: int) -> str:
    """What a comment stands above: the line that follows, up to its body."""
    stretch = text[start : start + 2_000]
    while match := _ATTRIBUTE.match(stretch):
        stretch = stretch[match.end() :]
    stretch = stretch.lstrip()
    if stretch.startswith(("/*", "//", "#", "}", "*")):
        return ""
    end = _WHERE_IT_ENDS.search(stretch)
    return stretch[: end.start() if end else _MAX_DECLARATION][:_MAX_DECLARATION].rstrip(" =(,\n")
