"""`include::target[…]` of AsciiDoc, as Asciidoctor resolves it, with Antora's names of modules and families."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from . import parts
from .files import IncludedFile, IncludeReader, NotIncluded

SIGNS = (b"include::",)
HINT = re.compile(rb"^include::", re.M)
_INCLUDE = re.compile(r"include::([^\[\s](?:[^\[]*[^\[\s])?)\[(.*)\][ \t]*$")
_ATTRIBUTE = re.compile(r":([A-Za-z0-9_][\w-]*):[ \t]+(\S.*)$")
_REFERENCE = re.compile(r"\{([\w-]+)\}")
_OPTION = re.compile(r"([\w-]+)[ \t]*=[ \t]*(?:\"([^\"]*)\"|'([^']*)'|([^,]*))")
_TITLE = re.compile(r"(={1,6})([ \t]+\S)")
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|/{4,}|\+{4,}|```)[\w,+-]*[ \t]*$")
_COMMENT = re.compile(r"/{4,}[ \t]*$")
_ENDINGS = (".adoc", ".asciidoc", ".asc", ".ad")
_FAMILIES = {"attachment": "attachments", "example": "examples", "image": "images", "page": "pages"} | {
    "partial": "partials"
}
_LONGEST_VALUE = 1_000  #: characters of an attribute: values may double each other
_RESOURCE = re.compile(r"(?:(?:[\w.-]+@)?(?:([\w.-]*):)?([\w.-]*):)?(attachment|example|image|page|partial)\$(.+)$")


def expand(text: str, reader: IncludeReader, stack: Sequence[str], attributes: dict[str, str] | None = None) -> str:
    """The text with what its directives include; `stack` names the document, then the files that led here."""
    known = {} if attributes is None else attributes
    out: list[str] = []
    comment = ""  # the line that closes the open comment
    for line in text.split("\n"):
        if comment or _COMMENT.match(line):
            comment = line.rstrip() if not comment else "" if line.rstrip() == comment else comment
            out.append(line)
            continue
        include = _INCLUDE.match(line) if line.startswith("include::") else None
        if include is None or "://" in include[1]:
            if line.startswith(":") and (entry := _ATTRIBUTE.match(line)):
                known[entry[1].lower()] = _resolved(entry[2].rstrip(), known)[:_LONGEST_VALUE]
            out.append(line)
            continue
        options = {one[1]: one[2] or one[3] or one[4] or "" for one in _OPTION.finditer(include[2])}
        try:
            out += _included(_resolved(include[1], known), options, reader, stack, known)
        except NotIncluded as error:
            out.append(str(error))
    return "\n".join(out)


def _included(
    target: str, options: Mapping[str, str], reader: IncludeReader, stack: Sequence[str], known: dict[str, str]
) -> list[str]:
    targets, folders = _places(target, reader, stack)

    def chosen(file: IncludedFile) -> list[str]:
        if "lines" in options:
            return parts.asciidoc_lines(file.lines, options["lines"])
        tags = options.get("tag") or options.get("tags")
        return parts.tagged(file.lines, tags) if tags else file.lines

    path, lines = reader.part([target, *targets], folders, stack, chosen)
    if (indent := options.get("indent", "")).isascii() and indent.isdigit():
        pad = " " * min(int(indent[:4]), 40)
        lines = [pad + line if line else line for line in parts.dedented(lines)]
    if path.lower().endswith(_ENDINGS):
        lines = expand("\n".join(lines), reader, (*stack, path), known).split("\n")
        lines = _shifted(lines, options.get("leveloffset", ""))
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
    inner = f"{_FAMILIES[family]}/{path}"
    above = reader.upwards(folder)
    own = next((one for one in above if os.path.basename(os.path.dirname(one)) == "modules"), folder)
    if component:
        name = f"{component}/modules/{module or 'ROOT'}/{inner}"
        return [name, f"modules/{module or 'ROOT'}/{inner}"], [one for one in above if one not in (own, folder)]
    return [inner], [own] if not module else [os.path.join(os.path.dirname(own), module)]


def _resolved(value: str, known: Mapping[str, str]) -> str:
    """With the values of attributes in place of references; Antora's for the folders of a module."""
    return _REFERENCE.sub(lambda match: known.get(match[1].lower(), _FOLDERS.get(match[1], match[0])), value)


_FOLDERS = {"partialsdir": "partial$", "examplesdir": "example$", "attachmentsdir": "attachment$"} | {
    "docdir": ".",
    "imagesdir": "image$",
}


def _shifted(lines: Sequence[str], offset: str) -> list[str]:
    """Titles moved by `leveloffset`, outside code."""
    try:
        by = int(offset or 0)
    except ValueError:
        by = 0
    if not by:
        return list(lines)
    found: list[str] = []
    closing = ""
    for line in lines:
        if closing:
            closing = "" if line.strip() == closing else closing
        elif opening := _DELIMITER.match(line):
            closing = opening[1]
        elif title := _TITLE.match(line):
            line = "=" * min(6, max(1, len(title[1]) + by)) + line[len(title[1]) :]
        found.append(line)
    return found
