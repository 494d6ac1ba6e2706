"""Rich Text Format: `.rtf`, as Word, WordPad, TextEdit and LibreOffice write it."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace

from librarian.vocabulary.errors import SourceError
from librarian.vocabulary.types import Document, SourceFile

from ..manuscript import Manuscript, one_line

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
    target: str = ""  # text | style | font | title | note
    encoding: str = "cp1252"
    skip: int = 1  # bytes that stand for a \u character in old readers


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
        self.out = Manuscript()
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
        self._bytes = bytearray()
        self._read(data)
        self._paragraph.in_table = False  # what stands behind the last cell is no part of the table
        self._end_paragraph()
        self._end_table()
        for number, pieces in enumerate(self._notes, start=1):
            self.out.paragraph(f"[{number}] {one_line(''.join(pieces))}")

    def _read(self, data: bytes) -> None:
        state = _State()
        stack: list[_State] = []
        left_out = 0  # characters that follow \u for old readers
        starred = opening = False
        position = 0
        scan = _TOKEN.match
        while position < len(data) and not self.out.full:
            token = scan(data, position)
            if token is None:
                position += 1
                continue
            position = token.end()
            word, number, code, sign, brace, text = token.groups()
            if code is not None:
                if left_out:
                    left_out -= 1
                elif not state.silent:
                    self._bytes += bytes.fromhex(code.decode())
                continue
            if text is not None:
                if left_out:
                    cut = min(left_out, len(text))
                    left_out, text = left_out - cut, text[cut:]
                if not state.silent:
                    self._bytes += text
                opening = False
                continue
            self._decode(state)
            if brace == b"{":
                if len(stack) >= _MAX_DEPTH:
                    raise SourceError("its groups are nested too deep", reason="corrupt")
                stack.append(state)
                state = _State(state.silent, state.hidden, state.target, state.encoding, state.skip)
                opening, starred, left_out = True, False, 0
            elif brace == b"}":
                self._end_group(state, stack[-1] if stack else _State())
                state = stack.pop() if stack else _State()
                if not stack:
                    state.encoding = self.encoding
                left_out = 0
            elif sign is not None:
                starred = sign == b"*" and opening
                if not state.silent and sign != b"*":
                    self._add(
                        {b"~": "\xa0", b"_": "-", b"\n": "\n", b"\r": "\n"}.get(
                            sign, "" if sign == b"-" else sign.decode("latin-1")
                        ),
                        state,
                    )
            elif word is not None:
                value = int(number) if number is not None else None
                if word == b"bin":
                    position += max(0, min(value or 0, len(data)))
                elif word == b"u" and value is not None:
                    self._add(chr(value % 0x10000), state)
                    left_out = state.skip
                elif opening and (word in _SILENT or (starred and word not in _SHOWN)):
                    self._open_silent(word, state)
                else:
                    self._control(word, value, state)
                opening = False
            elif not stack:  # a line below the document, as programs append them
                self._paragraph.in_table = False
                self._end_paragraph()
        self._decode(state)

    def _open_silent(self, word: bytes, state: _State) -> None:
        state.silent = True
        if word in (b"fonttbl", b"stylesheet", b"info"):
            state.target = {b"fonttbl": "font", b"stylesheet": "styles", b"info": "info"}[word]

    def _control(self, word: bytes, value: int | None, state: _State) -> None:
        if state.target in ("font", "styles", "style", "info", "title"):
            self._control_in_header(word, value, state)
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word], state)
        elif word in (b"par", b"sect", b"page"):
            if not state.silent:
                self._end_paragraph()
        elif word == b"pard":
            self._paragraph.level, self._paragraph.in_table, self._paragraph.listed = 0, False, False
        elif word == b"s":
            self._paragraph.level = self._styles.get(value or 0, 0)
        elif word == b"outlinelevel" and value is not None and value < 9:
            self._paragraph.level = min(6, value + 1)
        elif word == b"ls":
            self._paragraph.listed = True
        elif word == b"intbl":
            self._paragraph.in_table = True
        elif word in (b"cell", b"nestcell"):
            self._end_cell()
        elif word in (b"row", b"nestrow"):
            self._rows.append(self._row)
            self._row = []
        elif word in (b"footnote", b"annotation"):
            self._notes.append([])
            self._add(f"[{len(self._notes)}]", state)
            state.target = "note"
        elif word == b"v" or word == b"deleted":
            state.hidden = value != 0
        elif word == b"plain":
            state.hidden = False
        elif word == b"uc" and value is not None:
            state.skip = max(0, min(value, 10))
        elif word == b"f" and value is not None:
            state.encoding = self._fonts.get(value, self.encoding)
        elif word == b"ansicpg" and value is not None:
            self.encoding = state.encoding = _known(f"cp{value}", self.encoding)
        elif word in (b"mac", b"pc", b"pca"):
            self.encoding = state.encoding = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}[word]

    def _control_in_header(self, word: bytes, value: int | None, state: _State) -> None:
        if state.target == "font":
            if word == b"f":
                self._font = value or 0
            elif word == b"fcharset" and value is not None and value in _CHARSETS:
                self._fonts[self._font] = _CHARSETS[value]
        elif state.target in ("styles", "style"):
            if word == b"s":
                self._style = value or 0
            elif word == b"outlinelevel" and value is not None and value < 9:
                self._styles[self._style] = min(6, value + 1)
            state.target, state.silent = "style", False
        elif word == b"title":
            state.target, state.silent = "title", False

    def _end_group(self, state: _State, outer: _State) -> None:
        if state.target == "style" and outer.target != "style":
            name = "".join(self._words["style"]).strip(" ;")
            self._words["style"].clear()
            if found := _HEADING.match(name):
                self._styles.setdefault(self._style, min(6, max(1, int(found.group(1)))))
            elif name.lower() == "title":
                self._styles.setdefault(self._style, 1)
            self._style = 0
        elif state.target == "title" and outer.target != "title":
            self.title = one_line("".join(self._words["title"]))

    def _decode(self, state: _State) -> None:
        if self._bytes:
            text = self._bytes.decode(state.encoding, "replace")
            self._bytes.clear()
            self._add(text, state)

    def _add(self, text: str, state: _State) -> None:
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
        label, tab, rest = text.partition("\t")
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


def _known(encoding: str, otherwise: str) -> str:
    try:
        return codecs.lookup({"cp65001": "utf-8", "cp10000": "mac_roman"}.get(encoding, encoding)).name
    except LookupError:
        return otherwise
