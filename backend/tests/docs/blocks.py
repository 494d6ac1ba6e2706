"""The fenced blocks of the manual: where each stands, what it is, and what its page says about running it.

A comment on the line before a block, `<!-- not run: the reason -->`, keeps it from being run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
PAGES = sorted((REPOSITORY / "docs").rglob("*.md"))
ALL = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *PAGES]
SHELL = ("bash", "sh")
_FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]+?) -->\n)?^(?P<fence>`{3,})(?P<kind>\w*)\n(?P<text>.*?)^(?P=fence)$",
    re.M | re.S,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `reason` says why it isn't run, empty where it is."""

    page: Path
    line: int
    kind: str
    text: str
    reason: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


def of(page: Path) -> Iterator[Block]:
    """All blocks of a page, in order."""
    text = page.read_text("utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("fence")) + 1
        yield Block(page, line, found["kind"], found["text"], found["reason"] or "")


def prose(text: str) -> str:
    """A page's text without its fenced blocks."""
    return _FENCE.sub("", text)


def everything() -> list[Block]:
    """The blocks of all pages, of the README and of CONTRIBUTING."""
    return [block for page in ALL for block in of(page)]
