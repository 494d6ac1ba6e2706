"""Checks answers against the files: deleted ones are left out and changed ones marked, unless the root is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..errors import NotFound
from ..files.paths import Paths, mtime_of
from ..models import Document, Hit, Query, SearchOutcome, StoredDocument

AGAIN = 4  #: times that a question is asked anew while its answer holds what is gone


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer of files that are there, or of all where the root isn't."""

    outcome: SearchOutcome
    changed: frozenset[int] = frozenset()  #: ids of the documents that aren't any more as they were read
    root_missing: str = ""  #: why the root isn't there, as far as that mattered


@dataclass(frozen=True, slots=True)
class Files:
    """The files that answers are held against."""

    root: Paths
    notice: Callable[[Sequence[str]], None]  #: told the paths of what is gone or has changed
    root_missing: Callable[[], str]  #: why the root isn't there; empty where it is


def checked(search: Callable[[Query], SearchOutcome], asked: Query, files: Files) -> Checked:
    """The answer of a library without what is gone: other passages take its place, and the verdict is theirs."""
    deleted: set[str] = set()
    for _ in range(1 + AGAIN):
        outcome = search(
            replace(asked, filters=replace(asked.filters, absent=tuple(sorted(deleted)))) if deleted else asked
        )
        missing: list[Hit] = []
        changed: set[int] = set()
        noticed: list[str] = []
        for hit in outcome.hits:
            document = hit.document.document
            path, same = _found(document, files.root)
            if same is None:
                missing.append(hit)
            elif same:
                continue
            else:
                changed.add(hit.document.doc_id)
            noticed.append(path)
        if missing and (root_missing := files.root_missing()):
            return Checked(outcome, frozenset(changed), root_missing)
        if noticed:
            files.notice(noticed)
        if not missing:
            break
        deleted |= {_highest_deleted(hit.document.document.source, files.root) for hit in missing}
    return Checked(_without(outcome, missing, deleted) if deleted else outcome, frozenset(changed))


def has_changed(stored: StoredDocument, files: Files) -> bool:
    """Whether a document's file isn't any more as it was read. Raises `NotFound` where it is gone, unless the root
    is."""
    document = stored.document
    path, same = _found(document, files.root)
    if same or (same is None and files.root_missing()):
        return False
    files.notice([path])
    if same is None:
        copies = [path for path in stored.also_in if _there(files.root, path)]
        hint = f"The same text is in {copies[0]!r}." if copies else "Search again for where its text may be now."
        raise NotFound(f"{document.source!r} was deleted or moved since it was indexed.", hint=hint)
    return True


def present(mails: Sequence[StoredDocument], files: Files) -> list[StoredDocument]:
    """Mails whose files are there, all where the root isn't."""
    found = {stored.document.source: _found(stored.document, files.root) for stored in mails}
    if any(same is None for _, same in found.values()) and files.root_missing():
        return list(mails)
    if noticed := [path for path, same in found.values() if not same]:
        files.notice(noticed)
    return [stored for stored in mails if found[stored.document.source][1] is not None]


def _found(document: Document, root: Paths) -> tuple[str, bool | None]:
    """The path on disk of a document's file, and whether that is as it was read; None where it is gone."""
    path, seen = root.stat(document.source)
    same = seen and (seen.st_size, mtime_of(seen)) == (document.size, document.mtime_ns)
    same = same and all(root.state(one.path) == (one.size, one.mtime_ns) for one in document.included)
    return path, None if seen is None else bool(same)


def _there(root: Paths, path: str) -> bool:
    return root.stat(path)[1] is not None


def _highest_deleted(path: str, root: Paths) -> str:
    """The file, or the folder that went with all that it held."""
    while (parent := path.rpartition("/")[0]) and not _there(root, parent):
        path = parent
    return path


def _without(outcome: SearchOutcome, missing: Sequence[Hit], deleted: set[str]) -> SearchOutcome:
    """Without hits that are gone after all, and without paths that are."""
    hits = tuple(
        replace(hit, also_in=tuple(path for path in hit.also_in if path not in deleted))
        for hit in outcome.hits
        if hit not in missing
    )
    answerable = outcome.answerable if hits or not missing else "unknown"
    return replace(outcome, hits=hits, total=outcome.total - len(missing), answerable=answerable, tokens_used=0)
