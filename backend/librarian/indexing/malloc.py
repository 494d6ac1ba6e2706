"""The C library's heap: few arenas, and made to give back what is free. What isn't glibc needs none of this."""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # malloc.h
_ARENAS = 2
_APART = 4 * 1024 * 1024  # bytes; a question's own arrays are smaller, those that vectors are read with larger
_SPARE = _APART  # bytes that each arena keeps at its end


def keep_small() -> None:
    """Two arenas for all threads of this process, and large arrays apart from them; to be called before they start.

    By default each of the first threads, eight per processor, gets one of its own, which keeps what was once needed
    there, also when the thread is long gone. Threads that mostly wait for the interpreter's lock need no more.

    Large arrays get pages of their own, which go back as soon as they are freed: by default the first of them that is
    freed makes the C library put the next ones of its size among all the small ones. With that it also stops learning
    how much to keep free, and what a question needs would come from the system and go back each time: 900 page faults,
    2 ms of the processor.
    """
    limit = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if limit is not None:
        limit(_M_ARENA_MAX, _ARENAS)
        limit(_M_MMAP_THRESHOLD, _APART)
        limit(_M_TRIM_THRESHOLD, _SPARE)


def give_back() -> None:
    """Return free pages to the system, which takes some milliseconds.

    What was loaded, read or embedded in batches leaves holes that the heap would keep.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
