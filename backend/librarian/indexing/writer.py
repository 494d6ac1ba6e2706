"""Brings what was read into the catalog and the keyword index, batch by batch.

Catalog and keyword index become visible one right after the other; a search that meets the moment in between notices,
and asks again. The order is what makes a kill at any moment harmless: within the catalog's transaction, which is the
truth, the keyword index is committed, then comes the new generation, at last the vector stores. Whatever is cut off is
noticed at the next start, because the keyword index and the stores name ids that the catalog doesn't, or lack ids that
it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ..models import OUTDATED, ReadResult, SourceFile
from ..storage.base import Catalog, CatalogReader, KeywordIndex
from ..vector_stores.sync import VectorSync
from .emails import EmailDeduplicator, Resolution


@dataclass(slots=True)
class Batch:
    """What is to become true at once."""

    put: list[ReadResult] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    anew: set[str] = field(default_factory=set)  #: paths of archives in `put` whose mails are all written again
    outdated: set[str] = field(default_factory=set)  #: set by the writer: stored mails that are to be read again

    def __len__(self) -> int:
        return len(self.put) + len(self.removed)


class IndexWriter:
    """The one writer of text. Not thread-safe: its caller holds the lock."""

    def __init__(
        self, catalog: Catalog, lexical: KeywordIndex, vector_sync: VectorSync, fault: Callable[[str], None]
    ) -> None:
        self._catalog = catalog
        self._lexical = lexical
        self._vector_sync = vector_sync
        self._fault = fault
        self._mails = EmailDeduplicator(catalog)

    def write(self, batch: Batch) -> int:
        """Make a batch true; returns the new generation."""
        put, removed = [one for one in batch.put if one.members is None], list(batch.removed)
        archives = [result for result in batch.put if result.members is not None]
        with self._catalog.read() as reader:
            for archive in archives:
                self._open(reader, archive, put, removed, anew=archive.document.file_path in batch.anew)
            # archives that single documents are in place of
            removed += [result.document.file_path for result in put if reader.members(result.document.file_path)]
            generation = reader.generation
        resolution = self._mails.resolve(put, removed)
        batch.outdated = resolution.outdated
        with self._rollback_on_error(), self._catalog.transaction():
            dropped = self._store(resolution, removed, archives)
            self._lexical.commit(generation + 1)
            self._fault("lexical commit")
            generation = self._catalog.bump()
        self._fault("bump")
        self._vector_sync.delete(dropped)
        return generation

    def _store(self, resolution: Resolution, removed: Sequence[str], archives: Sequence[ReadResult]) -> list[int]:
        """Bring a change into the catalog and the keyword index, not yet committed; the chunk ids that are gone."""
        if resolution.threads:
            self._catalog.rethread(resolution.threads)
        dropped_docs, dropped_chunks = self._catalog.remove(removed) if removed else ([], [])
        stored = self._catalog.put(resolution.put) if resolution.put else []
        for one in stored:
            dropped_docs += one.dropped_doc_ids
            dropped_chunks += one.dropped_chunk_ids
        for archive in archives:
            self._catalog.put_archive(archive.document)
        if resolution.withdrawn:
            self._catalog.withdraw(resolution.withdrawn)
            dropped_chunks += resolution.withdrawn
        if resolution.outdated:
            self._catalog.outdate(sorted(resolution.outdated))
        self._fault("catalog put")
        self._lexical.delete(dropped_docs)
        for one, result in zip(stored, resolution.put, strict=True):
            self._lexical.put(
                (chunk_id, one.doc_id, result.document, entry)
                for chunk_id, entry in zip(one.chunk_ids, result.entries, strict=True)
            )
        self._lexical.delete_chunks(resolution.withdrawn)
        return dropped_chunks

    @contextmanager
    def _rollback_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._lexical.rollback()  # the ids of what the catalog doesn't keep will be given again
            raise

    def _open(
        self, reader: CatalogReader, archive: ReadResult, put: list[ReadResult], removed: list[str], *, anew: bool
    ) -> None:
        """Add what of an archive is new or changed, or all where it is put `anew`, and what it holds no more."""
        members = archive.members or ()
        own_path = archive.document.file_path
        held = reader.members(own_path)
        if reader.document_by_path(own_path, text=False) is not None:  # one document once, as texts may become
            held = {}
            removed.append(own_path)
        removed += held.keys() - {result.document.file_path for result in members}
        for result in members:
            document = result.document
            stored = None
            if not anew and held.get(document.file_path) == document.content_hash:
                stored = reader.document_by_path(document.file_path, text=False)
            if stored is None or stored.document.size == OUTDATED:
                put.append(result)


def as_read(source: SourceFile, result: ReadResult) -> ReadResult:
    """`result` with the size and time that the file was found with."""
    document = result.document
    if result.members is not None:
        members = tuple(as_read(source, member) for member in result.members)
        result = replace(result, members=members)
    if (document.size, document.mtime_ns) == (source.size, source.mtime_ns):
        return result
    return replace(result, document=replace(document, size=source.size, mtime_ns=source.mtime_ns))


@dataclass(frozen=True, slots=True)
class KeywordHits:
    """`missing` are file paths of documents that lack entries, `orphans` ids of documents that are to have none."""

    missing: tuple[str, ...] = ()
    orphans: tuple[int, ...] = ()
    of_another_catalog: bool = False  #: made for another catalog: none of its ids can be trusted
    damage: str = ""  #: why its files can't be read

    def sentences(self) -> list[str]:
        """What was found, for people."""
        found = []
        if self.damage:
            found.append(f"{self.damage[:1].upper()}{self.damage[1:]}. It is made again.")
        elif self.of_another_catalog:
            found.append("The keyword index doesn't belong to this catalog and is made again.")
        if self.orphans:
            found.append(f"The keyword index holds {len(self.orphans):,} documents that are no more.")
        if self.missing and not (self.of_another_catalog or self.damage):
            found.append(f"The keyword index lacks {len(self.missing):,} documents or holds other passages of them.")
        return found


def examine_lexical(catalog: Catalog, lexical: KeywordIndex) -> KeywordHits:
    """Compare; changes nothing."""
    with catalog.read() as reader:
        generation = reader.generation
        chunk_counts = reader.passage_counts()
    damage = lexical.damage
    held: Mapping[int, int] = {}
    if not damage:
        try:
            held = lexical.entry_counts()
        except Exception:
            if not lexical.damage:
                raise
            damage = lexical.damage
    with_entries = {doc_id for doc_id, (_, chunks) in chunk_counts.items() if chunks}
    orphans = held.keys() - with_entries
    # A document with a wrong number of entries is read again like one without any: its old ones go then.
    missing = {doc_id for doc_id in with_entries if held.get(doc_id, 0) != chunk_counts[doc_id][1]}
    # A commit carries the generation that the catalog reaches right after it, so at most one ahead is a mere kill.
    of_another_catalog = lexical.generation > generation + 1
    if of_another_catalog or damage:
        missing = with_entries
    paths = tuple(sorted({chunk_counts[doc_id][0] for doc_id in missing}))
    return KeywordHits(paths, tuple(sorted(orphans)), of_another_catalog, damage)


def repair_lexical(lexical: KeywordIndex, findings: KeywordHits, generation: int) -> None:
    """Delete what is too much; what is missing is left to a refresh that reads those files."""
    if findings.of_another_catalog or findings.damage:
        lexical.clear()
    elif findings.orphans:
        lexical.delete(findings.orphans)
    else:
        return
    lexical.commit(generation)
