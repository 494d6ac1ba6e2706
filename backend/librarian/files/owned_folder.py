"""Folders that Librarian makes, and the mark by which it recognizes them.

Librarian writes and deletes only in folders that carry its mark, and there only files that it names itself. A folder
that isn't empty and has no mark is refused, unless its content proves that an earlier version made it: then it is
marked. The folders are readable for their owner alone.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import SetupError
from .writing import write_whole

MARK: Final = "librarian-folder.json"
FORMAT: Final = 1  #: of the mark
PRIVATE: Final = 0o700

_PROGRAM: Final = "librarian"
_DAMAGED: Final = "damaged"  #: the kind of a folder that holds what was set aside
#: What lies in a folder that nobody has used yet: file systems, file managers and version control put it there.
_NOTHING: Final = frozenset({"lost+found", ".DS_Store", ".gitignore", ".gitkeep", "CACHEDIR.TAG"})
_UNFINISHED: Final = re.compile(rf"\.{re.escape(MARK)}\.\d+\.part")


def _unproven(_: Path) -> bool:
    return False


class Kind(NamedTuple):
    """A kind of folder. `proves` tells whether the content of an unmarked one shows that Librarian made it."""

    name: str
    maker: str  #: the part of Librarian that makes it
    hint: str  #: the next step where the folder is refused
    proves: Callable[[Path], bool] = _unproven


def claim(folder: Path, kind: Kind) -> None:
    """Make the folder, or take the one that is there, and mark it; it is readable for its owner alone afterwards.

    Raises `SetupError` where it is somebody else's or a file in it is a symbolic link, and `OSError` where it can't be
    made or marked.
    """
    folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    if not is_marked(folder, kind):
        require_own(folder, kind)
        try:
            _write_mark(folder, kind.name, kind.maker)
        except FileNotFoundError:  # another thread of this process has just done so
            if not is_marked(folder, kind):
                raise
    _require_no_links(folder, kind)
    make_private(folder)


def require_own(folder: Path, kind: Kind) -> None:
    """Raises `SetupError` where the folder is somebody else's or of another kind; a missing or an empty one is free."""
    try:
        unmarked = not is_marked(folder, kind) and (is_own(folder) or any(_entries(folder)))
    except FileNotFoundError:
        return
    # asked again: another process may have made the folder meanwhile, and marks it before it writes anything else
    if unmarked and not is_marked(folder, kind) and (is_own(folder) or not kind.proves(folder)):
        raise SetupError(
            f"The folder {folder} isn't empty and Librarian didn't make it as its {kind.name} folder; nothing in it "
            "was changed.",
            hint=kind.hint,
        )


def is_marked(folder: Path, kind: Kind) -> bool:
    """Whether the folder carries the mark of this kind."""
    return _mark(folder).get("kind") == kind.name


def is_own(folder: Path) -> bool:
    """Whether the folder carries a mark of Librarian's, of whatever kind."""
    return bool(_mark(folder))


def make_private(folder: Path) -> None:
    """Close a folder of one's own to other users. One on a file system without permissions stays as it is."""
    with suppress(OSError):
        found = folder.stat()
        if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o077:
            folder.chmod(PRIVATE)


def delete_files(folder: Path, kind: Kind, own: re.Pattern[str]) -> None:
    """Delete the files of a folder whose whole name matches `own`. The mark, folders and all other files stay.

    A symbolic link in the folder's place is removed, and what it leads to isn't touched. Raises `SetupError` where the
    folder is somebody else's.
    """
    if folder.is_symlink():
        folder.unlink()
        return
    require_own(folder, kind)
    for entry in list(os.scandir(folder)):
        if own.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)


def quarantine(*paths: Path, name: str = "") -> Path:
    """Move damaged files and folders of one folder, in this order, into a new one `<name>.damaged-<number>` there.

    `name` is that of the first path by default. Folders that earlier calls made for the same name are deleted, so that
    one copy is kept. Returns the new folder.
    """
    path = paths[0].with_name(name or paths[0].name)
    numbered = (path.with_name(f"{path.name}.{_DAMAGED}-{number}") for number in count(1))
    target = next(folder for folder in numbered if not os.path.lexists(folder))
    earlier = [each for each in path.parent.glob(f"{path.name}.{_DAMAGED}-*") if _mark(each).get("part") == path.name]
    target.mkdir(mode=PRIVATE)
    with suppress(OSError):  # a disk without space: then this copy is never deleted
        _write_mark(target, _DAMAGED, path.name)
    for each in paths:
        with suppress(FileNotFoundError):
            each.rename(target / each.name)
    for older in earlier:
        if not older.is_symlink():
            import shutil  # here: it takes as long as all else that a bridge imports of this package

            shutil.rmtree(older, ignore_errors=True)
    return target


def _entries(folder: Path) -> Iterator[str]:
    """Names of what somebody has put into the folder. The output of a program, `*.out`, doesn't count: Librarian's own
    may be sent there, and no file that it writes or deletes is named so."""
    return (
        name
        for name in os.listdir(folder)
        if name not in {MARK, *_NOTHING} and not _UNFINISHED.fullmatch(name) and not name.endswith(".out")
    )


def _require_no_links(folder: Path, kind: Kind) -> None:
    """What is written to a linked file is written elsewhere."""
    for entry in list(os.scandir(folder)):
        if entry.is_symlink() and not entry.is_dir():
            raise SetupError(
                f"{entry.path} is a symbolic link to a file; Librarian writes to files of its own folders alone.",
                hint=f"Remove the link. {kind.hint}",
            )


def _write_mark(folder: Path, kind: str, maker: str) -> None:
    content = {"made_by": _PROGRAM, "kind": kind, "part": maker, "format": FORMAT}
    write_whole(folder / MARK, json.dumps(content) + "\n", mode=0o600)


def _mark(folder: Path) -> dict[str, object]:
    """What the mark says; empty where there is none, or one of somebody else's."""
    found = json_object(folder / MARK)
    return found if found.get("made_by") == _PROGRAM else {}


def json_object(path: Path) -> dict[str, object]:
    """The object in a small JSON file; empty where it is none, can't be read, or holds something else."""
    try:
        known = os.lstat(path)
        found = json.loads(path.read_bytes()) if stat.S_ISREG(known.st_mode) and known.st_size < 1 << 26 else None
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


APPLICATION_ID: Final = 0x4C696272  #: "Libr", in the header of catalog.sqlite: tells it from any other SQLite file

_INDEX_FILES = (("daemon.lock",), ("catalog.sqlite", "vectors.sqlite"))


def is_index(folder: str) -> bool:
    """Whether a folder is a library's index or another of Librarian's own: what lies in it is made from documents, and
    is none."""
    if is_own(Path(folder)):
        return True
    return any(all(os.path.lexists(os.path.join(folder, name)) for name in names) for names in _INDEX_FILES)


def require_apart(root: str | os.PathLike[str], index: str | os.PathLike[str]) -> None:
    """Raises `SetupError` where the documents' folder itself is to hold the index: nothing is written there."""
    if os.path.realpath(root) == os.path.realpath(index):
        raise SetupError(
            f"index.path and docs.root_path are the same folder, {os.fspath(index)}.",
            hint="Choose another folder for the index, with --index or INDEX_PATH.",
        )


def claim_index(index: Path) -> None:
    """Make the index folder or take the one that is there; it is marked and private afterwards.

    Raises `SetupError` where it is somebody else's, and `OSError` where it can't be made or marked.
    """
    claim(index, _INDEX)


def _holds_catalog(folder: Path) -> bool:
    """Whether the folder's catalog.sqlite is Librarian's, as its header says: earlier versions marked no folder."""
    with suppress(OSError), (folder / "catalog.sqlite").open("rb") as file:
        header = file.read(72)
        return header.startswith(b"SQLite format 3\0") and header[68:] == APPLICATION_ID.to_bytes(4, "big")
    return False


_INDEX: Final = Kind(
    "index",
    "librarian.files.owned_folder",
    "Choose another folder, or an empty one, with --index or `index.path` (INDEX_PATH).",
    _holds_catalog,
)
