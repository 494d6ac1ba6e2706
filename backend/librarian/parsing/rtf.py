"""Rich Text Format: `.rtf`, read by striprtf."""

from __future__ import annotations

import re

from ..models import Document, SourceFile
from .document_builder import DocumentBuilder
from .zip_package import refused

_TITLE = re.compile(r"\{\\title ([^{}\\]*)\}")
_LEVEL = re.compile(r"\\outlinelevel([0-8])(?!\d)")
_STYLE = re.compile(r"\{\\s(\d+)(?!\d)([^{};]*);\}")
_HEADING = re.compile(r"\bheading (\d)\s*\Z", re.I)
_MARK = "\u2063"  #: stands in front of a heading, as often as its level is deep
#: Notes stand where they are referred to, and text in shapes where these are; striprtf leaves both out.
_SHOWN = re.compile(r"\\(?:footnote|shptxt)(?![a-z])")
_HIDDEN = re.compile(r"\{\\(?:v|deleted)(?![a-z\d])[^{}]*\}")
_LONGEST_FONT = 2_000  #: characters of a font's entry
_ITEM = re.compile(r"\s*(?:[•·‣▪●○■\uf0b7\uf0a7*–-]|(\(?\w{1,5}[.)]))\t\s*(?=\S)")


class RichTextParser:
    """Paragraphs, headings by style or outline level, lists and tables; notes stand where they are referred to."""

    extensions: tuple[str, ...] = (".rtf",)

    def parse(self, source: SourceFile, data: bytes) -> Document:
        from striprtf.striprtf import font_table_group, rtf_to_text

        with refused(source.file_path):
            if not data.lstrip().startswith(b"{\\rtf"):
                raise ValueError("it doesn't begin as RTF")
            markup = re.sub(rb"[\x80-\xff]", lambda byte: b"\\'%02x" % byte.group()[0], data).decode("ascii")
            # striprtf takes quadratic time to find targets of links in a file, and fonts in a line.
            markup = markup.replace(r"\fldinst", r"\fldtype")
            fonts = font_table_group(markup)  # type: ignore[no-untyped-call]
            if max(map(len, fonts.split(";"))) > _LONGEST_FONT:
                raise ValueError("its table of fonts is damaged")
            markup = markup.replace(fonts, fonts.replace(";", ";\n"), 1) if fonts else markup
            shown = _HIDDEN.sub("", _SHOWN.sub(" ", _with_heading_marks(markup)))
            text: str = rtf_to_text(shown, errors="replace")  # type: ignore[no-untyped-call]
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # halves of characters joined
        out = DocumentBuilder()
        _write(out, text.split("\n"))
        title = _TITLE.search(markup)
        return out.document(source, title=title.group(1) if title else "")


def _with_heading_marks(markup: str) -> str:
    """The markup with marks in front of the words of headings."""
    levels: dict[str, int] = {}
    end = 0
    for style in _STYLE.finditer(markup):
        if outline := _LEVEL.search(style.group(2)):
            levels[rf"\s{style.group(1)}"] = int(outline.group(1)) + 1
        elif named := _HEADING.search(style.group(2)):
            levels[rf"\s{style.group(1)}"] = int(named.group(1))
        end = style.end()

    def marked(word: re.Match[str]) -> str:
        level = int(word.group(1)) + 1 if word.group(1) else levels.get(word.group(), 0)
        return word.group() + r"{\uc0" + level * r"\u8291 " + "}" if level else word.group()

    return markup[:end] + re.sub(rf"{_LEVEL.pattern}|\\s\d+(?!\d)", marked, markup[end:])


def _write(out: DocumentBuilder, lines: list[str]) -> None:
    rows: list[list[str]] = []
    for line in [*lines, ""]:
        words = line.replace(_MARK, "")
        if words.endswith("|"):
            rows.append(words.split("|")[:-1])
            continue
        out.table(rows)
        rows = []
        level = len(line) - len(line.lstrip(_MARK))
        if level:
            out.heading(level, words)
        elif item := _ITEM.match(words):
            out.item(words[item.end() :], 0, item.group(1) or "-")
        else:
            out.paragraph(words)
