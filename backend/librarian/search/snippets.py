"""What is shown of a hit: a coherent piece of its chunk, or of the section around it, with the match in it.

The spans that carry most of the query's words are chosen, then what surrounds them while there is space. A fence or a
table is shown whole where it fits, else by whole lines around the match. A chunk that was found by its meaning may hold
no word of the query: its best sentence then is the one with words that begin like the query's; where there is none, the
one whose words look most like them by their letters; where nothing looks alike, the first.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from ..models import AnalyzedQuery, Chunk, Frame, Snippet
from ..text.analyzer import StandardAnalyzer
from ..text.characters import ENDS_ALONE, ENDS_BEFORE_BLANK, is_spelt, spelt_with_places
from ..text.sanitizing import without_hidden
from .truncation import ADDED, CUT, Part, Place, Renderings, Span, cut_to, spans_of

CEILING = 600  #: characters that no snippet exceeds
CORE = 320  #: characters of the sentences that an excerpt is built around

#: An identifier counts as much as this many words; a word that only begins alike counts this share of one.
_IDENTIFIER, _ALIKE, _ALIKE_LETTERS = 3.0, 0.3, 5

#: Two words look alike from this Dice coefficient of their runs of three letters on (Dice 1945): `scaling` and
#: `autoscaler` have 0.31, words that share a syllable by chance less.
_RESEMBLING = 0.3

#: What a sentence gains for standing in the part of its chunk that is nearest to the query, as a share of what a word
#: of the query brings that a single sentence holds.
_NEAREST = 0.6
_DEEPEST = 40  #: blanks before a chunk that are taken for its indentation; more stand in place of text left out
#: What ends a sentence, and what may stand behind that.
_ENDS, _CLOSING = (*ENDS_BEFORE_BLANK, *ENDS_ALONE, "…", ":"), "\"'”’)]»」』）】*_`"

_PIECE = re.compile(r"\S+")
_WORD = re.compile(r"[^\W\d_]{3,}")
#: Letters of a token that a word with it surely begins with: Snowball's English stems differ from their words in the
#: last letter at most (`happy`, `happi`), but for `dying`, `lying` and `tying`, which become `die`, `lie` and `tie`.
_LETTERS, _IRREGULAR = _ALIKE_LETTERS, {"die", "lie", "tie"}
#: A hyphen behind one letter or two: `e-mail` is also `email`, `re-use` is `reuse`.
_JOINING = re.compile(r"-(?<=[a-z]-)(?<![a-z]{3}-)(?=[a-z])")
_RARE_BLANK = re.compile(r"[^\S ]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")  #: letters that are folded

#: Number of a span → the query's words in it with their weight; the numbers ascend.
Weights = Mapping[int, Mapping[str, float]]
#: A token in a piece, with where it begins and ends there and whether it is a whole identifier.
Word = tuple[str, int, int, bool]
Pieces = Sequence[tuple[int, int]]  #: first and last offset of each


# -- where the query's words stand ---------------------------------------------------------------------------------


class Match(NamedTuple):
    """What a piece, which stands between two blanks, says of the query."""

    weights: Mapping[str, float]  #: the query's tokens that it holds or begins like, with their weight in it
    words: Sequence[Word]  #: those that it holds
    highlights: Pieces  #: where they stand, in order and without overlap


#: A piece of a text with its match: where it stands, and what it says.
Matched = tuple[int, int, Match]


def all_pieces(text: str, start: int, end: int) -> Pieces:
    """Every piece of `text[start:end]`, which stands between two blanks."""
    return [piece.span() for piece in _PIECE.finditer(text, start, end)]


def english_prefilter(tokens: Collection[str]) -> Callable[[str, int, int], Pieces]:
    """What lets every piece through with one of the tokens in English, or with a token that begins like one; of others
    few. It only looks at letters, which is far quicker than taking every piece apart."""
    beginnings = {one[:1] if one in _IRREGULAR else one[: min(_LETTERS, max(len(one) - 1, 2))] for one in tokens}

    def pieces(text: str, start: int, end: int) -> Pieces:
        letters = text[start:end].lower()
        if len(letters) != end - start:  # a letter whose small form is two
            return all_pieces(text, start, end)
        letters = letters.replace("\n", " ")
        letters = letters if letters.isprintable() else _RARE_BLANK.sub(" ", letters)
        places = [joining.start() for joining in _JOINING.finditer(letters)] if "-" in letters else []
        if not letters.isascii():
            places += [found.start() for found in _NOT_ASCII.finditer(letters)]
        for beginning in beginnings:
            at = letters.find(beginning)
            while at >= 0:
                places.append(at)
                at = letters.find(beginning, at + 1)
        found: list[tuple[int, int]] = []
        behind = -1
        for at in sorted(places):
            if at < behind or (letters[at - 1 : at].islower() and "a" <= text[start + at] <= "z"):
                continue  # no token begins with a small letter behind another
            behind = letters.find(" ", at)
            behind = behind if behind >= 0 else len(letters)
            found.append((start + letters.rfind(" ", 0, at) + 1, start + behind))
        return found

    return pieces


class MatchFinder(dict[str, Match | None]):
    """Piece → what it says of the query, computed on first use. For one query and one language.

    Chunks of one answer share most of their words: each piece is taken apart once, for all of them.
    """

    def __init__(self, analyzer: StandardAnalyzer, wanted: Mapping[str, float], language: str) -> None:
        super().__init__()
        self._wanted = wanted
        self._beginnings = {token[:_ALIKE_LETTERS]: token for token in wanted if len(token) > _ALIKE_LETTERS}
        self._by_piece = analyzer.by_piece(language)
        self._lines: dict[str, list[Matched]] = {}
        self._pieces = english_prefilter(wanted) if language in ("", "en") else all_pieces

    def __missing__(self, piece: str) -> Match | None:
        weights: dict[str, float] = {}
        words: list[Word] = []
        every = self._by_piece[piece]
        if is_spelt(piece, 0, len(piece)):  # also what it spells with HTML entities, as the index has it
            read, places = spelt_with_places(piece)
            known = {word[0] for word in every}
            spelt = [word for word in self._by_piece[read] if word[0] not in known]
            every = [
                *every,
                *((token, places[start][0], places[end - 1][1], name) for token, start, end, name in spelt),
            ]
        for word in every:
            token = word[0]
            if token in self._wanted:
                weights[token] = self._wanted[token]
                words.append(word)
            elif (alike := self._beginnings.get(token[:_ALIKE_LETTERS])) is not None and alike not in weights:
                weights[alike] = _ALIKE * self._wanted[alike]
        found = self[piece] = Match(weights, words, _without_overlap(words)) if weights else None
        return found

    def within(self, text: str, start: int, end: int) -> list[Matched]:
        """In order, the pieces of `text[start:end]` with a match."""
        pieces = (all_pieces if is_spelt(text, start, end) else self._pieces)(text, start, end)
        return [(first, last, found) for first, last in pieces if (found := self[text[first:last]]) is not None]

    def in_line(self, line: str) -> list[Matched]:
        """Those of a line that may come with many chunks, as the mark of a cut and the end of a fence do."""
        found = self._lines.get(line)
        if found is None:
            found = self._lines[line] = self.within(line, 0, len(line))
        return found


def _without_overlap(words: Sequence[Word]) -> list[tuple[int, int]]:
    """The places of words, those that overlap taken together: a name stands where its parts do."""
    if len(words) < 2:
        return [(start, end) for _, start, end, _ in words]
    merged: list[tuple[int, int]] = []
    for start, end in sorted([(start, end) for _, start, end, _ in words]):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


class TrigramMatcher(dict[str, Mapping[str, float]]):
    """Word → the query's tokens that it looks like, with their weight times their likeness (0–1). For one query."""

    def __init__(self, wanted: Mapping[str, float]) -> None:
        super().__init__()
        self._wanted = wanted

    @cached_property
    def _asked(self) -> Mapping[str, frozenset[str]]:
        return {token: frozenset(runs) for token in self._wanted if (runs := _runs(token))}

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset().union(*self._asked.values())

    def __missing__(self, word: str) -> Mapping[str, float]:
        found: dict[str, float] = {}
        if not self._known.isdisjoint(runs := _runs(word.casefold())):
            held = frozenset(runs)
            for token, own in self._asked.items():
                alike = 2 * len(held & own) / (len(held) + len(own))
                if alike >= _RESEMBLING:
                    found[token] = self._wanted[token] * alike
        self[word] = found
        return found

    def within(self, text: str, start: int, end: int) -> dict[str, float]:
        """Those that words in `text[start:end]` look like."""
        found: dict[str, float] = {}
        for word in _WORD.findall(text, start, end):
            if alike := self[word]:
                for token, weight in alike.items():
                    found[token] = max(weight, found.get(token, 0.0))
        return found


def _runs(word: str) -> list[str]:
    """All runs of three letters in a word."""
    return [word[start : start + 3] for start in range(len(word) - 2)]


class _Matcher:
    """Matches of one query, in any language. For one thread. Without `highlights` a snippet comes without."""

    def __init__(self, analyzer: StandardAnalyzer, query: AnalyzedQuery, *, highlights: bool = True) -> None:
        self.highlights = highlights
        self._analyzer = analyzer
        self._wanted = dict.fromkeys((*query.terms, *(token for phrase in query.phrases for token in phrase)), 1.0)
        self._wanted.update(dict.fromkeys(query.identifiers, _IDENTIFIER))
        self._alike: TrigramMatcher | None = None  #: made where nothing matches
        self._finders: dict[str, MatchFinder] = {}

    def finder(self, language: str) -> MatchFinder:
        if language not in self._finders:
            self._finders[language] = MatchFinder(self._analyzer, self._wanted, language)
        return self._finders[language]

    def weights(self, text: str, spans: Sequence[Span], matched: Sequence[Matched], finder: MatchFinder) -> Weights:
        """By the matches in each span; where there are none, by the words that look like one of the query's."""
        found = _weights_of(text, spans, matched, finder)
        if not found:
            self._alike = alike = self._alike or TrigramMatcher(self._wanted)
            for number, span in enumerate(spans):
                if not span.heading and (here := alike.within(text, span.start, span.end)):
                    found[number] = here
        return found


def _weights_of(
    text: str, spans: Sequence[Span], matched: Sequence[Matched], finder: MatchFinder
) -> dict[int, dict[str, float]]:
    """By the matched pieces of the text. Words that are in few spans weigh more."""
    found: dict[int, dict[str, float]] = {}
    spread: dict[str, int] = {}
    number = 0
    for start, end, match in matched:
        while number < len(spans) and (span := spans[number]).start < end:
            if span.end > start:
                inside = span.start <= start and end <= span.end  # spans may end where no blank is
                own = match if inside else finder[text[max(start, span.start) : min(end, span.end)]]
                if own is not None:
                    here = found.setdefault(number, {})
                    for token, weight in own.weights.items():
                        if token not in here:
                            here[token] = weight
                            spread[token] = spread.get(token, 0) + 1
                        elif weight > here[token]:
                            here[token] = weight
                if span.end >= end:
                    break
            number += 1
    rarity = {token: math.log(1 + len(spans) / count) for token, count in spread.items()}
    for number, here in found.items():
        share = 0.5 if spans[number].heading else 1.0  # headings are shown beside the snippet anyway
        for token in here:
            here[token] *= share * rarity[token]
    return found


# -- which spans are shown -----------------------------------------------------------------------------------------


def _window(spans: Sequence[Span], weights: Weights, space: int, nearer: Sequence[bool]) -> tuple[int, int]:
    """First and last of the spans with most weight within `space` characters, the shortest such window.

    `nearer` says of each span whether it stands in the part that is nearest to the query.
    """
    best, shortest, place = 0.0, 0, None
    numbers = list(weights)
    for nth, first in enumerate(numbers):
        seen: dict[str, float] = {}
        total = repeated = 0.0
        for last in numbers[nth:]:
            length = spans[last].end - spans[first].start
            if length > space and last > first:
                break
            for token, weight in weights[last].items():
                before = seen.get(token, 0.0)
                repeated += min(before, weight)
                if weight > before:
                    total += weight - before
                    seen[token] = weight
            near = _NEAREST * sum(nearer[first : last + 1]) / (last - first + 1) if nearer else 0.0
            rank = round(total + 0.1 * repeated + near, 9)
            if rank > best or (rank == best and length < shortest):
                best, shortest, place = rank, length, (first, last)
    if place is None:
        near_by = nearer or [False] * len(spans)
        at = max(range(len(spans)), key=lambda number: (not spans[number].heading, near_by[number], -number))
        place = at, at
    return place


def _cut(
    text: str,
    spans: Sequence[Span],
    renderings: Renderings,
    window: tuple[int, int],
    core: tuple[int, int],
    weights: Weights,
    matched: Sequence[Matched],
    finder: MatchFinder,
    space: int,
    least: int = 0,
    *,
    highlighted: bool = True,
) -> tuple[Snippet, tuple[int, int]]:
    """The window as it is shown within `space` characters, and what is left of it: what isn't of the core goes first,
    then whichever end says less; a single span is cut. A window of at most `least` characters stays."""
    (first, last), whole = window, window
    while True:
        shown, parts = renderings[first, last]
        if shown != (visible := without_hidden(shown)):
            shown, parts = visible, [(ADDED, visible)]
        if len(shown) <= space or first == last or (len(shown) <= least and (first, last) == whole):
            break
        if last > core[1]:
            last -= 1
        elif first < core[0] or math.fsum(weights.get(first, {}).values()) < math.fsum(weights.get(last, {}).values()):
            first += 1
        else:
            last -= 1
    if len(shown) > max(space, least):
        line = without_hidden(text[spans[first].start : spans[first].end]).rstrip()
        shown = cut_to(shown, line, spans[first].container, _places_in(shown, finder), max(space, least))
        parts = [(ADDED, shown)]
    highlights = _highlights_of(parts, text, matched, finder) if highlighted else ()
    return Snippet(shown, spans[first].line, spans[last].line_end, highlights), (first, last)


def _places_in(shown: str, finder: MatchFinder) -> Iterator[Place]:
    """Where a text says something of the query: at words that do, or at pieces that only begin alike."""
    for first, last, match in finder.within(shown, 0, len(shown)):
        for token, start, end, _ in match.words:
            yield Place(first + start, first + end, {token: match.weights[token]})
        if not match.words:
            yield Place(first, last, match.weights)


def _highlights_of(
    parts: Sequence[Part], text: str, matched: Sequence[Matched], finder: MatchFinder
) -> tuple[tuple[int, int], ...]:
    """Where the query's words stand in what is shown. A part that stands in the chunk between blanks holds the pieces
    that were found there."""
    found: list[tuple[int, int]] = []
    shift = 0
    for origin, part in parts:
        end = origin + len(part)
        between_blanks = (origin <= 0 or text[origin - 1].isspace()) and (end >= len(text) or text[end].isspace())
        if origin != ADDED and between_blanks:
            here = [piece for piece in matched if origin <= piece[0] < end]
        else:
            here, origin = finder.in_line(part), 0
        for place, _, match in here:
            place += shift - origin
            found += [(place + start, place + end) for start, end in match.highlights]
        shift += len(part) + 1
    return tuple(found)


# -- snippets of chunks --------------------------------------------------------------------------------------------


class Snippets:
    """Cuts snippets of about `target` characters, with up to `context_lines` lines on each side of the match.

    A fence or table with the match in it is shown whole where it fits, however many lines it has.
    """

    def __init__(self, analyzer: StandardAnalyzer, *, target: int = 320, context_lines: int = 3) -> None:
        self._analyzer = analyzer
        self._target = min(max(target, 80), CEILING)
        self._context_lines = context_lines

    def of(self, chunk: Chunk, query: AnalyzedQuery, language: str = "") -> Snippet:
        """The best window of the chunk, with the places of the query's words in it."""
        return self.answering(query)(chunk, language)

    def answering(self, query: AnalyzedQuery) -> Callable[[Chunk, str], Snippet]:
        """What cuts the chunks of one answer, each of a document in some language. For one thread."""
        matcher = _Matcher(self._analyzer, query)

        def cut(chunk: Chunk, language: str) -> Snippet:
            text, spans = chunk.text, spans_of(chunk)
            if not spans:
                return Snippet(without_hidden(text.strip())[:CEILING], chunk.line_start, chunk.line_end)
            finder, renderings = matcher.finder(language), Renderings(text, spans)
            matched = finder.within(text, spans[0].start, spans[-1].end)
            weights = matcher.weights(text, spans, matched, finder)
            window = self._grown(spans, renderings, *_window(spans, weights, self._target, ()))
            return _cut(text, spans, renderings, window, window, weights, matched, finder, CEILING)[0]

        return cut

    def _grown(self, spans: Sequence[Span], renderings: Renderings, first: int, last: int) -> tuple[int, int]:
        """Take in the rest of a fence or table that fits; then what follows and what goes before, up to the target."""
        for container in (spans[first].container, spans[last].container):
            if container is None:
                continue
            members = [i for i, span in enumerate(spans) if span.container is container]
            low, high = min(first, members[0]), max(last, members[-1])
            if len(renderings[low, high].text) <= CEILING:
                first, last = low, high
        space = {1: self._context_lines, -1: self._context_lines}
        while True:
            for direction in (1, -1):
                low, high = _step(spans, first, last, direction)
                if (low, high) == (first, last):
                    continue
                left = space[direction] - _more_lines(spans, first, last, low, high)
                if left >= 0 and len(renderings[low, high].text) <= self._target:
                    first, last, space[direction] = low, high, left
                    break
            else:
                return first, last


def _step(spans: Sequence[Span], first: int, last: int, direction: int) -> tuple[int, int]:
    """One span more, a whole fence or table at once."""
    edge = last + 1 if direction > 0 else first - 1
    if not 0 <= edge < len(spans) or (direction < 0 and spans[edge].heading):
        return first, last  # headings are shown anyway, beside the snippet
    container = spans[edge].container
    while (
        container is not None and 0 <= edge + direction < len(spans) and spans[edge + direction].container is container
    ):
        if spans[first].container is container or spans[last].container is container:
            break  # inside a fence too long to be shown whole: line by line
        edge += direction
    return (first, edge) if direction > 0 else (edge, last)


def _more_lines(spans: Sequence[Span], first: int, last: int, low: int, high: int) -> int:
    """How many lines a window has more that grew at one end by a span, or by a fence or table with a span a line.

    Sentences may share a line; blank lines are in no span, and don't count.
    """
    if high > last:
        span = spans[high]
        return high - last + span.line_end - max(span.line, spans[last].line_end + 1)
    span = spans[low]
    return first - low + min(span.line_end, spans[first].line - 1) - span.line


# -- excerpts of sections ------------------------------------------------------------------------------------------


def section_at(limits: Sequence[int], offset: int) -> tuple[int, int]:
    """First and last offset of the section at an offset, the last one not in it. A section reaches up to the next
    heading of whatever level; `limits` are 0, where the headings begin, and where the document ends."""
    number = min(bisect_right(limits, offset), len(limits) - 1)
    return limits[number - 1], limits[number]


class Excerpt(NamedTuple):
    """What is shown of a chunk, or of several that were joined."""

    snippet: Snippet
    at: int  #: offset in the document of the sentences that answer
    whole: bool  #: whether it is the whole section, as far as the chunks hold it


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
    if not breaks or blanks > breaks * _DEEPEST:
        return 0
    following = next((line for line in text.split("\n")[1:] if line.strip()), " " * _DEEPEST)
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


class Excerpts(_Matcher):
    """Cuts excerpts for one query. For one thread.

    An excerpt begins and ends where a sentence, a row or a line of code does, and at the border of a block where it
    can. It always holds the sentences that say most of the query, in the part of the chunk whose vector is nearest.
    """

    def cut(
        self,
        chunk: Chunk,
        best: tuple[int, int],
        language: str,
        space: int,
        limits: Sequence[int],
        nearest: tuple[int, int] | None = None,
        *,
        least: int = 0,
    ) -> Excerpt:
        """At most `space` characters of the section that holds the sentences which answer, all of it if it fits.

        `chunk` is the best one, or several with it, joined; `best` is where that lies in the document, and `limits` are
        the document's sections (`section_at`). A single sentence is cut only where it has more than `least` characters,
        too. `nearest` is where in the best chunk the part lies whose vector is nearest to the query's, where that is
        known.
        """
        text, spans = chunk.text, spans_of(chunk)
        if not spans:
            nothing = without_hidden(text.strip())[:space].rstrip()
            return Excerpt(Snippet(nothing, chunk.line_start, chunk.line_end), chunk.start, whole=True)
        finder = self.finder(language)
        matched = finder.within(text, spans[0].start, spans[-1].end)
        base = best[0] - chunk.start
        inside = _among(spans, base, best[1] - chunk.start)
        own = spans[inside[0] : inside[1] + 1]
        weights = self.weights(text, own, matched, finder)
        nearer: list[bool] = []  # of each of these whether it stands in the part that is nearest to the question
        if nearest is not None:
            low, high = nearest[0] + base, nearest[1] + base
            nearer = [low <= (span.start + span.end) // 2 < high for span in own]
        first, last = _window(own, weights, min(space, CORE), nearer)
        while first < last and _is_label(own[first]):  # headings are named above the excerpt, a table's in any case
            first += 1
        while _is_label(own[first]) and first + 1 < len(own):
            first = last = first + 1
        core = first + inside[0], last + inside[0]
        weights = {number + inside[0]: here for number, here in weights.items()}
        low, high = section_at(limits, spans[core[0]].start + chunk.start)
        section = _among(spans, low - chunk.start, high - chunk.start)
        while section[0] < core[0] and spans[section[0]].heading:  # it is named above the excerpt
            section = section[0] + 1, section[1]
        window = _grown(text, spans, core, section, space)
        window = _whole_sentences(text, spans, window, core, max(space, least))
        renderings = Renderings(text, spans)
        given = text, spans, renderings, window, core, weights, matched, finder, space, least
        snippet, (first, last) = _cut(*given, highlighted=self.highlights)
        shown, highlights = snippet.text, snippet.highlights
        if last + 1 < len(spans) and _parted(text, spans[last], spans[last + 1]) and not shown.endswith(CUT):
            shown += f" {CUT}"
        if first and _parted(text, spans[first - 1], spans[first]) and not shown.startswith(CUT):
            shown, moved = f"{CUT} {shown}", len(CUT) + 1
            highlights = tuple((start + moved, end + moved) for start, end in highlights)
        whole = first <= section[0] and last >= section[1] and len(shown) <= space
        if shown != snippet.text:
            snippet = replace(snippet, text=shown, highlights=highlights)
        return Excerpt(snippet, spans[core[0]].start + chunk.start, whole)


def _is_label(span: Span) -> bool:
    """Whether a span only says what stands below it: a heading, or a header row of a table."""
    container = span.container
    return span.heading or (container is not None and container.kind == "table" and span.end <= container.opening_end)


def _among(spans: Sequence[Span], low: int, high: int) -> tuple[int, int]:
    """First and last of the spans that begin within some characters; the nearest where none does."""
    inside = [number for number, span in enumerate(spans) if low <= span.start < high]
    if inside:
        return inside[0], inside[-1]
    nearest = min(range(len(spans)), key=lambda number: abs(spans[number].start - low))
    return nearest, nearest


def _grown(
    text: str, spans: Sequence[Span], core: tuple[int, int], section: tuple[int, int], space: int
) -> tuple[int, int]:
    """The core with what surrounds it: the section if it fits, else from its start on, or block by block."""
    low, high = min(section[0], core[0]), max(section[1], core[1])
    if _length(spans, low, high) <= space:
        return low, high
    first, last = core
    if _length(spans, low, last) <= space:
        first = low
    blocks = _blocks(spans)
    growing = {1, -1}

    def indented(number: int) -> bool:
        return spans[number].container is None and text[spans[number].start : spans[number].start + 2].isspace()

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
            if _length(spans, *taken) > space:
                taken = (first, edge) if direction > 0 else (edge, last)
                neighbour = first if direction < 0 else last
                if _length(spans, *taken) > space or (indented(edge) and blocks[edge] != blocks[neighbour]):
                    growing.discard(direction)  # code that isn't marked as such isn't begun without its end
                    continue
            first, last = taken
    while last > core[1] and _is_label(spans[last]):
        last -= 1
    return first, last


def _whole_sentences(
    text: str, spans: Sequence[Span], window: tuple[int, int], core: tuple[int, int], space: int
) -> tuple[int, int]:
    """The window without parts of sentences at its ends: with the rest of them if it fits, else without them."""

    def parted(number: int) -> bool:
        """Whether a span and the next one are of one sentence, which was too long for one."""
        return 0 <= number < len(spans) - 1 and _parted(text, spans[number], spans[number + 1])

    first, last = window
    while parted(last) and _length(spans, first, last + 1) <= space:
        last += 1
    while parted(first - 1) and _length(spans, first - 1, last) <= space:
        first -= 1
    end, begin = last, first
    while end > core[1] and parted(end):
        end -= 1
    while begin < core[0] and parted(begin - 1):
        begin += 1
    return (first if parted(begin - 1) else begin), (last if parted(end) else end)


def _parted(text: str, span: Span, following: Span) -> bool:
    """Whether two spans are of one sentence, which was too long to be a span."""
    between = text[span.end : following.start]
    if span.container is not None or span.heading or "\n\n" in between:
        return False
    if "\n" in between and not text[following.start].islower():
        return False
    return not text[span.start : span.end].rstrip().rstrip(_CLOSING).endswith(_ENDS)


def _blocks(spans: Sequence[Span]) -> list[int]:
    """For each span the number of the paragraph, fence or table that it stands in."""
    numbers, number = [0], 0
    for before, span in pairwise(spans):
        if span.container is not before.container or span.heading or span.line > before.line_end + 1:
            number += 1
        numbers.append(number)
    return numbers


def _length(spans: Sequence[Span], first: int, last: int) -> int:
    """Characters that some spans take as they are shown, about: with what their fences and tables need around them."""
    length = spans[last].end - spans[first].start
    container = spans[first].container
    if container is not None and spans[first].start > container.start:
        length += len(container.opening) + 3
    container = spans[last].container
    if container is not None and spans[last].end < container.end:
        length += len(container.closing) + 3
    return length
