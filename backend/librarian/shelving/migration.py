"""Copies a library from one storage into another, empty one: text, keyword entries and vectors. Nothing is embedded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from librarian.vocabulary.errors import SetupError
from librarian.vocabulary.protocols import Catalog, LexicalIndex, VectorArchive, VectorStore
from librarian.vocabulary.types import WINDOWS_PER_CHUNK, Chunk, Document, LexicalEntry, ReadResult

from .catalog_mails import UNFINISHED
from .vector_shelf import VectorShelf

T = TypeVar("T")

Entries = Callable[[Document, tuple[Chunk, ...]], tuple[LexicalEntry, ...]]

_DOCUMENTS: Final = 100
_VECTORS: Final = 2_000
_FACTS: Final = ("root", "reader", "model", "model_key", "model_previous")


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

    Raises `SetupError` where the source is empty or the target isn't.
    """
    with source.catalog.read() as reader:
        count = reader.count()
        stored = list(reader.iter_documents())
        models = [model for key in ("model", "model_previous") if (model := reader.meta(key))]
        facts = {key: reader.meta(key) for key in _FACTS}
        failures = reader.failures()
    ids, paths = [one.doc_id for one in stored], {one.document.file_path for one in stored}
    archives = [(path, known) for path, known in source.catalog.known().items() if path not in paths and known[2]]
    with target.catalog.read() as reader:
        held = reader.count()
    if not ids:
        raise SetupError("There is nothing to copy: the library is empty.", hint="Run `librarian index` first.")
    if held.documents or held.emails:
        raise SetupError(
            f"The storage to copy to holds {held.documents + held.emails:,} documents already.",
            hint="Name an empty one: another storage.database_schema, or another index.path.",
        )
    windows = {model: _by_chunk(source.catalog, model) for model in models}
    done = 0
    for batch in _batches(ids, _DOCUMENTS):
        renamed = _copy_documents(source, target, batch, entries)
        for model, of in windows.items():
            target.catalog.mark_embedded(model, {renamed[old]: of[old] for old in renamed if old in of})
        done += len(batch)
        progress("documents", done, len(ids))
    for path, (size, mtime_ns, digest) in archives:
        if digest != UNFINISHED:
            whole = Document(path, "", "", "document", "", "", "", size=size, mtime_ns=mtime_ns, content_hash=digest)
            target.catalog.put_archive(whole)
    target.catalog.set_failures(failures, replace=True)
    target.lexical.commit(1)
    vectors = sum(_copy_vectors(source, target, model, progress) for model in models)
    for key, value in facts.items():
        if value:
            target.catalog.set_meta(key, value)
    target.catalog.bump()
    return Copied(len(ids), count.chunks, vectors)


def _copy_documents(source: Side, target: Side, ids: Sequence[int], entries: Entries) -> dict[int, int]:
    """Copy some documents; returns chunk id there → chunk id here."""
    with source.catalog.read() as reader:
        documents = reader.documents(ids, text=True)
        chunks = {doc_id: reader.chunks_of(doc_id) for doc_id in ids}
    results = []
    for doc_id in ids:
        document = documents[doc_id].document
        texts = tuple(stored.chunk for stored in chunks[doc_id])
        results.append(ReadResult(document, texts, entries(document, texts)))
    renamed: dict[int, int] = {}
    for doc_id, result, stored in zip(ids, results, target.catalog.put(results), strict=True):
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
