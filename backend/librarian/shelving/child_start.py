"""Starting a child process without running the user's script again in it, wherever this process stands, nor having it
interrupted before it is ready."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker
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


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """A terminal sends Ctrl-C to children too, and what they import first would end in a traceback: here it waits until
    they have said that it is their parent's alone."""
    resource_tracker.ensure_running()  # it would let signals in again, and needs none of this itself
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
