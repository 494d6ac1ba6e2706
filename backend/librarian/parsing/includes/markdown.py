"""Includes of what builds sites from Markdown: PyMdown's snippets, FastAPI's and MkDocs' `{* … *}` and `{! … !}`,
mdBook's `{{#include}}`, Hugo's and Quarto's shortcodes, MyST's `{literalinclude}` and `{include}`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..document_builder import marks_around
from ..front_matter import read_front_matter
from ..markdown_blocks import hidden_in_directive
from . import parts
from .files import Choose, IncludeReader, language_of, lines_of

_HUGO_NAMES = r"include|readfile|code_sample|codenew|code"
#: A page without any of these includes nothing.
HINT = re.compile(
    rb"-8<-|^[ \t]*\{[*!]|\{\{#(?:include|rustdoc_include)\s|\{(?:literal)?include\}"
    rb"|\{\{[<%]\s*(?:" + _HUGO_NAMES.encode() + rb")\s",
    re.M,
)

_SNIPPET_PART = re.compile(r":(?:(-?\d*(?::-?\d*)?(?:,-?\d*(?::-?\d*)?)*)|([A-Za-z][-\w]*))$")
_CHOICE = re.compile(r"\bln\[([^\]]*)\]")
_ARGUMENT = re.compile(r"(?:(\w+)\s*=\s*)?(?:\"([^\"]*)\"|`([^`]*)`|([^\s\"=]+))")
_MYST = re.compile(r"([ \t]{0,40})(`{3,}+|~{3,}+|:{3,}+)[ \t]{0,9}\{(literalinclude|include)\}[ \t]+(\S.*)$")
_MYST_OPTION = re.compile(r"[ \t]*:?([\w-]+):(?:[ \t]+(.*))?$")
_LONGEST_OPTIONS = 60  #: lines
_LONGEST_HEAD = 200  #: characters of a line that opens a fence
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}+|~{3,}+)(?=[^`]*$)")
_MARKER = re.compile(r"[ \t]{0,40}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,9})?$")


class _Include(NamedTuple):
    """What a directive includes. Its `language` says that it is shown as code, by the file's ending if empty."""

    targets: list[str]
    folders: list[str]
    choose: Choose
    language: str | None = None
    lead: tuple[str, ...] = ()  #: lines above
    missing: str = ""  #: what is shown where there is no such file, instead of the line that says so


def expand(text: str, reader: IncludeReader, stack: Sequence[str]) -> str:
    """The text with what it includes; `stack` names the document, then the files that led here."""
    start = read_front_matter(text).end if len(stack) == 1 else 0
    lines = text[start:].split("\n")
    out: list[str] = []
    fences: list[tuple[str, bool]] = []  # the marks of those that are open, and whether they hold code
    number = 0
    while number < len(lines):
        line = lines[number]
        in_code = bool(fences) and fences[-1][1]
        if fences and _closes(line, fences[-1][0]):
            fences.pop()
        elif not in_code and (myst := _MYST.match(line)):
            end = _myst_end(lines, number, myst[2])
            rows = _inserted(_myst(myst, lines[number + 1 : end], reader, stack), reader, stack, rows=end - number)
            out += _padded(myst[1], rows)
            number = end + 1
            continue
        elif not in_code and (opening := _FENCE.match(line)):
            head = line.strip()[:_LONGEST_HEAD]
            fences.append((opening[1], not hidden_in_directive(head, 0, len(head))))  # MyST's bodies are text
        number += 1
        if len(stack) == 1 or "8<-" not in line or not parts.marker_of(line):
            out += _replaced(line, reader, stack, in_code=in_code)
    return text[:start] + "\n".join(out)


def _closes(line: str, marks: str) -> bool:
    row = line.strip()
    return row.startswith(marks) and not row.strip(marks[0])


def _padded(pad: str, lines: Sequence[str]) -> list[str]:
    return [pad + line if line else line for line in lines]


def _replaced(line: str, reader: IncludeReader, stack: Sequence[str], *, in_code: bool) -> list[str]:
    """The line with what its directives include in their places."""
    for sign, pattern, read in _DIRECTIVES:
        if sign not in line:
            continue
        found: list[str] = []
        reached = 0
        for match in pattern.finditer(line):
            include = read(match, reader, stack)
            if include is None or line[max(0, match.start() - 1) : match.start()] == "`" == line[match.end() :][:1]:
                continue  # a page about such markup
            lines = _inserted(include, reader, stack, in_code=in_code)
            before = line[reached : match.start()]
            if not reached and _MARKER.match(before):
                lines = [*lines[:1], *_padded(" " * len(before), lines[1:])]
            elif len(lines) > 1 and lines[0].startswith("```"):
                lines = ["", "", *lines, ""]
            found += [before, "\n".join(lines)]
            reached = match.end()
        if found:
            return ("".join(found) + line[reached:]).split("\n")
    return [line]


def _inserted(
    include: _Include, reader: IncludeReader, stack: Sequence[str], *, in_code: bool = False, rows: int = 0
) -> list[str]:
    """What an include puts in its place, or what says that it can't, in a line and so many further `rows`."""
    path, lines = reader.part(include.targets, include.folders, stack, include.choose)
    if not path:
        return [include.missing or lines[0], *[""] * rows]
    if include.language is None:
        return expand("\n".join(lines), reader, (*stack, path)).split("\n")
    if in_code:
        return lines
    marks = marks_around("\n".join(lines))
    return [*include.lead, marks + (include.language or language_of(path)), *lines, marks]


def _project(reader: IncludeReader, stack: Sequence[str]) -> list[str]:
    """Where paths are relative to that a site's settings give a base: the folders above the page, nearest first."""
    return reader.upwards(os.path.dirname(stack[0]))


def _by_numbers(spec: str) -> Choose:
    """All lines, or those of a range such as `4:6`."""
    return lambda text: parts.numbered(lines_of(text), spec) if spec else lines_of(text)


def _snippet(match: re.Match[str], reader: IncludeReader, stack: Sequence[str]) -> _Include | None:
    """PyMdown's `--8<-- "file.md:1:2,8:9"` or `"file.md:section"`."""
    target = (match[1] or match[2]).strip()
    if target.lower().startswith(("https://", "http://")):
        return None
    colons = (at for at, char in enumerate(target) if char == ":")
    part = next((found for at in colons if (found := _SNIPPET_PART.match(target, at))), None)
    path = target[: part.start()].strip() if part else target

    def chosen(text: str) -> list[str]:
        lines = text.split("\n") if text else []
        if part is None:
            return lines
        if part[2]:
            return parts.marked(lines, part[2])
        return parts.numbered(lines, ",".join(one if ":" in one else f"{one}:" for one in part[1].split(",")))

    return _Include([path], _project(reader, stack), chosen)


def _ranges(match: re.Match[str], reader: IncludeReader, stack: Sequence[str]) -> _Include:
    """FastAPI's `{* file ln[1:5,8] *}`: these lines, or all, as a fence."""
    choice = _CHOICE.search(match[2])
    ranges = choice[1].strip() if choice else ""

    def chosen(text: str) -> list[str]:
        if not ranges or ranges == "0":
            return lines_of(text)
        first, *others = [parts.numbered(lines_of(text), one) for one in ranges.split(",")]
        return first + [row for part in others for row in ("", "# Code here omitted", "", *part)]

    return _Include([match[1]], _project(reader, stack), chosen, language="")


def _bang(match: re.Match[str], reader: IncludeReader, stack: Sequence[str]) -> _Include:
    """`{! file !}` of mdx_include and markdown-include, with `[ln:1-5,7]` or `lines=1 3 8-10`."""
    return _Include([match[1]], _project(reader, stack), _by_numbers(match[2] or ",".join((match[3] or "").split())))


def _book(match: re.Match[str], reader: IncludeReader, stack: Sequence[str]) -> _Include:
    """mdBook's `{{#include file:2:10}}` or `{{#include file:anchor}}`."""
    path, _, spec = match[1].partition(":")
    is_name = spec[:1].isalpha() or spec[:1] == "_"
    choose: Choose = (lambda text: parts.marked(lines_of(text), spec)) if is_name else _by_numbers(spec)
    return _Include([path], [os.path.dirname(stack[-1])], choose)


def _hugo(match: re.Match[str], reader: IncludeReader, stack: Sequence[str]) -> _Include | None:
    """Shortcodes of Hugo and Quarto."""
    name = match[1]
    given = [(one[1], one[2] or one[3] or one[4] or "") for one in _ARGUMENT.finditer(match[2].rstrip(" \t/"))]
    arguments = {key: value for key, value in given if key}
    first = next((value for key, value in given if not key), "") if name != "code" else ""
    target = arguments.get("file") or first
    if not target:
        return None
    folders = [os.path.dirname(stack[-1]), *_project(reader, stack)]

    def chosen(text: str) -> list[str]:
        start = read_front_matter(text).end if target.endswith((".md", ".html")) else 0
        return text[start:].strip("\n").split("\n")

    shown = name in ("include", "readfile") and arguments.get("code") != "true"
    language = None if shown else arguments.get("language") or arguments.get("lang") or ""
    lead = () if name == "readfile" else (f"`{target}`", "")
    targets = [target, f"includes/{target}", f"examples/{target}"]
    return _Include(targets, folders, chosen, language, lead, missing=match[0])


def _myst_end(lines: Sequence[str], first: int, marks: str) -> int:
    """The line that closes a directive; the one that opens it where none does."""
    near = range(first + 1, min(len(lines), first + _LONGEST_OPTIONS))
    return next((at for at in near if _closes(lines[at], marks)), first)


def _myst(opening: re.Match[str], body: Sequence[str], reader: IncludeReader, stack: Sequence[str]) -> _Include:
    """MyST's `{literalinclude}` and `{include}`, with their options."""
    options = {one[1]: (one[2] or "").rstrip() for row in body if (one := _MYST_OPTION.match(row))}
    target = opening[4].rstrip()
    is_code = opening[3] == "literalinclude" or "literal" in options or "code" in options
    return _Include(
        [target],
        reader.near(target, stack),
        lambda text: parts.by_options(lines_of(text), options),
        next((options[name] for name in ("language", "code", "lang") if options.get(name)), "") if is_code else None,
        (options["caption"], "") if options.get("caption") else (),
    )


#: What a line of each kind contains, how it looks, and what reads it.
_DIRECTIVES = (
    ("8<-", re.compile(r"(?<!\S)-{1,9}8<-{1,9}[ \t]{1,9}(?:\"([^\"]{1,500})\"|'([^']{1,500})')$"), _snippet),
    ("{*", re.compile(r"(?<!\S)\{\*[ \t]{0,9}(\S{1,500}+)\s*+((?:\w{1,20}\[[^\]]{0,300}\]\s*+)*+)\*\}\s*$"), _ranges),
    ("{!", re.compile(
        r"(?<!\S)\{!>?[ \t]{0,9}([^\s\[\]!]{1,500}+)[ \t]*+(?:\[ln:([\d,. -]{1,300})\])?[ \t]*+!"
        r"(?:lines=([\d -]{1,300}))?\}\s*$"
    ), _bang),
    ("{{#", re.compile(r"(?<!\\)\{\{#(?:rustdoc_)?include[ \t]{1,9}([^{}\s]{1,500}+)(?:\s[^{}]{0,200})?\}\}"), _book),
    ("{{", re.compile(rf"\{{\{{[<%][ \t]{{0,9}}({_HUGO_NAMES})[ \t]{{1,9}}([^{{}}]{{1,1000}})[>%]\}}\}}"), _hugo),
)  # fmt: skip
