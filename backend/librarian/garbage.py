"""When a serving process looks for garbage: not while it imports, and not in the midst of an answer."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

#: New objects until it is looked for. An answer in the making holds more than Python's 700: it would be looked through
#: once or twice in each, a twentieth of a hybrid question's time.
_NEW = 10_000


def seldom() -> None:
    """Look for garbage after as many new objects as several answers hold at once."""
    gc.set_threshold(_NEW)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """While modules are imported nothing is garbage, and looking for it costs a tenth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
