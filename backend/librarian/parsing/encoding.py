"""Bytes to text: which encoding, and how sure.

A byte order mark decides; then strict UTF-8; then the zero bytes that give UTF-16 and UTF-32 away, unless a few have
merely strayed into the text; then UTF-8 with a few damaged bytes; then chardet, whose opinion is weighed by how common
an encoding is while few letters speak, and against what no text holds. chardet was chosen over charset-normalizer by
measurement (benchmarks/decoding.py; the table is on the manual's page of formats).
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace

from ..errors import SourceError

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

#: First bytes of formats that people rename to .txt or .md by mistake.
_BINARY_SIGNATURES: tuple[bytes, ...] = (
    b"\x7fELF",
    b"PK\x03\x04",
    b"%PDF-",
    b"\x89PNG\r\n",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x1f\x8b\x08",
    b"BZh9",
    b"\xfd7zXZ\x00",
    b"7z\xbc\xaf\x27\x1c",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"SQLite format 3\x00",
    b"\xca\xfe\xba\xbe",
)

#: How much more common encodings count than chardet gives them, where it isn't sure; tuned on benchmarks/decoding.py.
_COMMON: tuple[tuple[float, frozenset[str]], ...] = (
    (4.0, frozenset({"cp1252"})),
    (1.5, frozenset({"cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874"})),
    (1.5, frozenset({"cp932", "shift_jis_2004", "euc_jis_2004", "gb18030", "big5hkscs", "cp949", "big5", "euc_jp"})),
    (1.3, frozenset({"iso8859-2", "iso8859-5", "iso8859-7", "iso8859-9", "iso8859-15", "koi8-r", "koi8-u", "cp866"})),
    (0.7, frozenset({"mac-roman", "mac-cyrillic", "cp850", "cp852", "cp437", "iso8859-1", "iso8859-8", "johab"})),
)
_RARE = 0.15
_ENOUGH = 12  #: letters outside ASCII from which the text speaks for itself
#: Encodings that hold all of another, and are meant where that one is said.
_SUPERSETS = {
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-9": "cp1254",
}
#: Escape sequences of the Japanese and Korean encodings of seven bits.
_SEVEN_BITS = ((b"\x1b$B", "iso2022_jp"), (b"\x1b$@", "iso2022_jp"), (b"\x1b$)C", "iso2022_kr"))

_SAMPLE = 65_536  #: bytes looked at when guessing
_MAX_CONTROL_SHARE = 0.05  #: of the sample; text has tabs, newlines, form feeds and the odd escape sequence
_CONTROLS = bytes(set(range(32)) - {9, 10, 11, 12, 13, 27}) + b"\x7f"
_MAX_STRAY_SHARE = 0.05  #: zero bytes that stray into a text; of what isn't one there are more
_MAX_LETTER_SHARE = 0.15  #: bytes outside ASCII of a Western text; half of them are in ideographs as UTF-16
_PLAIN = bytes({9, 10, 13, *range(32, 127)})
_NEWLINES = re.compile(r"\r\n?")
#: What no text holds: control characters of ISO 8859, and what can't be decoded.
_STRANGE = re.compile("[\x80-\x84\x86-\x9f\ufffd]")
#: A Latin letter beside one of another alphabet: in words of neither.
_MIXED = re.compile("[A-Za-z][\u0370-\u06ff]|[\u0370-\u06ff][A-Za-z]")
_DAMAGED = "\ufffd"


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text without its byte order mark, newlines as `\\n`, and what it was; `confidence` is in 0–1."""

    text: str
    encoding: str
    confidence: float


def decode(data: bytes, name: str) -> Decoded:
    """Decode a text file. Raises `SourceError(reason="binary")` for what isn't text; `name` is for its message."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :].decode(encoding, "replace"), encoding, 1.0)
    if data.startswith(_BINARY_SIGNATURES):
        raise _binary(name)
    sample = data[:_SAMPLE]
    if b"\0" in sample:
        few = sample.count(0) <= len(sample) * _MAX_STRAY_SHARE
        wide = None if few and _is_narrow(sample.replace(b"\0", b"")) else _wide(sample)
        if wide is not None:
            return _decoded(data.decode(wide, "replace"), wide, 0.9)
        if not few:
            raise _binary(name)
        data, sample = data.replace(b"\0", b""), sample.replace(b"\0", b"")
    if len(sample.translate(None, _CONTROLS)) < len(sample) * (1 - _MAX_CONTROL_SHARE):
        raise _binary(name)
    for escape, encoding in _SEVEN_BITS:
        if escape in sample:
            return _decoded(data.decode(encoding, "replace"), encoding, 0.9)
    try:
        return _decoded(data.decode("utf-8"), "utf-8", 1.0)
    except UnicodeDecodeError:
        return _guess(data, sample)


def _guess(data: bytes, sample: bytes) -> Decoded:
    repaired = data.decode("utf-8", "replace")
    damaged = repaired.count(_DAMAGED)
    multibyte = len(data) - len(data.decode("ascii", "ignore"))
    # Legacy text read as UTF-8 is damaged at nearly every letter outside ASCII; damaged UTF-8 only here and there.
    if damaged * 10 < multibyte:
        return _decoded(repaired, "utf-8", round(1 - damaged / multibyte, 2))

    import chardet

    found = chardet.detect_all(
        data[: 4 * _SAMPLE],
        ignore_threshold=True,
        prefer_superset=False,  # it takes cp1250 for a superset of ISO 8859-2, and cp1251 of 8859-5
        compat_names=False,
        encoding_era=chardet.EncodingEra.ALL & ~chardet.EncodingEra.MAINFRAME,
    )
    best = _decoded(data.decode("cp1252", "replace"), "cp1252", 0.0)
    for one in found:
        name, confidence = str(one["encoding"]), float(one["confidence"] or 0.0)
        likely = _likely(name, confidence, multibyte)
        if likely <= best.confidence or one["encoding"] is None:
            continue
        encoding = _SUPERSETS.get(name, name)
        try:
            text = data.decode(encoding, "replace")
        except LookupError:
            continue
        if _STRANGE.search(text) or 4 * len(_MIXED.findall(text)) > multibyte:
            likely /= 10
        if likely > best.confidence:
            best = _decoded(text, codecs.lookup(encoding).name, likely)
    return replace(best, confidence=round(min(1.0, best.confidence), 2))


def _likely(encoding: str, confidence: float, letters: int) -> float:
    """A confidence weighed by how common the encoding is: a few letters fit many, and nobody writes mac-iceland."""
    doubt = max(0.0, 1 - letters / _ENOUGH)
    for weight, names in _COMMON:
        if encoding in names:
            return float(confidence * weight**doubt)
    return float(confidence * _RARE**doubt)


def _is_narrow(sample: bytes) -> bool:
    """Whether bytes without zeros are a text of one byte a letter for the most part, or of UTF-8."""
    if len(sample.translate(None, _PLAIN)) <= len(sample) * _MAX_LETTER_SHARE:
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # whose last letter may be cut off
    except UnicodeDecodeError:
        return False
    return len(sample.translate(None, _CONTROLS)) >= len(sample) * (1 - _MAX_CONTROL_SHARE)


def _wide(sample: bytes) -> str | None:
    """UTF-16 or UTF-32 by where the zero bytes stand, None where neither fits."""
    usable = sample[: len(sample) // 4 * 4] or sample[: len(sample) // 2 * 2]
    if not usable:
        return None
    zeros = [usable[place::4].count(0) / max(1, len(usable) // 4) for place in range(4)]
    candidates: list[str] = []
    if zeros[0] > 0.9 and zeros[1] > 0.9:
        candidates.append("utf-32-be")
    if zeros[3] > 0.9 and zeros[2] > 0.9:
        candidates.append("utf-32-le")
    even, odd = usable[::2].count(0), usable[1::2].count(0)
    if min(even, odd) * 10 <= max(even, odd):
        candidates.append("utf-16-be" if even > odd else "utf-16-le")
    for encoding in candidates:
        try:
            text = usable.decode(encoding)
        except UnicodeDecodeError:
            continue
        strange = sum(1 for char in text if not (char.isprintable() or char.isspace()))
        if strange <= len(text) * _MAX_CONTROL_SHARE:
            return encoding
    return None


def _decoded(text: str, encoding: str, confidence: float) -> Decoded:
    if "\r" in text:
        text = _NEWLINES.sub("\n", text)
    return Decoded(text.removeprefix("\ufeff"), encoding, confidence)


def _binary(name: str) -> SourceError:
    return SourceError(
        f"'{name}' isn't text: it holds binary data.",
        hint="Give it the extension of its format, or leave it out with docs.exclude.",
        reason="binary",
    )
