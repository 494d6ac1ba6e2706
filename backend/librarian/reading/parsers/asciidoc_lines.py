"""What the lines of AsciiDoc are."""

from __future__ import annotations

import re

ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:[ \t]+(.*))?$")
FENCE = re.compile(r"(?:-{4,}|\.{4,}|\+{4,})[ \t]*$|```[^\n`]*$")
COMMENT_BLOCK = re.compile(r"/{4,}[ \t]*$")
DELIMITER = re.compile(r"(={4,}|\*{4,}|_{4,}|--)[ \t]*$")
TABLE = re.compile(r"[|,:!]={3,}[ \t]*$")
BLOCK_ATTRIBUTES = re.compile(r"\[(?:[^\[\]\n]*|\[[^\[\]\n]*\])\][ \t]*$")
ITEM = re.compile(r"[ \t]*(?:[*-]{1,6}|\.{1,6}|\d{1,3}\.|<\.>|<\d{1,3}>)[ \t]+\S|\S[^\n]{0,200}?:{2,4}(?:[ \t]|$)")
#: Text with some or no substitutions made.
PASSED = re.compile(r"pass:([a-z,]*)\[(.*)\][ \t]*", re.S)
#: Below a title; a line that begins with a dot names the block below it instead.
_UNDERLINE = re.compile(r"([=\-~^+])\1+[ \t]*$")


def end_of_entry(lines: list[str], number: int) -> int:
    """The last line of an attribute's value, which goes on behind a backslash."""
    while lines[number].endswith(" \\") and number + 1 < len(lines):
        number += 1
    return number


def underline(line: str, below: str) -> re.Match[str] | None:
    """The rule below a line that it makes a title, being about as long."""
    rule = _UNDERLINE.match(below)
    close = rule is not None and abs(len(below.rstrip()) - len(line.rstrip())) <= 1
    return rule if close and line[0] != "." and any(map(str.isalnum, line)) else None
