"""What differs between a folder and what is known of it: by size, then time, then content.

Pure comparison: nothing is read but the bytes of files whose time alone changed, and nothing is written.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..errors import SourceError
from ..files.paths import Paths
from ..files.safe_open import open_source
from ..models import Failure, SourceFile
from ..storage.base import Catalog
from .scanner import FolderScanner

Known = Mapping[str, tuple[int, int, str]]  #: file_path → (size, mtime_ns, content_hash or "" if failed)

_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})  # other errors say nothing
_SHOWN = 3  #: file paths that a sentence names


@dataclass(slots=True)
class FolderDiff:
    """Differences between the folder, or a part of it, and the catalog."""

    to_read: list[SourceFile] = field(default_factory=list)  #: new, changed, or to be read again
    touched: list[SourceFile] = field(default_factory=list)  #: another time, the same content
    deleted: list[str] = field(default_factory=list)  #: documents (file paths) that the folder no longer holds
    skipped: list[Failure] = field(default_factory=list)
    still_failed: set[str] = field(default_factory=set)  #: failed before and not changed since
    unchanged: int = 0  #: files that are in the index

    def sentences(self) -> list[str]:
        """What an index lacks or holds too much, for people."""
        found = []
        if self.to_read:
            changed = [source.file_path for source in self.to_read]
            found.append(f"{len(changed):,} files are new or changed: {_some(changed)}.")
        if self.deleted:
            found.append(f"{len(self.deleted):,} documents have no file any more: {_some(self.deleted)}.")
        return found


def examine_folder(
    root: str, scanner: FolderScanner, known: Known, missing_reason: Callable[[], str]
) -> tuple[list[str], frozenset[str]]:
    """How the index differs from the folder, in sentences, and what has to be read; compares all content. `away` says
    why the folder isn't there; empty where it is."""
    try:
        diff = compare(scanner.scan(), known, doubted=frozenset(known))
    except SourceError as error:
        return [str(error)], frozenset()
    diff.deleted = deleted_paths(diff, Paths(root).on_disk)
    if diff.deleted and (why := missing_reason()):
        return [why], frozenset()
    return diff.sentences(), frozenset(source.file_path for source in diff.to_read)


def _some(paths: Sequence[str]) -> str:
    return ", ".join(paths[:_SHOWN]) + (", …" if len(paths) > _SHOWN else "")


def compare(
    found: Iterable[SourceFile | Failure],
    known: Known,
    *,
    scope: Collection[str] | None = None,
    again: Collection[str] = frozenset(),
    doubted: Collection[str] = frozenset(),
) -> FolderDiff:
    """Compare what was `found` with what is `known`.

    `scope` are the file paths that were looked at (None: all). `again` are file paths to be read whatever they look
    like. `doubted` are those whose content is compared even where size and time agree: an event says that they
    changed, and a clock tick can hold two writes.
    """
    diff = FolderDiff()
    seen: set[str] = set()
    for item in found:
        if isinstance(item, Failure):
            diff.skipped.append(item)
            continue
        seen.add(item.file_path)
        before = known.get(item.file_path)
        if before is None or item.file_path in again:
            diff.to_read.append(item)
            continue
        size, mtime_ns, content_hash = before
        same_times = (size, mtime_ns) == (item.size, item.mtime_ns)
        if same_times and (item.file_path not in doubted or not content_hash):
            if content_hash:
                diff.unchanged += 1
            else:
                diff.still_failed.add(item.file_path)
        elif size == item.size and content_hash and hash_of(item) == content_hash.partition("+")[0]:
            diff.unchanged += 1
            if not same_times:
                diff.touched.append(item)
        else:
            diff.to_read.append(item)
    looked_at = known if scope is None else scope
    diff.deleted = [path for path in looked_at if path in known and known[path][2] and path not in seen]
    return diff


def deleted_paths(diff: FolderDiff, on_disk: Callable[[str], str]) -> list[str]:
    """Those of `diff.deleted` that the folder no longer holds. Of files in a folder that can't be looked into, as on a
    network drive that falters, nobody knows. `on_disk` gives a file path's absolute path."""
    unlisted = tuple(f"{failure.file_path}/" for failure in diff.skipped if failure.kind == "failed")
    deleted = []
    for path in diff.deleted:
        try:
            os.lstat(on_disk(path))
            if path.startswith(unlisted):
                continue  # else it is left out on purpose
        except OSError as error:
            if error.errno not in _NOT_THERE:
                continue
        deleted.append(path)
    return deleted


def hash_of(source: SourceFile) -> str:
    """SHA-256 of a file's bytes, hex; empty where it can't be read."""
    try:
        with open_source(source) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


_FEW = 20  # fewer documents than this may all vanish at once
_RETENTION_S = 24 * 3600.0
_UNTIL = " Its documents are kept until it is back."
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
    """Decides whether documents of missing files are kept. `errors["root"]` is set while they are."""

    def __init__(
        self, root: str, scanner: FolderScanner, catalog: Catalog, errors: dict[str, str], clock: Callable[[], float]
    ) -> None:
        self._root = root
        self._scanner = scanner
        self._catalog = catalog
        self._errors = errors
        self._clock = clock
        self._pruning = False

    def missing_reason(self) -> str:
        """Why nothing of the library is where it was, in a sentence; empty where something is, or nothing shows that
        it wasn't deleted. Asked once a file is missing."""
        if reason := self._unreadable():
            return reason
        if not self._is_empty():
            return ""
        documents = self._held()
        return self._scarce(documents, documents) if documents >= _FEW else ""

    def judge(self, missing: int, documents: int, everything: bool) -> bool:
        """Whether to keep all documents whose files are missing. `everything`: the whole folder was looked at."""
        most = missing * 2 > documents
        reason = self._unreadable() if missing else ""
        if not reason and most and documents >= _FEW:
            if self._retention_over():
                return False
            reason = self._scarce(missing, documents)
        if reason:
            self._errors["root"] = reason
        elif everything:
            self._forget()
        return bool(reason)

    def keep(self, error: SourceError) -> str:
        """Keep everything, for the root can't be looked into; says so in a sentence."""
        self._errors["root"] = self._unreadable() or str(error)
        return self._errors["root"]

    @contextmanager
    def pruning(self) -> Iterator[None]:
        """While this lasts, what is missing in a root that can be looked into isn't kept."""
        self._pruning = True
        try:
            yield
        finally:
            self._pruning = False

    def _retention_over(self) -> bool:
        now, since = self._clock(), self._meta(_META)
        if not since or float(since) > now:  # the clock was put back
            since = str(now)
            self._catalog.set_meta(_META, since)
        if self._pruning or now - float(since) >= _RETENTION_S:
            self._forget()
            return True
        return False

    def _unreadable(self) -> str:
        try:
            self._scanner.require_root()
        except SourceError as error:
            return f"{error}{_UNTIL if self._held() else ''}"
        return ""

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
        self._errors.pop("root", None)
        if self._meta(_META):
            self._catalog.set_meta(_META, "")

    def _held(self) -> int:
        with self._catalog.read() as reader:
            count = reader.count()
        return count.documents + count.emails

    def _meta(self, key: str) -> str:
        with self._catalog.read() as reader:
            return reader.meta(key)
