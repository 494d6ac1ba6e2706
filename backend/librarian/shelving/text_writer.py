"""Brings what was read into the catalog and the keyword index, batch by batch.

The order is what makes a kill at any moment harmless: first the catalog (the truth), then the keyword index, then the
new generation, at last the vector stores. Whatever is cut off is noticed at the next start, because the keyword index
and the stores name ids that the catalog doesn't, or lack ids that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from librarian.vocabulary.protocols import Catalog, LexicalIndex
from librarian.vocabulary.types import Document, ReadResult, SourceFile, StoredDocument

from .vector_shelf import VectorShelf


@dataclass(slots=True)
class Batch:
    """What is to become true at once."""

    put: list[ReadResult] = field(default_factory=list)
    moved: list[tuple[str, SourceFile, ReadResult]] = field(default_factory=list)  #: old path, new file, as read there
    removed: list[str] = field(default_factory=list)
    refilled: list[ReadResult] = field(default_factory=list)  #: known as they are, but missing in the keyword index

    def __len__(self) -> int:
        return len(self.put) + len(self.moved) + len(self.removed) + len(self.refilled)


class TextWriter:
    """The one writer of text. Not thread-safe: its caller holds the lock."""

    def __init__(
        self,
        catalog: Catalog,
        lexical: LexicalIndex,
        shelf: VectorShelf,
        fault: Callable[[str], None],
    ) -> None:
        self._catalog = catalog
        self._lexical = lexical
        self._shelf = shelf
        self._fault = fault

    def write(self, batch: Batch) -> int:
        """Make a batch true; returns the new generation.

        A file whose `refilled` entry no longer fits the catalog's chunks is put anew; so is a moved one whose passages
        depend on its path.
        """
        put, removed = list(batch.put), list(batch.removed)
        same: list[tuple[StoredDocument, list[int], ReadResult]] = []
        relabelled: dict[int, Document] = {}
        for result in batch.refilled:
            found = self._same_chunks(result.document.file_path, result)
            if found is None:
                put.append(result)
            else:
                same.append((*found, result))
        for old, source, result in batch.moved:
            found = self._same_chunks(old, result)
            if found is None or not self._move(old, source, found[0].document, result):
                put.append(result)
                removed.append(old)
            else:
                same.append((*found, result))
                relabelled.update(dict.fromkeys(found[1], result.document))
        dropped_docs: list[int] = []
        dropped_chunks: list[int] = []
        if removed:
            docs, chunks = self._catalog.remove(removed)
            dropped_docs += docs
            dropped_chunks += chunks
        stored = self._catalog.put(put) if put else []
        for one in stored:
            dropped_docs += one.dropped_doc_ids
            dropped_chunks += one.dropped_chunk_ids
        self._fault("catalog put")
        self._lexical.delete([*dropped_docs, *(document.doc_id for document, _, _ in same)])
        for one, result in zip(stored, put, strict=True):
            self._index(one.doc_id, one.chunk_ids, result)
        for document, chunk_ids, result in same:
            self._index(document.doc_id, chunk_ids, result)
        with self._catalog.read() as reader:
            generation = reader.generation + 1
        self._lexical.commit(generation)
        self._fault("lexical commit")
        generation = self._catalog.bump()
        self._fault("bump")
        self._shelf.delete(dropped_chunks)
        if relabelled:
            self._shelf.relabel(relabelled)
        return generation

    def _index(self, doc_id: int, chunk_ids: Sequence[int], result: ReadResult) -> None:
        self._lexical.put(
            (chunk_id, doc_id, result.document, entry)
            for chunk_id, entry in zip(chunk_ids, result.entries, strict=True)
        )

    def _same_chunks(self, file_path: str, result: ReadResult) -> tuple[StoredDocument, list[int]] | None:
        """What the catalog holds under a path, where its passages are exactly those of `result`."""
        with self._catalog.read() as reader:
            stored = reader.document_by_path(file_path, text=False)
            if stored is None or stored.document.content_hash != result.document.content_hash:
                return None
            chunks = reader.chunks_of(stored.doc_id)
        if [chunk.chunk for chunk in chunks] != list(result.chunks):
            return None
        return stored, [chunk.chunk_id for chunk in chunks]

    def _move(self, old: str, source: SourceFile, before: Document, result: ReadResult) -> bool:
        """Move in the catalog where nothing but path and title depends on the path; False where more does."""
        after = result.document
        if any(getattr(before, name) != getattr(after, name) for name in _NOT_FROM_PATH):
            return False
        title = after.title if after.title != before.title else None
        return self._catalog.move(old, source, title=title) is not None


_NOT_FROM_PATH = (
    "kind",
    "file_type",
    "doc_type",
    "tags",
    "language",
    "summary",
    "last_modified",
    "title_in_text",
    "email",
)


def as_read(source: SourceFile, result: ReadResult) -> ReadResult:
    """`result` with the size and time that the file was found with."""
    document = result.document
    if (document.size, document.mtime_ns) == (source.size, source.mtime_ns):
        return result
    return replace(result, document=replace(document, size=source.size, mtime_ns=source.mtime_ns))
