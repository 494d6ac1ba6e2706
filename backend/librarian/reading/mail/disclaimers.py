"""What lawyers have programs say at the end of a mail: that it is a secret, for whom, and what others mustn't do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from . import phrases
from .borders import margin_of

SECRET = re.compile("|".join(phrases.SECRET), re.I)
FOR_WHOM = re.compile("|".join(phrases.FOR_WHOM), re.I)
_FORBIDDEN = re.compile("|".join(phrases.FORBIDDEN), re.I)
_ANY = re.compile("|".join((*phrases.SECRET, *phrases.FOR_WHOM, *phrases.FORBIDDEN, *phrases.BESIDES)), re.I)
_TITLES = rf"(?:{'|'.join(phrases.DISCLAIMER_TITLES)})"
#: How one begins, perhaps below or behind a title.
_OPENING = re.compile(
    rf"^[\W_]*(?:[^:!?]{{0,40}}\b{_TITLES}\b[^:!?]{{0,40}}[:.!*–-]+\s*)?[\W_]*"
    rf"(?P<phrase>{'|'.join(phrases.DISCLAIMER_OPENINGS)})(?!\w)",
    re.I,
)
_NAMED = re.compile(rf"\b{_TITLES}\b", re.I)
_TITLE = re.compile(rf"^[\W_]*(?:[\w’'-]+ ){{0,2}}{_TITLES}\b.{{0,30}}$", re.I)
_LEAST = 150  #: characters of one; what is shorter may be somebody's own
_LEAST_OF_ANOTHER = 80  #: of the same in another language
_LONGEST = 6_000  #: of a paragraph
_LINES = 80  #: from the end of a mail, among which one is looked for
_SHORT = 60  #: a line of so many characters, or one that ends a sentence, isn't wrapped into the next


def start(lines: Sequence[str], end: int, covered: Sequence[bool]) -> int | None:
    """The line with which the disclaimers begin that reach to `end`; None where there are none.

    Nothing but disclaimers may follow: each paragraph below has words of them, or nothing is one.
    """
    found: int | None = None
    for first, stop in _paragraphs(lines, end, covered):
        whole = " ".join(" ".join(lines[first:stop]).split())
        if found is not None and len(whole) <= _SHORT and _TITLE.match(whole):
            found = first
            continue
        if len(whole) > _LONGEST or not _ANY.search(whole):
            break
        opening = next((place for place in range(first, stop) if _opens(lines, first, place)), None)
        if opening is not None:
            text = " ".join(" ".join(lines[opening : end if found is None else found]).split())
            kinds = sum(bool(said.search(text)) for said in (SECRET, FOR_WHOM, _FORBIDDEN))
            if (kinds == 3 and len(text) >= _LEAST) or (found and kinds == 2 and len(text) >= _LEAST_OF_ANOTHER):
                found = opening
            if opening > first:
                break  # what stands above it in its paragraph is the mail's own
    return found


def _paragraphs(lines: Sequence[str], end: int, covered: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Runs of lines with words, [first, stop), from the last one up, as far as they are the mail's own."""
    stop = end
    least = max(0, end - _LINES)
    while stop > least:
        if covered[stop - 1] or margin_of(lines[stop - 1]):
            return
        first = stop
        while (
            first > least and _has_letters(lines[first - 1]) and not (covered[first - 1] or margin_of(lines[first - 1]))
        ):
            first -= 1
        if first < stop:
            yield first, stop
        stop = min(first, stop - 1)


def _opens(lines: Sequence[str], first: int, place: int) -> bool:
    above = lines[place - 1].strip(" \t-_=*#~") if place > first else ""
    bare = lines[place].strip()
    begins = len(above) < _SHORT or above.endswith((".", "!", "?", ":", ")"))
    if not begins or bare[:1].islower():
        return False
    opening = _OPENING.match(" ".join([bare, *lines[place + 1 : place + 3]]))
    return opening is not None and (opening.start("phrase") <= len(bare) or bool(_NAMED.search(bare)))


def _has_letters(line: str) -> bool:
    return any(map(str.isalnum, line))
