"""What an index folder looks like from outside, and where it may lie."""

from __future__ import annotations

import os

from .errors import SetupError

_MARKS = (("keeper.lock",), ("catalog.sqlite", "vectors.sqlite"))


def is_index(folder: str) -> bool:
    """Whether a folder holds a library's index: what lies in it is made from documents, and is none."""
    return any(all(os.path.lexists(os.path.join(folder, name)) for name in names) for names in _MARKS)


def require_apart(root: str | os.PathLike[str], index: str | os.PathLike[str]) -> None:
    """Raises `SetupError` where the documents' folder itself is to hold the index: nothing is written there."""
    if os.path.realpath(root) == os.path.realpath(index):
        raise SetupError(
            f"index.path and docs.root_path are the same folder, {os.fspath(index)}.",
            hint="Choose another folder for the index, with --index or INDEX_PATH.",
        )
