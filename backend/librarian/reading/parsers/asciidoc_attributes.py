"""Attributes of AsciiDoc in running text: a page says `{version}`, and its reader sees `1.4`.

What an entry (`:version: 1.4`) sets holds from there on. A value is resolved where it is set, as Asciidoctor does, and
not looked through again where it is inserted: no value can refer to itself. A reference stays as it is where the file
doesn't set its attribute, which a site's settings or an included file may.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .asciidoc_lines import (
    ATTRIBUTE,
    BLOCK_ATTRIBUTES,
    COMMENT_BLOCK,
    DELIMITER,
    FENCE,
    ITEM,
    PASSED,
    TABLE,
    end_of_entry,
    underline,
)

#: A reference, or a run of text in which there are none.
_REFERENCE = re.compile(
    r"\\\{|\+\+\+.{1,400}?\+\+\+|\+\+.{1,400}?\+\+|(?<![\w+])\+(?=[^\s+])[^+\n]{1,400}(?<=\S)\+(?![\w+])"
    r"|pass:[b-z,]*\[[^\[\]\n]{0,400}\]|\{([\w-]+)\}"
)
_CODE_STYLE = re.compile(r"\[(?:(?:source|listing|literal|pass|stem|latexmath|asciimath)\b|,)")
_SUBSTITUTED = re.compile(r"\bsubs=(?:\"[^\"\n]*|[^\",\]\n]*)(?<!-)\b(?:attributes|normal)\b")
_ABOVE_BLOCK = re.compile(r"\.[^\s.]|//(?!/)")  #: a block's name, a comment: a block's attributes may go before them
_LEAST_ROOM = 100_000

#: Attributes of every page.
_KNOWN = {
    "amp": "&",
    "asterisk": "*",
    "blank": "",
    "caret": "^",
    "cpp": "C++",
    "empty": "",
    "nbsp": " ",
    "plus": "+",
    "sp": " ",
    "tilde": "~",
    "vbar": "|",
    "zwsp": "",
}


class Resolved(NamedTuple):
    """A text's lines with the values in place of references, and the attributes that its end has."""

    lines: list[str]
    attributes: dict[str, str]


def resolved(text: str) -> Resolved:
    """As many lines as the text has: a value has no line breaks."""
    resolver = _Resolver(text)
    resolver.resolve()
    return Resolved(resolver.lines, resolver.attributes)


class _Resolver:
    """One pass over the lines. What is inserted makes a text at most twice as long, so that few lines of values that
    double each other can't make gigabytes."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.attributes: dict[str, str] = {}
        self._room = len(text) + _LEAST_ROOM
        self._table = ""  # the line that closes the open table
        self._verbatim = ""  # the line that closes the open fence or comment; blank for a paragraph
        self._is_verbatim = self._is_substituted = False
        self._code_next = self._substitutes_next = False  # what attributes say of the block below them
        self._title = -1  # the page's, which the entries below it hold for too

    def resolve(self) -> None:
        number = 0
        begins = True  # a block
        while number < len(self.lines):
            line = self.lines[number]
            last = number
            if self._is_verbatim:
                self._in_verbatim(number, line)
                begins = True
            elif ATTRIBUTE.match(line) and not self._table:
                last = end_of_entry(self.lines, number)
                self._set(number, last)
                begins = True
            elif not line.strip():
                if self._title >= 0:
                    self.lines[self._title] = self._inserted(self.lines[self._title])
                    self._title = -1
                begins = True
            elif self._opens(line, begins):
                begins = True
            else:
                if begins and number + 1 < len(self.lines) and underline(line, self.lines[number + 1]):
                    last += 1
                begins = last > number or line.startswith("=")
                self._running(number, line)
            number = last + 1

    def _in_verbatim(self, number: int, line: str) -> None:
        if line.strip() in (self._verbatim, self._table or self._verbatim):
            self._is_verbatim = False
            if line.strip() == self._table:
                self._table = ""
        elif self._is_substituted:
            self.lines[number] = self._inserted(line)

    def _opens(self, line: str, begins: bool) -> bool:
        """Whether a line is one in which nothing is resolved: of markup, or a paragraph's of code."""
        mark = line.strip()
        if COMMENT_BLOCK.match(line) or FENCE.match(line) or (mark == "--" and self._code_next):
            self._begin("```" if mark.startswith("```") else mark)
            return True
        if DELIMITER.match(line) or TABLE.match(line):
            if TABLE.match(line):
                self._table = "" if mark == self._table else self._table or mark
            self._code_next = self._substitutes_next = False
            return True
        if BLOCK_ATTRIBUTES.match(line):
            self._code_next |= _CODE_STYLE.match(line) is not None
            self._substitutes_next |= _SUBSTITUTED.search(line) is not None
            return True
        if _ABOVE_BLOCK.match(line):
            return mark[0] == "/"
        literal = begins and line[0] in " \t" and not self._table and not ITEM.match(line)
        if literal or self._code_next:
            self._begin("")
            return not self._is_substituted
        self._code_next = self._substitutes_next = False
        return False

    def _begin(self, closing: str) -> None:
        self._is_verbatim, self._verbatim = True, closing
        self._is_substituted = closing[:1] != "/" and self._substitutes_next
        self._code_next = self._substitutes_next = False

    def _running(self, number: int, line: str) -> None:
        if line.strip() != "{description}" or "description" not in self.attributes:  # is text where it is set
            self.lines[number] = self._inserted(line)
        if line.startswith("= "):
            self._title = number

    def _set(self, first: int, last: int) -> None:
        entry = ATTRIBUTE.match(self.lines[first])
        assert entry is not None
        name = entry.group(1).lower()
        if "!" in name:
            self.attributes.pop(name.strip("!"), None)
            return
        lines = [(entry.group(2) or ""), *self.lines[first + 1 : last + 1]]
        value = " ".join(line.removesuffix(" \\").removesuffix(" +").strip() for line in lines)
        passed = PASSED.fullmatch(value)
        if passed is None or "a" in passed.group(1):
            value = self._inserted(value)
            if name == "description":  # is text
                for number in range(first, last + 1):
                    self.lines[number] = self._inserted(self.lines[number])
            passed = PASSED.fullmatch(value)
        self.attributes[name] = passed.group(2) if passed else value

    def _inserted(self, text: str) -> str:
        return _REFERENCE.sub(self._value, text) if "{" in text else text

    def _value(self, match: re.Match[str]) -> str:
        reference, name = match.group(), (match.group(1) or "").lower()
        value = self.attributes.get(name, _KNOWN.get(name)) if name else None
        if value is None:
            return reference
        if self._table:
            value = value.replace("|", "\\|")
        grown = len(value) - len(reference)
        if grown > self._room:
            return reference
        self._room -= max(0, grown)
        return value
