"""Outlook's compressed RTF ([MS-OXRTFCP]): an LZ77 whose dictionary begins with what RTF files begin with."""

from __future__ import annotations

import struct

_KNOWN = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_RING = 4096  #: bytes of the dictionary
_LONGEST = 2_000_000  #: bytes that are unpacked: pictures aren't in it, and reading text takes a second a megabyte


def decompressed(data: bytes) -> bytes:
    """The RTF in PidTagRtfCompressed. Raises `ValueError`."""
    if len(data) < 16:
        raise ValueError("no header")
    size, kind = struct.unpack_from("<I4s", data, 4)
    if kind == b"MELA":
        return data[16 : 16 + min(size, _LONGEST)]
    if kind != b"LZFu":
        raise ValueError(f"unknown compression {kind!r}")
    # The ring written out: a reference to its place p means the last byte that was written there.
    out = bytearray(_KNOWN)
    place, end = 16, len(data)
    while place < end and len(out) < _LONGEST:
        flags = data[place]
        place += 1
        for bit in range(8):
            if not flags >> bit & 1:
                out += data[place : place + 1]
                place += 1
                continue
            if place + 2 > end:
                return bytes(out[len(_KNOWN) :])
            word = data[place] << 8 | data[place + 1]
            place += 2
            at, length = word >> 4, (word & 0xF) + 2
            back = (len(out) - at) % _RING
            if back == 0:  # its own place: the end
                return bytes(out[len(_KNOWN) :])
            begin = len(out) - back
            if begin < 0:
                raise ValueError("a reference to what isn't there")
            for copied in range(begin, begin + length):
                out.append(out[copied])
    return bytes(out[len(_KNOWN) :])
