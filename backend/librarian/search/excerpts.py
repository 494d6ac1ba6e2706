"""What is shown of a document that answers: the section around its best passage, or as much of it as there is room for.

An excerpt begins and ends where a sentence, a row or a line of code does, and at the border of a block where it can. It
always holds the sentences that say most of the question: those with its words, in the part of the passage whose vector
is nearest to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from ..models import AnalyzedQuery, Chunk, Frame, Snippet
from ..text.base import Analyzer
from ..text.characters import ENDS_ALONE, ENDS_BEFORE_BLANK
from ..text.sanitizing import without_hidden
from .matches import MatchFinder, TrigramMatcher, wanted_by
from .snippets import highlights_of, narrower, places_in, resembling, weights_of
from .spans import Span, units
from .truncation import ADDED, CUT, Renderings, cut_to

#: Blanks before a chunk that are taken for its indentation; more stand in place of text that isn't indexed.
DEEPEST = 40

#: Characters of the sentences that an excerpt is built around.
CORE = 320

#: What ends a sentence, and what may stand behind that.
_ENDS, _CLOSING = (*ENDS_BEFORE_BLANK, *ENDS_ALONE, "…", ":"), "\"'”’)]»」』）】*_`"

#: What a sentence gains for standing in the part of its passage that is nearest to the question, as a share of what a
#: word of the question brings that a single sentence holds.
NEAREST = 0.6


@dataclass(frozen=True, slots=True)
class TextRange:
    """Text of a document around its best passage. Offsets are the document's.

    `text` is as a chunk, made of the chunks that lie there; `best` is where the passage lies.
    """

    text: Chunk
    best: tuple[int, int]

    @classmethod
    def of(cls, chunks: Sequence[Chunk], best: Chunk) -> TextRange:
        """Chunks in order, `best` among them."""
        return cls(best if len(chunks) == 1 else joined(chunks), (best.start, best.end))


class Excerpt(NamedTuple):
    """What is shown of a stretch."""

    snippet: Snippet
    at: int  #: offset in the document of the sentences that answer
    whole: bool  #: whether it is the whole section, as far as the stretch holds it


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Chunks of one document, in order, as one.

    What lies between them is blank: as many line ends as the document has there, and blanks in place of text that is
    not indexed, so that lines and offsets stay the document's.
    """
    first = chunks[0]
    parts, end, line = [first.text], first.end, first.line_end
    frames = {frame.start + first.start: frame for frame in first.frames}
    titles, unseen = [*first.titles], [*first.unseen]
    for chunk in chunks[1:]:
        shift = chunk.start - first.start
        frames |= {frame.start + chunk.start: _moved(frame, shift) for frame in chunk.frames}
        titles += [(start + shift, stop + shift) for start, stop in chunk.titles]
        unseen += [(start + shift, stop + shift) for start, stop in chunk.unseen]
        if chunk.end <= end:
            continue
        if (gap := chunk.start - end) > 0:
            breaks = min(gap, max(0, chunk.line_start - line))
            blanks = gap - breaks
            indent = _indentation(chunk.text, blanks, breaks)
            parts.append(" " * (blanks - indent) + "\n" * breaks + " " * indent)
        parts.append(chunk.text[max(0, -gap) :])
        end, line = chunk.end, chunk.line_end
    return replace(
        first,
        end=end,
        text="".join(parts),
        line_end=line,
        frames=tuple(frames[start] for start in sorted(frames)),
        titles=tuple(sorted(set(titles))),
        unseen=tuple(sorted(set(unseen))),
    )


def _indentation(text: str, blanks: int, breaks: int) -> int:
    """How many of the blanks before a chunk, which begins with its first letter, most likely indent its first line.

    Some lines between may hold blanks alone; the first line isn't indented deeper than the next one of its text.
    """
    if not breaks or blanks > breaks * DEEPEST:
        return 0
    following = next((line for line in text.split("\n")[1:] if line.strip()), " " * DEEPEST)
    deepest = len(following) - len(following.lstrip())
    return max((one for one in (blanks, blanks // breaks) if one <= deepest), default=0)


def _moved(frame: Frame, by: int) -> Frame:
    return replace(
        frame,
        start=frame.start + by,
        end=frame.end + by,
        opening_end=frame.opening_end + by,
        closing_start=frame.closing_start + by,
    )


class Excerpts:
    """Cuts excerpts for one question. For one thread."""

    def __init__(self, analyzer: Analyzer, query: AnalyzedQuery) -> None:
        self._analyzer = analyzer
        self._wanted = wanted_by(query)
        self._likenesses = TrigramMatcher(self._wanted)
        self._marks: dict[str, MatchFinder] = {}

    def cut(
        self,
        stretch: TextRange,
        language: str,
        room: int,
        section_of: Callable[[int], tuple[int, int]],
        nearest: tuple[int, int] | None = None,
        *,
        least: int = 0,
    ) -> Excerpt:
        """At most `room` characters of the section that holds the sentences which answer, the whole section if it fits.

        A single sentence is cut only where it has more than `least` characters, too. `section_of` gives first and last
        offset of the section at an offset of the document; `nearest` is where in the passage the part lies whose vector
        is nearest to the question's, where that is known.
        """
        chunk = stretch.text
        pieces = units(chunk)
        if not pieces:
            nothing = without_hidden(chunk.text.strip())[:room].rstrip()
            return Excerpt(Snippet(nothing, chunk.line_start, chunk.line_end), chunk.start, whole=True)
        marks = self._marks.get(language)
        if marks is None:
            marks = self._marks[language] = MatchFinder(self._analyzer, self._wanted, language)
        marked = marks.within(chunk.text, pieces[0].start, pieces[-1].end)
        inside = _among(pieces, stretch.best[0] - chunk.start, stretch.best[1] - chunk.start)
        own = pieces[inside[0] : inside[1] + 1]
        weights = weights_of(chunk.text, own, marked, marks) or resembling(chunk.text, own, self._likenesses)
        first, last = _core(own, weights, _nearer(own, nearest, stretch.best[0] - chunk.start), min(room, CORE))
        while first < last and _named(own[first]):  # headings are named above the excerpt, a table's in any case
            first += 1
        while _named(own[first]) and first + 1 < len(own):
            first = last = first + 1
        first, last = first + inside[0], last + inside[0]
        low, high = section_of(pieces[first].start + chunk.start)
        section = _among(pieces, low - chunk.start, high - chunk.start)
        while section[0] < first and pieces[section[0]].heading:  # it is named above the excerpt
            section = section[0] + 1, section[1]
        core, weights = (first, last), {number + inside[0]: here for number, here in weights.items()}
        first, last = _grown(chunk.text, pieces, core, section, room)
        first, last = _whole_sentences(chunk.text, pieces, (first, last), core, max(room, least))
        renderings, sentence = Renderings(chunk.text, pieces), (first, last)
        while True:
            shown, parts = renderings[first, last]
            if shown != (visible := without_hidden(shown)):
                shown, parts = visible, [(ADDED, visible)]
            if len(shown) <= room or first == last or (len(shown) <= least and (first, last) == sentence):
                break
            if last > core[1]:
                last -= 1
            elif first < core[0]:
                first += 1
            else:
                first, last = narrower(first, last, weights)
        if len(shown) > max(room, least):
            room = max(room, least)
            only = pieces[first]
            line = without_hidden(chunk.text[only.start : only.end]).rstrip()
            shown = cut_to(shown, line, only.frame, places_in(shown, marks), room)
            parts = [(ADDED, shown)]
        highlights = highlights_of(parts, chunk.text, marked, marks)
        if last + 1 < len(pieces) and _parted(chunk.text, pieces[last], pieces[last + 1]) and not shown.endswith(CUT):
            shown += f" {CUT}"
        if first and _parted(chunk.text, pieces[first - 1], pieces[first]) and not shown.startswith(CUT):
            shown, moved = f"{CUT} {shown}", len(CUT) + 1
            highlights = tuple((start + moved, end + moved) for start, end in highlights)
        snippet = Snippet(shown, pieces[first].line, pieces[last].line_end, highlights)
        whole = first <= section[0] and last >= section[1] and len(shown) <= room
        return Excerpt(snippet, pieces[core[0]].start + chunk.start, whole)


def _named(piece: Span) -> bool:
    """Whether a piece only says what stands below it: a heading, or a header row of a table."""
    frame = piece.frame
    return piece.heading or (frame is not None and frame.kind == "table" and piece.end <= frame.opening_end)


def _among(pieces: Sequence[Span], low: int, high: int) -> tuple[int, int]:
    """First and last of the pieces that begin within some characters; the nearest where none does."""
    inside = [number for number, piece in enumerate(pieces) if low <= piece.start < high]
    if inside:
        return inside[0], inside[-1]
    nearest = min(range(len(pieces)), key=lambda number: abs(pieces[number].start - low))
    return nearest, nearest


def _nearer(own: Sequence[Span], nearest: tuple[int, int] | None, base: int) -> list[bool]:
    """Of each piece of a passage whether it stands in the part that is nearest to the question; `base` is where the
    passage begins."""
    if nearest is None:
        return [False] * len(own)
    low, high = nearest[0] + base, nearest[1] + base
    return [low <= (piece.start + piece.end) // 2 < high for piece in own]


def _core(
    own: Sequence[Span], weights: Mapping[int, Mapping[str, float]], nearer: Sequence[bool], room: int
) -> tuple[int, int]:
    """First and last of the pieces that say most of the question within some characters, the shortest such run."""
    best, length_of_best, place = 0.0, 0, None
    telling = sorted(weights)
    for nth, first in enumerate(telling):
        seen: dict[str, float] = {}
        repeated = 0.0
        for last in telling[nth:]:
            length = own[last].end - own[first].start
            if length > room and last > first:
                break
            for token, weight in weights[last].items():
                before = seen.get(token, 0.0)
                repeated += min(before, weight)
                seen[token] = max(before, weight)
            near = NEAREST * sum(nearer[first : last + 1]) / (last - first + 1)
            rank = round(sum(seen.values()) + 0.1 * repeated + near, 9)
            if rank > best or (rank == best and length < length_of_best):
                best, length_of_best, place = rank, length, (first, last)
    if place is None:
        at = max(range(len(own)), key=lambda number: (not own[number].heading, nearer[number], -number))
        place = at, at
    return place


def _grown(
    text: str, pieces: Sequence[Span], core: tuple[int, int], section: tuple[int, int], room: int
) -> tuple[int, int]:
    """The core with what surrounds it: the section if it fits, else from its start on, or block by block."""
    low, high = min(section[0], core[0]), max(section[1], core[1])
    if _length(pieces, low, high) <= room:
        return low, high
    first, last = core
    if _length(pieces, low, last) <= room:
        first = low
    blocks = _blocks(pieces)
    growing = {1, -1}

    def indented(number: int) -> bool:
        return pieces[number].frame is None and text[pieces[number].start : pieces[number].start + 2].isspace()

    while growing:
        for direction in (1, -1):
            if direction not in growing:
                continue
            edge = last + 1 if direction > 0 else first - 1
            if not low <= edge <= high:
                growing.discard(direction)
                continue
            end = edge
            while low <= end + direction <= high and blocks[end + direction] == blocks[edge]:
                end += direction
            taken = (first, end) if direction > 0 else (end, last)
            if _length(pieces, *taken) > room:
                taken = (first, edge) if direction > 0 else (edge, last)
                beside = first if direction < 0 else last
                if _length(pieces, *taken) > room or (indented(edge) and blocks[edge] != blocks[beside]):
                    growing.discard(direction)  # code that isn't marked as such isn't begun without its end
                    continue
            first, last = taken
    while last > core[1] and _named(pieces[last]):
        last -= 1
    return first, last


def _whole_sentences(
    text: str, pieces: Sequence[Span], window: tuple[int, int], core: tuple[int, int], room: int
) -> tuple[int, int]:
    """The window without parts of sentences at its ends: with the rest of them if it fits, else without them."""

    def parted(number: int) -> bool:
        """Whether a piece and the next one are of one sentence, which was too long for one."""
        return 0 <= number < len(pieces) - 1 and _parted(text, pieces[number], pieces[number + 1])

    first, last = window
    while parted(last) and _length(pieces, first, last + 1) <= room:
        last += 1
    while parted(first - 1) and _length(pieces, first - 1, last) <= room:
        first -= 1
    end, begin = last, first
    while end > core[1] and parted(end):
        end -= 1
    while begin < core[0] and parted(begin - 1):
        begin += 1
    return (first if parted(begin - 1) else begin), (last if parted(end) else end)


def _parted(text: str, piece: Span, following: Span) -> bool:
    """Whether two pieces are of one sentence, which was too long to be a piece."""
    between = text[piece.end : following.start]
    if piece.frame is not None or piece.heading or "\n\n" in between:
        return False
    if "\n" in between and not text[following.start].islower():
        return False
    return not text[piece.start : piece.end].rstrip().rstrip(_CLOSING).endswith(_ENDS)


def _blocks(pieces: Sequence[Span]) -> list[int]:
    """For each piece the number of the paragraph, fence or table that it stands in."""
    numbers, number = [0], 0
    for before, piece in pairwise(pieces):
        if piece.frame is not before.frame or piece.heading or piece.line > before.line_end + 1:
            number += 1
        numbers.append(number)
    return numbers


def _length(pieces: Sequence[Span], first: int, last: int) -> int:
    """Characters that some pieces take as they are shown, about: with what their fences and tables need around them."""
    length = pieces[last].end - pieces[first].start
    frame = pieces[first].frame
    if frame is not None and pieces[first].start > frame.start:
        length += len(frame.opening) + 3
    frame = pieces[last].frame
    if frame is not None and pieces[last].end < frame.end:
        length += len(frame.closing) + 3
    return length
