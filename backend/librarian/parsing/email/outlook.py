"""Outlook's `.msg` ([MS-OXMSG]) as the mail that it was: headers, text and HTML, what is attached."""

from __future__ import annotations

import base64
import io
import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.parser import HeaderParser
from email.utils import format_datetime, formataddr
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import quote

from ...errors import SourceError
from ...models import SourceFile
from .headers import decoded_by

if TYPE_CHECKING:
    from oxmsg.storage import Storage

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SPARE = 512  #: bytes that a compound file of nothing has; no sector is smaller
_TABLES = 44  #: where its header says how many sectors the table of sectors takes

_MOST_IN_STORAGE = 4_000  #: olefile takes quadratic time in them
_DEEPEST = 4  #: items inside items that are looked into
_MOST_ATTACHMENTS = 2_000
_HEADERS_READ = 500_000  #: characters of the headers that a mail came with
_PROPERTIES = "__properties_version1.0"
_ITEM, _INNER_ITEM, _PART = 32, 24, 8  #: bytes in front of the properties of a storage

_CLASS, _SUBJECT, _TRANSPORT_HEADERS, _MESSAGE_ID, _IN_REPLY_TO = 0x001A, 0x0037, 0x007D, 0x1035, 0x1042
_REFERENCES, _CONVERSATION, _SENT, _DELIVERED, _CREATED = 0x1039, 0x0071, 0x0039, 0x0E06, 0x3007
#: Name, address on the Internet and as the server knows it, of who sent it or for whom.
_SENDERS = ((0x0042, 0x5D02, 0x0065), (0x0C1A, 0x5D01, 0x0C1F))
_BODY, _HTML, _RTF, _INTERNET_CODE_PAGE, _CODE_PAGE = 0x1000, 0x1013, 0x1009, 0x3FDE, 0x3FFD
_NAME, _ADDRESS, _INTERNET_ADDRESS, _KIND_OF_RECIPIENT = 0x3001, 0x3003, 0x39FE, 0x0C15
_LONG_FILE_NAME, _FILE_NAME, _CONTENT_TYPE, _DATA = 0x3707, 0x3704, 0x370E, 0x3701

_FILE_TIME_START = datetime(1601, 1, 1, tzinfo=UTC)
_UTF_16 = 1200
_OF_MIME = re.compile(r"content-|mime-version$", re.I)
_KIND = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,100}")
_CONTROLS = re.compile(r"[\0-\x1f\x7f]+")


def mail_of(data: bytes, name: str) -> bytes:
    """The item in a `.msg` file as MIME. Raises `SourceError` (corrupt, not_a_mail), which calls it `name`."""
    try:
        item = _Item(_opened(data), _ITEM)
        if _PROPERTIES in item.streams:
            return _mime(item, 0)
    except Exception as error:  # the libraries raise what they please
        raise SourceError(
            f"'{name}' is damaged: {str(error).rstrip('.')}.",
            hint="Export it again from the program it was made with.",
            reason="corrupt",
        ) from error
    raise SourceError(
        f"'{name}' holds no item of Outlook.", hint="Export it again as .msg or .eml.", reason="not_a_mail"
    )


def _opened(data: bytes) -> Storage:
    """The storages and streams of a compound file ([MS-CFB]).

    A hostile file may let tables of sectors go on without end, which olefile follows, or many streams share their
    bytes: neither all tables nor all streams may be longer than the file.
    """
    import olefile
    from oxmsg.storage import Storage

    (tables,) = struct.unpack_from("<I", data.ljust(_SPARE, b"\0"), _TABLES)
    if tables * _SPARE > len(data):
        raise ValueError("its tables are longer than the file")
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        entries = [entry for entry in file.direntries if entry]
        if sum(entry.size for entry in entries if entry.entry_type == olefile.STGTY_STREAM) > len(data) + _SPARE:
            raise ValueError("its streams are longer than the file")
        if max(len(entry.kids) for entry in entries) > _MOST_IN_STORAGE:
            raise ValueError("a storage holds too many streams")
        return Storage.from_ole(file)


class _Item:
    """What a storage says, by the numbers of [MS-OXPROPS]; its properties begin behind `header` bytes."""

    def __init__(self, storage: Storage, header: int, charset: str = "") -> None:
        self.streams = {stream.name.lower(): stream.bytes_ for stream in storage.streams}
        self.storages = {one.name.lower(): one for one in storage.storages}
        listed = self.streams.get(_PROPERTIES, b"")[header:]
        self._fixed = {
            number: int.from_bytes(value, "little")
            for number, value in struct.iter_unpack("<2xH4x8s", listed[: len(listed) // 16 * 16])
        }
        pages = (self.number(_CODE_PAGE), self.number(_INTERNET_CODE_PAGE))
        # some programs name UTF-16, which narrow texts never are
        self.charset = charset or next((found for page in pages if page != _UTF_16 and (found := _charset(page))), "")

    def text(self, number: int) -> str:
        """Empty where there is none."""
        wide = self.streams.get(f"__substg1.0_{number:04x}001f", b"").decode("utf-16-le", "replace")
        narrow = self.streams.get(f"__substg1.0_{number:04x}001e", b"").rstrip(b"\0")
        return wide.strip("\0") or (decoded_by(narrow, self.charset)[0] if narrow else "")

    def line(self, number: int) -> str:
        """A text on one line."""
        return _CONTROLS.sub(" ", self.text(number)).strip()

    def binary(self, number: int) -> bytes:
        return self.streams.get(f"__substg1.0_{number:04x}0102", b"")

    def number(self, number: int) -> int:
        """0 where there is none."""
        return self._fixed.get(number, 0) & 0xFFFFFFFF

    def time(self, number: int) -> str:
        """As a Date header says it; empty where there is none."""
        ticks = self._fixed.get(number, 0)
        return format_datetime(_FILE_TIME_START + timedelta(microseconds=ticks // 10)) if ticks else ""

    def parts(self, name: str) -> Iterator[_Item]:
        """Recipients or attachments, in their order."""
        for key in sorted(key for key in self.storages if key.startswith(f"__{name}_version1.0_")):
            yield _Item(self.storages[key], _PART, self.charset)


def _charset(page: int) -> str:
    """A code page's character set; empty for none."""
    return f"iso8859-{page - 28590}" if 28590 < page < 28606 else f"cp{page}" if page else ""


def _mime(item: _Item, depth: int) -> bytes:
    """The headers that the mail came with, but for MIME's, and what they lack, as Outlook remembers it; the parts."""
    sent = HeaderParser().parsestr(item.text(_TRANSPORT_HEADERS)[:_HEADERS_READ].replace("\r\n", "\n"))
    lines = [f"{name}: {value}\n" for name, value in sent.items() if not _OF_MIME.match(name)]
    lines += [
        f"{name}: {value}\n"
        for name, value in _own_headers(item, is_received="from" in sent)
        if value and name not in sent
    ]
    headers = "".join([*lines, "MIME-Version: 1.0\n"]).encode("utf-8", "replace")
    attachments = list(islice(item.parts("attach"), _MOST_ATTACHMENTS))
    if item.line(_CLASS).lower().endswith("smime.multipartsigned") and len(attachments) == 1:
        return headers + attachments[0].binary(_DATA)  # a signed mail is kept as it was sent, all in one
    parts = [_alternatives(item), *(_attached(one, depth) for one in attachments)]
    return headers + _joined("mixed", [part for part in parts if part])


def _own_headers(item: _Item, *, is_received: bool) -> Iterator[tuple[str, str]]:
    yield "Subject", item.line(_SUBJECT)
    yield "Date", item.time(_SENT) or item.time(_DELIVERED) or item.time(_CREATED)
    yield "Message-ID", item.line(_MESSAGE_ID)
    yield "In-Reply-To", item.line(_IN_REPLY_TO)
    yield "References", item.line(_REFERENCES)
    if is_received:
        return  # what a mail that came in has no header of, Outlook made up itself: its conversation then means nothing
    yield "Thread-Index", base64.b64encode(item.binary(_CONVERSATION)).decode()
    yield "From", next(filter(None, (_person(*map(item.line, numbers)) for numbers in _SENDERS)), "")
    people = [(one.number(_KIND_OF_RECIPIENT) & 0xF, one) for one in item.parts("recip")]
    for name, kind in (("To", 1), ("Cc", 2)):
        known = [_person(*map(one.line, (_NAME, _INTERNET_ADDRESS, _ADDRESS))) for its, one in people if its == kind]
        yield name, ", ".join(filter(None, known))


def _person(name: str, *addresses: str) -> str:
    """`"Name" <address>`; what Exchange calls an address is none."""
    name = re.sub(r"^(['\"])(.*)\1$", r"\2", name)
    address = next((one for one in (*addresses, name) if "@" in one and not one.startswith("/")), "")
    return formataddr(("" if name == address else name, address)) if name or address else ""


def _alternatives(item: _Item) -> bytes:
    """The body's part; empty where there is no body."""
    found = []
    if plain := item.text(_BODY):
        found.append(_part("text/plain; charset=utf-8", plain.encode("utf-8", "replace")))
    if markup := item.binary(_HTML):
        charset = _charset(item.number(_INTERNET_CODE_PAGE)) or item.charset
        found.append(_part(f'text/html; charset="{charset}"', markup))
    elif words := item.text(_HTML):
        found.append(_part("text/html; charset=utf-8", words.encode("utf-8", "replace")))
    if not found and (packed := item.binary(_RTF)):
        import compressed_rtf

        from ..rtf import RichTextParser  # the registry of parsers imports this module

        text = RichTextParser().parse(SourceFile("", "", "", "", 0, 0), compressed_rtf.decompress(packed)).text
        found.append(_part("text/plain; charset=utf-8", text.encode("utf-8", "replace")))
    return _joined("alternative", found) if found else b""


def _attached(part: _Item, depth: int) -> bytes:
    name = part.line(_LONG_FILE_NAME) or part.line(_FILE_NAME) or part.line(_NAME)
    inner = part.storages.get(f"__substg1.0_{_DATA:04x}000d")
    held = _Item(inner, _INNER_ITEM) if inner else None
    if held is not None and _PROPERTIES in held.streams:
        try:
            data = _mime(held, depth + 1) if depth < _DEEPEST else b""
        except Exception:  # the mail around it is read; that this one wasn't is noted, for it has no headers
            data = b""
        return _part("message/rfc822", data, name)
    declared = part.line(_CONTENT_TYPE)
    kind = declared if _KIND.fullmatch(declared) else "application/octet-stream"
    return _part(kind, part.binary(_DATA), name or "unnamed")


def _part(kind: str, data: bytes, name: str | None = None) -> bytes:
    named = f"; filename*=utf-8''{quote(name, safe='')}" if name else ""
    attached = "" if name is None else f"Content-Disposition: attachment{named}\n"
    head = f"Content-Type: {kind}\n{attached}Content-Transfer-Encoding: base64\n\n"
    return head.encode("utf-8", "replace") + base64.encodebytes(data)


def _joined(kind: str, parts: list[bytes]) -> bytes:
    """Several parts as one. A line that begins as the boundary does is no base64."""
    if len(parts) < 2:
        return parts[0] if parts else b"\n"
    boundary = f"--=_{kind}_{sum(map(len, parts))}"
    body = b"".join(b"--%s\n%s\n" % (boundary.encode(), part) for part in parts)
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n'
    return head.encode() + body + b"--%s--\n" % boundary.encode()
