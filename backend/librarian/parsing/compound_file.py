"""Compound files ([MS-CFB]): the folders of streams in one file that Outlook and Office of before 2007 write.

A hostile file may let tables of sectors go on without end, which olefile follows, or many streams share their bytes:
neither all tables nor all streams may be longer than the file.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass, field
from typing import Any

from ..errors import SourceError

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SPARE = 512  #: bytes that a file of nothing has; no sector is smaller
_TABLES = 44  #: where the header says how many sectors the table of sectors takes


@dataclass(slots=True)
class Storage:
    """A folder; names in lower case. Streams with their paths, to be `read`."""

    streams: dict[str, list[str]] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)


class CompoundFile:
    """`root` and what lies in it. Raises `SourceError(reason="corrupt")`, also while it is read.

    `name` is what errors call the file.
    """

    def __init__(self, data: bytes, name: str) -> None:
        import olefile

        self.name = name
        self._left = len(data) + _SPARE  # bytes that streams may come to
        (tables,) = struct.unpack_from("<I", data.ljust(_SPARE, b"\0"), _TABLES)
        if tables * _SPARE > len(data):
            raise self._broken("its tables are longer than the file")
        try:
            self._file = olefile.OleFileIO(io.BytesIO(data))
            self.root = _storage(self._file.root, [])
        except Exception as error:
            raise self._broken(error) from error

    def read(self, stream: list[str]) -> bytes:
        """What a stream holds; less than it says where its chain of sectors ends early. Raises `SourceError` for what
        no honest file holds."""
        try:
            found = bytes(self._file.openstream(stream).read())
        except Exception as error:
            raise self._broken(error) from error
        self._left -= len(found)
        if self._left < 0:
            raise self._broken("its streams are longer than the file")
        return found

    def _broken(self, why: object) -> SourceError:
        return SourceError(
            f"'{self.name}' is damaged: {str(why).rstrip('.')}.",
            hint="Export it again from the program it was made with.",
            reason="corrupt",
        )


def _storage(entry: Any, path: list[str]) -> Storage:
    import olefile

    found = Storage()
    for kid in entry.kids:
        name, place = str(kid.name).lower(), [*path, str(kid.name)]
        if kid.entry_type == olefile.STGTY_STREAM:
            found.streams.setdefault(name, place)
        elif kid.entry_type == olefile.STGTY_STORAGE:
            found.storages.setdefault(name, _storage(kid, place))
    return found
