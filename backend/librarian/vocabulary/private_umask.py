"""Files of a process that only its own user may read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


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
