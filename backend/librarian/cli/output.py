"""What a command writes: styled by rich on a terminal, plain lines in a pipe, JSON for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Self, TextIO

from ..text.sanitizing import visible

_BREAKS = re.compile("[\n\r\u2028\u2029]")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*(?:\x1b\[[\d;]*m[ \t]*)*\n){2,}")
_PLAIN: ContextVar[bool] = ContextVar("plain", default=False)


def choose_plain(plain: bool) -> None:
    """Have all further output plain, as `--plain` says, although a terminal is there."""
    _PLAIN.set(plain)


def _terminal(stream: TextIO) -> Any:
    """A rich console on the stream, or None where output is plain."""
    if not stream.isatty() or _PLAIN.get():
        return None
    from rich.console import Console

    return Console(file=stream, highlight=False)


class Page:
    """Lines for people. On a terminal they are styled and wrapped by rich; in a pipe they are plain and uncut."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._rich = _terminal(self._stream)

    @property
    def styled(self) -> bool:
        """Whether a terminal is there, and styles are wanted."""
        return self._rich is not None

    def line(self, *parts: str | tuple[str, str], indent: int = 0, hang: int = 0) -> None:
        """One line of parts; a part may be (text, style). Line breaks in a part are replaced.

        `hang`: on a terminal, the further indentation of the lines that a long one is wrapped into.
        """
        styled = ((part, "") if isinstance(part, str) else part for part in parts)
        pairs = [(_BREAKS.sub("\ufffd", visible(text)), style) for text, style in styled]
        if self._rich is None:
            self._stream.write((" " * indent + "".join(text for text, _ in pairs)).rstrip() + "\n")
            return
        from rich.text import Text

        self._wrapped(Text.assemble(*pairs), indent, hang)

    def passage(
        self, text: str, highlights: Sequence[tuple[int, int]] = (), *, indent: int = 3, markdown: bool = False
    ) -> None:
        """A passage of a document, its matches marked; on a terminal its Markdown is rendered."""
        text = visible(text)
        if self._rich is None:
            self._stream.writelines(f"{' ' * indent}{line}".rstrip() + "\n" for line in text.splitlines())
            return
        from rich.text import Text

        if markdown:
            from rich.markdown import Markdown

            shown = Markdown(_FRONT_MATTER.sub("", text), code_theme="ansi_dark")
            with self._rich.capture() as rendered:
                self._rich.print(shown, width=self._rich.width - indent)
            styled = Text.from_ansi(_BLANK_LINES.sub("\n\n", rendered.get()).strip("\n"))
            styled.rstrip()
            styled.highlight_words({text[start:end] for start, end in highlights}, "bold yellow")
        else:
            styled = Text(text)
            for start, end in highlights:
                styled.stylize("bold yellow", start, end)
        self._wrapped(styled, indent)

    def _wrapped(self, text: Any, indent: int, hang: int = 0) -> None:
        for number, line in enumerate(text.wrap(self._rich, self._rich.width - indent - hang)):
            line.rstrip()
            line.pad_left(indent + hang * (number > 0))
            self._rich.print(line)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Columns, numbers to the right."""
        right = [all(isinstance(row[column], int | float) for row in rows) for column in range(len(header))]
        cells = [header, *([visible(str(cell)) for cell in row] for row in rows)]
        if self._rich is None:
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for row in cells:
                padded = zip(row, widths, right, strict=True)
                self.line(
                    "  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in padded)
                )
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name, number in zip(header, right, strict=True):
            table.add_column(Text(name), justify="right" if number else "left")
        for row in cells[1:]:
            table.add_row(*map(Text, row))
        self._rich.print(table)


def write_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """One JSON value on stdout; escaped if its encoding doesn't have every character."""
    indent = 2 if sys.stdout.isatty() else None
    ascii_only = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(json.dumps(value, ensure_ascii=ascii_only, indent=indent, default=str) + "\n")


class ProgressLine:
    """How far long work is, on stderr: a bar on a terminal, gone at the end; elsewhere a line for each `step`."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._step: object = None
        self._bar: Any = None
        terminal = None if quiet or os.environ.get("TERM") == "dumb" else _terminal(sys.stderr)
        if terminal is not None:
            from rich.progress import BarColumn, Progress, TextColumn
            from rich.table import Column

            text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True))
            self._bar = Progress(BarColumn(20), text, console=terminal, auto_refresh=False, transient=True)
            self._task = self._bar.add_task("", total=1.0)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, share: float, text: str, step: object) -> None:
        """Show `share` (0 to 1) and `text`."""
        if self._bar is not None:
            self._bar.update(self._task, completed=share, description=text, refresh=True)
        elif not self._quiet and step != self._step:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        self._step = step
