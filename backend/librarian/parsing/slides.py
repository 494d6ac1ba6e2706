"""PowerPoint files: `.pptx` (and `.pptm`, `.ppsx`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..models import Document, SourceFile
from .document_builder import DocumentBuilder, Target, one_line
from .office_xml import attribute, child, children, local
from .zip_package import ZipPackage, opened

if TYPE_CHECKING:
    from lxml.etree import _Element

    from .zip_package import ZipPackage

Relations = Mapping[str, tuple[str, str, bool]]

#: Descriptions that say nothing of a picture: its file's name or address.
_FILE_NAME = re.compile(r"\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg)$|automatically generated|^https?:", re.I)


def description(properties: _Element | None) -> str:
    """What a picture shows, in the words of its author; empty where only its file is named."""
    words = attribute(properties, "descr")
    return "" if _FILE_NAME.search(words) else words


def relation(element: _Element, name: str) -> str:
    """An attribute that refers to a part: `r:id`, not a plain `id`."""
    found = (value for key, value in element.attrib.items() if str(key).endswith("}" + name))
    return str(next(found, ""))


def drawn_words(package: ZipPackage, relations: Relations, drawing: _Element) -> Iterator[tuple[str, str]]:
    """("diagram", words of a shape) and ("chart", names in a chart) for what a drawing refers to."""
    for reference in drawing.iter("{*}relIds"):  # a diagram (SmartArt): its texts lie in a part of their own
        part = _part(package, relations, relation(reference, "dm"))
        for point in () if part is None else part.iter("{*}t"):
            for words in paragraphs(point):
                yield "diagram", words
    for reference in drawing.iter("{*}chart"):
        part = _part(package, relations, relation(reference, "id"))
        if part is not None and (words := _names(part)):
            yield "chart", words


def _part(package: ZipPackage, relations: Relations, key: str) -> _Element | None:
    """The part that a drawing refers to; None where it is missing or ill-formed, which leaves the document readable."""
    target = relations.get(key, ("", "", True))[1]
    try:
        return package.tree(target) if target in package else None
    except SyntaxError:
        return None


def paragraphs(body: _Element | None) -> Iterator[str]:
    """The words of each paragraph of a shape's text that isn't empty."""
    for paragraph in () if body is None else children(body, "p"):
        pieces = ((run.text or "") if local(run) == "t" else "\n" for run in paragraph.iter("{*}t", "{*}br"))
        if words := "".join(pieces).strip():
            yield words


def _names(chart: _Element) -> str:
    """Titles, series and categories; numbers stand in the sheet that they come from."""
    names = [" ".join("".join(title.itertext("{*}t")).split()) for title in chart.iter("{*}title")]
    names += [value.text or "" for value in chart.iter("{*}v") if not _is_number(value.text or "")]
    names += [" ".join(words.split()) for shape in chart.iter("{*}txBody") for words in paragraphs(shape)]
    return "; ".join(dict.fromkeys(filter(None, names)))


def shape_words(shape: _Element) -> Iterator[str]:
    """The paragraphs of a shape in a sheet, or what its picture shows."""
    found = False
    for words in paragraphs(child(shape, "txBody")):
        found = True
        yield words
    if not found and (words := description(next(iter(shape.iter("{*}cNvPr")), None))):
        yield words


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).replace("-", "", 1).replace("E", "", 1).isdecimal()


_MAIN = "ppt/presentation.xml"
#: PowerPoint's own, in many languages: "PowerPoint Presentation", "Présentation PowerPoint", "Slide 1".
_DEFAULT_TITLE = re.compile(
    r"\s*(?:powerpoint[ -]?(?:pr|プレゼン|演示|簡報|프레젠)"
    r"|(?:pr[eé]+[sz][ea]nt\w*|apresenta\w*|презентаци\w)(?: standard)?(?: \w+)? powerpoint\s*$"
    r"|(?:slide|diapositiv[ae]|folie|dia|слайд|slajd|snímek|幻灯片|スライド) ?1\s*$)",
    re.I,
)
_TITLES = frozenset({"title", "ctrTitle"})
_LEFT_OUT = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})  #: placeholders: date, footer, slide number
_MAX_DEPTH = 20


class SlidesParser:
    """A heading per slide, its texts as lists, tables as rows, the speaker's notes, comments; slides count as pages."""

    extensions: tuple[str, ...] = (".pptx", ".pptm", ".ppsx")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        manuscript = DocumentBuilder()
        with opened(data, source.file_path) as package:
            roots = package.relations("").values()
            main = next((target for kind, target, _ in roots if kind == "officeDocument"), _MAIN)
            relations = package.relations(main)
            authors = {
                author.get("id"): author.get("name") or ""
                for kind, target, _ in relations.values()
                if kind in ("commentAuthors", "authors") and target in package
                for author in package.tree(target)
            }
            for entry in package.tree(main).iter("{*}sldId"):
                slide = relations.get(relation(entry, "id"), ("", "", True))[1]
                manuscript.page()
                if slide in package and not manuscript.full:
                    _Slide(package, slide, manuscript).write(authors)
            core = next((target for kind, target, _ in roots if kind == "core-properties"), "")
            title = next((t.text or "" for t in package.tree(core).iter("{*}title")), "") if core in package else ""
        title = "" if _DEFAULT_TITLE.match(title) else title
        return manuscript.document(source, source.extension, title=title)


class _Slide:
    def __init__(self, package: ZipPackage, part: str, manuscript: DocumentBuilder) -> None:
        self._package = package
        self._relations = package.relations(part)
        self._root = package.tree(part)
        self._out = manuscript

    def write(self, authors: Mapping[str | None, str]) -> None:
        """Its heading, shapes, speaker's notes and comments; `authors` are names by id."""
        shapes = list(self._shapes(child(self._root, "cSld", "spTree"), 0))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        for shape in titles:
            words = " ".join(text for _, text, _ in self._paragraphs(child(shape, "txBody")))
            self._out.heading(2 if self._out.headings else 1, words)
        for shape in shapes:
            if shape not in titles and _placeholder(shape) not in _LEFT_OUT:
                self._shape(shape)
        self._notes()
        for kind, part, _ in self._relations.values():
            if kind == "comments" and part in self._package:
                for comment in self._package.tree(part).iter("{*}cm", "{*}reply"):
                    words = one_line(" ".join([*paragraphs(child(comment, "txBody")), _text(child(comment, "text"))]))
                    author = authors.get(comment.get("authorId"), "")
                    if words:
                        self._out.paragraph(f"Comment{f' by {author}' if author else ''}: {words}")

    def _shapes(self, tree: _Element | None, depth: int) -> Iterator[_Element]:
        if tree is None or depth > _MAX_DEPTH:
            return
        for shape in tree:
            name = local(shape)
            if name == "grpSp":
                yield from self._shapes(shape, depth + 1)
            elif name == "AlternateContent":
                yield from self._shapes(child(shape, "Choice"), depth + 1)
            elif name in ("sp", "graphicFrame", "pic", "cxnSp"):
                yield shape

    def _shape(self, shape: _Element) -> None:
        name = local(shape)
        if name == "graphicFrame":
            self._frame(shape)
        elif name == "pic":
            words = description(child(shape, "nvPicPr", "cNvPr"))
            if not words.lower().startswith(("picture", "image")):
                self._out.paragraph(words)
        else:
            paragraphs = list(self._paragraphs(child(shape, "txBody")))
            if len(paragraphs) == 1 and not paragraphs[0][0]:
                self._out.paragraph(paragraphs[0][1], paragraphs[0][2])
            else:
                for depth, words, links in paragraphs:
                    self._out.item(words, depth, links=links)

    def _frame(self, frame: _Element) -> None:
        for table in frame.iter("{*}tbl"):
            rows: list[list[str]] = []
            for row in children(table, "tr"):
                rows.append(
                    [" ".join(t for _, t, _ in self._paragraphs(child(cell, "txBody"))) for cell in children(row, "tc")]
                )
            self._out.table(rows)
        for kind, words in drawn_words(self._package, self._relations, frame):
            if kind == "diagram":
                self._out.item(words)
            else:
                self._out.paragraph(words)

    def _notes(self) -> None:
        part = next((target for kind, target, _ in self._relations.values() if kind == "notesSlide"), "")
        if part not in self._package:
            return
        for shape in self._shapes(child(self._package.tree(part), "cSld", "spTree"), 0):
            if _placeholder(shape) == "body":
                for _, words, _ in self._paragraphs(child(shape, "txBody")):
                    self._out.quote(words)

    def _paragraphs(self, body: _Element | None) -> Iterator[tuple[int, str, list[Target]]]:
        """Depth, words and links of each paragraph that isn't empty."""
        for paragraph in () if body is None else children(body, "p"):
            level = attribute(child(paragraph, "pPr"), "lvl")
            pieces: list[str] = []
            links: list[Target] = []
            for run in paragraph.iter():
                name = local(run)
                if name == "t":
                    pieces.append(run.text or "")
                elif name == "br":
                    pieces.append("\n")
                elif name == "hlinkClick":
                    target = self._relations.get(relation(run, "id"), ("", "", False))
                    words = "".join(run.getparent().getparent().itertext())
                    if target[2]:
                        links.append((words, target[1]))
            if words := "".join(pieces).strip():
                yield int(level) if level.isdecimal() and len(level) < 3 else 0, words, links


def _text(element: _Element | None) -> str:
    return "" if element is None else element.text or ""


def _placeholder(shape: _Element) -> str:
    """What a placeholder is for: `title`, `body`, …; empty for a shape of its own."""
    for properties in shape:
        if local(properties).startswith("nv") and (place := child(properties, "nvPr", "ph")) is not None:
            return attribute(place, "type") or "obj"
    return ""
