"""Files that are ZIP archives of XML (Office Open XML, OpenDocument, EPUB), opened within limits.

An archive may be small and unpack to terabytes, promise one size and give another, or hold XML whose entities refer
to files or to each other; none of that reaches a parser or a library.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote
from xml.sax.saxutils import quoteattr

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
_MAX_PARTS = 10_000  #: of a file that a library opens: python-docx takes quadratic time in them

_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_CORE = "core-properties"
_CORE_TYPE = f"http://schemas.openxmlformats.org/package/2006/relationships/metadata/{_CORE}"
#: Parts that libraries open: XML, what sheets of `.xlsb` are, and texts that Word files insert as a whole.
_READ = (".xml", ".rels", ".bin", ".htm", ".html", ".xhtml", ".mht", ".mhtml", ".txt", "mimetype")
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_OFFICE = "application/vnd.openxmlformats-"
_MAIN_TYPES = {
    "word": f"{_OFFICE}officedocument.wordprocessingml.document.main+xml",
    "ppt": f"{_OFFICE}officedocument.presentationml.presentation.main+xml",
}
_CONTENT_TYPES = {
    _CORE: f"{_OFFICE}package.core-properties+xml",
    "comments": f"{_OFFICE}officedocument.wordprocessingml.comments+xml",
    "slide": f"{_OFFICE}officedocument.presentationml.slide+xml",
    "notesSlide": f"{_OFFICE}officedocument.presentationml.notesSlide+xml",
}


@contextmanager
def opened(data: bytes, name: str) -> Iterator[ZipPackage]:
    """A file's parts; whatever is wrong with them becomes a `SourceError` (corrupt, encrypted or too_large)."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise SourceError(
            f"'{name}' is encrypted or in a format of before 2007.",
            hint="Save it in the current format without a password.",
            reason="encrypted",
        )
    with refused(name), zipfile.ZipFile(io.BytesIO(data)) as archive:
        yield ZipPackage(archive, name)


@contextmanager
def refused(name: str) -> Iterator[None]:
    """Turns what libraries raise for damaged files into a `SourceError`."""
    try:
        yield
    except (SourceError, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # of kinds as many as there are libraries; those of Rust's panics are no `Exception`
        locked = "password" in str(error).lower() or "encrypted" in str(error).lower()
        raise SourceError(
            f"'{name}' isn't a readable {posixpath.splitext(name)[1].lower()} file: {error}.",
            hint="Open it in the program it was made with and save it again.",
            reason="encrypted" if locked else "corrupt",
        ) from error


@contextmanager
def office_file(data: bytes, name: str) -> Iterator[io.BytesIO]:
    """An Office Open XML file for a library that sets no limits; see `ZipPackage.rewritten`."""
    with opened(data, name) as package:
        yield package.rewritten()


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
                target = resolved_target(part, target)
            found[relation.get("Id") or ""] = ((relation.get("Type") or "").rsplit("/", 1)[-1], target, external)
        return found

    def rewritten(self, change: Callable[[str, bytes], bytes] | None = None) -> io.BytesIO:
        """The archive without pictures, in the transitional form, with the relations and types that libraries need.

        `change` gives the new content of a part from its name and content.

        Relations to parts that are missing are left out, and types follow from relations, so that templates, files
        with macros and files with small faults are opened like any other.
        """
        names = {
            name: _plain(info.filename)
            for name, info in self._infos.items()
            if name.endswith(_READ) or name == "mimetype"
        }
        if len(names) > _MAX_PARTS:
            raise SourceError(f"'{self._name}' has {len(names):,} parts.", hint="Leave it out.", reason="too_large")
        buffer = io.BytesIO()
        types: dict[str, str] = {}
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, written in names.items():
                if name.endswith(".rels"):
                    archive.writestr(written, self._rewritten_relations(name, names, types))
                elif name != "[content_types].xml":
                    if name.startswith(("word/", "ppt/")) and self._infos[name].file_size > 2 * _MAX_TREE_BYTES:
                        raise self._too_large(self._infos[name].file_size)
                    with self.open(name) as part:
                        content = part.read()
                    if name.endswith(".xml"):
                        content = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", content)
                    archive.writestr(written, change(written, content) if change else content)
            overrides = "".join(
                f'<Override PartName={quoteattr(f"/{part}")} ContentType="{type_}"/>' for part, type_ in types.items()
            )
            archive.writestr(
                "[Content_Types].xml",
                '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
                + "".join(
                    f'<Default Extension="{extension[1:]}" ContentType="application/xml"/>' for extension in _READ
                )
                + f"{overrides}</Types>",
            )
        return buffer

    def _rewritten_relations(self, name: str, names: Mapping[str, str], types: dict[str, str]) -> bytes:
        from lxml import etree

        root = self.tree(name)
        folder, _, part = name.partition("_rels/")
        for relation in list(root):
            kind = (relation.get("Type") or "").rsplit("/", 1)[-1]
            target = names.get(resolved_target(folder + part, relation.get("Target") or "").lower())
            if relation.get("TargetMode") == "External":
                continue
            if target is None:
                root.remove(relation)
                continue
            relation.set("Target", posixpath.relpath(target, folder or "."))
            if kind == _CORE:
                relation.set("Type", _CORE_TYPE)
            type_ = _MAIN_TYPES.get(target.partition("/")[0]) if kind == "officeDocument" else _CONTENT_TYPES.get(kind)
            if type_:
                types[target] = type_
        return _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", etree.tostring(root))

    def _too_large(self, size: int) -> SourceError:
        return SourceError(
            f"'{self._name}' unpacks to {size / 1024 / 1024:.0f} MB.",
            hint="It looks like a decompression bomb and is left out.",
            reason="too_large",
        )


def _plain(name: str) -> str:
    return name.replace("\\", "/").lstrip("/")


def resolved_target(part: str, target: str) -> str:
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
