"""How what was read travels from a child to its parent: in columns, because pickling one object after the other costs
more than reading them did.

A child imports this module and nothing else of this room, so that it is ready soon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from ..models import Block, Chunk, Document, Excluded, Heading, KeywordEntry, Link, ReadResult, SourceFile
from ..parsing.base import Reader

T = TypeVar("T")

#: A packed `ReadResult`: document, chunks, entries, milliseconds, members.
Parcel = tuple[Any, ...]

_Columns = tuple[tuple[Any, ...], ...]  #: one of each field, all of one length; empty where there is nothing

_STRUCTURE: dict[str, type[Any]] = {"headings": Heading, "blocks": Block, "excluded": Excluded, "links": Link}
_LEFT_OUT = "text"  #: of a chunk: `document.text[start:end]`


def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if not (kind is Chunk and field.name == _LEFT_OUT))


_VALUES = {kind: attrgetter(*_names(kind)) for kind in (Heading, Block, Excluded, Link, Chunk, KeywordEntry)}
_CHUNK = _names(Chunk)


def packing(reader: Reader) -> Callable[[SourceFile], Parcel]:
    """Reads a file and packs what it says."""
    return partial(_packed, reader)


def _packed(reader: Reader, source: SourceFile) -> Parcel:
    return pack(reader.read(source))


def pack(result: ReadResult) -> Parcel:
    """The result as tuples of plain values."""
    document = result.document
    structure = tuple(_columns(kind, getattr(document, name)) for name, kind in _STRUCTURE.items())
    bare = replace(document, headings=(), blocks=(), excluded=(), links=())
    members = None if result.members is None else tuple(map(pack, result.members))
    chunks, entries = _columns(Chunk, result.chunks), _columns(KeywordEntry, result.entries)
    return bare, structure, chunks, entries, result.took_ms, members


def unpack(parcel: Parcel) -> ReadResult:
    """What was packed, equal in every field."""
    bare, structure, chunks, entries, took_ms, members = parcel
    parts = zip(_STRUCTURE.items(), structure, strict=True)
    document: Document = replace(bare, **{name: _rows(kind, columns) for (name, kind), columns in parts})
    return ReadResult(
        document,
        _chunks(document.text, chunks),
        _rows(KeywordEntry, entries),
        took_ms,
        members=None if members is None else tuple(map(unpack, members)),
    )


def _columns(kind: type[Any], items: Iterable[Any]) -> _Columns:
    return tuple(zip(*map(_VALUES[kind], items), strict=True))


def _rows(kind: type[T], columns: _Columns) -> tuple[T, ...]:
    return tuple(map(kind, *columns)) if columns else ()


def _chunks(text: str, columns: _Columns) -> tuple[Chunk, ...]:
    if not columns:
        return ()
    place = _CHUNK.index("end") + 1
    texts = [text[start:end] for start, end in zip(columns[place - 2], columns[place - 1], strict=True)]
    return tuple(map(Chunk, *columns[:place], texts, *columns[place:]))
