"""Files that stand in a mail's text, as uuencode wrote them before there was MIME, and Outlook still may.

begin 644 pump.txt
.5&AE('!U;7`@<G5N<RX`
`
end
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

_BEGIN = re.compile(r"^begin [0-7]{3,4} (?P<name>\S[^\n]{0,250})\n(?=[!-M][ -`]*$)", re.M)
_LINE = re.compile(r"(?P<length>[!-M])(?P<letters>[ -`]{0,80})[ \t]*(?:\n|$)")
_END = re.compile(r"(?:[` ]?[ \t]*\n)?end[ \t]*(?:\n|$)")
#: Lines without an `end` below them that are still no prose: where a list or a program cut the mail.
_LEAST_WITHOUT_END = 10


def apart(text: str) -> tuple[str, list[tuple[str, bytes]]]:
    """(the text without the files in it; their names and what they hold)."""
    if "\nbegin " not in text and not text.startswith("begin "):
        return text, []
    rest, reached = [], 0
    files: list[tuple[str, bytes]] = []
    for found in _BEGIN.finditer(text):
        if found.start() < reached:
            continue
        lines = list(_lines(text, found.end()))
        stop = lines[-1][0] if lines else found.end()
        end = _END.match(text, stop)
        if not lines or not (end or len(lines) >= _LEAST_WITHOUT_END):
            continue
        files.append((found["name"].strip(), b"".join(data for _, data in lines)))
        rest.append(text[reached : found.start()])
        reached = end.end() if end else stop
    return "".join([*rest, text[reached:]]), files


def _lines(text: str, start: int) -> Iterator[tuple[int, bytes]]:
    """(where it ends, what it holds) of each encoded line from `start` on.

    Programs may have taken blanks off its end, and some put a letter of their own there.
    """
    while line := _LINE.match(text, start):
        length = ord(line["length"]) - 32
        letters = (length + 2) // 3 * 4
        try:
            data = binascii.a2b_uu(line["length"] + line["letters"][:letters])
        except binascii.Error:
            return
        start = line.end()
        yield start, data
