"""A file that is put in place whole: no reader sees half of it, and a kill leaves the old one or the new one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write `text` as UTF-8 beside `path`, then put it in its place; where that fails nothing is left behind.

    `mode`: permissions, where they aren't to be those of a new file. Raises `OSError` where it can't be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, "utf-8")
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def private_umask() -> Iterator[None]:
    """Within this block files and folders that the process or its children make are for its user alone.

    For a process of Librarian's own, before it starts threads: the setting is the whole process's.
    """
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
