"""Mails: `.eml`, by the standard library, and what else is one mail in a file: Outlook's `.msg`, Apple's `.emlx`.

The text is the body: the plain part where there is one, else the HTML part as text, then what the attachments say,
each under a heading. Quoted lines and the signature stay in the text and are excluded from the index. Headers go to
`Document.email`; the subject is the title.
"""

from __future__ import annotations

import email
import hashlib
import os
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from ...errors import SourceError
from ...models import ATTACHMENT_HEADING, FOLDED, Block, Document, Excluded, Heading, SourceFile
from ..document_builder import new_document
from ..metadata import cut_at_sentence, iso_of_ns, title_from_name
from .headers import Headers, RawHeaders, email_of, writer_of
from .outlook import SIGNATURE, mail_of
from .parts import Body, MailPart, Part
from .quotes import CLOSING, excluded_of, own_words

_SPACES = re.compile(r"\s+")
#: Apple's: the mail's bytes on a line of their own; a list of properties follows the mail.
_COUNTED = re.compile(rb"[ \t]*\d{1,12}[ \t]*\r?\n(?=[!-9;-~]{1,70}[ \t]*:|>?From )")
_END_OF_HEADERS = re.compile(rb"\r?\n\r?\n|\Z")
_SPACED_NAME = re.compile(rb"^([!-9;-~]{2,60})[ \t]+:", re.M)  #: RFC 5322, 4.5.8
_FROM_LINE = re.compile(rb"^>?From [^\n]*\n")
_ATTACHMENT_CHARACTERS = 1_000_000  #: of text that a mail's attachments may add
_DEPTH = 3  #: how deep mails inside mails are read
_MAIL_HEADERS = ("from", "mime-version", "content-type")  #: no chance has bytes of something else begin with those
_LIST_ITEM = re.compile(r"(?:[-*•]|\d{1,3}[.)])\s+\S")


class EmailParser:
    """RFC 5322 and MIME as mail programs really write them. Raises `SourceError(reason="not_a_mail")`."""

    extensions: tuple[str, ...] = (".eml", ".emlx", ".msg")

    def __init__(self, *, depth: int = 0) -> None:
        self._depth = depth

    def parse(self, source: SourceFile, data: bytes) -> Document:
        """One mail."""
        message = email.message_from_bytes(_as_sent(data, source.file_path), MailPart, policy=RawHeaders())
        headers = Headers(message)
        if not message.keys() or (b"\0" in data[:2000] and not any(map(headers.raw, _MAIL_HEADERS))):
            raise SourceError(
                f"'{source.file_path}' has no mail headers.", hint="Export it again as .eml.", reason="not_a_mail"
            )
        body = Body(message)
        excluded = excluded_of(body.text)
        new = own_words(body.text, excluded)
        summed = own_words(body.text, excluded, (*FOLDED, CLOSING)) or new
        header = email_of(headers, writer_of(headers), tuple(part.attachment for part in body.parts), new)
        whole = _Whole(body.text, list(_blocks(body.text)), list(excluded))
        notes = ["broken MIME"] if body.broken else []
        for part in body.parts:
            notes += self._attach(whole, source, part)
        if header.subject and not whole.text.strip():  # all subject, or a picture
            whole = _Whole(header.subject, list(_blocks(header.subject)), [])
        return new_document(
            source,
            header.subject or title_from_name(source.file_path),
            whole.text,
            kind="email",
            file_type=next((one for one in self.extensions if source.file_path.lower().endswith(one)), ".eml"),
            headings=tuple(whole.headings),
            blocks=tuple(whole.blocks),
            excluded=tuple(whole.excluded),
            encoding=body.encoding,
            encoding_confidence=body.confidence,
            summary=cut_at_sentence(_SPACES.sub(" ", summed[:2_000]).strip(), 300),
            doc_type="email",
            last_modified=header.date or iso_of_ns(source.mtime_ns),
            title_in_text=bool(header.subject),
            email=header,
            notes=tuple(notes),
        )

    def _attach(self, whole: _Whole, source: SourceFile, part: Part) -> list[str]:
        """Append what an attachment says; returns notes about what couldn't be read."""
        from ..reader import PARSERS  # which holds this parser

        name = part.attachment.filename
        extension = next((one for one in part.extensions if one in PARSERS), "")
        parser = PARSERS.get(extension)
        if parser is None or len(whole.text) > _ATTACHMENT_CHARACTERS:
            return []
        if extension in self.extensions:
            if self._depth >= _DEPTH:
                return []
            parser = EmailParser(depth=self._depth + 1)
        try:
            inner = parser.parse(
                replace(source, file_path=f"{source.file_path}/{name}", size=len(part.data)), part.data
            )
        except Exception as error:  # an attachment that can't be read must not cost the mail
            why = error.reason if isinstance(error, SourceError) else type(error).__name__
            return [f"attachment {name} wasn't read: {why}"]
        if inner.text.strip():
            whole.append(f"{ATTACHMENT_HEADING}{name}", inner)
        return []


@dataclass(slots=True)
class _Whole:
    """A mail's text growing by what its attachments say."""

    text: str
    blocks: list[Block]
    excluded: list[Excluded]
    headings: list[Heading] = field(default_factory=list)

    def append(self, title: str, inner: Document) -> None:
        """Add a heading and the document under it, headings one level down."""
        self.text += "\n\n" if self.text else ""
        start = len(self.text)
        self.headings.append(Heading(1, title, self.text.count("\n") + 1, start))
        self.blocks.append(Block("heading", start, start + len(title)))
        self.text += f"{title}\n\n"
        if mail := inner.email:
            about = (("From", mail.sender), ("Date", mail.date), ("Subject", mail.subject))
            self.text += "\n".join(f"{name}: {value}" for name, value in about if value) + "\n\n"
        offset, lines = len(self.text), self.text.count("\n")
        text = inner.text[:_ATTACHMENT_CHARACTERS]
        self.text += text
        self.headings += [
            Heading(min(6, one.level + 1), one.text, one.line + lines, one.start + offset)
            for one in inner.headings
            if one.start < len(text)
        ]
        self.excluded += [
            replace(one, start=one.start + offset, end=one.end + offset)
            for one in inner.excluded
            if one.end <= len(text)
        ]
        for block in inner.blocks:
            if block.end <= len(text):
                header_end = None if block.header_end is None else block.header_end + offset
                self.blocks.append(Block(block.kind, block.start + offset, block.end + offset, header_end))


def _as_sent(data: bytes, name: str) -> bytes:
    """The mail that a program has put into a file of its own making, without what editors and archives put in front."""
    if data.startswith(SIGNATURE):
        return mail_of(data, name)
    if counted := _COUNTED.match(data):
        end = data.rfind(b"<?xml ") if data.rstrip().endswith(b"</plist>") else len(data)
        data = data[counted.end() : end]
    data = _FROM_LINE.sub(b"", data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n"), count=1)
    end = _END_OF_HEADERS.search(data).start()  # type: ignore[union-attr]
    return _SPACED_NAME.sub(rb"\1:", data[:end]) + data[end:]


def _blocks(text: str) -> Iterator[Block]:
    """Runs of lines of one kind: paragraphs, lists, tables, and quotes by their depth."""
    offset = 0
    for (kind, _), group in groupby(text.split("\n"), _kind_of):
        lines = list(group)
        end = offset + sum(len(line) + 1 for line in lines)
        if kind == "table" and len(lines) > 1:
            yield Block("table", offset, end - 1, offset + len(lines[0]) + 1)
        elif kind:
            yield Block("paragraph" if kind == "table" else kind, offset, end - 1)
        offset = end


def _kind_of(line: str) -> tuple[Literal["", "quote", "table", "list", "paragraph"], int]:
    """(kind of the line, empty for a blank one; how deep it is quoted)."""
    bare = line.strip()
    if not bare:
        return "", 0
    if bare.startswith(">"):
        return "quote", bare.count(">", 0, len(bare) - len(bare.lstrip("> \t\xa0")))
    if bare.startswith("|") and bare.endswith("|") and len(bare) > 1:
        return "table", 0
    return ("list", 0) if _LIST_ITEM.match(bare) else ("paragraph", 0)


#: A line between two mails: a sender and the date as ctime() writes it, or Netscape's `-`, above a header; after a
#: blank line a sender alone or a date of any form too, above headers with one that hardly any mail lacks.
_SEPARATOR = re.compile(
    rb"^From (?:-[ \t]*|[^\n]*?\b(?i:mon|tue|wed|thu|fri|sat|sun),? +(?i:[a-z]{3}) +\d{1,2} +\d{1,2}:\d\d[^\n]*)\r?\n"
    rb"(?=(?:>From [^\n]*\n)?[!-9;-~]{1,70}[ \t]*:)"
    rb"|(?:(?<=\n\n)|(?<=\n\r\n)|\A\s*)^From (?![ \t]*:)(?:\S*[^\s:,;.]|[^\n]*(?:\d:\d\d|\d{4})[^\n]*)[ \t]*\r?\n"
    rb"(?=(?:(?>[!-9;-~]{1,70}[ \t]*:|[ \t]|>From )[^\n]*\n)*?"
    rb"(?i:from|date|received|return-path|message-id|subject|to)[ \t]*:)",
    re.M,
)
_TIME = re.compile(rb"\d\d?:\d\d")
_NAME = re.compile(rb"^([!-9;-~]{1,70}):", re.M)
_ESCAPED = re.compile(rb"^>(>*From )", re.M)
_MESSAGE_ID = re.compile(rb"^message-id:\s*<?\s*([^<>\s]+)", re.M | re.I)
_HEADERS = 20_000  #: bytes of a message in which its headers are looked for
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
    line = _SEPARATOR.match(data)
    if line is None or not _TIME.search(line[0]):
        return False
    headers = re.split(rb"\r?\n\r?\n", data[line.end() : line.end() + _HEADERS], maxsplit=1)[0]
    return {b"from", b"date", b"subject"} <= set(map(bytes.lower, _NAME.findall(headers)))


def messages(data: bytes) -> Iterator[bytes]:
    """The messages without their `From ` lines, escaped ones in them as they were."""
    begin = 0
    for line in (*_SEPARATOR.finditer(data), None):
        message = data[begin : line.start() if line else len(data)].rstrip(b"\r\n") + b"\n"
        if message.strip():
            yield _ESCAPED.sub(rb"\1", message)
        begin = line.end() if line else 0


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
