"""Documents as resources: `librarian://docs/{+path}#section`, listed in pages."""

from __future__ import annotations

import base64
import os.path
import zlib
from dataclasses import dataclass
from urllib.parse import unquote

from ..library import Librarian
from ..vocabulary.addresses import SCHEME
from ..vocabulary.errors import CallerError, LibrarianError, NotFound, shortened
from ..vocabulary.fencing import escaped
from ..vocabulary.protocols import Budget
from .rendering import remarks, rest_of
from .tools import mime_type

TEMPLATE = SCHEME + "{+path}"
LONGEST = 1_000_000  #: characters; hosts end a connection over frames of 8 MiB


@dataclass(frozen=True, slots=True)
class ResourceText:
    """A resource as read."""

    uri: str
    mime_type: str
    text: str


def read(library: Librarian, uri: str, deadline: Budget) -> ResourceText:
    """The text of a document, or of the section that the fragment names; marks of answers in it are escaped.

    Raises `NotFound` for URIs of another kind and for documents that aren't there.
    """
    if not uri.startswith(SCHEME):
        raise NotFound(f"No resource {uri!r}.", hint=f"Resources begin with {SCHEME}; see resources/list.")
    answer = library.get_document(uri, max_chars=LONGEST, deadline=deadline)
    text = "\n\n".join([answer.content, *remarks(answer)])
    if answer.truncated:
        text += f"\n\n[Truncated. Go on with get_document, {rest_of(answer)}.]"
    return ResourceText(uri, mime_type(os.path.splitext(answer.file_path)[1].lower()), escaped(text))


def fingerprint(library: Librarian, uri: str, deadline: Budget) -> str:
    """Changes when the document does; empty where there is none."""
    try:
        answer = library.get_document(uri.partition("#")[0], max_chars=1, deadline=deadline)
    except LibrarianError:
        return ""
    return f"{answer.indexed_at} {answer.last_modified}"


def path_of(uri: str) -> str:
    """The file path that a document's URI names."""
    return unquote(uri.removeprefix(SCHEME).partition("#")[0])


def cursor_after(path: str) -> str:
    """The cursor of the page that follows `path`, with a checksum: clients take it as it is."""
    text = path.encode()
    return base64.urlsafe_b64encode(zlib.crc32(text).to_bytes(4) + text).decode()


def path_before(cursor: str) -> str:
    """The path that a page begins after; it needn't be there any more. Raises `CallerError` for a foreign cursor.

    >>> path_before(cursor_after("shop/api/tokens.md"))
    'shop/api/tokens.md'
    """
    try:
        data = base64.b64decode(cursor, altchars=b"-_", validate=True)
        if zlib.crc32(data[4:]).to_bytes(4) == data[:4]:
            return data[4:].decode()
    except ValueError:
        pass
    raise no_cursor(cursor)


def no_cursor(cursor: str) -> CallerError:
    """What to say of a cursor that no list gave out."""
    return CallerError(
        f"No cursor {shortened(cursor)}.", hint="Take nextCursor of the page before; none for the first."
    )
