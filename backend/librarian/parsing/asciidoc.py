"""AsciiDoc: `.adoc`, `.asciidoc`, `.asc`."""

from __future__ import annotations

import re
from typing import Literal

from ..models import Block, Document, Excluded, Heading, Link, SourceFile
from .document_builder import new_document
from .encoding import decode
from .metadata import modified_of, summary_of, tags_of, title_of
from .plain_text import plain
from .spans import Intervals

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


#: A reference, or a run of text in which there are none.
_REFERENCE = re.compile(
    r"\\\{|\+\+\+.{1,400}?\+\+\+|\+\+.{1,400}?\+\+|(?<![\w+])\+(?=[^\s+])[^+\n]{1,400}(?<=\S)\+(?![\w+])"
    r"|pass:[b-z,]*\[[^\[\]\n]{0,400}\]|\{([\w-]+)\}"
)
_MAX_GROWTH = 100_000  #: characters by which values may make a text longer than twice its length
#: Attributes of every page.
_KNOWN = {"amp": "&", "asterisk": "*", "blank": "", "caret": "^", "cpp": "C++", "empty": "", "nbsp": " ", "plus": "+",
          "sp": " ", "tilde": "~", "vbar": "|", "zwsp": ""}  # fmt: skip


class _Attributes:
    """Values of attributes, put in place of references outside code. A value has no line breaks."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.values: dict[str, str] = {}
        self._left = len(text) + _MAX_GROWTH
        self._in_table = False
        title, closing = -1, ""  # closing: the line that ends the open fence or comment
        number = 0
        while number < len(self.lines):
            line, mark = self.lines[number], self.lines[number].strip()
            last = number
            if closing:
                closing = "" if mark == closing else closing
            elif FENCE.match(line) or COMMENT_BLOCK.match(line):
                closing = "```" if mark.startswith("```") else mark
            elif entry := ATTRIBUTE.match(line):
                last = end_of_entry(self.lines, number)
                self._set(entry, number, last)
            elif line.startswith("= "):
                title = number  # the entries below it hold for it too
            elif TABLE.match(line):
                self._in_table = not self._in_table
            elif not BLOCK_ATTRIBUTES.match(line) and (mark != "{description}" or "description" not in self.values):
                self.lines[number] = self._resolved(line)
                above = self.lines[number - 1] if number else ""
                if mark and not above.strip() and underline(line, "".join(self.lines[number + 1 : number + 2])):
                    last += 1
            number = last + 1
            if title >= 0 and (not mark or number == len(self.lines)):
                self.lines[title] = self._resolved(self.lines[title])
                title = -1

    def _set(self, entry: re.Match[str], first: int, last: int) -> None:
        name = entry.group(1).lower()
        if "!" in name:
            self.values.pop(name.strip("!"), None)
            return
        if name == "description":  # is text
            self.lines[first : last + 1] = map(self._resolved, self.lines[first : last + 1])
        lines = [entry.group(2) or "", *self.lines[first + 1 : last + 1]]
        value = " ".join(line.removesuffix(" \\").removesuffix(" +").strip() for line in lines)
        passed = PASSED.fullmatch(value)
        if passed is None or "a" in passed.group(1):
            value = self._resolved(value)
            passed = PASSED.fullmatch(value)
        self.values[name] = passed.group(2) if passed else value

    def _resolved(self, text: str) -> str:
        return _REFERENCE.sub(self._value, text) if "{" in text else text

    def _value(self, match: re.Match[str]) -> str:
        name = (match.group(1) or "").lower()
        value = self.values.get(name, _KNOWN.get(name)) if name else None
        if value is None or len(value) - len(match.group()) > self._left:
            return match.group()
        self._left -= max(0, len(value) - len(match.group()))
        return value.replace("|", "\\|") if self._in_table else value


_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*$")
#: Directives and macros that no reader sees.
_MACRO = re.compile(
    r"(?:include|ifdef|ifndef|ifeval|endif|toc|image|video|audio)::[^\n]*$|(?:<<<|'{3,})[ \t]*$|//(?!/)"
)
#: A picture's text is its first attribute without a name, or the one named alt.
_PICTURE = re.compile(
    r"image::[^\s\[\]]+\[(?:[^\n]{0,400}?\balt=)?(?![\w-]+=)(?:\"([^\"\n]*+)\"|([^\",\]\n]*+))[^\n]*\][ \t]*$"
)
_LINK = re.compile(
    r"(?:link:|xref:)([^\s\[\]]{1,1000}+)\[([^\[\]]{0,400})\]|(https?://[^\s\[\]<>]{1,1000}+)\[([^\[\]]{1,400})\]"
    r"|<<([^<>,\n]{1,1000}),([^<>\n]{1,1000})>>"
)

#: What a title holds that no reader sees: anchors, and roles of what stands behind them.
_UNSEEN = re.compile(r"\[\[[^\[\]]+\]\]|\[[.#%][\w.#%-]+\](?=[*_`#])")
#: Links and pictures: the first text in their brackets is seen. All lengths are bounded: a long text without an end
#: must not be gone through again from each of its places.
_INLINE = re.compile(
    r"(?<!\\)(?:(?:link|xref|mailto|image|icon):(?!:)[^\s\[\]]{1,1000}+|https?://[^\s\[\]<>]{1,1000}+)"
    r"\[(?:[\w-]{1,40}=[^\[\]]{0,1000}|\"([^\"]{0,1000})\"[^\[\]]{0,1000}"
    r"|([^\[\]]{0,1000}?)\^?(?:,[ ]{0,9}[\w-]{1,40}=[^\[\]]{0,1000}+)?)\]"
    r"|<<[^<>,]{1,1000},[ ]{0,9}([^<>]{1,1000})>>"
)
_LONGEST_TARGET = 120  #: characters; more, left out, would part the passage that they stand in

Kind = Literal["paragraph", "list", "table", "fence", "quote", "other"]


class AsciiDocParser:
    """Titles, delimited blocks, lists and tables; attributes, comments, includes and macros aren't indexed.

    What a page is about it often says in the attribute `description` alone, which it refers to: that is text.
    """

    extensions: tuple[str, ...] = (".adoc", ".asciidoc", ".asc")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        scanner = _Scanner(decoded.text).scan()
        text = scanner.text
        excluded = _excluded(text, scanner)
        title, in_text = title_of({}, scanner.headings, source.file_path)
        return new_document(
            source,
            title,
            text,
            decoded,
            headings=tuple(scanner.headings),
            blocks=tuple(scanner.blocks),
            excluded=tuple(excluded),
            links=tuple(_links(text)),
            tags=tags_of(scanner.attributes),
            summary=summary_of(text, scanner.blocks, scanner.attributes, excluded),
            last_modified=modified_of({"date": scanner.attributes.get("revdate", "")}, source),
            title_in_text=in_text,
        )


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page in which attributes have their values already."""
    return _Scanner(text).scan().blocks


class _Scanner:
    """Finds blocks in the raw lines; offsets and words are those of the lines with attributes' values.

    So a value cannot make a title or an item of a line.
    """

    def __init__(self, text: str) -> None:
        self.blocks: list[Block] = []
        self.headings: list[Heading] = []
        self.excluded: list[Excluded] = []
        self._lines = text.split("\n")
        attributes = _Attributes(text)
        self._shown, self.attributes = attributes.lines, attributes.values
        self.text = "\n".join(self._shown)
        self._is_described = False
        self._starts = [0]
        for line in self._shown:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._kind: Kind | None = None
        self._first = self._last = 0
        self._delimiters: set[str] = set()  # that opened a block and haven't closed it

    def scan(self) -> _Scanner:
        number = 0
        while number < len(self._lines):
            line = self._lines[number]
            if not line.strip():
                self._close()
                number += 1
            else:
                number = self._line(number, line)
        self._close()
        return self

    def _line(self, number: int, line: str) -> int:
        if COMMENT_BLOCK.match(line):
            return self._hidden(number, self._closing(number, line), "comment")
        if FENCE.match(line):
            return self._delimited(number, "fence")
        if TABLE.match(line):
            return self._delimited(number, "table")
        if DELIMITER.match(line):  # the blocks inside stand for themselves
            self._delimiters ^= {line.rstrip()}
            return self._hidden(number, number, "markup")
        picture = _PICTURE.match(self._shown[number]) if line.startswith("image::") else None
        if picture and any(map(str.isalpha, picture[picture.lastindex or 0])):
            return self._pictured(number, *picture.span(picture.lastindex or 0))
        if self._kind in (None, "paragraph") and (attribute := ATTRIBUTE.match(line)):
            last = end_of_entry(self._lines, number)
            if attribute.group(1) == "description" and attribute.group(2):
                return self._description(number, last, attribute.start(2))
            return self._hidden(number, last, "markup")
        repeated = line.strip() == "{description}" and self._is_described
        if repeated or BLOCK_ATTRIBUTES.match(line) or _MACRO.match(line):
            return self._hidden(number, number, "comment" if line.startswith("//") else "markup")
        if self._kind is None and (taken := self._title(number, line)):
            return taken
        if line.strip() == "+" and self._kind == "list":
            self._last = number
            return number + 1
        kind: Kind = "list" if ITEM.match(line) else "paragraph"
        if self._kind is None or (kind == "list" and self._kind != "list"):
            self._close()
            self._kind, self._first = kind, number
        self._last = number
        return number + 1

    def _description(self, number: int, last: int, place: int) -> int:
        """A paragraph of the attribute's value, which begins at `place`."""
        self._close()
        self._is_described = True
        line, end = self._starts[number], self._end(last)
        value = self.text[line + place : end]
        passed = PASSED.fullmatch(value)
        first, behind = passed.span(2) if passed else (0, len(value))
        self.excluded.append(Excluded(line, line + place + first, "markup"))
        if passed:
            self.excluded.append(Excluded(line + place + behind, end, "markup"))
        self.blocks.append(Block("paragraph", line, end))
        return last + 1

    def _title(self, number: int, line: str) -> int:
        if match := _TITLE.match(line):
            shown = _TITLE.match(self._shown[number])  # not where all that it says is an empty value
            self._heading(len(match.group(1)), shown.group(2) if shown else "", number, number)
            return number + 1
        under = self._lines[number + 1] if number + 1 < len(self._lines) else ""
        if (rule := underline(line, under)) and under.rstrip() not in self._delimiters:
            self._heading("=-~^+".index(rule.group(1)) + 1, self._shown[number], number, number + 1)
            return number + 2
        return 0

    def _heading(self, level: int, words: str, first: int, last: int) -> None:
        start = self._starts[first]
        words = _INLINE.sub(lambda match: match[match.lastindex] if match.lastindex else "", _UNSEEN.sub("", words))
        self.headings.append(Heading(min(6, level), plain(words), first + 1, start))
        self.blocks.append(Block("heading", start, self._end(last)))

    def _closing(self, number: int, line: str) -> int:
        """The line that closes the block opened at `number`; the last line where none does."""
        mark = line.strip()
        if mark.startswith("```"):
            mark = "```"
        place = number + 1
        while place < len(self._lines) and self._lines[place].strip() != mark:
            place += 1
        return min(place, len(self._lines) - 1)

    def _delimited(self, number: int, kind: Kind) -> int:
        self._close()
        last = self._closing(number, self._lines[number])
        self.blocks.append(Block(kind, self._starts[number], self._end(last), self._end(number)))
        return last + 1

    def _hidden(self, first: int, last: int, reason: str) -> int:
        self._close()
        self.blocks.append(Block("other", self._starts[first], self._end(last)))
        self.excluded.append(Excluded(self._starts[first], self._end(last), reason))
        return last + 1

    def _pictured(self, number: int, first: int, last: int) -> int:
        """A line of which only what stands between two columns is seen."""
        self._close()
        start, end = self._starts[number], self._end(number)
        self.blocks.append(Block("paragraph", start, end))
        self.excluded += [Excluded(start, start + first, "markup"), Excluded(start + last, end, "markup")]
        return number + 1

    def _close(self) -> None:
        if self._kind is not None:
            self.blocks.append(Block(self._kind, self._starts[self._first], self._end(self._last)))
        self._kind = None

    def _end(self, number: int) -> int:
        return self._starts[number] + len(self._shown[number])


def _excluded(text: str, scanner: _Scanner) -> list[Excluded]:
    """What the scanner leaves out, and where links and pictures lead, around their words, outside of code."""
    code = [(block.start, block.end) for block in scanner.blocks if block.kind == "fence"]
    taken = Intervals(sorted(code + [(span.start, span.end) for span in scanner.excluded]))
    found = list(scanner.excluded)
    for match in _INLINE.finditer(text):
        if not match.lastindex or not match[match.lastindex].strip() or match.start() in taken:
            continue
        first, last = match.span(match.lastindex)
        for start, end in ((match.start(), first), (last, match.end())):
            if start < end <= start + _LONGEST_TARGET:
                found.append(Excluded(start, end, "markup"))
    return sorted(found, key=lambda span: span.start)


def _links(text: str) -> list[Link]:
    links: list[Link] = []
    for match in _LINK.finditer(text):
        target = match.group(1) or match.group(3) or f"#{match.group(5)}"
        words = plain(match.group(2) or match.group(4) or match.group(6) or target)
        links.append(Link(words, target, match.start()))
    return links
