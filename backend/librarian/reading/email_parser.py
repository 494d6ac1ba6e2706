"""Mails: `.eml`, by the standard library.

The text is the body: the plain part where there is one, else the HTML part as text. Quoted lines and the signature stay
in the text and are excluded from the index. Headers go to `Document.email`; the subject is the title.
"""

from __future__ import annotations

import binascii
import email
import email.policy
import hashlib
import re
from collections.abc import Iterator
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, mktime_tz, parsedate_tz

from librarian.vocabulary.errors import SourceError
from librarian.vocabulary.types import Attachment, Block, Document, Email, Excluded, SourceFile

from .encoding import decode
from .html_text import html_to_text
from .metadata import cut_at_sentence, iso_of_ns, title_from_name

_MAX_PARTS = 2_000  #: deeper or wider nesting than this is an attack, not a mail
_MESSAGE_ID = re.compile(r"<\s*([^<>\s]+)\s*>")
_QUOTED_LINE = re.compile(r"[ \t]*>")
_ATTRIBUTION = re.compile(
    r"\S.*(?:\bwrote|\bschrieb|\ba écrit|\bescribió|\bha scritto|\bwrites|写道|のメッセージ)\s*:?\s*$"
)
_SIGNATURE = re.compile(r"^-- ?\n", re.M)
_SIGNATURE_LINES = 12
_SPACES = re.compile(r"\s+")
_END_OF_HEADERS = re.compile(rb"\r?\n\r?\n|\r\r")
_SPACED_NAME = re.compile(rb"^([!-9;-~]{2,60})[ \t]+:", re.M)
_REPLY = re.compile(r"^(?:(?:re|aw|fwd?|wg|sv|antw|tr|rif)(?:\[\d+\])?\s*:\s*)+", re.I)


class EmailParser:
    """RFC 5322 and MIME as mail programs really write them. Raises `SourceError(reason="not_a_mail")`."""

    extensions: tuple[str, ...] = (".eml",)

    def parse(self, source: SourceFile, data: bytes) -> Document:
        message = email.message_from_bytes(_tidied(data), policy=email.policy.compat32)
        headers = _Headers(message)
        if not message.keys() or (b"\0" in data[:2000] and not headers.text("from")):
            raise SourceError(
                f"'{source.file_path}' has no mail headers.", hint="Export it again as .eml.", reason="not_a_mail"
            )
        body = _Body(message)
        text = body.text
        blocks, excluded = _structure(text)
        subject = headers.text("subject")
        header = _email(headers, subject, tuple(body.attachments), data)
        new = "".join(text[block.start : block.end] + " " for block in blocks if block.kind != "quote")
        return Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind="email",
            file_type=".eml",
            title=subject or title_from_name(source.file_path),
            text=text,
            blocks=blocks,
            excluded=excluded,
            encoding=body.encoding,
            encoding_confidence=body.confidence,
            summary=cut_at_sentence(_SPACES.sub(" ", new[:2_000]).strip(), 300),
            last_modified=header.date or iso_of_ns(source.mtime_ns),
            size=source.size,
            mtime_ns=source.mtime_ns,
            title_in_text=bool(subject),
            email=header,
            notes=("broken MIME",) if body.broken else (),
        )


def _tidied(data: bytes) -> bytes:
    """Without blank lines in front, and with names of headers right before their colons (RFC 5322, 4.5.8)."""
    data = data.lstrip(b"\r\n")
    end = _END_OF_HEADERS.search(data)
    headers = data[: end.start()] if end else data
    tidy = _SPACED_NAME.sub(rb"\1:", headers)
    return tidy + data[len(headers) :]


# -- headers -----------------------------------------------------------------------------------------------------------


class _Headers:
    """Header values as a reader sees them; the first one of a name counts, as mail programs show it."""

    def __init__(self, message: Message) -> None:
        self._raw: dict[str, list[str]] = {}
        for name, value in message.raw_items():
            self._raw.setdefault(name.lower(), []).append(_repaired(str(value)))

    def raw(self, name: str) -> list[str]:
        return self._raw.get(name, [])

    def text(self, name: str) -> str:
        values = self.raw(name)
        return _readable(values[0]) if values else ""

    def addresses(self, name: str) -> tuple[str, ...]:
        found: list[str] = []
        unfolded = [_SPACES.sub(" ", value) for value in self.raw(name)]
        for words, address in getaddresses(unfolded):
            words, address = _readable(words), _readable(address)
            if address and words and words != address:
                found.append(f"{words} <{address}>")
            elif address or words:
                found.append(address or words)
        if not found and (whole := self.text(name)):
            found.append(whole)
        return tuple(found)

    def ids(self, name: str) -> tuple[str, ...]:
        whole = " ".join(self.raw(name))
        found = _MESSAGE_ID.findall(whole)
        if not found:
            found = [word for word in whole.split() if "@" in word]
        return tuple(dict.fromkeys(found))


def _repaired(value: str) -> str:
    """A header with raw 8-bit bytes in it, decoded by what they look like."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raw = value.encode("utf-8", "surrogateescape")
        try:
            return decode(raw, "header").text
        except SourceError:
            return raw.decode("latin-1")
    return value


def _readable(value: str) -> str:
    """Encoded words decoded, folding undone, control characters out."""
    pieces: list[str] = []
    try:
        decoded = decode_header(value) if "=?" in value else [(value, None)]
    except (ValueError, binascii.Error, email.errors.HeaderParseError):
        decoded = [(value, None)]
    for words, charset in decoded:
        if isinstance(words, str):
            pieces.append(words)
        else:
            pieces.append(_decoded(words, charset or "ascii")[0])
    line = "".join(char if char.isprintable() or char.isspace() else "" for char in "".join(pieces))
    return _SPACES.sub(" ", line).strip()


def _email(headers: _Headers, subject: str, attachments: tuple[Attachment, ...], data: bytes) -> Email:
    references, in_reply_to = headers.ids("references"), headers.ids("in-reply-to")
    message_id = next(iter(headers.ids("message-id")), "")
    sender = next(iter(headers.addresses("from") or headers.addresses("sender")), "")
    thread = next(iter((*references, *in_reply_to)), message_id)
    if not thread:
        basis = _REPLY.sub("", subject).casefold().encode("utf-8", "replace") or data
        thread = f"subject-{hashlib.sha256(basis).hexdigest()[:16]}"
    return Email(
        subject=subject,
        sender=sender,
        to=headers.addresses("to"),
        cc=headers.addresses("cc"),
        date=_date(headers.raw("date")),
        message_id=message_id,
        in_reply_to=in_reply_to,
        references=references,
        thread_id=thread,
        attachments=attachments,
    )


def _date(values: list[str]) -> str | None:
    for value in values:
        try:
            parsed = parsedate_tz(value)
            if parsed is not None:
                return iso_of_ns(int(mktime_tz(parsed)) * 1_000_000_000)
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
    return None


# -- body --------------------------------------------------------------------------------------------------------------


class _Body:
    """The readable part of a message, and what hangs on it."""

    def __init__(self, message: Message) -> None:
        self.attachments: list[Attachment] = []
        self.encoding, self.confidence = "utf-8", 1.0
        self.broken = bool(message.defects)
        plain: list[str] = []
        rich: list[str] = []
        for part, alternative in _leaves(message):
            self.broken = self.broken or bool(part.defects)
            kind = part.get_content_type()
            name = _filename(part)
            attached = _disposition(part) == "attachment" or bool(name)
            if not attached and kind in ("text/plain", "text/html"):
                words = self._text(part)
                if kind == "text/html":
                    rich.append(words)
                elif words.strip() or not alternative:
                    plain.append(words)
            else:
                self.attachments.append(Attachment(name or _default_name(kind), kind, len(_payload(part))))
        whole = "\n".join(plain)
        if not whole.strip():
            whole = "\n\n".join(html_to_text(markup) for markup in rich)
        self.text = whole.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip("\n")

    def _text(self, part: Message) -> str:
        text, self.encoding, self.confidence = _decoded(_payload(part), _charset(part))
        return text


def _leaves(message: Message) -> Iterator[tuple[Message, bool]]:
    """The parts that hold content, in order, and whether each is one of several alternatives.

    An attached mail is one part.
    """
    waiting: list[tuple[Message, bool]] = [(message, False)]
    for _ in range(_MAX_PARTS):
        if not waiting:
            return
        part, alternative = waiting.pop()
        payload = part.get_payload()
        if isinstance(payload, list) and part.get_content_maintype() == "multipart":
            choice = part.get_content_subtype() == "alternative"
            waiting += [(inner, choice) for inner in reversed(payload) if isinstance(inner, Message)]
        else:
            yield part, alternative


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


def _decoded(data: bytes, charset: str) -> tuple[str, str, float]:
    """By the declared character set; by what the bytes look like where that is missing or wrong."""
    if charset and charset not in ("ascii", "us-ascii", "unknown-8bit"):
        try:
            return data.decode(charset), charset, 1.0
        except (UnicodeDecodeError, LookupError, ValueError):
            pass  # a wrong declaration is common: look at the bytes instead
    try:
        found = decode(data, "part")
    except SourceError:
        return data.decode("utf-8", "replace"), "utf-8", 0.0
    return found.text, found.encoding, found.confidence


def _filename(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except (ValueError, LookupError, TypeError, AttributeError):
        name = ""
    return _readable(_repaired(str(name)))


def _disposition(part: Message) -> str:
    try:
        return part.get_content_disposition() or ""
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def _default_name(kind: str) -> str:
    return "message.eml" if kind == "message/rfc822" else f"unnamed.{kind.rsplit('/', 1)[-1]}"


# -- structure ---------------------------------------------------------------------------------------------------------


def _structure(text: str) -> tuple[tuple[Block, ...], tuple[Excluded, ...]]:
    """Paragraphs and quotes, and what of them is excluded. A mail that is nothing but quotes keeps them."""
    blocks: list[Block] = []
    excluded: list[Excluded] = []
    signature = _signature(text)
    offset, start, quoted, end = 0, -1, False, 0
    for line in text.split("\n"):
        is_quote = _QUOTED_LINE.match(line) is not None
        if start >= 0 and (not line.strip() or is_quote != quoted):
            blocks.append(Block("quote" if quoted else "paragraph", start, end))
            start = -1
        if line.strip():
            if start < 0:
                start, quoted = offset, is_quote
            end = offset + len(line)
        offset += len(line) + 1
    if start >= 0:
        blocks.append(Block("quote" if quoted else "paragraph", start, end))
    for place, block in enumerate(blocks):
        begin = block.start
        if block.kind != "quote" or begin >= signature:
            continue
        before = blocks[place - 1] if place else None
        if (
            before is not None
            and before.kind == "paragraph"
            and _ATTRIBUTION.match(text, _last_line(text, before), before.end)
        ):
            begin = _last_line(text, before)
        excluded.append(Excluded(begin, block.end, "quote"))
    if signature < len(text):
        excluded.append(Excluded(signature, len(text), "signature"))
    visible = len(text.strip()) - sum(len(text[span.start : span.end].strip()) for span in excluded)
    return tuple(blocks), tuple(excluded) if visible > 0 and _has_words(text, excluded) else ()


def _last_line(text: str, block: Block) -> int:
    return max(block.start, text.rfind("\n", block.start, block.end) + 1)


def _signature(text: str) -> int:
    """Where the signature begins: at the last `-- ` line with few lines behind it; else the text's length."""
    place = len(text)
    for match in _SIGNATURE.finditer(text):
        place = match.start()
    return place if text.count("\n", place) <= _SIGNATURE_LINES else len(text)


def _has_words(text: str, excluded: list[Excluded]) -> bool:
    reached = 0
    for span in excluded:
        if any(char.isalnum() for char in text[reached : span.start]):
            return True
        reached = span.end
    return any(char.isalnum() for char in text[reached:])
