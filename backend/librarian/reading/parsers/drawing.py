"""Words that are drawn: of charts and diagrams, whose parts office files share, and what a picture shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .word_styles import attribute, child, children, local

if TYPE_CHECKING:
    from lxml.etree import _Element

    from ..zip_package import ZipPackage

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
