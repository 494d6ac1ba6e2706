"""What differs between a folder and what is known of it: by size, then time, then content.

Pure comparison: nothing is read but the bytes of files whose time alone changed, and nothing is written.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from librarian.vocabulary.errors import SourceError
from librarian.vocabulary.open_below import open_source
from librarian.vocabulary.paths import Paths
from librarian.vocabulary.protocols import Scanner
from librarian.vocabulary.types import Failure, SourceFile

Known = Mapping[str, tuple[int, int, str]]  #: file_path → (size, mtime_ns, content_hash or "" if failed)

_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})  # other errors say nothing
_BLOCK = 1 << 20
_SHOWN = 3  #: file paths that a sentence names


@dataclass(slots=True)
class FolderDiff:
    """What a look at the folder, or at a part of it, found."""

    to_read: list[SourceFile] = field(default_factory=list)  #: new, changed, or to be read again
    touched: list[SourceFile] = field(default_factory=list)  #: another time, the same content
    gone: list[str] = field(default_factory=list)  #: documents (file paths) that the folder no longer holds
    skipped: list[Failure] = field(default_factory=list)
    still_failed: set[str] = field(default_factory=set)  #: failed before and not changed since
    unchanged: int = 0  #: files that are in the index

    def sentences(self) -> list[str]:
        """What an index lacks or holds too much, for people."""
        found = []
        if self.to_read:
            found.append(f"{len(self.to_read):,} files are new or changed: {_some(f.file_path for f in self.to_read)}.")
        if self.gone:
            found.append(f"{len(self.gone):,} documents have no file any more: {_some(self.gone)}.")
        return found


def examine_folder(
    root: str, scanner: Scanner, known: Known, away: Callable[[], str]
) -> tuple[list[str], frozenset[str]]:
    """How the index differs from the folder, in sentences, and what has to be read; compares all content. `away` says
    why the folder isn't there; empty where it is."""
    try:
        diff = compare(scanner.scan(), known, doubted=frozenset(known))
    except SourceError as error:
        return [str(error)], frozenset()
    diff.gone = really_gone(diff, Paths(root).on_disk)
    if diff.gone and (why := away()):
        return [why], frozenset()
    return diff.sentences(), frozenset(source.file_path for source in diff.to_read)


def _some(paths: Iterable[str]) -> str:
    first = list(islice(paths, _SHOWN + 1))
    return ", ".join(first[:_SHOWN]) + (", …" if len(first) > _SHOWN else "")


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
    diff.gone = [path for path in looked_at if path in known and known[path][2] and path not in seen]
    return diff


def really_gone(diff: FolderDiff, on_disk: Callable[[str], str]) -> list[str]:
    """Those of `diff.gone` that the folder no longer holds. Of files in a folder that can't be looked into, as on a
    network drive that falters, nobody knows. `on_disk` gives a file path's absolute path."""
    unlisted = tuple(f"{failure.file_path}/" for failure in diff.skipped if failure.kind == "failed")
    gone = []
    for path in diff.gone:
        try:
            os.lstat(on_disk(path))
            if path.startswith(unlisted):
                continue  # else it is left out on purpose
        except OSError as error:
            if error.errno not in _NOT_THERE:
                continue
        gone.append(path)
    return gone


def hash_of(source: SourceFile) -> str:
    """SHA-256 of a file's bytes, hex; empty where it can't be read."""
    digest = hashlib.sha256()
    try:
        with open_source(source) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()
