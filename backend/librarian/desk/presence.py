"""Answers held against the files: what is gone isn't shown, what has changed is marked, and both are looked at soon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..vocabulary.errors import NotFound
from ..vocabulary.paths import Paths, mtime_of
from ..vocabulary.types import Document, Hit, Query, SearchOutcome, StoredDocument

AGAIN = 4  #: times that a question is asked anew while its answer holds what is gone
_ITSELF = "."  # the root as a place that can be looked into: one that is closed to us tells nothing of its files


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer of files that are there."""

    outcome: SearchOutcome
    changed: frozenset[int] = frozenset()  #: ids of the documents that aren't any more as they were read


def checked(
    search: Callable[[Query], SearchOutcome], asked: Query, root: Paths, notice: Callable[[Sequence[str]], None]
) -> Checked:
    """The answer of a library without what is gone: other passages take its place, and the verdict is theirs.

    `notice` is told the paths of files that are gone or have changed. Without a root nothing counts as gone.
    """
    gone: set[str] = set()
    for _ in range(1 + AGAIN):
        outcome = search(replace(asked, filters=replace(asked.filters, absent=tuple(sorted(gone)))) if gone else asked)
        missing: list[Hit] = []
        changed: set[int] = set()
        noticed: list[str] = []
        for hit in outcome.hits if _there(root, _ITSELF) else ():
            document = hit.document.document
            path, same = _found(document, root)
            if same is None:
                missing.append(hit)
            elif same:
                continue
            else:
                changed.add(hit.document.doc_id)
            noticed.append(path)
        if noticed:
            notice(noticed)
        if not missing:
            break
        gone |= {_highest_gone(hit.document.document.source, root) for hit in missing}
    return Checked(_without(outcome, missing, gone) if gone else outcome, frozenset(changed))


def has_changed(stored: StoredDocument, root: Paths, notice: Callable[[Sequence[str]], None]) -> bool:
    """Whether a document's file isn't any more as it was read. Raises `NotFound` where it is gone, unless the root is.

    `notice` is told its path in both cases.
    """
    document = stored.document
    path, same = _found(document, root)
    if same or not _there(root, _ITSELF):
        return False
    notice([path])
    if same is None:
        copies = [path for path in stored.also_in if _there(root, path)]
        hint = f"The same text is in {copies[0]!r}." if copies else "Search again for where its text may be now."
        raise NotFound(f"{document.source!r} was deleted or moved since it was indexed.", hint=hint)
    return True


def present(
    mails: Sequence[StoredDocument], root: Paths, notice: Callable[[Sequence[str]], None]
) -> list[StoredDocument]:
    """Mails whose files are there, all where the root isn't; `notice` is told the paths of what isn't as it was."""
    if not _there(root, _ITSELF):
        return list(mails)
    found = {stored.document.source: _found(stored.document, root) for stored in mails}
    if noticed := [path for path, same in found.values() if not same]:
        notice(noticed)
    return [stored for stored in mails if found[stored.document.source][1] is not None]


def _found(document: Document, root: Paths) -> tuple[str, bool | None]:
    """The path on disk of a document's file, and whether that is as it was read; None where it is gone."""
    path, seen = root.stat(document.source)
    same = seen and (seen.st_size, mtime_of(seen)) == (document.size, document.mtime_ns)
    return path, None if seen is None else bool(same)


def _there(root: Paths, path: str) -> bool:
    return root.stat(path)[1] is not None


def _highest_gone(path: str, root: Paths) -> str:
    """The file, or the folder that went with all that it held."""
    while (parent := path.rpartition("/")[0]) and not _there(root, parent):
        path = parent
    return path


def _without(outcome: SearchOutcome, missing: Sequence[Hit], gone: set[str]) -> SearchOutcome:
    """Without hits that are gone after all, and without paths that are."""
    hits = tuple(
        replace(hit, also_in=tuple(path for path in hit.also_in if path not in gone))
        for hit in outcome.hits
        if hit not in missing
    )
    answerable = outcome.answerable if hits or not missing else "unknown"
    return replace(outcome, hits=hits, total=outcome.total - len(missing), answerable=answerable, tokens_used=0)
