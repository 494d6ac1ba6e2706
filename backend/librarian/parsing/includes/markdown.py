"""Includes of what builds sites from Markdown: PyMdown's snippets, FastAPI's and MkDocs' `{* … *}` and `{! … !}`,
mdBook's `{{#include}}`, Hugo's and Quarto's shortcodes, MyST's `{literalinclude}` and `{include}`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from ..document_builder import marks_around
from ..front_matter import read_front_matter
from ..markdown_blocks import hidden_in_directive
from . import parts
from .files import IncludedFile, IncludeReader, NotIncluded, language_of

_HUGO_NAMES = r"include|readfile|code_sample|codenew|code"
#: A page without any of these includes nothing; the first are quick to look for.
SIGNS = (b"8<", b"{*", b"{!", b"{{", b"include}")
HINT = re.compile(
    rb"-8<-|^[ \t]*\{[*!]|\{\{#(?:include|rustdoc_include|playground|playpen)\s|\{(?:literal)?include\}"
    rb"|\{\{[<%]\s*(?:" + _HUGO_NAMES.encode() + rb")\s",
    re.M,
)

_SNIPPET = re.compile(r"([ \t]{0,40})-{1,9}8<-{1,9}[ \t]{1,9}(?:\"([^\"]{1,500})\"|'([^']{1,500})')$")
_SNIPPET_BLOCK = re.compile(r"[ \t]{0,40}-{1,9}8<-{1,9}$")
_LONGEST_BLOCK = 100  #: lines between the marks of a block; a lone mark opens none
_SNIPPET_PART = re.compile(r":(?:(-?\d*(?::-?\d*)?(?:,-?\d*(?::-?\d*)?)*)|([A-Za-z][-\w]*))$")
_RANGES = re.compile(
    r"([ \t]{0,40})\{\*[ \t]{0,9}(\S{1,500}+)[ \t]*+((?:\w{1,20}\[[^\]]{0,300}\][ \t]*+)*+)\*\}[ \t]*$"
)
_CHOICE = re.compile(r"(\w+)\[([^\]]*)\]")
_BANG = re.compile(
    r"([ \t]{0,40})\{!>?[ \t]{0,9}([^\s\[\]!]{1,500}+)[ \t]*+(?:\[ln:([\d,. -]{1,300})\])?[ \t]*+!"
    r"(?:lines=([\d -]{1,300}))?\}[ \t]*$"
)
_BOOK = re.compile(
    r"(\\?)\{\{#(include|rustdoc_include|playground|playpen)[ \t]{1,9}([^{}\s]{1,500}+)([ \t][^{}]{0,200})?\}\}"
)
_HUGO = re.compile(rf"\{{\{{([<%])[ \t]{{0,9}}({_HUGO_NAMES})[ \t]{{1,9}}([^{{}}]{{1,1000}})[>%]\}}\}}")
_ARGUMENT = re.compile(r"(?:(\w+)\s*=\s*)?(?:\"([^\"]*)\"|`([^`]*)`|([^\s\"=]+))")
_MYST = re.compile(r"([ \t]{0,40})(`{3,}+|~{3,}+|:{3,}+)[ \t]{0,9}\{(literalinclude|include)\}[ \t]+(\S.*)$")
_MYST_OPTION = re.compile(r"[ \t]*:?([\w-]+):(?:[ \t]+(.*))?$")
_LONGEST_OPTIONS = 60  #: lines
_LONGEST_HEAD = 200  #: characters of a line that opens a fence
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}+|~{3,}+)(?=[^`]*$)")
_MARKER = re.compile(r"[ \t]{0,40}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,9})?$")


def expand(text: str, reader: IncludeReader, stack: Sequence[str], *, section: bool = True) -> str:
    """The text with what it includes; `stack` names the document, then the files that led here. Markers of sections
    are left out of included files unless they are a `section` themselves."""
    start = read_front_matter(text).end if len(stack) == 1 else 0
    lines = text[start:].split("\n")
    out: list[str] = []
    fence = ""
    directives: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        if fence:
            if _closes(line, fence):
                fence = ""
        elif directives and _closes(line, directives[-1]):
            directives.pop()
        elif myst := _MYST.match(line):
            end = _myst_end(lines, number, myst[2])
            out += _padded(myst[1], _myst(myst, lines[number + 1 : end], end - number, reader, stack))
            number = end + 1
            continue
        elif opening := _FENCE.match(line):
            head = line.strip()[:_LONGEST_HEAD]
            if hidden_in_directive(head, 0, len(head)):  # of MyST, whose body is text
                directives.append(opening[1])
            else:
                fence = opening[1]
        if "8<-" in line and _SNIPPET_BLOCK.match(line) and (end := _block_end(lines, number)):
            for row in lines[number + 1 : end]:
                pad = row[: len(row) - len(row.lstrip())]
                out += _padded(pad, _shown(_snippet, row.strip(), reader, stack)) if row.strip() else [""]
            number = end + 1
            continue
        out += _line(line, reader, stack, in_code=bool(fence))
        number += 1
    if not section:
        out = parts.without_sections(out)
    return text[:start] + "\n".join(out)


def _closes(line: str, fence: str) -> bool:
    row = line.strip()
    return row.startswith(fence) and not row.strip(fence[0])


def _line(line: str, reader: IncludeReader, stack: Sequence[str], *, in_code: bool) -> list[str]:
    if "8<-" in line and (snippet := _SNIPPET.match(line)):
        return _padded(snippet[1], _shown(_snippet, (snippet[2] or snippet[3]).strip(), reader, stack))
    if "{*" in line and (ranges := _RANGES.match(line)):
        return _padded(ranges[1], _shown(_ranges, ranges[2], ranges[3], reader, stack, in_code))
    if "{!" in line and (bang := _BANG.match(line)):
        return _padded(bang[1], _shown(_bang, bang, reader, stack))
    if "{{#" in line:
        line = _replaced(line, _BOOK, lambda match: None if match[1] else _shown(_book, match, reader, stack))
    if "{{<" in line or "{{%" in line:
        line = _replaced(line, _HUGO, lambda match: _hugo(match, reader, stack, in_code=in_code))
    return line.split("\n")


def _shown(include: Callable[..., list[str]], *given: object) -> list[str]:
    """What an include puts in its place, or the line that says why it can't."""
    try:
        return include(*given)
    except NotIncluded as error:
        return [str(error)]


def _padded(pad: str, lines: Sequence[str]) -> list[str]:
    return [pad + line if line else line for line in lines] if pad else list(lines)


def _replaced(line: str, pattern: re.Pattern[str], insert: Callable[[re.Match[str]], list[str] | None]) -> str:
    """The line with what stands in place of each match; None leaves a match as it is."""
    found: list[str] = []
    reached = 0
    for match in pattern.finditer(line):
        if line[max(0, match.start() - 1) : match.start()] == "`" == line[match.end() : match.end() + 1]:
            continue  # a page about such markup
        lines = insert(match)
        if lines is None:
            continue
        before = line[reached : match.start()]
        if len(lines) > 1 and not reached and _MARKER.match(before):
            pad = " " * len(before)
            lines = [lines[0], *_padded(pad, lines[1:])]
        elif len(lines) > 1 and lines[0].startswith("```"):
            lines = ["", "", *lines, ""]
        found += [before, "\n".join(lines)]
        reached = match.end()
    return "".join(found) + line[reached:] if found else line


def _as_fence(code: Sequence[str], language: str) -> list[str]:
    marks = marks_around("\n".join(code))
    return [marks + language, *code, marks]


def _nested(
    lines: Sequence[str], path: str, reader: IncludeReader, stack: Sequence[str], *, section: bool = True
) -> list[str]:
    return expand("\n".join(lines), reader, (*stack, path), section=section).split("\n")


# -- MkDocs ----------------------------------------------------------------------------------------------------------


def _project(reader: IncludeReader, stack: Sequence[str]) -> list[str]:
    """Where paths are relative to that a site's settings give a base: the folders above the page, nearest first."""
    return reader.upwards(os.path.dirname(stack[0]))


def _block_end(lines: Sequence[str], first: int) -> int:
    """The line that closes a block of snippets; 0 where none is near."""
    for number in range(first + 1, min(len(lines), first + _LONGEST_BLOCK)):
        if "8<-" in lines[number] and _SNIPPET_BLOCK.match(lines[number]):
            return number
    return 0


def _snippet(target: str, reader: IncludeReader, stack: Sequence[str]) -> list[str]:
    if target.startswith(";"):
        return []
    if target.lower().startswith(("https://", "http://")):
        return [f'--8<-- "{target}"']
    path, numbers, name = _snippet_target(target)

    def chosen(file: IncludedFile) -> list[str]:
        lines = file.text.split("\n") if file.text else []
        if numbers is not None:
            return parts.snippet_lines(lines, numbers)
        return parts.snippet_section(lines, name) if name else lines

    path, lines = reader.part([path], _project(reader, stack), stack, chosen)
    return _nested(lines, path, reader, stack, section=bool(name))


def _snippet_target(target: str) -> tuple[str, str | None, str | None]:
    """Path, line numbers, section: of `file.md:1:2,8:9` or `file.md:section`."""
    colon = target.find(":")
    while colon >= 0:
        if part := _SNIPPET_PART.match(target, colon):
            return target[:colon].strip(), part[1], part[2]
        colon = target.find(":", colon + 1)
    return target, None, None


def _ranges(target: str, choices: str, reader: IncludeReader, stack: Sequence[str], in_code: bool) -> list[str]:
    """FastAPI's: the lines of `ln[1:5,8]`, or all, as a fence."""
    ranges = {one[1]: one[2] for one in _CHOICE.finditer(choices)}.get("ln", "").strip()

    def chosen(file: IncludedFile) -> list[str]:
        if not ranges or ranges == "0":
            return file.lines
        first, *others = [parts.numbered(file.lines, one.replace(":", "-")) for one in ranges.split(",")]
        return first + [row for part in others for row in ("", "# Code here omitted", "", *part)]

    path, lines = reader.part([target], _project(reader, stack), stack, chosen)
    return lines if in_code else _as_fence(lines, language_of(path))


def _bang(match: re.Match[str], reader: IncludeReader, stack: Sequence[str]) -> list[str]:
    """`{! file !}` of mdx_include and markdown-include, with `[ln:1-5,7]` or `lines=1 3 8-10`."""
    target, numbers, words = match[2], match[3], match[4]
    spec = numbers.replace("..", "-") if numbers else ",".join((words or "").split())

    def chosen(file: IncludedFile) -> list[str]:
        return parts.numbered(file.lines, spec) if spec else file.lines

    path, lines = reader.part([target], _project(reader, stack), stack, chosen)
    return _nested(lines, path, reader, stack) if path.endswith(".md") else lines


# -- mdBook ----------------------------------------------------------------------------------------------------------


def _book(match: re.Match[str], reader: IncludeReader, stack: Sequence[str]) -> list[str]:
    _, kind, target, more = match.groups()
    path, _, spec = target.partition(":")

    def chosen(file: IncludedFile) -> list[str]:
        return parts.book_part(file.lines, spec) if spec else file.lines

    path, lines = reader.part([path], [os.path.dirname(stack[-1])], stack, chosen)
    if kind in ("playground", "playpen"):
        return _as_fence(lines, ",".join(["rust", *(more or "").replace(",", " ").split()]))
    return _nested(lines, path, reader, stack) if kind == "include" else lines


# -- Hugo and Quarto -------------------------------------------------------------------------------------------------


def _hugo(match: re.Match[str], reader: IncludeReader, stack: Sequence[str], *, in_code: bool) -> list[str] | None:
    name = match[2]
    given = [(one[1], one[2] or one[3] or one[4] or "") for one in _ARGUMENT.finditer(match[3].rstrip(" \t/"))]
    arguments = {key: value for key, value in given if key}
    target = arguments.get("file") or (next((value for key, value in given if not key), "") if name != "code" else "")
    if not target:
        return None
    folder = os.path.dirname(stack[-1])
    above = reader.upwards(os.path.dirname(stack[0]))
    if name == "include":
        targets, folders = [target, f"includes/{target}"], [folder, *above]
    elif name == "readfile":
        targets, folders = [target], above if target.startswith("/") else [folder]
    else:
        targets, folders = [target, f"examples/{target}"], above

    def chosen(file: IncludedFile) -> list[str]:
        body = file.text[read_front_matter(file.text).end :] if file.path.endswith((".md", ".html")) else file.text
        return body.strip("\n").split("\n")

    try:
        path, lines = reader.part(targets, folders, stack, chosen)
    except NotIncluded:
        return None  # the shortcode stays: its line names the file, and is shown
    if name in ("include", "readfile") and arguments.get("code", "") != "true":
        return _nested(lines, path, reader, stack)
    language = arguments.get("language") or arguments.get("lang") or language_of(path)
    if in_code:
        return lines
    return [*([] if name == "readfile" else [f"`{target}`", ""]), *_as_fence(lines, language)]


# -- MyST ------------------------------------------------------------------------------------------------------------


def _myst_end(lines: Sequence[str], first: int, marks: str) -> int:
    """The line that closes a directive; the last of its options where none does."""
    for number in range(first + 1, min(len(lines), first + _LONGEST_OPTIONS)):
        row = lines[number].strip()
        if _closes(row, marks):
            return number
    return first


def _myst(
    opening: re.Match[str], body: Sequence[str], rows: int, reader: IncludeReader, stack: Sequence[str]
) -> list[str]:
    """What stands in place of a directive of so many further `rows`; lines keep their numbers where that is none."""
    options = {one[1]: (one[2] or "").rstrip() for row in body if (one := _MYST_OPTION.match(row))}
    target = opening[4].rstrip()

    def chosen(file: IncludedFile) -> list[str]:
        if opening[3] == "literalinclude":
            return parts.literal_part(file.lines, options)
        return parts.clipped(file.text, options).strip("\n").split("\n")

    try:
        path, lines = reader.part([target], reader.near(target, stack), stack, chosen)
    except NotIncluded as error:
        return [str(error), *[""] * rows]
    caption = [options["caption"], ""] if options.get("caption") else []
    if opening[3] == "literalinclude" or "literal" in options or "code" in options:
        language = options.get("language") or options.get("code") or options.get("lang")
        return [*caption, *_as_fence(lines, language or language_of(path))]
    return _nested(lines, path, reader, stack)
