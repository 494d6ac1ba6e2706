"""A document being written out: formats that aren't text put their blocks here, one after another.

The text is light Markdown (`#` headings, `-` items, pipe tables, fences), and its structure is known as it is written,
so that words of the source can't be mistaken for markup.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from ..models import Block, Document, Heading, Link, SourceFile
from ..text.characters import UNSEEN
from .encoding import Decoded
from .metadata import date_in_name, doc_type_of, iso_of_ns, summary_of, title_of

Kind = Literal["heading", "paragraph", "list", "table", "fence", "quote"]

MAX_CHARACTERS = 20_000_000
"""Where writing ends: ten times the longest manual, and a fraction of the memory that a file may take."""

#: A table goes on under its repeated header after so many characters, so that each passage of it says what its
#: columns are: about the size of a passage.
_TABLE_PART = 1_000
#: Tables with longer headers are written as one line of `name: value` per row.
_LONGEST_HEADER = 300
_SPACES = re.compile(r"[ \t\xa0\u2000-\u200a\u202f\u3000]+")
_CONTROLS: Final[dict[int, str | None]] = {
    **dict.fromkeys((*range(1, 9), 11, 12, *range(14, 32), 127, *map(ord, UNSEEN), 65534, 65535)),
    0: " ",
    13: "\n",
}
_SURROGATES = re.compile("[\ud800-\udfff]")
_BACKTICKS = re.compile("`+")
_LANGUAGE = re.compile(r"[^\w+#.-]")
_NUMBER = re.compile(r"\s*[+\u2212-]?\d+\s*")

#: Titles that programs put in by themselves: of Word's and TeX's files, "PowerPoint Presentation", "Folie 1".
_NO_TITLE = re.compile(
    r"microsoft word\s*-|^untitled|^\s*$|\.(?:docx?|tex|dvi|indd|pdf|od[tp]|pptx?|qxd|rtf)\s*$"
    r"|^\s*(?:slide|diapositiv[ae]|folie|dia|слайд|slajd|snímek|幻灯片|スライド) ?1\s*$"
    r"|^\s*powerpoint(?:[ -]?(?:pr|プレゼン|演示|簡報|프레젠)|\s*$)"
    r"|^\s*(?:pr[eé]+[sz][ea]nt\w*|apresenta\w*|презентаци\w)(?: standard)?(?: \w+)? powerpoint\s*$",
    re.I,
)

#: Stands in a block's words where a page begins; a noncharacter, so no text holds it.
PAGE_MARK = "\ufddf"

Target = tuple[str, str]  #: words of a link, and where it leads


def shift_mark(before: str, words: str, *, raised: bool) -> str:
    """What stands between words and raised or lowered ones, so that digits keep their meaning; usually nothing.

    >>> shift_mark("10", "6", raised=True), shift_mark("10", "2", raised=False), shift_mark("H", "2", raised=False)
    ('^', '_', '')
    """
    last = before[-1:]
    if not _NUMBER.fullmatch(words) or not (last.isalnum() or last in (")", "]")):
        return ""
    return "^" if raised else "_" if last.isdigit() else ""


def marks_around(code: str) -> str:
    """The backticks of a fence around `code`: more than any run of them in it has, and three at least."""
    return "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(code)), default=0))


def new_document(source: SourceFile, title: str, text: str, decoded: Decoded | None = None, **fields: Any) -> Document:
    """A document of a file; `fields` are those of `Document` that don't follow from the file and its text."""
    if decoded is not None:
        fields |= {"encoding": decoded.encoding, "encoding_confidence": decoded.confidence}
    if "doc_type" not in fields:
        fields["doc_type"] = doc_type_of(source.file_path, title, text)
    known: dict[str, Any] = {
        "kind": "document",
        "file_type": source.extension,
        "size": source.size,
        "last_modified": date_in_name(source.file_path) or iso_of_ns(source.mtime_ns),
    }
    return Document(
        file_path=source.file_path,
        product=source.product,
        component=source.component,
        title=title,
        text=text,
        mtime_ns=source.mtime_ns,
        **known | fields,
    )


class DocumentBuilder:
    """Collects blocks; `document` makes them a `Document`. `full` says that nothing more is taken, `is_empty` that
    nothing has been written, `has_headings` that a heading has."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.full = self.has_headings = False
        self.is_empty = True
        self._parts: list[str] = []
        self._length = 0
        self._line = 1
        self._blocks: list[Block] = []
        self._headings: list[Heading] = []
        self._links: list[Link] = []
        self._pages: list[int] = []
        self._pages_due = 0
        self._code: list[str] = []  # lines, until something else is written

    @property
    def text(self) -> str:
        """What has been written so far."""
        return "".join(self._parts)

    @property
    def headings(self) -> Sequence[Heading]:
        """What has been written as headings so far."""
        return [replace(head, page=bisect_right(self._pages, head.start) or None) for head in self._headings]

    def heading(self, level: int, words: str, links: Iterable[Target] = ()) -> None:
        """A heading of level 1–6; deeper ones become 6."""
        words, level = one_line(words), min(6, max(1, level))
        if words:
            self._write("heading", f"{'#' * level} {words}", links, level=level, words=words)

    def paragraph(self, words: str, links: Iterable[Target] = ()) -> None:
        """A paragraph; newlines in it stay, runs of spaces become one."""
        self._write("paragraph", lines_of(words), links)

    def quote(self, words: str, links: Iterable[Target] = ()) -> None:
        """A quoted paragraph."""
        words = lines_of(words)
        self._write("quote", "> " + words.replace("\n", "\n> ") if words else "", links)

    def item(self, words: str, depth: int = 0, mark: str = "-", links: Iterable[Target] = ()) -> None:
        """An item of a list, `depth` lists deep; items that follow each other are one block."""
        lead = "  " * min(depth, 20) + (f"{mark} " if mark else "")
        words = lines_of(words).replace("\n", "\n" + " " * len(lead))
        self._write("list", f"{lead}{words}" if words else "", links)

    def fence(self, code: str, language: str = "") -> None:
        """Lines that stay as they are."""
        code = code.strip("\n").rstrip()
        if code.strip():
            marks = marks_around(code)
            opening = marks + _LANGUAGE.sub("", language)
            self._write("fence", f"{opening}\n{code}\n{marks}", (), header=len(opening))

    def code_line(self, line: str) -> None:
        """A line of code; those that follow each other are one fence."""
        self._code.append(line)

    def _end_code(self) -> None:
        """What is written next is no code of the lines before."""
        lines, self._code = self._code, []
        self.fence("\n".join(lines))

    def table(self, rows: Sequence[Sequence[str]], links: Iterable[Target] = ()) -> None:
        """Rows of cells, the first being the header, which is repeated where the table is long."""
        filled = [[one_line(cell) for cell in row] for row in rows]
        filled = [row for row in filled if any(row)]
        width = max((place for row in filled for place, cell in enumerate(row, 1) if cell), default=0)
        if not width:
            return
        shown = [[*row[:width], *[""] * (width - len(row))] for row in filled]
        header, *body = shown
        if width > 1 and sum(map(len, header)) + 3 * width > _LONGEST_HEADER and body:
            for values in body:  # too wide to be read as a table
                cells = (
                    f"{name}: {value}" if name else value for name, value in zip(header, values, strict=True) if value
                )
                self.item("; ".join(cells), links=links)
                links = ()
            return
        top = f"{_row(header)}\n|{' --- |' * width}"
        part: list[str] = []
        size = 0
        for row in map(_row, body):
            if part and size + len(row) > _TABLE_PART:
                self._write("table", "\n".join((top, *part)), links, header=len(top))
                part, size, links = [], 0, ()
            part.append(row)
            size += len(row) + 1
        self._write("table", "\n".join((top, *part)), links, header=len(top))

    def page(self) -> None:
        """What is written next stands on a new page (or slide)."""
        self._end_code()
        self._pages_due += 1

    def page_break(self) -> None:
        """The same where what has been written stands on a page of its own, though none was begun."""
        self._pages = self._pages or [0]
        self.page()

    def _write(
        self, kind: Kind, body: str, links: Iterable[Target], *, header: int = 0, level: int = 0, words: str = ""
    ) -> None:
        body = _clean(body)
        if not body.strip() or self.full:
            return
        if self._code:
            self._end_code()
        if self._length + len(body) > MAX_CHARACTERS:
            self.full = True
            self.notes.append(f"only the first {self._length:,} characters are kept")
            return
        last = self._blocks[-1] if self._blocks else None
        joins = kind == "list" and last is not None and last.kind == "list" and not self._pages_due
        gap = "" if not self._length else "\n" if joins else "\n\n"
        start, self.is_empty = self._length + len(gap), False
        self._line += len(gap)
        if self._pages_due:
            self._pages += [start if self._pages else 0] + [start] * (self._pages_due - 1)
            self._pages_due = 0
        if PAGE_MARK in body:
            places = [match.start() - count for count, match in enumerate(re.finditer(PAGE_MARK, body))]
            body, words = body.replace(PAGE_MARK, ""), words.replace(PAGE_MARK, "")
            header -= sum(place < header for place in places)
            self._pages = (self._pages or [0]) + [start + place for place in places]
        if level:
            self._headings.append(Heading(level, words, self._line, start))
            self.has_headings = True
        self._line += body.count("\n")
        self._parts += (gap, body)
        self._length = start + len(body)
        if joins and last is not None:
            self._blocks[-1] = Block("list", last.start, self._length)
        else:
            self._blocks.append(Block(kind, start, self._length, start + header if header else None))
        for shown, target in links:
            if (label := one_line(shown).replace(PAGE_MARK, "")) and target:
                self._links.append(Link(label, target, start + max(0, body.find(label))))

    def document(
        self,
        source: SourceFile,
        *,
        title: str = "",
        tags: Sequence[str] = (),
        modified: str = "",
        is_better: bool = False,
        **fields: Any,
    ) -> Document:
        """What was written as a `Document`; `title` is used where there is no heading of level 1, or it `is_better`."""
        self._end_code()
        text = self.text
        headings = self.headings
        heading, in_text = title_of({}, headings, source.file_path)
        if (title := typed_title(title)) and (is_better or all(head.level > 1 for head in headings)):
            heading, in_text = title, True
        return new_document(
            source,
            heading,
            text,
            headings=tuple(headings),
            blocks=tuple(self._blocks),
            page_starts=tuple(self._pages) + (self._length,) * (self._pages_due if self._pages else 0),
            links=tuple(sorted(self._links, key=lambda link: link.start)),
            tags=tuple(dict.fromkeys(tag for tag in map(one_line, tags) if tag)),
            summary=summary_of(text, self._blocks, {}),
            last_modified=modified or date_in_name(source.file_path) or iso_of_ns(source.mtime_ns),
            title_in_text=in_text,
            notes=tuple(self.notes),
            **fields,
        )


def one_line(words: str) -> str:
    """Words with single spaces between them, and no control characters."""
    return " ".join(_clean(words).split())


def typed_title(title: str) -> str:
    """A title among a file's properties; empty where a program has put it in by itself."""
    return "" if _NO_TITLE.search(title) else one_line(title)


def lines_of(words: str) -> str:
    """Lines without blank ones, each with single spaces."""
    lines = (_SPACES.sub(" ", line).strip() for line in words.splitlines())
    return "\n".join(line for line in lines if line)


def _clean(words: str) -> str:
    if words.isascii() and words.isprintable():
        return words
    return _SURROGATES.sub("\ufffd", words.translate(_CONTROLS))


def _row(cells: Sequence[str]) -> str:
    row = "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    return PAGE_MARK * row.count(PAGE_MARK) + row.replace(PAGE_MARK, "")
