"""Plain text and reStructuredText: `.txt`, `.text`, `.rst` (and `.rst.txt`, as Sphinx publishes its sources)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from librarian.vocabulary.types import Document, Excluded, Link, SourceFile

from ..encoding import decode
from ..metadata import doc_type_of, iso_of_ns, summary_of, title_of
from ..plain_text import plain
from .spans import Inside
from .text_blocks import TextScanner

_DIRECTIVE = re.compile(r"^[ \t]*\.\. (?:[\w:-]+ ?::|_[\w .-]+:[ \t]*$)", re.M)
_LINK = re.compile(r"`([^`<>]{1,300}?)\s*<([^`<>\s]+)>`__?(?!\w)")
#: Roles that lead to a page or one of its labels, with words to show or the name alone.
_ROLE = re.compile(r":(?:doc|ref|numref|std:doc|std:ref|any):`(?:([^`<>]{1,300}?)\s*<([^`<>]+)>|([^`<>]{1,300}))`")
#: `.. _label:` above a heading, a figure or a paragraph.
_LABEL = re.compile(r"^[ \t]*\.\. _(?:`([^`\n]+)`|((?:[^:`\n\\]|\\.|:(?![ \t]*$))+)):[ \t]*$", re.M)
#: Roles whose names a reader sees: `:pep:`8`` is shown as PEP 8.
_SHOWN_ROLE = r"(?!:(?:pep|rfc|cve|cwe):)"
#: Markup that no reader sees: `.. note::`, options of directives, names of roles and the targets beside their words.
_MARKER = re.compile(r"^[ \t]*(\.\. [\w:-]+ ?::)", re.M)
#: Options stand directly below the directive's line; behind a blank line such a field (`:returns:`) is text.
_OPTION = re.compile(r"^([ \t]+:[\w-]{2,30}:(?=[ \t]|$)[^\n]*)$", re.M)
#: What a picture shows is said by its option alone.
_PICTURE = re.compile(r"[ \t]*\.\. (?:image|figure) ?::")
_ALT = re.compile(r"[ \t]+:alt:[ \t]*(?=[^\n]*[^\W\d_])")
_BELOW_DIRECTIVE = re.compile(r"^[ \t]*\.\. (?:\|[^|\n]+\| )?[\w:-]+ ?::[^\n]*\n((?:[ \t]+\S[^\n]*(?:\n|$))+)", re.M)
_ROLE_NAME = re.compile(rf"(?<![\w`]){_SHOWN_ROLE}(:[a-zA-Z][\w+.:-]*:)(?=`[^`\n])")
_ROLE_TARGET = re.compile(r"(?<!`)`(?!`)[^`<>]{1,300}?\s*(<[^<>`\s]{1,300}>)`(?!`)")


class TextParser:
    """Text whose structure is what a reader sees: underlined titles, lists, ruled tables, indented code."""

    extensions: tuple[str, ...] = (".txt", ".text", ".rst")

    def parse(self, source: SourceFile, data: bytes) -> Document:
        decoded = decode(data, source.file_path)
        text = decoded.text
        structured = source.file_path.lower().endswith((".rst", ".rst.txt")) or _is_structured(text)
        scanner = TextScanner(text, directives=structured).scan()
        excluded = _excluded(text, scanner) if structured else tuple(scanner.excluded)
        title, in_text = title_of({}, scanner.headings, source.file_path)
        return Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind="document",
            file_type=source.extension,
            title=title,
            text=text,
            headings=tuple(scanner.headings),
            blocks=tuple(scanner.blocks),
            excluded=excluded,
            links=tuple(_links(text)) if structured else (),
            labels=_labels(text) if structured else (),
            doc_type=doc_type_of(source.file_path, title, text),
            encoding=decoded.encoding,
            encoding_confidence=decoded.confidence,
            summary=summary_of(text, scanner.blocks, {}, excluded),
            last_modified=iso_of_ns(source.mtime_ns),
            size=source.size,
            mtime_ns=source.mtime_ns,
            title_in_text=in_text,
        )


def _is_structured(text: str) -> bool:
    """Whether a text is reStructuredText: a directive tells it, a target, or a role."""
    return _DIRECTIVE.search(text) is not None or (":`" in text and _ROLE_NAME.search(text) is not None)


def _excluded(text: str, scanner: TextScanner) -> tuple[Excluded, ...]:
    """Comments and targets, and the markup of roles and directives outside code; sorted, without overlap."""
    code = Inside((block.start, block.end) for block in scanner.blocks if block.kind == "fence")
    found = list(scanner.excluded)
    others = (match.span(1) for pattern in (_MARKER, _ROLE_NAME, _ROLE_TARGET) for match in pattern.finditer(text))
    for first, last in chain(_options(text), others):
        if first not in code:
            found.append(Excluded(first, last, "markup"))
    found.sort(key=lambda span: (span.start, -span.end))
    spans: list[Excluded] = []
    for span in found:
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    return tuple(spans)


def _options(text: str) -> Iterator[tuple[int, int]]:
    for lines in _BELOW_DIRECTIVE.finditer(text):
        picture = _PICTURE.match(text, lines.start())
        for option in _OPTION.finditer(text, *lines.span(1)):
            alt = _ALT.match(text, option.start()) if picture else None
            yield option.start(1), alt.end() if alt else option.end(1)


def _links(text: str) -> list[Link]:
    found = [
        Link(plain(match.group(1)), match.group(2).strip(), match.start())
        for match in _LINK.finditer(text)
        if text[match.start() - 1 : match.start()] != ":"
    ]
    for match in _ROLE.finditer(text):
        words, target, name = match.groups()
        found.append(Link(plain(words or ""), (target or name).strip(), match.start()))
    return sorted(found, key=lambda link: link.start)


def _labels(text: str) -> tuple[str, ...]:
    return tuple((match.group(1) or match.group(2)).replace("\\", "") for match in _LABEL.finditer(text))
