"""A paragraph of a Word file while it is put together from its runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element


@dataclass(slots=True)
class Line:
    """A paragraph being put together; positions are within its text."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0
    rendered: list[int] = field(default_factory=list)
    explicit: list[int] = field(default_factory=list)
    links: list[tuple[int, int, str]] = field(default_factory=list)
    boxes: list[_Element] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)
