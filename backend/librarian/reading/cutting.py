"""Taking apart a block that is too long for one chunk.

Prose and quotes between sentences, lists between items, tables, fences and everything else between lines; where even
one of those is too long, between words, and as the last resort anywhere. Each search looks at a bounded stretch, so a
line of 100 MB costs no more per character than a short one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from librarian.vocabulary.graphemes import whole_until
from librarian.vocabulary.sentences import ENDS_ALONE, ENDS_BEFORE_BLANK
from librarian.vocabulary.types import Block

from .sizing import estimate

_SENTENCE = re.compile(
    rf"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[{ENDS_BEFORE_BLANK}…][\"'”’)\]»]*(?=\s)|[{ENDS_ALONE}][」』）】”’]*"
    r"|\n(?=\s*\n)|[;:](?=\n)"
)
_LINE = re.compile(r"\n")
_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*+•]|\d{1,9}[.)]|[a-z][.)])[ \t]|[ \t]*\n)")
_WORD = re.compile(r"\s|(?<=[,;/|、，])")
#: What a kind is cut at, the best first.
_JOINTS: dict[str, tuple[re.Pattern[str], ...]] = {
    "paragraph": (_SENTENCE, _LINE, _WORD),
    "quote": (_SENTENCE, _LINE, _WORD),
    "heading": (_SENTENCE, _LINE, _WORD),
    "list": (_ITEM, _SENTENCE, _LINE, _WORD),
}
_BY_LINE: tuple[re.Pattern[str], ...] = (_LINE, _SENTENCE, _WORD)
_PROSE = frozenset({"paragraph", "quote"})

OVERLAP_CHARACTERS_PER_TOKEN = 5  #: how far back an overlap may reach at most


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a block, or a whole one. `continues` where it goes on with prose whose last piece began at `floor`."""

    start: int
    end: int
    size: int  #: estimated tokens
    kind: str
    continues: bool = False
    floor: int = 0


def cut_block(text: str, block: Block, target: int, ceiling: int, hard: int) -> Iterator[Piece]:
    """Pieces of a block of about `target` estimated tokens, at most `ceiling`, and at most `hard` characters."""
    joints = _JOINTS.get(block.kind, _BY_LINE)
    prose = block.kind in _PROSE
    start = before = block.start
    header_end = block.header_end if block.kind == "table" else None
    while start < block.end:
        kept = max(0, header_end - start) if header_end is not None else 0
        end = _cut(text, start, block.end, block.kind, joints, target, ceiling, hard, kept)
        yield Piece(
            start, end, estimate(text[start:end], block.kind), block.kind, prose and start > block.start, before
        )
        before, start = start, end
        while start < block.end and text[start] in " \n\t":
            start += 1


def _cut(
    text: str,
    start: int,
    end: int,
    kind: str,
    joints: tuple[re.Pattern[str], ...],
    target: int,
    ceiling: int,
    hard: int,
    kept: int,
) -> int:
    """Where the piece from `start` on ends; its first `kept` characters don't stay alone where a line follows."""
    stretch = text[start : min(end, start + hard)]
    size = estimate(stretch, kind)
    per_token = len(stretch) / size
    if size <= ceiling and start + len(stretch) >= end:
        return end
    most = max(1, min(len(stretch), int(ceiling * per_token)))
    while most > 1 and estimate(stretch[:most], kind) > ceiling:
        most = most * 9 // 10
    wanted = max(1, min(most, int(target * per_token)))
    first = kept + 1 if stretch.find("\n", kept + 1, most) >= 0 else 1
    for joint in joints:
        best = 0
        for match in joint.finditer(stretch, first, most):
            if match.end() > wanted and best >= wanted // 3:
                break
            best = match.end()
            if best > wanted:
                break
        if best >= wanted // 3 and best > 0:
            return start + best
    return max(start + 1, whole_until(text, start + most))


def cut_evenly(text: str, start: int, end: int, size: int, overlap: int) -> Iterator[Piece]:
    """Pieces of `size` characters, cut between words, each beginning `overlap` characters before the last one's end."""
    while start < end:
        stop = min(end, start + size)
        if stop < end:
            for place in range(stop, max(start + size // 2, stop - 80), -1):
                if text[place].isspace():
                    stop = place
                    break
        yield Piece(start, stop, 0, "other")
        if stop >= end:
            return
        start = max(stop - overlap, start + 1) if overlap < stop - start else stop


def overlap_start(text: str, start: int, floor: int, tokens: int) -> int:
    """Where a chunk that continues prose begins instead: at the earliest sentence within `tokens` before it.

    Sentences are never cut for the sake of overlap: where the last one alone is longer, there is none.
    """
    reach = max(floor, start - tokens * OVERLAP_CHARACTERS_PER_TOKEN)
    stretch = text[reach:start]
    for match in _SENTENCE.finditer(stretch):
        begin = match.end()
        while begin < len(stretch) and stretch[begin].isspace():
            begin += 1
        if begin < len(stretch) and estimate(stretch[begin:]) <= tokens:
            return reach + begin
    return start
