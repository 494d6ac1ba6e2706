"""AsciiDoc: `.adoc`, `.asciidoc`, `.asc`."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ..models import Block, Document, Excluded, Heading, Link, SourceFile
from .encoding import decode
from .metadata import doc_type_of, modified_of, summary_of, tags_of, title_of
from .plain_text import plain
from .spans import Inside

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
    """One pass over the lines: what a line is is told by the file, what it says has the values of attributes.

    No value can make a title or a list's item of a line then, nor part a paragraph where it is empty.
    """

    def __init__(self, text: str) -> None:
        self.blocks: list[Block] = []
        self.headings: list[Heading] = []
        self.excluded: list[Excluded] = []
        self._lines = text.split("\n")
        self._shown, self.attributes = resolved(text)
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
        told = line.strip() == "{description}" and self._is_described
        if told or BLOCK_ATTRIBUTES.match(line) or _MACRO.match(line):
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
