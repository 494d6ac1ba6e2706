"""AsciiDoc: `.adoc`, `.asciidoc`, `.asc`."""

from __future__ import annotations

import re
from typing import Literal

from librarian.vocabulary.types import Block, Document, Excluded, Heading, Link, SourceFile

from ..encoding import decode
from ..metadata import doc_type_of, modified_of, summary_of, tags_of, title_of
from ..plain_text import plain
from .spans import Inside

_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*$")
#: Below a title; a line that begins with a dot names the block below it instead.
_UNDERLINE = re.compile(r"([=\-~^+])\1+[ \t]*$")
_FENCE = re.compile(r"(?:-{4,}|\.{4,}|\+{4,})[ \t]*$|```[^\n`]*$")
_DELIMITER = re.compile(r"(={4,}|\*{4,}|_{4,}|--)[ \t]*$")
_COMMENT_BLOCK = re.compile(r"/{4,}[ \t]*$")
_TABLE = re.compile(r"[|,:!]={3,}[ \t]*$")
_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:[ \t]+(.*))?$")
_PASSED = re.compile(r"pass:[a-z,]*\[(.*)\][ \t]*", re.S)  #: text whose markup alone is made
_BLOCK_ATTRIBUTES = re.compile(r"\[(?:[^\[\]\n]*|\[[^\[\]\n]*\])\][ \t]*$")
#: Directives and macros that no reader sees.
_MACRO = re.compile(
    r"(?:include|ifdef|ifndef|ifeval|endif|toc|image|video|audio)::[^\n]*$|(?:<<<|'{3,})[ \t]*$|//(?!/)"
)
#: A picture's text is its first attribute without a name, or the one named alt.
_PICTURE = re.compile(
    r"image::[^\s\[\]]+\[(?:[^\n]{0,400}?\balt=)?(?![\w-]+=)(?:\"([^\"\n]*)\"|([^\",\]\n]*))[^\n]*\][ \t]*$"
)
_ITEM = re.compile(r"[ \t]*(?:[*-]{1,6}|\.{1,6}|\d{1,3}\.|<\.>|<\d{1,3}>)[ \t]+\S|\S[^\n]{0,200}?:{2,4}(?:[ \t]|$)")
_LINK = re.compile(
    r"(?:link:|xref:)([^\s\[\]]+)\[([^\[\]]{0,400})\]|(https?://[^\s\[\]<>]+)\[([^\[\]]{1,400})\]|<<([^<>,\n]+),([^<>\n]+)>>"
)

#: What a title holds that no reader sees: anchors, and roles of what stands behind them.
_UNSEEN = re.compile(r"\[\[[^\[\]]+\]\]|\[[.#%][\w.#%-]+\](?=[*_`#])")
_REFERENCE = re.compile(r"(?<!\\)\{([\w-]+)\}")
#: Links and pictures: the first text in their brackets is seen.
_INLINE = re.compile(
    r"(?<!\\)(?:(?:link|xref|mailto|image|icon):(?!:)[^\s\[\]]+|https?://[^\s\[\]<>]+)"
    r"\[(?:[\w-]+=[^\[\]]*|\"([^\"]*)\"[^\[\]]*|([^\[\]]*?)\^?(?:,[ ]*[\w-]+=[^\[\]]*)?)\]"
    r"|<<[^<>,]+,[ ]*([^<>]+)>>"
)
_LONGEST_TARGET = 120  #: characters; more, left out, would part the passage that they stand in
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

Kind = Literal["paragraph", "list", "table", "fence", "quote", "other"]


class AsciiDocParser:
    """Titles, delimited blocks, lists and tables; attributes, comments, includes and macros aren't indexed.

    What a page is about it often says in the attribute `description` alone, which it refers to: that is text.
    """

    extensions: tuple[str, ...] = (".adoc", ".asciidoc", ".asc")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        text = decoded.text
        scanner = _Scanner(text).scan()
        excluded = _excluded(text, scanner)
        title, in_text = title_of({}, scanner.headings, source.file_path)
        return Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind="document",
            file_type=source.extension,
            title=title,
            text=text,
            headings=tuple(scanner.headings),
            blocks=tuple(scanner.blocks),
            excluded=tuple(excluded),
            links=tuple(_links(text)),
            doc_type=doc_type_of(source.file_path, title, text),
            tags=tags_of(scanner.attributes),
            encoding=decoded.encoding,
            encoding_confidence=decoded.confidence,
            summary=summary_of(text, scanner.blocks, scanner.attributes, excluded),
            last_modified=modified_of({"date": scanner.attributes.get("revdate", "")}, source.mtime_ns),
            size=source.size,
            mtime_ns=source.mtime_ns,
            title_in_text=in_text,
        )


class _Scanner:
    """One pass over the lines."""

    def __init__(self, text: str) -> None:
        self.blocks: list[Block] = []
        self.headings: list[Heading] = []
        self.excluded: list[Excluded] = []
        self.attributes: dict[str, object] = {}
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
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
        if _COMMENT_BLOCK.match(line):
            return self._hidden(number, self._closing(number, line), "comment")
        if _FENCE.match(line):
            return self._delimited(number, "fence")
        if _TABLE.match(line):
            return self._delimited(number, "table")
        if _DELIMITER.match(line):  # the blocks inside stand for themselves
            self._delimiters ^= {line.rstrip()}
            return self._hidden(number, number, "markup")
        if (picture := _PICTURE.match(line)) and any(map(str.isalpha, picture[picture.lastindex or 0])):
            return self._shown(number, *picture.span(picture.lastindex or 0))
        attribute = _ATTRIBUTE.match(line) if self._kind in (None, "paragraph") else None
        if attribute:
            self.attributes[attribute.group(1)] = attribute.group(2) or ""
            if attribute.group(1) == "description" and attribute.group(2):
                return self._description(number, attribute.start(2))
        told = line.strip() == "{description}" and "description" in self.attributes
        if attribute or told or _BLOCK_ATTRIBUTES.match(line) or _MACRO.match(line):
            return self._hidden(number, number, "comment" if line.startswith("//") else "markup")
        if self._kind is None and (taken := self._title(number, line)):
            return taken
        if line.strip() == "+" and self._kind == "list":
            self._last = number
            return number + 1
        kind: Kind = "list" if _ITEM.match(line) else "paragraph"
        if self._kind is None or (kind == "list" and self._kind != "list"):
            self._close()
            self._kind, self._first = kind, number
        self._last = number
        return number + 1

    def _description(self, number: int, place: int) -> int:
        """A paragraph of the attribute's value, which begins at `place` and goes on behind a backslash."""
        self._close()
        last = number
        while self._lines[last].endswith(" \\") and last + 1 < len(self._lines):
            last += 1
        line, end = self._starts[number], self._end(last)
        value = "\n".join(self._lines[number : last + 1])[place:]
        passed = _PASSED.fullmatch(value)
        first, behind = passed.span(1) if passed else (0, len(value))
        self.excluded.append(Excluded(line, line + place + first, "markup"))
        if passed:
            self.excluded.append(Excluded(line + place + behind, end, "markup"))
        self.attributes["description"] = value[first:behind].replace(" \\\n", " ")
        self.blocks.append(Block("paragraph", line, end))
        return last + 1

    def _title(self, number: int, line: str) -> int:
        match = _TITLE.match(line)
        if match:
            self._heading(len(match.group(1)), match.group(2), number, number)
            return number + 1
        under = self._lines[number + 1] if number + 1 < len(self._lines) else ""
        rule = _UNDERLINE.match(under)
        close = abs(len(under.rstrip()) - len(line.rstrip())) <= 1 and under.rstrip() not in self._delimiters
        if rule and close and line[0] != "." and any(map(str.isalnum, line)):
            self._heading("=-~^+".index(rule.group(1)) + 1, line, number, number + 1)
            return number + 2
        return 0

    def _heading(self, level: int, words: str, first: int, last: int) -> None:
        start, known = self._starts[first], _KNOWN | self.attributes
        words = _INLINE.sub(lambda match: match[match.lastindex] if match.lastindex else "", _UNSEEN.sub("", words))
        words = _REFERENCE.sub(lambda match: str(known.get(match.group(1), match.group())), words)
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

    def _shown(self, number: int, first: int, last: int) -> int:
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
        return self._starts[number] + len(self._lines[number])


def _excluded(text: str, scanner: _Scanner) -> list[Excluded]:
    """What the scanner leaves out, and where links and pictures lead, around their words, outside of code."""
    code = [(block.start, block.end) for block in scanner.blocks if block.kind == "fence"]
    taken = Inside(sorted(code + [(span.start, span.end) for span in scanner.excluded]))
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
