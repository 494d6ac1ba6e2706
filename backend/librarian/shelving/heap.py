"""The C library's heap: few arenas, and made to give back what is free. What isn't glibc needs neither."""

from __future__ import annotations

import ctypes
import sys

_M_ARENA_MAX = -8  # malloc.h
_ARENAS = 2


def few_arenas() -> None:
    """Let all threads of this process allocate from two arenas; to be called before they start.

    By default each of the first threads, eight per processor, gets one of its own, which keeps what was once needed
    there, also when the thread is long gone. Threads that mostly wait for the interpreter's lock need no more.
    """
    limit = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if limit is not None:
        limit(_M_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Return free pages to the system, which takes some milliseconds.

    What was loaded, read or embedded in batches leaves holes that the heap would keep.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
