"""Whether tantivy's files are as they were written. Reading goes on over a flipped bit: it only answers otherwise.

Every file of a segment ends with its CRC-32 in a line of JSON, the line's length and a magic number (both 32 bits,
little-endian). Searching never compares it, and neither does opening; `librarian check` does.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

_MAGIC = 1337
_TRAILER = struct.Struct("<II")


def unlike_written(folder: Path) -> list[str]:
    """Names of the committed segments' files whose content isn't what tantivy wrote, or of what names the segments."""
    try:
        segments = json.loads((folder / "meta.json").read_bytes())["segments"]
        kept = {segment["segment_id"].replace("-", ""): segment["deletes"] for segment in segments}
    except (OSError, ValueError, KeyError, TypeError):
        return ["meta.json"]
    return [path.name for path in sorted(folder.iterdir()) if _counts(path.name, kept) and not _as_written(path)]


def _counts(name: str, kept: Mapping[str, Mapping[str, int] | None]) -> bool:
    """Whether the last commit reads this file: a killed writer leaves others, and older deletions stay for a while."""
    segment, _, kind = name.partition(".")
    if segment not in kept:
        return False
    deletes = kept[segment]
    return not kind.endswith("del") or (deletes is not None and kind == f"{deletes['opstamp']}.del")


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
