"""Documents, mails and chunks as rows of the catalog's tables, and back."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import starmap
from operator import attrgetter
from typing import Any

import numpy as np

from ..models import (
    Attachment,
    Block,
    Chunk,
    Document,
    Email,
    Excluded,
    Frame,
    Heading,
    Included,
    Kind,
    Link,
    ReadResult,
    SourceFile,
    StoredChunk,
    StoredDocument,
)
from ..text.characters import without
from ..text.cross_references import key_of, names_of, own_names, targets_of

KEYS = "<i8"  #: how keys of names are packed


def reference_row(document: Document) -> tuple[bytes, bytes]:
    """What links and questions may call a document, and what its own links may mean: their keys
    (`cross_references.key_of`), packed. Of a mail its file's names alone."""
    if document.kind == "email":
        return _packed_keys(own_names(document.file_path)), b""
    targets: set[str] = set()
    for target in {link.target for link in document.links}:
        targets |= targets_of(document, target)
    own = own_names(document.file_path, document.title)
    return _packed_keys(names_of(document) | own), _packed_keys(targets)


def moved_reference_row(source: SourceFile, kind: Kind, title: str, structure: bytes) -> tuple[bytes, bytes]:
    """The same of a stored document at another path; `structure` as in `text_row`."""
    openings = json.loads(zlib.decompress(structure))
    return reference_row(
        Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind=kind,
            file_type="",
            title=title,
            text="",
            links=tuple(starmap(Link, openings["links"])),
            labels=tuple(openings["labels"]),
            front_matter=openings["front_matter"],
        )
    )


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


Row = tuple[Any, ...]

UNFINISHED = "unfinished"  #: what `known` gives as the hash of an archive whose members are stored, but not yet itself

_SURROGATE = re.compile("[\ud800-\udfff]")

#: zlib level of texts. On 14 MB of Markdown manuals level 1 packs 117 MB/s to 33%, 3 100 MB/s to 31%, 6 62 MB/s to 29%.
COMPRESSION = 3

#: Fields that are columns of the same name, holding the same value.
DOCUMENT_FIELDS = (
    *("file_path", "product", "component", "kind", "file_type", "title", "title_in_text", "doc_type", "language"),
    *("encoding", "encoding_confidence", "summary", "last_modified", "size", "mtime_ns", "content_hash", "archive"),
)
EMAIL_FIELDS = ("thread_id", "subject", "sender", "date", "message_id", "topic", "is_answer", "fingerprint")
CHUNK_FIELDS = ("ordinal", "start", "end", "text", "heading_level", "page", "line_start", "line_end", "hash")

DOCUMENT_COLUMNS = f"{', '.join(DOCUMENT_FIELDS)}, modified, tags, headings, notes, chunk_count, indexed_at, included"
EMAIL_COLUMNS = f"{', '.join(EMAIL_FIELDS)}, has_attachments, headers, recipients"
CHUNK_COLUMNS = f"doc_id, {', '.join(CHUNK_FIELDS)}, heading_path, frames".replace(" end,", ' "end",')
_FAILURE_COLUMNS = "file_path, kind, reason, detail, size, mtime_ns"


def _insert(table: str, columns: str) -> str:
    return f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(columns.split(',')))})"


INSERT_DOCUMENT = _insert("documents", f"id, {DOCUMENT_COLUMNS}, names, links")
INSERT_TEXT = _insert("texts", "doc_id, text, structure")
INSERT_EMAIL = _insert("emails", f"doc_id, {EMAIL_COLUMNS}")
INSERT_CHUNK = _insert("chunks", f"id, {CHUNK_COLUMNS}, text_key")
INSERT_FAILURE = f"""{_insert("failures", _FAILURE_COLUMNS)} ON CONFLICT (file_path) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in _FAILURE_COLUMNS.split(", ")[1:])}"""


def document_row(document: Document, chunk_count: int, indexed_at: str) -> Row:
    """The values of DOCUMENT_COLUMNS, and those of `reference_row`."""
    headings = [(h.level, h.text, h.line, h.start, h.page) for h in document.headings]
    return (
        *attrgetter(*DOCUMENT_FIELDS)(document),
        micros_or_no_date(document.last_modified),
        *map(json.dumps, (document.tags, headings, document.notes)),
        *(chunk_count, indexed_at, included_row(document)),
        *reference_row(document),
    )


def included_row(document: Document) -> str:
    """The files that a document includes, for its column; empty where there are none."""
    return json.dumps([astuple(one) for one in document.included]) if document.included else ""


def stored_included(packed: str) -> tuple[Included, ...]:
    """From what `included_row` made."""
    return tuple(starmap(Included, json.loads(packed))) if packed else ()


def text_row(doc_id: int, document: Document) -> Row:
    """The values of `texts`: text and structure, compressed."""
    structure = {
        "blocks": [(b.kind, b.start, b.end, b.header_end) for b in document.blocks],
        "page_starts": document.page_starts,
        "excluded": [(e.start, e.end, e.reason) for e in document.excluded],
        "links": [(link.text, link.target, link.start) for link in document.links],
        "labels": document.labels,
        "front_matter": dict(document.front_matter),
    }
    packed = json.dumps(structure, default=str).encode()
    return doc_id, zlib.compress(document.text.encode(), COMPRESSION), zlib.compress(packed, COMPRESSION)


def email_row(doc_id: int, email: Email) -> Row:
    """`doc_id` and the values of EMAIL_COLUMNS."""
    headers = {
        "to": email.to,
        "cc": email.cc,
        "in_reply_to": email.in_reply_to,
        "references": email.references,
        "attachments": [(a.filename, a.content_type, a.size) for a in email.attachments],
    }
    recipients = " ".join((*email.to, *email.cc))
    fields = attrgetter(*EMAIL_FIELDS)(email)
    return (doc_id, *fields, bool(email.attachments), json.dumps(headers), recipients)


def chunk_row(chunk_id: int, doc_id: int, chunk: Chunk) -> Row:
    """The chunk's id, the values of CHUNK_COLUMNS, and its text's key."""
    marks = ([astuple(frame) for frame in chunk.frames], chunk.titles, chunk.unseen)
    frames = json.dumps(marks) if any(marks) else ""
    fields = attrgetter(*CHUNK_FIELDS)(chunk)
    return (chunk_id, doc_id, *fields, json.dumps(chunk.heading_path), frames, text_key(chunk.text))


def text_key(text: str) -> int:
    """The same number for the same text: the first 64 bits of its SHA-256, signed."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def stored_chunk(row: Row) -> StoredChunk:
    """From the chunk's id and CHUNK_COLUMNS."""
    chunk_id, doc_id, ordinal, start, end, text, level, page, line_start, line_end, digest, path, packed = row
    frames, titles, unseen = json.loads(packed) if packed else ((), (), ())
    marks = (tuple(starmap(Frame, frames)), tuple(map(tuple, titles)), tuple(map(tuple, unseen)))
    place = (level, page, line_start, line_end, digest)
    return StoredChunk(chunk_id, doc_id, Chunk(ordinal, start, end, text, _heading_path(path), *place, *marks))


@lru_cache(maxsize=4096)
def _heading_path(packed: str) -> tuple[str, ...]:
    """Remembered: the passages of a section share theirs."""
    return tuple(json.loads(packed))


def stored_document(row: Row, email: Row | None, text: Row | None, also_in: tuple[str, ...]) -> StoredDocument:
    """From the id and DOCUMENT_COLUMNS, EMAIL_COLUMNS of a mail, and (text, structure) where asked for."""
    doc_id, *values, _, tags, headings, notes, chunk_count, indexed_at, included = row
    fields = dict(zip(DOCUMENT_FIELDS, values, strict=True))
    fields["title_in_text"] = bool(fields["title_in_text"])
    document = Document(
        **fields,
        text="" if text is None else unpack_text(text[0]),
        headings=tuple(starmap(Heading, json.loads(headings))),
        tags=tuple(json.loads(tags)),
        email=None if email is None else stored_email(email),
        notes=tuple(json.loads(notes)),
        included=stored_included(included),
        **({} if text is None else _structure(text[1])),
    )
    return StoredDocument(doc_id, document, chunk_count, indexed_at, also_in)


def unpack_text(packed: bytes) -> str:
    """A document's text as it was put."""
    return zlib.decompress(packed).decode()


def _structure(packed: bytes) -> dict[str, Any]:
    structure = json.loads(zlib.decompress(packed))
    return {
        "blocks": tuple(starmap(Block, structure["blocks"])),
        "page_starts": tuple(structure["page_starts"]),
        "excluded": tuple(starmap(Excluded, structure["excluded"])),
        "links": tuple(starmap(Link, structure["links"])),
        "labels": tuple(structure["labels"]),
        "front_matter": structure["front_matter"],
    }


def stored_email(row: Row) -> Email:
    """From EMAIL_COLUMNS."""
    *values, _, packed, _ = row
    fields = dict(zip(EMAIL_FIELDS, values, strict=True))
    headers = json.loads(packed)
    fields |= {name: tuple(headers[name]) for name in ("to", "cc", "in_reply_to", "references")}
    return Email(
        **{**fields, "is_answer": bool(fields["is_answer"])},
        attachments=tuple(starmap(Attachment, headers["attachments"])),
    )


def encodable(result: ReadResult) -> ReadResult:
    """The same with each half surrogate replaced by one other character: offsets stay."""
    return without(_SURROGATE, result)
