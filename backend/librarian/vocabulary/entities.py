"""Letters in words that are spelt as entities of HTML, and what says where a word may be parted, which nobody sees."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

SOFT_HYPHEN = "\u00ad"
#: Characters that say where a word may be parted or not, which nobody sees: a soft hyphen, blanks without width.
UNSEEN = f"{SOFT_HYPHEN}\u200b\u2060\ufeff"
_UNSEEN = re.compile(f"[{UNSEEN}]")
#: A character's name or number in a word; alone, as in code that tells of it, it stays. HTML's tag may part a word too.
_ENTITY = r"&(?:[A-Za-z]{2,16}|#\w{2,6});"
_SPELT = re.compile(rf"(?<=[\w;]){_ENTITY}|{_ENTITY}(?=[\w&])|(?<=[^\s`>])<wbr\s*/?>(?=[^\s`<])", re.I)


def spelt(text: str) -> str:
    """The text with the letters that its words spell as entities of HTML, and without what says where they may part.

    >>> spelt("Gr&ouml;&#223;e &amp; `&ouml;`, docu&shy;ment, a/<wbr>b")
    'Größe &amp; `&ouml;`, document, a/b'
    """
    return _SPELT.sub(_letter, text)


def is_spelt(text: str, start: int, end: int) -> bool:
    """Whether a part of a text holds what `spelt` may write in another way."""
    named = text.find("&", start, end)
    maybe = named >= 0 and text.find(";", named, end) >= 0
    # most of what has a "<" is code: the search itself, which looks at every character, is spared it
    maybe = maybe or text.find("<w", start, end) >= 0 or text.find("<W", start, end) >= 0
    return maybe and _SPELT.search(text, start, end) is not None


def spelt_with_places(text: str) -> tuple[str, list[tuple[int, int]]]:
    """What `spelt` makes of a text, and of each character from where to where it stood.

    >>> spelt_with_places("a&shy;bc&auml;")
    ('abcä', [(0, 1), (6, 7), (7, 8), (8, 14)])
    """
    found = list(_with_places(text))
    return "".join([char for char, _ in found]), [place for _, place in found]


def _with_places(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    reached = 0
    for match in (*_SPELT.finditer(text), None):
        first = match.start() if match else len(text)
        yield from ((text[at], (at, at + 1)) for at in range(reached, first))
        if match:
            letter, reached = _letter(match), match.end()
            if letter == match.group():
                yield from ((text[at], (at, at + 1)) for at in range(*match.span()))
            elif letter:
                yield letter, match.span()


def _letter(match: re.Match[str]) -> str:
    if match.group().startswith("<"):
        return ""
    letter = html.unescape(match.group())
    if letter == SOFT_HYPHEN and match.string.startswith("\n", match.end()):
        return letter  # tells that the word goes on in the next line
    return _UNSEEN.sub("", letter) if is_of_word(letter) else match.group()


def is_of_word(text: str) -> bool:
    """Whether a text is one letter, of any script, or a character in a word that nobody sees."""
    return len(text) == 1 and (text.isalpha() or _UNSEEN.match(text) is not None)
