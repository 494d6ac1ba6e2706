"""Where a text may be cut so that what a reader takes for one sign stays whole."""

from __future__ import annotations

import unicodedata

_FURTHEST = 32  #: characters that a sign is looked back for; longer ones are nobody's
_JOINER = "\u200d"
_JOINING = 9  #: canonical combining class of marks that tie two letters together: virama, the Khmer coeng
_AM = "\u0e33\u0eb3"  #: vowels of Thai and Lao that stand above and behind their letter
_SKINS = range(0x1F3FB, 0x1F400)  #: that change the emoji before them


def whole_until(text: str, at: int) -> int:
    """`at`, or where the sign begins that a cut there would part: a letter with its marks, an emoji of several.

    >>> whole_until("cafe\u0301", 4), whole_until("cafe\u0301", 3), whole_until("abc", 9)
    (3, 3, 9)
    """
    if not 0 < at < len(text) or text[at].isascii():
        return at
    least = max(0, at - _FURTHEST)
    start = at
    while start > least and _belongs(text[start - 1], text[start]):
        start -= 1
    return start if start > least else at


def whole_from(text: str, at: int) -> int:
    """`at`, or where the sign ends that a beginning there would part.

    >>> whole_from("cafe\u0301s", 4), whole_from("cafe\u0301s", 3)
    (5, 3)
    """
    if not 0 < at < len(text) or text[at].isascii():
        return at
    end, most = at, min(len(text), at + _FURTHEST)
    while end < most and _belongs(text[end - 1], text[end]):
        end += 1
    return end if end < most else at


def _belongs(before: str, char: str) -> bool:
    return (
        unicodedata.category(char)[0] == "M"
        or char in _AM
        or _JOINER in (before, char)
        or unicodedata.combining(before) == _JOINING
        or ord(char) in _SKINS
    )
