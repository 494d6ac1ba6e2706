"""Answers within a budget of tokens: one entry per document, the best ones with the section that answers.

A token counts as four characters of the answer as text. The first entries get the smallest complete section that holds
their best passage, or as much of it as there is room for; those that follow get the sentences that answer. What else
of a document was found is listed by its lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..models import Chunk, Further, Heading, Hit, Snippet, StoredChunk, StoredDocument
from ..storage.base import CatalogReader
from ..text.sanitizing import without_hidden
from .excerpts import Excerpts, TextRange

CHARACTERS = 4  #: of an answer's text that count as a token
#: Of the budget what an answer aims at. With the usual 1,500 tokens most are within 1,000; this and what follows were
#: chosen by what `benchmarks/agent_cost.py` reaches within 1,000 and 2,000 tokens.
FILL = 0.58
FEW, FILL_OF_FEW = 5, 0.93  #: who asks for so few results wants to read them; more than this is never aimed at
#: What the first entries may take of the room that those after them leave, and what each of these may.
SHARES, SHARE = (0.6, 0.9), 0.5
FIRST = 1400  #: characters that are kept for the text of the first entries, before one more is shown
LEAST = 100  #: characters that are kept for the text of each entry
SENTENCE = 240  #: characters that the sentence which answers may take where there is less room than that
LISTED = 2  #: entries whose further passages are listed before the others get their text
ITEM = 34  #: characters of such a line besides the heading
HEADING = 60  #: characters that are shown of its heading
_END = 1 << 40  #: no text is longer
MARK = 60  #: characters of the line above each of several sections
REACH = 6  #: chunks on each side of a passage among which the rest of its section is looked for


@dataclass(frozen=True, slots=True)
class Group:
    """A document that answers, by its passages: the best one first."""

    hit: Hit  #: of the best passage, with a snippet that is about to be replaced
    further: Sequence[StoredChunk] = ()
    nearest: tuple[int, int] | None = None  #: where in the best passage the part nearest to the question lies


class Sections:
    """Where the sections of a document lie, each up to the next heading of whatever level. Offsets and lines."""

    def __init__(self, headings: Sequence[Heading], end: int, line_end: int) -> None:
        self._headings, self._end, self._line_end = headings, end, line_end
        self._starts = [heading.start for heading in headings]

    def at(self, offset: int) -> tuple[int, int]:
        """First and last offset of the section at an offset, the last one not in it."""
        number = bisect_right(self._starts, offset)
        start = self._starts[number - 1] if number else 0
        return start, self._starts[number] if number < len(self._starts) else self._end

    def path_at(self, offset: int) -> tuple[str, ...]:
        """The headings that stand above an offset, outermost first."""
        path: list[Heading] = []
        for heading in reversed(self._headings[: bisect_right(self._starts, offset)]):
            if not path or heading.level < path[-1].level:
                path.append(heading)
        return tuple([heading.text for heading in reversed(path)])

    def lines_at(self, offset: int) -> tuple[int, int]:
        """First and last line of the section at an offset."""
        number = bisect_right(self._starts, offset)
        first = self._headings[number - 1].line if number else 1
        return first, self._headings[number].line - 1 if number < len(self._starts) else max(first, self._line_end)


def pack(
    groups: Sequence[Group],
    excerpts: Excerpts,
    reader: CatalogReader,
    room: int,
    cost: Callable[[Hit], int],
    wanted: int | None = None,
) -> list[Hit]:
    """As many of the documents as fit into `room` characters, at least one, each with what is shown of it.

    `cost` is what a hit takes besides its snippet and the lines of its further passages; `wanted` is how many were
    asked for, if that was said: so many are shown if they fit at all, otherwise only while there is room for more than
    a sentence of the first ones.
    """
    heads = [cost(group.hit) for group in groups]
    aim, most = int(room * FILL), int(room * FILL_OF_FEW)
    if wanted is not None:
        least = sum(heads) + LEAST * len(heads)
        aim = most if wanted <= FEW else min(most, max(aim, least + FIRST // 2))
    count, needed = 0, min(FIRST, aim // 2) if wanted is None else 0
    for head in heads:
        needed += head + LEAST
        if count and needed > aim:
            break
        count += 1
    listed = [_listed(group) if number < LISTED else () for number, group in enumerate(groups[:count])]
    left = max(0, aim - sum(heads[:count]) - sum(map(size_of, listed)))
    packed: list[Hit] = []
    for number, group in enumerate(groups[:count]):
        free = left - LEAST * (count - number - 1)
        share = SHARES[number] if number < len(SHARES) else SHARE
        own = max(LEAST, int(free if count == 1 else free * share))
        hit = _shown(group, excerpts, reader, min(own, max(LEAST, room - heads[number])))
        left -= len(hit.snippet.text)
        packed.append(hit)
    for number, (hit, group) in enumerate(zip(packed, groups, strict=False)):
        further = [one for one in _listed(group) if not _within(one, hit.snippet)]
        while number >= LISTED and further and size_of(further) > left:
            further.pop()
        left -= size_of(further) if number >= LISTED else 0
        packed[number] = replace(hit, further=tuple(further))
    return packed


def sections(groups: Sequence[Group], excerpts: Excerpts, reader: CatalogReader, room: int) -> list[Hit]:
    """The sections of one document that its passages stand in, in the document's order, within `room` characters.

    The groups are passages of it, best first; of these, as many as there is room for.
    """
    left = int(room * FILL)
    shown: list[Hit] = []
    for number, group in enumerate(groups):
        chunk = group.hit.chunk.chunk
        if shown and left < LEAST:
            break
        if any(one.snippet.line_start <= chunk.line_end and chunk.line_start <= one.snippet.line_end for one in shown):
            continue
        own = int(left * SHARES[0]) if number + 1 < len(groups) else left
        hit = _shown(group, excerpts, reader, max(LEAST, own))
        snippet = hit.snippet
        if any(snippet.line_start <= one.snippet.line_end and one.snippet.line_start <= snippet.line_end
               for one in shown):  # fmt: skip
            continue
        shown.append(hit)
        left -= len(snippet.text) + MARK
    return sorted(shown, key=lambda hit: hit.snippet.line_start)


def _shown(group: Group, excerpts: Excerpts, reader: CatalogReader, room: int) -> Hit:
    """The hit with at most `room` characters of the section that its passage stands in; a sentence may take more."""
    hit = group.hit
    chunk, document, language = hit.chunk.chunk, hit.document, hit.document.document.language
    headings = document.document.headings
    end = chunk
    if chunk.ordinal + 1 < document.chunk_count and (not headings or headings[-1].start < chunk.end):
        ending = reader.chunks_between(document.doc_id, document.chunk_count - 1, document.chunk_count, 0, _END)
        end = ending[-1].chunk if ending else chunk
    sections = Sections(headings, max(chunk.end, end.end), max(chunk.line_end, end.line_end))
    low, high = sections.at(chunk.start)[0], sections.at(max(chunk.start, chunk.end - 1))[1]
    chunks, all_there = [chunk], low >= chunk.start and high <= chunk.end
    if room > len(chunk.text) and not all_there:
        first, last = max(0, chunk.ordinal - REACH), chunk.ordinal + REACH
        near = [stored.chunk for stored in reader.chunks_between(document.doc_id, first, last, low, high)]
        chunks = [one for one in near if _goes_with(one, chunk, document)] or chunks
        all_there = len(chunks) == len(near) and (not first or near[0].ordinal > first) and near[-1].ordinal < last
    stretch = TextRange.of(chunks, chunk)
    snippet, at, whole = excerpts.cut(stretch, language, room, sections.at, group.nearest, least=SENTENCE)
    low, high = sections.at(at)
    return replace(
        hit,
        snippet=snippet,
        packed=True,
        tokens=max(tokens_in(high - low), tokens_in(len(snippet.text))),
        heading_path=() if sections.at(at) == sections.at(chunk.start) else sections.path_at(at),
        section=None if whole and all_there else sections.lines_at(at),
    )


def _goes_with(chunk: Chunk, best: Chunk, document: StoredDocument) -> bool:
    """Whether a chunk may be shown with the best one: it is of the same page, and in a mail the same part of it."""
    return chunk.page == best.page and (document.document.kind != "email" or chunk.heading_path == best.heading_path)


def _listed(group: Group) -> tuple[Further, ...]:
    """A document's further passages; the heading of one in the section that is shown is said already."""
    found = []
    for stored in group.further:
        chunk = stored.chunk
        told = chunk.heading_path == group.hit.chunk.chunk.heading_path or not chunk.heading_path
        heading = "" if told else without_hidden(chunk.heading_path[-1])
        found.append(Further(chunk.line_start, chunk.line_end, tokens_in(len(chunk.text)), heading))
    return tuple(found)


def size_of(further: Sequence[Further]) -> int:
    """Characters of the lines that list some passages."""
    return sum(ITEM + min(len(one.heading), HEADING) for one in further)


def _within(passage: Further, shown: Snippet) -> bool:
    """Whether a passage's lines are shown already."""
    return shown.line_start <= passage.line_start and passage.line_end <= shown.line_end


def tokens_in(characters: int) -> int:
    """What so many characters count, rounded up."""
    return -(-characters // CHARACTERS)
