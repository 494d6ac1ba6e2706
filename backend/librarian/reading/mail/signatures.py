"""What a rule opens at the end of a mail: a signature, or the footer of a mailing list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import disclaimers

SIGNATURE = "signature"
FOOTER = "footer"  #: of a mailing list

FOOTER_LINES = 10
_SIGNATURE_LINES = 15
_UNDERLINE_SLACK = 2  #: characters by which the row under a heading may be wider or narrower
_BESIDE = 12  #: lines above and below two dashes among which others show that they part something
_REACH = 200  #: lines from a rule to the end of what it may open, so that a mail of nothing but rules is read fast
#: One sign, or many signs in any order, as lists and people adorn their rules with.
_FOOTER_RULE = re.compile(
    r"^\s*(?:_{5,}|-{5,}(?: Yahoo! Groups Sponsor -{5,})?(?:~-+>)?|={5,}|\*{5,}|#{5,}|[-_=*#~.+]{20,})\s*$"
)
_GROUPS_LINKS = "Yahoo! Groups Links"  #: which no rule opens
_GROUPS_LINES = 20
_SIGNATURE_ROW = re.compile(r"^\s*[_-]{5,}\s*$")
_RULES = frozenset("-_=*#~.+—–")
_SIGNATURE_RULES = frozenset({"--", "---", "—", "–"})
#: An address, or what programs say below a mail: "This email has been checked for viruses by …".
_NO_SENTENCE = re.compile(r"[@<]|://|\S {3,}\S|\bvirus", re.I)
_LISTED = re.compile(r"\s*--\s+\S")  #: what some programs print: the rules between such lines are empty ones of them
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
    if bare == _GROUPS_LINKS:
        return True
    return bare[:1] in _RULES and bool(_FOOTER_RULE.match(line))


def opens(lines: Sequence[str], place: int, stop: int) -> str:
    """Why everything from a rule to `stop` is a signature or footer; empty where it isn't."""
    if stop - place > _REACH:
        return ""
    line = lines[place]
    below = [text for text in lines[place + 1 : stop] if text.strip()]
    if line.strip() != "--" and any(text.strip() == "--" for text in below):
        return ""  # the signature is further down, and lists add their footers below that
    if line.strip() == _GROUPS_LINKS:
        return FOOTER if len(below) <= _GROUPS_LINES else ""
    telling = (line, *_first_paragraph(lines[place + 1 : stop]))
    if len(below) <= FOOTER_LINES and any(map(_FOOTER_WORDS.search, telling)):
        return FOOTER
    if sum(bool(_LISTED.match(text)) for text in (*lines[max(0, place - 1) : place], *below[:2])) > 1:
        return ""
    parts = _parts_words(lines, place, stop)
    if line.strip() in ("--", "—", "–") and len(below) <= _SIGNATURE_LINES and not parts:
        return SIGNATURE
    if line.strip() == "---" and 0 < len(below) <= 3 and all(len(text) <= 60 for text in below) and not parts:
        return SIGNATURE
    legal = (disclaimers.SECRET, disclaimers.FOR_WHOM)
    if all(any(map(said.search, below)) for said in legal) and (
        line.strip() == "--" or (len(below) <= _SIGNATURE_LINES and any(said.search(below[0]) for said in legal))
    ):
        return SIGNATURE
    if (
        _SIGNATURE_ROW.match(line)
        and len(below) <= 8
        and all(len(text) <= 72 for text in below if _has_letters(text))
        and any(map(str.strip, lines[:place]))
        and not (_is_underline(lines, place) or _closes_above_words(lines, place, stop))
    ):
        whole = " ".join(below)
        if re.search(r"@|\+?\d[\d\s()./-]{6,}|www\.|https?:|signature|signatur", whole, re.I):
            return SIGNATURE
    return ""


def _parts_words(lines: Sequence[str], place: int, stop: int) -> bool:
    """Whether dashes without the space of a signature's mark merely part what is said: from a sentence that isn't all
    below, or, every few lines, as `grep -A` writes them, pieces of files.
    """
    if lines[place] not in ("--", "---"):
        return False
    below = lines[place + 1 : stop]
    paragraph = _first_paragraph(below)
    words = paragraph[0].split() if paragraph else []
    said = len(words) >= 6 and words[0][0].isalpha() and (words[1][0].islower() or words[1].startswith("I"))
    said = said and sum(word[0].islower() for word in words) >= 4 and not _NO_SENTENCE.search(paragraph[0])
    goes_on = len(paragraph) < sum(map(bool, map(str.strip, below)))
    beside = lines[max(0, place - _BESIDE) : place + _BESIDE + 1]
    return (said and goes_on) or sum(line == "--" for line in beside) > 2


def _is_underline(lines: Sequence[str], place: int) -> bool:
    """Whether a rule stands right below a heading: a line of words that is as wide and has none right above it."""
    heading = lines[place - 1].strip() if place else ""
    alone = place < 2 or not _has_letters(lines[place - 2])
    return alone and _has_letters(heading) and abs(len(heading) - len(lines[place].strip())) <= _UNDERLINE_SLACK


def _closes_above_words(lines: Sequence[str], place: int, stop: int) -> bool:
    """Whether a second rule below the one at `place` closes a box, and the mail goes on after a blank line."""
    for rule in range(place + 1, stop - 1):
        if _FOOTER_RULE.match(lines[rule]) and not lines[rule + 1].strip():
            return any(map(_has_letters, lines[rule + 1 : stop]))
    return False


def _has_letters(line: str) -> bool:
    return any(map(str.isalnum, line))


def _first_paragraph(lines: Sequence[str]) -> list[str]:
    """The first lines with words. Further down may stand a footer that no rule opens, below somebody's words."""
    found: list[str] = []
    for line in lines:
        if line.strip():
            found.append(line)
        elif found:
            break
    return found
