"""Brings what was read into the catalog and the keyword index, batch by batch.

Catalog and keyword index become visible one right after the other; a search that meets the moment in between notices,
and asks again. The order is what makes a kill at any moment harmless: within the catalog's transaction, which is the
truth, the keyword index is committed, then comes the new generation, at last the vector stores. Whatever is cut off is
noticed at the next start, because the keyword index and the stores name ids that the catalog doesn't, or lack ids that
it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..models import OUTDATED, ReadResult
from ..storage.base import Catalog, CatalogReader, KeywordIndex
from ..storage.database import LruCache
from ..vector_stores.sync import VectorSync
from .emails import CACHED_MAILS, Known, MailBatch


@dataclass(slots=True)
class Batch:
    """What is to become true at once."""

    put: list[ReadResult] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    anew: set[str] = field(default_factory=set)  #: paths of archives in `put` whose mails are all written again
    outdated: set[str] = field(default_factory=set)  #: set by the writer: stored mails that are to be read again

    def __len__(self) -> int:
        return len(self.put) + len(self.removed)


@dataclass(slots=True)
class IndexWriter:
    """The one writer of text. Not thread-safe: its caller holds the lock."""

    catalog: Catalog
    lexical: KeywordIndex
    vector_sync: VectorSync
    fault: Callable[[str], None]
    _known_mails: Known = field(default_factory=partial(LruCache, CACHED_MAILS))

    def write(self, batch: Batch) -> int:
        """Make a batch true; returns the new generation."""
        put = [result for result in batch.put if result.members is None]
        archives = [result for result in batch.put if result.members is not None]
        removed = list(batch.removed)
        with self.catalog.read() as reader:
            for archive in archives:
                self._open(reader, archive, put, removed, anew=archive.document.file_path in batch.anew)
            # archives that single documents are in place of
            removed += [result.document.file_path for result in put if reader.members(result.document.file_path)]
            generation = reader.generation
            mails = MailBatch(reader, self._known_mails, put, removed)
        batch.outdated = mails.outdated
        try:
            with self.catalog.transaction():
                dropped = self._store(mails, removed, archives)
                self.lexical.commit(generation + 1)
                self.fault("lexical commit")
                generation = self.catalog.bump()
        except BaseException:
            self.lexical.rollback()  # the ids of what the catalog doesn't keep will be given again
            raise
        self.fault("bump")
        self.vector_sync.delete(dropped)
        return generation

    def _store(self, mails: MailBatch, removed: Sequence[str], archives: Sequence[ReadResult]) -> list[int]:
        """Bring a change into the catalog and the keyword index, not yet committed; the chunk ids that are gone."""
        self.catalog.rethread(mails.threads)
        dropped_docs, dropped_chunks = self.catalog.remove(removed) if removed else ([], [])
        stored = self.catalog.put(mails.put) if mails.put else []
        for one in stored:
            dropped_docs += one.dropped_doc_ids
            dropped_chunks += one.dropped_chunk_ids
        for archive in archives:
            self.catalog.put_archive(archive.document)
        if mails.withdrawn:
            self.catalog.withdraw(mails.withdrawn)
            dropped_chunks += mails.withdrawn
        self.catalog.outdate(sorted(mails.outdated))
        self.fault("catalog put")
        self.lexical.delete(dropped_docs)
        for one, result in zip(stored, mails.put, strict=True):
            self.lexical.put(
                (chunk_id, one.doc_id, result.document, entry)
                for chunk_id, entry in zip(one.chunk_ids, result.entries, strict=True)
            )
        self.lexical.delete_chunks(mails.withdrawn)
        return dropped_chunks

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
            path, stored = result.document.file_path, None
            if not anew and held.get(path) == result.document.content_hash:
                stored = reader.document_by_path(path, text=False)
            if stored is None or stored.document.size == OUTDATED:
                put.append(result)


def check_keyword_index(
    catalog: Catalog, lexical: KeywordIndex, *, repair: bool = False
) -> tuple[list[str], frozenset[str]]:
    """How the keyword index differs from the catalog, in sentences, and the paths of the files to be read for it.

    With `repair`, what it holds too much is deleted; what it lacks comes with those files.
    """
    with catalog.read() as reader:
        generation, chunk_counts = reader.generation, reader.passage_counts()
    expected = {doc_id: count for doc_id, (_, count) in chunk_counts.items() if count}
    held: Mapping[int, int] = {}
    try:
        held = {} if lexical.damage else lexical.entry_counts()
    except Exception:
        if not lexical.damage:
            raise
    damage = lexical.damage
    # A commit carries the generation that the catalog reaches right after it, so at most one ahead is a mere kill.
    of_another_catalog = lexical.generation > generation + 1
    orphans = sorted(held.keys() - expected.keys())
    # A document with a wrong number of entries is read again like one without any: its old ones go then.
    missing = {doc_id for doc_id, count in expected.items() if held.get(doc_id) != count}
    found = []
    if damage:
        found.append(f"{damage[:1].upper()}{damage[1:]}. It is made again.")
    elif of_another_catalog:
        found.append("The keyword index doesn't belong to this catalog and is made again.")
    elif missing:
        found.append(f"The keyword index lacks {len(missing):,} documents or holds other passages of them.")
    if orphans:
        found.append(f"The keyword index holds {len(orphans):,} documents that are no more.")
    if damage or of_another_catalog:
        missing = set(expected)
    if repair and (damage or of_another_catalog or orphans):
        if damage or of_another_catalog:
            lexical.clear()
        else:
            lexical.delete(orphans)
        lexical.commit(generation)
    return found, frozenset(chunk_counts[doc_id][0] for doc_id in missing)
