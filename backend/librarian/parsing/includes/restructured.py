"""`literalinclude` and `include` of reStructuredText, as Sphinx and docutils resolve them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from . import parts
from .files import IncludeReader, language_of, lines_of

#: A page without such a line includes nothing.
HINT = re.compile(rb"^[ \t]*\.\. (?:literal)?include ?::", re.M)
_DIRECTIVE = re.compile(r"([ \t]{0,40})\.\. (literalinclude|include) ?::[ \t]+([^<\s].*)$")
_OPTION = re.compile(r"[ \t]+:([\w-]+):(?:[ \t]+(.*))?$")
#: What opens a literal block, deeper lines of which are shown as they are: a directive, a comment, or `::`.
_LITERAL = re.compile(
    r"[ \t]*\.\. (?:code-block|code|sourcecode|parsed-literal|testcode|testoutput|testsetup|doctest|math|raw|highlight|"
    r"graphviz|mermaid|prompt|productionlist) ?::"
    r"|(?![ \t]*\.\. (?:\|[^|\n]+\| )?[\w:.+-]+ ?::(?:[ \t]|$))(?:[ \t]*\.\.(?:$|[ \t]+(?!_|\[|\|))|.*::[ \t]*$)"
)
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|#\.)[ \t]+(?=\S.*::[ \t]*$)")


def expand(text: str, reader: IncludeReader, stack: Sequence[str]) -> str:
    """The text with what its directives include; `stack` names the document, then the files that led here."""
    lines = text.split("\n")
    out: list[str] = []
    margin = -1  # deeper lines are literal
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        indent = len(line) - len(line.lstrip())
        if not line.strip() or indent > margin >= 0:
            out.append(line)
            continue
        margin = -1
        directive = _DIRECTIVE.match(line)
        if directive is None:
            if _LITERAL.match(line):
                item = _ITEM.match(line)
                margin = item.end() - 1 if item else indent
            out.append(line)
            continue
        first = number
        options: dict[str, str] = {}
        while number < len(lines) and (option := _OPTION.match(lines[number])) and option.start(1) - 1 > indent:
            options[option[1]] = (option[2] or "").rstrip()
            number += 1
        replaced = _included(directive[2], directive[3].rstrip(), options, reader, stack)
        if len(replaced) == 1:
            replaced += [""] * (number - first)  # lines keep their numbers where a file is missing
        elif number < len(lines) and lines[number].strip():
            replaced.append("")
        out += [directive[1] + row if row else row for row in replaced]
    return "\n".join(out)


def _included(
    name: str, target: str, options: Mapping[str, str], reader: IncludeReader, stack: Sequence[str]
) -> list[str]:
    path, lines = reader.part(
        [target], reader.near(target, stack), stack, lambda text: parts.by_options(lines_of(text), options)
    )
    if not path:
        return lines
    if name == "include" and "literal" not in options and "code" not in options:
        return expand("\n".join(lines), reader, (*stack, path)).split("\n")
    language = options.get("language") or language_of(path) if name == "literalinclude" else options.get("code", "")
    caption = [options["caption"], ""] if options.get("caption") else []
    code = [f"   {line}" if line.strip() else "" for line in lines]
    return [*caption, f".. code-block:: {language}".rstrip(), "", *code]
