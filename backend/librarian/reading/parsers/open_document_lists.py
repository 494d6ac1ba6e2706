"""What stands in front of the items of an OpenDocument text's lists: bullets, or numbers as LibreOffice counts them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .word_styles import attribute, local, written_number

if TYPE_CHECKING:
    from lxml.etree import _Element

_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_MAX_NUMBER = 99_999


@dataclass(frozen=True, slots=True)
class _Level:
    form: str
    prefix: str
    suffix: str
    start: int
    shown: int  #: how many levels a number shows: 2 for `3.1`


class ListMarks:
    """Counts the items of lists. Stateful: lists and items are told in the order of the text."""

    def __init__(self, roots: Iterable[_Element]) -> None:
        self._levels: dict[tuple[str, int], _Level] = {}
        self._counts: list[int] = []  # of the lists that are open, from the outermost
        self._ended: dict[tuple[str, int], int] = {}  # the last number by style and depth
        self._ended_lists: dict[str, int] = {}  # the last number by a list's id
        for root in roots:
            for style in root.iter("{*}list-style"):
                for level in style:
                    if local(level) == "list-level-style-number" and (form := attribute(level, "num-format")):
                        self._levels[attribute(style, "name"), whole(attribute(level, "level"), 1) - 1] = _Level(
                            _FORMS.get(form, "decimal"),
                            attribute(level, "num-prefix"),
                            attribute(level, "num-suffix"),
                            whole(attribute(level, "start-value"), 1),
                            max(1, whole(attribute(level, "display-levels"), 1)),
                        )

    def open(self, element: _Element, style: str) -> None:
        """A list begins, perhaps where another has ended."""
        depth = len(self._counts)
        level = self._levels.get((style, depth))
        count = level.start - 1 if level is not None else 0
        earlier = attribute(element, "continue-list")
        if earlier in self._ended_lists:
            count = self._ended_lists[earlier]
        elif attribute(element, "continue-numbering") == "true":
            count = self._ended.get((style, depth), count)
        self._counts.append(count)

    def mark(self, item: _Element, style: str) -> str:
        """`-`, `3.`, `2.1` or `b)` for an item with words of its own; empty for a list's header."""
        if local(item) == "list-header":
            return ""
        depth = len(self._counts) - 1
        self._counts[-1] = whole(attribute(item, "start-value"), self._counts[-1] + 1)
        level = self._levels.get((style, depth))
        if level is None:
            return "-"
        parts: list[str] = []
        for place in range(max(0, depth + 1 - level.shown), depth + 1):
            above = self._levels.get((style, place))
            if above is not None:
                parts.append(written_number(self._counts[place], above.form))
        bare = not (level.prefix or level.suffix) and len(parts) == 1
        return f"{level.prefix}{'.'.join(parts)}{'.' if bare else level.suffix}".strip()

    def close(self, element: _Element, style: str) -> None:
        """The list that was opened last ends."""
        count = self._counts.pop()
        self._ended[style, len(self._counts)] = count
        if key := attribute(element, "id"):
            self._ended_lists[key] = count


def whole(text: str, otherwise: int) -> int:
    """A number that an attribute gives."""
    return min(int(text), _MAX_NUMBER) if text.isdecimal() and len(text) < 9 else otherwise
