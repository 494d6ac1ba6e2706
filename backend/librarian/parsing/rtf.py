"""Rich Text Format: `.rtf`, as Word, WordPad, TextEdit and LibreOffice write it."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace

from ..errors import SourceError
from ..models import Document, SourceFile
from .document_builder import DocumentBuilder, one_line

_TOKEN = re.compile(
    rb"\\(?:([A-Za-z]{1,32})(-?\d{1,10})?[ ]?|'([0-9A-Fa-f]{2})|([^A-Za-z']))|([{}])|([^\\{}\r\n]+)|[\r\n]+"
)
#: Groups whose content isn't the text: fonts, colours, pictures, headers, fields' instructions, the file's properties.
_SILENT = frozenset(
    b"fonttbl colortbl stylesheet info pict header headerl headerr headerf footer footerl footerr footerf fldinst "
    b"object objdata themedata colorschememapping datastore latentstyles listtable listoverridetable rsidtbl generator "
    b"xmlnstbl filetbl revtbl nonshppict shpinst bkmkstart bkmkend atnid atnref atnicn pntext pnseclvl mmathPr".split()
)
_SHOWN = frozenset(b"shptxt fldrslt shppict footnote annotation listtext".split())
#: Groups at the file's beginning, and what their content is for.
_HEADER = {b"fonttbl": "font", b"stylesheet": "styles", b"info": "info"}
_HEADER_TARGETS = frozenset(("font", "styles", "style", "info", "title"))
_SYMBOLS = {b"~": "\xa0", b"_": "-"}
_CHARACTERS = {
    b"tab": "\t", b"line": "\n", b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“",
    b"rdblquote": "”", b"bullet": "•", b"emspace": " ", b"enspace": " ", b"softline": "\n",
}  # fmt: skip
#: Windows' character sets by their number in the font table.
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
    254: "cp437",
}  # fmt: skip
_HEADING = re.compile(r"(?:heading|überschrift|titre|título|titolo|заголовок|kop|rubrik)\s*(\d)", re.I)
_NUMBER = re.compile(r"\(?\w{1,5}[.)]")
_BULLETS = frozenset("•·-▪o\uf0b7\uf0a7")
_MAX_DEPTH = 1_000


@dataclass(slots=True)
class _State:
    """What a group inherits from the one around it."""

    silent: bool = False
    hidden: bool = False
    target: str = ""  # font | styles | style | info | title | note; empty: the text
    encoding: str = "cp1252"
    skip: int = 1  # bytes that stand for a \u character in old readers
    outside: tuple[int, bool, bool] | None = None  # in an item's label: what holds of the paragraph around it


@dataclass(slots=True)
class _Paragraph:
    pieces: list[str] = field(default_factory=list)
    level: int = 0
    in_table: bool = False
    listed: bool = False


class RichTextParser:
    """Paragraphs, headings by outline level or style, lists, tables and footnotes."""

    extensions: tuple[str, ...] = (".rtf",)

    def parse(self, source: SourceFile, data: bytes) -> Document:
        if not data.lstrip()[:5] == b"{\\rtf":
            raise SourceError(
                f"'{source.file_path}' doesn't begin as RTF.",
                hint="Save it as RTF again, or give it its own extension.",
                reason="corrupt",
            )
        reading = _Reading(data)
        document = reading.out.document(source, ".rtf", title=reading.title)
        return replace(document, encoding=codecs.lookup(reading.encoding).name)


class _Reading:
    def __init__(self, data: bytes) -> None:
        self.out = DocumentBuilder()
        self.title = ""
        self.encoding = "cp1252"
        self._fonts: dict[int, str] = {}
        self._styles: dict[int, int] = {}
        self._font = self._style = 0
        self._words: dict[str, list[str]] = {"style": [], "title": []}
        self._notes: list[list[str]] = []
        self._paragraph = _Paragraph()
        self._row: list[str] = []
        self._rows: list[list[str]] = []
        self._bytes = bytearray()  # of text, not yet decoded
        self._state = _State()
        self._stack: list[_State] = []  # of the groups around
        self._left_out = 0  # characters that follow \u for old readers
        self._opening = self._starred = False  # whether nothing of the group has come yet; whether `\*` has
        self._read(data)
        self._paragraph.in_table = False  # what stands behind the last cell is no part of the table
        self._end_paragraph()
        self._end_table()
        for number, pieces in enumerate(self._notes, start=1):
            self.out.paragraph(f"[{number}] {one_line(''.join(pieces))}")

    def _read(self, data: bytes) -> None:
        position = 0
        while position < len(data) and not self.out.full:
            token = _TOKEN.match(data, position)
            if token is None:
                position += 1
                continue
            position = token.end()
            word, number, code, sign, brace, text = token.groups()
            if code is not None:
                self._take(bytes.fromhex(code.decode()))
                continue
            if text is not None:
                self._take(text)
                self._opening = False
                continue
            self._decode()
            if brace == b"{":
                self._open_group()
            elif brace is not None:
                self._close_group()
            elif sign is not None:
                self._symbol(sign)
            elif word is not None:
                value = int(number) if number is not None else None
                if word == b"bin":
                    position += max(0, min(value or 0, len(data)))
                else:
                    self._word(word, value)
                self._opening = False
            elif not self._stack:  # a line below the document, as programs append them
                self._paragraph.in_table = False
                self._end_paragraph()
        self._decode()

    # -- tokens ------------------------------------------------------------------------------------------------------

    def _take(self, text: bytes) -> None:
        cut = min(self._left_out, len(text))
        self._left_out -= cut
        if not self._state.silent:
            self._bytes += text[cut:]

    def _open_group(self) -> None:
        if len(self._stack) >= _MAX_DEPTH:
            raise SourceError("its groups are nested too deep", reason="corrupt")
        self._stack.append(self._state)
        self._state = replace(self._state)
        self._opening, self._starred, self._left_out = True, False, 0

    def _close_group(self) -> None:
        outer = self._stack.pop() if self._stack else _State()
        self._end_target(self._state.target, outer.target)
        if self._state.outside and not outer.outside:
            self._paragraph.level, self._paragraph.in_table, self._paragraph.listed = self._state.outside
        self._state = outer
        if not self._stack:
            outer.encoding = self.encoding
        self._left_out = 0

    def _symbol(self, sign: bytes) -> None:
        self._starred = sign == b"*" and self._opening
        if sign in b"\r\n":  # a paragraph's end, as TextEdit writes it
            self._word_of_paragraph(b"par", None)
        elif sign not in b"*-":  # a mark of groups, and where a word may be hyphenated
            self._add(_SYMBOLS.get(sign) or sign.decode("latin-1"))

    def _word(self, word: bytes, value: int | None) -> None:
        if word == b"u" and value is not None:
            self._add(chr(value % 0x10000))
            self._left_out = self._state.skip
        elif self._opening and (word in _SILENT or (self._starred and word not in _SHOWN)):
            self._state.silent = True
            self._state.target = _HEADER.get(word, self._state.target)
        elif self._opening and word == b"listtext":  # what is said of the label isn't said of its paragraph
            paragraph = self._paragraph
            self._state.outside = (paragraph.level, paragraph.in_table, paragraph.listed)
        elif self._state.target in _HEADER_TARGETS:
            self._word_in_header(word, value)
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        else:
            self._word_of_paragraph(word, value)
            self._word_of_run(word, value)

    def _word_of_paragraph(self, word: bytes, value: int | None) -> None:
        paragraph = self._paragraph
        if self._state.target == "note":  # its paragraphs say nothing of the one that refers to it
            if word == b"par":
                self._add(" ")
            return
        match word:
            case b"par" | b"sect" | b"page":
                if not self._state.silent:
                    self._end_paragraph()
            case b"pard":
                paragraph.level, paragraph.in_table, paragraph.listed = 0, False, False
            case b"s":
                paragraph.level = self._styles.get(value or 0, 0)
            case b"outlinelevel":
                paragraph.level = _level(value) or paragraph.level
            case b"ls":
                paragraph.listed = True
            case b"intbl":
                paragraph.in_table = True
            case b"cell" | b"nestcell":
                self._end_cell()
            case b"row" | b"nestrow":
                self._rows.append(self._row)
                self._row = []

    def _word_of_run(self, word: bytes, value: int | None) -> None:
        state = self._state
        match word:
            case b"footnote" | b"annotation":
                self._notes.append([])
                self._add(f"[{len(self._notes)}]")
                state.target = "note"
            case b"v" | b"deleted":
                state.hidden = value != 0
            case b"plain":
                state.hidden = False
            case b"uc" if value is not None:
                state.skip = max(0, min(value, 10))
            case b"f" if value is not None:
                state.encoding = self._fonts.get(value, self.encoding)
            case b"ansicpg" if value is not None:
                self.encoding = state.encoding = _known(f"cp{value}", self.encoding)
            case b"mac" | b"pc" | b"pca":
                self.encoding = state.encoding = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}[word]

    def _word_in_header(self, word: bytes, value: int | None) -> None:
        state = self._state
        if state.target == "font":
            if word == b"f":
                self._font = value or 0
            elif word == b"fcharset" and value is not None and value in _CHARSETS:
                self._fonts[self._font] = _CHARSETS[value]
        elif state.target in ("styles", "style"):
            if word == b"s":
                self._style = value or 0
            elif word == b"outlinelevel" and (level := _level(value)):
                self._styles[self._style] = level
            state.target, state.silent = "style", False
        elif word == b"title":
            state.target, state.silent = "title", False

    # -- text --------------------------------------------------------------------------------------------------------

    def _end_target(self, target: str, outer: str) -> None:
        """A group has ended: where it was a style or the title, what it said is known."""
        if target == "style" != outer:
            name = "".join(self._words["style"]).strip(" ;")
            self._words["style"].clear()
            if found := _HEADING.match(name):
                self._styles.setdefault(self._style, min(6, max(1, int(found.group(1)))))
            elif name.lower() == "title":
                self._styles.setdefault(self._style, 1)
            self._style = 0
        elif target == "title" != outer:
            self.title = one_line("".join(self._words["title"]))

    def _decode(self) -> None:
        if self._bytes:
            text = self._bytes.decode(self._state.encoding, "replace")
            self._bytes.clear()
            self._add(text)

    def _add(self, text: str) -> None:
        state = self._state
        if state.silent or state.hidden:
            return
        if state.target in self._words:
            self._words[state.target].append(text)
        elif state.target == "note":
            self._notes[-1].append(text)
        else:
            self._paragraph.pieces.append(text)

    def _text(self) -> str:
        text = "".join(self._paragraph.pieces)
        self._paragraph.pieces.clear()
        # Characters beyond U+FFFF come as two halves.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _end_paragraph(self) -> None:
        paragraph = self._paragraph
        if paragraph.in_table:
            paragraph.pieces.append(" ")
            return
        text = self._text()
        if not text.strip():
            return
        self._end_table()
        # TextEdit puts a tab on both sides of an item's label.
        label, tab, rest = text.removeprefix("\t" if paragraph.listed else "").partition("\t")
        label = label.strip() if tab else ""
        if paragraph.level:
            self.out.heading(paragraph.level, text)
        elif _NUMBER.fullmatch(label):
            self.out.item(rest, 0, label)
        elif label in _BULLETS or paragraph.listed:
            self.out.item(rest if tab and len(label) < 8 else text)
        else:
            self.out.paragraph(text)

    def _end_cell(self) -> None:
        self._row.append(self._text())

    def _end_table(self) -> None:
        rows, self._rows = [*self._rows, *([self._row] if self._row else [])], []
        self._row = []
        self.out.table(rows)


def _level(value: int | None) -> int:
    """The heading level of an outline level; 0 for that of text."""
    return min(6, value + 1) if value is not None and value < 9 else 0


def _known(encoding: str, otherwise: str) -> str:
    try:
        return codecs.lookup({"cp65001": "utf-8", "cp10000": "mac_roman"}.get(encoding, encoding)).name
    except LookupError:
        return otherwise
