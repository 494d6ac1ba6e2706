"""PowerPoint files: `.pptx` (and `.pptm`, `.ppsx`), opened by python-pptx."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..models import Document, SourceFile
from .document_builder import DocumentBuilder, Target, one_line, shift_mark
from .office_xml import attribute, child, children, description, drawing_words, local, related_parts, whole
from .zip_package import opened

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pptx.slide import Slide

_TITLES = frozenset({"title", "ctrTitle"})
_LEFT_OUT = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})  #: placeholders: date, footer, slide number


class SlidesParser:
    """A heading per slide, its texts as lists, tables as rows, the speaker's notes, comments; slides count as pages."""

    extensions: tuple[str, ...] = (".pptx", ".pptm", ".ppsx")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        import pptx

        builder = DocumentBuilder()
        with opened(data, source.file_path) as package:
            file = pptx.Presentation(package.rewritten())
            authors = {
                author.get("id"): author.get("name") or ""
                for kind in ("commentAuthors", "authors")
                for root in related_parts(file.part, kind)
                for author in root
            }
            for entry in file.element.iter("{*}sldId"):
                builder.page()
                if entry.rId in file.part.rels and not builder.full:
                    _write_slide(builder, file.part.related_slide(entry.rId), authors)
            return builder.document(source, title=package.title)


def _write_slide(out: DocumentBuilder, slide: Slide, authors: Mapping[str | None, str]) -> None:
    """Its heading, shapes, speaker's notes and comments; `authors` are names by id."""
    found = slide.element.iter("{*}sp", "{*}graphicFrame", "{*}pic", "{*}cxnSp")  # within groups too
    shapes = [shape for shape in found if not any(local(above) == "Fallback" for above in shape.iterancestors())]
    titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
    for shape in titles:
        words = " ".join(text for _, text, _ in _paragraphs(slide.part, child(shape, "txBody")))
        out.heading(2 if out.has_headings else 1, words)
    for shape in shapes:
        if shape not in titles and _placeholder(shape) not in _LEFT_OUT:
            _write_shape(out, slide.part, shape)
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    for paragraph in notes.paragraphs if notes else ():
        out.quote(paragraph.text)
    for root in related_parts(slide.part, "comments"):
        for comment in root.iter("{*}cm", "{*}reply"):
            texts = [*children(comment, "text"), *children(comment, "txBody")]
            words = one_line(" ".join(piece for text in texts for piece in text.itertext()))
            author = authors.get(comment.get("authorId"), "")
            if words:
                out.paragraph(f"Comment{f' by {author}' if author else ''}: {words}")


def _write_shape(out: DocumentBuilder, part: Any, shape: _Element) -> None:
    paragraphs = list(_paragraphs(part, child(shape, "txBody")))
    if len(paragraphs) == 1 and not paragraphs[0][0]:
        out.paragraph(paragraphs[0][1], paragraphs[0][2])
    else:
        for depth, words, links in paragraphs:
            out.item(words, depth, links=links)
    for table in shape.iter("{*}tbl"):
        cells = [[child(cell, "txBody") for cell in children(row, "tc")] for row in children(table, "tr")]
        out.table([[" ".join(words for _, words, _ in _paragraphs(part, cell)) for cell in row] for row in cells])
    for words in drawing_words(part, shape):
        out.paragraph(words)
    if local(shape) == "pic":
        words = description(child(shape, "nvPicPr", "cNvPr"))
        if not words.lower().startswith(("picture", "image")):
            out.paragraph(words)


def _paragraphs(part: Any, body: _Element | None) -> Iterator[tuple[int, str, list[Target]]]:
    """Depth, words and links of each paragraph that isn't empty."""
    for paragraph in children(body, "p"):
        pieces: list[str] = []
        links: list[Target] = []
        for run in paragraph.iter():
            name = local(run)
            if name == "t":
                baseline = attribute(child(run.getparent(), "rPr"), "baseline") or "0"
                if baseline.strip("0"):
                    pieces.append(shift_mark("".join(pieces[-2:]), run.text or "", raised=baseline[0] != "-"))
                pieces.append(run.text or "")
            elif name == "br":
                pieces.append("\n")
            elif name == "hlinkClick" and (relation := part.rels.get(attribute(run, "id"))) and relation.is_external:
                holder = next(run.iterancestors("{*}r", "{*}fld"), run)
                links.append(("".join(text.text or "" for text in holder.iter("{*}t")), relation.target_ref))
        if words := "".join(pieces).strip():
            yield whole(attribute(child(paragraph, "pPr"), "lvl")), words, links


def _placeholder(shape: _Element) -> str:
    """What a placeholder is for: `title`, `body`, …; empty for a shape of its own."""
    for properties in shape:
        if local(properties).startswith("nv") and (place := child(properties, "nvPr", "ph")) is not None:
            return attribute(place, "type") or "obj"
    return ""
