"""What a rule opens at the end of a mail: a signature, or the footer of a mailing list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from . import phrases
from .attributions import margin_of

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
_DISCLAIMER_LINES = 80  #: from the end of a mail, among which one is looked for
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
            kinds = sum(bool(words.search(text)) for words in (SECRET, FOR_WHOM, _FORBIDDEN))
            if (kinds == 3 and len(text) >= _LEAST) or (found and kinds == 2 and len(text) >= _LEAST_OF_ANOTHER):
                found = opening
            if opening > first:
                break  # what stands above it in its paragraph is the mail's own
    return found


def _paragraphs(lines: Sequence[str], end: int, covered: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Runs of lines with words, [first, stop), from the last one up, as far as they are the mail's own."""
    stop = end
    least = max(0, end - _DISCLAIMER_LINES)
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


SIGNATURE = "signature"
FOOTER = "footer"  #: of a mailing list

FOOTER_LINES = 10
_SIGNATURE_LINES = 15
_UNDERLINE_SLACK = 2  #: characters by which the row under a heading may be wider or narrower
_REACH = 200  #: lines from a rule to the end of what it may open, so that a mail of nothing but rules is read fast
#: One sign, or many signs in any order, as lists and people adorn their rules with.
_FOOTER_RULE = re.compile(
    r"^\s*(?:_{5,}|-{5,}(?: Yahoo! Groups Sponsor -{5,})?(?:~-+>)?|={5,}|\*{5,}|#{5,}|[-_=*#~.+]{20,})\s*$"
)
_SIGNATURE_ROW = re.compile(r"^\s*[_-]{5,}\s*$")
_RULES = frozenset("-_=*#~.+—–")
_SIGNATURE_RULES = frozenset({"--", "---", "—", "–"})
_FOOTER_WORDS = re.compile(
    r"mailing list|listinfo|unsubscri|[@/]lists?\.|/mailman|groups?\.google|google groups|yahoo! groups|list-?serv"
    r"|maillist|p\.sf\.net/sfu|\bsf\.net email|ads\.osdn\.com|ostg\.clktrk"  # SourceForge's, above the list's own
    r"|abmelden|abbestellen|désinscri|desuscri|отписат|退订",
    re.I,
)
_LIST_PAGE = re.compile(r"\s*https?://\S+/listinfo(?:\.cgi)?/\S+\s*$")


def is_list_page(line: str) -> bool:
    """Whether the line is nothing but a link to a mailing list's page, which is all that some lists add."""
    return "/listinfo" in line and bool(_LIST_PAGE.match(line))


def may_open(line: str) -> bool:
    """Whether the line is a rule, or one of the marks that signatures begin with."""
    bare = line.strip()
    if bare in _SIGNATURE_RULES:  # further in they are comments of a program
        return len(line) - len(line.lstrip()) <= 1
    return bare[:1] in _RULES and bool(_FOOTER_RULE.match(line))


def opens(lines: Sequence[str], place: int, stop: int) -> str:
    """Why everything from a rule to `stop` is a signature or footer; empty where it isn't."""
    if stop - place > _REACH:
        return ""
    line = lines[place]
    below = [text for text in lines[place + 1 : stop] if text.strip()]
    if line.strip() != "--" and any(text.strip() == "--" for text in below):
        return ""  # the signature is further down, and lists add their footers below that
    footer_lines = (line, *_first_paragraph(lines[place + 1 : stop]))
    if len(below) <= FOOTER_LINES and any(map(_FOOTER_WORDS.search, footer_lines)):
        return FOOTER
    if line.strip() in ("--", "—", "–") and len(below) <= _SIGNATURE_LINES:
        return SIGNATURE
    if line.strip() == "---" and 0 < len(below) <= 3 and all(len(text) <= 60 for text in below):
        return SIGNATURE
    legal = (SECRET, FOR_WHOM)
    if all(any(map(words.search, below)) for words in legal) and (
        line.strip() == "--" or (len(below) <= _SIGNATURE_LINES and any(words.search(below[0]) for words in legal))
    ):
        return SIGNATURE
    if (
        _SIGNATURE_ROW.match(line)
        and len(below) <= 8
        and all(len(text) <= 72 for text in below if _has_letters(text))
        and any(map(str.strip, lines[:place]))
        and not _is_underline(lines, place)
    ):
        whole = " ".join(below)
        if re.search(r"@|\+?\d[\d\s()./-]{6,}|www\.|https?:|signature|signatur", whole, re.I):
            return SIGNATURE
    return ""


def _is_underline(lines: Sequence[str], place: int) -> bool:
    """Whether a rule stands right below a heading: a line of words that is as wide and has none right above it."""
    heading = lines[place - 1].strip() if place else ""
    alone = place < 2 or not _has_letters(lines[place - 2])
    return alone and _has_letters(heading) and abs(len(heading) - len(lines[place].strip())) <= _UNDERLINE_SLACK


def _first_paragraph(lines: Sequence[str]) -> list[str]:
    """The first lines with words. Further down may stand a footer that no rule opens, below somebody's words."""
    found: list[str] = []
    for line in lines:
        if line.strip():
            found.append(line)
        elif found:
            break
    return found


_WORDS = "|".join(re.escape(word) for word in sorted(phrases.CLOSINGS, key=len, reverse=True))
_CLOSING = re.compile(
    rf"^\s*(?:{_WORDS})(?:\s+(?:again|a lot|so much|in advance|und|and|et|y|from)\b.{{0,20}})?\s*[,.!–-]*\s*$", re.I
)
_DASHED_NAME = re.compile(r"^\s*(?:-{1,2}|—|–|//|~)\s?[^\W\d_][\w.'’-]*(?:\s[^\W\d_][\w.'’-]*){0,3}\s*$")
_LINES = 6  #: with words, from the end of a mail, among which a closing is looked for
_WIDTH = 60  #: of a line of name, title or address
_POSTSCRIPT = rf"\W{{0,2}}(?:{'|'.join(map(re.escape, phrases.POSTSCRIPTS))})(?!\w)"
_ADDED = re.compile(rf"\s*{_POSTSCRIPT}", re.I)
_NOTE = re.compile(rf"\s*(?:{_POSTSCRIPT}|[\[(]?\d{{1,2}}[\])]|[-*•]\s)", re.I)
_CODE = re.compile(r"[{}]|;$")
_CONTACT = re.compile(r"[\w.+-]+@[\w-]+\.\S+|\bwww\.\S+|https?://\S+|(?!\d+[/.-]\d\d?[/.-]\d)\+?\d[\d\s()./-]{6,}")


def find_closings(lines: Sequence[str], end: int, covered: Sequence[bool]) -> Iterator[tuple[int, int]]:
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
        closes = len(signed) > 1 or not after or covered[after[0] - 1] or _NOTE.match(lines[after[0]])
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
    if len(bare) > _WIDTH or _NOTE.match(bare) or _CODE.search(bare):
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
