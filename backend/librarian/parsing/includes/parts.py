"""Which lines of a file an include shows: by number, text, marker, tag or the name of a Python object.

Every function takes and returns lines without their ends, and raises `PartNotFound` where the file lacks what is named.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence

from .files import MOST_TEXT, PartNotFound

_ANCHOR = re.compile(r"ANCHOR(_END)?:\s*([\w_-]+)")
_SECTION = re.compile(
    r"(?<!;)-{1,9}8<-{1,9}[ \t]{1,9}\[[ \t]{0,9}(start|end)[ \t]{0,9}:[ \t]{0,9}([a-z][-_0-9a-z]{0,99})[ \t]{0,9}\]",
    re.I,
)
_TAG = re.compile(r"\b(?:tag|(e)nd)::([^\s\[\]]{1,200})\[\](?=$|\s)")
_RANGE = re.compile(r"(\d{0,9})(?:(-)(\d{0,9}))?$")
_NUMBER = re.compile(r"-?[0-9]{1,9}$")
_LARGEST_PARSED = 300_000  #: characters of a Python file in which an object is looked for


def dedented(lines: Sequence[str]) -> list[str]:
    """Without the indentation that all lines share."""
    return textwrap.dedent("\n".join(lines)).split("\n") if lines else []


def _require_few(lines: Sequence[str], spec: str) -> None:
    """Ranges may name the same lines many times."""
    if len(lines) > MOST_TEXT or sum(map(len, lines)) > MOST_TEXT:
        raise PartNotFound(f"{spec[:40]} is too much")


# -- reStructuredText (Sphinx) ---------------------------------------------------------------------------------------


def literal_part(lines: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """What `literalinclude` shows, its filters in the order of Sphinx."""
    found = list(lines)
    if "pyobject" in options:
        found = python_object(found, options["pyobject"])
    for name, keeps in (("start-at", True), ("start-after", False)):
        if name in options:
            place = _line_with(found, options[name], name)
            found = found[place if keeps else place + 1 :]
            break
    if "end-at" in options:
        found = found[: _line_with(found, options["end-at"], "end-at") + 1]
    elif "end-before" in options:
        found = found[: _line_with(found, options["end-before"], "end-before", first=1)]
    if "lines" in options:
        found = numbered(found, options["lines"])
    if "dedent" in options:
        width = options["dedent"].strip()
        counted = width.isascii() and width.isdigit() and len(width) < 10
        found = [line[int(width) :] for line in found] if counted else dedented(found)
    before = [options["prepend"]] if "prepend" in options else []
    after = [options["append"]] if "append" in options else []
    return before + found + after


def _line_with(lines: Sequence[str], text: str, option: str, first: int = 0) -> int:
    for place in range(first, len(lines)):
        if text in lines[place]:
            return place
    raise PartNotFound(f"{option} {text}")


def numbered(lines: Sequence[str], spec: str) -> list[str]:
    """Lines by numbers such as `1,3,5-10,20-`, in that order."""
    found: list[str] = []
    for item in spec.split(","):
        match = _RANGE.match(item.strip())
        if match is None or not item.strip():
            raise PartNotFound(f"lines {spec}")
        first = int(match[1] or 1)
        last = first if match[2] is None else int(match[3]) if match[3] else len(lines)
        found += lines[max(0, first - 1) : last]
        _require_few(found, f"lines {spec}")
    if not found:
        raise PartNotFound(f"lines {spec}")
    return found


def python_object(lines: Sequence[str], name: str) -> list[str]:
    """The class, function or method called `name` (`Class.method`), its decorators included."""
    missing = PartNotFound(f"pyobject {name}")
    if sum(map(len, lines)) > _LARGEST_PARSED:
        raise missing
    try:
        body: Sequence[ast.AST] = ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise missing from error
    node: ast.AST | None = None
    for part in name.strip().split("."):
        node = next((one for one in body if part in _names(one)), None)
        if node is None:
            raise missing
        body = getattr(node, "body", [])
    assert isinstance(node, ast.stmt)
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return list(lines[first - 1 : node.end_lineno])


def _names(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return (node.name,)
    return ()


def clipped(text: str, options: Mapping[str, str]) -> str:
    """What docutils' `include` takes of a file: lines counted from 0, then what stands between two texts."""
    if "start-line" in options or "end-line" in options:
        first, last = (_number(options.get(name)) for name in ("start-line", "end-line"))
        text = "".join(text.splitlines(keepends=True)[first:last])
    if "start-after" in options:
        place = text.find(options["start-after"])
        if place < 0:
            raise PartNotFound(f"start-after {options['start-after']}")
        text = text[place + len(options["start-after"]) :]
    if "end-before" in options:
        place = text.find(options["end-before"])
        if place < 0:
            raise PartNotFound(f"end-before {options['end-before']}")
        text = text[:place]
    return text


def _number(given: str | None) -> int | None:
    try:
        return None if given is None else int(given)
    except ValueError as error:
        raise PartNotFound(f"line {given}") from error


# -- Markdown --------------------------------------------------------------------------------------------------------


def snippet_lines(lines: Sequence[str], spec: str) -> list[str]:
    """PyMdown's `4:6`, `4:`, `:6`, `1:3,5:6`, and from the end `-3:`; what is out of range is left out."""
    found: list[str] = []
    for item in spec.split(","):
        first, _, last = item.partition(":")
        start, end = (int(value) if _NUMBER.match(value) else None for value in (first, last))
        if start is not None:
            start = max(0, start - 1) if start >= 0 else max(0, len(lines) + start)
        if end is not None and end < 0:
            end = max(0, len(lines) + 1 + end)
        found += lines[start:end]
        _require_few(found, spec)
    return found


def snippet_section(lines: Sequence[str], name: str) -> list[str]:
    """What stands between `--8<-- [start:name]` and `--8<-- [end:name]`, other markers left out."""

    def mark(line: str) -> tuple[str, bool] | None:
        marker = _SECTION.search(line)
        return (marker[2], marker[1].lower() == "end") if marker else None

    return _between(lines, name, mark, "section")


def _between(lines: Sequence[str], name: str, mark: Callable[[str], tuple[str, bool] | None], kind: str) -> list[str]:
    """Lines between the marks of a name, other marks left out; `mark` gives a line's name and whether it ends it."""
    found: list[str] = []
    inside = begun = False
    for line in lines:
        known = mark(line)
        if known and known[0] == name:
            if known[1] and inside:
                break
            inside = begun = begun or not known[1]
        elif inside and not known:
            found.append(line)
    if not begun:
        raise PartNotFound(f"{kind} {name}")
    return found


def without_sections(lines: Iterable[str]) -> list[str]:
    """Lines that aren't markers of PyMdown's sections."""
    return [line for line in lines if "8<-" not in line or not _SECTION.search(line)]


def book_part(lines: Sequence[str], spec: str) -> list[str]:
    """mdBook's `2`, `2:10`, `2:`, `:10` or the name of an anchor, whose comments are left out."""
    first, colon, last = spec.partition(":")
    if (not first or _NUMBER.match(first)) and (not last or _NUMBER.match(last)):
        start = max(0, int(first) - 1) if first else 0
        end = int(last) if last else None if colon else start + 1
        return list(lines[start:end])

    def mark(line: str) -> tuple[str, bool] | None:
        marker = _ANCHOR.search(line)
        return (marker[2], bool(marker[1])) if marker else None

    return _between(lines, first, mark, "anchor")


# -- AsciiDoc --------------------------------------------------------------------------------------------------------


def tagged(lines: Sequence[str], spec: str) -> list[str]:
    """Lines between `tag::name[]` and `end::name[]` as Asciidoctor chooses them: `a;b`, `!a`, `*`, `**`."""
    names = [one.strip() for one in re.split(r"[;,]", spec) if one.strip()]
    wanted = {name.removeprefix("!"): not name.startswith("!") for name in names}
    outside = wanted.pop("**", True not in wanted.values())  # whether lines outside all tags are taken
    unnamed = wanted.pop("*", None)
    found: list[str] = []
    seen: set[str] = set()
    open_tags: list[tuple[str, bool]] = []
    for line in lines:
        match = _TAG.search(line) if "::" in line and "[]" in line else None
        if match is None:
            if open_tags[-1][1] if open_tags else outside:
                found.append(line)
        elif match[1]:
            open_tags = [one for one in open_tags if one[0] != match[2]]
        elif (choice := wanted.get(match[2], unnamed)) is not None:
            open_tags.append((match[2], choice))
            seen.add(match[2])
    missing = sorted(name for name, taken in wanted.items() if taken and name not in seen)
    if missing and not found:
        raise PartNotFound(f"tag {', '.join(missing)}")
    return found


def asciidoc_lines(lines: Sequence[str], spec: str) -> list[str]:
    """Lines by numbers such as `1..3;7;10..-1`, each once and in the file's order."""
    wanted: set[int] = set()
    for item in re.split(r"[;,]", spec):
        first, dots, last = item.strip().partition("..")
        try:
            start = int(first or 1)
            end = int(last or -1) if dots else start
        except ValueError:
            continue
        wanted.update(range(max(1, start), (end if 0 <= end <= len(lines) else len(lines)) + 1))
    return [line for number, line in enumerate(lines, start=1) if number in wanted]
