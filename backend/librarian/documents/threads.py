"""A mail conversation, whole or in parts: what each mail says itself, with what it quotes folded away."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .. import schemas
from ..errors import CallerError
from ..models import FOLDED, Document, Email, StoredDocument
from ..storage.base import CatalogReader

HEAD = 60  #: characters that stand around a mail's headers, about
_NAMED = re.compile(r"(?P<name>.*\S)\s*<(?P<address>[^<>]+)>")  #: as read: a comma or colon in a name parts nothing


def resolve_thread(reader: CatalogReader, name: str) -> str:
    """The thread that a name means: its id, or the Message-ID of a mail in it, or of one that its mails name."""
    message_id = name.strip("<> ")
    named = reader.mails(mentioning=[message_id])
    own = [mail for mail in named if mail.email.message_id == message_id]
    return (own or named)[0].email.thread_id if named else name


def conversation(
    thread_id: str, mails: Sequence[StoredDocument], *, offset: int = 0, max_chars: int = 0
) -> schemas.ThreadResponse:
    """The mails from an offset on, oldest first, as many as have up to `max_chars` characters with their headers, at
    least one (0 = all).

    What they quote has up to half as many characters more. A mail that is longer by itself, and quotes that are, are
    cut and say so. Raises `CallerError` for an offset behind the last mail.
    """
    unique = _once(mails)
    if offset >= len(unique):
        hint = f"Use 0 to {len(unique) - 1}: next_offset of the part before."
        raise CallerError(f"offset is {offset}; the conversation has {len(unique)} mails.", hint=hint)
    emails: list[schemas.ThreadEmail] = []
    left = max_chars
    for stored in unique[offset:]:
        mail = _mail(stored.document)
        left -= _length(mail)
        if max_chars and left < 0 and emails:
            break
        emails.append(mail)
    if max_chars:
        emails[0] = emails[0].model_copy(update={"body": _cut(emails[0].body, max_chars, emails[0].file_path)})
        most = max_chars // 2 // max(1, sum(len(mail.quoted) for mail in emails))
        emails = [
            mail.model_copy(update={"quoted": [_cut(text, most, mail.file_path) for text in mail.quoted]})
            for mail in emails
        ]
    end = offset + len(emails)
    return schemas.ThreadResponse(
        thread_id=thread_id,
        subject=_headers(unique[0].document).subject,
        participants=_people(unique),
        emails=emails,
        total=len(unique),
        next_offset=end if end < len(unique) else None,
    )


def _mail(document: Document) -> schemas.ThreadEmail:
    email = _headers(document)
    named = {name: getattr(email, name) for name in ("subject", "sender", "to", "cc", "date", "message_id")}
    body, quoted = _folded(document)
    own = {"body": body, "quoted": quoted, "attachments": email.attachments, "file_path": document.file_path}
    return schemas.ThreadEmail.model_validate(named | own)


def _headers(document: Document) -> Email:
    return document.email or Email(subject=document.title, sender="")


def _length(mail: schemas.ThreadEmail) -> int:
    """Characters of a mail as text, about; what it quotes aside."""
    named = (*mail.to, *mail.cc, *(item.filename for item in mail.attachments))
    alone = (mail.sender, mail.subject, mail.message_id, mail.file_path, mail.body)
    return HEAD + sum(map(len, alone)) + sum(len(name) + 2 for name in named)


def _cut(text: str, most: int, file_path: str) -> str:
    """A text of at most so many characters, which says what follows."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[… {len(text) - most:,} more characters: get_document reads {file_path}]"


def _people(mails: Sequence[StoredDocument]) -> list[str]:
    """Who wrote and was written to; by address, first come first, with the first name that is given."""
    headers = [_headers(stored.document) for stored in mails]
    people: dict[str, str] = {}
    for person in dict.fromkeys(one for email in headers for one in (email.sender, *email.to, *email.cc) if one):
        named = _NAMED.fullmatch(person)
        key = (named["address"] if named else person).lower()
        if key not in people or (named and not _NAMED.fullmatch(people[key])):
            people[key] = person
    return list(people.values())


def _once(mails: Sequence[StoredDocument]) -> list[StoredDocument]:
    """Of copies of one mail, the one that is indexed."""
    chosen: dict[str, StoredDocument] = {}
    for stored in mails:
        email = stored.document.email
        name = (email.fingerprint if email else "") or stored.document.file_path
        if name not in chosen or (stored.chunk_count and not chosen[name].chunk_count):
            chosen[name] = stored
    return list(chosen.values())


def _folded(document: Document) -> tuple[str, list[str]]:
    """(the mail's own words, what is folded away); what attachments say is in neither."""
    end = document.headings[0].start if document.headings else len(document.text)
    body: list[str] = []
    folded: list[str] = []
    position = 0
    for span in document.excluded:
        if span.reason in FOLDED and span.end <= end:
            between = document.text[position : span.start]
            body.append(between)
            if folded and not between.strip() and position:
                folded[-1] += between + document.text[span.start : span.end].rstrip("\n")
            else:
                folded.append(document.text[span.start : span.end].strip("\n"))
            position = span.end
    body.append(document.text[position:end])
    return "".join(body).strip(), [text for text in folded if text]
