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

    By default every thread has an arena, which keeps what was once needed there, and freed large arrays raise the size
    from which the next ones get pages of their own. With fixed limits what is free goes back to the system.
    """
    limit = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if limit is not None:
        limit(_M_ARENA_MAX, _ARENAS)
        limit(_M_MMAP_THRESHOLD, _APART)
        limit(_M_TRIM_THRESHOLD, _SPARE)


def give_back() -> None:
    """Return free pages to the system: batches leave holes that the heap would keep. Takes some milliseconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
