"""Opens files below a folder without following symbolic links, so that no path leads outside of the folder.

Each part of a path is opened relative to the one above it, because a part of a checked path can be swapped for a link
before it is opened by its name.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import Final

from ..models import SourceFile
from .paths import mtime_of

#: Linux needs only search permission for a handle of this kind; elsewhere a folder is opened for reading.
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = (
    os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
)  #: a pipe would block an ordinary open for ever

#: Numbers of the errors that say that a link, a folder or another file stands where the file was.
REPLACED: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ESTALE})


def open_below(root: str, path: str, flags: int = 0) -> int:
    """A file descriptor of `path`, which is relative to the folder `root`; empty for that folder. Raises `OSError`.

    Neither `root` nor a part of `path` may be a symbolic link (the error is then `ELOOP` or `ENOTDIR`).
    """
    with _parent(root, path) as (folder, name):
        return os.open(name, _FILE | flags, dir_fd=folder)


def open_source(source: SourceFile) -> BufferedReader:
    """A found file, opened for reading. Raises `OSError`, with `ESTALE` where it isn't the file that was found.

    A `SourceFile` without a root, which no scan has found, is opened by its path.
    """
    if not source.root:
        return open(source.path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK))
    descriptor = open_below(source.root, source.below)
    try:
        now = os.fstat(descriptor)
        if (now.st_dev, now.st_ino) != (source.device, source.inode):
            raise OSError(errno.ESTALE, "another file stands in its place since the folder was scanned")
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def is_unchanged(source: SourceFile) -> bool:
    """Whether the file still is the one that was found, with the size and time that it had then."""
    try:
        if source.root:
            with _parent(source.root, source.below) as (folder, name):
                now = os.stat(name, dir_fd=folder, follow_symlinks=False)
        else:
            now = os.stat(source.path)
    except OSError:
        return False
    same_file = not source.root or (now.st_dev, now.st_ino) == (source.device, source.inode)
    return same_file and (now.st_size, mtime_of(now)) == (source.size, source.mtime_ns)


@contextmanager
def _parent(root: str, path: str) -> Iterator[tuple[int, str]]:
    """(a handle of the folder that `path` lies in, its name there)."""
    *folders, name = path.split(os.sep) if path else ["."]
    if path and not {"", ".", ".."}.isdisjoint((*folders, name)):
        raise OSError(errno.EINVAL, "not a plain path below a folder", path)
    folder = os.open(root, _FOLDER)
    try:
        for part in folders:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder, name
    finally:
        os.close(folder)
