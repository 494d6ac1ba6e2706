"""How a mail ends: "Thanks," and the name, title and address under it, but no sentence that comes after."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from . import phrases
from .borders import margin_of

_WORDS = "|".join(re.escape(word) for word in sorted(phrases.CLOSINGS, key=len, reverse=True))
_CLOSING = re.compile(
    rf"^\s*(?:{_WORDS})(?:\s+(?:again|a lot|so much|in advance|und|and|et|y|from)\b.{{0,20}})?\s*[,.!–-]*\s*$", re.I
)
_DASHED_NAME = re.compile(r"^\s*(?:-{1,2}|—|–|//|~)\s?[^\W\d_][\w.'’-]*(?:\s[^\W\d_][\w.'’-]*){0,3}\s*$")
_LINES = 6  #: with words, from the end of a mail, among which a closing is looked for
_WIDTH = 60  #: of a line of name, title or address
_POSTSCRIPT = rf"\W{{0,2}}(?:{'|'.join(map(re.escape, phrases.POSTSCRIPTS))})(?!\w)"
_ADDED = re.compile(rf"\s*{_POSTSCRIPT}", re.I)
_ASIDE = re.compile(rf"\s*(?:{_POSTSCRIPT}|[\[(]?\d{{1,2}}[\])]|[-*•]\s)", re.I)
_CODE = re.compile(r"[{}]|;$")
_TRAILER = re.compile(r"[A-Z][\w-]*-by: ")  #: "Reviewed-by: Ann": what is said of a patch
_CONTACT = re.compile(r"[\w.+-]+@[\w-]+\.\S+|\bwww\.\S+|https?://\S+|(?!\d+[/.-]\d\d?[/.-]\d)\+?\d[\d\s()./-]{6,}")


def find(lines: Sequence[str], end: int, covered: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Lines [start, stop) of the closings among the last words before `end`; `covered` lines aren't the mail's own.

    A closing goes as far as its lines read as a name, a title or an address. Words that a sentence follows close
    nothing: "Thanks! The port is open." goes on.
    """
    words = [
        place for place in range(end) if lines[place].strip() and not covered[place] and not margin_of(lines[place])
    ]
    tail = [place for place in words[1:][-_LINES:] if place >= words[-1] - 2 * _LINES]
    reached = 0
    for place in tail:
        if place < reached or not (_CLOSING.match(lines[place]) or _DASHED_NAME.match(lines[place])):
            continue
        below = [one for one in tail if one > place]
        signed = [place]
        for one in below:
            named = len(signed) == 1 and _DASHED_NAME.match(lines[one])
            if any(covered[signed[-1] : one]) or not (named or _signs(lines[one])):
                break
            signed.append(one)
        after = below[len(signed) - 1 : len(signed)]
        closes = len(signed) > 1 or not after or covered[after[0] - 1] or _ASIDE.match(lines[after[0]])
        if closes and not _is_list(lines, [place, *below]):
            reached = signed[-1] + 1
            yield place, reached


def postscript(lines: Sequence[str], start: int, stop: int) -> int:
    """The line of [start, stop) with which a postscript begins below a blank one; `stop` without one."""
    below = (place for place in range(start + 1, stop) if not lines[place - 1].strip() and _ADDED.match(lines[place]))
    return next(below, stop)


def _signs(line: str) -> bool:
    """Whether a line under a closing reads as a name, a title or an address rather than as a sentence."""
    bare = line.strip()
    if len(bare) > _WIDTH or _ASIDE.match(bare) or _CODE.search(bare) or _TRAILER.match(bare):
        return False
    if _CLOSING.match(bare):
        return True
    words = [word for word in _CONTACT.sub(" ", bare).split() if word.strip(",.").lower() not in phrases.PARTICLES]
    small = sum(word[:1].islower() for word in words)
    if bare.endswith(("?", "!", "…", ":", ";", "。", "！", "？")) or (bare.endswith(".") and small and len(words) > 1):
        return False
    return len(words) <= 2 or 3 * small <= len(words)


def _is_list(lines: Sequence[str], places: Sequence[int]) -> bool:
    """Several dashed lines in a row are a list."""
    dashed = [place for place in places if re.match(r"\s*(?:--|[-—–])\s", lines[place])]
    above = [line for line in lines[max(0, places[0] - 2) : places[0]] if line.strip()]
    return len(dashed) > 1 or (bool(dashed) and any(re.match(r"\s*(?:--|[-*•])\s", line) for line in above))
