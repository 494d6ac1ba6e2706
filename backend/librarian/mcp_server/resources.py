"""Documents as resources: `librarian://docs/{+path}#section`, listed in pages."""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from urllib.parse import unquote

from ..vocabulary.desk_protocol import Desk
from ..vocabulary.errors import LibrarianError, NotFound
from ..vocabulary.protocols import Budget
from .rendering import rest_of
from .tools import mime_type

TEMPLATE = "librarian://docs/{+path}"
SCHEME = "librarian://docs/"
LONGEST = 1_000_000  #: characters; hosts end a connection over frames of 8 MiB


@dataclass(frozen=True, slots=True)
class ResourceText:
    """A resource as read."""

    uri: str
    mime_type: str
    text: str


def read(desk: Desk, uri: str, budget: Budget) -> ResourceText:
    """The text of a document, or of the section that the fragment names.

    Raises `NotFound` for URIs of another kind and for documents that aren't there.
    """
    if not uri.startswith(SCHEME):
        raise NotFound(f"No resource {uri!r}.", hint=f"Resources begin with {SCHEME}; see resources/list.")
    answer = desk.get_document(uri, max_chars=LONGEST, budget=budget)
    text = answer.content
    if answer.truncated:
        text += f"\n\n[Truncated. Go on with get_document, {rest_of(answer)}.]"
    return ResourceText(uri, mime_type(os.path.splitext(answer.file_path)[1].lower()), text)


def fingerprint(desk: Desk, uri: str, budget: Budget) -> str:
    """Changes when the document does; empty where there is none."""
    try:
        answer = desk.get_document(uri.partition("#")[0], max_chars=1, budget=budget)
    except LibrarianError:
        return ""
    return f"{answer.indexed_at} {answer.last_modified}"


def path_of(uri: str) -> str:
    """The file path that a document's URI names."""
    return unquote(uri.removeprefix(SCHEME).partition("#")[0])
