"""Whether tantivy's files are as they were written. Reading goes on over a flipped bit: it only answers otherwise.

Every file of a segment ends with its CRC-32 in a line of JSON, the line's length and a magic number (both 32 bits,
little-endian). Searching never compares it, and neither does opening; `librarian check` does, at 400 MB a second.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from pathlib import Path

_MAGIC = 1337
_SEGMENT_FILE = re.compile(r"[0-9a-f]{32}\.\w+(\.\w+)?")
_TRAILER = struct.Struct("<II")


def unlike_written(folder: Path) -> list[str]:
    """Names of segment files whose content isn't what tantivy wrote; files that go meanwhile don't count."""
    return [
        path.name for path in sorted(folder.iterdir()) if _SEGMENT_FILE.fullmatch(path.name) and not _as_written(path)
    ]


def _as_written(path: Path) -> bool:
    try:
        content = memoryview(path.read_bytes())
    except FileNotFoundError:  # a merge has replaced it
        return True
    except OSError:
        return False
    try:
        length, magic = _TRAILER.unpack(content[-_TRAILER.size :])
        end = len(content) - _TRAILER.size - length
        told = json.loads(bytes(content[end : -_TRAILER.size]))["crc"]
    except (struct.error, ValueError, KeyError, TypeError):
        return False
    return bool(magic == _MAGIC and end >= 0 and zlib.crc32(content[:end]) == told)
