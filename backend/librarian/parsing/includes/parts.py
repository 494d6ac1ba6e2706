"""Which lines of a file an include shows: by number, text, marker or the name of a Python object.

Every function takes and returns lines without their ends, and raises `NotIncluded` where the file lacks what is named.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence

from .files import MOST_TEXT, NotIncluded

#: What begins and ends a named part: mdBook's anchors, PyMdown's sections, Asciidoctor's tags.
_MARKER = re.compile(
    r"ANCHOR(?P<anchor_end>_END)?:[ \t]{0,9}(?P<anchor>[\w-]+)"
    r"|(?<![;-])-{1,9}8<-{1,9}\s{1,9}\[\s{0,9}(?:start|(?P<section_end>end))\s{0,9}:\s{0,9}(?P<section>[\w-]+)\s{0,9}\]"
    r"|\b(?:tag|(?P<tag_end>e)nd)::(?P<tag>[^\s\[\]]{1,200})\[\](?=$|\s)"
)
_RANGE = re.compile(r"(-?\d{1,9})?(?:(-|:|\.\.)(-?\d{1,9})?)?$")
_LARGEST_PARSED = 300_000  #: characters of a Python file in which an object is looked for


def numbered(lines: Sequence[str], spec: str) -> list[str]:
    """Lines by numbers such as `1,3,5-10,20-`, `4:6`, `1..3;7` or, from the end, `-3:`."""
    found: list[str] = []
    for item in re.split("[,;]", spec):
        match = _RANGE.match(item.strip())
        if match is None or not item.strip():
            raise NotIncluded(f"Included part not found, lines {spec}")
        first, last = int(match[1] or 1), int(match[3] or -1) if match[2] else int(match[1] or 1)
        first, last = (max(0, len(lines) + 1 + at) if at < 0 else at for at in (first, last))
        found += lines[max(0, first - 1) : last]
        if sum(map(len, found)) + len(found) > MOST_TEXT:  # the same lines may be named many times
            raise NotIncluded(f"Included part not found, {spec[:40]} is too much")
    if not found:
        raise NotIncluded(f"Included part not found, lines {spec}")
    return found


def marker_of(line: str) -> tuple[str, bool] | None:
    """(the name of the part that a line begins or ends, whether it ends it); None for other lines."""
    found = _MARKER.search(line)
    if found is None:
        return None
    return found["anchor"] or found["section"] or found["tag"], bool(
        found["anchor_end"] or found["section_end"] or found["tag_end"]
    )


def marked(lines: Sequence[str], spec: str) -> list[str]:
    """Lines between the marks of a name, or of one of several (`a;b`), without the marks in them."""
    wanted = {one.strip() for one in re.split("[;,]", spec)}
    found: list[str] = []
    inside: set[str] = set()
    for line in lines:
        name, is_end = marker_of(line) or ("", False)
        if is_end:
            inside.discard(name)
        elif name:
            inside.add(name)
        elif not wanted.isdisjoint(inside):
            found.append(line)
    if not found:
        raise NotIncluded(f"Included part not found, part {spec}")
    return found


def by_options(lines: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """What the options of Sphinx's `literalinclude` and docutils' `include` choose, in the order of Sphinx."""
    found = list(lines)
    if "start-line" in options or "end-line" in options:
        found = found[_number(options.get("start-line")) : _number(options.get("end-line"))]
    if "pyobject" in options:
        found = python_object(found, options["pyobject"])
    if "start-at" in options:
        found = found[_line_with(found, options, "start-at") :]
    elif "start-after" in options:
        found = found[_line_with(found, options, "start-after") + 1 :]
    if "end-at" in options:
        found = found[: _line_with(found, options, "end-at") + 1]
    elif "end-before" in options:
        found = found[: _line_with(found, options, "end-before")]
    if "lines" in options:
        found = numbered(found, options["lines"])
    if "dedent" in options:
        width = _number(options["dedent"].strip() or None)
        found = textwrap.dedent("\n".join(found)).split("\n") if width is None else [line[width:] for line in found]
    return found


def _line_with(lines: Sequence[str], options: Mapping[str, str], option: str) -> int:
    for place, line in enumerate(lines):
        if options[option] in line:
            return place
    raise NotIncluded(f"Included part not found, {option} {options[option]}")


def _number(given: str | None) -> int | None:
    try:
        return None if given is None else int(given[:9])
    except ValueError as error:
        raise NotIncluded(f"Included part not found, line {given}") from error


def python_object(lines: Sequence[str], name: str) -> list[str]:
    """The class, function or method called `name` (`Class.method`), its decorators included."""
    node: ast.AST | None = None
    try:
        body = ast.parse("\n".join(lines)).body if sum(map(len, lines)) <= _LARGEST_PARSED else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        body = []
    for part in name.strip().split("."):
        node = next((one for one in body if getattr(one, "name", "") == part), None)
        body = getattr(node, "body", [])
    if not isinstance(node, ast.stmt):
        raise NotIncluded(f"Included part not found, pyobject {name}")
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return list(lines[first - 1 : node.end_lineno])
