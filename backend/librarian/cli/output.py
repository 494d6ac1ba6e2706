"""What a command writes: styled on a terminal, plain lines when piped.

rich is imported only where a terminal is there to see it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TextIO

from ..text.sanitizing import visible

GAP = 2  #: blanks between two columns of a table

WRAPPED = 60  #: letters of a line that was broken because it was full, not because it ends there
_BREAKS = re.compile("[\n\r\u2028\u2029]")
_ITSELF = re.compile(r"\s*([-*+>|#=~^]|\d+[.)]\s|\.\. )| {4}|\t")  #: a line that doesn't go on with the one before
_WHOLE = re.compile(r"\s*[|#>]| {4}|\t")  #: a line that the next one doesn't go on with

Span = tuple[int, int]
_PLAIN: ContextVar[bool] = ContextVar("plain", default=False)


def choose_plain(plain: bool) -> None:
    """What `--plain` says: lines as in a pipe, although a terminal is there."""
    _PLAIN.set(plain)


def wants_plain() -> bool:
    """Whether plain lines were asked for."""
    return _PLAIN.get()


class Page:
    """Lines for people. On a terminal they are styled and wrapped by rich; in a pipe they are plain and uncut."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._console: Any = None
        if self._stream.isatty() and not wants_plain():
            from rich.console import Console

            self._console = Console(file=self._stream, highlight=False)

    @property
    def styled(self) -> bool:
        """Whether a terminal is there, and styles are wanted."""
        return self._console is not None

    def line(self, *parts: str | tuple[str, str], indent: int = 0, hang: int = 0) -> None:
        """One line of parts; a part may be (text, style). Where a terminal wraps, it goes on `hang` columns further.

        What would break the line or write over it, as a file's name may hold it, is shown as something that was there.
        """
        styled = ((part, "") if isinstance(part, str) else part for part in parts)
        pairs = [(_BREAKS.sub("\ufffd", visible(text)), style) for text, style in styled]
        if self._console is None:
            self._stream.write((" " * indent + "".join(text for text, _ in pairs)).rstrip() + "\n")
            return
        from rich.padding import Padding
        from rich.text import Text

        text = Text.assemble(*pairs)
        width = max(20, self._console.width - indent - hang)
        for number, line in enumerate(text.wrap(self._console, width) or [text]):
            line.rstrip()
            self._console.print(Padding(line, (0, 0, 0, indent + (hang if number else 0)), expand=False))

    def passage(self, text: str, highlights: Sequence[Span] = (), *, indent: int = 3, flowing: bool = False) -> None:
        """A passage of a document, its matches marked; `flowing`: a terminal wraps prose anew, in its own width."""
        text = visible(text)
        if self._console is None:
            self._stream.writelines(f"{' ' * indent}{line}".rstrip() + "\n" for line in text.splitlines())
            return
        from rich.padding import Padding
        from rich.text import Text

        styled = Text(text)
        for start, end in highlights:
            styled.stylize("bold yellow", start, end)
        if flowing:
            styled = _flowing(styled)
        self._console.print(Padding(styled, (0, 0, 0, indent), expand=False))

    def fits(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> bool:
        """Whether a table's lines needn't be wrapped; a pipe has room for any."""
        return self._console is None or sum(_widths(header, rows)) + GAP * (len(header) - 1) <= self._console.width

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Columns, padded to their widest cell; numbers to the right."""
        cells = [[str(cell) for cell in row] for row in rows]
        widths = _widths(header, rows)
        right = [all(isinstance(row[column], int | float) for row in rows) for column in range(len(header))]

        def laid(row: Sequence[str]) -> str:
            pairs = zip(row, widths, right, strict=True)
            return (" " * GAP).join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in pairs)

        self.line((laid(header), "bold"))
        for row in cells:
            self.line(laid(row))


def _flowing(text: Any) -> Any:
    """A rich text whose wrapped prose has one line per paragraph; code, tables, lists and short lines stay."""
    from rich.text import Text

    paragraphs: list[Any] = []
    fenced, before = False, ""
    for line in text.split("\n", allow_blank=True):
        fence = line.plain.lstrip().startswith(("```", "~~~"))
        if len(before) >= WRAPPED and line.plain.strip() and not (fenced or fence or _ITSELF.match(line.plain)):
            unindented = line[len(line.plain) - len(line.plain.lstrip()) :]
            paragraphs[-1] = Text.assemble(paragraphs[-1], " ", unindented)
        else:
            paragraphs.append(line)
        fenced ^= fence
        before = "" if fenced or fence or _WHOLE.match(line.plain) else line.plain
    return Text("\n").join(paragraphs)


def _widths(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[int]:
    return [max(len(str(row[column])) for row in (header, *rows)) for column in range(len(header))]


def write_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """One JSON value on stdout, for programs; escaped where its encoding hasn't every character."""
    indent = 2 if sys.stdout.isatty() else None
    ascii_only = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(json.dumps(value, ensure_ascii=ascii_only, indent=indent, default=str) + "\n")


def write_answer(answer: Mapping[str, Any], as_json: bool, render: Callable[[Page, Mapping[str, Any]], None]) -> None:
    """An operation's answer as JSON, or as `render` lays it out."""
    if as_json:
        write_json(answer)
    else:
        render(Page(), answer)
