"""Reading the XML of office files: elements by name whatever their namespace, and the words in drawings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Descriptions that say nothing of a picture: its file's name or address.
_FILE_NAME = re.compile(r"\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg)$|automatically generated|^https?:", re.I)


def local(element: _Element) -> str:
    """An element's name without its namespace; empty for comments and the like."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(element: _Element | None, name: str) -> Iterator[_Element]:
    """The direct children of a name, in order."""
    return (child for child in (() if element is None else element) if local(child) == name)


def child(element: _Element | None, *path: str) -> _Element | None:
    """The first descendant by a path of names."""
    for name in path:
        element = next(children(element, name), None)
    return element


def attribute(element: _Element | None, name: str = "val") -> str:
    """An attribute whatever its namespace; empty where there is none."""
    if element is None:
        return ""
    return next((str(value) for key, value in element.attrib.items() if str(key).rpartition("}")[2] == name), "")


def whole(text: str, otherwise: int = 0, most: int = 99_999) -> int:
    """The number that an attribute gives, at most `most`."""
    return min(int(text), most) if text.isdecimal() and len(text) < 9 else otherwise


def is_on(element: _Element | None) -> bool:
    """A toggle such as `<w:pageBreakBefore/>`."""
    return element is not None and attribute(element).lower() not in ("0", "false", "off", "none")


def parsed(data: bytes) -> _Element:
    """A part parsed as XML, without entities. Raises SyntaxError."""
    from lxml import etree

    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


def description(properties: _Element | None) -> str:
    """What a picture shows, in the words of its author; empty where only its file is named."""
    words = attribute(properties, "descr")
    return "" if _FILE_NAME.search(words) else words


def drawn_words(root: _Element) -> list[str]:
    """The paragraphs of a diagram or of a sheet's shapes; of a chart its title, series and categories as one line."""
    found: list[str] = []
    for paragraph in root.iter("{*}p"):
        pieces = ((run.text or "") if local(run) == "t" else "\n" for run in paragraph.iter("{*}t", "{*}br"))
        found.append("".join(pieces).strip())
    if local(root) != "chartSpace":
        return [words for words in dict.fromkeys(found) if words]
    found += [value.text or "" for value in root.iter("{*}v") if not re.fullmatch(r"[-\d.E+]*", value.text or "")]
    return ["; ".join(dict.fromkeys(" ".join(words.split()) for words in found if words))]


def related_parts(part: Any, kind: str) -> Iterator[_Element]:
    """What a part of python-docx or python-pptx refers to as its `comments`, say."""
    for relation in part.rels.values():
        if relation.reltype.endswith(f"/{kind}") and not relation.is_external:
            yield parsed(relation.target_part.blob)


def drawing_words(part: Any, drawing: _Element) -> Iterator[str]:
    """The words of charts and diagrams that a drawing in a part of python-docx or python-pptx refers to."""
    for reference in drawing.iter("{*}relIds", "{*}chart"):
        keys = {str(key).rpartition("}")[2]: str(value) for key, value in reference.attrib.items()}
        try:
            yield from drawn_words(parsed(part.rels[keys.get("dm") or keys.get("id")].target_part.blob))
        except (KeyError, ValueError, SyntaxError):  # missing or ill-formed, which leaves the document readable
            continue
