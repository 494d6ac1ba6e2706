"""Plain text and reStructuredText: `.txt`, `.text`, `.rst` (and `.rst.txt`, as Sphinx publishes its sources)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from librarian.vocabulary.types import Document, Excluded, Link, SourceFile

from ..encoding import decode
from ..metadata import doc_type_of, iso_of_ns, summary_of, title_of
from ..plain_text import plain
from .spans import Inside
from .text_blocks import TARGET_NAME, TextScanner

_DIRECTIVE = re.compile(r"^[ \t]*\.\. (?:[\w:-]+ ?::|_[\w .-]+:(?:[ \t]*$|[ \t]+\S))", re.M)
_LINK = re.compile(r"`([^`<>]{1,300}?)\s*<([^`<>\s]+)>`__?(?!\w)")
#: Roles that lead to a page or one of its labels, with words to show or the name alone.
_ROLE = re.compile(r":(?:doc|ref|numref|std:doc|std:ref|any):`(?:([^`<>]{1,300}?)\s*<([^`<>]+)>|([^`<>]{1,300}))`")
#: `.. _label:` above a heading, a figure or a paragraph.
_LABEL = re.compile(r"^[ \t]*\.\. _(?:`([^`\n]+)`|((?:[^:`\n\\]|\\.|:(?![ \t]*$))+)):[ \t]*$", re.M)
#: `.. _name: https://…`, perhaps over several lines, and what leads there: `` `name`_ `` or `name_`.
_NAMED = re.compile(rf"^[ \t]*\.\. _(?!_?:)({TARGET_NAME}):[ \t]+(\S[^\n]*(?:\n[ \t]+\S[^\n]*)*)", re.M)
_REFERENCE = re.compile(r"`([^`<>]{1,300})`_(?![\w_])|(?<![\w`.:+-])(\w+(?:[-.:+]\w+)*)_(?![\w`])")
_LEADING = re.compile(r"(?<=[^\s_])__?(?![\w_])")
_LONGEST_NAME = 12  #: words
_LONGEST_NAMED = 200  #: characters of these
_LONGEST_TITLE = 2_000  #: characters of a title that such names are looked for in
_MOST_STEPS = 9  #: of a name that leads to another name
#: Roles whose names a reader sees: `:pep:`8`` is shown as PEP 8.
_SHOWN_ROLE = r"(?!:(?:pep|rfc|cve|cwe):)"
#: Markup that no reader sees: `.. note::`, options of directives, names of roles and the targets beside their words.
_MARKER = re.compile(r"^[ \t]*(\.\. [\w:-]+ ?::)", re.M)
#: Options stand directly below the directive's line; behind a blank line such a field (`:returns:`) is text.
_OPTION = re.compile(r"^([ \t]+:[\w-]{2,30}:(?=[ \t]|$)[^\n]*)$", re.M)
#: What a picture shows is said by its option alone.
_PICTURE = re.compile(r"[ \t]*\.\. (?:image|figure) ?::")
_ALT = re.compile(r"[ \t]+:alt:[ \t]*(?=[^\n]*[^\W\d_])")
_BELOW_DIRECTIVE = re.compile(
    r"^[ \t]*\.\. (?:\|[^|\n]+\| )?[\w:-]{1,60} ?::[^\n]*\n((?:[ \t]+\S[^\n]*(?:\n|$))+)", re.M
)
_ROLE_NAME = re.compile(rf"(?<![\w`]){_SHOWN_ROLE}(:[a-zA-Z][\w+.:-]{{0,100}}:)(?=`[^`\n])")
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
        named = _named(text) if structured else {}
        told = _told(named) if structured else str
        headings = [replace(heading, text=told(heading.text)) for heading in scanner.headings]
        title, in_text = title_of({}, headings, source.file_path)
        return Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind="document",
            file_type=source.extension,
            title=title,
            text=text,
            headings=tuple(headings),
            blocks=tuple(scanner.blocks),
            excluded=excluded,
            links=tuple(_links(text, named)) if structured else (),
            labels=_labels(text) if structured else (),
            doc_type=doc_type_of(source.file_path, title, text),
            encoding=decoded.encoding,
            encoding_confidence=decoded.confidence,
            summary=told(summary_of(text, scanner.blocks, {}, excluded)),
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


def _named(text: str) -> dict[str, str]:
    """Where the names lead that a page defines for itself, by the names as they are compared."""
    links = sorted(_LINK.finditer(text), key=lambda match: not match[0].endswith("__"))  # those name nothing for others
    found = {_name(match[1]): match[2] for match in links}
    for match in _NAMED.finditer(text):
        target = match.group(2).strip()
        is_name = target.endswith("_") and not target.endswith("\\_")
        found[_name(match.group(1))] = target if is_name else "".join(target.split()).replace("\\", "")
    return found


def _name(written: str) -> str:
    return " ".join(written.strip("`").replace("\\", "").split()).casefold()


def _told(named: Mapping[str, str]) -> Callable[[str], str]:
    """Takes off plain words the underscore that leads to a name that the page defines, and what joins two to one."""

    def shown(match: re.Match[str]) -> str:
        words = match.string[max(0, match.start() - _LONGEST_NAMED) : match.start()].split()[-_LONGEST_NAME:]
        names = (_name(" ".join(words[first:]).lstrip("([{\"'")) for first in range(len(words)))
        return "" if any(name in named for name in names) else match.group()

    def plainly(words: str) -> str:
        words = words.replace("\\ ", "")
        return _LEADING.sub(shown, words) if named and len(words) <= _LONGEST_TITLE else words

    return plainly


def _links(text: str, named: Mapping[str, str]) -> list[Link]:
    found = [
        Link(plain(match.group(1)), match.group(2).strip(), match.start())
        for match in _LINK.finditer(text)
        if text[match.start() - 1 : match.start()] != ":"
    ]
    for match in _ROLE.finditer(text):
        words, target, name = match.groups()
        found.append(Link(plain(words or ""), (target or name).strip(), match.start()))
    leads = {match.start(2) for match in _NAMED.finditer(text)}
    for match in _REFERENCE.finditer(text) if named else ():
        if match.start() in leads:  # a name that leads to another
            continue
        target = named.get(_name(match[1] or match[2]), "")
        for _ in range(_MOST_STEPS):
            if not target.endswith("_") or _name(target[:-1]) not in named:
                break
            target = named[_name(target[:-1])]
        if target:
            found.append(Link(plain(match[1] or match[2]), target, match.start()))
    return sorted(found, key=lambda link: link.start)


def _labels(text: str) -> tuple[str, ...]:
    return tuple((match.group(1) or match.group(2)).replace("\\", "") for match in _LABEL.finditer(text))
