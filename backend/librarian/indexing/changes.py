"""What differs between a folder and what is known of it, and which documents of missing files are kept.

Compares by size, then time, then content. Nothing is read but the bytes of files whose time alone changed.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ..errors import SourceError
from ..files.safe_open import open_source
from ..models import Failure, SourceFile
from ..storage.base import Catalog
from .log import ErrorLog
from .scanner import FolderScanner

Known = Mapping[str, tuple[int, int, str]]  #: file_path → (size, mtime_ns, content_hash or "" if failed)

_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})  # other errors say nothing


@dataclass(slots=True)
class FolderDiff:
    """Differences between the folder, or a part of it, and the catalog."""

    to_read: list[SourceFile] = field(default_factory=list)  #: new, changed, or to be read again
    touched: list[SourceFile] = field(default_factory=list)  #: another time, the same content
    #: documents that the folder no longer holds → whether they are missing; else they are left out on purpose
    deleted: dict[str, bool] = field(default_factory=dict)
    skipped: list[Failure] = field(default_factory=list)
    still_failed: set[str] = field(default_factory=set)  #: failed before and not changed since
    unchanged: int = 0  #: files that are in the index


def compare(
    found: Iterable[SourceFile | Failure],
    known: Known,
    on_disk: Callable[[str], str],
    *,
    looked_at: Callable[[str], bool] = lambda path: True,
    again: Collection[str] = frozenset(),
    doubted: Collection[str] = frozenset(),
) -> FolderDiff:
    """Compare what was `found` with what is `known`.

    `on_disk` gives the absolute path of a file path, `looked_at` tells which file paths were looked for. `again` are
    file paths to be read whatever they look like. `doubted` are those whose content is compared even where size and
    time agree: an event says that they changed, and a clock tick can hold two writes.
    """
    diff = FolderDiff()
    seen: set[str] = set()
    for item in found:
        if isinstance(item, Failure):
            diff.skipped.append(item)
            continue
        path = item.file_path
        seen.add(path)
        if path not in known or path in again:
            diff.to_read.append(item)
            continue
        size, mtime_ns, content_hash = known[path]
        same_times = (size, mtime_ns) == (item.size, item.mtime_ns)
        if same_times and not content_hash:
            diff.still_failed.add(path)
        elif same_times and path not in doubted:
            diff.unchanged += 1
        elif size == item.size and content_hash and _hash_of(item) == content_hash.partition("+")[0]:
            diff.unchanged += 1
            if not same_times:
                diff.touched.append(item)
        else:
            diff.to_read.append(item)
    unlisted = tuple(f"{failure.file_path}/" for failure in diff.skipped if failure.kind == "failed")
    for path, (_, _, content_hash) in known.items():
        if content_hash and path not in seen and looked_at(path):
            try:
                os.lstat(on_disk(path))
            except OSError as error:  # of what can't be looked at, as on a drive that falters, nobody knows
                if error.errno in _NOT_THERE:
                    diff.deleted[path] = True
            else:
                if not path.startswith(unlisted):
                    diff.deleted[path] = False
    return diff


def _hash_of(source: SourceFile) -> str:
    """SHA-256 of a file's bytes, hex; empty where it can't be read."""
    try:
        with open_source(source) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


_FEW = 20  # fewer files than this may all vanish at once
_RETENTION_S = 24 * 3600.0
_SINCE = "missing_since"  # in the catalog: seconds since the epoch; empty while nothing is missing


@dataclass(frozen=True, slots=True)
class MissingFiles:
    """Decides whether documents of missing files are kept: while the root can't be looked into, and for a day where
    more than half of many files are gone at once. `errors["root"]` says so."""

    root: str
    scanner: FolderScanner
    catalog: Catalog
    errors: ErrorLog
    clock: Callable[[], float]  #: seconds since the epoch

    def missing_reason(self) -> str:
        """Why nothing of the library is where it was, in a sentence; empty where something is, or nothing shows that
        it wasn't deleted. Asked once a file is missing."""
        reason, held = self._unreadable(), self._held()
        if reason or held < _FEW:
            return reason
        try:
            empty = not os.listdir(self.root)  # as the place is where something was mounted
        except OSError:
            empty = False
        return self._scarce(held, held) if empty else ""

    def judge(self, missing: int, *, everything: bool, prune: bool) -> bool:
        """Whether to keep all documents whose files are missing. `everything`: the whole folder was looked at; with
        `prune`, what is missing in a root that can be looked into isn't kept."""
        reason, held = self._unreadable() if missing else "", self._held()
        if not reason and missing * 2 > held >= _FEW and not prune and not self._retention_over():
            reason = self._scarce(missing, held)
        if reason:
            self.errors.note("root", reason)
        elif everything or missing * 2 > held:
            self.errors.note("root", "")
            if self.catalog.meta(_SINCE):
                self.catalog.set_meta(_SINCE, "")
        return bool(reason)

    def keep(self, error: SourceError) -> str:
        """Keep everything, for the root can't be looked into; says so in a sentence."""
        reason = self._unreadable() or str(error)
        self.errors.note("root", reason)
        return reason

    def _retention_over(self) -> bool:
        now, since = self.clock(), self.catalog.meta(_SINCE)
        if not since or float(since) > now:  # the clock was put back
            self.catalog.set_meta(_SINCE, str(now))
            return False
        return now - float(since) >= _RETENTION_S

    def _unreadable(self) -> str:
        try:
            self.scanner.require_root()
        except SourceError as error:
            return f"{error} Its documents are kept until it is back." if self._held() else str(error)
        return ""

    def _scarce(self, missing: int, held: int) -> str:
        return (
            f"{missing:,} of {held:,} files are missing below {self.root}; their documents are kept."
            " Mount or restore the folder, or run `librarian index --prune` to drop them."
        )

    def _held(self) -> int:
        with self.catalog.read() as reader:
            return reader.file_count()
