"""Letters in words that are spelt as entities of HTML, and what says where a word may be parted, which nobody sees."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

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

    def letter_of(match: re.Match[str]) -> str:
        if match[0].startswith("<"):
            return ""
        letter = html.unescape(match[0])
        if letter == SOFT_HYPHEN and text.startswith("\n", match.end()):
            return letter  # tells that the word goes on in the next line
        return _UNSEEN.sub("", letter) if is_of_word(letter) else match[0]

    return _SPELT.sub(letter_of, text)


def is_of_word(text: str) -> bool:
    """Whether a text is one letter, of any script, or a character in a word that nobody sees."""
    return len(text) == 1 and (text.isalpha() or _UNSEEN.match(text) is not None)


_FURTHEST = 32  #: characters that a sign is looked back for; longer ones are nobody's
_JOINER = "\u200d"
_JOINING = 9  #: canonical combining class of marks that tie two letters together: virama, the Khmer coeng
_AM = "\u0e33\u0eb3"  #: vowels of Thai and Lao that stand above and behind their letter
_SKINS = range(0x1F3FB, 0x1F400)  #: that change the emoji before them


def whole_until(text: str, at: int) -> int:
    """`at`, or where the sign begins that a cut there would part: a letter with its marks, an emoji of several."""
    if not 0 < at < len(text) or text[at].isascii():
        return at
    least = max(0, at - _FURTHEST)
    start = at
    while start > least and _belongs(text[start - 1], text[start]):
        start -= 1
    return start if start > least else at


def whole_from(text: str, at: int) -> int:
    """`at`, or where the sign ends that a beginning there would part."""
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


def caseless(name: str) -> str:
    """A name in one case and one form of its accents, so that equals are equal (canonical caseless matching)."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


#: Canonical combining class from which a mark is an accent above or below its letter; less have those that make another
#: sign (Japanese voiced sounds, vowels of Arabic and Hebrew).
_ACCENTS = 200


def unaccented(name: str) -> str:
    """A name in its `caseless` form without accents: who looks for Jörg may have no key for it.

    >>> unaccented("Jörg ČERNÝ"), unaccented("ガス") == unaccented("カス")
    ('jorg cerny', False)
    """
    if name.isascii():
        return name.lower()
    letters = unicodedata.normalize("NFD", caseless(name))
    return unicodedata.normalize("NFC", "".join(c for c in letters if unicodedata.combining(c) < _ACCENTS))


#: Where a blank follows; `…` isn't among them, which may stand anywhere in a sentence.
ENDS_BEFORE_BLANK = ".!?؟۔।॥։។៕།።"
#: Whatever follows, in scripts that put no blank between sentences, or not always.
ENDS_ALONE = "。！？．｡။"


T = TypeVar("T")


def without(unstorable: re.Pattern[str], value: T) -> T:
    """The same dataclass, sequence, mapping or text with each such character replaced by U+FFFD: offsets stay."""
    found: object = value
    if isinstance(value, str):
        found = unstorable.sub("\ufffd", value)
    elif isinstance(value, tuple | list):
        found = type(value)(without(unstorable, item) for item in value)
    elif isinstance(value, dict):
        found = {without(unstorable, name): without(unstorable, item) for name, item in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        found = replace(value, **{f.name: without(unstorable, getattr(value, f.name)) for f in fields(value)})
    return cast(T, found)
