"""The shapes of words: what hangs together between two spaces, what its parts are, and what is an identifier.

All patterns are linear: classes that follow each other don't overlap, nothing is nested under two repetitions.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from .dictionaries import stop_words
from .scripts import MARKS, fold_accents, normal

_ANY_MARK = re.compile(f"[{MARKS}]")


def _compound(letter: str) -> re.Pattern[str]:
    return re.compile(
        f"(?:(?<![\\w-])--(?=[^\\W\\d_])|(?<!\\w)@(?=[^\\W\\d_])|(?<![\\w.*?)\\]])\\.(?=[^\\W\\d_])"
        f"|(?<![^\\s`'\"(\\[{{|,*<>“‘/])-(?=[A-Za-z0-9](?![\\w-]|[./:]\\w))"
        f"|(?<![^\\s`'\"(\\[{{|,*<>“‘])/(?=[A-Za-z0-9](?![\\w/-]|[.:]\\w)))?"
        f"{letter}+(?:(?:://|::|[-./:@\\\\]){letter}+)*"
        f"(?:\\+\\+\\d*|(?<=(?<!\\w)[A-Za-z])#(?![\\w#]))?"
    )


#: Words held together by connectors, with what stands before (`--`, `@`, `.`; before one letter or digit `-` and `/`)
#: and behind (`++`, `#`).
COMPOUND = _compound(f"[\\w{MARKS}]")
ASCII_COMPOUND = _compound("[A-Za-z0-9_]")  #: the same for a text in ASCII, twice as quick
#: What holds parts together, loosest first.
_LEVELS = tuple(map(re.compile, (r"://|[/\\@]", "::?", r"\.", "[-_]+")))
#: Operators of programs: signs between blanks, quotes or brackets; and what only looks like one, such as rules, marks
#: of headings and borders of tables.
_OPERATOR = re.compile(r"(?<![^\s`'\"(\[{,;“‘])[?=|><!&+*:.~^%$@#/\\-]{2,5}(?![^\s`'\")\]},;”’])")
_ORNAMENT = re.compile(r"[-|:*#.~_/]+|(?!===$)(.)\1{2,}|<?!?-{2,}>?|\?*!+\??|[.:]\?+")
_EMOJI = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}|[\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
)
_WORD = re.compile(r"\w+")
_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("[0-9]")
_HUMP = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-rt-z]|[A-Z]{2}s[a-z]")
_DUNDER = re.compile(r"__[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__(?!\w)")
_MAJOR = re.compile(r"[vV]?\d|[vV]\d+")
_QUANTITY = re.compile(r"\d+(?:st|nd|rd|th|[a-z]{1,2})?")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)(?:[-.+]?[a-z0-9.-]*)?")
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}[:/]\d{1,5}")  #: of a machine, with its port or its net's length
_HEADER = re.compile(r"[A-Z][a-z]*(?:-[A-Z][a-z]*)+")  #: X-Forwarded-For
_SCHEME = re.compile(r"(?:https?|ftp|file|mailto)://", re.IGNORECASE)

#: Halves of ordinary hyphenated or slashed English ("well-known", "client/server", "up-to-date"): what holds one of
#: them is prose, not a name.
_PROSE = frozenset(json.loads(files(__package__).joinpath("prose_words.json").read_text("utf-8"))["words"].split())


#: Longer wholes (data URIs, keys) are nobody's question; their parts still count.
LONGEST = 200


class Part(NamedTuple):
    """A piece of a compound: `text` normalised; `plain` where it is a word to be stemmed, otherwise it stays whole."""

    text: str
    start: int
    end: int
    plain: bool
    identifier: bool = False


def signs(piece: str) -> list[tuple[str, int, int]]:
    """Operators and emoji of a piece with their places; a mark that ends a sentence may stand behind an operator."""
    found = [] if piece.isascii() else [(match.group(), *match.span()) for match in _EMOJI.finditer(piece)]
    for match in _OPERATOR.finditer(piece):
        sign, start = match.group(), match.start()
        if not _ORNAMENT.fullmatch(sign):
            shorter = sign[:-1] if sign[-1] in "?!.:" and len(sign) > 2 else sign
            found.append((shorter, start, start + len(shorter)))
    return found


def is_letters(raw: str) -> bool:
    """Letters only, where combining marks count as part of their letter."""
    return raw.isalpha() or (not raw.isascii() and _ANY_MARK.sub("", raw).isalpha())


def looks_like_identifier(raw: str, *, or_prose: bool = False) -> bool:
    """Whether a compound is a name rather than prose; with `or_prose`, whether somebody could name something so.

    >>> [looks_like_identifier(w) for w in ("read_parquet", "kube-proxy", "k8s", "v2", "--all", "well-known", "10ms")]
    [True, True, True, True, True, False, False]
    """
    if raw.startswith(("--", "@", ".")) or raw.endswith(("+", "#")):
        return True
    if not raw.isascii():
        raw = _ANY_MARK.sub("", raw)
    lower = raw.lower()
    digit_first = lower[:1].isdigit()
    if digit_first and _QUANTITY.fullmatch(lower):
        return False
    if "_" in raw or "::" in raw:
        return True
    if (digit_first or lower[:1] == "v") and _VERSION.fullmatch(lower):
        return True
    words = _WORD.findall(lower)
    if len(words) == 1:
        return has_inner_capital(raw) or _has_letters_and_digits(raw)
    if digit_first and all(word.isdigit() for word in words):  # dates, times, ranges
        return _ADDRESS.fullmatch(raw) is not None
    if not words or (len(words[0]) == 1 and all(len(word) == 1 for word in words)):  # e.g, i.e, A/B
        return False
    if "." in raw or ":" in raw or "@" in raw or "\\" in raw:
        return True
    mixed = (word for word in words if not word.isalpha() and not _QUANTITY.fullmatch(word))
    if has_inner_capital(raw) or any(map(_has_letters_and_digits, mixed)):
        return True
    return or_prose or (_PROSE.isdisjoint(words) and stop_words("en").isdisjoint(words))


def is_named(piece: str, start: int, end: int) -> bool:
    """Whether a compound that could be a name, `piece[start:end]`, is meant as one where it stands.

    Prose is where it is a path from the root, a header's name, or marked as code.
    """
    raw, before, after = piece[start:end], piece[start - 1 : start], piece[end : end + 1]
    if looks_like_identifier(raw) or not looks_like_identifier(raw, or_prose=True):
        return True
    if (before == "/" and "/" in raw) or "`" in (before, after):
        return True
    words = raw.lower().split("-")
    return _HEADER.fullmatch(raw) is not None and not (_PROSE | stop_words("en")).issuperset(words)


def is_version(name: str) -> bool:
    """1.28, v1.28.3, 1.0.0-rc.1; not v1."""
    return _VERSION.fullmatch(name) is not None


def _has_letters_and_digits(word: str) -> bool:
    if word.isascii():
        return _DIGIT.search(word) is not None and _LETTER.search(word) is not None
    return any(c.isdigit() for c in word) and any(c.isalpha() for c in word)


def has_inner_capital(word: str) -> bool:
    """camelCase, PascalCase, HTTPServer; not Word, WORD or the plural of an acronym (APIs)."""
    return _INNER_CAPITAL.search(word) is not None


def dissect(raw: str, start: int) -> list[Part]:
    """A compound as its whole and its parts, outermost first, each once.

    `ray.data.readParquet` gives itself, `readparquet`, `ray`, `data`, `read`, `parquet`; a plain word gives itself.
    `start` is added to the places.
    """
    if "://" in raw and (scheme := _SCHEME.match(raw)):
        start += scheme.end()
        raw = raw[scheme.end() :]
    out: list[Part] = []
    _descend(raw, start, 0, out, set())
    return out


def _add(out: list[Part], seen: set[str], raw: str, start: int, *, plain: bool, identifier: bool = False) -> None:
    text = raw.lower() if raw.isascii() else normal(raw) if plain else fold_accents(normal(raw))
    if text and text not in seen and len(text) <= LONGEST:
        seen.add(text)
        out.append(Part(text, start, start + len(raw), plain, identifier))


def _descend(raw: str, start: int, level: int, out: list[Part], seen: set[str]) -> None:
    if raw.islower() and raw.isalpha() and raw.isascii():  # most parts; what follows would say the same of them
        if raw not in seen and len(raw) <= LONGEST:
            seen.add(raw)
            out.append(Part(raw, start, start + len(raw), True))
        return
    if "_" in raw and not _DUNDER.match(raw):  # underscores of Markdown's emphasis, but not those of `__init__`
        start += len(raw) - len(raw.lstrip("_"))
        raw = raw.strip("_")
    if not raw:
        return
    if is_letters(raw) and not has_inner_capital(raw):
        _add(out, seen, raw, start, plain=True)
        return
    if raw.isdigit():
        _add(out, seen, raw, start, plain=False)
        return
    if raw[0] in "-@./":
        width = 2 if raw.startswith("--") else 1
        _add(out, seen, raw, start, plain=False, identifier=True)
        _descend(raw[width:], start + width, level, out, seen)
        return
    if raw[-1] in "+#" or "++" in raw:
        _add(out, seen, raw, start, plain=False, identifier=True)
        head = raw.split("+", 1)[0].rstrip("#")
        if len(head) > 1:
            _descend(head, start, level, out, seen)
        return
    for at, pattern in () if raw.isalnum() else enumerate(_LEVELS[level:], level):
        if pattern.search(raw):
            _split(raw, start, at, pattern, out, seen)
            return
    _single(raw, start, out, seen)


def _split(raw: str, start: int, level: int, pattern: re.Pattern[str], out: list[Part], seen: set[str]) -> None:
    _add(out, seen, raw, start, plain=False, identifier=looks_like_identifier(raw, or_prose=True))
    version = _VERSION.fullmatch(raw.lower()) if raw[0] in "vV" or raw[0].isdigit() else None
    if version:
        number = version.group(1)
        shift = start + version.start(1)
        _add(out, seen, number, shift, plain=False, identifier=True)
        fields = number.split(".")
        for count in range(min(len(fields) - 1, 4), 1, -1):
            _add(out, seen, ".".join(fields[:count]), shift, plain=False, identifier=True)
    cuts = [(0, 0), *[match.span() for match in pattern.finditer(raw)], (len(raw), len(raw))]
    pieces = [(raw[first:last], start + first) for (_, first), (last, _) in pairwise(cuts)]
    if raw.count("-") == 1 and len(pieces) == 2 and 0 < len(pieces[0][0]) <= 2 and pieces[1][0].isalpha():
        joined = normal(pieces[0][0] + pieces[1][0])  # e-mail, re-use
        if joined.isalpha() and joined not in seen:
            seen.add(joined)
            out.append(Part(joined, start, start + len(raw), True))
    for piece, place in pieces:
        if version and _MAJOR.fullmatch(piece):
            continue
        _descend(piece, place, level + 1, out, seen)


def _single(raw: str, start: int, out: list[Part], seen: set[str]) -> None:
    """One run of letters and digits: camelCase, k8s, sha256."""
    plain = is_letters(raw)
    identifier = looks_like_identifier(raw)
    before = len(out)
    _add(out, seen, raw, start, plain=False, identifier=identifier)
    if plain and raw.isascii() and len(raw) <= LONGEST:
        out.append(Part(raw.lower(), start, start + len(raw), True, identifier))  # its stem: StatefulSets
    if not raw.isascii():
        if plain and len(out) > before:
            out[-1] = Part(normal(raw), start, start + len(raw), True, identifier)
        return
    humps = list(_HUMP.finditer(raw))
    if not 1 < len(humps) <= 6:
        return
    for hump in humps:
        if len(hump.group()) > 1:
            _add(out, seen, hump.group(), start + hump.start(), plain=hump.group().isalpha())
