"""Reading a document, whole or by section or by lines."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote

from .. import schemas
from ..errors import CallerError, NotFound, nearest, shortened, some_of
from ..files.paths import name_of
from ..models import FOLDED, Document, Email, Further, Heading, Hit, StoredChunk, StoredDocument
from ..schemas import WHOLE_DOCUMENT_TOKENS
from ..storage.base import CatalogReader
from ..text.sanitizing import visible
from . import addresses

OUTLINE = 100  #: headings that every part of a document comes with; of more, a part has those that concern it
SECTIONS = 60  #: of a long document's outline
BEGINNING = 2000  #: characters that a long document begins with
HEAD_TOKENS = 40  #: of what stands above a document's text
_OF_DOCUMENT = (
    *("file_path", "title", "product", "component", "doc_type", "tags", "language", "encoding", "last_modified"),
    "email",
)
LINKED, SIMILAR = 20, 5  #: documents that are listed as linked, and as similar
AHEAD = 40  #: of these, sections that follow behind the part


def document_at(reader: CatalogReader, file_path: str) -> StoredDocument:
    """The document of a path, a link's spelling of it or a unique file name. Raises `NotFound` with the nearest."""
    spelled = file_path.replace("\\", "/")  # on Windows; elsewhere a name may hold one
    decoded = name_of(unquote(spelled)).replace("\x00", "\ufffd")  # as links of pages write blanks
    for spelling in dict.fromkeys((file_path, spelled, decoded)):
        if (stored := reader.document_by_path(spelling)) is not None:
            return stored
    known = [path for path, _ in reader.names("", sys.maxsize)]
    path = (
        _shown_as(spelled, known) or addresses.resolved_path(spelled, known) or addresses.resolved_path(decoded, known)
    )
    if path and (stored := reader.document_by_path(path)) is not None:
        return stored
    for failure in reader.failures():
        if failure.file_path == file_path:
            why = f": {failure.detail.rstrip('.')}" if failure.detail else ""
            message = f"{file_path!r} is there and isn't indexed, {failure.kind} as {failure.reason}{why}."
            raise NotFound(message, hint="get_index_status lists what else is left out.")
    name = spelled.rsplit("/", 1)[-1].lower()
    by_name = [path for path in known if path.rsplit("/", 1)[-1].lower() == name]
    if name == spelled.lower() and len(by_name) == 1 and (stored := reader.document_by_path(by_name[0])) is not None:
        return stored
    near = by_name[:3] or nearest(decoded, known)
    hint = f"Nearest: {', '.join(repr(visible(path)) for path in near)}. " if near else ""
    raise NotFound(f"No document {file_path!r}.", hint=f"{hint}Use list_components to see what is indexed.")


def _shown_as(asked: str, known: Sequence[str]) -> str | None:
    """The one path that answers show as `asked`, without what is hidden in it."""
    found = [path for path in known if not path.isprintable() and visible(path) == asked]
    return found[0] if len(found) == 1 else None


def resolve_document(reader: CatalogReader, path: object) -> tuple[addresses.Place, StoredDocument]:
    """The place that a path, an id or a uri names, or a link: into a page (`page.md#anchor`, `page.md:10-20`) or from
    a site's root.

    Raises `CallerError` for what may name no document, and `NotFound` where there is none.
    """
    place = None
    try:
        place = addresses.parse(path)
        return place, document_at(reader, place.file_path)
    except CallerError:
        if link := addresses.linked(path, [known for known, _ in reader.names("", sys.maxsize)]):
            return link, document_at(reader, link.file_path)
        if place is not None and (lines := addresses.cited(place)):
            return lines, document_at(reader, lines.file_path)
        if place is None or place.ordinal is not None or "#" not in place.file_path:
            raise
        *longer, shortest = _parted(place)  # a name may hold a # too
        for one in longer:
            with suppress(NotFound):
                return one, document_at(reader, one.file_path)
        return shortest, document_at(reader, shortest.file_path)


def _parted(place: addresses.Place) -> list[addresses.Place]:
    """A page and an anchor in it for each `#` that may part them, the longest name first."""
    fragments = [at for at, char in enumerate(place.file_path) if char == "#"]
    return [
        place._replace(file_path=place.file_path[:at], anchor=unquote(place.file_path[at + 1 :]))
        for at in reversed(fragments)
    ]


def passage(chunks: Sequence[StoredChunk], place: addresses.Place) -> StoredChunk:
    """The passage that an id names, wherever it stands now. Raises `NotFound` where its text is no longer there."""
    same = [item for item in chunks if item.chunk.hash.startswith(place.digest)]
    if not same:
        raise NotFound(
            f"This passage of {place.file_path!r} isn't there any more: the document has changed.",
            hint="Search again, or pass the file_path alone.",
        )
    return min(same, key=lambda item: abs(item.chunk.ordinal - (place.ordinal or 0)))


def section_at(headings: Sequence[Heading], anchor: str) -> int | None:
    """Index of the heading with that anchor, as a uri spells it."""
    places = addresses.anchors(headings)
    wanted = anchor.lower()
    return places.index(wanted) if wanted in places else None


def find_section(document: Document, wanted: str) -> int | None:
    """Index of the heading that `wanted` names: its text (any case), `Parent > Child`, or its anchor.

    Of several the first. Parents may be left out, in between too; a document's title may be one. Where there is none:
    the heading that its author gave `wanted` as an id.
    """
    headings = document.headings
    key = wanted.strip().lstrip("#").strip()
    found = _named(headings, key) or _named(headings, key, by=addresses.anchor)
    if found:
        return found[0]
    if (index := section_at(headings, key)) is not None:
        return index
    if (index := _below(document, key.lower())) is not None:
        return index
    return _labelled(document, key)


_MARKUP = re.compile(r"\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])|<[^<>]+>|:[\w+.-]+:(?=`)|`([^`<>]*) <[^<>]*>`_*")
_PATH = re.compile(r"(?:^| )[>›] ")
_NOT_WORDS = re.compile(r"[\W_]+")


def loosely_named(headings: Sequence[Heading], wanted: str) -> int | None:
    """Index of the one heading that `wanted` fits best: without markup and punctuation the same, or a part of it, or
    holding it. None where none does, or several."""
    key, names = _plain(wanted), [_plain(heading.text) for heading in headings]
    if not key or _PATH.search(wanted):
        return None
    if same := [index for index, name in enumerate(names) if name == key]:
        return same[0]
    if holding := [index for index, name in enumerate(names) if f" {key} " in f" {name} "]:
        return holding[0] if len(holding) == 1 else None
    held = [index for index, name in enumerate(names) if " " in name and f" {name} " in f" {key} "]
    longest = max((len(names[index]) for index in held), default=0)
    best = [index for index in held if len(names[index]) == longest]
    return best[0] if len(best) == 1 else None


def _plain(heading: str) -> str:
    """A heading's words in lower case, without markup and marks.

    >>> _plain("## The `--force` [flag](#force)"), _plain("Set-up & use")
    ('the force flag', 'set up use')
    """
    return _NOT_WORDS.sub(" ", _MARKUP.sub(lambda found: f" {found[1] or found[2] or ''} ", heading)).strip().lower()


def _below(document: Document, path: str) -> int | None:
    """Index of the heading at the end of a path in lower case: `parent > child`, or with `›` as answers write it."""
    wanted = _steps(path)
    for index, heading in enumerate(document.headings):
        own = _steps(heading.text)  # it may hold a sign too
        parents, end = wanted[: -len(own)], wanted[-len(own) :]
        same = end == own or [*map(addresses.anchor, end)] == [*map(addresses.anchor, own)] != [""]
        names = [document.title, *_above(document.headings, index)] if same and parents else []
        above = iter([step for name in names for step in _steps(name)])
        if names and all(parent in above for parent in parents):  # in this order; some may be left out
            return index
    return None


def _steps(path: str) -> list[str]:
    return [step.strip() for step in re.split(" [>›] ", path.lower())]


#: An id as authors write it: `{#it}`, `<a id="it">`, `.. _it:`, `[[it]]`, `[#it]`.
_LABEL = (
    r"\{{:?[ \t]*#{0}(?=[ \t}}])|<[^<>\n]*\b(?:id|name)=[\"']?{0}(?=[\"'\s>])[^<>\n]*>"
    r"|^\.\. _`?{0}`?:[ \t]*$|^\[\[{0}(?:,[^]\n]*)?\]\]|^\[#{0}(?=[\],.%])[^]\n]*\]"
)
_NO_TEXT = re.compile(r"(?:\s|^\.\. _.*:$|^\[.*\]$|</?a\b[^<>]*>|^([^\w\s])\1+$)*", re.MULTILINE)


def _labelled(document: Document, name: str) -> int | None:
    """Index of the heading that bears an id, stands right below it, or holds it in its section."""
    names = "|".join(map(re.escape, filter(None, dict.fromkeys((name, addresses.anchor(name))))))
    label = re.search(_LABEL.format(f"(?:{names})"), document.text, re.IGNORECASE | re.MULTILINE) if names else None
    if label is None:
        return None
    headings = document.headings
    below = sum(heading.start <= label.start() for heading in headings)
    same_line = below > 0 and "\n" not in document.text[headings[below - 1].start : label.start()]
    if (
        not same_line
        and below < len(headings)
        and _NO_TEXT.fullmatch(document.text, label.end(), headings[below].start)
    ):
        return below
    return below - 1 if below else None


def _named(headings: Sequence[Heading], key: str, by: Callable[[str], str] = str.lower) -> list[int]:
    return [index for index, heading in enumerate(headings) if by(heading.text) == by(key)]


def _above(headings: Sequence[Heading], index: int) -> list[str]:
    """The headings that a heading stands under, outermost first."""
    found: list[str] = []
    level = headings[index].level
    for heading in reversed(headings[:index]):
        if heading.level < level:
            found.append(heading.text)
            level = heading.level
    return found[::-1]


def _section_ends(document: Document, line_count: int) -> list[tuple[int, int]]:
    """Of each heading the last line and the end in characters of its section, sub-sections included."""
    ends: list[tuple[int, int]] = []
    later: list[Heading] = []
    for heading in reversed(document.headings):
        while later and later[-1].level > heading.level:
            later.pop()
        last, end = (later[-1].line - 1, later[-1].start) if later else (line_count, len(document.text))
        ends.append((max(heading.line, last), end))
        later.append(heading)
    return ends[::-1]


def outline(headings: Sequence[Heading], first: int, last: int) -> Sequence[Heading]:
    """Headings for some lines: all where they are few, else those above, those within and the next sections."""
    if len(headings) <= OUTLINE:
        return headings
    place = next((index for index, heading in enumerate(headings) if heading.line > first), len(headings))
    above: list[Heading] = []
    for heading in reversed(headings[:place]):
        if not above or heading.level < above[-1].level:
            above.append(heading)
    within = [heading for heading in headings[place:] if heading.line <= last]
    return (
        *above[::-1],
        *within,
        *[heading for heading in headings if heading.line > last and heading.level <= 2][:AHEAD],
    )


def read(
    stored: StoredDocument,
    *,
    section: str | None,
    anchor: str | None,
    chunk: StoredChunk | None,
    line_start: int | None,
    line_end: int | None,
    max_chars: int,
    column: int = 1,
    stale: bool = False,
    linked: Mapping[str, object] = MappingProxyType({}),
) -> schemas.DocumentResponse:
    """The wanted lines of a document, cut at a line border after `max_chars` characters (0 = no limit).

    A line longer than that is cut; its rest is had with `next_column` of the answer as `column`, the character (from 1)
    at which the first wanted line begins. `anchor` is a uri's; `stale` and `linked` stand in the answer. Raises
    `NotFound` for an unknown section and `CallerError` for lines outside the document.
    """
    document = stored.document
    lines = document.text.split("\n")
    some_lines = line_start is not None or line_end is not None
    part = _part(document, len(lines), section, anchor, None if some_lines else chunk)
    first, last = _narrowed(document.file_path, len(lines), part, line_start, line_end) if some_lines else part[:2]
    last = max(first, last)
    if chunk is not None and not (some_lines or section or anchor) and column == 1:
        column = _column_of(chunk, document.text, len(lines[first - 1]), max_chars)
    if column > max(1, len(lines[first - 1])):
        raise CallerError(
            f"column_start is {column}; line {first} of {document.file_path!r} has {len(lines[first - 1])} characters.",
            hint="Use next_column of the part before, with its line_end as line_start.",
        )
    taken, next_column = _cut(lines[first - 1 : last], column, max_chars)
    end = max(first, first + len(taken) - 1)
    whole = first == 1 == column and not (section or anchor or chunk or line_end)
    shown = document.headings if whole else outline(document.headings, first, end)
    ends = zip(document.headings, _section_ends(document, len(lines)), strict=True)
    tokens = {heading.start: tokens_in(offset - heading.start) for heading, (_, offset) in ends}
    fields = {name: getattr(document, name) for name in _OF_DOCUMENT} | {
        "headings": [
            {"level": one.level, "text": one.text, "line": one.line, "page": one.page, "tokens": tokens[one.start]}
            for one in shown
        ],
        "heading_count": len(document.headings),
        "section": part.name,
        "tokens": tokens_in(len(document.text)),
        "content": "\n".join(taken),
        "line_start": first,
        "line_end": end,
        "truncated": end < last or next_column is not None,
        "next_line": end + 1 if end < last else None,
        "next_column": next_column,
        "indexed_at": stored.indexed_at.replace("+00:00", "Z"),
        "stale": stale,
        **linked,
    }
    if part.loosely:
        fields["notes"] = [f"No heading is exactly {shortened(section)}: this is {shortened(part.name)}."]
    return schemas.DocumentResponse.model_validate(fields, from_attributes=True)


def beginning(stored: StoredDocument, whole: schemas.DocumentResponse) -> schemas.DocumentResponse:
    """A short document as it is (`whole`, from `read`), a longer one as outline and first lines."""
    text = stored.document.text
    if whole.tokens <= WHOLE_DOCUMENT_TOKENS:
        return whole
    lines = text.split("\n")
    taken, next_column = _cut(lines, 1, BEGINNING)
    if next_column is None and len(taken) < len(lines) and lines[len(taken)].strip():
        places = range(len(taken) - 1, len(taken) // 2, -1)  # up to a paragraph's end, if the second half has one
        taken = taken[: next((at + 1 for at in places if not taken[at].strip()), len(taken))]
    end = len(taken)
    return whole.model_copy(
        update={
            "headings": [],  # the outline has them
            "outline": outlined(stored.document, len(lines)),
            "content": "\n".join(taken).rstrip("\n"),
            "line_end": end,
            "truncated": True,
            "next_line": end + 1 if end < len(lines) else None,
            "next_column": next_column,
        }
    )


def outlined(document: Document, line_count: int) -> list[schemas.OutlineItem]:
    """Sections with their lines and sizes, each up to the next heading of its level or above; of the highest levels, as
    many as `SECTIONS` has room for."""
    headings = document.headings
    levels = sorted({heading.level for heading in headings})
    while len(levels) > 1 and sum(heading.level <= levels[-1] for heading in headings) > SECTIONS:
        levels.pop()
    return [
        schemas.OutlineItem(
            level=heading.level,
            text=heading.text,
            line_start=heading.line,
            line_end=last,
            tokens=tokens_in(end - heading.start),
        )
        for heading, (last, end) in zip(headings, _section_ends(document, line_count), strict=True)
        if heading.level in levels
    ][:SECTIONS]


def answering(whole: schemas.DocumentResponse, found: Sequence[Hit]) -> schemas.DocumentResponse:
    """The parts of a document that answer a question, in its order. `whole` is what `read` gives of all of it."""
    sections, parts = [], []
    for hit in found:
        path, snippet = hit.heading_path or hit.chunk.chunk.heading_path, hit.snippet
        section = Further(
            line_start=snippet.line_start,
            line_end=snippet.line_end,
            tokens=tokens_in(len(snippet.text)),
            heading=path[-1] if path else "",
        )
        of = f" of {hit.section[0]}–{hit.section[1]}" if hit.section else ""
        name = f": {' › '.join(path)}" if path else ""
        parts.append(f"[lines {section.line_start}–{section.line_end}{of}{name}]\n{snippet.text}")
        sections.append(section)
    first, last = sections[0].line_start, sections[-1].line_end
    return whole.model_copy(
        update={
            "headings": [item for item in whole.headings if first <= item.line <= last][:OUTLINE],
            "sections": sections,
            "content": "\n\n".join(parts),
            "line_start": first,
            "line_end": last,
        }
    )


def linked_documents(reader: CatalogReader, doc_ids: Sequence[int]) -> list[schemas.LinkedDocument]:
    """The first `LINKED` of some documents, by their paths."""
    documents = (stored.document for stored in reader.documents(list(doc_ids)).values())
    found = sorted(documents, key=lambda one: one.file_path)
    return [
        schemas.LinkedDocument(file_path=one.file_path, title=one.title, tokens=tokens_in(one.size))
        for one in found[:LINKED]
    ]


def tokens_in(characters: int) -> int:
    """What so many characters count, rounded up."""
    return -(-characters // 4)


def _column_of(chunk: StoredChunk, text: str, length: int, max_chars: int) -> int:
    """Where a passage's first line of that length is read from: where the passage begins, if the line doesn't fit."""
    if not 0 < max_chars < length:
        return 1
    return chunk.chunk.start - text.rfind("\n", 0, chunk.chunk.start)


def _cut(lines: Sequence[str], column: int, max_chars: int) -> tuple[list[str], int | None]:
    """Lines of up to `max_chars` characters (0: all), at least one, and the column where a line that is cut goes on."""
    taken: list[str] = []
    left = max_chars
    for line in lines:
        shown = line if taken else line[column - 1 :]
        if max_chars and taken and len(shown) >= left:
            break
        if 0 < max_chars < len(shown):
            return [shown[:max_chars]], column + max_chars
        taken.append(shown)
        left -= len(shown) + 1
    return taken, None


class _Part(NamedTuple):
    """Lines of a document, 1-based, and the heading that they stand under."""

    first: int
    last: int
    name: str | None
    loosely: bool = False  #: whether the heading isn't quite as it was asked for


def _part(document: Document, count: int, section: str | None, anchor: str | None, chunk: StoredChunk | None) -> _Part:
    """A section or a passage; where none is named, all of the document's `count` lines."""
    if named := section or anchor:
        index = None if section or not anchor else section_at(document.headings, anchor)
        index = find_section(document, named) if index is None else index
        loosely = index is None and section is not None
        index = loosely_named(document.headings, named) if loosely else index
        if index is None:
            titles = [heading.text for heading in document.headings]
            hint = some_of(titles, named, "headings") if titles else "It has no headings."
            raise NotFound(f"No section {shortened(named)} in {document.file_path!r}.", hint=hint)
        heading = document.headings[index]
        return _Part(heading.line, _section_ends(document, count)[index][0], heading.text, loosely)
    if chunk is not None:
        path = chunk.chunk.heading_path
        return _Part(chunk.chunk.line_start, chunk.chunk.line_end, path[-1] if path else None)
    return _Part(1, count, None)


def _narrowed(file_path: str, count: int, part: _Part, line_start: int | None, line_end: int | None) -> tuple[int, int]:
    """First and last of the wanted lines within a part. Raises `CallerError` where there are none."""
    if line_start is not None and line_start > count:
        raise CallerError(f"line_start is {line_start}; {file_path!r} has {count} lines.", hint=f"Use 1 to {count}.")
    if line_start is not None and line_end is not None and line_end < line_start:
        raise CallerError(f"line_end {line_end} lies before line_start {line_start}.", hint="Swap them.")
    first, last, name, _ = part
    if name is not None and ((line_start or first) > last or (line_end or last) < first):
        asked = f"line_start {line_start}" if (line_start or first) > last else f"line_end {line_end}"
        raise CallerError(
            f"{asked} lies outside section {name!r}, which has lines {first} to {last}.",
            hint="Pass the lines or the section alone.",
        )
    return max(first, line_start or 1), min(last, line_end or count)


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
        emails[0] = emails[0].model_copy(update={"body": _cut_text(emails[0].body, max_chars, emails[0].file_path)})
        most = max_chars // 2 // max(1, sum(len(mail.quoted) for mail in emails))
        emails = [
            mail.model_copy(update={"quoted": [_cut_text(text, most, mail.file_path) for text in mail.quoted]})
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


def _cut_text(text: str, most: int, file_path: str) -> str:
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
