"""Files that are ZIP archives of XML (Office Open XML, OpenDocument, EPUB), opened within limits.

An archive may be small and unpack to terabytes, promise one size and give another, or hold XML whose entities refer
to files or to each other; none of that reaches a parser.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote

from ..errors import SourceError

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Limits that no honest document meets: Word itself stops at 512 MB, text compresses about tenfold.
_MAX_PART_BYTES = 200 * 1024 * 1024
#: Parts read as a whole tree take about ten times their size in memory.
_MAX_TREE_BYTES = 30 * 1024 * 1024
_MAX_BYTES = 400 * 1024 * 1024
_MAX_RATIO = 200
_RATIO_FROM_BYTES = 10 * 1024 * 1024
#: What zipfile and lxml raise for damaged files; lxml's syntax errors are SyntaxErrors.
_BROKEN = (
    zipfile.BadZipFile, zlib.error, KeyError, ValueError, NotImplementedError, EOFError, RuntimeError, SyntaxError,
    OSError,
)  # fmt: skip


@contextmanager
def opened(data: bytes, name: str) -> Iterator[ZipPackage]:
    """A file's parts; whatever is wrong with them becomes a `SourceError` (corrupt, encrypted or too_large)."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise SourceError(
            f"'{name}' is encrypted or in a format of before 2007.",
            hint="Save it in the current format without a password.",
            reason="encrypted",
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield ZipPackage(archive, name)
    except _BROKEN as error:
        raise SourceError(
            f"'{name}' isn't a readable {posixpath.splitext(name)[1].lower()} file: {error}.",
            hint="Open it in the program it was made with and save it again.",
            reason="encrypted" if "password" in str(error) or "encrypted" in str(error) else "corrupt",
        ) from error


class ZipPackage:
    """The parts of an archive by name, whatever the case of its letters."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive = archive
        self._name = name
        # Some programs for Windows write the names with its separator.
        self._infos = {_plain(info.filename).lower(): info for info in archive.infolist()}
        self._left = _MAX_BYTES

    def __contains__(self, target: str) -> bool:
        return target.lower() in self._infos

    def names(self) -> list[str]:
        """The names of all parts."""
        return [_plain(info.filename) for info in self._infos.values()]

    def open(self, target: str) -> io.RawIOBase:
        """A part as a stream. Raises KeyError where there is none."""
        info = self._infos.get(target.lower())
        if info is None:
            raise KeyError(f"it has no part '{target}'")
        size = info.file_size
        self._left -= size
        if (
            size > _MAX_PART_BYTES
            or self._left < 0
            or (size > _RATIO_FROM_BYTES and size > _MAX_RATIO * max(1, info.compress_size))
        ):
            raise self._too_large(size)
        return _Limited(self._archive.open(info), size)

    def tree(self, target: str) -> _Element:
        """A part parsed as XML. Raises `SourceError` for one that is too large."""
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        with self.open(target) as part:
            size = self._infos[target.lower()].file_size
            if size > _MAX_TREE_BYTES:
                raise self._too_large(size)
            return etree.parse(part, parser).getroot()

    def relations(self, part: str) -> dict[str, tuple[str, str, bool]]:
        """Relation id → (last word of its type, target, whether the target lies outside)."""
        folder, name = posixpath.split(part)
        path = posixpath.join(folder, "_rels", f"{name}.rels")
        if path not in self:
            return {}
        found: dict[str, tuple[str, str, bool]] = {}
        for relation in self.tree(path):
            if not isinstance(relation.tag, str):
                continue
            target = relation.get("Target") or ""
            external = relation.get("TargetMode") == "External"
            if not external:
                target = beside(part, target)
            found[relation.get("Id") or ""] = ((relation.get("Type") or "").rsplit("/", 1)[-1], target, external)
        return found

    def _too_large(self, size: int) -> SourceError:
        return SourceError(
            f"'{self._name}' unpacks to {size / 1024 / 1024:.0f} MB.",
            hint="It looks like a decompression bomb and is left out.",
            reason="too_large",
        )


def _plain(name: str) -> str:
    return name.replace("\\", "/").lstrip("/")


def beside(part: str, target: str) -> str:
    """A target as written in a part, as a name from the archive's root."""
    target = unquote(target.partition("#")[0]).replace("\\", "/")
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(part), target)).lstrip("/")


class _Limited(io.RawIOBase):
    """A part that may not give more bytes than its entry promised (a forged entry would)."""

    def __init__(self, part: IO[bytes], limit: int) -> None:
        self._part = part
        self._left = limit

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._part.read(size if 0 <= size <= self._left + 1 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise zipfile.BadZipFile("a part is longer than its entry says")
        return data

    def close(self) -> None:
        self._part.close()
        super().close()
