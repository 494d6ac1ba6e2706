"""Bytes of the web as text: a byte order mark counts first, then what the server says, then what the page says."""

from __future__ import annotations

import codecs
import re

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(rb"""charset\s*=\s*["']?\s*([\w:.-]+)""", re.I)
_LOOKED_AT = 2_048  #: bytes at a page's beginning that may name its character set
#: Names that are read as a larger set, as all browsers do (the WHATWG's encoding standard).
_LARGER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}


def decoded(body: bytes, charset: str = "") -> str:
    """The text, without a byte order mark. `charset` is what the server says; never raises."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    if known := _known(charset):
        return body.decode(known, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        named = _DECLARED.search(body[:_LOOKED_AT])
        return body.decode(_known(named[1].decode("ascii")) or "cp1252" if named else "cp1252", "replace")


def _known(charset: str) -> str:
    """Python's name for a character set; empty where there is none of that name."""
    try:
        name = codecs.lookup(charset).name
        "x".encode(name)
    except (LookupError, UnicodeError, ValueError):
        return ""
    return _LARGER.get(name, name)
