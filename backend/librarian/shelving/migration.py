"""Copies a library from one storage into another, empty one: text, keyword entries and vectors. Nothing is embedded.

A copy that was broken off is gone on with: the target remembers whose copy it is until all of it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from librarian.vocabulary.errors import SetupError
from librarian.vocabulary.protocols import Catalog, LexicalIndex, VectorArchive, VectorStore
from librarian.vocabulary.types import WINDOWS_PER_CHUNK, Chunk, Document, LexicalEntry, ReadResult, StoredDocument

from .catalog_rows import UNFINISHED
from .models_in_use import ModelsInUse
from .vector_shelf import VectorShelf

T = TypeVar("T")

Entries = Callable[[Document, tuple[Chunk, ...]], tuple[LexicalEntry, ...]]

_DOCUMENTS: Final = 100
_VECTORS: Final = 2_000
_FACTS: Final = ("root", "reader")
COPY_OF: Final = "copy_of"  #: kept by the target until it is whole: the identity of the catalog that it copies


@dataclass(frozen=True, slots=True)
class Side:
    """One storage: where from, or where to."""

    catalog: Catalog
    lexical: LexicalIndex
    archive: VectorArchive
    stores_for: Callable[[str], Sequence[VectorStore]]


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied."""

    documents: int
    chunks: int
    vectors: int


def copy_library(
    source: Side, target: Side, *, entries: Entries, progress: Callable[[str, int, int], None] = lambda *_: None
) -> Copied:
    """Copy everything; `entries` analyses a document's chunks for the keyword index (the reader's).

    Raises `SetupError` where the source is empty, or the target isn't and holds no part of this copy.
    """
    with source.catalog.read() as reader:
        count = reader.count()
        every = {stored.document.file_path: stored for stored in reader.iter_documents()}
        models, facts = ModelsInUse.held(reader), {key: reader.meta(key) for key in _FACTS} | ModelsInUse.facts(reader)
        failures = reader.failures()
    ids = [stored.doc_id for stored in every.values()]
    archives = [(path, known) for path, known in source.catalog.known().items() if path not in every and known[2]]
    with target.catalog.read() as reader:
        held = reader.count()
        resumed = reader.meta(COPY_OF) == source.catalog.identity
    if not ids:
        raise SetupError("There is nothing to copy: the library is empty.", hint="Run `librarian index` first.")
    if (held.documents or held.emails) and not resumed:
        raise SetupError(
            f"The storage to copy to holds {held.documents + held.emails:,} documents already.",
            hint="Name an empty one: another storage.database_schema, or another index.path.",
        )
    target.catalog.set_meta(COPY_OF, source.catalog.identity)
    there = _arrived(target, every) if resumed else {}
    windows = {model: _by_chunk(source.catalog, model) for model in models}
    done = 0
    for batch in _batches(ids, _DOCUMENTS):
        renamed = _copy_documents(source, target, batch, entries, there)
        for model, of in windows.items():
            target.catalog.mark_embedded(model, {renamed[old]: of[old] for old in renamed if old in of})
        target.lexical.commit(1)
        done += len(batch)
        progress("documents", done, len(ids))
    for path, (size, mtime_ns, digest) in archives:
        if digest != UNFINISHED:
            whole = Document(path, "", "", "document", "", "", "", size=size, mtime_ns=mtime_ns, content_hash=digest)
            target.catalog.put_archive(whole)
    target.catalog.set_failures(failures, replace=True)
    vectors = sum(_copy_vectors(source, target, model, progress) for model in models)
    for key, value in facts.items():
        if value:
            target.catalog.set_meta(key, value)
    target.catalog.set_meta(COPY_OF, "")
    target.catalog.bump()
    return Copied(len(ids), count.chunks, vectors)


def _arrived(target: Side, every: Mapping[str, StoredDocument]) -> dict[str, tuple[int, ...]]:
    """file_path → chunk ids of what an earlier try brought whole; whatever else it left is dropped."""
    with target.catalog.read() as reader:
        held = {stored.document.file_path: stored for stored in reader.iter_documents()}
        words = target.lexical.tally()
        there = {
            path: tuple(chunk.chunk_id for chunk in reader.chunks_of(stored.doc_id))
            for path, stored in held.items()
            if _same(stored, every.get(path)) and words.get(stored.doc_id, 0) == stored.chunk_count
        }
    dropped, _ = target.catalog.remove([path for path in held if path not in there])
    target.lexical.delete([*dropped, *(words.keys() - {stored.doc_id for stored in held.values()})])
    return there


def _same(one: StoredDocument, other: StoredDocument | None) -> bool:
    return other is not None and (one.document.content_hash, one.chunk_count) == (
        other.document.content_hash,
        other.chunk_count,
    )


def _copy_documents(
    source: Side, target: Side, ids: Sequence[int], entries: Entries, there: Mapping[str, tuple[int, ...]]
) -> dict[int, int]:
    """Copy those documents that aren't `there`; returns chunk id in the source → chunk id in the target, for all."""
    with source.catalog.read() as reader:
        documents = reader.documents(ids, text=True)
        chunks = {doc_id: reader.chunks_of(doc_id) for doc_id in ids}
    results, copied = [], []
    renamed: dict[int, int] = {}
    for doc_id in ids:
        document = documents[doc_id].document
        if (arrived := there.get(document.file_path)) is not None:
            renamed.update(zip((stored.chunk_id for stored in chunks[doc_id]), arrived, strict=True))
            continue
        copied.append(doc_id)
        texts = tuple(stored.chunk for stored in chunks[doc_id])
        results.append(ReadResult(document, texts, entries(document, texts)))
    for doc_id, result, stored in zip(copied, results, target.catalog.put(results) if results else (), strict=True):
        target.lexical.put(
            (chunk_id, stored.doc_id, result.document, entry)
            for chunk_id, entry in zip(stored.chunk_ids, result.entries, strict=True)
        )
        renamed.update(zip((chunk.chunk_id for chunk in chunks[doc_id]), stored.chunk_ids, strict=True))
    return renamed


def _copy_vectors(source: Side, target: Side, model: str, progress: Callable[[str, int, int], None]) -> int:
    hashes = list(dict.fromkeys(digest for _, digest in target.catalog.windows(model)))
    copied = 0
    for batch in _batches(hashes, _VECTORS):
        vectors = source.archive.get(model, batch)
        target.archive.put(model, vectors)
        copied += len(vectors)
        progress("vectors", copied, len(hashes))
    shelf = VectorShelf(target.catalog, target.archive, target.stores_for, lambda step: None)
    shelf.use([model])
    shelf.repair(model)
    return copied


def _by_chunk(catalog: Catalog, model: str) -> dict[int, list[str]]:
    windows: dict[int, list[str]] = {}
    for number, digest in catalog.windows(model):
        windows.setdefault(number // WINDOWS_PER_CHUNK, []).append(digest)
    return windows


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
