"""Products that are copies: files of a repository or folder below the library's root, and where they came from.

What a copy consists of is written down before its first file, so an interrupted one can be continued or removed.
Files that somebody changed or put there are never overwritten or deleted.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from ..errors import CallerError, Damaged, NotFound, Unavailable
from ..files.owned_folder import claim_index
from ..files.writing import write_whole
from ..parsing.email.parser import format_of
from ..parsing.metadata import iso
from ..parsing.reader import READABLE
from . import git

FOLDER = "sources"  #: within the index folder
_WORK = "work-"  #: begins the names of folders that files are fetched into


@dataclass(slots=True)
class Source:
    """A product's origin: `address` of a repository or path of a folder, and what was copied from it.

    `files` are paths below the product with the hash of their content, as they were written; `incoming` are those that
    an unfinished copy was about to write.
    """

    product: str
    address: str
    folder: str = ""
    version: str = ""
    commit: str = ""
    updated: str = ""
    files: dict[str, str] = field(default_factory=dict)
    incoming: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What an update did, in numbers of files; `preserved` are files that were changed by somebody else and stay."""

    product: str
    address: str
    version: str
    commit: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    preserved: tuple[str, ...] = ()


_STATE = TypeAdapter(Source)


class Copies:
    """The copied products of one library. Commands on them wait for each other."""

    def __init__(self, root: Path, index: Path) -> None:
        self._root, self._index = root, index
        self._place = index / FOLDER

    def all(self) -> list[Source]:
        """All sources, by product."""
        return [self._load(path) for path in sorted(self._place.glob("*.json"))]

    def get(self, product: str) -> Source:
        """The source of a product. Raises `NotFound` if it wasn't added."""
        path = self._place / f"{product}.json"
        if not path.is_file():
            raise NotFound(f"{product!r} was not added.", hint="librarian libraries lists what was.")
        return self._load(path)

    def add(self, product: str, address: str, folder: str = "", version: str = "") -> CopyReport:
        """Copy the documentation at an address into a new product, or continue an interrupted copy of it.

        Raises `CallerError` if the product's folder holds something else, or there is nothing to copy.
        """
        path = self._place / f"{product}.json"
        if path.is_file():
            source = self._load(path)
            if (source.address, source.folder, source.version) != (address, folder, version):
                raise CallerError(
                    f"The product {product!r} is a copy of {source.address} already.",
                    hint="Choose another --name, or update it: librarian libraries --update.",
                )
        elif (self._root / product).exists():
            raise CallerError(f"The library has a folder {product!r} already.", hint="Choose another --name.")
        else:
            source = Source(product, address, folder, version)
        return self._copy(source)

    def update(self, product: str) -> CopyReport:
        """Bring a product up to date. Raises `NotFound` if it wasn't added."""
        return self._copy(self.get(product))

    def remove(self, product: str) -> int:
        """Delete a product's files, but those that somebody changed, and forget it; the number of deleted files."""
        source = self.get(product)
        with self._working():
            removed = sum(self._delete(source, name) for name in {**source.files, **source.incoming})
            (self._place / f"{product}.json").unlink()
        return removed

    def _copy(self, source: Source) -> CopyReport:
        with self._working() as work:
            origin, commit = self._origin(source, work)
            if commit and commit == source.commit and not source.incoming and self._is_whole(source):
                return self._report(source, unchanged=len(source.files))
            found = dict(self._readable(origin))
            if not found:
                raise CallerError(
                    f"{source.address} holds no readable file{f' in {source.folder}' if source.folder else ''}.",
                    hint="Name another folder with --path.",
                )
            interrupted = source.incoming
            source.files |= {name: new for name, new in interrupted.items() if _hash(self._file(source, name)) == new}
            before = dict(source.files)
            source.incoming = {name: _hash(path) for name, path in found.items()}
            self._save(source)
            preserved = {name for name in {**before, **found} if not self._is_ours(source, name)}
            for name, path in found.items():
                if name not in preserved and _hash(self._file(source, name)) != source.incoming[name]:
                    self._write(self._file(source, name), path)
            deleted = before.keys() - found.keys() - preserved
            for name in deleted | (interrupted.keys() - found.keys()):  # of these a page may be half written
                self._delete(source, name)
            added = found.keys() - before.keys() - preserved
            changed = {
                name for name in found.keys() & before.keys() if before[name] != source.incoming[name]
            } - preserved
            source.files = {name: content for name, content in source.incoming.items() if name not in preserved}
            source.incoming, source.commit, source.updated = {}, commit, iso(dt.datetime.now(dt.UTC))
            self._save(source)
            unchanged = len(found.keys() - added - changed - preserved)
            numbers = {"added": len(added), "changed": len(changed), "removed": len(deleted), "unchanged": unchanged}
            return self._report(source, tuple(sorted(preserved)), **numbers)

    def _origin(self, source: Source, work: Path) -> tuple[Path, str]:
        """The folder to copy, and its commit; a folder of this machine has none."""
        if (address := git.parse(source.address)) is None:
            origin = Path(source.address) / source.folder
            if not origin.is_dir():
                raise Unavailable(
                    f"{origin} is no folder (any more); its copy stays.", hint="Bring it back, or remove it."
                )
            return origin, ""
        address = git.Address(address.repository, source.folder, source.version)
        if source.commit and not source.incoming and git.latest(address) == source.commit and self._is_whole(source):
            return work, source.commit
        commit, folder = git.fetch(address, work)
        return work / folder, commit

    def _readable(self, origin: Path) -> Iterator[tuple[str, Path]]:
        """Files in a format that is indexed, none of them hidden or a link, by their path below `origin`."""
        for folder, folders, names in os.walk(origin):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(folder, name)
                if name.startswith(".") or format_of(name, READABLE) not in READABLE or path.is_symlink():
                    continue
                if path.is_file():
                    yield path.relative_to(origin).as_posix(), path

    def _file(self, source: Source, name: str) -> Path:
        return self._root / source.product / name

    def _is_ours(self, source: Source, name: str) -> bool:
        """Whether a file is as a copy wrote it, or isn't there."""
        path = self._file(source, name)
        if not os.path.lexists(path):
            return True
        return (
            path.is_file()
            and not path.is_symlink()
            and _hash(path) in (source.files.get(name), source.incoming.get(name))
        )

    def _is_whole(self, source: Source) -> bool:
        return all(self._file(source, name).is_file() for name in source.files)

    def _write(self, path: Path, origin: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(origin, _unfinished(path), follow_symlinks=False)
            _unfinished(path).replace(path)
        finally:
            _unfinished(path).unlink(missing_ok=True)

    def _delete(self, source: Source, name: str) -> bool:
        path = self._file(source, name)
        _unfinished(path).unlink(missing_ok=True)
        is_deleted = path.is_file() and self._is_ours(source, name)
        if is_deleted:
            path.unlink()
        for folder in path.parents:
            if folder == self._root or not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()
        return is_deleted

    @contextmanager
    def _working(self) -> Iterator[Path]:
        """An empty folder to fetch into, which is removed afterwards, as are those of runs that were killed."""
        claim_index(self._index)
        self._place.mkdir(mode=0o700, exist_ok=True)
        try:
            with FileLock(self._place / "lock", timeout=0.2):
                for left in self._place.glob(f"{_WORK}*"):
                    shutil.rmtree(left, ignore_errors=True)
                with tempfile.TemporaryDirectory(prefix=_WORK, dir=self._place, ignore_cleanup_errors=True) as work:
                    yield Path(work)
        except Timeout as error:
            raise Unavailable(
                "Another command changes this library's sources.", hint="Try again when it is done."
            ) from error

    def _save(self, source: Source) -> None:
        write_whole(self._place / f"{source.product}.json", _STATE.dump_json(source, exclude_defaults=True).decode())

    def _load(self, path: Path) -> Source:
        try:
            source = _STATE.validate_json(path.read_bytes())
            if source.product != path.stem or any(
                ".." in name.split("/") for name in {**source.files, **source.incoming}
            ):
                raise ValueError("it names files outside its product")
            return source
        except (OSError, ValueError) as error:
            raise Damaged(
                f"{path} can't be read: {error}.", hint="Delete it, and the product's folder, and add it again."
            ) from error

    def _report(self, source: Source, preserved: tuple[str, ...] = (), **numbers: int) -> CopyReport:
        return CopyReport(source.product, source.address, source.version, source.commit, preserved=preserved, **numbers)


def _unfinished(path: Path) -> Path:
    """Where a file is written before it is put in its place; a hidden name, which is not indexed."""
    return path.with_name(f".{path.name}.part")


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except FileNotFoundError:
        return ""
