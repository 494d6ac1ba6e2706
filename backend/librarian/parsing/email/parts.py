"""What a message says and what hangs on it: its parts, read as far as broken MIME allows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import Message
from typing import Any

from ...models import Attachment
from .headers import decoded_by, readable
from .html import html_to_text

_MAX_PARTS = 2_000  #: deeper or wider nesting than this is an attack, not a mail
_MARKUP = ("text/html", "text/enriched", "text/richtext")  #: the commands of the other two look like tags
#: They hang on every mail of somebody, perhaps with a picture inside: listed, not read.
_CARDS = frozenset({"text/directory", "text/vcard", "text/x-vcard"})
#: Texts for programs: attachments, whether or not they say so.
_FOR_PROGRAMS = _CARDS | {"text/calendar", "text/rfc822-headers", "text/rtf"}
#: Reports of mail servers in lines of text: why a mail didn't arrive is often said there alone.
_REPORTS = frozenset({"message/delivery-status", "message/disposition-notification", "message/feedback-report"})
_BASE64 = re.compile(r"\s*(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{0,4}={0,2}\s*")
_TAG = re.compile(r"<[^<>]*>")
#: A plain part of so few words may merely say that there is another one, or how to leave a newsletter.
_FEW_WORDS, _SHARE = 150, 0.1
_READABLE_HTML = ("text/html", "multipart/related", "multipart/mixed")


@dataclass(frozen=True, slots=True)
class Part:
    """An attachment with its bytes."""

    attachment: Attachment
    data: bytes

    @property
    def extensions(self) -> tuple[str, ...]:
        """Those that it may be read by: its name's, then that of its content type; any text can be read as one.

        None of signatures and of what is encrypted, whose name may be that of a text (`signature.asc`).
        """
        kind, name = self.attachment.content_type, self.attachment.filename
        if kind == "message/rfc822":
            return (".eml",)
        if self.data[:100].lstrip().startswith(b"-----BEGIN "):
            return ()
        is_text = (kind.startswith("text/") and kind not in _CARDS) or kind in _REPORTS
        return os.path.splitext(name)[1].lower(), _extension(kind), ".txt" if is_text else ""


class MailPart(Message):
    """A message whose attached mails stay bytes, as they were sent: who reads them parses them, once and on demand."""

    def get_content_maintype(self) -> str:
        """The standard library's, by which its parser opens what is `message/…`; `data` for those."""
        kind = self.get_content_type()
        # The parts of a delivery's status are other_text apart before the parser asks for this.
        closed = kind.startswith("message/") and kind != "message/delivery-status"
        return "data" if closed else super().get_content_maintype()


class Body:
    """The readable part of a message, and its attachments."""

    def __init__(self, message: Message) -> None:
        self.parts: list[Part] = []
        self.encoding, self.confidence = "utf-8", 1.0
        self.broken = bool(message.defects)
        self._left = _MAX_PARTS
        pieces = [piece for piece in self._pieces(message) if piece.strip()]
        whole = "\n\n".join(piece.strip("\n") for piece in pieces)
        self.text = whole.replace("\0", " ").strip("\n")

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
                waiting += _best(children) if part.get_content_subtype() == "alternative" else children[::-1]
            else:
                yield from self._leaf(part)

    def _leaf(self, part: Message) -> Iterator[str]:
        kind, name = part.get_content_type(), _filename(part)
        # A multipart whose boundary never comes: all of it is left, and better read than lost.
        unparted = kind.startswith("multipart/") and not name and _disposition(part) != "attachment"
        data = _payload(part)
        if unparted or _is_read(part):
            text, self.encoding, self.confidence = decoded_by(data, _charset(part))
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            yield html_to_text(text) if kind in _MARKUP else text
        else:
            name = name or ("message" if kind == "message/rfc822" else "unnamed") + _extension(kind)
            attachment = Attachment(name, kind, len(data))
            if kind == "text/calendar":
                data = calendar_to_text(data, _charset(part)).encode("utf-8", "replace") or data
            self.parts.append(Part(attachment, data))


def _best(children: list[Message]) -> list[Message]:
    """The alternative to read, after what hangs on the others, such as pictures, last to first."""
    readable = [child for child in children if any(map(_is_read, child.walk()))]
    if not readable:
        return children[::-1]
    plain = [child for child in readable if child.get_content_type() == "text/plain"]
    rich = [child for child in readable if child.get_content_type() in _READABLE_HTML]
    best = plain[0] if plain and not (rich and _is_token(plain[0], rich[-1])) else [*readable, *rich][-1]
    hanging = []
    for child in children:
        for leaf in child.walk() if child is not best else ():
            kind = leaf.get_content_subtype()
            # as HTML, or as RTF, which programs that convert Outlook's mails add, the same is said again
            is_same = kind == "rtf" or (_is_read(leaf) and (leaf is child or kind == "html"))
            if not is_same and not leaf.is_multipart():
                hanging.append(leaf)
    return [*hanging[::-1], best]


def _is_read(part: Message) -> bool:
    """Whether a part is text of the mail itself, and no attachment; unknown kinds too (RFC 2046, 4.1.4)."""
    kind = part.get_content_type()
    named = _disposition(part) == "attachment" or bool(_filename(part))
    return kind.startswith("text/") and kind not in _FOR_PROGRAMS and not named


def _is_token(plain: Message, rich: Message) -> bool:
    """Whether the plain part merely says that there is another one, or how to leave a newsletter."""
    data = _payload(plain)
    words = len(data.split())
    markup = next((one for one in rich.walk() if one.get_content_type() == "text/html"), None)
    if words >= _FEW_WORDS or markup is None:
        return False
    share = 0.5 if words < 40 and b"html" in data.lower() else _SHARE
    text = decoded_by(_payload(markup), _charset(markup))[0]
    # nearly all mails are decided without reading their HTML
    return words <= share * len(_TAG.sub(" ", text).split()) and words <= share * len(html_to_text(text).split())


def _payload(part: Message) -> bytes:
    payload = part.get_payload()
    if isinstance(payload, list):
        return bytes(_read(lambda: b"".join(bytes(inner) for inner in payload if isinstance(inner, Message)), b""))
    if isinstance(payload, str) and str(part.get("content-transfer-encoding", "")).strip().lower() == "base64":
        # what a list wrote below it would be decoded too, or keep all from being decoded
        part.set_payload("\n".join(filter(_BASE64.fullmatch, payload.splitlines())))
    data = _read(lambda: part.get_payload(decode=True), None)
    if isinstance(data, bytes):
        return data
    return payload.encode("utf-8", "surrogateescape") if isinstance(payload, str) else b""


def _read(ask: Callable[[], Any], otherwise: Any) -> Any:
    """What the standard library reads; `otherwise` where it stumbles over a broken part."""
    try:
        return ask()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return otherwise


def _charset(part: Message) -> str:
    return str(_read(part.get_content_charset, "") or "").strip("'\" ")


def _filename(part: Message) -> str:
    return readable(str(_read(part.get_filename, "") or ""))


def _disposition(part: Message) -> str:
    return str(_read(part.get_content_disposition, "") or "")


def _extension(kind: str) -> str:
    """The extension that files of a content type have: mostly its second half."""
    return {"text/plain": ".txt", "message/rfc822": ".eml"}.get(kind, "." + kind.rsplit("/", 1)[-1])


# -- invitations -------------------------------------------------------------------------------------------------------

_FOLD = re.compile(rb"\r?\n[ \t]")  #: every 75 bytes, in words and perhaps in letters
_ESCAPED = re.compile(r"\\([\\;,nN])")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_LABELS = {
    "SUMMARY": "", "DESCRIPTION": "", "COMMENT": "", "DTSTART": "Start: ", "DTEND": "End: ", "DUE": "Due: ",
    "LOCATION": "Location: ", "ORGANIZER": "Organizer: ", "ATTENDEE": "Attendee: ", "CONTACT": "Contact: ",
}  # fmt: skip
_SKIPPED = ("VTIMEZONE", "STANDARD", "DAYLIGHT", "VALARM")  #: whose properties are not read


def calendar_to_text(data: bytes, charset: str) -> str:
    r"""Empty where it is no calendar.

    >>> calendar_to_text(b"BEGIN:VCALENDAR\nSUMMARY:Pu\n mps\\, again\nDTSTART;TZID=Europe/Rome:20260310T100000", "")
    'Pumps, again\nStart: 2026-03-10 10:00 Europe/Rome'
    """
    source = decoded_by(_FOLD.sub(b"", data), charset)[0]
    if not source.lstrip().upper().startswith("BEGIN:VCALENDAR"):
        return ""
    lines: list[str] = []
    is_read = True
    for line in source.splitlines():
        head, _, value = line.strip().partition(":")
        name, *parameters = head.split(";")
        if name.upper() in ("BEGIN", "END"):
            is_read = name.upper() == "BEGIN" and value.upper() not in _SKIPPED
        elif name.upper() in _LABELS and is_read and value:
            lines.append(_LABELS[name.upper()] + _value_of(parameters, value))
    return "\n".join(lines)


def _value_of(parameters: list[str], value: str) -> str:
    """A property's value as people write it: a time with its zone, a person's name with their address, a text."""
    named = (one.partition("=")[2].strip('"') for one in parameters if one.upper().startswith(("CN=", "TZID=")))
    known = next(named, "")
    if time := _TIME.fullmatch(value):
        year, month, day, hour, minute, utc = time.groups()
        return f"{year}-{month}-{day}" + (f" {hour}:{minute} {'UTC' if utc else known}".rstrip() if hour else "")
    if value.lower().startswith("mailto:"):
        return f"{known} <{value[7:]}>" if known and known != value[7:] else value[7:]
    return _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], value).strip()
