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

from ..models import OUTDATED, QUOTED_PATH, Document, Email, ReadResult, SourceFile, StoredDocument
from ..storage.base import Catalog, KeywordIndex
from ..vector_stores.sync import VectorSync
from .emails import EmailDeduplicator, Resolution


@dataclass(slots=True)
class Batch:
    """What is to become true at once."""

    put: list[ReadResult] = field(default_factory=list)
    moved: list[tuple[str, SourceFile, ReadResult]] = field(default_factory=list)  #: old path, new file, as read there
    removed: list[str] = field(default_factory=list)
    refilled: list[ReadResult] = field(default_factory=list)  #: known as they are, but missing in the keyword index
    renewing: bool = False  #: `refilled` are there, and are written anew: to be seen with the next other batch
    anew: set[str] = field(default_factory=set)  #: paths of archives in `put` that nothing is kept of: rules changed
    outdated: set[str] = field(default_factory=set)  #: set by the writer: stored mails that are to be read again

    def __len__(self) -> int:
        return len(self.put) + len(self.moved) + len(self.removed) + len(self.refilled)


#: A document whose passages stay, their ids (0 for one that isn't indexed), and the file as it was read.
_Same = tuple[StoredDocument, list[int], ReadResult]


@dataclass(slots=True)
class _Change:
    """What a batch comes to."""

    put: list[ReadResult]
    removed: list[str]  #: file paths
    archives: list[ReadResult] = field(default_factory=list)  #: to be remembered once their members are put
    same: list[_Same] = field(default_factory=list)  #: to get their keyword entries anew
    relabelled: list[int] = field(default_factory=list)  #: ids of chunks whose document has another path


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
        """Make a batch true; returns the new generation.

        A file whose `refilled` entry no longer fits the catalog's chunks is put anew; so is a moved one whose passages
        depend on its path.
        """
        change = self._sorted_out(batch)
        resolution = self._mails.resolve(change.put, change.removed)
        change.put, batch.outdated = resolution.put, resolution.outdated
        with self._catalog.read() as reader:
            generation = reader.generation
        with self._rollback_on_error(), self._catalog.transaction():
            dropped = self._store(change, resolution)
            if batch.renewing and len(batch) == len(batch.refilled) and not (change.put or change.removed):
                return generation  # only what is written anew at once leaves no deleted entries behind
            self._lexical.commit(generation + 1)
            self._fault("lexical commit")
            generation = self._catalog.bump()
        self._fault("bump")
        self._vector_sync.delete(dropped)
        if change.relabelled:
            self._vector_sync.relabel(change.relabelled)
        return generation

    def _sorted_out(self, batch: Batch) -> _Change:
        """What has to be stored and dropped for a batch, and what only gets other entries; moves are made."""
        change = _Change([one for one in batch.put if one.members is None], list(batch.removed))
        change.archives = [result for result in (*batch.put, *batch.refilled) if result.members is not None]
        refilled = {result.document.file_path for result in batch.refilled}
        for old, _, result in batch.moved:
            if result.members is not None:
                change.archives.append(result)
                change.removed.append(old)
        for archive in change.archives:
            anew = archive.document.file_path in batch.anew
            unchanged = self._open(archive, change.put, change.removed, anew=anew)
            change.same += unchanged if archive.document.file_path in refilled else []
        for result in batch.refilled:
            if result.members is not None:
                continue
            found = self._same_chunks(result.document.file_path, result)
            if found is None:
                change.put.append(result)
            else:
                change.same.append((*found, result))
        for old, source, result in batch.moved:
            if result.members is not None:
                continue
            found = None if result.document.included else self._same_chunks(old, result)
            if found is None or not self._move(old, source, found[0].document, result):
                change.put.append(result)
                change.removed.append(old)
            else:
                change.same.append((*found, result))
                change.relabelled += filter(None, found[1])
        with self._catalog.read() as reader:  # archives that single documents are in place of
            paths = (result.document.file_path for result in change.put)
            change.removed += [path for path in paths if reader.members(path)]
        return change

    def _store(self, change: _Change, resolution: Resolution) -> list[int]:
        """Bring a change into the catalog and the keyword index, not yet committed; the chunk ids that are gone."""
        if resolution.threads:
            self._catalog.rethread(resolution.threads)
        dropped_docs: list[int] = []
        dropped_chunks: list[int] = []
        if change.removed:
            docs, chunks = self._catalog.remove(change.removed)
            dropped_docs += docs
            dropped_chunks += chunks
        stored = self._catalog.put(change.put) if change.put else []
        for one in stored:
            dropped_docs += one.dropped_doc_ids
            dropped_chunks += one.dropped_chunk_ids
        for archive in change.archives:
            self._catalog.put_archive(archive.document)
        if resolution.withdrawn:
            self._catalog.withdraw(resolution.withdrawn)
            dropped_chunks += resolution.withdrawn
        if resolution.outdated:
            self._catalog.outdate(sorted(resolution.outdated))
        self._fault("catalog put")
        self._lexical.delete([*dropped_docs, *(document.doc_id for document, _, _ in change.same)])
        for one, result in zip(stored, change.put, strict=True):
            self._index(one.doc_id, one.chunk_ids, result)
        for document, chunk_ids, result in change.same:
            self._index(document.doc_id, chunk_ids, result)
        self._lexical.delete_chunks(resolution.withdrawn)
        return dropped_chunks

    @contextmanager
    def _rollback_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._lexical.rollback()  # the ids of what the catalog doesn't keep will be given again
            raise

    def _index(self, doc_id: int, chunk_ids: Sequence[int], result: ReadResult) -> None:
        self._lexical.put(
            (chunk_id, doc_id, result.document, entry)
            for chunk_id, entry in zip(chunk_ids, result.entries, strict=True)
            if chunk_id
        )

    def _open(self, archive: ReadResult, put: list[ReadResult], removed: list[str], *, anew: bool) -> list[_Same]:
        """Add what of an archive is new or changed, or all where it is put `anew`, and what it holds no more.

        Returns what stays as it is.
        """
        members = archive.members or ()
        own_path = archive.document.file_path
        with self._catalog.read() as reader:
            held = reader.members(own_path)
            if reader.document_by_path(own_path, text=False) is not None:  # one document once, as texts may become
                held = {}
                removed.append(own_path)
        same: list[_Same] = []
        paths = {result.document.file_path for result in members}
        removed += [path for path in held if path not in paths]
        for result in members:
            path = result.document.file_path
            found = self._same_chunks(path, result) if path in held and not anew else None
            if found is None or found[0].document.size == OUTDATED:
                put.append(result)
            else:
                same.append((*found, result))
        return same

    def _same_chunks(self, file_path: str, result: ReadResult) -> tuple[StoredDocument, list[int]] | None:
        """What the catalog holds under a path, where its passages are those of `result`.

        The ids are in the order of the passages; 0 for one that a mail isn't indexed with, being a copy or a quote.
        """
        with self._catalog.read() as reader:
            stored = reader.document_by_path(file_path, text=False)
            if stored is None or stored.document.content_hash != result.document.content_hash:
                return None
            chunks = reader.chunks_of(stored.doc_id)
        by_ordinal = {chunk.chunk.ordinal: chunk for chunk in chunks}
        is_mail = stored.document.email is not None
        ids: list[int] = []
        for chunk in result.chunks:
            known = by_ordinal.pop(chunk.ordinal, None)
            if known is None and is_mail and (not chunks or chunk.heading_path[:1] == QUOTED_PATH):
                ids.append(0)
            elif known is None or known.chunk != chunk:
                return None
            else:
                ids.append(known.chunk_id)
        return None if by_ordinal else (stored, ids)

    def _move(self, old: str, source: SourceFile, before: Document, result: ReadResult) -> bool:
        """Move in the catalog where nothing but path and title depends on the path; False where more does.

        Of a mail also its conversation and whether it is a copy depend on where it lies.
        """
        after = result.document
        if after.email is not None and (before.product, before.component) != (after.product, after.component):
            return False
        if any(getattr(before, name) != getattr(after, name) for name in _NOT_FROM_PATH):
            return False
        if _unthreaded(before) != _unthreaded(after):
            return False
        title = after.title if after.title != before.title else None
        return self._catalog.move(old, source, title=title) is not None


_NOT_FROM_PATH = ("kind", "file_type", "doc_type", "tags", "language", "summary", "last_modified", "title_in_text")


def _unthreaded(document: Document) -> Email | None:
    """The mail without its thread, which isn't read from the file alone."""
    return None if document.email is None else replace(document.email, thread_id="")


def as_read(source: SourceFile, result: ReadResult) -> ReadResult:
    """`result` with the size and time that the file was found with."""
    document = result.document
    if result.members is not None:
        members = tuple(as_read(source, member) for member in result.members)
        result = replace(result, members=members)
    if (document.size, document.mtime_ns) == (source.size, source.mtime_ns):
        return result
    return replace(result, document=replace(document, size=source.size, mtime_ns=source.mtime_ns))


#: Deleted entries that a keyword index may keep counting: so many, or this share of those that live. Where a frequent
#: word counted three times (911 for 302), 35 of 49 questions had other lists of hits than in an index made afresh.
FEW_DEAD, DEAD_SHARE = 1_000, 0.33


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


def is_worn(lexical: KeywordIndex) -> bool:
    """Whether deleted entries distort its word frequencies enough to write all entries anew."""
    return lexical.dead() > max(FEW_DEAD, DEAD_SHARE * lexical.count())


def repair_lexical(lexical: KeywordIndex, findings: KeywordHits, generation: int) -> None:
    """Delete what is too much; what is missing is left to a refresh that reads those files."""
    if findings.of_another_catalog or findings.damage:
        lexical.clear()
    elif findings.orphans:
        lexical.delete(findings.orphans)
    else:
        return
    lexical.commit(generation)
