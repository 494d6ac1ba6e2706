"""Tells files that were deleted from a library that isn't there: a volume not mounted, a folder renamed.

Where more than half of at least 20 documents are missing at once, or the root itself is, all are kept for 24 hours, and
the problem is said. Where the root is named anew, what lies there tells a library that was moved from another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from librarian.vocabulary.protocols import Catalog

_FEW = 20  # fewer documents than this may all vanish at once
_KEPT_S = 24 * 3600.0
_META = "missing_since"  # seconds since the epoch; empty while nothing is missing


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

    def __init__(self, root: str, catalog: Catalog, problems: dict[str, str], clock: Callable[[], float]) -> None:
        self._root = root
        self._catalog = catalog
        self._problems = problems
        self._clock = clock
        self._pruning = False

    def judge(self, missing: int, documents: int, everything: bool) -> bool:
        """Whether to keep all documents whose files are missing. `everything`: the whole folder was looked at."""
        if documents >= _FEW and missing * 2 > documents:
            return self.keep(
                f"{missing:,} of {documents:,} files are missing below {self._root}; their documents are kept."
                " Mount or restore the folder, or run `librarian index --prune` to drop them."
            )
        if everything:
            self._forget()
        return False

    def keep(self, problem: str) -> bool:
        """Whether to keep everything because of `problem`; False once it has lasted too long."""
        with self._catalog.read() as reader:
            since = reader.meta(_META)
        if not since:
            since = str(self._clock())
            self._catalog.set_meta(_META, since)
        if self._pruning or self._clock() - float(since) >= _KEPT_S:
            self._forget()
            return False
        self._problems["root"] = problem
        return True

    @contextmanager
    def pruning(self) -> Iterator[None]:
        """While this lasts, nothing is kept."""
        self._pruning = True
        try:
            yield
        finally:
            self._pruning = False

    def _forget(self) -> None:
        self._problems.pop("root", None)
        with self._catalog.read() as reader:
            since = reader.meta(_META)
        if since:
            self._catalog.set_meta(_META, "")
