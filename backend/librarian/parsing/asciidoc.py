"""AsciiDoc: `.adoc`, `.asciidoc`, `.asc`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..models import Block, Document, Excluded, Heading, Link, SourceFile
from .document_builder import new_document
from .encoding import decode
from .line_scanner import Kind, LineScanner
from .metadata import modified_of, summary_of, tags_of, title_of
from .plain_text import plain
from .spans import Intervals

_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:[ \t]+(.*))?$")
_FENCE = re.compile(r"(?:-{4,}|\.{4,}|\+{4,})[ \t]*$|```[^\n`]*$")
_COMMENT_BLOCK = re.compile(r"/{4,}[ \t]*$")
DELIMITER = re.compile(r"(={4,}|\*{4,}|_{4,}|--)[ \t]*$")
_TABLE = re.compile(r"[|,:!]={3,}[ \t]*$")
BLOCK_ATTRIBUTES = re.compile(r"\[(?:[^\[\]\n]*|\[[^\[\]\n]*\])\][ \t]*$")
_ITEM = re.compile(r"[ \t]*(?:[*-]{1,6}|\.{1,6}|\d{1,3}\.|<\.>|<\d{1,3}>)[ \t]+\S|\S[^\n]{0,200}?:{2,4}(?:[ \t]|$)")
#: Text with some or no substitutions made; without `a` among them attributes are none of these.
_PASSED = re.compile(r"\Apass:[a-z,]*\[(.*)\][ \t]*\Z", re.S)
_UNRESOLVED = re.compile(r"pass:[b-z,]*\[")
#: Below a title; a line that begins with a dot names the block below it instead.
_UNDERLINE = re.compile(r"([=\-~^+])\1+[ \t]*$")
#: A reference, or a run of text in which there are none.
_REFERENCE = re.compile(
    r"\\\{|\+\+\+.{1,400}?\+\+\+|\+\+.{1,400}?\+\+|(?<![\w+])\+(?=[^\s+])[^+\n]{1,400}(?<=\S)\+(?![\w+])"
    r"|pass:[b-z,]*\[[^\[\]\n]{0,400}\]|\{([\w-]+)\}"
)
_MAX_GROWTH = 100_000  #: characters by which values may make a text longer than twice its length
#: Attributes of every page.
_KNOWN = {"amp": "&", "asterisk": "*", "blank": "", "caret": "^", "cpp": "C++", "empty": "", "nbsp": " ", "plus": "+",
          "sp": " ", "tilde": "~", "vbar": "|", "zwsp": ""}  # fmt: skip
_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*$")
#: Directives and macros that no reader sees.
_MACRO = re.compile(
    r"(?:include|ifdef|ifndef|ifeval|endif|toc|image|video|audio)::[^\n]*$|(?:<<<|'{3,})[ \t]*$|//(?!/)"
)
#: A picture's text is its first attribute without a name, or the one named alt.
_PICTURE = re.compile(
    r"image::[^\s\[\]]+\[(?:[^\n]{0,400}?\balt=)?(?![\w-]+=)(?:\"([^\"\n]*+)\"|([^\",\]\n]*+))[^\n]*\][ \t]*$"
)
#: What a title holds that no reader sees: anchors, and roles of what stands behind them.
_UNSEEN = re.compile(r"\[\[[^\[\]]+\]\]|\[[.#%][\w.#%-]+\](?=[*_`#])")
#: Links and pictures: the first text in their brackets is seen. All lengths are bounded: a long text without an end
#: must not be gone through again from each of its places.
_INLINE = re.compile(
    r"(?<!\\)(?:(?P<kind>link|xref|mailto|image|icon):(?!:)|(?=https?://))(?P<target>[^\s\[\]<>]{1,1000}+)"
    r"\[(?:[\w-]{1,40}=[^\[\]]{0,1000}|\"([^\"]{0,1000})\"[^\[\]]{0,1000}"
    r"|([^\[\]]{0,1000}?)\^?(?:,[ ]{0,9}[\w-]{1,40}=[^\[\]]{0,1000}+)?)\]"
    r"|<<(?P<anchor>[^<>,]{1,1000}),[ ]{0,9}([^<>]{1,1000})>>"
)
_TARGET = 2  #: its group that comes before those of words
_LONGEST_TARGET = 120  #: characters; more, left out, would part the passage that they stand in


class AsciiDocParser:
    """Titles, delimited blocks, lists and tables; attributes but the description, comments, includes and macros aren't
    indexed."""

    extensions: tuple[str, ...] = (".adoc", ".asciidoc", ".asc")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        scanner = _Scanner(decoded.text)
        text = scanner.scan()
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
            tags=tags_of(scanner.values),
            summary=summary_of(text, scanner.blocks, scanner.values, excluded),
            last_modified=modified_of({"date": scanner.values.get("revdate", "")}, source),
            title_in_text=in_text,
            front_matter={key: scanner.values[key] for key in ("description",) if key in scanner.values},
        )


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page in which attributes have their values already."""
    scanner = _Scanner(text)
    scanner.scan()
    return scanner.blocks


class _Scanner(LineScanner):
    """Finds blocks in the raw lines; offsets and words are those of the lines with attributes' values.

    So a value, which has no line breaks, cannot make a title or an item of a line.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.values: dict[str, str] = {}
        self._left = len(text) + _MAX_GROWTH
        self._delimiters: set[str] = set()  # that opened a block and haven't closed it

    def _line(self, number: int, line: str) -> int:
        if _COMMENT_BLOCK.match(line):
            return self._hidden(number, self._closing(number, line), "comment")
        if _FENCE.match(line) or _TABLE.match(line):
            return self._delimited(number, line)
        if DELIMITER.match(line):  # the blocks inside stand for themselves
            self._delimiters ^= {line.rstrip()}
            return self._hidden(number, number, "markup")
        if self._kind in (None, "paragraph") and (entry := _ATTRIBUTE.match(line)):
            return self._hidden(number, self._set(entry, number), "markup")
        if BLOCK_ATTRIBUTES.match(line):
            return self._hidden(number, number, "markup")
        if line.startswith("= "):  # the entries below hold for the title too
            below = number + 1
            while below < len(self._lines) and self._lines[below].strip():
                entry = _ATTRIBUTE.match(self._lines[below])
                below = 1 + (self._set(entry, below) if entry else below)
        shown = self._shown[number] = self._resolved(line)
        picture = _PICTURE.match(shown) if line.startswith("image::") else None
        if picture and any(map(str.isalpha, picture[picture.lastindex or 0])):
            self._close()
            start, (first, last) = self._start(number), picture.span(picture.lastindex or 0)
            self.excluded += [
                Excluded(start, start + first, "markup"),
                Excluded(start + last, self._end(number), "markup"),
            ]
            return self._add("paragraph", number, number)
        if _MACRO.match(line):
            return self._hidden(number, number, "comment" if line.startswith("//") else "markup")
        if self._kind is None and (taken := self._title(number, line)):
            return taken
        kind: Kind = "list" if _ITEM.match(line) else "paragraph"
        if self._kind is None or (kind == "list" and self._kind != "list"):
            self._close()
            self._kind, self._first = kind, number
        self._last = number
        return number + 1

    def _set(self, entry: re.Match[str], first: int) -> int:
        """Take over an attribute's value; returns the last line of its entry."""
        name, last = entry.group(1).lower(), first
        if "!" in name:
            self.values.pop(name.strip("!"), None)
            return last
        lines = [entry.group(2) or ""]
        while lines[-1].endswith(" \\") and last + 1 < len(self._lines):
            last += 1
            lines.append(self._lines[last])
        value = " ".join(line.removesuffix(" \\").removesuffix(" +").strip() for line in lines)
        value = value if _UNRESOLVED.match(value) else self._resolved(value)
        self.values[name] = _PASSED.sub(r"\1", value)
        return last

    def _resolved(self, text: str, *, in_table: bool = False) -> str:
        """A text with the values of the attributes that it refers to."""

        def value_of(match: re.Match[str]) -> str:
            name = (match.group(1) or "").lower()
            value = self.values.get(name, _KNOWN.get(name)) if name else None
            if value is None or len(value) - len(match.group()) > self._left:
                return match.group()
            self._left -= max(0, len(value) - len(match.group()))
            return value.replace("|", "\\|") if in_table else value

        return _REFERENCE.sub(value_of, text) if "{" in text else text

    def _title(self, number: int, line: str) -> int:
        """The line behind a title, 0 where there is none."""
        if match := _TITLE.match(line):
            shown = _TITLE.match(self._shown[number])  # not where all that it says is an empty value
            return self._heading(len(match.group(1)), shown.group(2) if shown else "", number, number)
        under = self._below(number).rstrip()
        rule = _UNDERLINE.match(under)
        is_title = rule and line[0] != "." and any(map(str.isalnum, line)) and under not in self._delimiters
        if rule and is_title and abs(len(under) - len(line.rstrip())) <= 1:
            return self._heading("=-~^+".index(rule.group(1)) + 1, self._shown[number], number, number + 1)
        return 0

    def _heading(self, level: int, words: str, first: int, last: int) -> int:
        words = _INLINE.sub(lambda match: match[_words(match)] if _words(match) else "", _UNSEEN.sub("", words))
        self.headings.append(Heading(min(6, level), plain(words), first + 1, self._start(first)))
        return self._add("heading", first, last)

    def _closing(self, number: int, line: str) -> int:
        """The line that closes the block opened at `number`; the last line where none does."""
        mark = "```" if line.startswith("```") else line.strip()
        place = number + 1
        while place < len(self._lines) and self._lines[place].strip() != mark:
            place += 1
        return min(place, len(self._lines) - 1)

    def _delimited(self, number: int, line: str) -> int:
        self._close()
        last = self._closing(number, line)
        if _FENCE.match(line):
            return self._add("fence", number, last, self._end(number))
        for place in range(number + 1, last):
            self._shown[place] = self._resolved(self._lines[place], in_table=True)
        return self._add("table", number, last, self._end(number))


def _words(match: re.Match[str]) -> int:
    """The group that holds the words of a link or picture, 0 where there are none."""
    return match.lastindex if match.lastindex and match.lastindex > _TARGET else 0


def _excluded(text: str, scanner: _Scanner) -> list[Excluded]:
    """What the scanner leaves out, and where links and pictures lead, around their words, outside of code."""
    code = [(block.start, block.end) for block in scanner.blocks if block.kind == "fence"]
    taken = Intervals(sorted(code + [(span.start, span.end) for span in scanner.excluded]))
    found = list(scanner.excluded)
    for match in _INLINE.finditer(text):
        words = _words(match)
        if words and match[words].strip() and match.start() not in taken:
            around = ((match.start(), match.start(words)), (match.end(words), match.end()))
            found += [Excluded(*span, "markup") for span in around if 0 < span[1] - span[0] <= _LONGEST_TARGET]
    return sorted(found, key=lambda span: span.start)


def _links(text: str) -> Iterator[Link]:
    for match in _INLINE.finditer(text):
        if match["kind"] in (None, "link", "xref"):
            target = match["target"] or f"#{match['anchor']}"
            words = plain(match[_words(match)]) if _words(match) else ""
            yield Link(words or target, target, match.start())
