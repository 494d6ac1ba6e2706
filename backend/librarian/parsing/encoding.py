"""Bytes to text: strict UTF-8, UTF-8 with a few damaged bytes, else what chardet finds."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from ..errors import SourceError

#: The byte order marks of encodings that need one; UTF-16's begins UTF-32's.
_MARKED = {"utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)}

#: First bytes of formats that people rename to .txt or .md by mistake.
_BINARY_SIGNATURES: tuple[bytes, ...] = (
    b"\x7fELF", b"PK\x03\x04", b"%PDF-", b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"\x1f\x8b\x08", b"BZh9",
    b"\xfd7zXZ\x00", b"7z\xbc\xaf\x27\x1c", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"SQLite format 3\x00", b"\xca\xfe\xba\xbe",
)  # fmt: skip

#: Encodings that hold all of another, and are used where that one is named.
SUPERSETS = {"iso8859-1": "cp1252", "gb2312": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "iso8859-9": "cp1254"}
_FEW_LETTERS = 6  #: outside ASCII; from fewer of them chardet can't tell rare encodings
_RARE = re.compile(r"mac|cp\d{3}$|iso8859-1[0-46]|johab|ptcp|kz1048|hp-roman")

_SAMPLE = 65_536  #: bytes looked at when guessing
_MAX_CONTROL_SHARE = 0.05  #: of the sample; text has tabs, newlines, form feeds and the odd escape sequence
_CONTROLS = bytes(set(range(32)) - {9, 10, 11, 12, 13, 27}) + b"\x7f"
_NEWLINES = re.compile(r"\r\n?")
#: What no text holds: control characters of ISO 8859, and what can't be decoded.
_STRANGE = re.compile("[\x80-\x84\x86-\x9f\ufffd]")
#: A Latin letter next to one of another alphabet.
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
    sample = data[:_SAMPLE]
    for encoding, marks in _MARKED.items():
        if data.startswith(marks):
            return _decoded(data.decode(encoding, "replace"), encoding, 1.0)
    if b"\0" in sample and not data.startswith(_BINARY_SIGNATURES) and (wide := _wide(sample)):
        return _decoded(data.decode(wide, "replace"), wide, 0.9)
    text = sample.translate(None, _CONTROLS)
    if data.startswith(_BINARY_SIGNATURES) or len(text) < len(sample) * (1 - _MAX_CONTROL_SHARE):
        raise SourceError(
            f"'{name}' isn't text: it holds binary data.",
            hint="Give it the extension of its format, or leave it out with docs.exclude.",
            reason="binary",
        )
    data = data.replace(b"\0", b" ")  # a few that have strayed into a text
    if b"\x1b$" not in sample:  # of the Japanese and Korean encodings of seven bits
        try:
            return _decoded(data.decode("utf-8"), "utf-8", 1.0)
        except UnicodeDecodeError:
            pass
    return _guess(data)


def _wide(sample: bytes) -> str:
    """UTF-16 or UTF-32, empty if neither fits: most of their zero bytes stand at odd places, or most at even ones."""
    import chardet

    found = str(chardet.detect(sample)["encoding"])
    zeros = sorted((sample[::2].count(0), sample[1::2].count(0)))
    return found if found.startswith("utf-32") or (found.startswith("utf-16") and 10 * zeros[0] <= zeros[1]) else ""


def _guess(data: bytes) -> Decoded:
    repaired = data.decode("utf-8", "replace")
    damaged = repaired.count(_DAMAGED)
    letters = len(data) - len(data.decode("ascii", "ignore"))
    # Legacy text read as UTF-8 is damaged at nearly every letter outside ASCII; damaged UTF-8 only here and there.
    if damaged * 10 < letters:
        return _decoded(repaired, "utf-8", round(1 - damaged / letters, 2))

    import chardet

    found = chardet.detect_all(
        data[: 4 * _SAMPLE],
        ignore_threshold=True,
        prefer_superset=False,  # it takes cp1250 for a superset of ISO 8859-2, and cp1251 of 8859-5
        compat_names=False,
        encoding_era=chardet.EncodingEra.ALL & ~chardet.EncodingEra.MAINFRAME,
    )
    for one in found:
        name = str(one["encoding"])
        if letters < _FEW_LETTERS and _RARE.match(name):
            continue
        try:
            encoding = codecs.lookup(SUPERSETS.get(name, name)).name
        except LookupError:
            continue
        text = data.decode(encoding, "replace")
        if not _STRANGE.search(text) and 4 * len(_MIXED.findall(text)) <= letters:
            return _decoded(text, encoding, round(min(1.0, float(one["confidence"] or 0.01)), 2))
    return _decoded(data.decode("cp1252", "replace"), "cp1252", 0.01)


def _decoded(text: str, encoding: str, confidence: float) -> Decoded:
    if "\r" in text:
        text = _NEWLINES.sub("\n", text)
    return Decoded(text.removeprefix("\ufeff"), encoding, confidence)
