"""`literalinclude` and `include` of reStructuredText, as Sphinx and docutils resolve them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from . import parts
from .files import IncludeReader, NotIncluded, language_of

#: A page without such a line includes nothing.
SIGNS = (b"include",)
HINT = re.compile(rb"^[ \t]*\.\. (?:literal)?include ?::", re.M)
_DIRECTIVE = re.compile(r"([ \t]{0,40})\.\. (literalinclude|include) ?::[ \t]+(\S.*)$")
_OPTION = re.compile(r"[ \t]+:([\w-]+):(?:[ \t]+(.*))?$")
_ANY_DIRECTIVE = re.compile(r"[ \t]*\.\. (?:\|[^|\n]+\| )?[\w:.+-]+ ?::(?:[ \t]|$)")
#: Directives whose bodies are shown as they are.
_VERBATIM = re.compile(
    r"[ \t]*\.\. (?:code-block|code|sourcecode|parsed-literal|testcode|testoutput|testsetup|doctest|math|raw|highlight|"
    r"graphviz|mermaid|prompt|productionlist) ?::"
)
_COMMENT = re.compile(r"[ \t]*\.\.(?:$|[ \t]+(?!_|\[|\|))")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|#\.)[ \t]+(?=\S)")


def expand(text: str, reader: IncludeReader, stack: Sequence[str]) -> str:
    """The text with what its directives include; `stack` names the document, then the files that led here."""
    lines = text.split("\n")
    out: list[str] = []
    margin = -1  # deeper lines are literal
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if not line.strip():
            out.append(line)
            continue
        indent = _indent(line)
        if indent > margin >= 0:
            out.append(line)
            continue
        margin = -1
        directive = _DIRECTIVE.match(line)
        if directive is None or directive[3].startswith("<"):
            if _opens_literal(line):
                item = _ITEM.match(line)
                margin = item.end() - 1 if item and line.rstrip().endswith("::") else indent
            out.append(line)
            continue
        first = number
        options: dict[str, str] = {}
        while number < len(lines) and (option := _OPTION.match(lines[number])) and _indent(lines[number]) > indent:
            options[option[1]] = (option[2] or "").rstrip()
            number += 1
        literal = directive[2] == "literalinclude"
        try:
            replaced = (_literal if literal else _included)(directive[3].rstrip(), options, reader, stack)
        except NotIncluded as error:
            replaced = [str(error), *[""] * (number - first)]  # lines keep their numbers
        else:
            if number < len(lines) and lines[number].strip():
                replaced.append("")
        out += [directive[1] + row if row else row for row in replaced]
    return "\n".join(out)


def _opens_literal(line: str) -> bool:
    if _ANY_DIRECTIVE.match(line):
        return _VERBATIM.match(line) is not None
    return line.rstrip().endswith("::") or _COMMENT.match(line) is not None


def _literal(target: str, options: Mapping[str, str], reader: IncludeReader, stack: Sequence[str]) -> list[str]:
    path, lines = reader.part(
        [target], reader.near(target, stack), stack, lambda file: parts.literal_part(file.lines, options)
    )
    caption = options.get("caption")
    return [*([caption, ""] if caption else []), *_block(lines, options.get("language") or language_of(path))]


def _included(target: str, options: Mapping[str, str], reader: IncludeReader, stack: Sequence[str]) -> list[str]:
    path, lines = reader.part(
        [target], reader.near(target, stack), stack, lambda file: parts.clipped(file.text, options).split("\n")
    )
    text = "\n".join(lines)
    if "literal" in options or "code" in options:
        return _block(text.strip("\n").rstrip().split("\n"), options.get("code", ""))
    return expand(text.removesuffix("\n"), reader, (*stack, path)).split("\n")


def _block(code: Sequence[str], language: str) -> list[str]:
    return [f".. code-block:: {language}".rstrip(), "", *(f"   {line}" if line.strip() else "" for line in code)]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
