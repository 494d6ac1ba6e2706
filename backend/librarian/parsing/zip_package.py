"""Files that are ZIP archives of XML (Office Open XML, OpenDocument, EPUB), opened within limits.

An archive may be small and unpack to terabytes, or hold XML whose entities refer to files or to each other; none of
that reaches a parser or a library.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.sax.saxutils import quoteattr

from ..errors import SourceError
from .office_xml import parsed

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Limits that no honest document meets: Word itself stops at 512 MB, text compresses about tenfold.
_MAX_PART_BYTES = 200 * 1024 * 1024
#: Parts read as a whole tree take about ten times their size in memory; libraries take less for their main parts.
_MAX_TREE_BYTES = 30 * 1024 * 1024
_MAX_BYTES = 400 * 1024 * 1024
_MAX_RATIO = 200
_RATIO_FROM_BYTES = 10 * 1024 * 1024
_MAX_PARTS = 10_000  #: of a file that a library opens: python-docx takes quadratic time in them

_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
#: Parts that libraries open: XML, and what sheets of `.xlsb` are.
_READ = (".xml", ".rels", ".bin", "mimetype")
_OFFICE = "application/vnd.openxmlformats-"
_CONTENT_TYPES = {
    "word": f"{_OFFICE}officedocument.wordprocessingml.document.main+xml",
    "ppt": f"{_OFFICE}officedocument.presentationml.presentation.main+xml",
    "comments": f"{_OFFICE}officedocument.wordprocessingml.comments+xml",
    "slide": f"{_OFFICE}officedocument.presentationml.slide+xml",
    "notesSlide": f"{_OFFICE}officedocument.presentationml.notesSlide+xml",
}


@contextmanager
def opened(data: bytes, name: str) -> Iterator[ZipPackage]:
    """A file's parts; whatever is wrong with them becomes a `SourceError` (corrupt, encrypted or too_large)."""
    with refused(name):
        if data.startswith(b"\xd0\xcf\x11\xe0"):
            raise ValueError("it is encrypted or in a format of before 2007")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield ZipPackage(archive, name)


@contextmanager
def refused(name: str) -> Iterator[None]:
    """Turns what libraries raise for damaged files into a `SourceError`."""
    try:
        yield
    except (SourceError, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # of kinds as many as there are libraries; those of Rust's panics are no `Exception`
        locked = any(word in str(error).lower() for word in ("password", "encrypted", "security"))
        raise SourceError(
            f"'{name}' isn't a readable {posixpath.splitext(name)[1].lower()} file: {str(error).rstrip('.')}.",
            hint=f"Open it in the program it was made with and save it {'without a password' if locked else 'again'}.",
            reason="encrypted" if locked else "corrupt",
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

    def read(self, target: str, most: int = _MAX_PART_BYTES) -> bytes:
        """A part's bytes, as many as its entry promises. Raises KeyError where there is none, `SourceError` for one
        that is too large."""
        info = self._infos.get(target.lower())
        if info is None:
            raise KeyError(f"it has no part '{target}'")
        size = info.file_size
        self._left -= size
        explodes = size > _RATIO_FROM_BYTES and size > _MAX_RATIO * max(1, info.compress_size)
        if size > most or self._left < 0 or explodes:
            raise SourceError(
                f"'{self._name}' unpacks to {size / 1024 / 1024:.0f} MB.",
                hint="It looks like a decompression bomb and is left out.",
                reason="too_large",
            )
        with self._archive.open(info) as part:
            return part.read(size)  # no more, whatever is in it

    def tree(self, target: str) -> _Element:
        """A part parsed as XML; raises as `read` does."""
        return parsed(self.read(target, _MAX_TREE_BYTES))

    @property
    def title(self) -> str:
        """The title among the properties of a file of Office Open XML, empty where it has none."""
        part = next((target for _, kind, target in self.relations("") if kind == "core-properties"), "")
        return next((title.text or "" for title in self.tree(part).iter("{*}title")), "") if part else ""

    def relations(self, part: str) -> list[tuple[str, str, str]]:
        """Id, last word of the type and target of a part's relations to other parts."""
        folder, name = posixpath.split(part)
        path = posixpath.join(folder, "_rels", f"{name}.rels")
        root = self.tree(path) if path in self else ()
        return [(one.get("Id") or "", _kind(one), target) for one in root if (target := self._target(part, one))]

    def _target(self, part: str, relation: _Element) -> str:
        """The name of the part that a relation of another leads to; empty where it is missing, outside or no XML."""
        info = self._infos.get(resolved_target(part, relation.get("Target") or "").lower())
        if info is None or relation.get("TargetMode") == "External":
            return ""
        return _plain(info.filename) if info.filename.lower().endswith(_READ) else ""

    def rewritten(self, change: Callable[[str, bytes], bytes] | None = None) -> io.BytesIO:
        """The archive for a library that sets no limits: without pictures, in the transitional form, with the relations
        and types that libraries need. `change` gives the new content of a part from its name and content.

        Relations to parts that are missing are left out, and types follow from relations, so that templates, files
        with macros and files with small faults are opened like any other.
        """
        names = [_plain(info.filename) for name, info in self._infos.items() if name.endswith(_READ)]
        if len(names) > _MAX_PARTS:
            raise SourceError(f"'{self._name}' has {len(names):,} parts.", hint="Leave it out.", reason="too_large")
        buffer = io.BytesIO()
        types = "".join(f'<Default Extension="{extension[1:]}" ContentType="application/xml"/>' for extension in _READ)
        with zipfile.ZipFile(buffer, "w") as archive:
            for name in names:
                if name.endswith(".rels"):
                    content, added = self._rewritten_relations(name)
                    types += added
                elif name.lower() == "[content_types].xml":
                    continue
                else:
                    is_text = name.lower().startswith(("word/", "ppt/"))
                    content = self.read(name, 2 * _MAX_TREE_BYTES if is_text else _MAX_PART_BYTES)
                    content = change(name, content) if change else content
                if not name.endswith(".bin"):
                    content = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", content)
                archive.writestr(name, content)
            space = "http://schemas.openxmlformats.org/package/2006/content-types"
            archive.writestr("[Content_Types].xml", f'<Types xmlns="{space}">{types}</Types>')
        return buffer

    def _rewritten_relations(self, name: str) -> tuple[bytes, str]:
        """A part's relations, and the types of the parts that they lead to."""
        from lxml import etree

        root, types = self.tree(name), ""
        folder, _, part = name.partition("_rels/")
        for relation in [one for one in root if one.get("TargetMode") != "External"]:
            target, kind = self._target(folder + part, relation), _kind(relation)
            if not target:
                root.remove(relation)
                continue
            relation.set("Target", posixpath.relpath(target, folder or "."))
            if type_ := _CONTENT_TYPES.get(target.partition("/")[0] if kind == "officeDocument" else kind):
                types += f'<Override PartName={quoteattr(f"/{target}")} ContentType="{type_}"/>'
        return etree.tostring(root), types


def _kind(relation: _Element) -> str:
    return (relation.get("Type") or "").rsplit("/", 1)[-1]


def _plain(name: str) -> str:
    return name.replace("\\", "/").lstrip("/")


def resolved_target(part: str, target: str) -> str:
    """A target as written in a part, as a name from the archive's root."""
    target = unquote(target.partition("#")[0]).replace("\\", "/")
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(part), target)).lstrip("/")
