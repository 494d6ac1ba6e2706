"""Plain text and reStructuredText: `.txt`, `.text`, `.rst` (and `.rst.txt`, as Sphinx publishes its sources)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from ..models import Block, Document, Excluded, Heading, Link, SourceFile
from .document_builder import new_document
from .encoding import decode
from .line_scanner import Kind, LineScanner
from .metadata import summary_of, title_of
from .plain_text import plain
from .spans import Intervals, in_order

_RULE = re.compile(r"([=\-~^\"'`#*+.:_<>!$%&,/;?@|\\])\1{2,}[ \t]*$")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|#\.|\([a-z0-9]{1,3}\)|[a-z][.)])[ \t]+\S")
_GRID = re.compile(r"[ \t]*\+(?:[-=]+\+)+[ \t]*$")
_RULED = re.compile(r"[ \t]*=+(?:[ \t]+=+)+[ \t]*$")
_PIPED = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_CODE_DIRECTIVE = re.compile(
    r"[ \t]*\.\. (?:code-block|code|sourcecode|parsed-literal|testcode|testoutput|doctest|math) ?::"
)
#: Directives of docutils and Sphinx whose bodies are text, though their lines end like those above literal blocks.
_PROSE_DIRECTIVE = re.compile(
    r"[ \t]*\.\. (?:note|tip|hint|important|warning|caution|danger|error|attention|admonition|seealso|todo|topic|"
    r"sidebar|glossary|only|container|compound|epigraph|highlights|pull-quote|list-table|hlist) ?::$"
)
_TARGET = re.compile(
    r"[ \t]*\.\. _[^\n]*:[ \t]*$|[ \t]*\.\. (?:include|literalinclude|image|raw|currentmodule|"
    r"highlight|default-role|default-domain|tabularcolumns|sectionauthor|codeauthor) ?::[^\n]*$"
)
#: The name of a target as it stands in front of its colon, in backticks where it holds a colon itself.
TARGET_NAME = r"(?:`[^`\n]+`|(?:[^:`\n\\]|\\.|:(?!\s))+)"
#: Where a name leads that is used elsewhere: `.. _name: https://…`, without a name `.. __: https://…` or `__ https://…`.
_LEADS = re.compile(rf"[ \t]*(?:\.\. _{TARGET_NAME}:|__)[ \t]+\S[^\n]*$")
_COMMENT = re.compile(r"\.\.(?:[ \t]+(?![\w:+.-]+ ?::|_|\[|\||\S*::)\S.*)?$")
_BRACKET = re.compile(r"(?<!\\)<")
_JOINT = re.compile(r"\\ (?=`)|(?:(?<=[\w)\]>]`)|(?<=[\w)\]>]``))\\ ?(?=\w)")  #: joins words to code, and isn't seen
_MAX_TITLE = 120  #: characters; a longer line above a rule is a table's header, but in reStructuredText


class TextScanner(LineScanner):
    """Finds what a reader sees as titles, lists, tables and code."""

    def __init__(self, text: str, *, directives: bool) -> None:
        super().__init__(text)
        self._directives = directives
        self._styles: list[tuple[str, bool]] = []
        self._literal_next = False  # the last paragraph ended with "::"
        self._margin = 0  # of that paragraph; what is indented deeper is literal
        self._note_indent = -1  # of the open note, whose text becomes a quote

    def _line(self, number: int, line: str) -> int:
        first = line[0]
        indented = first in " \t"
        if self._kind is None:
            if taken := self._title(number, line):
                return taken
            if indented and self._literal_next:
                return self._indented_block(number, number)
            self._literal_next = False
            if self._directives and (taken := self._directive(number, line)):
                return taken
            if _GRID.match(line) or _RULED.match(line):
                return self._table(number)
            if _indent(line) <= self._note_indent:
                self._note_indent = -1
            words: Kind = "paragraph" if self._note_indent < 0 else "quote"
            self._kind = "list" if _ITEM.match(line) else "table" if _PIPED.match(line) else words
            self._first = self._last = number
        elif (
            self._directives and first == "." and line.startswith(".. ") and self._lines[self._first].startswith(".. ")
        ):
            self._close()  # a directive or target right below another
            return self._line(number, line)
        elif (
            self._kind in ("paragraph", "quote")
            and _ITEM.match(line)
            and not self._lines[number - 1].endswith((",", ";"))
        ):
            self._close()
            self._kind, self._first = "list", number
        self._last = number
        return number + 1

    def _close(self) -> None:
        if self._kind is None:
            return
        last = self._lines[self._last].rstrip()
        is_prose = self._directives and _PROSE_DIRECTIVE.match(last)
        self._literal_next = last.endswith("::") and self._kind in ("paragraph", "list", "quote") and not is_prose
        if is_prose and self._note_indent < 0:
            self._note_indent = _indent(last)
        elif self._literal_next:
            item = _ITEM.match(last) if self._kind == "list" else None
            self._margin = item.end() - 1 if item else _indent(last)
        before = self.blocks[-1] if self.blocks and self._first >= 2 else None
        if self._kind == "list" and before and before.kind == "list" and before.end == self._end(self._first - 2):
            self.blocks[-1] = Block("list", before.start, self._end(self._last))  # parted by a single blank line
        else:
            self._add(self._kind, self._first, self._last)
        self._kind = None

    def _rule(self, number: int) -> str:
        """The character that line `number` repeats, empty where it isn't a rule."""
        match = _RULE.match(self._lines[number]) if number < len(self._lines) else None
        return match.group(1) if match else ""

    def _title(self, number: int, line: str) -> int:
        """The line behind a title between two rules or above one, 0 where there is none."""
        above, below = self._rule(number), self._rule(number + 1)
        title = self._below(number) if above else line
        width = len(title.rstrip())
        if above:
            is_title = not below and self._rule(number + 2) == above and 0 < width <= max(len(line.rstrip()) + 2, 3)
        else:
            rule = len(self._below(number).rstrip())
            is_title = below != "" and line[0] not in " \t" and not _PIPED.match(line) and rule >= max(3, width // 2)
            is_title = is_title and (below not in ".:|" or rule >= max(4, width - 2))
        if not is_title or (not self._directives and width > _MAX_TITLE):
            return 0
        style = (above or below, above != "")
        if style not in self._styles:
            self._styles.append(style)
        level = min(6, self._styles.index(style) + 1)
        words = title
        if "`" not in words:  # a target stands in backticks; tags are none in a text
            words = _BRACKET.sub(r"\\<", words)
        elif self._directives:
            words = _JOINT.sub("", words)
        self.headings.append(Heading(level, plain(words), number + 1, self._start(number)))
        self._literal_next = False
        return self._add("heading", number, number + (2 if above else 1))

    def _directive(self, number: int, line: str) -> int:
        if not line.lstrip().startswith(("..", "__")):
            return 0
        if _CODE_DIRECTIVE.match(line):
            return self._indented_block(number, number + 1)
        if _TARGET.match(line):
            return self._hidden(number, number, "markup")
        if _LEADS.match(line):
            last = self._indented_end(number + 1, _indent(line), over_blanks=False)
            return self._hidden(number, last, "markup")
        if _COMMENT.match(line):
            below = number + 1
            if line.strip() == ".." and not "".join(self._lines[below : below + 1]).strip():
                last = number  # an empty comment ends what stands above it; what is indented below is a quote
            else:
                last = self._indented_end(below, 0)
            return self._hidden(number, last, "comment")
        return 0

    def _indented_block(self, first: int, body: int) -> int:
        """A fence from line `first`; its body begins at `body` and is what is indented deeper than the text around."""
        margin = _indent(self._lines[first]) if body > first else min(self._margin, _indent(self._lines[body]) - 1)
        last = max(first, self._indented_end(body, margin))
        header = self._end(first) if body > first else None
        self._literal_next = False
        return self._add("fence", first, last, header)

    def _indented_end(self, number: int, margin: int, *, over_blanks: bool = True) -> int:
        """The last line from `number` on that is indented by more than `margin`; the one before `number` if none."""
        last = number - 1
        while number < len(self._lines):
            line = self._lines[number]
            if line.strip():
                if _indent(line) <= margin:
                    break
                last = number
            elif not over_blanks:
                break
            number += 1
        return last

    def _table(self, number: int) -> int:
        first, header = number, None
        grid = _GRID.match(self._lines[number]) is not None
        rules = 0
        while number < len(self._lines) and self._lines[number].strip():
            line = self._lines[number]
            if (_GRID if grid else _RULED).match(line):
                rules += 1
                if rules == 2:
                    header = self._end(number)
                if rules == 3 and not grid:
                    number += 1
                    break
            number += 1
        last = number - 1
        if header == self._end(last):
            header = None
        return self._add("table", first, last, header)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


_DIRECTIVE = re.compile(r"^[ \t]*\.\. (?:[\w:-]+ ?::|_[\w .-]+:(?:[ \t]*$|[ \t]+\S))", re.M)
_LINK = re.compile(r"`([^`<>]{1,300}?)\s*<([^`<>\s]+)>`__?(?!\w)")
#: Roles that lead to a page or one of its labels, with words to show or the name alone.
_ROLE = re.compile(r":(?:doc|ref|numref|std:doc|std:ref|any):`(?:([^`<>]{1,300}?)\s*<([^`<>]+)>|([^`<>]{1,300}))`")
#: `.. _label:` above a heading, a figure or a paragraph.
_LABEL = re.compile(r"^[ \t]*\.\. _(?:`([^`\n]+)`|((?:[^:`\n\\]|\\.|:(?![ \t]*$))+)):[ \t]*$", re.M)
#: `.. _name: https://…`, perhaps over several lines, and what leads there: `` `name`_ `` or `name_`.
_NAMED = re.compile(rf"^[ \t]*\.\. _(?!_?:)({TARGET_NAME}):[ \t]+(\S[^\n]*(?:\n[ \t]+\S[^\n]*)*)", re.M)
_REFERENCE = re.compile(r"`([^`<>]{1,300})`_(?![\w_])|(?<![\w`.:+-])(\w+(?:[-.:+]\w+)*)_(?![\w`])")
_MOST_STEPS = 3  #: of names that lead to others, each twice as far as the one before
#: Roles whose names a reader sees: `:pep:`8`` is shown as PEP 8.
_SHOWN_ROLE = r"(?!:(?:pep|rfc|cve|cwe):)"
#: Markup that no reader sees: `.. note::`, options of directives, names of roles and the targets beside their words.
_MARKER = re.compile(r"^[ \t]*(\.\. [\w:-]+ ?::)", re.M)
#: Options stand directly below the directive's line; behind a blank line such a field (`:returns:`) is text.
_OPTION = re.compile(r"^([ \t]+:[\w-]{2,30}:(?=[ \t]|$)[^\n]*)$", re.M)
#: What a picture shows is said by its option alone.
_PICTURE = re.compile(r"[ \t]*\.\. (?:image|figure) ?::")
_ALT = re.compile(r"[ \t]+:alt:[ \t]*(?=[^\n]*[^\W\d_])")
_BELOW_DIRECTIVE = re.compile(
    r"^[ \t]*\.\. (?:\|[^|\n]+\| )?[\w:-]{1,60} ?::[^\n]*\n((?:[ \t]+\S[^\n]*(?:\n|$))+)", re.M
)
_ROLE_NAME = re.compile(rf"(?<![\w`]){_SHOWN_ROLE}(:[a-zA-Z][\w+.:-]{{0,100}}:)(?=`[^`\n])")
_ROLE_TARGET = re.compile(r"(?<!`)`(?!`)[^`<>]{1,300}?\s*(<[^<>`\s]{1,300}>)`(?!`)")


class TextParser:
    """Text whose structure is what a reader sees: underlined titles, lists, ruled tables, indented code."""

    extensions: tuple[str, ...] = (".txt", ".text", ".rst")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        text = decoded.text
        structured = bool(
            source.file_path.lower().endswith((".rst", ".rst.txt"))
            or _DIRECTIVE.search(text)
            or (":`" in text and _ROLE_NAME.search(text))
        )
        scanner = TextScanner(text, directives=structured)
        scanner.scan()
        excluded = _excluded(text, scanner) if structured else tuple(scanner.excluded)
        named = _named(text) if structured else {}

        def shown(reference: re.Match[str]) -> str:
            words: str = reference[1] or reference[2]
            return words if _name(words) in named else reference[0]

        def resolved(words: str) -> str:
            """Without joints, and without underscores behind names that the page says where they lead."""
            return _REFERENCE.sub(shown, words.replace("\\ ", "")) if structured else words

        headings = [replace(heading, text=resolved(heading.text)) for heading in scanner.headings]
        title, in_text = title_of({}, headings, source.file_path)
        return new_document(
            source,
            title,
            text,
            decoded,
            headings=tuple(headings),
            blocks=tuple(scanner.blocks),
            excluded=excluded,
            links=tuple(_links(text, named)) if structured else (),
            labels=tuple((label[1] or label[2]).replace("\\", "") for label in _LABEL.finditer(text) if structured),
            summary=resolved(summary_of(text, scanner.blocks, {}, excluded)),
            title_in_text=in_text,
        )


def _excluded(text: str, scanner: TextScanner) -> tuple[Excluded, ...]:
    """Comments and targets, and the markup of roles and directives outside code."""
    code = Intervals((block.start, block.end) for block in scanner.blocks if block.kind == "fence")
    others = (match.span(1) for pattern in (_MARKER, _ROLE_NAME, _ROLE_TARGET) for match in pattern.finditer(text))
    found = [(span.start, span.end, span.reason) for span in scanner.excluded]
    found += [(*span, "markup") for span in chain(_options(text), others) if span[0] not in code]
    return tuple([Excluded(*span) for span in in_order(found)])


def _options(text: str) -> Iterator[tuple[int, int]]:
    for lines in _BELOW_DIRECTIVE.finditer(text):
        picture = _PICTURE.match(text, lines.start())
        for option in _OPTION.finditer(text, *lines.span(1)):
            alt = _ALT.match(text, option.start()) if picture else None
            yield option.start(1), alt.end() if alt else option.end(1)


def _named(text: str) -> dict[str, str]:
    """Where the names lead that a page defines for itself, by the names as they are compared."""
    links = sorted(_LINK.finditer(text), key=lambda match: not match[0].endswith("__"))  # those name nothing for others
    found = {_name(match[1]): match[2] for match in links}
    for match in _NAMED.finditer(text):
        target = match.group(2).strip()
        is_name = target.endswith("_") and not target.endswith("\\_")
        found[_name(match.group(1))] = target if is_name else "".join(target.split()).replace("\\", "")
    for _ in range(_MOST_STEPS):
        found = {
            name: found.get(_name(target[:-1]), target) if target.endswith("_") else target
            for name, target in found.items()
        }
    return found


def _name(written: str) -> str:
    return " ".join(written.strip("`").replace("\\", "").split()).casefold()


def _links(text: str, named: Mapping[str, str]) -> list[Link]:
    found = [
        Link(plain(match.group(1)), match.group(2).strip(), match.start())
        for match in _LINK.finditer(text)
        if text[match.start() - 1 : match.start()] != ":"
    ]
    for match in _ROLE.finditer(text):
        words, target, name = match.groups()
        found.append(Link(plain(words or ""), (target or name).strip(), match.start()))
    leads = {match.start(2) for match in _NAMED.finditer(text)}
    for match in _REFERENCE.finditer(text) if named else ():
        target = named.get(_name(match[1] or match[2]))
        if target and match.start() not in leads:  # no name that leads to another
            found.append(Link(plain(match[1] or match[2]), target, match.start()))
    return sorted(found, key=lambda link: link.start)
