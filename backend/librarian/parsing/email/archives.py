"""Archives of mails: `.mbox`, and the months of lists as `.txt`, in all dialects (RFC 4155, mboxrd, Mailman's)."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Container, Iterator
from dataclasses import replace

from ...models import SourceFile

_LINE = re.compile(rb"^From (?![ \t]*:)[^\n]*\n", re.M)
#: No prose: a sender and the date as ctime() writes it, or Netscape's `-`.
_FIRM = re.compile(
    rb"From (?:-[ \t]*\r?\n|[^\n]*?\b(?:mon|tue|wed|thu|fri|sat|sun),? +[a-z]{3} +\d{1,2} +\d{1,2}:\d\d)", re.I
)
#: A sender alone, such as Gmail's numbers, or a date of any form.
_LOOSE = re.compile(rb"From (?:\S*[^\s:,;.]|[^\n]*(?:\d:\d\d|\d{4})[^\n]*)[ \t]*\r?\n")
_HEADER_OR_BLANK = re.compile(rb"[!-9;-~]{1,70}[ \t]*:|\r?\n")
#: Headers, up to one that hardly any mail lacks.
_MAIL = re.compile(
    rb"(?:(?>[!-9;-~]{1,70}[ \t]*:|[ \t]|>From )[^\n]*\n)*?"
    rb"(?:from|date|received|return-path|message-id|subject|to)[ \t]*:",
    re.I,
)
_HEADERS_WHOLE = re.compile(rb"(?>[!-9;-~]{1,70}:[^\n]*\n(?:[ \t]+\S[^\n]*\n)*)+\r?\n")
_NAME = re.compile(rb"^([!-9;-~]{1,70}):", re.M)
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
            identity = (found[1] if found else b"") + b"\0" + message
            name = hashlib.sha256(identity).hexdigest()[:12]
            names[name] = names.get(name, 0) + 1
            if names[name] > 1:
                name = f"{name}-{names[name]}"
            yield replace(source, file_path=f"{source.file_path}/{name}.eml"), message


def begins_as_archive(data: bytes) -> bool:
    """Whether a text is an archive for certain: a `From ` line with a time, right below it the headers of a mail."""
    line = _LINE.match(data)
    if line is None or re.search(rb"\d\d?:\d\d", line[0]) is None:
        return False
    headers = _HEADERS_WHOLE.match(data, line.end(), line.end() + _HEADERS)
    return headers is not None and {b"from", b"date", b"subject"} <= set(map(bytes.lower, _NAME.findall(headers[0])))


def messages(data: bytes) -> Iterator[bytes]:
    """The messages without their `From ` lines, escaped ones in them as they were."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    starts = list(_separators(data))
    if not starts or data[: starts[0][0]].strip():
        starts.insert(0, (0, 0))
    ends = [start for start, _ in starts[1:]] + [len(data)]
    for (_, begin), end in zip(starts, ends, strict=True):
        message = data[begin:end].rstrip(b"\r\n") + b"\n"
        if message.strip() and not _INTERNAL.search(message[:_HEADERS]):
            yield _ESCAPED.sub(rb"\1", message)


def _separators(data: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of each `From ` line that parts messages."""
    begin = first = len(data) - len(data.lstrip())
    while line := _LINE.search(data, begin):
        begin = line.end()
        blank_above = data.endswith((b"\n\n", b"\n\r\n"), max(0, line.start() - 3), line.start())
        if _parts(data, line, alone=blank_above or line.start() == first):
            yield line.span()


def _parts(data: bytes, line: re.Match[bytes], *, alone: bool) -> bool:
    """Whether a `From ` line parts messages; `alone`: it stands after a blank line.

    A mail must follow. Where the line isn't alone (Mailman's archives have no blank line after an attachment's
    address) it must be one that nobody writes in prose.
    """
    firm = _FIRM.match(line[0]) is not None
    if _MAIL.match(data, line.end()):
        return firm or (alone and _LOOSE.match(line[0]) is not None)
    return firm and alone and _HEADER_OR_BLANK.match(data, line.end()) is not None


#: As the programs that deliver name them: a time, something that no other mail has, the host; flags once it was seen.
_MAILDIR_MAIL = re.compile(r"(?:.*/)?(?:cur|new)/(?:[^/]+[:;!]2,[A-Za-z]*|\d{9,11}(?:_\d+)?\.[^/.]*\d[^/.]*\.[^/]+)")


def format_of(file_path: str, known: Container[str]) -> str:
    """The extension that a file is read by, with its dot, lower case; empty where there is none.

    >>> format_of("acme/mail/inbox/cur/1772442000.M20P5.host.example.org:2,RS", {".eml", ".md"})
    '.eml'
    >>> format_of("acme/mail/new/Notes.MD", {".eml", ".md"})
    '.md'
    """
    extension = os.path.splitext(file_path)[1].lower()
    return ".eml" if extension not in known and _MAILDIR_MAIL.fullmatch(file_path) else extension
