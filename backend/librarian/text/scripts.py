"""Characters: which belong to a word, which scripts are written without spaces, and how to normalise them."""

from __future__ import annotations

import re
import unicodedata

#: Combining marks of the basic plane, which `\\w` leaves out, and the invisible characters that may stand inside a
#: word: soft hyphen, zero-width space, joiners, word joiner, variants of emoji, byte order mark.
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufe0e\ufe0f\ufeff"
_MARKS = (chr(point) for point in range(0x300, 0xFE30) if unicodedata.category(chr(point)) in {"Mn", "Mc"})
MARKS = "".join((*_MARKS, _INVISIBLE))
#: Characters inside of words for which others write an ASCII one: the apostrophe that is a letter by its Unicode
#: category, in Ukrainian, and the hyphen and the one that breaks no line, which word processors and web pages put into
#: names.
ASCII_ALIKE = str.maketrans({"\u02bc": "'", "\u2010": "-", "\u2011": "-"})
#: Half-width voicing marks join the kana before them under NFKC.
_VOICING = "\uff9e\uff9f"

#: Scripts written without spaces between words, as regex class bodies.
CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3040-\u30ff\u3100-\u312f\u3130-\u318f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9d\u1100-\u11ff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
SPACELESS = CJK + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"

_SPACELESS_RUN = re.compile(f"[{SPACELESS}{MARKS}{_VOICING}]*[{SPACELESS}][{SPACELESS}{MARKS}{_VOICING}]*")
#: One written unit: a Hangul syllable of single letters, or a character with its marks.
_UNIT = re.compile(
    f"[\\u1100-\\u115f\\ua960-\\ua97f][\\u1160-\\u11a7]*[\\u11a8-\\u11ff]*[{MARKS}]*|.[{MARKS}{_VOICING}]*", re.DOTALL
)
_HAS_SPACELESS = re.compile(f"[{SPACELESS}]")
#: Also Arabic stretching and short vowels, Hebrew points and accents, and the dot below Hindi letters, which many leave
#: out.
_DROPPED = re.compile(f"[{_INVISIBLE}\u0640]|[\u064b-\u0652\u0670\u0591-\u05bd\u05bf-\u05c7\u093c]")
#: Hindi's nasals before a letter made in the same place, for which a dot is written too: हिन्दी, हिंदी.
_NASAL = re.compile(
    "(?:\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])|\u0923\u094d(?=[\u091f-\u0922])"
    "|\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d]))"
)
#: Letters and digits that are written in several ways: one of them for all.
_ALIKE = str.maketrans(
    {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "\u0901": "\u0902"}
    | {"ё": "е", "\u2044": "/"}
    | {chr(zero + digit): str(digit) for zero in (0x660, 0x6F0, 0x966, 0x9E6, 0xE50) for digit in range(10)}
)
#: Latin letters with a stroke or a ligature, which no decomposition takes apart.
_STROKES = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ı": "i"})


_ATTACHED = re.compile(r"^(?:[وف]?[بكل]?ال|[وف]?لل)(?=\w{3})")  #: in Arabic: and, so; with, as, for; the
_ATTACHED_HEBREW = "והבלמשכ"  #: and, the, in, to, from, that, as
#: Greek adjectives and nouns in -ικός: the stemmer gives their forms several stems.
_GREEK_ENDING = re.compile("(?<=\\w\\w)[ιί]κ(?:[οό]ς?|[οό][ιί]|[οό][υύ]ς?|[ωώ]ν|[ηή]ς?|[εέ]ς?|[αά])$")


def without_attached(word: str, language: str) -> str:
    """A normalised word without the small words that Arabic and Hebrew write in front of it, at least three letters of
    which stay; Greek words in -ικός in one form.

    >>> without_attached("والمستندات", "ar"), without_attached("והמסמכים", "he"), without_attached("κωδικοί", "el")
    ('مستندات', 'סמכים', 'κωδικ')
    """
    if language == "el":
        return _GREEK_ENDING.sub("ικ", word)
    if language == "he":
        first = next((at for at, letter in enumerate(word) if letter not in _ATTACHED_HEBREW), len(word))
        return word[max(0, min(first, len(word) - 3)) :]
    return _ATTACHED.sub("", word) if language == "ar" else word


def has_spaceless(text: str) -> bool:
    """True where some character belongs to a script written without spaces."""
    return _HAS_SPACELESS.search(text) is not None


def fold_accents(word: str) -> str:
    """Accents off Latin letters; other scripts keep their marks, which make other letters there (й, ガ)."""
    if word.isascii():
        return word
    out: list[str] = []
    latin = False
    for char in unicodedata.normalize("NFD", word):
        if unicodedata.category(char) == "Mn":
            if not latin:
                out.append(char)
        else:
            latin = char < "\u0250" or "\u1e00" <= char <= "\u1eff"
            out.append(char)
    return unicodedata.normalize("NFC", "".join(out)).translate(_STROKES)


def without_invisible(text: str) -> tuple[str, list[int]]:
    """The text without characters that nobody sees though they may stand inside a word, such as a soft hyphen, and of
    each that stays where it stood.
    """
    places = [place for place, char in enumerate(text) if char not in _INVISIBLE]
    return "".join([text[place] for place in places]), places


def normal(word: str) -> str:
    """Case folded, compatibility forms and invisible characters gone, accents kept.

    >>> normal("ＦＵＬＬ"), normal("Straße"), normal("data\\u00adbase")
    ('full', 'strasse', 'database')
    """
    if word.isascii():
        return word.lower()
    word = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    return _NASAL.sub("\u0902", _DROPPED.sub("", word).translate(_ALIKE))


def split_scripts(word: str) -> list[tuple[bool, int, int]]:
    """A word cut into (written without spaces?, start, end) runs, in order."""
    out: list[tuple[bool, int, int]] = []
    at = 0
    for match in _SPACELESS_RUN.finditer(word):
        if match.start() > at:
            out.append((False, at, match.start()))
        out.append((True, match.start(), match.end()))
        at = match.end()
    if at < len(word):
        out.append((False, at, len(word)))
    return out


def bigrams(run: str) -> list[tuple[str, int, int]]:
    """Overlapping pairs of written units with their places; one unit alone stands for itself.

    Bigrams are what search engines index such scripts by where no dictionary is at hand (Lucene's CJKBigramFilter).
    """
    units = [match.span() for match in _UNIT.finditer(run)]
    if len(units) == 1:
        grams = [(0, len(run))]
    else:
        grams = [(start, units[i + 1][1]) for i, (start, _) in enumerate(units[:-1])]
    found = ((normal(run[start:end]), start, end) for start, end in grams)
    return [gram for gram in found if gram[0]]
