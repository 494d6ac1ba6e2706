"""How a passage and a document are named to the outside: ids, URIs, anchors, and what callers pass for a path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import quote, unquote

from ..errors import CallerError
from ..files.paths import name_of
from ..models import SCHEME, Document, Heading
from ..schemas import MAX_PATH_LENGTH

#: An answer's text has a passage's lines behind its id.
_ID = re.compile(r"(?P<path>.+)#chunk-(?P<ordinal>\d+)@(?P<hash>[0-9a-f]{1,16})(?: lines \d.*)?", re.DOTALL)
_CITED = re.compile(r"(.+):L?(\d+)(?:[-–]L?(\d+))?", re.DOTALL)
_LINES = re.compile(r"L(\d+)(?:[-–]L?(\d+))?")
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]+")


def anchor(heading: str) -> str:
    """A heading as web pages spell it: lower case, without punctuation, spaces as hyphens."""
    return _NOT_IN_ANCHOR.sub("", heading.strip().lower()).replace(" ", "-")


def anchors(headings: Sequence[Heading]) -> list[str]:
    """Each heading's anchor, none twice: repeated ones are numbered, as code hosts do. Empty ones stay empty.

    >>> anchors([Heading(2, "Usage", 1, 0), Heading(2, "Usage", 5, 40)])
    ['usage', 'usage-1']
    """
    taken: set[str] = set()
    last: dict[str, int] = {}
    found = []
    for heading in headings:
        base = place = anchor(heading.text)
        number = last.get(base, 0)
        while place and place in taken:
            number += 1
            place = f"{base}-{number}"
        last[base] = number
        taken.add(place)
        found.append(place)
    return found


@lru_cache(1024)  # the same few sections answer most questions
def uri(file_path: str, place: str = "") -> str:
    """`librarian://docs/{file_path}#anchor`, percent-encoded."""
    return f"{SCHEME}{quote(file_path)}#{quote(place)}" if place else f"{SCHEME}{quote(file_path)}"


def passage_uri(document: Document, heading_path: Sequence[str], line: int) -> str:
    """The address of the section that a passage stands in, which begins in a line; the document's own where it stands
    in none."""
    if not heading_path:
        return uri(document.file_path)
    headed = _Headed((document.file_path, document.content_hash), document.headings)
    return _section_uri(headed, heading_path[-1], line)


@dataclass(frozen=True, slots=True)
class _Headed:
    """A document's headings under the name of its content, by which their anchors are remembered."""

    content: tuple[str, str]
    headings: Sequence[Heading] = field(compare=False)


@lru_cache(1024)
def _section_uri(headed: _Headed, name: str, line: int) -> str:
    """The address of the last section of that name that begins before or in a line; 1-based."""
    above = -1
    for index, heading in enumerate(headed.headings):
        if heading.line > line and above >= 0:
            break
        if heading.text == name:
            above = index
    # the heading of an attachment, or one that a reader made up, is none of the document's
    return uri(headed.content[0], "" if above < 0 else _anchors_of(headed)[above])


@lru_cache(256)
def _anchors_of(headed: _Headed) -> list[str]:
    return anchors(headed.headings)


class Place(NamedTuple):
    """What a caller passed for a path: a document, or a section or passage of it."""

    file_path: str
    anchor: str | None = None
    ordinal: int | None = None
    digest: str = ""  #: beginning of the passage's hash


def parse(path: object) -> Place:
    """What a caller passed as `path`: a file path, a result's id or its uri.

    Raises `CallerError` for absolute paths and those with `..`.
    """
    if isinstance(path, PurePath):
        path = path.as_posix()
    if not isinstance(path, str) or not path.strip():
        raise CallerError("path is empty.", hint="Pass a result's file_path, id or uri.")
    text, fragment, ordinal, digest = path.strip(), None, None, ""
    if text.startswith("librarian://"):
        if not text.startswith(SCHEME):
            raise CallerError(f"{text!r} is not a document's uri.", hint=f"They begin with {SCHEME}.")
        text, _, after = text[len(SCHEME) :].partition("#")
        text, fragment = unquote(text), unquote(after) or None
    if match := _ID.fullmatch(f"{text}#{fragment}" if fragment else text):  # a uri may be made of an id
        text, fragment, ordinal, digest = match["path"], None, int(match["ordinal"]), match["hash"]
    text = name_of(text)  # a path as it stands on disk names the same document
    if len(text) > MAX_PATH_LENGTH:
        raise CallerError(
            f"path has {len(text)} characters; at most {MAX_PATH_LENGTH} are allowed.",
            hint="Pass a result's file_path, id or uri.",
        )
    if "\x00" in text:
        raise CallerError("path holds a NUL character.", hint="Pass a result's file_path, id or uri.")
    posix = text.replace("\\", "/")
    if posix.startswith("/") or re.match(r"^[A-Za-z]:/", posix) or ".." in posix.split("/"):
        raise CallerError(
            f"path {text!r} must be relative to the library's root and stay inside it.",
            hint="Use the file_path of a result, or list_components to see what is indexed.",
        )
    while text.startswith(("./", ".\\")):
        text = text[2:]
    return Place(text, fragment, ordinal, digest)


def cited(place: Place) -> Place | None:
    """The lines of a page that a citation names, `page.md:10-20`, as an anchor; None where it is none.

    >>> cited(Place("page.md:10-20")), lines_at("L10-L20"), lines_at("use-it")
    (Place(file_path='page.md', anchor='L10-L20', ordinal=None, digest=''), (10, 20), None)
    """
    found = _CITED.fullmatch(place.file_path) if place.ordinal is None else None
    return Place(found[1], f"L{found[2]}-L{found[3] or found[2]}") if found else None


def lines_at(place: str) -> tuple[int, int] | None:
    """The lines that an anchor names as code hosts spell it, `L10-L20`."""
    found = _LINES.fullmatch(place)
    return (int(found[1]), int(found[2] or found[1])) if found else None


_EXTENSION = re.compile(r"\.[a-z]\w{0,7}$")
_SITES_EXTENSION = re.compile(r"\.x?html?$")
_INDEX_PAGE = re.compile(r"(^|/)(index|_index|readme)$")


def resolved_path(asked: str, known: Iterable[str]) -> str | None:
    """The one known path that a link spelled `asked` leads to, as sites spell them: in another case, without its
    extension or with `.html`, a folder for its index page. None where there is none, or several."""
    wanted = asked.lower().strip("/")
    if same := [path for path in known if path.lower() == wanted]:
        return same[0] if len(same) == 1 else None
    page = _SITES_EXTENSION.sub("", wanted)
    if page == wanted and _EXTENSION.search(wanted):
        return None
    page = _INDEX_PAGE.sub("", page)
    found = [path for path in known if _INDEX_PAGE.sub("", _EXTENSION.sub("", path.lower())) == page]
    return found[0] if len(found) == 1 else None


_FROM_A_SITES_ROOT = re.compile(r"(?:https?://[^/#?]+)?/([^#?]+)(?:\?[^#]*)?(?:#(.+))?", re.IGNORECASE)
_FURTHER_PARTS = 2  #: that a site's addresses may have in front of a product's folders: `/docs`, `/en/latest`


def linked(asked: object, known: Sequence[str]) -> Place | None:
    """The one known path that a link from a site's root leads to, `/docs/guide/setup/#use`, with its host or without.

    None where it isn't such a link, or leads to none or several.
    """
    found = _FROM_A_SITES_ROOT.fullmatch(asked.strip()) if isinstance(asked, str) else None
    if found is None:
        return None
    by_rest: dict[str, list[str]] = {}
    for path in known:
        by_rest.setdefault(path.partition("/")[2], []).append(path)
    parts = unquote(found[1]).strip("/").split("/")
    for cut in range(min(_FURTHER_PARTS, len(parts) - 2) + 1):
        if rest := resolved_path("/".join(parts[cut:]), by_rest):
            return Place(by_rest[rest][0], unquote(found[2]) if found[2] else None) if len(by_rest[rest]) == 1 else None
    return None
