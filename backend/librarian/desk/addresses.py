"""How a passage and a document are named to the outside: ids, URIs, anchors, and what callers pass for a path."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, unquote

from ..vocabulary.errors import CallerError
from ..vocabulary.types import Chunk

SCHEME = "librarian://docs/"
_ID = re.compile(r"^(?P<path>.+)#chunk-(?P<ordinal>\d+)@(?P<hash>[0-9a-f]{1,16})$", re.DOTALL)
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]+")


def chunk_id(file_path: str, chunk: Chunk) -> str:
    """`file_path#chunk-<ordinal>@<hash8>`; opaque to callers."""
    return f"{file_path}#chunk-{chunk.ordinal}@{chunk.hash[:8]}"


def anchor(heading: str) -> str:
    """A heading as web pages spell it: lower case, without punctuation, spaces as hyphens."""
    return _NOT_IN_ANCHOR.sub("", heading.strip().lower()).replace(" ", "-")


@lru_cache(1024)  # the same few sections answer most questions
def uri(file_path: str, heading_path: tuple[str, ...] = ()) -> str:
    """`librarian://docs/{file_path}#anchor`, percent-encoded."""
    place = anchor(heading_path[-1]) if heading_path else ""
    return f"{SCHEME}{quote(file_path)}#{quote(place)}" if place else f"{SCHEME}{quote(file_path)}"


def parse(path: object) -> tuple[str, str | None, int | None]:
    """What a caller passed as `path`: (file path, anchor or None, chunk ordinal or None).

    Accepts a file path, a result's id or its uri. Raises `CallerError` for absolute paths and those with `..`.
    """
    if not isinstance(path, str) or not path.strip():
        raise CallerError("path is empty.", hint="Pass a result's file_path, id or uri.")
    text, fragment, ordinal = path.strip(), None, None
    if text.startswith("librarian://"):
        if not text.startswith(SCHEME):
            raise CallerError(f"{text!r} is not a document's uri.", hint=f"They begin with {SCHEME}.")
        text, _, after = text[len(SCHEME) :].partition("#")
        text, fragment = unquote(text), unquote(after) or None
    elif match := _ID.match(text):
        text, ordinal = match["path"], int(match["ordinal"])
    if "\x00" in text:
        raise CallerError("path holds a NUL character.", hint="Pass a result's file_path, id or uri.")
    posix = text.replace("\\", "/")
    if posix.startswith("/") or re.match(r"^[A-Za-z]:/", posix) or ".." in posix.split("/"):
        raise CallerError(
            f"path {text!r} must be relative to the library's root and stay inside it.",
            hint="Use the file_path of a result, or list_components to see what is indexed.",
        )
    while posix.startswith("./"):
        posix = posix[2:]
    return (text if text.count("\\") and "/" not in text else posix), fragment, ordinal
