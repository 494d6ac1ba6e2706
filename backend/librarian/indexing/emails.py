"""Email threads, copies of emails, and quotes whose original is indexed.

Works on what the catalog holds and what a batch adds, before the batch is stored: every mail gets its thread, copies
keep no passages, and quotes are dropped when another mail of the thread holds their text. Stored mails that become
wrong by what arrives or goes are named, to be read again.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Self

from ..models import QUOTED_PATH, Chunk, Document, Email, ReadResult, StoredMail
from ..storage.base import CatalogReader
from ..storage.database import LruCache

_APART_S = 90 * 86_400  #: longest silence after which a reply joins a conversation by its subject alone
_SHORTEST_TOPIC = 3


@dataclass(frozen=True, slots=True)
class Linked:
    """A mail as threading sees it. `key` is unique among the mails; `parents` are the oldest first.

    `given` replaces a missing Message-ID: mails with the same one are one conversation.
    """

    key: str
    message_id: str
    parents: tuple[str, ...]
    topic: str
    is_answer: bool
    date: str | None
    place: str = ""  #: the product: subjects join only within it
    given: str = ""

    @property
    def name(self) -> str:
        """The message id, or what replaces it."""
        return self.message_id or self.given or self.key

    @property
    def is_orphan(self) -> bool:
        """Whether it is a reply that names no parent."""
        return self.is_answer and not self.parents and len(self.topic) >= _SHORTEST_TOPIC


def parents_of(message_id: str, references: Sequence[str], in_reply_to: Sequence[str]) -> tuple[str, ...]:
    """The chain of ancestors, oldest first: the references, and the message answered where they lack it."""
    chain = [one for one in references if one != message_id]
    answered = next((one for one in in_reply_to if one != message_id), None)
    if answered is not None and answered not in chain:
        chain.append(answered)
    return tuple(dict.fromkeys(chain))


def threads_of(mails: Iterable[Linked]) -> dict[str, str]:
    """key → thread id, 16 hex digits of SHA-256 over the root's Message-ID. The order of the mails doesn't matter.

    Links come from References and In-Reply-To, as in Jamie Zawinski's message threading (jwz.org/doc/threading.html);
    the subject joins only replies that carry neither. Messages that are named but missing are nodes too, so that a
    thread keeps its id when its first mail arrives late.
    """
    ordered = sorted(mails, key=lambda mail: (mail.date or "", mail.message_id, mail.key))
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        top = name
        while above := parents.get(top, ""):
            top = above
        while name != top:  # shorten the path, because reply chains may be thousands of mails long
            parents[name], name = top, parents[name]
        return top

    def link(parent: str, child: str) -> None:
        """Make one message the other's parent, unless it has one or a cycle would close."""
        if not parents.get(child) and root(parent) != child:
            parents[child] = parent

    for mail in ordered:  # what a mail says of its own parent counts first …
        if mail.parents:
            link(mail.parents[-1], mail.name)
    for mail in ordered:  # … then what others say of their ancestors' parents
        for parent, child in pairwise(mail.parents):
            link(parent, child)
    latest: dict[tuple[str, str], dict[str, float]] = {}  # (place, topic) → root → date of its latest mail
    for mail in ordered:
        now, others = _seconds(mail.date), latest.setdefault((mail.place, mail.topic), {})
        if mail.is_orphan and root(mail.name) == mail.name:
            near = [(when, one) for one, when in others.items() if one != mail.name and now - when <= _APART_S]
            if near:
                link(max(near)[1], mail.name)
        others[root(mail.name)] = now
    return {mail.key: hashlib.sha256(root(mail.name).encode("utf-8", "replace")).hexdigest()[:16] for mail in ordered}


def _seconds(date: str | None) -> float:
    try:
        return datetime.fromisoformat(date).timestamp() if date else 0.0
    except ValueError:
        return 0.0


_WORD = re.compile(r"[\u2e80-\u9fff]|[^\W\u2e80-\u9fff]+")  # ideographs are written without spaces
_SHINGLE = 5  #: words; of fewer, a quoted block isn't read as a passage
_COVERED = 0.5  #: of a quote's shingles that must be found for it to count as said elsewhere

Shingles = frozenset[int]  #: hashes, of this process alone


@dataclass(frozen=True, slots=True)
class EmailShingles:
    """The shingles of a mail's own text, and of its quotes by a key that is unique in the mail."""

    own: Shingles
    quotes: tuple[tuple[int, Shingles], ...]

    @classmethod
    def of(cls, chunks: Iterable[tuple[int, Chunk]]) -> Self:
        """The shingles of a mail's chunks, given with their keys."""
        own: set[int] = set()
        quotes: list[tuple[int, Shingles]] = []
        for key, chunk in chunks:
            if chunk.heading_path[:1] == QUOTED_PATH:
                quotes.append((key, shingles(chunk.text)))
            else:
                own |= shingles(chunk.text)
        return cls(frozenset(own), tuple(quotes))


def shingles(text: str) -> Shingles:
    """Runs of words, hashed; a text of fewer words is one."""
    words = _WORD.findall(text.casefold())
    return frozenset(map(hash, zip(*(words[start:] for start in range(min(_SHINGLE, len(words)))), strict=False)))


def superfluous(mails: Sequence[EmailShingles]) -> set[tuple[int, int]]:
    """(place of the mail, key of the quote) of all that is said elsewhere in a conversation.

    Longest quotes first, so that a mail quoted in part by one and whole by another is kept whole; linear in the words.
    """
    quotes = [(place, key, quote) for place, mail in enumerate(mails) for key, quote in mail.quotes]
    if not quotes:
        return set()
    counts = Counter(one for mail in mails for one in mail.own)
    found: set[tuple[int, int]] = set()
    for place, key, quote in sorted(quotes, key=lambda item: -len(item[2])):
        own = mails[place].own
        missing = sum(1 for one in quote if counts[one] <= (one in own))  # what its own mail says is not elsewhere
        if missing > len(quote) * (1 - _COVERED):
            counts.update(quote)
        else:
            found.add((place, key))
    return found


CACHED_MAILS = 4_000  #: whose shingles are held, about 30 MB
Known = LruCache[tuple[int, int], EmailShingles]  #: those of stored mails, by document id and number of chunks


class MailBatch:
    """Threads, copies and quotes of a batch's mails. `removed` and the paths of `put` are what it takes away."""

    def __init__(self, reader: CatalogReader, known: Known, put: Sequence[ReadResult], removed: Sequence[str]) -> None:
        self.put = list(put)  #: what to store
        self.threads: dict[int, str] = {}  #: those of stored mails that change, by document id
        self.withdrawn: list[int] = []  #: ids of chunks that quote what is indexed now
        self.outdated: set[str] = set()  #: files to be read again
        self._reader = reader
        self._known = known
        self._new = {result.document.file_path: result for result in put if result.document.email is not None}
        self._leaving = reader.mails(paths=[*removed, *self._new])
        self._deleted = {mail.doc_id for mail in self._leaving}
        if self._new or self._leaving:
            around = self._around()
            linked = [_linked(path, mail.email, mail.product) for path, mail in around.items()]
            linked += [_linked(path, _email(result), result.document.product) for path, result in self._new.items()]
            threads = threads_of(linked)
            for path, mail in around.items():
                if threads[path] != mail.email.thread_id:
                    self.threads[mail.doc_id] = threads[path]
            self._outdate_left_behind()
            ready = self._without_known_quotes(self._without_copies(threads, around), around, threads)
            self.put = [ready.get(result.document.file_path, result) for result in put]

    def _around(self) -> dict[str, StoredMail]:
        """All stored mails whose thread may depend on what comes and goes, by path."""
        emails = [_email(result) for result in self._new.values()] + [mail.email for mail in self._leaving]
        ids = {one for email in emails for one in _ids(email)}
        topics = {email.topic for email in emails if email.topic}
        threads = {mail.email.thread_id for mail in self._leaving}
        orphans = {email.topic for email in emails if _is_orphan(email)}
        asked: list[set[str]] = [set(), set(), set()]
        found: dict[str, StoredMail] = {}
        while asked != (wanted := [set(ids), set(topics), set(threads)]):
            more_ids, more_topics, more_threads = (sorted(now - old) for now, old in zip(wanted, asked, strict=True))
            asked = wanted
            mails = self._reader.mails(mentioning=more_ids, threads=more_threads)
            mails += [
                mail
                for mail in self._reader.mails(topics=more_topics)
                if _is_orphan(mail.email) or mail.email.topic in orphans
            ]
            for mail in mails:
                if mail.doc_id not in self._deleted:
                    found.setdefault(mail.file_path, mail)
                    ids.update(_ids(mail.email))
                    threads.add(mail.email.thread_id)
                    if _is_orphan(mail.email):
                        topics.add(mail.email.topic)
                        orphans.add(mail.email.topic)
        return found

    def _outdate_left_behind(self) -> None:
        """Copies of mails that go, and mails that quote them: what was left out of those must come in."""
        staying = {_copy_key(result.document) for result in self._new.values()}
        lost = [mail for mail in self._leaving if mail.chunk_count and _copy_key(mail) not in staying]
        keys = set(map(_copy_key, lost))
        alike = self._reader.mails(fingerprints=sorted({mail.email.fingerprint for mail in lost} - {""}))
        quoting = self._reader.mails(mentioning=sorted({mail.email.message_id for mail in lost} - {""}))
        found = [*(mail for mail in alike if _copy_key(mail) in keys), *quoting]
        self.outdated = {mail.file_path for mail in found if mail.doc_id not in self._deleted} - self._new.keys()

    def _without_copies(self, threads: Mapping[str, str], around: dict[str, StoredMail]) -> dict[str, ReadResult]:
        """The new mails with their threads; of copies in one place, the first keeps its passages, or one with more
        attachments."""
        prints = sorted({_email(result).fingerprint for result in self._new.values()} - {""})
        held: dict[CopyKey, StoredMail | None] = {
            _copy_key(mail): mail
            for mail in self._reader.mails(fingerprints=prints)
            if mail.chunk_count and mail.doc_id not in self._deleted
        }
        ready: dict[str, ReadResult] = {}
        for path, result in sorted(self._new.items(), key=lambda item: -len(_email(item[1]).attachments)):
            email, key = _email(result), _copy_key(result.document)
            poorer = held.get(key)
            if poorer is not None and result.chunks and _has_more(email, poorer.email):
                self.withdrawn += [one.chunk_id for one in self._reader.chunks_of(poorer.doc_id)]
                around.pop(poorer.file_path, None)
                del held[key]
            result = replace(result, document=replace(result.document, email=replace(email, thread_id=threads[path])))
            if email.fingerprint and key in held:
                result = replace(result, chunks=(), entries=())
            elif email.fingerprint and result.chunks:
                held[key] = None
            ready[path] = result
        return ready

    def _without_known_quotes(
        self, ready: Mapping[str, ReadResult], around: Mapping[str, StoredMail], threads: Mapping[str, str]
    ) -> dict[str, ReadResult]:
        """The new mails without quotes of what is said elsewhere; what stored ones quote in vain is withdrawn."""
        conversations: dict[str, tuple[list[StoredMail], list[str]]] = {threads[path]: ([], []) for path in ready}
        for path, mail in around.items():
            if threads[path] in conversations:
                conversations[threads[path]][0].append(mail)
        for path in ready:
            conversations[threads[path]][1].append(path)
        found = dict(ready)
        for stored, fresh in conversations.values():
            mails = [self._shingles(mail) for mail in stored]
            mails += [EmailShingles.of(enumerate(ready[path].chunks)) for path in fresh]
            left_out: dict[str, set[int]] = {}
            for place, key in sorted(superfluous(mails)):
                if place < len(stored):
                    self.withdrawn.append(key)
                else:
                    left_out.setdefault(fresh[place - len(stored)], set()).add(key)
            for path, places in left_out.items():
                found[path] = _without(ready[path], places)
        return found

    def _shingles(self, mail: StoredMail) -> EmailShingles:
        """Ids are never used again, so it is safe to keep; a mail that has lost a quote is read anew."""
        key = mail.doc_id, mail.chunk_count
        if (held := self._known.get(key)) is None:
            stored = self._reader.chunks_of(mail.doc_id) if mail.chunk_count else []
            held = EmailShingles.of((one.chunk_id, one.chunk) for one in stored)
            self._known.put(key, held)
        return held


CopyKey = tuple[str, str, str]  #: product and component, by which mails are filtered, and what equal mails share


def _copy_key(mail: StoredMail | Document) -> CopyKey:
    return mail.product, mail.component, mail.email.fingerprint if mail.email is not None else ""


def _email(result: ReadResult) -> Email:
    assert result.document.email is not None
    return result.document.email


def _without(result: ReadResult, left_out: set[int]) -> ReadResult:
    """The mail without the passages at these places."""
    chosen = [place for place in range(len(result.chunks)) if place not in left_out]
    return replace(
        result,
        chunks=tuple(result.chunks[place] for place in chosen),
        entries=tuple(result.entries[place] for place in chosen) if result.entries else (),
    )


def _has_more(email: Email, other: Email) -> bool:
    """Whether a copy has all attachments of the other one, and more: lists and exports strip them."""
    mine, others = ({(one.filename, one.content_type) for one in mail.attachments} for mail in (email, other))
    return others < mine


def _ids(email: Email) -> tuple[str, ...]:
    """The mail's own id (empty where it has none), then those that it names."""
    return (email.message_id, *email.references, *email.in_reply_to)


def _is_orphan(email: Email) -> bool:
    return email.is_answer and bool(email.topic) and not (email.references or email.in_reply_to)


def _linked(path: str, email: Email, product: str) -> Linked:
    given = f"{product}/{email.topic}" if email.topic else email.fingerprint
    parents = parents_of(email.message_id, email.references, email.in_reply_to)
    return Linked(path, email.message_id, parents, email.topic, email.is_answer, email.date, product, given)
