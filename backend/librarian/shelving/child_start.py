"""Starting a child process without running the user's script again in it, wherever this process stands."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from librarian.vocabulary.working_directory import leave_deleted

_main_hidden = threading.Lock()


@contextlib.contextmanager
def without_main() -> Iterator[None]:
    """Children import the factory's module only. They would run a user's script again, which opens a library."""
    leave_deleted()
    main = sys.modules["__main__"]
    with _main_hidden:
        hidden: dict[str, Any] = {
            name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__
        }
        main.__spec__ = None
        try:
            yield
        finally:
            main.__dict__.update(hidden)
