"""What an index folder looks like from outside, where it may lie, and how it is made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from .errors import SetupError
from .owned_folder import Kind, claim, is_own, json_object

APPLICATION_ID: Final = 0x4C696272  #: "Libr", in the header of catalog.sqlite: tells it from any other SQLite file

_MARKS = (("daemon.lock",), ("catalog.sqlite", "vectors.sqlite"))


def is_index(folder: str) -> bool:
    """Whether a folder is a library's index or another of Librarian's own: what lies in it is made from documents, and
    is none."""
    if is_own(Path(folder)):
        return True
    return any(all(os.path.lexists(os.path.join(folder, name)) for name in names) for names in _MARKS)


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


def _is_unmarked_index(folder: Path) -> bool:
    """Whether files show that Librarian made the folder: its catalog, one of its locks, or nothing but what a backup of
    an index holds (guide/upgrading.md)."""
    if _is_catalog(folder / "catalog.sqlite") or any(_is_lock(folder / name) for name in _LOCKS):
        return True
    return all(is_own(each) or _is_kept(each) for each in list(folder.iterdir()))


def _is_kept(path: Path) -> bool:
    if path.name == "crawls":
        return path.is_dir() and all(json_object(each).keys() >= _CRAWL for each in list(path.iterdir()))
    if path.name == "ranker.json":
        return json_object(path).keys() == {"tuned_on", "model", "weights"}
    if path.name == "questions.jsonl":
        return _head(path).startswith(b'{"at": "')
    return path.name == "vectors.sqlite" and b"fingerprint TEXT NOT NULL UNIQUE, dimension INTEGER" in _head(path)


def _head(path: Path) -> bytes:
    """The first page of a database, or as much of another file."""
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def _is_catalog(path: Path) -> bool:
    header = _head(path)
    return header.startswith(b"SQLite format 3\0") and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _is_lock(path: Path) -> bool:
    found = json_object(path)
    return found.keys() == {"pid", "version"} and isinstance(found["pid"], int)


_CRAWL: Final = {"format", "project", "root_url", "records"}
_LOCKS: Final = ("daemon.lock", "starting.lock")
_INDEX: Final = Kind(
    "index",
    "librarian.vocabulary.index_folder",
    "Choose another folder, or an empty one, with --index or `index.path` (INDEX_PATH).",
    _is_unmarked_index,
)
