"""Word files: `.docx`.

The text is written out as light Markdown: `#` headings, `-` and numbered items as Word shows them, tables as pipe rows
with their header. The document part is read as a stream, so a file of 600 pages needs no more memory than its text.
Deleted revisions, comments, headers and footers are left out; footnotes follow at the end.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from librarian.vocabulary.errors import SourceError
from librarian.vocabulary.types import Document, SourceFile

from ..metadata import doc_type_of, iso_of_ns, summary_of, title_of

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Limits that no honest document meets: Word itself stops at 512 MB, text compresses about tenfold.
_MAX_PART_BYTES = 200 * 1024 * 1024
_MAX_RATIO = 200
_RATIO_FROM_BYTES = 10 * 1024 * 1024
_MAIN = "word/document.xml"
#: What zipfile and lxml raise for damaged files; lxml's syntax errors are SyntaxErrors.


_BROKEN = (zipfile.BadZipFile, zlib.error, KeyError, NotImplementedError, EOFError, RuntimeError, SyntaxError, OSError)


class WordParser:
    """Office Open XML, transitional and strict. Raises `SourceError` with reason corrupt, encrypted or too_large."""

    extensions: tuple[str, ...] = (".docx",)

    def parse(self, source: SourceFile, data: bytes) -> Document:
        from .word_body import WordBody

        if data.startswith(b"\xd0\xcf\x11\xe0"):
            raise SourceError(
                f"'{source.file_path}' is encrypted or in the old .doc format.",
                hint="Save it as .docx without a password.",
                reason="encrypted",
            )
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                body = WordBody(_Package(archive, source.file_path)).read()
        except _BROKEN as error:
            raise SourceError(
                f"'{source.file_path}' isn't a readable .docx file: {error}.",
                hint="Open it in Word and save it again.",
                reason="corrupt",
            ) from error
        text, headings, blocks = body.text, body.headings, body.blocks
        title, in_text = title_of({}, headings, source.file_path)
        if not in_text and body.title:
            title, in_text = body.title, True
        return Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind="document",
            file_type=".docx",
            title=title,
            text=text,
            headings=headings,
            blocks=blocks,
            page_starts=body.page_starts,
            links=body.links,
            doc_type=doc_type_of(source.file_path, title, text),
            summary=summary_of(text, blocks, {}),
            last_modified=iso_of_ns(source.mtime_ns),
            size=source.size,
            mtime_ns=source.mtime_ns,
            title_in_text=in_text,
        )


class _Package:
    """The parts of a file by their role, opened within limits."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive = archive
        self._name = name
        self._names = {info.filename.lstrip("/").lower(): info for info in archive.infolist()}
        roots = self._relations("")
        self.main = next((target for kind, target, _ in roots.values() if kind == "officeDocument"), _MAIN)
        self.relations = self._relations(self.main)
        core = next((target for kind, target, _ in roots.values() if kind == "core-properties"), "")
        self._roles = {kind: target for kind, target, external in self.relations.values() if not external}
        if core:
            self._roles["core-properties"] = core

    def open_main(self) -> io.RawIOBase:
        """The document part. Raises KeyError where there is none."""
        return self._open(self.main)

    def tree(self, role: str) -> _Element | None:
        """The part with a role such as styles, parsed; None where there is none."""
        target = self._roles.get(role, "")
        return self._tree(target) if target.lower() in self._names else None

    def _open(self, target: str) -> io.RawIOBase:
        info = self._names.get(target.lower())
        if info is None:
            raise KeyError(f"it has no part '{target}'")
        size = info.file_size
        if size > _MAX_PART_BYTES or (size > _RATIO_FROM_BYTES and size > _MAX_RATIO * max(1, info.compress_size)):
            raise SourceError(
                f"'{self._name}' unpacks to {size / 1024 / 1024:.0f} MB.",
                hint="It looks like a decompression bomb and is left out.",
                reason="too_large",
            )
        return _Limited(self._archive.open(info), size)

    def _tree(self, target: str) -> _Element:
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        with self._open(target) as part:
            return etree.parse(part, parser).getroot()

    def _relations(self, part: str) -> dict[str, tuple[str, str, bool]]:
        """Relation id → (last word of its type, target, whether the target lies outside)."""
        folder, name = posixpath.split(part)
        path = posixpath.join(folder, "_rels", f"{name}.rels")
        if path.lower() not in self._names:
            return {}
        found: dict[str, tuple[str, str, bool]] = {}
        for relation in _elements(self._tree(path)):
            target = relation.get("Target") or ""
            external = relation.get("TargetMode") == "External"
            if not external:
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            found[relation.get("Id") or ""] = ((relation.get("Type") or "").rsplit("/", 1)[-1], target, external)
        return found


def _elements(root: _Element) -> Iterator[_Element]:
    return (child for child in root if isinstance(child.tag, str))


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
