"""What an S/MIME signature is wrapped around (RFC 8551, 3.5.2): the mail is inside, and anybody can read it.

Nothing is verified, and what is encrypted stays closed.
"""

from __future__ import annotations

_KINDS = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")
_DATA = bytes.fromhex("06092a864886f70d010701")
_REACH = 1_000  #: bytes before the content: a version and the names of digests
_CONTENT, _OCTETS, _OCTETS_IN_PIECES, _END = 0xA0, 0x04, 0x24, 0x00
_DEEPEST = 8  #: pieces inside pieces


def is_sealed(kind: str, name: str) -> bool:
    """Whether a part of this content type and file name may hold a signed mail."""
    return kind in _KINDS or name.lower().endswith(".p7m")


def signed_content(data: bytes) -> bytes:
    """The MIME entity that was signed; empty where there is none."""
    if _SIGNED_DATA not in data[:40]:
        return b""
    found = data.find(_DATA, 0, _REACH)
    at = found + len(_DATA)
    try:
        if found < 0 or data[at] != _CONTENT:
            return b""
        return _octets(data, _inside(data, at)[0])[0]
    except IndexError:
        return b""


def _inside(data: bytes, at: int) -> tuple[int, int]:
    """Where what the element at `at` holds begins and ends; -1 where its end is marked (X.690, 8.1.3)."""
    length = data[at + 1]
    begin = at + 2
    if length == 0x80:
        return begin, -1
    if length > 0x80:
        count = length & 0x7F
        length = int.from_bytes(data[begin : begin + count], "big")
        begin += count
    return begin, begin + length


def _octets(data: bytes, at: int, depth: int = 0) -> tuple[bytes, int]:
    """(an octet string, whole or in pieces; where it ends). Of a string that is cut what there is."""
    begin, end = _inside(data, at)
    if data[at] == _OCTETS and end >= 0:
        return data[begin:end], end
    if data[at] != _OCTETS_IN_PIECES or depth > _DEEPEST:
        raise IndexError
    pieces: list[bytes] = []
    place = begin
    while place < min(len(data), end if end >= 0 else len(data)) and data[place] != _END:
        piece, place = _octets(data, place, depth + 1)
        pieces.append(piece)
    return b"".join(pieces), place + 2 if end < 0 else end
