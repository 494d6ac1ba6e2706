"""Splits a document into chunks by its structure.

Sections, then blocks, then the parts of a block that is too long: items of a list, lines of a table or fence, sentences
of prose. Sizes are estimated from characters, so that chunks never depend on an embedding model.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..models import NOT_INCLUDED, Block, Chunk, Document, Heading, embedding_prefix
from ..text.characters import ENDS_ALONE, ENDS_BEFORE_BLANK, whole_until
from .containers import blank_before, blank_behind, frames_in, seen_from, shifted, touching, unseen_in

_CHARACTERS_PER_TOKEN = {
    "paragraph": 4.4,
    "heading": 4.4,
    "quote": 4.2,
    "list": 4.0,
    "fence": 3.0,
    "table": 3.0,
    "html": 3.2,
}
_OTHER = 3.6
_PER_EXTRA_BYTE = 0.4
#: What lays a table out and says nothing: padding, long rules and rows of empty cells.
_LAYOUT = re.compile(r" {3,}|-{6,}|(?:\|  ){3,}")


def estimate(text: str, kind: str = "paragraph") -> int:
    """Estimated tokens of `text`, at least 1."""
    if kind == "table":
        text = _LAYOUT.sub(" ", text)
    size = len(text) / _CHARACTERS_PER_TOKEN.get(kind, _OTHER)
    if not text.isascii():
        size += (len(text.encode("utf-8", "surrogatepass")) - len(text)) * _PER_EXTRA_BYTE
    return int(size) + 1


_SENTENCE = re.compile(
    rf"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[{ENDS_BEFORE_BLANK}…][\"'”’)\]»]*(?=\s)|[{ENDS_ALONE}][」』）】”’]*"
    r"|\n(?=\s*\n)|[;:](?=\n)"
)
_LINE = re.compile(r"\n")
_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*+•]|\d{1,9}[.)]|[a-z][.)])[ \t]|[ \t]*\n)")
_WORD = re.compile(r"\s|(?<=[,;/|、，])")
#: Where a kind is split, the best first.
_SPLITS: dict[str, tuple[re.Pattern[str], ...]] = {
    "paragraph": (_SENTENCE, _LINE, _WORD),
    "quote": (_SENTENCE, _LINE, _WORD),
    "heading": (_SENTENCE, _LINE, _WORD),
    "list": (_ITEM, _SENTENCE, _LINE, _WORD),
}
_BY_LINE: tuple[re.Pattern[str], ...] = (_LINE, _SENTENCE, _WORD)
_PROSE = frozenset({"paragraph", "quote"})

#: A chunk never exceeds this; the catalog's and the snippet's costs rest on it.
HARD_CEILING_CHARACTERS = 2_400
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


def split_block(text: str, block: Block, target: int, ceiling: int, overlap: int) -> Iterator[Piece]:
    """Pieces of a block of about `target` estimated tokens, at most `ceiling`, that fit into a chunk.

    A continuing piece leaves room for `overlap` tokens. A table's header doesn't stay alone where a row follows.
    """
    if block.end - block.start <= HARD_CEILING_CHARACTERS:
        size = estimate(text[block.start : block.end], block.kind)
        if size <= ceiling or block.kind == "heading":
            yield Piece(block.start, block.end, size, block.kind)
            return
    ceiling, hard = ceiling - overlap, HARD_CEILING_CHARACTERS - overlap * OVERLAP_CHARACTERS_PER_TOKEN
    target = min(target, ceiling)
    kind, start, before = block.kind, block.start, block.start
    while start < block.end:
        stretch, end = text[start : min(block.end, start + hard)], block.end
        size = estimate(stretch, kind)
        if size > ceiling or start + len(stretch) < end:
            per_token = len(stretch) / size
            most = max(1, min(len(stretch), int(ceiling * per_token)))
            while most > 1 and estimate(stretch[:most], kind) > ceiling:
                most = most * 9 // 10
            header = max(start, block.header_end or 0) - start if kind == "table" else 0
            first = header + 1 if stretch.find("\n", header + 1, most) >= 0 else 1
            cut = _best_cut(stretch, kind, first, most, max(1, min(most, int(target * per_token))))
            end = start + cut if cut else max(start + 1, whole_until(text, start + most))
        goes_on = kind in _PROSE and start > block.start
        yield Piece(start, end, estimate(text[start:end], kind), kind, goes_on, before)
        before, start = start, end
        while start < block.end and text[start] in " \n\t":
            start += 1


def _best_cut(stretch: str, kind: str, first: int, most: int, wanted: int) -> int:
    """Where a stretch is best cut between two offsets, near the one `wanted`; 0 where nowhere well."""
    for pattern in _SPLITS.get(kind, _BY_LINE):
        best = 0
        for match in pattern.finditer(stretch, first, most):
            if match.end() > wanted and best >= wanted // 3:
                break
            best = match.end()
            if best > wanted:
                break
        if best >= wanted // 3 and best > 0:
            return best
    return 0


def overlap_start(text: str, start: int, floor: int, tokens: int) -> int:
    """Where a chunk that continues prose begins instead: at the earliest sentence within `tokens` before it.

    Sentences are never split: where the last one alone is longer, there is no overlap.
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


#: Raised whenever the same document gives other chunks.
_VERSION = "6"
#: Without chunking a document is one chunk, as far as the 64 windows of a chunk can hold every token of it.
_WHOLE_CHARACTERS = 12_000
#: Text left out that is longer than this parts two chunks; shorter spans lie inside one.
_GAP_CHARACTERS = 120


class StructureChunker:
    """Chunks of about `target_tokens` (estimated), at most `ceiling_tokens`, between the document's own parts.

    A document without parts, such as an abstract or a note, stays one chunk up to one and a half times the ceiling.
    With `respect_boundaries` off, evenly sized pieces; with `enabled` off, one chunk a document.
    """

    def __init__(
        self,
        *,
        target_tokens: int = 200,
        ceiling_tokens: int = 400,
        overlap_tokens: int = 32,
        respect_boundaries: bool = True,
        enabled: bool = True,
    ) -> None:
        self._target = max(8, target_tokens)
        self._ceiling = max(self._target, ceiling_tokens)
        longest = HARD_CEILING_CHARACTERS // (4 * OVERLAP_CHARACTERS_PER_TOKEN)
        self._overlap = max(0, min(overlap_tokens, self._target // 2, longest))
        self._respect_boundaries = respect_boundaries
        self._enabled = enabled

    @property
    def fingerprint(self) -> str:
        """The options that shape chunks, and the version of the method."""
        return (
            f"structure-{_VERSION}:{self._target}:{self._ceiling}:{self._overlap}"
            f":{int(self._respect_boundaries)}:{int(self._enabled)}"
        )

    def chunk(self, document: Document) -> tuple[Chunk, ...]:
        """Chunks in order; every non-blank character outside `document.excluded` lies in at least one."""
        if not self._enabled:
            spans = self._evenly(document, _WHOLE_CHARACTERS, 0)
        elif not self._respect_boundaries:
            spans = self._evenly(document, min(HARD_CEILING_CHARACTERS, self._target * 4), self._overlap * 4)
        else:
            spans = self._by_structure(document)
        return tuple(_numbered(document, spans))

    def _evenly(self, document: Document, size: int, overlap: int) -> Iterator[tuple[int, int, int]]:
        """Pieces of `size` characters, split between words, each `overlap` characters before the last one ends."""
        text = document.text
        for start, end in _included(document, long_only=True):
            while start < end:
                stop = min(end, start + size)
                near = range(stop, max(start + size // 2, stop - 80), -1) if stop < end else ()
                stop = next((place for place in near if text[place].isspace()), stop)
                yield start, stop, start
                if stop >= end:
                    break
                start = max(stop - overlap, start + 1) if overlap < stop - start else stop

    def _by_structure(self, document: Document) -> Iterator[tuple[int, int, int]]:
        """(start, end, offset whose section the chunk belongs to)."""
        blocks = list(_blocks(document))
        if self._stays_whole(document, blocks):
            return iter([(blocks[0].start, blocks[-1].end, blocks[0].start)])
        options = self._target, self._ceiling, self._overlap
        pieces = [piece for block in blocks for piece in split_block(document.text, block, *options)]
        levels = {heading.start: heading.level for heading in document.headings}
        return self._join(document.text, pieces, levels)

    def _stays_whole(self, document: Document, blocks: Sequence[Block]) -> bool:
        """Whether the document is short and one section on one page, without gaps."""
        if not blocks or blocks[-1].end - blocks[0].start > HARD_CEILING_CHARACTERS:
            return False
        text, start = document.text, blocks[0].start
        parted = any(heading.start > start for heading in document.headings) or len(document.page_starts) > 1
        if parted or any(after.start - before.end > _GAP_CHARACTERS for before, after in pairwise(blocks)):
            return False
        return sum(estimate(text[block.start : block.end], block.kind) for block in blocks) <= self._ceiling * 3 // 2

    def _join(self, text: str, pieces: Sequence[Piece], levels: dict[int, int]) -> Iterator[tuple[int, int, int]]:
        """Neighbouring pieces become chunks: a heading opens one, small pieces share one."""
        start = end = size = -1  # of the open chunk; -1 where none is open
        owner = 0  # offset whose section the chunk belongs to
        bare = 0  # level of the last heading where the chunk holds headings alone, else 0
        for piece in pieces:
            is_heading = piece.kind == "heading"
            if start >= 0:
                level = levels.get(piece.start, 0) if is_heading else 0
                joins = (
                    piece.start - end <= _GAP_CHARACTERS
                    and piece.end - start <= HARD_CEILING_CHARACTERS
                    and size + piece.size <= self._ceiling
                    and (
                        (level > bare > 0)
                        if is_heading
                        else bare > 0 or (size + piece.size <= self._target * 5 // 4 or size < self._target // 2)
                    )
                )
                if joins:
                    end, size = piece.end, size + piece.size
                    if is_heading:
                        owner, bare = piece.start, level
                    else:
                        bare = 0
                    continue
                yield start, end, owner
                start = -1
            if text[piece.start : piece.end].isspace():  # between hidden lines, which a chunk would begin with
                continue
            start, end, size, owner = piece.start, piece.end, piece.size, piece.start
            bare = levels.get(piece.start, 1) if is_heading else 0
            if piece.continues and self._overlap:
                start = overlap_start(text, piece.start, piece.floor, self._overlap)
                size += self._overlap if start < piece.start else 0
        if start >= 0:
            yield start, end, owner


def _included(document: Document, *, long_only: bool = False) -> Iterator[tuple[int, int]]:
    """The text between the excluded spans that are left out of chunks: whole lines, and what is too long to be carried
    along.
    """
    text, reached = document.text, 0
    for span in document.excluded:
        is_part = span.start > reached if long_only else not _is_whole_line(text, span.start, span.end)
        if span.reason == NOT_INCLUDED or (is_part and span.end - span.start <= _GAP_CHARACTERS):
            continue
        if span.start > reached:
            yield reached, span.start
        reached = max(reached, span.end)
    if reached < len(text):
        yield reached, len(text)


def _is_whole_line(text: str, start: int, end: int) -> bool:
    # A span may hold its last line's end: front matter does.
    return blank_before(text, start) and (text[end - 1 : end] == "\n" or blank_behind(text, end) is not None)


def _blocks(document: Document) -> Iterator[Block]:
    """The document's blocks, with paragraphs made of what lies between them, as far as they are included."""
    included = list(_included(document))
    for block in _all_blocks(document):
        for start, end in (included[place] for place in touching(included, block.start, block.end)):
            if start <= block.start and block.end <= end:
                yield block
            else:
                header_end = block.header_end if start <= block.start else None
                yield Block(block.kind, max(start, block.start), min(end, block.end), header_end)


def _all_blocks(document: Document) -> Iterator[Block]:
    text, reached = document.text, 0
    for block in document.blocks:
        if block.start > reached and not text[reached : block.start].isspace():
            yield Block("paragraph", reached, block.start)
        yield block
        reached = block.end
    if reached < len(text) and not text[reached:].isspace():
        yield Block("paragraph", reached, len(text))


def _numbered(document: Document, spans: Iterator[tuple[int, int, int]]) -> Iterator[Chunk]:
    """Spans as chunks with their heading path, page, lines and hash; they come in order of their start."""
    text, headings, pages = document.text, document.headings, document.page_starts
    starts = [heading.start for heading in headings]
    paths = [(), *_paths(headings)]
    prefixes = [embedding_prefix(document, path).encode("utf-8", "surrogatepass") for path in paths]
    frames, unseen = list(frames_in(document)), list(unseen_in(document))
    framed = [(frame.start, frame.end) for frame in frames]
    titles = [(block.start, block.end) for block in document.blocks if block.kind == "heading"]
    line, counted, ordinal = 1, 0, -1
    for first, last, owner in spans:
        passage = text[first:last].strip()
        if not passage:
            continue
        start = text.index(passage[0], first)
        end, ordinal = start + len(passage), ordinal + 1
        line += text.count("\n", counted, start)
        counted = start
        place = bisect_right(starts, max(owner, start))  # of the heading, from 1
        digest = hashlib.sha256(prefixes[place] + b"\0" + passage.encode("utf-8", "surrogatepass"))
        yield Chunk(
            ordinal=ordinal,
            start=start,
            end=end,
            text=passage,
            heading_path=paths[place],
            heading_level=headings[place - 1].level if place else 0,
            page=max(1, bisect_right(pages, start)) if pages else None,
            line_start=line,
            line_end=line + passage.count("\n"),
            hash=digest.hexdigest()[:16],
            frames=tuple([seen_from(frames[place], start) for place in touching(framed, start, end)]),
            titles=shifted(titles, start, end),
            unseen=shifted(unseen, start, end),
        )


def _paths(headings: Sequence[Heading]) -> list[tuple[str, ...]]:
    """The heading path of each heading, itself included; headings without words are left out."""
    open_headings: list[Heading] = []
    paths: list[tuple[str, ...]] = []
    for heading in headings:
        while open_headings and open_headings[-1].level >= heading.level:
            open_headings.pop()
        open_headings.append(heading)
        paths.append(tuple(parent.text for parent in open_headings if parent.text))
    return paths
