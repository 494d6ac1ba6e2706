"""The other side of a mail: what it quotes, block by block, to be cut into passages."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace

from ...models import Document, Excluded
from .cleaning import QUOTED
from .quoting import find, margin_of

_SHORTEST = 5  #: words of a quoted block that are worth finding; of fewer nobody can tell where they come from
_WORD = re.compile(r"[\u2e80-\u9fff]|[^\W\u2e80-\u9fff]+")  # ideographs are written without spaces


def quoted_blocks(document: Document) -> Iterator[Document]:
    """The mail once for each block that it quotes, with everything else excluded.

    A block is what one person said in one go: quoted lines of one depth, without the lines that introduce them. The
    text is the same, so that passages of a block have their place in the mail.
    """
    text, blocks = document.text, document.blocks
    starts = [block.start for block in blocks]
    ends = [block.end for block in blocks]
    for span in document.excluded:
        if span.reason not in QUOTED:
            continue
        for start, end in _runs(text, span):
            if len(_WORD.findall(text, start, end)) < _SHORTEST:
                continue
            # Whole lines without the breaks beside the block: what is shorter than a line would stay in a passage.
            rest = (Excluded(0, start - 1, "elsewhere"), Excluded(end + 1, len(text), "elsewhere"))
            inside = blocks[bisect_right(ends, start) : bisect_left(starts, end)]
            yield replace(document, blocks=inside, headings=(), excluded=tuple(x for x in rest if x.end > x.start))


def _runs(text: str, span: Excluded) -> Iterator[tuple[int, int]]:
    """Runs of lines of one depth between borders, as (start, end) in the text; blank lines belong to any depth."""
    lines = text[span.start : span.end].split("\n")
    introducing = {place for border in find(lines) for place in range(border.start, border.end)}
    offset, start, end, depth = span.start, -1, 0, 0
    for place, line in enumerate(lines):
        bare = line.lstrip("> \t\xa0")
        here = line.count(">", 0, len(line) - len(bare)) if margin_of(line) else 0
        if start >= 0 and (place in introducing or (bare and here != depth)):
            yield start, end
            start = -1
        if bare and place not in introducing:
            if start < 0:
                start, depth = offset, here
            end = offset + len(line)
        offset += len(line) + 1
    if start >= 0:
        yield start, end
