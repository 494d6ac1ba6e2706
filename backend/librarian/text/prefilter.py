"""Where in a text certain tokens may be, asked of its letters: far quicker than taking every piece apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

#: First and last offset of the pieces of `text[start:end]` that may hold one of the tokens which the sieve was made
#: for, in order. A piece is what stands between two blanks.
Sieve = Callable[[str, int, int], Sequence[tuple[int, int]]]

#: Letters of a token that a word with it surely begins with. Snowball's English stems differ from their words in the
#: last letter at most (`happy`, `happi`), but for `dying`, `lying` and `tying`, which become `die`, `lie` and `tie`
#: (Porter, "The English (Porter2) stemming algorithm", 2002).
_LETTERS, _IRREGULAR = 4, {"die", "lie", "tie"}

#: A hyphen behind one letter or two: `e-mail` is also `email`, `re-use` is `reuse`.
_JOINING = re.compile(r"-(?<=[a-z]-)(?<![a-z]{3}-)(?=[a-z])")
_PIECE = re.compile(r"\S+")
_RARE_BLANK = re.compile(r"[^\S ]")
_FOREIGN = re.compile(r"[^\x00-\x7f]")  #: letters that are folded


def everything(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The sieve that holds nothing back."""
    return [piece.span() for piece in _PIECE.finditer(text, start, end)]


def in_english(tokens: Collection[str]) -> Sieve:
    """Lets every piece through with one of the tokens in English, or with a token that begins like one; of others few.

    >>> places = in_english(["scale", "pod"])
    >>> text = "Pods. deployment résumé autoScaling,"
    >>> [text[start:end] for start, end in places(text, 0, len(text))]
    ['Pods.', 'résumé', 'autoScaling,']
    """
    wanted = sorted({_beginning(token) for token in tokens})

    def places(text: str, start: int, end: int) -> list[tuple[int, int]]:
        letters = text[start:end].lower()
        if len(letters) != end - start:  # a letter whose small form is two
            return everything(text, start, end)
        letters = letters.replace("\n", " ")
        if not letters.isprintable():  # of the blanks the space alone is
            letters = _RARE_BLANK.sub(" ", letters)
        found = [joining.start() for joining in _JOINING.finditer(letters)] if "-" in letters else []
        if not letters.isascii():
            found += [foreign.start() for foreign in _FOREIGN.finditer(letters)]
        for beginning in wanted:
            at = letters.find(beginning)
            while at >= 0:
                found.append(at)
                at = letters.find(beginning, at + 1)
        found.sort()
        pieces: list[tuple[int, int]] = []
        behind = -1
        for at in found:
            if at < behind or (letters[at - 1 : at].islower() and "a" <= text[start + at] <= "z"):
                continue  # no token begins with a small letter behind another
            behind = letters.find(" ", at)
            if behind < 0:
                behind = len(letters)
            pieces.append((start + letters.rfind(" ", 0, at) + 1, start + behind))
        return pieces

    return places


def _beginning(token: str) -> str:
    if token in _IRREGULAR:
        return token[0]
    return token[: min(_LETTERS, max(len(token) - 1, 2))]
