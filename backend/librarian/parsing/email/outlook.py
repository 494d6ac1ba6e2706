"""Outlook's `.msg` ([MS-OXMSG]) as the mail that it was: headers, text and HTML, what is attached."""

from __future__ import annotations

import base64
import io
import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
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
_HEADER_BYTES = {"item": 32, "attached item": 24, "part": 8}  #: before a storage's properties
_NUMBER, _TIME = 0x0003, 0x0040
_TO, _CC = 1, 2

_CLASS, _SUBJECT, _TRANSPORT_HEADERS, _MESSAGE_ID, _IN_REPLY_TO = 0x001A, 0x0037, 0x007D, 0x1035, 0x1042
_REFERENCES, _CONVERSATION, _SENT, _DELIVERED, _CREATED = 0x1039, 0x0071, 0x0039, 0x0E06, 0x3007
#: Name, address as the server knows it, and address on the Internet of who sent it, or for whom.
_SENDERS = ((0x0042, 0x0065, 0x5D02), (0x0C1A, 0x0C1F, 0x5D01))
_DISPLAY_TO, _DISPLAY_CC = 0x0E04, 0x0E03
_BODY, _HTML, _RTF, _INTERNET_CODE_PAGE, _CODE_PAGE = 0x1000, 0x1013, 0x1009, 0x3FDE, 0x3FFD
_NAME, _ADDRESS, _INTERNET_ADDRESS, _KIND_OF_RECIPIENT = 0x3001, 0x3003, 0x39FE, 0x0C15
_LONG_FILE_NAME, _FILE_NAME, _CONTENT_TYPE, _DATA = 0x3707, 0x3704, 0x370E, 0x3701

_FILE_TIME_START = datetime(1601, 1, 1, tzinfo=UTC)
_UTF_16 = 1200
#: Code pages whose usual names stand for fewer characters, or for none that Python knows.
_SUPERSETS = {936: "gb18030", 949: "cp949", 950: "big5", 51936: "gb18030", 38598: "iso-8859-8-i"}
_HEADER = re.compile(r"^([!-9;-~]{1,70})[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*\n?", re.M)
_OF_MIME = re.compile(r"content-|mime-version$", re.I)
_KIND = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,100}")
_CONTROLS = re.compile(r"[\0-\x1f\x7f]+")


def is_outlook(data: bytes) -> bool:
    """Whether a file may be one of Outlook's items."""
    return data.startswith(SIGNATURE)


def mail_of(data: bytes, name: str) -> bytes:
    """The item in a `.msg` file as MIME. Raises `SourceError` (corrupt, not_a_mail), which calls it `name`."""
    root = _opened(data, name)
    if not any(stream.name.lower() == _PROPERTIES for stream in root.streams):
        raise SourceError(
            f"'{name}' holds no item of Outlook.", hint="Export it again as .msg or .eml.", reason="not_a_mail"
        )
    return _mime(_Properties(name, root, "item"), 0)


def _opened(data: bytes, name: str) -> Storage:
    """The storages and streams of a compound file ([MS-CFB]).

    A hostile file may let tables of sectors go on without end, which olefile follows, or many streams share their
    bytes: neither all tables nor all streams may be longer than the file.
    """
    import olefile
    from oxmsg.storage import Storage

    try:
        (tables,) = struct.unpack_from("<I", data.ljust(_SPARE, b"\0"), _TABLES)
        if tables * _SPARE > len(data):
            raise ValueError("its tables are longer than the file")
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            entries = [entry for entry in file.direntries if entry and entry.entry_type == olefile.STGTY_STREAM]
            if sum(entry.size for entry in entries) > len(data) + _SPARE:
                raise ValueError("its streams are longer than the file")
            if max(len(entry.kids) for entry in file.direntries if entry) > _MOST_IN_STORAGE:
                raise ValueError("a storage holds too many streams")
            return Storage.from_ole(file)
    except Exception as error:
        raise SourceError(
            f"'{name}' is damaged: {str(error).rstrip('.')}.",
            hint="Export it again from the program it was made with.",
            reason="corrupt",
        ) from error


class _Properties:
    """What a storage of an item says of it, by the numbers of [MS-OXPROPS]."""

    def __init__(self, file_name: str, storage: Storage, kind: str, charset: str | None = None) -> None:
        self.file_name = file_name
        self.streams = {stream.name.lower(): stream.bytes_ for stream in storage.streams}
        self._storages = {one.name.lower(): one for one in storage.storages}
        self._fixed: dict[int, tuple[int, bytes]] = {}
        if stream := self.streams.get(_PROPERTIES):
            listed = stream[_HEADER_BYTES[kind] :]
            for type_, number, value in struct.iter_unpack("<HH4x8s", listed[: len(listed) // 16 * 16]):
                self._fixed.setdefault(number, (type_, value))
        self.charset = self._code_page() if charset is None else charset

    def text(self, number: int) -> str:
        """Empty where there is none."""
        if (wide := self._stream(number, 0x001F)) is not None:
            return wide.decode("utf-16-le", "replace").strip("\0")
        narrow = (self._stream(number, 0x001E) or b"").rstrip(b"\0")
        return decoded_by(narrow, self.charset)[0] if narrow else ""

    def line(self, number: int) -> str:
        """A text on one line."""
        return _CONTROLS.sub(" ", self.text(number)).strip()

    def binary(self, number: int) -> bytes:
        return self._stream(number, 0x0102) or b""

    def number(self, number: int) -> int:
        """0 where there is none."""
        type_, value = self._fixed.get(number, (0, b""))
        return int.from_bytes(value[:4], "little") if type_ == _NUMBER else 0

    def time(self, number: int) -> str:
        """As a Date header says it; empty where there is none."""
        type_, value = self._fixed.get(number, (0, b""))
        ticks = int.from_bytes(value, "little") if type_ == _TIME else 0
        try:
            return format_datetime(_FILE_TIME_START + timedelta(microseconds=ticks // 10)) if ticks else ""
        except OverflowError:
            return ""

    def inner(self, number: int) -> Storage | None:
        """The storage of an object."""
        return self._storages.get(f"__substg1.0_{number:04x}000d")

    def parts(self, name: str) -> Iterator[_Properties]:
        """Recipients or attachments, in their order."""
        for key in sorted(key for key in self._storages if key.startswith(f"__{name}_version1.0_")):
            yield _Properties(self.file_name, self._storages[key], "part", self.charset)

    def _stream(self, number: int, type_: int) -> bytes | None:
        return self.streams.get(f"__substg1.0_{number:04x}{type_:04x}")

    def _code_page(self) -> str:
        """That of narrow texts; some programs name UTF-16, which those never are."""
        pages = (self.number(_CODE_PAGE), self.number(_INTERNET_CODE_PAGE))
        return next(filter(None, (_charset_of(page) for page in pages if page != _UTF_16)), "")


def _charset_of(page: int) -> str:
    """A code page's character set; empty where it has no name."""
    from oxmsg.domain.encodings import encoding_from_codepage
    from oxmsg.domain.model import UnrecognizedCodePageError, UnsupportedEncodingError

    if page in _SUPERSETS:
        return _SUPERSETS[page]
    try:
        return encoding_from_codepage(page)
    except (UnrecognizedCodePageError, UnsupportedEncodingError):
        return ""


def _mime(item: _Properties, depth: int) -> bytes:
    headers = _headers(item)
    attachments = list(islice(item.parts("attach"), _MOST_ATTACHMENTS))
    if item.line(_CLASS).lower().endswith("smime.multipartsigned") and len(attachments) == 1:
        return headers + attachments[0].binary(_DATA)  # a signed mail is kept as it was sent, all in one
    parts = [_alternatives(item), *(_attached(one, depth) for one in attachments)]
    return headers + _joined("mixed", [part for part in parts if part])


def _headers(item: _Properties) -> bytes:
    """Those that the mail came with, but for MIME's, and what they lack, as Outlook remembers it."""
    sent = item.text(_TRANSPORT_HEADERS)[:_HEADERS_READ].replace("\r\n", "\n").replace("\r", "\n")
    headers: dict[str, list[str]] = {}
    for found in _HEADER.finditer(sent):
        if not _OF_MIME.match(found[1]):
            headers.setdefault(found[1].lower(), []).append(found[0].rstrip("\n"))
    lines = [line for lines in headers.values() for line in lines]
    own = _own_headers(item, is_received="from" in headers)
    lines += [f"{name}: {value}" for name, value in own if value and name.lower() not in headers]
    return "\n".join([*lines, "MIME-Version: 1.0", ""]).encode("utf-8", "replace")


def _own_headers(item: _Properties, *, is_received: bool) -> Iterator[tuple[str, str]]:
    """What a mail that came in has no header of, Outlook made up itself: its conversation then means nothing."""
    yield "Subject", item.line(_SUBJECT)
    yield "Date", item.time(_SENT) or item.time(_DELIVERED) or item.time(_CREATED)
    yield "Message-ID", item.line(_MESSAGE_ID)
    yield "In-Reply-To", item.line(_IN_REPLY_TO)
    yield "References", item.line(_REFERENCES)
    if not is_received:
        yield "Thread-Index", base64.b64encode(item.binary(_CONVERSATION)).decode()
        senders = (_person(item.line(name), item.line(other), item.line(known)) for name, other, known in _SENDERS)
        yield "From", next(filter(None, senders), "")
        people: dict[int, list[str]] = {}
        for one in item.parts("recip"):
            person = _person(one.line(_NAME), one.line(_ADDRESS), one.line(_INTERNET_ADDRESS))
            people.setdefault(one.number(_KIND_OF_RECIPIENT) & 0xF, []).append(person)
        for name, kind, shown in (("To", _TO, _DISPLAY_TO), ("Cc", _CC, _DISPLAY_CC)):
            names = [_person(one.strip(), "", "") for one in item.line(shown).split(";")]
            yield name, ", ".join(filter(None, people.get(kind) or names))


def _person(name: str, address: str, known: str) -> str:
    """`"Name" <address>`; what Exchange calls an address is none."""
    address = next((one for one in (known, address) if "@" in one and not one.startswith("/")), "")
    quoted = len(name) > 1 and name[0] == name[-1] and name[0] in "'\""
    name = (name[1:-1] if quoted else name) or address
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    if not address:
        return f'"{escaped}"' if name and "@" not in name else name
    return address if name == address else f'"{escaped}" <{address}>'


def _alternatives(item: _Properties) -> bytes:
    """The body's part; empty where there is no body."""
    found = []
    if plain := item.text(_BODY):
        found.append(_part("text/plain; charset=utf-8", plain.encode("utf-8", "replace")))
    if markup := item.binary(_HTML):
        charset = _charset_of(item.number(_INTERNET_CODE_PAGE)) or item.charset
        found.append(_part(f'text/html; charset="{charset}"', markup))
    elif words := item.text(_HTML):
        found.append(_part("text/html; charset=utf-8", words.encode("utf-8", "replace")))
    if not found and (packed := item.binary(_RTF)):
        found.append(_part("text/plain; charset=utf-8", _rtf_text(packed, item.file_name).encode("utf-8", "replace")))
    return _joined("alternative", found) if found else b""


def _rtf_text(packed: bytes, name: str) -> str:
    import compressed_rtf

    from ..rtf import RichTextParser  # the registry of parsers imports this module

    try:
        return RichTextParser().parse(SourceFile("", name, "", "", 0, 0), compressed_rtf.decompress(packed)).text
    except Exception as error:  # of no kind of its own
        raise SourceError(
            f"The text of '{name}' is RTF that is damaged.", hint="Export the mail again as .eml.", reason="corrupt"
        ) from error


def _attached(part: _Properties, depth: int) -> bytes:
    inner = part.inner(_DATA)
    name = part.line(_LONG_FILE_NAME) or part.line(_FILE_NAME) or part.line(_NAME)
    held = None if inner is None else _Properties(part.file_name, inner, "attached item")
    if held is not None and _PROPERTIES in held.streams:
        try:
            data = _mime(held, depth + 1) if depth < _DEEPEST else b""
        except SourceError:  # the mail around it is read; that this one wasn't is noted, for it has no headers
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
