"""A file in; a document, its chunks and their keyword entries out."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from importlib import import_module
from typing import Protocol, TypeVar

from ..errors import SourceError
from ..files.safe_open import REPLACED, open_source
from ..models import NOT_INCLUDED, QUOTED_PATH, Chunk, Document, Excluded, KeywordEntry, ReadResult, SourceFile
from ..text.analyzer import StandardAnalyzer
from ..text.characters import spelt
from ..text.cross_references import MESSAGE
from .chunking import StructureChunker
from .document_builder import new_document
from .email.parser import MboxArchive, begins_as_archive, format_of
from .email.quotes import not_indexed, quoted_blocks
from .includes.expansion import Expansion, expanded
from .includes.files import IncludeRoots
from .metadata import given_doc_type, pieces_without, searched_metadata
from .plain_text import unparted
from .spans import in_order


class Parser(Protocol):
    """A file format: bytes in, a `Document` out."""

    extensions: tuple[str, ...]

    def parse(self, source: SourceFile, data: bytes) -> Document:
        """Read one file. Raises `SourceError` with a `reason` where it can't; never anything else."""


#: The registry of formats, a line for each: the module in this folder, and its class.
FORMATS = (
    "markdown.MarkdownParser",
    "text.TextParser",
    "asciidoc.AsciiDocParser",
    "open_api.StructuredDataParser",
    "html.HtmlParser",
    "markdown.NotebookParser",
    "pdf.PdfParser",
    "word.WordParser",
    "open_document.OpenDocumentParser",
    "rtf.RichTextParser",
    "slides.SlidesParser",
    "spreadsheet.SpreadsheetParser",
    "spreadsheet.CommaSeparatedParser",
    "html.EpubParser",
    "email.parser.EmailParser",
)


#: Extension (with its dot, lower case) → parser.
PARSERS: dict[str, Parser] = {}
for _name in FORMATS:
    _module, _, _kind = _name.rpartition(".")
    _parser: Parser = getattr(import_module(f".{_module}", __package__), _kind)()
    PARSERS |= dict.fromkeys(_parser.extensions, _parser)

#: The same for archives: extension → what cuts it into documents.
ARCHIVES: dict[str, MboxArchive] = {extension: MboxArchive() for extension in MboxArchive.extensions}

#: Every extension that can be read.
READABLE: frozenset[str] = frozenset(PARSERS) | frozenset(ARCHIVES)


T = TypeVar("T")

_log = logging.getLogger(__name__)

_VERSION = "24"
#: Characters of prose that the language is found by.
_LANGUAGE_SAMPLE = 4_000
#: Formats whose words may hold entities and tags of HTML.
_SPELLING = frozenset((*PARSERS[".md"].extensions, *PARSERS[".adoc"].extensions))


@dataclass(frozen=True)
class FileReader:
    """Reads files with the parser of their extension. Holds no open resource and is picklable.

    `shelved` says how files come to their products, where it isn't by their folders. `includes` names the folders that
    included files may lie in; None leaves includes as they are.
    """

    analyzer: StandardAnalyzer
    chunker: StructureChunker
    _: KW_ONLY
    extract_tags: bool = True
    infer_doc_type: bool = True
    track_modifications: bool = True
    shelved: str = ""
    includes: IncludeRoots | None = None

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same file would be read, cut or analysed otherwise."""
        options = f"{self.extract_tags:d}{self.infer_doc_type:d}{'1' if self.track_modifications else 'mails'}"
        if self.shelved:
            options += f":{self.shelved}"
        if self.includes is not None and self.includes.folders:
            options += f":{self.includes.fingerprint}"
        return f"reader-{_VERSION}:{options}|{self.chunker.fingerprint}|{self.analyzer.fingerprint}"

    def read(self, source: SourceFile) -> ReadResult:
        """Raises `SourceError`, whose `reason` is vanished, unreadable, extension, binary, or a parser's own."""
        begun = time.perf_counter()
        extension = format_of(source.file_path, READABLE)
        if extension not in PARSERS and extension not in ARCHIVES:
            raise SourceError(
                f"'{source.file_path}' has no parser for '{extension}'.",
                hint=f"Known: {', '.join(sorted(READABLE))}.",
                reason="extension",
            )
        data = _bytes_of(source)
        if extension == ".txt" and begins_as_archive(data):  # a month of a mailing list
            extension = ".mbox"
        if archive := ARCHIVES.get(extension):
            return self._archive(archive, source, data, begun)
        parser = PARSERS[extension]
        expansion = None if self.includes is None else _guarded(expanded, source, data, self.includes)
        if expansion is None:
            return self._result(_guarded(parser.parse, source, data), data, begun)
        document = _guarded(parser.parse, source, expansion.text.encode("utf-8", "replace"))
        return self._result(_with_included(document, expansion), data, begun)

    def _result(self, document: Document, data: bytes, begun: float) -> ReadResult:
        content_hash = hashlib.sha256(data).hexdigest()
        if document.included:  # equal files in two folders may include different ones
            content_hash += f"+{hashlib.sha256(document.text.encode('utf-8', 'replace')).hexdigest()[:16]}"
        is_mail = document.email is not None
        given = document.doc_type if is_mail else given_doc_type(document.front_matter) or "documentation"
        document = replace(
            document,
            content_hash=content_hash,
            size=len(data),
            language=document.language or self.analyzer.detect(_prose(document)),
            tags=document.tags if self.extract_tags else (),
            doc_type=document.doc_type if self.infer_doc_type else given,
            last_modified=document.last_modified if self.track_modifications or is_mail else "",
        )
        if document.email is None:
            chunks = self.chunker.chunk(document)
            entries = self._entries(document, chunks)
        else:  # what it quotes comes last
            chunks = self.chunker.chunk(replace(document, excluded=tuple(not_indexed(document))))
            found = (chunk for block in quoted_blocks(document) for chunk in self.chunker.chunk(block))
            quotes = tuple(
                replace(chunk, ordinal=ordinal, heading_path=QUOTED_PATH)
                for ordinal, chunk in enumerate(found, start=len(chunks))
            )
            entries = self._entries(document, chunks)
            entries += self._entries(replace(document, excluded=(), email=None), quotes)
            chunks += quotes
        return ReadResult(document, chunks, entries, (time.perf_counter() - begun) * 1000)

    def _archive(self, archive: MboxArchive, source: SourceFile, data: bytes, begun: float) -> ReadResult:
        """Its members, and a label for itself. A member without headers is read as a text."""
        found: list[ReadResult] = []
        members = list(archive.members(source, data))
        for place, message in members:
            started = time.perf_counter()
            parser = PARSERS[place.extension]
            try:
                document = _guarded(parser.parse, place, message)
            except SourceError:
                if len(members) == 1:  # not one mail: no archive
                    raise
                document = _guarded(parser.parse, place, b"X-Headers: none\n\n" + message.replace(b"\0", b" "))
            found.append(self._result(replace(document, archive=source.file_path), message, started))
        label = new_document(
            source,
            source.file_path.rsplit("/", 1)[-1],
            "",
            kind="email",
            doc_type="documentation",
            last_modified="",
            content_hash=hashlib.sha256(data).hexdigest(),
        )
        return ReadResult(label, (), (), (time.perf_counter() - begun) * 1000, members=tuple(found))

    def _entries(self, document: Document, chunks: tuple[Chunk, ...]) -> tuple[KeywordEntry, ...]:
        """What the keyword index stores of a document's chunks, in their order.

        Title and headings tell where a chunk of a long document stands. A document of one chunk holds them in its body:
        counted again they would make short texts answer by their title alone.
        """
        language = document.language
        analysed = self.analyzer.entry
        title, title_identifiers = analysed(document.title, language)
        folders_and_name = os.path.splitext(document.file_path)[0].replace("/", "\n")
        path, _ = analysed(folders_and_name.replace("_", " ").replace("-", " "), language)
        attachments: list[str] = []
        if document.email is not None:  # mails are searched by their sender, files by their name
            sender, _ = analysed(_sender_words(document.email.sender), language)
            names, attachments = analysed("\n".join(part.filename for part in document.email.attachments), language)
            path = " ".join(filter(None, (path, sender, names)))
        known: dict[tuple[str, ...], tuple[str, list[str]]] = {}
        is_spelt = document.file_type in _SPELLING and ("&" in document.text or "<wbr" in document.text)
        excluded = document.excluded if document.email is None else not_indexed(document)
        metadata, metadata_identifiers = analysed("\n".join(searched_metadata(document.front_matter)), language)
        entries: list[KeywordEntry] = []
        for chunk in chunks:
            if chunk.heading_path not in known:
                known[chunk.heading_path] = analysed("\n".join(chunk.heading_path), language)
            headings, heading_identifiers = known[chunk.heading_path]
            seen = " ".join(pieces_without(document.text, chunk.start, chunk.end, excluded))
            body, identifiers = analysed(unparted(spelt(seen) if is_spelt else seen), language)
            if not entries and metadata:
                body = f"{body} {metadata}"
                identifiers = [*identifiers, *metadata_identifiers]
            if len(chunks) == 1:
                title, headings = ("" if f" {words} " in f" {body} " else words for words in (title, headings))
            entries.append(
                KeywordEntry(
                    body=body,
                    title=title,
                    headings=headings,
                    path=path,
                    identifiers=" ".join([*identifiers, *title_identifiers, *heading_identifiers, *attachments]),
                )
            )
        return tuple(entries)


def _with_included(document: Document, expansion: Expansion) -> Document:
    notes = document.notes
    if expansion.found:
        parts = "1 part of another file is" if expansion.found == 1 else f"{expansion.found} parts of other files are"
        notes += (f"{parts} included: lines are counted with them",)
    known = [(span.start, span.end, span.reason) for span in document.excluded]
    messages = [(*match.span(), NOT_INCLUDED) for match in MESSAGE.finditer(document.text)]  # of what isn't there
    return replace(
        document,
        encoding=expansion.encoding,
        encoding_confidence=expansion.confidence,
        included=expansion.included,
        excluded=tuple([Excluded(*span) for span in in_order([*known, *messages])]),
        notes=notes,
    )


def _guarded(read: Callable[..., T], source: SourceFile, data: bytes, *more: object) -> T:
    """What `read` makes of a file; its bugs become a `SourceError` of that file."""
    try:
        return read(source, data, *more)
    except (SourceError, MemoryError):
        raise
    except RecursionError as error:
        raise SourceError(
            f"'{source.file_path}' is nested too deep to be read.",
            hint="Flatten it, or leave it out.",
            reason="too_deep",
        ) from error
    except Exception as error:
        # A parser's bug on one strange file must not stop the library from being read; the traceback tells of it.
        _log.exception("The parser of '%s' failed", source.file_path)
        raise SourceError(
            f"'{source.file_path}' made its parser fail: {type(error).__name__}: {error}.",
            hint="The log holds the traceback; please report it with the file.",
            reason="parser",
        ) from error


def _bytes_of(source: SourceFile) -> bytes:
    try:
        with open_source(source) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SourceError(f"'{source.file_path}' isn't a regular file.", hint="Remove it from the library.")
            return file.read()
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            what, hint, reason = "has gone since it was found", "The next refresh drops it.", "vanished"
        elif isinstance(error, IsADirectoryError):
            what, hint, reason = "is a folder", "Remove it from the library.", "unreadable"
        elif source.root and error.errno in REPLACED:
            what, reason = "was replaced while it was read, or a folder above it was", "replaced"
            hint = "The next refresh reads it again. If this stays, find the program that keeps replacing it."
        else:
            what, hint, reason = f"can't be read: {error.strerror or error}", "Check its permissions.", "access"
        raise SourceError(f"'{source.file_path}' {what}.", hint=hint, reason=reason) from error


def _sender_words(sender: str) -> str:
    """A sender's name; where the header has none, the address's part before the @ as words.

    >>> _sender_words("Ann Lee <a.lee@x.org>"), _sender_words("ann.lee@x.org")
    ('Ann Lee', 'ann lee')
    """
    name, _, address = sender.rpartition(" <")
    return name or re.sub(r"[._+-]+", " ", address.partition("@")[0])


def _prose(document: Document) -> str:
    """Some prose of the document, without code and tables, to find its language by."""
    pieces: list[str] = [document.title]
    length = 0
    for block in document.blocks:
        if block.kind in ("paragraph", "list", "quote", "heading"):
            pieces.append(document.text[block.start : min(block.end, block.start + _LANGUAGE_SAMPLE - length)])
            length += len(pieces[-1])
            if length >= _LANGUAGE_SAMPLE:
                break
    return "\n".join(pieces) if length else f"{document.title}\n{document.text[:_LANGUAGE_SAMPLE]}"
