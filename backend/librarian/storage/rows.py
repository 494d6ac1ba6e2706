"""Documents, mails and chunks as rows of the catalog's tables, and back.

Columns of their own have what statements look for; all else of a document, its text's structure and a chunk is JSON.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, TypeVar

import numpy as np
from pydantic import TypeAdapter

from ..models import Chunk, Document, Email, Included, StoredChunk
from ..text.characters import without
from ..text.cross_references import key_of, names_of, own_names, targets_of

KEYS = "<i8"  #: how keys of names are packed


def _references(document: Document) -> dict[str, bytes]:
    """What links and questions may call a document, and what its own links may mean: their keys
    (`cross_references.key_of`), packed. Of a mail its file's names alone."""
    if document.kind == "email":
        return {"names": _packed_keys(own_names(document.file_path)), "links": b""}
    targets: set[str] = set()
    for target in {link.target for link in document.links}:
        targets |= targets_of(document, target)
    own = own_names(document.file_path, document.title)
    return {"names": _packed_keys(names_of(document) | own), "links": _packed_keys(targets)}


def _packed_keys(names: Iterable[str]) -> bytes:
    return np.array(sorted(map(key_of, names)), dtype=KEYS).tobytes()


NO_DATE = -(2**63)  #: of a document without a date, or with one that can't be read; outside every range
FIRST = NO_DATE + 1
LAST = 2**63 - 1

_UNIX_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DATE_LENGTH = len("2026-01-31")


def micros(date: str, *, end_of_day: bool = False) -> int:
    """Microseconds since 1970 of an ISO 8601 date; UTC where it names no zone.

    With `end_of_day`, a date without a time is its last microsecond, so that an upper bound includes the whole day.
    Raises `ValueError` (or `OverflowError`, past the year 9999) where it isn't a date.

    >>> micros("1970-01-01T00:00:01Z")
    1000000
    >>> micros("1970-01-01", end_of_day=True)
    86399999999
    """
    moment = datetime.fromisoformat(date)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if end_of_day and len(date) <= _DATE_LENGTH:
        moment += timedelta(days=1) - _MICROSECOND
    return (moment - _UNIX_START) // _MICROSECOND


@lru_cache(maxsize=256)
def micros_or_no_date(date: str) -> int:
    """Like `micros`, but `NO_DATE` where a document's date is empty or unreadable.

    Remembered, since the keyword index asks it for each passage of a document.
    """
    try:
        return micros(date)
    except (ValueError, OverflowError):
        return NO_DATE


T = TypeVar("T")
Row = dict[str, object]  #: column → value

UNFINISHED = "unfinished"  #: what `known` gives as the hash of an archive whose members are stored, but not yet itself

#: Half surrogates, which no database holds, and what PostgreSQL's texts can't hold.
_UNSTORABLE = re.compile("[\ud800-\udfff\0]")

#: zlib level of texts. On 14 MB of Markdown manuals level 1 packs 117 MB/s to 33%, 3 100 MB/s to 31%, 6 62 MB/s to 29%.
COMPRESSION = 3

#: Fields that are columns of the same name, holding the same value.
_DOCUMENT_FIELDS = (
    *("file_path", "product", "component", "kind", "file_type", "title", "title_in_text", "doc_type", "language"),
    *("size", "mtime_ns", "content_hash", "archive"),
)
_EMAIL_FIELDS = ("thread_id", "subject", "sender", "topic", "fingerprint")
_CHUNK_FIELDS = ("ordinal", "start", "end", "text", "hash")
_TEXT_FIELDS = {"text", "blocks", "page_starts", "excluded", "links", "labels", "front_matter"}
_DOCUMENT: Final = TypeAdapter(Document)
_EMAIL: Final = TypeAdapter(Email)
_INCLUDED: Final = TypeAdapter(tuple[Included, ...])
_CHUNK: Final = TypeAdapter(Chunk)

#: What `stored_chunk` is made of.
CHUNK_COLUMNS = ("id", "doc_id", *_CHUNK_FIELDS, "facts")


def storable(value: T) -> T:
    """The same with U+FFFD for each character that a database can't hold: offsets stay."""
    return without(_UNSTORABLE, value)


def _json(adapter: TypeAdapter[T], value: T, **given: Any) -> bytes:
    """The fields that aren't what they are by default."""
    return adapter.dump_json(value, exclude_defaults=True, fallback=str, warnings=False, **given)


def document_row(doc_id: int, document: Document, chunk_count: int, indexed_at: str) -> Row:
    """The row of `documents`."""
    return {
        "id": doc_id,
        **{name: getattr(document, name) for name in _DOCUMENT_FIELDS},
        "modified": micros_or_no_date(document.last_modified),
        "tags": json.dumps(document.tags),
        "included": _json(_INCLUDED, document.included).decode() if document.included else "",
        "chunk_count": chunk_count,
        "indexed_at": indexed_at,
        **_references(document),
        "facts": _json(_DOCUMENT, document, exclude=_TEXT_FIELDS).decode(),
    }


def text_row(doc_id: int, document: Document) -> Row:
    """The row of `texts`: text and structure, compressed."""
    structure = _json(_DOCUMENT, document, include=_TEXT_FIELDS - {"text"})
    packed = {"text": document.text.encode(), "structure": structure}
    return {"doc_id": doc_id, **{name: zlib.compress(data, COMPRESSION) for name, data in packed.items()}}


def email_row(doc_id: int, email: Email) -> Row:
    """The row of `emails`: what is looked for."""
    return {
        "doc_id": doc_id,
        **{name: getattr(email, name) for name in _EMAIL_FIELDS},
        "has_attachments": bool(email.attachments),
        "recipients": " ".join((*email.to, *email.cc)),
    }


def chunk_row(chunk_id: int, doc_id: int, chunk: Chunk) -> Row:
    """The row of `chunks`."""
    return {
        "id": chunk_id,
        "doc_id": doc_id,
        **{name: getattr(chunk, name) for name in _CHUNK_FIELDS},
        "text_key": text_key(chunk.text),
        "facts": _json(_CHUNK, chunk, exclude=set(_CHUNK_FIELDS)).decode(),
    }


def text_key(text: str) -> int:
    """The same number for the same text: the first 64 bits of its SHA-256, signed."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


@lru_cache(maxsize=1024)
def stored_chunk(row: tuple[Any, ...]) -> StoredChunk:
    """From the values of CHUNK_COLUMNS; remembered, since questions find the same ones again."""
    chunk_id, doc_id, *values, facts = row
    known = dict(zip(_CHUNK_FIELDS, values, strict=True))
    return StoredChunk(chunk_id, doc_id, _CHUNK.validate_python(known | json.loads(facts)))


def _values(facts: str, thread_id: str | None, size: int, mtime_ns: int) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(facts) | {"size": size, "mtime_ns": mtime_ns, "text": ""}
    if thread_id is not None:
        values["email"]["thread_id"] = thread_id
    return values


@lru_cache(maxsize=1024)
def stored_document(facts: str, thread_id: str | None, size: int, mtime_ns: int) -> Document:
    """A document without its text; size, time and thread may have changed since it was put. Remembered likewise."""
    return _DOCUMENT.validate_python(_values(facts, thread_id, size, mtime_ns))


def stored_text(text: bytes, structure: bytes, *known: Any) -> Document:
    """The same with its text."""
    packed = json.loads(zlib.decompress(structure)) | {"text": unpack_text(text)}
    return _DOCUMENT.validate_python(_values(*known) | packed)


def stored_email(facts: str, thread_id: str) -> Email:
    """A mail's headers, from the facts of its document."""
    return _EMAIL.validate_python(json.loads(facts)["email"] | {"thread_id": thread_id})


def stored_included(packed: str) -> tuple[Included, ...]:
    """The files that a document includes, from its column."""
    return _INCLUDED.validate_json(packed)


def unpack_text(packed: bytes) -> str:
    """A document's text as it was put."""
    return zlib.decompress(packed).decode()
