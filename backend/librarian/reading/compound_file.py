"""Compound files ([MS-CFB]): the folders of streams in one file that Outlook and Office of before 2007 write.

A damaged or hostile file may have chains of sectors without end, tables that refer to themselves and streams that
share their bytes. All tables here are read once, and all streams together may be no longer than the file.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from librarian.vocabulary.errors import SourceError

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HEADER_BYTES = 512
_ENTRY = struct.Struct("<64sHBxIII36xIII")
_STORAGE, _STREAM, _ROOT = 1, 2, 5
_LAST = 0xFFFFFFFA  #: higher numbers of sectors have other meanings
_SMALL = 64  #: bytes of a sector in the root's stream, where short streams lie
_CUT_OFF = 4096  #: bytes from which a stream isn't a short one


@dataclass(frozen=True, slots=True)
class Stream:
    """Where a stream begins, and its bytes by its own word."""

    sector: int
    size: int


@dataclass(slots=True)
class Storage:
    """A folder; names in lower case."""

    streams: dict[str, Stream] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)


class CompoundFile:
    """`root` and what lies in it. Raises `SourceError(reason="corrupt")`, also while it is read.

    `name` is what errors call the file.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self.name = name
        self._left = len(data) + _HEADER_BYTES  # bytes that streams may come to
        if len(data) < _HEADER_BYTES or not data.startswith(SIGNATURE):
            raise self._broken("it has no header")
        (shift,) = struct.unpack_from("<H", data, 30)
        if shift not in (9, 12):
            raise self._broken(f"its sectors have 2^{shift} bytes")
        self._sector: int = 1 << shift
        first_entry, first_small_table, first_of_more = struct.unpack_from("<I8xI4xI", data, 48)
        self._table = self._numbers(self._table_sectors(first_of_more))
        self._root_stream, self._small_table = b"", array("I")
        entries = [_ENTRY.unpack_from(data, place) for place in self._entry_places(first_entry)]
        if not entries or entries[0][2] != _ROOT:
            raise self._broken("it has no directory")
        *_, start, low, _ = entries[0]
        self._root_stream = self._chained(start, low)
        self._small_table = self._numbers(self._chain(first_small_table, len(data)))
        self.root = _tree(entries)

    def read(self, stream: Stream) -> bytes:
        """What a stream holds; less than it says where its chain ends early."""
        size = min(stream.size, len(self._data))
        if size >= _CUT_OFF:
            found = self._chained(stream.sector, size)
        else:
            pieces: list[bytes] = []
            sector = stream.sector
            while len(pieces) * _SMALL < size and sector < len(self._small_table):
                pieces.append(self._root_stream[sector * _SMALL : (sector + 1) * _SMALL])
                sector = self._small_table[sector]
            found = b"".join(pieces)[:size]
        self._left -= len(found)
        if self._left < 0:
            raise self._broken("its streams are longer than the file")
        return found

    def _table_sectors(self, first_of_more: int) -> Iterator[int]:
        """The sectors of the table of sectors: 109 in the header, others in a chain of their own; each once."""
        seen: set[int] = set()
        listed = self._numbers_at(76, 109)
        more = first_of_more
        while True:
            for sector in listed:
                if sector < _LAST and sector not in seen:
                    seen.add(sector)
                    yield sector
            if not self._has(more) or more in seen:
                return
            seen.add(more)
            numbers = self._numbers_at(self._place(more), self._sector // 4)
            listed, more = numbers[:-1], (numbers[-1] if numbers else _LAST)

    def _entry_places(self, first: int) -> Iterator[int]:
        """Where the directory's entries stand in the file."""
        for sector in self._chain(first, len(self._data)):
            begin = self._place(sector)
            end = min(begin + self._sector, len(self._data))
            yield from range(begin, end - _ENTRY.size + 1, _ENTRY.size)

    def _chained(self, first: int, size: int) -> bytes:
        sectors = self._chain(first, min(size, len(self._data)))
        places = map(self._place, sectors)
        return b"".join(self._data[place : place + self._sector] for place in places)[:size]

    def _chain(self, first: int, size: int) -> Iterator[int]:
        """Sectors one after the other, as many as `size` bytes take at most."""
        left, sector = -(-size // self._sector), first
        while left > 0 and self._has(sector):
            yield sector
            left -= 1
            sector = self._table[sector] if sector < len(self._table) else _LAST

    def _numbers(self, sectors: Iterator[int]) -> array[int]:
        found = array("I")
        for sector in sectors:
            found.extend(self._numbers_at(self._place(sector), self._sector // 4))
        return found

    def _numbers_at(self, place: int, count: int) -> array[int]:
        data = self._data[place : place + 4 * count]
        found = array("I", data[: len(data) // 4 * 4])
        if sys.byteorder == "big":
            found.byteswap()
        return found

    def _place(self, sector: int) -> int:
        return (sector + 1) * self._sector

    def _has(self, sector: int) -> bool:
        return sector < _LAST and self._place(sector) < len(self._data)

    def _broken(self, why: str) -> SourceError:
        return SourceError(
            f"'{self.name}' is damaged: {why}.",
            hint="Export it again from the program it was made with.",
            reason="corrupt",
        )


def _tree(entries: list[tuple[bytes, int, int, int, int, int, int, int, int]]) -> Storage:
    """The storages from the root on. An entry counts once, so that no tree is without end.

    The entries of a storage make a binary tree, which some programs write as a list.
    """
    root, seen = Storage(), {0}
    waiting = [(root, entries[0][5])]
    while waiting:
        parent, number = waiting.pop()
        if number >= len(entries) or number in seen:
            continue
        seen.add(number)
        name_bytes, length, kind, left, right, child, start, low, _ = entries[number]
        waiting += [(parent, left), (parent, right)]
        name = name_bytes[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace").lower()
        if kind == _STREAM:
            parent.streams.setdefault(name, Stream(start, low))
        elif kind == _STORAGE:
            waiting.append((parent.storages.setdefault(name, Storage()), child))
    return root
