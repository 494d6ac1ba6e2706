"""Headers of a mail: decoded and unfolded, with what threads and duplicates are recognized by."""

from __future__ import annotations

import base64
import binascii
import codecs
import email.errors
import email.policy
import hashlib
import re
from contextlib import suppress
from datetime import UTC, datetime
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, mktime_tz, parsedate_tz

from ...errors import SourceError
from ...models import Attachment, Email
from ..encoding import SUPERSETS, decode
from ..metadata import iso_of_ns
from . import phrases

#: "+01:00", "GMT+0100", "UTC+2": the standard library knows `+0100` alone, and takes others for UTC.
_OFFSET = re.compile(r"\s(?:GMT|UTC)?\s?([+-])(\d\d?)(?::?(\d\d))?(?![\d:])", re.I)


def moment_of(value: str) -> str | None:
    """The date of a header in ISO 8601 and UTC; None if it is no date."""
    parsed = parsedate_tz(_OFFSET.sub(lambda zone: f" {zone[1]}{zone[2]:>02}{zone[3] or '00'}", value))
    try:
        if parsed:
            return iso_of_ns(int(mktime_tz(parsed)) * 1_000_000_000)
        found = datetime.fromisoformat(value.strip())
        return iso_of_ns(int(found.replace(tzinfo=found.tzinfo or UTC).timestamp()) * 1_000_000_000)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


_MESSAGE_ID = re.compile(r"<\s*([^<>\s]+)\s*>")
#: As Mailman's archives write addresses.
_VEILED = re.compile(r"^([^\s<>@()]+) (?:at|en|chez) ([\w-]+(?:\.[\w-]+)+)(?= \(|$)")
_SPACES = re.compile(r"\s+")
_FOLD = re.compile(r"\r?\n(?=[ \t])")
_ADDRESS = re.compile(r"(?<![^\s<>])[^\s<>]+@[^\s<>]+")
_LONGEST = 10_000  #: characters of a header that are read; the rest of a longer one is ignored
_LONGEST_LIST = 100_000  #: the same for headers that may name hundreds of people or messages
_LISTS = frozenset({"to", "cc", "references"})
_PARAMETRIZED = frozenset({"content-type", "content-disposition"})
_MOST_PARAMETERS = 100  #: of one header; the standard library's time grows with their number squared
_MOST_ALIKE = 100  #: headers of one name that are read
_LONGEST_DATE = 500
#: Addresses where no grammar helps: between brackets, and words that read as one.
_ANGLED = re.compile(r'<\s*([^<>\s@"]+@[^<>\s]+)\s*>')
_BARE = re.compile(r'(?<![^\s<>,;:()"\[\]])[^\s<>,;:()"\[\]@]+@[^\s<>,;:()"\[\]]+')
_SPACED_DOT = re.compile(r" ?([.@]) ?")
#: What may hold another address than the recipient's: a name in quotes, a comment, an encoded word.
_NAMES = re.compile(r'\\.|"(?:[^"\\]|\\.)*"(?=\s*<)|\([^()]*\)|=\?[^?\s]*\?[bq]\?[^?\s]*\?=', re.I)
#: Outlook's; nothing looser, for a single letter begins other subjects too.
_ITALIAN_ANSWER, _ITALIAN = r"(?-i:R): (?=\S)", r"(?-i:[RI]): (?=\S)"
_COUNT = r"\.?\s*(?:[\[(]\d+[\])]|[\^*]\d+)?\s*[:：]"
_ANSWER = phrases.any_pattern("answers")
_REPLY_MARK = re.compile(rf"\A(?:(?:{_ANSWER}|{phrases.any_pattern('forwards')}){_COUNT}|{_ITALIAN})", re.I)
_ANSWER_MARK = re.compile(rf"{_ANSWER}{_COUNT}|{_ITALIAN_ANSWER}", re.I)
_TAG = re.compile(r"\[[^\[\]]{1,60}\]")
_BETWEEN_WORDS = re.compile(r"\W+")
#: Encodings that hold all of another, and are meant where that one is named (WHATWG's Encoding Standard).
_SUPERSETS = SUPERSETS | {"ascii": "cp1252", "iso8859-11": "cp874", "gbk": "gb18030", "big5": "cp950"}
#: Names that programs use and Python doesn't know.
_LABELS = {"iso-8859-8-i": "iso8859-8", "utf8mb4": "utf-8", "windows-874": "cp874", "x-gbk": "gbk", "x-sjis": "cp932"}
_UNDECLARED = ("", "ascii", "us-ascii")
_CONTROLS = re.compile("[\x80-\x9f]")
_THREAD_INDEX_ROOT = 22  #: bytes of Thread-Index that all mails of a conversation share (MS-OXOMSG 2.2.1.3)


class RawHeaders(email.policy.Compat32):
    """The standard library's policy for mails as they are; raw 8-bit bytes are decoded by what they look like."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        """A header's value, of parts too, on one line: a parameter such as a boundary may be folded.

        Cut to what mails really hold, before any expression or the standard library goes through it.
        Without zero bytes, over which the standard library stumbles in the name of a character set, and without
        spaces and quotes around an encoding, which it doesn't know then.
        """
        name = name.lower()
        value = value[: _LONGEST_LIST if name in _LISTS else _LONGEST]
        if name in _PARAMETRIZED:
            value = ";".join(value.split(";", _MOST_PARAMETERS)[:_MOST_PARAMETERS])
        value = _FOLD.sub("", value)
        if not value.isascii():
            value = decoded_by(value.encode("utf-8", "surrogateescape"), "")[0]
        value = value.replace("\0", " ")
        return value.strip(" \t\"';") if name == "content-transfer-encoding" else value


class Headers:
    """Header values as a reader sees them; the first one of a name counts, as mail programs show it."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def raw(self, name: str) -> list[str]:
        """The values of a header, as they stand."""
        return self._message.get_all(name, [])[:_MOST_ALIKE]

    def text(self, name: str) -> str:
        """The first value, decoded to one line; empty where there is none."""
        values = self.raw(name)
        return readable(values[0]) if values else ""

    def people(self, name: str) -> list[tuple[str, str]]:
        """(name, address) of each, in order; of a bare address, and of a bare name, the other is empty."""
        unfolded = [_VEILED.sub(r"\1@\2", _SPACES.sub(" ", value).strip()) for value in self.raw(name)]
        people = [(readable(words), readable(address)) for value in unfolded for words, address in _addressed(value)]
        found = [("" if words == address else words, address) for words, address in people if words or address]
        return found or [(text, "") for text in [self.text(name)] if text]

    def addresses(self, name: str) -> tuple[str, ...]:
        """`Name <address>`, or the bare address, in order."""
        return tuple(_person(*one) for one in self.people(name))

    def ids(self, name: str) -> tuple[str, ...]:
        """Message-IDs without their brackets, in order, each once."""
        whole = " ".join(self.raw(name))[:_LONGEST_LIST]
        found = _MESSAGE_ID.findall(whole)
        if not found and all("@" in word for word in whole.split()):  # else "ann@x.org's message of Friday"
            found = [word.strip("<>,;") for word in whole.split()]
        return tuple(dict.fromkeys(found))


def _addressed(value: str) -> list[tuple[str, str]]:
    """(name, address) of each recipient; where quotes or brackets are broken, whatever looks like an address."""
    try:
        read = getaddresses([value])
    except RecursionError:  # a thousand brackets
        read = []
    plain = _SPACED_DOT.sub(r"\1", _NAMES.sub(" ", value))
    if {"".join(address.split()) for _, address in read}.issuperset(_ANGLED.findall(plain) or _BARE.findall(plain)):
        return read
    found, end = [], 0
    for match in _ANGLED.finditer(value):
        before = value[end : match.start()]
        found += [("", address) for address in _BARE.findall(before)]
        found.append((_BARE.sub("", before).strip(" ,;\"'"), match[1]))
        end = match.end()
    rest = _BARE.findall(value[end:])
    name = _BARE.sub("", value).strip(" ,;\"'") if len(rest) == 1 and not found else ""
    return found + [(name, address) for address in rest]


def readable(value: str) -> str:
    """Encoded words decoded, folding undone, control characters out."""
    value = value[:_LONGEST]
    pieces: list[str] = []
    try:
        decoded = decode_header(value) if "=?" in value else [(value, None)]
    except (ValueError, binascii.Error, email.errors.HeaderParseError):
        decoded = [(value, None)]
    for words, charset in decoded:
        if isinstance(words, str):
            pieces.append(words)
        else:
            pieces.append(decoded_by(words, charset or "ascii")[0])
    line = "".join(char if char.isprintable() or char.isspace() else "" for char in "".join(pieces))
    return _SPACES.sub(" ", line).strip()


def decoded_by(data: bytes, charset: str) -> tuple[str, str, float]:
    """(text, encoding, confidence): by the declared character set, or by the bytes where it is missing or wrong."""
    charset = _LABELS.get(charset.lower(), charset)
    try:
        "a".encode(charset)  # base64 is no encoding of text
        codec = "" if charset in _UNDECLARED else codecs.lookup(charset).name
    except (LookupError, ValueError):
        codec = ""
    if codec and (found := _declared(data, charset, codec)):
        return found
    try:
        guess = decode(data, "part")
    except SourceError:
        return data.decode("utf-8", "replace"), "utf-8", 0.0
    return guess.text, guess.encoding, guess.confidence


def _declared(data: bytes, charset: str, codec: str) -> tuple[str, str, float] | None:
    """The text by the declared encoding, or by one that holds more; None if it is plainly another one's."""
    text: str | None = None
    with suppress(UnicodeDecodeError, ValueError):
        text = data.decode(charset)
        if data.isascii():
            return text, charset, 1.0
    with suppress(UnicodeDecodeError):  # UTF-8 that is declared as another encoding
        read = data.decode("utf-8")
        letters = [char for char in read if char > "\x7f"]
        if text is not None and len(text) == len(data):  # one byte a letter; a single one is believed of Western Europe
            is_utf8 = len(letters) > 1 or "\xc0" <= letters[0] <= "\xff"
        else:
            is_utf8 = letters != [] and (text is None or (len(letters) > 1 and max(letters) > "\u07ff"))
        if is_utf8:
            return read, "utf-8", 1.0
    wider = _SUPERSETS.get(codec, codec)
    if text is not None and (wider == codec or not _CONTROLS.search(text)):
        return text, charset, 1.0
    wide = data.decode(wider, "replace")
    if wide.count("\ufffd") * 10 <= sum(char > "\x7f" for char in wide):
        return wide, wider, 0.9
    return None if text is None else (text, charset, 1.0)


def topic_of(subject: str) -> str:
    """The subject without Re:, AW:, Fwd: and [tags], in one case.

    >>> topic_of("RE: [dev-list] Aw: Fwd: Release plan")
    'release plan'
    """
    rest, before = _SPACES.sub(" ", subject).strip(), ""
    while rest != before:
        before, rest = rest, _untagged(_REPLY_MARK.sub("", rest, count=1).strip())
    return rest.casefold()


def answers(subject: str) -> bool:
    """Whether the subject says that the mail is a reply (a forward begins something new)."""
    return bool(_ANSWER_MARK.match(_untagged(subject.strip())))


def _untagged(subject: str) -> str:
    """Without the tags of lists in front, unless there is nothing else."""
    while (tag := _TAG.match(subject)) and tag.end() < len(subject):
        subject = subject[tag.end() :].strip()
    return subject


def email_of(headers: Headers, sender: str, attachments: tuple[Attachment, ...], own: str) -> Email:
    """What the headers say. The thread is what this mail alone tells: the library's threads are made of all.

    `sender` is who wrote it; `own` are the mail's own words: copies are recognised by them, since lists add footers and
    programs wrap quotes anew.
    """
    subject = headers.text("subject")
    to, cc = headers.addresses("to"), headers.addresses("cc")
    people = {match for one in (sender, *headers.addresses("from"), *to, *cc) for match in _ADDRESS.findall(one)}
    # Old programs write "In-Reply-To: your mail of … <ann@example.org>": an address, not a message.
    in_reply_to = tuple(one for one in headers.ids("in-reply-to") if one not in people)
    references = headers.ids("references")
    message_id = next(iter(headers.ids("message-id")), "")
    if not references and not in_reply_to and (conversation := _conversation(headers.text("thread-index"))):
        in_reply_to = (conversation,)
    # Where the Date header is missing or nonsense, when the mail was last received.
    received = [value.rsplit(";", 1)[-1] for value in headers.raw("received")[:1]]
    dates = (*headers.raw("date"), *headers.raw("resent-date"), *received)
    date = next(filter(None, (moment_of(value[:_LONGEST_DATE]) for value in dates)), None)
    thread = next(iter((*references, *in_reply_to)), message_id)
    if not thread:
        identity_text = topic_of(subject) or f"{sender} {date} {own}"
        thread = f"subject-{hashlib.sha256(identity_text.encode('utf-8', 'replace')).hexdigest()[:16]}"
    identity = message_id or f"{sender}\0{date}\0{subject}"
    content = _BETWEEN_WORDS.sub("", own).casefold()
    return Email(
        subject=subject,
        sender=sender,
        to=to,
        cc=cc,
        date=date,
        message_id=message_id,
        in_reply_to=in_reply_to,
        references=references,
        thread_id=thread,
        attachments=attachments,
        topic=topic_of(subject),
        is_answer=answers(subject),
        fingerprint=hashlib.sha256(f"{identity}\0{content}".encode("utf-8", "replace")).hexdigest()[:32],
    )


def _conversation(thread_index: str) -> str:
    """An id that Outlook's mails of one conversation share; empty where there is none."""
    try:
        data = base64.b64decode(thread_index, validate=False)
    except (binascii.Error, ValueError):
        return ""
    return f"{data[:_THREAD_INDEX_ROOT].hex()}@thread-index" if len(data) >= _THREAD_INDEX_ROOT else ""


#: "'Ann Lee' via Dev": Google Groups, Mailman's from_is_list, groups.io, B4.
_VIA = re.compile(r"['\"]?(?P<name>.*?\S)['\"]?\s+via\s+\S", re.I)
#: The writer's address inside the list's: of lists of the IETF, and of groups.io.
_INSIDE = re.compile(r"([^\s=@]+)=(?:40([\w.-]+)@dmarc\.ietf\.org|([\w.-]+\.\w+)@groups\.io)", re.I)


def writer_of(headers: Headers) -> str:
    """`Name <address>` of the writer: From, or the person behind a list that stands there in their place."""
    name, address = next(iter(headers.people("from") or headers.people("sender")), ("", ""))
    shown, via = _person(name, address), _VIA.match(name)
    if inside := _INSIDE.fullmatch(address):
        return _person(via["name"] if via else name, f"{inside[1]}@{inside[2] or inside[3]}")
    if via is None:
        return shown
    people = headers.people("x-original-from") + headers.people("x-original-sender")
    listed = [one for _, one in headers.people("to") + headers.people("cc")]
    is_list = headers.raw("list-id") or headers.raw("list-post") or address in listed
    if not people and is_list:  # where a mail has no name, lists take what stands before the `@`
        others = headers.people("reply-to") + headers.people("cc")
        people = [one for one in others if (one[0] or one[1].partition("@")[0]).casefold() == via["name"].casefold()]
    if not people or people[0][1].casefold() == address.casefold():
        return shown
    return _person(people[0][0] or via["name"], people[0][1])


def _person(name: str, address: str) -> str:
    return f"{name} <{address}>" if name and address else name or address
