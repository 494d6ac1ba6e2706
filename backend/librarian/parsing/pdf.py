"""PDF files: the text layer in reading order, with headings, tables, code and page numbers."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from ..errors import SourceError
from ..models import Document, SourceFile
from .document_builder import DocumentBuilder, one_line, typed_title
from .pdf_layout import Word, in_reading_order
from .pdf_structure import Outline, Page, PageWriter
from .zip_package import refused

if TYPE_CHECKING:
    import pypdfium2

_MAX_PAGES = 3_000
_WORD = re.compile(r"[^\s\ufffe]+\ufffe?")
_MARKS = {0: " ", 2: "\ufffe"}  #: what PDFium gives for characters without a code, and for a hyphen at a line's end
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
#: Letters of Hebrew, Arabic and their neighbours, which are read from right to left; all letters.
_LEFTWARD = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTER = re.compile(r"[^\W\d_]")
_HALVES = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x01-\x08\x0e-\x1f\x7f\ufffd]")
_BOLD = re.compile(rb"bold|black|heavy|semibold|demi|-b$|cmbx", re.I)
_MONO = re.compile(rb"mono|courier|consol|menlo|typewriter|fixed|cmtt|code", re.I)
_BOLD_WEIGHT = 600
_HIDDEN = 2  #: flag of an annotation that is never shown
_UPRIGHT = 0.2  #: radians; text that is turned further stands in a margin or on a picture's axis


class PdfParser:
    """Reads with PDFium. Reasons of refusal: no_text (scanned pages), encrypted, corrupt."""

    extensions: tuple[str, ...] = (".pdf",)

    def parse(self, source: SourceFile, data: bytes) -> Document:
        import pypdfium2

        with refused(source.file_path):
            pdf = pypdfium2.PdfDocument(data)
        with closing(pdf):
            return self._read(source, pdf)

    def _read(self, source: SourceFile, pdf: pypdfium2.PdfDocument) -> Document:
        builder = DocumentBuilder()
        count = len(pdf)
        pages = [_page(pdf, number) for number in range(min(count, _MAX_PAGES))]
        pictures = [number for number, page in enumerate(pages, 1) if page.is_empty and page.holds_objects]
        garbled = [number for number, page in enumerate(pages, 1) if page.unreadable > page.readable]
        broken = [number for number, page in enumerate(pages, 1) if page.is_broken]
        if all(page.is_empty for page in pages):
            raise SourceError(
                f"'{source.file_path}' has no text layer: its {count} pages are pictures or empty.",
                hint="Run text recognition over it, for example with ocrmypdf.",
                reason="corrupt" if broken else "no_text",
            )
        if not any(page.readable or page.remarks for page in pages):
            raise SourceError(
                f"'{source.file_path}' holds no readable text: its fonts don't say which characters they show.",
                hint="Run text recognition over it, for example with ocrmypdf --force-ocr.",
                reason="no_text",
            )
        for note, numbers in (
            ("no text layer on %s", pictures),
            ("the fonts don't say which characters stand on %s", garbled),
            ("%s can't be read", broken),
        ):
            if numbers:
                builder.notes.append(note % _pages(numbers))
        if count > _MAX_PAGES:
            builder.notes.append(f"only the first {_MAX_PAGES:,} of {count:,} pages are kept")
        title = typed_title(pdf.get_metadata_value("Title") or "")
        PageWriter(builder, pages, _outline(pdf), is_titled=bool(title)).write()
        found = next((heading for heading in builder.headings if heading.level == 1), None)
        # Chapters begin behind the title page, and a title's first line may be larger than its others.
        is_better = found is not None and (
            (found.page or 1) > 1 or title.lower().startswith(f"{found.text.lower().rstrip(':-–—')} ")
        )
        return builder.document(source, title=title, is_better=is_better)


def _page(pdf: pypdfium2.PdfDocument, number: int) -> Page:
    import pypdfium2
    import pypdfium2.raw as raw

    try:
        with closing(pdf[number]) as page, closing(page.get_textpage()) as text_page:
            found = list(_words(text_page, page.get_height()))
            upright = [word for word, is_upright in found if is_upright]
            turned = [word.text for word, is_upright in found if not is_upright]
            characters = "".join([*(word.text for word in upright), *turned])
            if not characters.isascii() and (leftward := len(_LEFTWARD.findall(characters))):
                upright = _directed(upright, 2 * leftward > len(_LETTER.findall(characters)))
            unreadable = len(_CONTROL.findall(characters))
            return Page(
                in_reading_order(upright),
                turned,
                list(_remarks(page)),
                len(characters) - unreadable,
                unreadable,
                holds_objects=raw.FPDFPage_CountObjects(page) > 0,
            )
    except pypdfium2.PdfiumError:
        return Page(is_broken=True)


def _directed(words: list[Word], is_leftward: bool) -> list[Word]:
    """The words of a page, mirrored where it is read from right to left, and marked where they are read against it."""
    for word in words:
        if is_leftward:
            word.left, word.right = -word.right, -word.left
        word.against = any(map(str.isalnum, word.text)) and (_LEFTWARD.search(word.text) is None) == is_leftward
    return words


def _remarks(page: pypdfium2.PdfPage) -> Iterator[str]:
    """What stands in a page's annotations: values of a form's fields under their names, boxes of text, comments."""
    import pypdfium2.raw as raw

    for place in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, place)
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if kind in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP) or raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
                continue
            author = _entry(annotation, b"T")
            if kind == raw.FPDF_ANNOT_WIDGET:
                words = _entry(annotation, b"V") if _entry(annotation, b"FT") in ("Tx", "Ch") else ""
                name = _entry(annotation, b"TU") or author
                lead = f"{name}: " if name else ""
            else:
                words = _entry(annotation, b"Contents")
                lead = "" if kind == raw.FPDF_ANNOT_FREETEXT else f"Comment by {author}: " if author else "Comment: "
            if words:
                yield lead + words
        finally:
            raw.FPDFPage_CloseAnnot(annotation)


def _entry(annotation: Any, key: bytes) -> str:
    """A string of an annotation on one line; empty where there is none."""
    import pypdfium2.raw as raw

    length = raw.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFAnnot_GetStringValue(annotation, key, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return one_line(buffer.raw[: max(0, length - 2)].decode("utf-16-le", "replace"))


def _words(text_page: Any, height: float) -> Iterator[tuple[Word, bool]]:
    """The words of a page in the order of its instructions, and whether each is upright."""
    import pypdfium2.raw as raw

    count = text_page.count_chars()
    text = text_page.get_text_range() if count else ""
    if len(text) != count or not text.isascii():
        codes = (raw.FPDFText_GetUnicode(text_page, place) for place in range(count))
        text = "".join(chr(code) if code < 0x110000 else " " for code in codes).translate(_MARKS)
    first, last = raw.FS_RECTF(), raw.FS_RECTF()
    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    for match in _WORD.finditer(text):
        begin, end = match.start(), match.end() - 1
        if text[end] == "\ufffe" and end > begin:
            end -= 1
        if not (
            raw.FPDFText_GetLooseCharBox(text_page, begin, first) and raw.FPDFText_GetLooseCharBox(text_page, end, last)
        ):
            continue
        raw.FPDFText_GetFontInfo(text_page, begin, name, 128, flags)
        word = match.group().translate(_LIGATURES)
        if not word.isascii() and _HALVES.search(word):  # of characters beyond U+FFFF
            word = word.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        yield (
            Word(
                text=word,
                left=min(first.left, last.left),
                top=height - max(first.top, last.top),
                right=max(last.right, first.right),
                bottom=height - min(first.bottom, last.bottom),
                size=round(2 * (first.top - first.bottom)) / 2 or 1.0,
                bold=bool(_BOLD.search(name.value)) or raw.FPDFText_GetFontWeight(text_page, begin) >= _BOLD_WEIGHT,
                mono=bool(_MONO.search(name.value)),
            ),
            abs(raw.FPDFText_GetCharAngle(text_page, begin)) % 6.28 < _UPRIGHT,
        )


def _outline(pdf: pypdfium2.PdfDocument) -> Outline:
    """The outline's titles by page (from 0), with their levels."""
    import pypdfium2

    found: Outline = {}
    with suppress(pypdfium2.PdfiumError):
        for mark in pdf.get_toc(max_depth=6):
            destination = mark.get_dest()
            page = destination.get_index() if destination else None
            if page is not None and (title := one_line(mark.get_title())):
                found.setdefault(page, []).append((title, min(6, mark.level + 1)))
    return found


def _pages(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:10]))
    return (
        f"page {shown}" if len(numbers) == 1 else f"{len(numbers)} pages ({shown}{', …' if len(numbers) > 10 else ''})"
    )
