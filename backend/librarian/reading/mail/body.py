"""What a message says and what hangs on it: its parts, read as far as broken MIME allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message

from librarian.vocabulary.types import Attachment

from .headers import decoded_by, readable, repaired
from .html import html_to_text

_MAX_PARTS = 2_000  #: deeper or wider nesting than this is an attack, not a mail
_TEXTS = ("text/plain", "text/html")
#: HTML is preferred where the plain part has fewer words than this share of it: "your program can't show HTML".
_TOKEN_SHARE = 0.2
_TOKEN_WORDS = 40


@dataclass(frozen=True, slots=True)
class Part:
    """An attachment with its bytes."""

    attachment: Attachment
    data: bytes
    is_mail: bool = False


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
            yield from self._leaf(part)

    def _leaf(self, part: Message) -> Iterator[str]:
        kind, name = part.get_content_type(), _filename(part)
        attached = _disposition(part) == "attachment" or bool(name)
        if part.get_content_maintype() == "multipart" and not attached:
            kind = "text/plain"  # its boundary never comes: all of it is left, and better read than lost
        if kind in _TEXTS and not attached:
            words = self._text(part)
            yield html_to_text(words) if kind == "text/html" else words
            return
        data = _payload(part)
        attachment = Attachment(name or _default_name(kind), kind, len(data))
        self.parts.append(Part(attachment, data, kind == "message/rfc822"))

    def _text(self, part: Message) -> str:
        text, self.encoding, self.confidence = decoded_by(_payload(part), _charset(part))
        return text.replace("\r\n", "\n").replace("\r", "\n")


def _best(children: list[Message]) -> tuple[list[Message], list[Message]]:
    """(the alternative to read, what else is to be looked at for attachments)."""
    plain = [child for child in children if child.get_content_type() == "text/plain"]
    mixed = ("text/html", "multipart/related", "multipart/mixed")
    rich = [child for child in children if child.get_content_type() != "text/plain"]
    marked = [child for child in rich if child.get_content_type() in mixed]
    others = [child for child in rich if child not in marked and child.get_content_type() not in mixed]
    if plain and not (marked and _is_token(plain[0], marked[-1])):
        return plain[:1], [*others, *(child for child in marked if child.is_multipart() and _hangs_on(child))]
    return marked[-1:] or plain[:1], others


def _hangs_on(part: Message) -> bool:
    """Whether a multipart holds anything besides HTML; its pictures count, its text doesn't."""
    payload = part.get_payload()
    if isinstance(payload, list):
        payload[:] = [one for one in payload if isinstance(one, Message) and one.get_content_type() != "text/html"]
        return bool(payload)
    return False


def _is_token(plain: Message, rich: Message) -> bool:
    """Whether the plain part merely says that there is another one."""
    words = len(_payload(plain).split())
    if words >= _TOKEN_WORDS:
        return False
    markup = next((one for one in rich.walk() if one.get_content_type() == "text/html"), None)
    if markup is None:
        return False
    text, _, _ = decoded_by(_payload(markup), _charset(markup))
    told = len(html_to_text(text).split())
    return words == 0 or (told > _TOKEN_WORDS and words < told * _TOKEN_SHARE)


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
    return readable(repaired(str(name)))


def _disposition(part: Message) -> str:
    try:
        return part.get_content_disposition() or ""
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def _default_name(kind: str) -> str:
    return "message.eml" if kind == "message/rfc822" else f"unnamed.{kind.rsplit('/', 1)[-1]}"
