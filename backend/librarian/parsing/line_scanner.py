"""Going through the lines of a text whose blocks follow from how its lines begin."""

from __future__ import annotations

from typing import Literal

from ..models import Block, Excluded, Heading

Kind = Literal["heading", "paragraph", "list", "table", "fence", "quote", "other"]


class LineScanner:
    """Scans one text; `blocks`, `headings` and `excluded` hold the result.

    A subclass takes lines by `_line`. It may change `_shown`, the lines as they are put into the text, as far as the
    one that it looks at.
    """

    def __init__(self, text: str) -> None:
        self.blocks: list[Block] = []
        self.headings: list[Heading] = []
        self.excluded: list[Excluded] = []
        self._lines, self._shown = text.split("\n"), text.split("\n")
        self._starts = [0]
        self._kind: Kind | None = None  # of the open block
        self._first = self._last = 0  # its lines

    def scan(self) -> str:
        """Go through all lines; returns the text."""
        number = 0
        while number < len(self._lines):
            line = self._lines[number]
            if not line or line.isspace():
                self._close()
                number += 1
            else:
                number = self._line(number, line)
        self._close()
        return "\n".join(self._shown)

    def _line(self, number: int, line: str) -> int:
        """Take the line `number` and what belongs to it; returns the next line to look at."""
        raise NotImplementedError

    def _close(self) -> None:
        if self._kind is not None:
            self._add(self._kind, self._first, self._last)
        self._kind = None

    def _add(self, kind: Kind, first: int, last: int, header_end: int | None = None) -> int:
        """Add a block; returns the line behind it."""
        self.blocks.append(Block(kind, self._start(first), self._end(last), header_end))
        return last + 1

    def _hidden(self, first: int, last: int, reason: str) -> int:
        """Add a block that no reader sees; returns the line behind it."""
        self._close()
        self.excluded.append(Excluded(self._start(first), self._end(last), reason))
        return self._add("other", first, last)

    def _below(self, number: int) -> str:
        """The line below, empty where there is none."""
        return self._lines[number + 1] if number + 1 < len(self._lines) else ""

    def _start(self, number: int) -> int:
        while len(self._starts) <= number:
            self._starts.append(self._starts[-1] + len(self._shown[len(self._starts) - 1]) + 1)
        return self._starts[number]

    def _end(self, number: int) -> int:
        return self._start(number) + len(self._shown[number])
