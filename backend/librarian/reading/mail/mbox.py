"""Archives of mails: `.mbox` in all its dialects (RFC 4155, mboxrd, Mailman's), cut into messages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace

from librarian.vocabulary.types import SourceFile

_SEPARATOR = re.compile(rb"^From [^\n]*\d{1,2}:\d{2}[^\n]*\n(?=[!-9;-~]{1,70}[ \t]*:|\r?\n)", re.M)
_ESCAPED = re.compile(rb"^>(>*From )", re.M)
_MESSAGE_ID = re.compile(rb"^message-id:\s*<?\s*([^<>\s]+)", re.M | re.I)
_INTERNAL = re.compile(rb"^Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA", re.M)
_HEADERS = 20_000  #: bytes of a message in which its Message-ID is looked for
EXTENSIONS: tuple[str, ...] = (".mbox",)


class MboxArchive:
    """One file, many mails."""

    extensions = EXTENSIONS

    def members(self, source: SourceFile, data: bytes) -> Iterator[tuple[SourceFile, bytes]]:
        """Each mail as if it were a file of its own: `archive.mbox/<hash>.eml`.

        The name is made from Message-ID and content, so that a mail keeps it whatever comes before it in the archive.
        """
        names: dict[str, int] = {}
        for message in messages(data):
            found = _MESSAGE_ID.search(message[:_HEADERS])
            basis = (found[1] if found else b"") + b"\0" + message
            name = hashlib.sha256(basis).hexdigest()[:12]
            names[name] = names.get(name, 0) + 1
            if names[name] > 1:
                name = f"{name}-{names[name]}"
            yield replace(source, file_path=f"{source.file_path}/{name}.eml"), message


def messages(data: bytes) -> Iterator[bytes]:
    """The messages without their `From ` lines, escaped ones in them as they were.

    A separator stands at the file's begin or after a blank line, holds a time, and headers follow.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    starts: list[tuple[int, int]] = []
    for match in _SEPARATOR.finditer(data):
        before = data[max(0, match.start() - 4) : match.start()]
        if match.start() == 0 or before.endswith((b"\n\n", b"\n\r\n")) or not data[: match.start()].strip():
            starts.append(match.span())
    if not starts or data[: starts[0][0]].strip():
        starts.insert(0, (0, 0))
    ends = [start for start, _ in starts[1:]] + [len(data)]
    for (_, begin), end in zip(starts, ends, strict=True):
        message = data[begin:end].rstrip(b"\r\n") + b"\n"
        if message.strip() and not _INTERNAL.search(message[:_HEADERS]):
            yield _ESCAPED.sub(rb"\1", message)
