"""What a message says and what hangs on it: its parts, read as far as broken MIME allows."""

from __future__ import annotations

import binascii
import mimetypes
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message

from ...models import Attachment
from .calendar import calendar_to_text
from .headers import RawHeaders, decoded_by, readable
from .html import html_to_text

_PARAMETERS = re.compile(r"<param>.*?</param>", re.I | re.S)
_COMMAND = re.compile(r"(<<)|</?[a-z0-9-]{1,60}>", re.I)
_BREAK = re.compile(r"<nl>|</?paragraph>", re.I)
_NEWLINES = re.compile(r"\n(\n*)")


def enriched_to_text(markup: str) -> str:
    """Without commands and their parameters; lines are broken where one line break follows another."""
    text = _COMMAND.sub(lambda found: "<" if found[1] else "", _PARAMETERS.sub("", markup))
    return _NEWLINES.sub(lambda found: found[1] or " ", text.strip("\n"))


def richtext_to_text(markup: str) -> str:
    """The same for its forerunner (RFC 1341, 7.1.3), in which commands alone break lines."""
    return enriched_to_text(_BREAK.sub("\n\n", markup.strip().replace("\n", " ").replace("<lt>", "<<")))


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


_KINDS = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")
_DATA = bytes.fromhex("06092a864886f70d010701")
_REACH = 1_000  #: bytes before the content: a version and the names of digests
_CONTENT, _OCTETS, _OCTETS_IN_PIECES, _SEALED_END = 0xA0, 0x04, 0x24, 0x00
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
    while place < min(len(data), end if end >= 0 else len(data)) and data[place] != _SEALED_END:
        piece, place = _octets(data, place, depth + 1)
        pieces.append(piece)
    return b"".join(pieces), place + 2 if end < 0 else end


_MAX_PARTS = 2_000  #: deeper or wider nesting than this is an attack, not a mail
_MAX_DEPTH = 30  #: multiparts inside multiparts; each line is compared with the boundaries of all that are open
_READERS: dict[str, Callable[[str], str]] = {
    "text/enriched": enriched_to_text,
    "text/html": html_to_text,
    "text/richtext": richtext_to_text,
}
#: They hang on every mail of somebody, perhaps with a picture inside: listed, not read.
_CARDS = frozenset({"text/directory", "text/vcard", "text/x-vcard"})
#: Texts for programs: attachments, whether or not they say so.
_FOR_PROGRAMS = _CARDS | {"text/calendar", "text/rfc822-headers", "text/rtf"}
#: Reports of mail servers in lines of text: why a mail didn't arrive is often said there alone.
_REPORTS = frozenset({"message/delivery-status", "message/disposition-notification", "message/feedback-report"})
#: The extension that files of a content type have.
_EXTENSIONS = {
    "application/epub+zip": ".epub",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "application/rtf": ".rtf",
    "application/vnd.ms-outlook": ".msg",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/xhtml+xml": ".xhtml",
    "message/rfc822": ".eml",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/plain": ".txt",
    "text/rtf": ".rtf",
    "text/tab-separated-values": ".tsv",
}
#: A line of base64, and one that is so long that nobody writes it as a footer.
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}[ \t]*\r?$")
_ENCODED = re.compile(r"^[ \t]*[A-Za-z0-9+/]{40}", re.M)
#: A link that a program parted by a blank that is none of it; between words it leaves two (RFC 3676, 4.1, DelSp).
_PARTED_LINK = re.compile(r"\b(?:https?|ftp)://\S{1,200}+(?: \n>*[ \t]?\S+)+")
_PARTED = re.compile(r" \n>*[ \t]?")
_TIGHT_QUOTE = re.compile(r"^>(?!From )[^\s>]", re.M)
#: HTML is preferred where the plain part has fewer words than this share of it: "your program can't show HTML".
_TOKEN_SHARE = 0.2
_TOKEN_SHARE_THAT_SAYS_SO = 0.5
_TOKEN_WORDS = 40
#: The same for longer ones, which newsletters fill with their address and how to leave.
_LONG_TOKEN_SHARE, _LONG_TOKEN_WORDS = 0.1, 150
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Part:
    """An attachment with its bytes."""

    attachment: Attachment
    data: bytes

    @property
    def is_mail(self) -> bool:
        """Whether it is an attached message."""
        return self.attachment.content_type == "message/rfc822"

    @property
    def extensions(self) -> tuple[str, ...]:
        """Those that it may be read by: its name's, then that of its content type; any text can be read as text.

        None of signatures and of what is encrypted, whose name may be that of a text (`signature.asc`).
        """
        kind, name = self.attachment.content_type, self.attachment.filename
        if self.is_mail:
            return (".eml",)
        if self.data[:100].lstrip().startswith(b"-----BEGIN "):
            return ()
        named = "." + name.rsplit(".", 1)[-1].lower() if "." in name else ""
        is_text = (kind.startswith("text/") and kind not in _CARDS) or kind in _REPORTS
        declared = _EXTENSIONS.get(kind, ".txt" if is_text else "")
        return named, declared


class MailPart(Message):
    """A message whose attached mails stay bytes, as they were sent: who reads them parses them, once and on demand."""

    _depth = 0

    def get_content_maintype(self) -> str:
        """The standard library's, by which its parser opens what is `message/…`; `data` for those."""
        kind = self.get_content_type()
        # The parts of a delivery's status are told apart before the parser asks for this.
        closed = kind.startswith("message/") and kind != "message/delivery-status"
        return "data" if closed or self._depth > _MAX_DEPTH else super().get_content_maintype()

    def attach(self, payload: Message | str) -> None:
        """The standard library's; a part knows how deep it lies before its content is parsed."""
        if isinstance(payload, MailPart):
            payload._depth = self._depth + 1
        super().attach(payload)


class Body:
    """The readable part of a message, and its attachments."""

    def __init__(self, message: Message) -> None:
        self.parts: list[Part] = []
        self.encoding, self.confidence = "utf-8", 1.0
        self.broken = bool(message.defects)
        self._left = _MAX_PARTS
        pieces = [piece for piece in self._pieces(message) if piece.strip()]
        whole = "\n\n".join(piece.strip("\n") for piece in pieces)
        self.text = whole.replace("\0", "").strip("\n")

    def _pieces(self, message: Message) -> Iterator[str]:
        """Texts in the order of their parts; of alternatives, the best one."""
        waiting: list[Message] = [message]
        while waiting and self._left:
            self._left -= 1
            part = waiting.pop()
            self.broken = self.broken or bool(part.defects)
            payload = part.get_payload()
            if isinstance(payload, list) and part.get_content_maintype() == "multipart":
                children = [inner for inner in payload if isinstance(inner, Message)]
                if part.get_content_subtype() == "alternative":
                    best, others = _best(children)
                    waiting += [*reversed(others), *best]
                else:
                    waiting += reversed(children)
                continue
            if is_sealed(part.get_content_type(), _filename(part)) and (signed := signed_content(_payload(part))):
                waiting.append(message_from_bytes(signed, MailPart, policy=RawHeaders()))
            else:
                yield from self._leaf(part)

    def _leaf(self, part: Message) -> Iterator[str]:
        kind, name = part.get_content_type(), _filename(part)
        below = _cut_below_base64(part)
        # A multipart whose boundary never comes: all of it is left, and better read than lost.
        unparted = kind.startswith("multipart/") and not name and _disposition(part) != "attachment"
        if unparted or _is_read(part):
            words = self._text(part)
            if str(part.get_param("delsp")).lower() == "yes":
                words = _PARTED_LINK.sub(lambda found: _PARTED.sub("", found[0]), words)
            yield _READERS[kind](words) if kind in _READERS else self._plain(words)
        else:
            data = _payload(part)
            attachment = Attachment(name or _default_name(kind), kind, len(data))
            if kind == "text/calendar":
                data = calendar_to_text(data, _charset(part)).encode("utf-8", "replace") or data
            self.parts.append(Part(attachment, data))
        yield below

    def _plain(self, words: str) -> str:
        text, files = apart(words)
        for name, data in files:
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            self.parts.append(Part(Attachment(readable(name), kind, len(data)), data))
        return _unescaped(text)

    def _text(self, part: Message) -> str:
        text, self.encoding, self.confidence = decoded_by(_payload(part), _charset(part))
        return text.replace("\r\n", "\n").replace("\r", "\n")


def _best(children: list[Message]) -> tuple[list[Message], list[Message]]:
    """(the alternative to read, what else is to be looked at for attachments)."""
    plain = [child for child in children if child.get_content_type() == "text/plain" and _is_read(child)]
    mixed = ("text/html", "multipart/related", "multipart/mixed")
    rich = [child for child in children if child not in plain]
    marked = [child for child in rich if child.get_content_type() in mixed and any(map(_is_read, child.walk()))]
    told = [child for child in rich if child not in marked and _is_read(child)]
    others = [child for child in rich if child not in marked and child not in told]
    if plain or marked or told:
        others = [child for child in others if not _is_same_in_rtf(child)]
    if plain and not (marked and _is_token(plain[0], marked[-1])):
        return plain[:1], [*others, *(child for child in marked if child.is_multipart() and _hangs_on(child))]
    return marked[-1:] or plain[:1] or told[-1:], others


def _is_read(part: Message) -> bool:
    """Whether a part is text of the mail itself, and no attachment; unknown kinds too (RFC 2046, 4.1.4)."""
    kind = part.get_content_type()
    named = _disposition(part) == "attachment" or bool(_filename(part))
    return kind.startswith("text/") and kind not in _FOR_PROGRAMS and not named


def _is_same_in_rtf(part: Message) -> bool:
    """Whether an alternative is the text as RTF, as programs that convert Outlook's mails add it."""
    return part.get_content_type() in ("application/rtf", "text/rtf") and not _filename(part)


def _hangs_on(part: Message) -> bool:
    """Whether a multipart holds anything besides HTML; its pictures count, its text doesn't."""
    payload = part.get_payload()
    if isinstance(payload, list):
        payload[:] = [one for one in payload if isinstance(one, Message) and one.get_content_type() != "text/html"]
        return bool(payload)
    return False


def _is_token(plain: Message, rich: Message) -> bool:
    """Whether the plain part merely says that there is another one."""
    said = _payload(plain)
    words = len(said.split())
    if words >= _LONG_TOKEN_WORDS:
        return False
    markup = next((one for one in rich.walk() if one.get_content_type() == "text/html"), None)
    if markup is None:
        return False
    text, _, _ = decoded_by(_payload(markup), _charset(markup))
    if words >= _TOKEN_WORDS:  # nearly all mails are told apart without reading their HTML
        most = len(_TAG.sub(" ", text).split())
        return words < most * _LONG_TOKEN_SHARE and words < len(html_to_text(text).split()) * _LONG_TOKEN_SHARE
    told = len(html_to_text(text).split())
    share = _TOKEN_SHARE_THAT_SAYS_SO if b"html" in said.lower() else _TOKEN_SHARE
    return words == 0 or (told > _TOKEN_WORDS and words < told * share)


def _unescaped(text: str) -> str:
    """Text whose own lines some mailbox has changed from `From ` to `>From `: as it was written.

    Where lines beside such a one are quoted, or others are without a space behind their mark, it is a quote.
    """
    if ">From " not in text or _TIGHT_QUOTE.search(text):
        return text
    lines = text.split("\n")
    for place, line in enumerate(lines):
        beside = (*lines[max(0, place - 1) : place], *lines[place + 1 : place + 2])
        if line.startswith(">From ") and not any(one.startswith(">") or one.endswith(":") for one in beside):
            lines[place] = line[1:]
    return "\n".join(lines)


def _payload(part: Message) -> bytes:
    payload = part.get_payload()
    if isinstance(payload, list):
        try:
            return b"".join(bytes(inner) for inner in payload if isinstance(inner, Message))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return b""
    try:
        data = part.get_payload(decode=True)
    except (ValueError, LookupError, TypeError, AttributeError):
        data = None
    if isinstance(data, bytes):
        return data
    return payload.encode("utf-8", "surrogateescape") if isinstance(payload, str) else b""


def _cut_below_base64(part: Message) -> str:
    """Take off a base64 part, and give, what a list wrote below it: decoding would read it as base64 too."""
    encoded = part.get_payload()
    if not isinstance(encoded, str) or str(part.get("content-transfer-encoding", "")).strip().lower() != "base64":
        return ""
    end = 0
    for line in encoded.splitlines(keepends=True):
        if not _BASE64.match(line):
            break
        end += len(line)
    below = encoded[end:]
    if not below.strip() or not encoded[:end].strip() or _ENCODED.search(below):
        return ""
    part.set_payload(encoded[:end])
    return decoded_by(below.encode("utf-8", "surrogateescape"), "")[0]


def _charset(part: Message) -> str:
    try:
        return (part.get_content_charset() or "").strip("'\" ")
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def _filename(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except (ValueError, LookupError, TypeError, AttributeError):
        name = ""
    return readable(name)


def _disposition(part: Message) -> str:
    try:
        return part.get_content_disposition() or ""
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def _default_name(kind: str) -> str:
    extension = _EXTENSIONS.get(kind) or "." + kind.rsplit("/", 1)[-1]
    return ("message" if kind == "message/rfc822" else "unnamed") + extension
