"""`include::target[…]` of AsciiDoc, as Asciidoctor resolves it, with Antora's names of modules and families."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Mapping, Sequence

from . import parts
from .files import IncludeReader, lines_of

HINT = re.compile(rb"^include::", re.M)
_INCLUDE = re.compile(r"include::([^\[\s](?:[^\[]*[^\[\s])?)\[(.*)\][ \t]*$")
_ATTRIBUTE = re.compile(r":([A-Za-z0-9_][\w-]*):[ \t]+(\S.*)$")
_REFERENCE = re.compile(r"\{([\w-]+)\}")
_OPTION = re.compile(r"([\w-]+)[ \t]*=[ \t]*(?:\"([^\"]*)\"|'([^']*)'|([^,]*))")
_TITLE = re.compile(r"(={1,6})(?=[ \t]+\S)")
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|/{4,}|\+{4,}|```)[\w,+-]*[ \t]*$")
_COMMENT = re.compile(r"/{4,}[ \t]*$")
_ENDINGS = (".adoc", ".asciidoc", ".asc", ".ad")
_LONGEST_VALUE = 1_000  #: characters of an attribute: values may double each other
_RESOURCE = re.compile(r"(?:(?:[\w.-]+@)?(?:([\w.-]*):)?([\w.-]*):)?(attachment|example|image|page|partial)\$(.+)$")
#: Antora's attributes for the folders of a module.
_FOLDERS = {
    "attachmentsdir": "attachment$", "docdir": ".", "examplesdir": "example$", "imagesdir": "image$",
    "partialsdir": "partial$",
}  # fmt: skip


def expand(text: str, reader: IncludeReader, stack: Sequence[str], attributes: dict[str, str] | None = None) -> str:
    """The text with what its directives include; `stack` names the document, then the files that led here."""
    known = dict(_FOLDERS) if attributes is None else attributes
    out: list[str] = []
    comment = ""  # the line that closes the open comment
    for line in text.split("\n"):
        include = None if comment else _INCLUDE.match(line)
        if include and "://" not in include[1]:
            out += _included(_resolved(include[1], known), include[2], reader, stack, known)
            continue
        if comment or _COMMENT.match(line):
            comment = "" if line.rstrip() == comment else comment or line.rstrip()
        elif entry := _ATTRIBUTE.match(line):
            known[entry[1].lower()] = _resolved(entry[2].rstrip(), known)[:_LONGEST_VALUE]
        out.append(line)
    return "\n".join(out)


def _included(
    target: str, written: str, reader: IncludeReader, stack: Sequence[str], known: dict[str, str]
) -> list[str]:
    options = {one[1]: one[2] or one[3] or one[4] or "" for one in _OPTION.finditer(written)}
    targets, folders = _places(target, reader, stack)

    def chosen(text: str) -> list[str]:
        if "lines" in options:
            return parts.numbered(lines_of(text), options["lines"])
        tags = options.get("tag") or options.get("tags")
        return parts.marked(lines_of(text), tags) if tags else lines_of(text)

    path, lines = reader.part([target, *targets], folders, stack, chosen)
    if (indent := options.get("indent", "")).isdecimal():
        text = textwrap.dedent("\n".join(lines))
        lines = textwrap.indent(text, " " * min(int(indent[:4]), 40)).split("\n")
    if path.lower().endswith(_ENDINGS):
        lines = expand("\n".join(lines), reader, (*stack, path), known).split("\n")
        offset = re.fullmatch(r"[+-]?\d{1,2}", options.get("leveloffset", ""))
        lines = _shifted(lines, int(offset[0])) if offset else lines
    return lines


def _places(target: str, reader: IncludeReader, stack: Sequence[str]) -> tuple[list[str], list[str]]:
    """Further names of a target, and the folders that it may be relative to."""
    folder = os.path.dirname(stack[-1])
    if target.startswith("/"):
        return [], reader.upwards(folder)
    resource = _RESOURCE.match(target)
    if resource is None:
        return [], [folder, os.path.dirname(stack[0])]
    component, module, family, path = resource.groups()
    above = reader.upwards(folder)
    own = next((one for one in above if os.path.basename(os.path.dirname(one)) == "modules"), folder)
    if component:
        inner = f"modules/{module or 'ROOT'}/{family}s/{path}"
        return [f"{component}/{inner}", inner], [one for one in above if one not in (own, folder)]
    return [f"{family}s/{path}"], [os.path.join(os.path.dirname(own), module) if module else own]


def _resolved(value: str, known: Mapping[str, str]) -> str:
    """With the values of attributes in place of references."""
    return _REFERENCE.sub(lambda match: known.get(match[1].lower(), match[0]), value)


def _shifted(lines: Sequence[str], by: int) -> list[str]:
    """Titles moved by `leveloffset`, outside code."""
    found: list[str] = []
    closing = ""
    for line in lines:
        if closing:
            closing = "" if line.strip() == closing else closing
        elif opening := _DELIMITER.match(line):
            closing = opening[1]
        else:
            line = _TITLE.sub(lambda title: "=" * min(6, max(1, len(title[1]) + by)), line, count=1)
        found.append(line)
    return found
