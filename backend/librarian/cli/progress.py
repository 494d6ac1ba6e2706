"""A line on stderr that says how far long work is: a bar that is rewritten on a terminal, lines elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from . import rendering
from .output import wants_plain
from .target import OnProgress

BAR = 20  #: characters
USUAL = 80  #: columns of a terminal that doesn't say
CLEAR = "\r\x1b[K"


class ProgressLine:
    """Says how far work is, as a context manager; what it has drawn on a terminal is gone at its end."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not wants_plain()
        self._drawn = False
        self._step: object = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live and self._drawn:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()

    def show(self, share: float, text: str, step: object) -> None:
        """Draws `share` (0 to 1) and `text`; where there is no terminal, only `text`, and once for each `step`."""
        if self._quiet:
            return
        if self._live:
            full = round(BAR * min(max(share, 0.0), 1.0))
            line = f"{'━' * full}{'╌' * (BAR - full)} {text}"
            # A line that wraps could not be taken back.
            sys.stderr.write(CLEAR + line[: _columns() - 1])
            self._drawn = True
        elif step != self._step:
            sys.stderr.write(text + "\n")
        self._step = step
        sys.stderr.flush()

    @property
    def indexing(self) -> OnProgress | None:
        """What to call with each progress of the keeper; None where nothing is shown."""
        return None if self._quiet else self._indexing

    def _indexing(self, progress: Mapping[str, Any]) -> None:
        if progress.get("phase", "idle") == "idle":
            return
        embedding = progress["phase"] == "embedding"
        done, total = ("chunks_embedded", "chunks_total") if embedding else ("files_done", "files_total")
        share = int(progress.get(done) or 0) / max(1, int(progress.get(total) or 0))
        self.show(share, rendering.progress_line(progress), (progress["phase"], int(10 * share)))


def _columns() -> int:
    """The width of the terminal that stderr is; what is written to stdout may go elsewhere."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or USUAL
    except OSError:  # no real file
        return USUAL
