"""Tells files that were deleted from a library that isn't there: a volume not mounted, a folder renamed.

Where the root can't be looked into, or more than half of the documents are missing and the volume that they were read
from isn't mounted any more, all are kept until it is back. Where more than half of at least 20 documents are missing at
once, all are kept for 24 hours. Both are said. Where the root is named anew, what lies there tells a library that was
moved from another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from librarian.vocabulary.errors import SourceError
from librarian.vocabulary.protocols import Catalog, Scanner

Clock = Callable[[], float]

_FEW = 20  # fewer documents than this may all vanish at once
_KEPT_S = 24 * 3600.0
_UNTIL = " Its documents are kept until it is back."
_META = "missing_since"  # seconds since the epoch; empty while nothing is missing
_MOUNT = "mounted at"  # the volume that the root was on at the last look at everything; empty for the system's own


def is_moved(held: str, root: str, catalog: Catalog) -> bool:
    """Whether the library of `held` lies in `root` now: both are one folder, or the first is gone and most of its files
    are in the second.
    """
    if os.path.lexists(held):
        return os.path.exists(root) and os.path.exists(held) and os.path.samefile(held, root)
    with catalog.read() as reader:
        there = [os.path.lexists(os.path.join(root, each.document.source)) for each in reader.iter_documents()]
    return sum(there) * 2 > len(there)


class MissingFiles:
    """Judges what is missing. `problems["root"]` is set while it is kept."""

    def __init__(self, root: str, scanner: Scanner, catalog: Catalog, problems: dict[str, str], clock: Clock) -> None:
        self._root = root
        self._scanner = scanner
        self._catalog = catalog
        self._problems = problems
        self._clock = clock
        self._pruning = False

    def away(self) -> str:
        """Why nothing of the library is where it was, in a sentence; empty where something is, or nothing shows that
        it wasn't deleted. Asked once a file is missing."""
        if problem := self._unreadable():
            return problem
        if not self._is_empty():
            return ""
        documents = self._held()
        return self._unmounted() or (self._scarce(documents, documents) if documents >= _FEW else "")

    def judge(self, missing: int, documents: int, everything: bool) -> bool:
        """Whether to keep all documents whose files are missing. `everything`: the whole folder was looked at."""
        most = missing * 2 > documents
        if missing and (problem := self._unreadable()):
            return self._keep(problem)
        if most and not self._pruning and (problem := self._unmounted()):
            return self._keep(problem)
        if most and documents >= _FEW:
            return self._keep_a_day(self._scarce(missing, documents))
        if everything:
            self._forget()
        return False

    def keep(self, error: SourceError) -> str:
        """Keep everything, for the root can't be looked into; says so in a sentence."""
        problem = self._unreadable() or str(error)
        self._keep(problem)
        return problem

    @contextmanager
    def pruning(self) -> Iterator[None]:
        """While this lasts, what is missing in a root that can be looked into isn't kept."""
        self._pruning = True
        try:
            yield
        finally:
            self._pruning = False

    def _keep(self, problem: str) -> bool:
        self._problems["root"] = problem
        return True

    def _keep_a_day(self, problem: str) -> bool:
        now, since = self._clock(), self._meta(_META)
        if not since or float(since) > now:  # the clock was put back
            since = str(now)
            self._catalog.set_meta(_META, since)
        if self._pruning or now - float(since) >= _KEPT_S:
            self._forget()
            return False
        return self._keep(problem)

    def _unreadable(self) -> str:
        try:
            self._scanner.require_root()
        except SourceError as error:
            return f"{error}{_UNTIL if self._held() else ''}"
        return ""

    def _unmounted(self) -> str:
        mount = self._meta(_MOUNT)
        if not mount or os.path.ismount(mount):
            return ""
        return (
            f"Nothing is mounted at {mount} any more, which held the library; its documents are kept."
            " Mount it, or run `librarian index --prune` to drop them."
        )

    def _is_empty(self) -> bool:
        """As the place is where something was mounted."""
        try:
            with os.scandir(self._root) as entries:
                return next(entries, None) is None
        except OSError:
            return False

    def _scarce(self, missing: int, documents: int) -> str:
        return (
            f"{missing:,} of {documents:,} files are missing below {self._root}; their documents are kept."
            " Mount or restore the folder, or run `librarian index --prune` to drop them."
        )

    def _forget(self) -> None:
        self._problems.pop("root", None)
        if self._meta(_META):
            self._catalog.set_meta(_META, "")
        mount = _mount_of(self._root)
        if self._meta(_MOUNT) != mount:
            self._catalog.set_meta(_MOUNT, mount)

    def _held(self) -> int:
        with self._catalog.read() as reader:
            count = reader.count()
        return count.documents + count.emails

    def _meta(self, key: str) -> str:
        with self._catalog.read() as reader:
            return reader.meta(key)


def _mount_of(path: str) -> str:
    """Where the volume that holds a folder is mounted; empty for the one that holds the system."""
    path = os.path.realpath(path)
    while not os.path.ismount(path) and (above := os.path.dirname(path)) != path:
        path = above
    return "" if path == os.path.dirname(path) else path
